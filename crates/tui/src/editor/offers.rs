//! Values that a server offers for what is being typed.

use attache_view::safe_text;

/// How many are kept.
const MOST: usize = 100;

/// Values that a server offers, and which of them is chosen.
#[derive(Debug, Default)]
pub(super) struct Offers {
    serial: u64,
    values: Vec<String>,
    chosen: Option<usize>,
}

impl Offers {
    /// The number of a new question; answers to older ones are let go.
    pub(super) fn ask(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Takes an answer, if it is the answer to the last question.
    pub(super) fn take(&mut self, serial: u64, mut values: Vec<String>) {
        if serial == self.serial {
            values.truncate(MOST);
            self.values = values;
            self.chosen = None;
        }
    }

    /// Shows no values any more; an answer that is still on its way is let go.
    pub(super) fn close(&mut self) {
        self.values.clear();
        self.chosen = None;
        self.serial += 1;
    }

    pub(super) fn is_shown(&self) -> bool {
        !self.values.is_empty()
    }

    pub(super) fn move_by(&mut self, by: isize) {
        let last = self.values.len().saturating_sub(1);
        self.chosen = Some(match self.chosen {
            None if by > 0 => 0,
            None => last,
            Some(at) => at.saturating_add_signed(by).min(last),
        });
    }

    pub(super) fn chosen(&self) -> Option<&str> {
        self.values.get(self.chosen?).map(String::as_str)
    }

    /// The values around the chosen one, and whether they are it; safe to show.
    pub(super) fn window(&self, height: usize) -> Vec<(String, bool)> {
        let top = self
            .chosen
            .map_or(0, |chosen| (chosen + 1).saturating_sub(height));
        let window = self.values.iter().enumerate().skip(top).take(height);
        let line = |(at, value): (usize, &String)| {
            (
                safe_text::one_line(value).into_owned(),
                Some(at) == self.chosen,
            )
        };
        window.map(line).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.values.len()
    }
}
