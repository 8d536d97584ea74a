//! The fields of the index, and how notes become documents of it.

use sha2::{Digest as _, Sha256};
use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STRING, Schema, TextFieldIndexing,
    TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::pairs;
use crate::analysis::{self, Language, Term};
use crate::calendar;
use crate::folder::Stamp;
use crate::front_matter::Note;
use crate::query;

/// What is changed when documents of older programs no longer mean the same.
pub(super) const VERSION: u32 = 2;

const ANALYSER: &str = "notes";
/// A title counts like this many mentions in the text.
const TITLE_WEIGHT: usize = 3;

pub(super) const KEY: &str = "key";
pub(super) const SIZE: &str = "size";
pub(super) const MODIFIED: &str = "modified";
pub(super) const INODE: &str = "inode";
pub(super) const TITLE_HASH: &str = "title_hash";

#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// The path, which names a document.
    pub(super) key: Field,
    /// Title, aliases, path and body.
    pub(super) text: Field,
    /// Pairs of words that are neighbours in the text.
    pub(super) pairs: Field,
    pub(super) title: Field,
    pub(super) path: Field,
    pub(super) tag: Field,
    pub(super) language: Field,
    /// The day the note says it is of, or of its last change.
    pub(super) day: Field,
    size: Field,
    modified: Field,
    inode: Field,
    /// Tells one title from another.
    title_hash: Field,
}

pub(super) fn schema() -> (Schema, Fields) {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(ANALYSER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let words = TextOptions::default().set_indexing_options(indexing);
    let mut builder = Schema::builder();
    let fields = Fields {
        key: builder.add_text_field(KEY, STRING | FAST),
        text: builder.add_text_field("text", words.clone()),
        pairs: builder.add_u64_field("pairs", NumericOptions::default().set_indexed()),
        title: builder.add_text_field("title", words.clone()),
        path: builder.add_text_field("path", words),
        tag: builder.add_text_field("tag", STRING),
        language: builder.add_text_field("language", STRING),
        day: builder.add_i64_field("day", INDEXED | FAST),
        size: builder.add_u64_field(SIZE, FAST),
        modified: builder.add_i64_field(MODIFIED, FAST),
        inode: builder.add_u64_field(INODE, FAST),
        title_hash: builder.add_u64_field(TITLE_HASH, FAST),
    };
    (builder.build(), fields)
}

/// The document of a note in the state `stamp`.
pub(super) fn document(
    fields: Fields,
    path: &str,
    note: &Note<'_>,
    stamp: Stamp,
    folder_language: Language,
) -> TantivyDocument {
    let language = note.language.as_deref().and_then(Language::named);
    let language = language.unwrap_or(folder_language);
    let marked = |text: &str| format!("{}\0{text}", language.code());
    let mut document = TantivyDocument::new();
    document.add_text(fields.key, path);
    for _ in 0..TITLE_WEIGHT {
        document.add_text(fields.text, marked(&note.title));
    }
    let aliases = note.aliases.iter().map(String::as_str);
    let mut numbers = Vec::new();
    pairs::of_terms(&analysis::indexed(&note.title, language), &mut numbers);
    for text in aliases.chain([path, note.body]) {
        document.add_text(fields.text, marked(text));
        pairs::of_terms(&analysis::indexed(text, language), &mut numbers);
    }
    numbers.sort_unstable();
    numbers.dedup();
    for number in numbers {
        document.add_u64(fields.pairs, number);
    }
    document.add_text(fields.title, marked(&note.title));
    document.add_text(fields.path, marked(path));
    for tag in note.tags.iter().filter_map(|it| query::tag(it)) {
        document.add_text(fields.tag, tag);
    }
    document.add_text(fields.language, language.code());
    let day = note.day.unwrap_or_else(|| calendar::day_of(stamp.modified));
    document.add_i64(fields.day, day);
    document.add_u64(fields.size, stamp.size);
    document.add_i64(fields.modified, stamp.modified);
    document.add_u64(fields.inode, stamp.inode);
    document.add_u64(fields.title_hash, title_hash(&note.title));
    document
}

fn title_hash(title: &str) -> u64 {
    let hash = Sha256::digest(title.as_bytes());
    hash.iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(super) fn register(index: &tantivy::Index) {
    index.tokenizers().register(ANALYSER, Analyser);
}

/// Cuts text whose language stands before it, up to a zero byte: the stems of a field depend on the
/// note.
#[derive(Clone, Debug)]
struct Analyser;

impl Tokenizer for Analyser {
    type TokenStream<'a> = Terms;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Terms {
        let (code, text) = text.split_once('\0').unwrap_or(("", text));
        let language = Language::named(code).unwrap_or(Language::ENGLISH);
        Terms {
            terms: analysis::indexed(text, language).into_iter(),
            token: Token::default(),
        }
    }
}

struct Terms {
    terms: std::vec::IntoIter<Term>,
    token: Token,
}

impl TokenStream for Terms {
    fn advance(&mut self) -> bool {
        let Some(term) = self.terms.next() else {
            return false;
        };
        self.token = Token {
            offset_from: term.range.start,
            offset_to: term.range.end,
            position: term.position,
            text: term.text,
            position_length: 1,
        };
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
