//! Rows that are made at once: those of texts whose size is bounded.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::measure::{rows, untabbed};

/// Where a row leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To a page, which a browser may open.
    Page(String),
    /// To a resource of the server.
    Resource(String),
}

/// A row, and where it leads.
#[derive(Clone, Debug, Default)]
pub(super) struct MadeRow {
    pub(super) line: Line<'static>,
    pub(super) target: Option<Target>,
}

impl MadeRow {
    pub(super) fn new(line: impl Into<Line<'static>>) -> Self {
        Self {
            line: line.into(),
            target: None,
        }
    }

    pub(super) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self::new(Line::styled(text.into(), style))
    }

    /// The text of the row.
    pub(super) fn plain(&self) -> String {
        self.line
            .spans
            .iter()
            .map(|span| span.content.as_ref())
            .collect()
    }
}

/// A text with styles, to be wrapped as a whole.
#[derive(Debug, Default)]
pub(super) struct Flow {
    text: String,
    styles: Vec<(Range<usize>, Style)>,
}

impl Flow {
    pub(super) fn push(&mut self, text: &str, style: Style) {
        let start = self.text.len();
        self.text.push_str(&untabbed(text));
        self.styles.push((start..self.text.len(), style));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn width(&self) -> usize {
        crate::measure::width(&self.text)
    }

    /// The rows of so many columns.
    pub(super) fn wrapped(&self, columns: usize) -> Vec<Vec<Span<'static>>> {
        let rows = rows(&self.text, columns).into_iter();
        rows.map(|row| self.spans(row)).collect()
    }

    fn spans(&self, row: Range<usize>) -> Vec<Span<'static>> {
        let end = row.start + self.text[row.clone()].trim_end().len();
        let overlapping = self.styles.iter().filter_map(|(range, style)| {
            let from = range.start.max(row.start);
            let to = range.end.min(end);
            (from < to).then(|| Span::styled(self.text[from..to].replace('\n', " "), *style))
        });
        overlapping.collect()
    }
}

/// A line with every occurrence of a text marked.
pub(super) fn highlighted(line: Line<'static>, found: &str, style: Style) -> Line<'static> {
    let plain: String = line
        .spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect();
    let ranges: Vec<Range<usize>> = super::search::occurrences(&plain, found).collect();
    if ranges.is_empty() {
        return line;
    }
    let mut spans = Vec::new();
    let mut start = 0;
    for span in line.spans {
        let end = start + span.content.len();
        let mut at = start;
        for range in ranges
            .iter()
            .filter(|range| range.start < end && range.end > start)
        {
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from > at {
                spans.push(Span::styled(plain[at..from].to_owned(), span.style));
            }
            if to > from {
                spans.push(Span::styled(
                    plain[from..to].to_owned(),
                    span.style.patch(style),
                ));
            }
            at = to.max(at);
        }
        if at < end {
            spans.push(Span::styled(plain[at..end].to_owned(), span.style));
        }
        start = end;
    }
    Line {
        spans,
        style: line.style,
        alignment: line.alignment,
    }
}
