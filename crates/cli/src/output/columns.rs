//! How much room text takes on a terminal, and how it is broken into lines.
//!
//! Counts columns, not characters: wide ones take two, combining ones none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text::{Style, Text};

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Text in several styles that is broken between words.
#[derive(Default)]
pub(super) struct Flow {
    words: Vec<Word>,
    /// The next piece belongs to the last word.
    is_open: bool,
}

#[derive(Default)]
struct Word {
    pieces: Vec<(Style, String)>,
    width: usize,
    /// The line ends after it.
    ends_line: bool,
}

impl Flow {
    /// Adds text, whose white space is where it may be broken.
    pub(super) fn add(&mut self, style: Style, text: &str) {
        for (at, piece) in text.split([' ', '\n', '\t']).enumerate() {
            if at > 0 {
                self.is_open = false;
            }
            if piece.is_empty() {
                continue;
            }
            if !self.is_open {
                self.words.push(Word::default());
            }
            if let Some(word) = self.words.last_mut() {
                word.width += width(piece);
                word.pieces.push((style, piece.to_owned()));
            }
            self.is_open = true;
        }
    }

    pub(super) fn end_line(&mut self) {
        self.is_open = false;
        match self.words.last_mut() {
            Some(word) => word.ends_line = true,
            None => self.words.push(Word {
                ends_line: true,
                ..Word::default()
            }),
        }
    }

    /// The lines of the text, each no wider than `room`; at least one.
    pub(super) fn lines(self, room: usize) -> Vec<Vec<(Style, String)>> {
        let room = room.max(1);
        let mut lines = vec![Vec::new()];
        let mut taken = 0;
        for word in self.words {
            let gap = usize::from(taken > 0);
            if taken > 0 && taken + gap + word.width > room {
                lines.push(Vec::new());
                taken = 0;
            } else if gap > 0 {
                push(&mut lines, (Style::Plain, " ".to_owned()));
                taken += gap;
            }
            for (style, piece) in word.pieces {
                for part in parts(&piece, room, taken) {
                    let part_width = width(part);
                    if taken > 0 && taken + part_width > room {
                        lines.push(Vec::new());
                        taken = 0;
                    }
                    taken += part_width;
                    push(&mut lines, (style, part.to_owned()));
                }
            }
            if word.ends_line {
                lines.push(Vec::new());
                taken = 0;
            }
        }
        if lines.len() > 1 && lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        lines
    }
}

fn push(lines: &mut [Vec<(Style, String)>], piece: (Style, String)) {
    if let Some(line) = lines.last_mut() {
        line.push(piece);
    }
}

/// Cuts a word that is wider than a line, never before a character that takes no room, which
/// belongs to the one before it.
fn parts(word: &str, room: usize, taken: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut used) = (0, if width(word) > room { taken } else { 0 });
    for (at, character) in word.char_indices() {
        let columns = character.width().unwrap_or(0);
        if columns > 0 && used + columns > room && at > start {
            parts.push(&word[start..at]);
            (start, used) = (at, 0);
        }
        used += columns;
    }
    parts.push(&word[start..]);
    parts
}

/// Where the text of a column stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A table with aligned columns: a head, a line below it, and rows whose cells may take several
/// lines.
pub(super) struct Grid {
    pub(super) sides: Vec<Side>,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// What stands between columns.
const GAP: &str = "  ";
/// Columns are not made narrower than this.
const NARROWEST: usize = 8;

impl Grid {
    /// Draws the table into so many columns of a terminal; `None` if it does not fit.
    pub(super) fn draw(&self, room: usize) -> Option<Text> {
        let widths = self.widths(room)?;
        let mut text = Text::new();
        self.row(&self.head, Style::Name, &widths, &mut text);
        let line: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        text.faint(&line.join(GAP)).end_line();
        for row in &self.rows {
            self.row(row, Style::Plain, &widths, &mut text);
        }
        Some(text)
    }

