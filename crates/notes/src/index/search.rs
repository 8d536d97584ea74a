//! Queries as the index understands them.

use std::ops::{Bound, ControlFlow};

use tantivy::collector::{Count, TopDocs};
use tantivy::columnar::{Column, StrColumn};
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, EmptyQuery, Occur, PhraseQuery, Query as IndexQuery,
    RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, SegmentReader, TERMINATED, Term};

use super::{
    Fields, INODE, IndexError, KEY, Known, MODIFIED, SIZE, SearchIndex, TITLE_HASH, View,
    contained, pairs,
};
use crate::analysis::{self, Language};
use crate::folder::Stamp;
use crate::query::{Condition, Query};

/// A note that was found, in the state the index knows.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) path: String,
    pub(crate) stamp: Stamp,
    pub(crate) score: f32,
}

impl SearchIndex {
    /// Hands the best `limit` notes for a query to `take`, best first, as long as it wants more, and
    /// says how many there are in all.
    pub(crate) fn search(
        &self,
        query: &Query,
        limit: usize,
        mut take: impl FnMut(Hit) -> ControlFlow<()>,
    ) -> Result<usize, IndexError> {
        let view = self.view();
        let has_phrase = query.has_phrase();
        let query = self.translated(query, &view.languages);
        contained(|| {
            let searcher = &view.searcher;
            let best = TopDocs::with_limit(limit.max(1)).order_by_score();
            // Counting takes no scores and finding the best skips most notes, so each is done on
            // its own; but a phrase is looked for in every note either way.
            let (total, found) = match has_phrase {
                true => searcher.search(&query, &(Count, best))?,
                false => {
                    let total = searcher.search(&query, &Count)?;
                    (total, searcher.search(&query, &best)?)
                }
            };
            for (score, address) in found {
                let Some(columns) = view.columns.get(address.segment_ord as usize) else {
                    continue;
                };
                if let Some(path) = columns.path(address.doc_id)? {
                    let stamp = columns.known(address.doc_id).stamp;
                    if take(Hit { path, stamp, score }).is_break() {
                        break;
                    }
                }
            }
            Ok(total)
        })
    }

    fn translated(&self, query: &Query, languages: &[Language]) -> Box<dyn IndexQuery> {
        let mut clauses = Vec::with_capacity(query.clauses.len());
        for clause in &query.clauses {
            let occur = if clause.is_negated {
                Occur::MustNot
            } else {
                Occur::Must
            };
            clauses.push((occur, self.condition(&clause.condition, languages)));
        }
        if clauses.is_empty() {
            return Box::new(EmptyQuery);
        }
        if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            clauses.push((Occur::Must, Box::new(AllQuery)));
        }
        match clauses.len() {
            1 => clauses.swap_remove(0).1,
            _ => Box::new(BooleanQuery::new(clauses)),
        }
    }

    fn condition(&self, condition: &Condition, languages: &[Language]) -> Box<dyn IndexQuery> {
        let fields = self.fields;
        match condition {
            Condition::Word(word) => any_form(fields.text, word, languages),
            Condition::Phrase(words) => phrase(fields, fields.text, words),
            Condition::Prefix(prefix) => {
                let after = format!("{prefix}\u{10ffff}");
                Box::new(RangeQuery::new(
                    Bound::Included(Term::from_field_text(fields.text, prefix)),
                    Bound::Excluded(Term::from_field_text(fields.text, &after)),
                ))
            }
            Condition::Tag(tag) => term(fields.tag, tag, IndexRecordOption::Basic),
            Condition::Title(words) => {
                let forms = words.iter().map(|it| any_form(fields.title, it, languages));
                Box::new(BooleanQuery::intersection(forms.collect()))
            }
            Condition::Path(words) => phrase(fields, fields.path, words),
            Condition::After(day) => Box::new(RangeQuery::new(
                Bound::Included(Term::from_field_i64(fields.day, *day)),
                Bound::Unbounded,
            )),
            Condition::Before(day) => Box::new(RangeQuery::new(
                Bound::Unbounded,
                Bound::Excluded(Term::from_field_i64(fields.day, *day)),
            )),
        }
    }
}

/// The word itself, or another that has its stem in a language of the folder.
fn any_form(field: Field, word: &str, languages: &[Language]) -> Box<dyn IndexQuery> {
    let stems = analysis::stems(word, languages);
    let forms = stems.iter().map(String::as_str).chain([word]);
    let mut forms: Vec<_> = forms
        .map(|it| term(field, it, IndexRecordOption::WithFreqs))
        .collect();
    match forms.len() {
        1 => forms.swap_remove(0),
        _ => Box::new(BooleanQuery::union(forms)),
    }
}

fn term(field: Field, text: &str, detail: IndexRecordOption) -> Box<dyn IndexQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), detail))
}

/// Words one behind the other. Their places are read only in notes that have all their pairs; those
/// of a path are among those of the text.
fn phrase(fields: Fields, field: Field, words: &[String]) -> Box<dyn IndexQuery> {
    if let [word] = words {
        return term(field, word, IndexRecordOption::WithFreqs);
    }
    let terms = words.iter().map(|it| Term::from_field_text(field, it));
    let read: Box<dyn IndexQuery> = Box::new(PhraseQuery::new(terms.collect()));
    let pairs = pairs::of_phrase(words).into_iter().map(|number| {
        let term = Term::from_field_u64(fields.pairs, number);
        let pair = Box::new(TermQuery::new(term, IndexRecordOption::Basic));
        Box::new(ConstScoreQuery::new(pair, 0.0)) as Box<dyn IndexQuery>
    });
    Box::new(BooleanQuery::intersection(pairs.chain([read]).collect()))
}

