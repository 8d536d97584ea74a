//! Queries as the index understands them.

use std::ops::Bound;

use tantivy::collector::{Count, TopDocs};
use tantivy::columnar::{Column, StrColumn};
use tantivy::query::{
    AllQuery, BooleanQuery, EmptyQuery, Occur, PhraseQuery, Query as IndexQuery, RangeQuery,
    TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, SegmentReader, TERMINATED, Term};

use super::{INODE, IndexError, KEY, MODIFIED, SIZE, SearchIndex, contained};
use crate::analysis;
use crate::folder::Stamp;
use crate::query::{Condition, Query};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// How many notes there are in all.
    pub(crate) total: usize,
    /// The best of them, best first.
    pub(crate) hits: Vec<Hit>,
}

/// A note that was found, in the state the index knows.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) path: String,
    pub(crate) stamp: Stamp,
    pub(crate) score: f32,
}

impl SearchIndex {
    /// The best `limit` notes for a query.
    pub(crate) fn search(&self, query: &Query, limit: usize) -> Result<Found, IndexError> {
        let has_phrase = query.has_phrase();
        let query = self.translated(query);
        contained(|| {
            let searcher = self.reader.searcher();
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
            let mut hits = Vec::new();
            let mut segment = None;
            for (score, address) in found {
                let columns = match segment.take() {
                    Some((number, columns)) if number == address.segment_ord => columns,
                    _ => Columns::of(searcher.segment_reader(address.segment_ord))?,
                };
                if let Some((path, stamp)) = columns.note(address.doc_id)? {
                    hits.push(Hit { path, stamp, score });
                }
                segment = Some((address.segment_ord, columns));
            }
            Ok(Found { total, hits })
        })
    }

    pub(super) fn stamp_of(&self, key: &Term) -> Result<Option<Stamp>, IndexError> {
        for segment in self.reader.searcher().segment_readers() {
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
                    let note = Columns::of(segment)?.note(document)?;
                    return Ok(note.map(|(_, stamp)| stamp));
                }
                document = postings.advance();
            }
        }
        Ok(None)
    }

    fn translated(&self, query: &Query) -> Box<dyn IndexQuery> {
        let mut clauses = Vec::with_capacity(query.clauses.len());
        for clause in &query.clauses {
            let occur = if clause.is_negated {
                Occur::MustNot
            } else {
                Occur::Must
            };
            clauses.push((occur, self.condition(&clause.condition)));
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

    fn condition(&self, condition: &Condition) -> Box<dyn IndexQuery> {
        let fields = self.fields;
        match condition {
            Condition::Word(word) => self.any_form(fields.text, word),
            Condition::Phrase(words) => phrase(fields.text, words),
            Condition::Prefix(prefix) => {
                let after = format!("{prefix}\u{10ffff}");
                Box::new(RangeQuery::new(
                    Bound::Included(Term::from_field_text(fields.text, prefix)),
                    Bound::Excluded(Term::from_field_text(fields.text, &after)),
                ))
            }
            Condition::Tag(tag) => term(fields.tag, tag, IndexRecordOption::Basic),
            Condition::Title(words) => {
                let forms = words.iter().map(|it| self.any_form(fields.title, it));
                Box::new(BooleanQuery::intersection(forms.collect()))
            }
            Condition::Path(words) => phrase(fields.path, words),
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

    /// The word itself, or another that has its stem in a language of the folder.
    fn any_form(&self, field: Field, word: &str) -> Box<dyn IndexQuery> {
        let stems = analysis::stems(word, &self.languages.read());
        let forms = stems.iter().map(String::as_str).chain([word]);
        let mut forms: Vec<_> = forms
            .map(|it| term(field, it, IndexRecordOption::WithFreqs))
            .collect();
        match forms.len() {
            1 => forms.swap_remove(0),
            _ => Box::new(BooleanQuery::union(forms)),
        }
    }
}

fn term(field: Field, text: &str, detail: IndexRecordOption) -> Box<dyn IndexQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), detail))
}

fn phrase(field: Field, words: &[String]) -> Box<dyn IndexQuery> {
    match words {
        [word] => term(field, word, IndexRecordOption::WithFreqs),
        _ => {
            let terms = words.iter().map(|it| Term::from_field_text(field, it));
            Box::new(PhraseQuery::new(terms.collect()))
        }
    }
}

/// What is kept beside the terms.
pub(super) struct Columns {
    key: Option<StrColumn>,
    size: Column<u64>,
    modified: Column<i64>,
    inode: Column<u64>,
}

impl Columns {
    pub(super) fn of(segment: &SegmentReader) -> Result<Self, IndexError> {
        let columns = segment.fast_fields();
        Ok(Self {
            key: columns.str(KEY)?,
            size: columns.u64(SIZE)?,
            modified: columns.i64(MODIFIED)?,
            inode: columns.u64(INODE)?,
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

    pub(super) fn stamp(&self, document: DocId) -> Stamp {
        Stamp {
            size: self.size.first(document).unwrap_or_default(),
            modified: self.modified.first(document).unwrap_or_default(),
            inode: self.inode.first(document).unwrap_or_default(),
        }
    }

    pub(super) fn note(&self, document: DocId) -> Result<Option<(String, Stamp)>, IndexError> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let Some(number) = key.term_ords(document).next() else {
            return Ok(None);
        };
        let mut path = String::new();
        if !key.ord_to_str(number, &mut path)? {
            return Ok(None);
        }
        Ok(Some((path, self.stamp(document))))
    }
}