    /// The natural widths, the widest made narrower until all fit.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let cells = |column: usize| {
            let rows = self.rows.iter().filter_map(move |row| row.get(column));
            rows.chain(self.head.get(column))
        };
        let natural: Vec<usize> = (0..self.head.len())
            .map(|column| cells(column).map(|cell| width(cell)).max().unwrap_or(0))
            .collect();
        let room = room.checked_sub(GAP.len() * natural.len().saturating_sub(1))?;
        let at_most = |most: usize| {
            natural
                .iter()
                .map(|width| (*width).min(most))
                .sum::<usize>()
        };
        if at_most(NARROWEST) > room {
            return None;
        }
        let widest = natural.iter().copied().max().unwrap_or(0);
        // `at_most` grows with its argument, so the greatest that fits is found by halving.
        let (mut low, mut high) = (NARROWEST, widest.max(NARROWEST));
        while low < high {
            let middle = (low + high).div_ceil(2);
            match at_most(middle) <= room {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        Some(natural.iter().map(|width| (*width).min(low)).collect())
    }

    fn row(&self, cells: &[String], style: Style, widths: &[usize], text: &mut Text) {
        let cells: Vec<Vec<Vec<(Style, String)>>> = cells
            .iter()
            .zip(widths)
            .map(|(cell, room)| {
                let mut flow = Flow::default();
                flow.add(style, cell);
                flow.lines(*room)
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            // Fillings at the end of a line are never written.
            let mut owed = 0;
            for (column, cell) in cells.iter().enumerate() {
                owed += if column == 0 { 0 } else { GAP.len() };
                let pieces = cell.get(line).map_or(&[][..], Vec::as_slice);
                let taken: usize = pieces.iter().map(|(_, piece)| width(piece)).sum();
                let free = widths[column].saturating_sub(taken);
                let (before, after) = match self.sides[column] {
                    Side::Left => (0, free),
                    Side::Right => (free, 0),
                };
                owed += before;
                if taken > 0 {
                    text.plain(&" ".repeat(owed));
                    owed = 0;
                }
                for (style, piece) in pieces {
                    text.add(*style, piece);
                }
                owed += after;
            }
            text.end_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::Colour;
    use super::*;

    fn lines(text: &str, room: usize) -> Vec<String> {
        let mut flow = Flow::default();
        flow.add(Style::Plain, text);
        let lines = flow.lines(room).into_iter();
        lines
            .map(|line| line.into_iter().map(|(_, piece)| piece).collect())
            .collect()
    }

    #[test]
    fn lines_are_broken_between_words_by_their_columns() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("one two three", 80), ["one two three"]);
        assert_eq!(lines("", 5), [""]);
        // Wide characters take two columns, combining ones none.
        assert_eq!(lines("日本 語文", 6), ["日本", "語文"]);
        assert_eq!(lines("日本語文字", 6), ["日本語", "文字"]);
        assert_eq!(
            lines("e\u{301}e\u{301}e\u{301} x", 3),
            ["e\u{301}e\u{301}e\u{301}", "x"]
        );
        assert_eq!(lines("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(lines("日", 1), ["日"]);
    }

    #[test]
    fn words_of_several_styles_stay_together() {
        let mut flow = Flow::default();
        flow.add(Style::Plain, "see ");
        flow.add(Style::Name, "this");
        flow.add(Style::Plain, ", please");
        let lines = flow.lines(9);
        let shown: Vec<String> = lines
            .iter()
            .map(|line| line.iter().map(|(_, piece)| piece.as_str()).collect())
            .collect();
        assert_eq!(shown, ["see this,", "please"]);
    }

    #[test]
    fn tables_are_aligned_and_fit() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let grid = Grid {
            sides: vec![Side::Left, Side::Right, Side::Left],
            head: words(&["name", "size", "about"]),
            rows: vec![
                words(&["日本", "5", "one two three four"]),
                words(&["ab", "1000", ""]),
            ],
        };
        let drawn = grid.draw(40).unwrap().render(Colour::Off);
        insta::assert_snapshot!(drawn, @"
        name  size  about
        ────  ────  ──────────────────
        日本     5  one two three four
        ab    1000
        ");
        let drawn = grid.draw(24).unwrap().render(Colour::Off);
        insta::assert_snapshot!(drawn, @"
        name  size  about
        ────  ────  ────────────
        日本     5  one two
                    three four
        ab    1000
        ");
        assert!(grid.draw(15).is_none());
    }
}