impl View {
    pub(super) fn known(&self, key: &Term) -> Result<Option<Known>, IndexError> {
        for (segment, columns) in self.segments() {
            let inverted = segment.inverted_index(key.field())?;
            let postings = inverted
                .read_postings(key, IndexRecordOption::Basic)
                .map_err(IndexError::from)?;
            let Some(mut postings) = postings else {
                continue;
            };
            let mut document = postings.doc();
            while document != TERMINATED {
                if !segment.is_deleted(document) {
                    return Ok(Some(columns.known(document)));
                }
                document = postings.advance();
            }
        }
        Ok(None)
    }
}

/// What is kept beside the terms.
pub(super) struct Columns {
    key: Option<StrColumn>,
    size: Column<u64>,
    modified: Column<i64>,
    inode: Column<u64>,
    title_hash: Column<u64>,
}

impl Columns {
    pub(super) fn of(segment: &SegmentReader) -> Result<Self, IndexError> {
        let columns = segment.fast_fields();
        Ok(Self {
            key: columns.str(KEY)?,
            size: columns.u64(SIZE)?,
            modified: columns.i64(MODIFIED)?,
            inode: columns.u64(INODE)?,
            title_hash: columns.u64(TITLE_HASH)?,
        })
    }

    /// All paths in the order of their numbers: looking up one after the other takes much longer.
    pub(super) fn paths(&self) -> Result<Vec<String>, IndexError> {
        let mut paths = Vec::new();
        if let Some(key) = &self.key {
            let mut stream = key.dictionary().stream()?;
            while stream.advance() {
                paths.push(String::from_utf8_lossy(stream.key()).into_owned());
            }
        }
        Ok(paths)
    }

    /// The number of a note's path.
    pub(super) fn path_number(&self, document: DocId) -> Option<usize> {
        let number = self.key.as_ref()?.term_ords(document).next()?;
        usize::try_from(number).ok()
    }

    pub(super) fn known(&self, document: DocId) -> Known {
        Known {
            stamp: Stamp {
                size: self.size.first(document).unwrap_or_default(),
                modified: self.modified.first(document).unwrap_or_default(),
                inode: self.inode.first(document).unwrap_or_default(),
            },
            title_hash: self.title_hash.first(document).unwrap_or_default(),
        }
    }

    fn path(&self, document: DocId) -> Result<Option<String>, IndexError> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let Some(number) = key.term_ords(document).next() else {
            return Ok(None);
        };
        let mut path = String::new();
        Ok(key.ord_to_str(number, &mut path)?.then_some(path))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::front_matter;
    use crate::index::Writer;

    /// Words with stems, diacritics, and without spaces between them.
    const WORDS: &[&str] = &[
        "Mornings",
        "morning",
        "morn",
        "pass",
        "passing",
        "Brûlée",
        "brulee",
        "瞑想法",
        "想法",
        "法",
        "a",
        "b",
        "b",
        "tea,",
    ];

    const STAMP: Stamp = Stamp {
        size: 1,
        modified: 1,
        inode: 1,
    };

    fn text(most: usize) -> impl Strategy<Value = String> {
        let words = vec(proptest::sample::select(WORDS), 1..most);
        words.prop_map(|it| it.join(" "))
    }

    /// The notes in whose terms these words stand one behind the other.
    fn read_by_hand(notes: &[String], words: &[String]) -> BTreeSet<String> {
        let has_phrase = |text: &&String| {
            let terms = analysis::indexed(text, Language::ENGLISH);
            let stands = |word: &String, at: usize| {
                let mut here = terms.iter().filter(|it| it.position == at);
                here.any(|it| it.text == *word)
            };
            let mut starts = terms.iter().map(|it| it.position);
            starts.any(|start| (start..).zip(words).all(|(at, word)| stands(word, at)))
        };
        let numbered = notes.iter().enumerate();
        let found = numbered.filter(|(_, text)| has_phrase(text));
        found.map(|(number, _)| format!("{number}.md")).collect()
    }

    fn written(notes: &[String]) -> SearchIndex {
        let index = SearchIndex::in_memory().unwrap();
        let mut writer = Writer::new(&index).unwrap();
        // The first ones come with another text before, and in a part of their own.
        for old in ["b a b a", ""] {
            for (number, text) in notes.iter().enumerate() {
                let text = if old.is_empty() { text } else { old };
                if old.is_empty() || number < notes.len() / 2 {
                    let path = format!("{number}.md");
                    let note = front_matter::read(&path, text);
                    let language = Language::ENGLISH;
                    writer.put(&path, &note, STAMP, language).unwrap();
                }
            }
            writer.commit().unwrap();
        }
        index.reload().unwrap();
        index
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_phrase_is_found_where_it_is_written(
            notes in vec(text(30), 1..30),
            phrases in vec(text(5), 1..30),
        ) {
            let index = written(&notes);
            for phrase in phrases {
                let words = analysis::queried(&phrase);
                // A single character of a run without spaces is looked for as a beginning.
                if words.len() < 2 {
                    continue;
                }
                let expected = read_by_hand(&notes, &words);
                let query = Query::parse(&format!("\"{phrase}\""));
                let mut found = BTreeSet::new();
                let total = index.search(&query, 1000, |hit| {
                    found.insert(hit.path);
                    ControlFlow::Continue(())
                });
                prop_assert_eq!(total.unwrap(), expected.len(), "{}", phrase);
                prop_assert_eq!(found, expected, "{}", phrase);
            }
        }
    }
}
