//! What is still waited for, on a terminal, below the lines that are printed meanwhile.
//!
//! Owns the few lines at the bottom of the screen that are drawn again and again, and go away. What
//! they say is the command's.

use std::io::{self, Write as _};

use super::{BarState, Format, Output, Text};

/// The board. Dropping it takes it away.
pub(crate) struct Board {
    output: Output,
}

impl Output {
    /// A board, if there is a terminal that can have one and no other is on it.
    pub(crate) fn board(&self) -> Option<Board> {
        let can_draw = std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb");
        let is_seen = self.stdout.is_terminal && self.stderr.is_terminal && can_draw;
        let is_free = matches!(*self.bar(), BarState::NotShown(None));
        (is_seen && is_free && self.format == Format::Human).then(|| Board {
            output: self.clone(),
        })
    }
}

impl Board {
    /// How many lines there is room for.
    pub(crate) fn lines(&self) -> usize {
        let height = terminal_size::terminal_size().map_or(24, |(_, height)| height.0);
        usize::from(height).saturating_sub(4).clamp(1, 10)
    }

    /// Shows these lines in place of those before.
    pub(crate) fn show(&self, lines: &Text) {
        let rendered = self.output.stderr.render(lines);
        let mut state = self.output.bar();
        let former = match &*state {
            BarState::Board(former) => erasing(former),
            BarState::NotShown(_) => String::new(),
            BarState::Shown(_) | BarState::PutAway => return,
        };
        let board = rendered.trim_end().to_owned();
        // In one write, so that no half of it is seen.
        draw(&format!("{former}{board}"));
        *state = BarState::Board(board);
    }
}

/// Runs `print` while a board is out of the way.
pub(super) fn aside<T>(board: &str, print: impl FnOnce() -> T) -> T {
    draw(&erasing(board));
    let printed = print();
    draw(board);
    printed
}

/// Takes a board away.
pub(super) fn take_away(board: &str) {
    draw(&erasing(board));
}

/// What takes these lines off the screen: up to the first, then everything below.
fn erasing(lines: &str) -> String {
    match lines.lines().count().saturating_sub(1) {
        0 => "\r\u{1b}[J".to_owned(),
        above => format!("\r\u{1b}[{above}A\u{1b}[J"),
    }
}

fn draw(text: &str) {
    // There is nowhere left to complain to.
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

impl Drop for Board {
    fn drop(&mut self) {
        self.output.put_bar_away();
        *self.output.bar() = BarState::default();
    }
}
