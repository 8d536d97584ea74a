//! Text that is shown as it comes and drawn anew when a block of it is complete.
//!
//! Owns which rows of the screen a block covers, so that it can be replaced in place. What has left
//! the screen stays as it was written.

use unicode_width::UnicodeWidthChar as _;

/// The unfinished block of a text.
#[derive(Debug)]
pub(super) struct Live {
    columns: usize,
    rows: usize,
    /// What was written since the last block.
    block: String,
    /// The beginning of the last line of `block`.
    line_start: usize,
    is_in_fence: bool,
}

/// What to write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// This text, as it is.
    Write(&'a str),
    /// In place of the last rows, this block. The cursor is in the last of `rows` rows.
    Replace {
        /// How many rows are above the cursor's.
        rows: usize,
        /// The block.
        block: String,
    },
}

impl Live {
    /// A text that begins at the left edge.
    pub(super) fn new((columns, rows): (usize, usize)) -> Self {
        Self {
            columns: columns.max(1),
            rows,
            block: String::new(),
            line_start: 0,
            is_in_fence: false,
        }
    }

    /// Takes a piece of safe text and says what to write, line by line.
    pub(super) fn push(&mut self, text: &str, mut step: impl FnMut(Step<'_>)) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, has_end) = match rest.find('\n') {
                Some(at) => (&rest[..=at], true),
                None => (rest, false),
            };
            rest = &rest[piece.len()..];
            self.block.push_str(piece);
            step(Step::Write(piece));
            if has_end && self.ends_block() {
                self.finish(&mut step);
            }
        }
    }

    /// Takes a piece that was written otherwise, whatever blocks it has.
    pub(super) fn keep(&mut self, text: &str) {
        self.block.push_str(text);
    }

    /// The block is complete.
    pub(super) fn finish(&mut self, mut step: impl FnMut(Step<'_>)) {
        let block = std::mem::take(&mut self.block);
        self.line_start = 0;
        self.is_in_fence = false;
        let rows = rows_below(&block, self.columns);
        // What has scrolled away cannot be replaced.
        if !block.trim().is_empty() && rows < self.rows.saturating_sub(1) {
            step(Step::Replace { rows, block });
        }
    }

    /// Whether the cursor is at the left edge.
    pub(super) fn is_at_edge(&self) -> bool {
        self.block.is_empty() || self.block.ends_with('\n')
    }

    /// Whether the line that just ended ends its block.
    fn ends_block(&mut self) -> bool {
        let line = self.block[self.line_start..].trim();
        let is_blank = line.is_empty();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        self.line_start = self.block.len();
        if is_fence {
            self.is_in_fence = !self.is_in_fence;
            return !self.is_in_fence;
        }
        is_blank && !self.is_in_fence
    }
}

/// How many rows the cursor moves down while a text is written from the left edge.
pub(super) fn rows_below(text: &str, columns: usize) -> usize {
    let (mut row, mut column) = (0, 0);
    for found in text.chars() {
        if found == '\n' {
            row += 1;
            column = 0;
            continue;
        }
        let width = match found {
            '\t' => 8 - column % 8,
            found => found.width().unwrap_or(0),
        };
        // A full row is left only with the next character.
        if column + width > columns {
            row += 1;
            column = 0;
        }
        column += width;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_a_terminal_wraps() {
        for (text, rows) in [
            ("", 0),
            ("abc", 0),
            ("abcd", 0),
            ("abcde", 1),
            ("abcd\n", 1),
            ("ab\ncd\n", 2),
            ("日本語", 1),
            ("a日本", 1),
            ("e\u{301}e\u{301}e\u{301}e\u{301}", 0),
        ] {
            assert_eq!(rows_below(text, 4), rows, "{text:?}");
        }
    }

    #[test]
    fn every_byte_is_written_at_once_and_blocks_are_replaced_when_complete() {
        let text = "# A\n\nsome *words*\nmore\n\n```\ncode\n\nmore\n```\nend";
        for cut in 1..text.len() {
            let mut live = Live::new((80, 24));
            let (mut written, mut blocks) = (String::new(), Vec::new());
            let mut step = |step: Step<'_>| match step {
                Step::Write(text) => written.push_str(text),
                Step::Replace { block, .. } => blocks.push(block),
            };
            let mut rest = text;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                live.push(piece, &mut step);
                rest = after;
            }
            live.finish(&mut step);
            assert_eq!(written, text);
            let expected = [
                "# A\n\n",
                "some *words*\nmore\n\n",
                "```\ncode\n\nmore\n```\n",
                "end",
            ];
            assert_eq!(blocks, expected, "{cut}");
        }
    }

    #[test]
    fn what_has_scrolled_away_is_left_as_it_is() {
        let mut live = Live::new((80, 5));
        let mut replaced = 0;
        let mut step =
            |step: Step<'_>| replaced += usize::from(matches!(step, Step::Replace { .. }));
        live.push("a\nb\nc\nd\ne\nf\n\n", &mut step);
        live.finish(&mut step);
        assert_eq!(replaced, 0);
    }
}
