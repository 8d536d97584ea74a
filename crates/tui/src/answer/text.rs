//! Text of any size: an index of where its rows begin, made as far as it is looked at.

use std::cell::Cell;
use std::sync::Arc;

use attache_view::document::{Body, Document};

use crate::measure::{row_end, untabbed};

/// How much text is indexed at a time: what is shown at once of a large answer.
pub(crate) const CHUNK: usize = 256 * 1024;

/// Where a text is, so that a large one is not copied.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// It is the text of a block.
    Block(Arc<Document>, usize),
    /// It was made for being shown.
    Made(Arc<str>),
}

impl Source {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Block(document, at) => document
                .blocks
                .get(*at)
                .and_then(|block| text_of(&block.body))
                .unwrap_or_default(),
            Self::Made(text) => text,
        }
    }
}

/// The text of a block that is text.
pub(super) fn text_of(body: &Body) -> Option<&str> {
    match body {
        Body::Text { text, .. } => Some(text),
        Body::Markdown(markdown) => Some(&markdown.text),
        Body::Resource { body, .. } => text_of(body),
        _ => None,
    }
}

/// A text in rows.
#[derive(Debug)]
pub(super) struct WrappedText {
    source: Source,
    /// Where rows begin. Positions of an answer fit into 32 bits, because messages are limited.
    starts: Vec<u32>,
    /// How much of the text has been indexed.
    indexed: usize,
    columns: usize,
    wraps: bool,
    /// How many rows were made, for tests.
    made: Cell<usize>,
}

impl WrappedText {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            starts: Vec::new(),
            indexed: 0,
            columns: 0,
            wraps: true,
            made: Cell::new(0),
        }
    }

    /// Prepares rows of this width; the first of them are known afterwards.
    pub(super) fn layout(&mut self, columns: usize, wraps: bool) {
        if (self.columns, self.wraps) != (columns, wraps) || self.starts.is_empty() {
            self.columns = columns;
            self.wraps = wraps;
            self.starts.clear();
            self.indexed = 0;
            self.extend();
        }
    }

    pub(super) fn text(&self) -> &str {
        self.source.as_str()
    }

    /// How many rows are known.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.indexed > self.text().len()
    }

    /// How many bytes are indexed, of how many.
    pub(super) fn known(&self) -> (usize, usize) {
        let total = self.text().len();
        (self.indexed.min(total), total)
    }

    /// Indexes the next part of the text.
    pub(super) fn extend(&mut self) {
        if self.is_complete() {
            return;
        }
        let source = self.source.clone();
        let text = source.as_str();
        let until = (self.indexed + CHUNK).min(text.len());
        while self.indexed <= until {
            let rest = text.get(self.indexed..).unwrap_or_default();
            let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
            self.index_line(line);
            // Behind the line break; beyond the end of the text after its last line.
            self.indexed += line.len() + 1;
        }
    }

    fn index_line(&mut self, line: &str) {
        let mut at = 0;
        loop {
            self.starts
                .push(u32::try_from(self.indexed + at).unwrap_or(u32::MAX));
            if !self.wraps {
                return;
            }
            at += row_end(&line[at..], self.columns);
            if at >= line.len() {
                return;
            }
        }
    }

    /// The text of a row.
    pub(super) fn row(&self, row: usize) -> &str {
        self.made.set(self.made.get() + 1);
        let text = self.text();
        let start = |row: usize| self.starts.get(row).map(|start| *start as usize);
        let Some(from) = start(row) else {
            return "";
        };
        let to = start(row + 1).unwrap_or(self.indexed).min(text.len());
        text.get(from..to)
            .unwrap_or_default()
            .trim_end_matches(['\n', ' '])
    }

    /// The row of a position; the text is indexed as far.
    pub(super) fn row_of(&mut self, position: usize) -> usize {
        while self.indexed <= position && !self.is_complete() {
            self.extend();
        }
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        self.starts
            .partition_point(|start| *start <= position)
            .saturating_sub(1)
    }

    /// The position at which a row begins.
    pub(super) fn position(&self, row: usize) -> usize {
        self.starts.get(row).map_or(0, |start| *start as usize)
    }

    /// How many rows were made since the last time.
    #[cfg(test)]
    pub(super) fn take_made(&self) -> usize {
        self.made.take()
    }

    pub(super) fn shown(&self, row: usize) -> String {
        untabbed(self.row(row)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, columns: usize) -> WrappedText {
        let mut text = WrappedText::new(Source::Made(text.into()));
        text.layout(columns, true);
        text
    }

    fn rows(text: &WrappedText) -> Vec<&str> {
        (0..text.count()).map(|row| text.row(row)).collect()
    }

    #[test]
    fn rows_are_lines_wrapped() {
        for (lines, columns, expected) in [
            ("", 5, &[""][..]),
            ("a\nb", 5, &["a", "b"]),
            ("a\n", 5, &["a", ""]),
            ("one two\n\n日本語", 4, &["one", "two", "", "日本", "語"]),
        ] {
            let text = text(lines, columns);
            assert_eq!(rows(&text), expected, "{lines:?}");
            assert!(text.is_complete());
        }
    }

    #[test]
    fn a_large_text_is_indexed_as_far_as_it_is_looked_at() {
        let line = format!("{}\n", "x".repeat(99));
        let mut text = text(&line.repeat(100_000), 200);
        assert!(!text.is_complete());
        assert_eq!(text.known(), (CHUNK + 100 - CHUNK % 100, 10_000_000));
        let known = text.count();
        assert!(known < 3_000, "{known}");
        assert_eq!(text.row_of(5_000_000), 50_000);
        assert!(text.count() < 53_000);
        while !text.is_complete() {
            text.extend();
        }
        assert_eq!(text.count(), 100_001);
        assert_eq!(text.take_made(), 0, "the index makes no rows");
    }
}
