//! Which line of many is selected and which of them are on the screen.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::keys::Action;

/// A selected line and the window around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The selected line.
    pub(crate) at: usize,
    offset: usize,
    height: usize,
}

impl Cursor {
    /// Moves by an action; false if it is not one that moves.
    pub(crate) fn act(&mut self, action: Action, count: usize) -> bool {
        let last = count.saturating_sub(1);
        let page = self.height.max(2) - 1;
        self.at = match action {
            Action::Up | Action::PickUp | Action::FilterUp => self.at.saturating_sub(1),
            Action::Down | Action::PickDown | Action::FilterDown => self.at + 1,
            Action::Top => 0,
            Action::Bottom => last,
            Action::PageUp | Action::PickPageUp => self.at.saturating_sub(page),
            Action::PageDown | Action::PickPageDown => self.at + page,
            Action::HalfUp => self.at.saturating_sub(page.div_ceil(2)),
            Action::HalfDown => self.at + page.div_ceil(2),
            _ => return false,
        }
        .min(last);
        true
    }

    /// Moves by lines, as a wheel does.
    pub(crate) fn step(&mut self, lines: isize, count: usize) {
        self.at = self
            .at
            .saturating_add_signed(lines)
            .min(count.saturating_sub(1));
    }

    /// The lines to draw into a window of this height, the selected one among them.
    pub(crate) fn window(&mut self, count: usize, height: usize) -> Range<usize> {
        self.height = height;
        self.at = self.at.min(count.saturating_sub(1));
        if self.at < self.offset {
            self.offset = self.at;
        } else if height > 0 && self.at >= self.offset + height {
            self.offset = self.at + 1 - height;
        }
        self.offset = self.offset.min(count.saturating_sub(height));
        self.offset..count.min(self.offset + height)
    }

    /// The line at a row of the window.
    pub(crate) fn line_at(&self, row: usize) -> usize {
        self.offset + row
    }

    /// Selects the line that was clicked; false if the click is outside of the window.
    pub(crate) fn click(&mut self, area: Rect, column: u16, row: u16, count: usize) -> bool {
        if !area.contains((column, row).into()) {
            return false;
        }
        let line = self.line_at(usize::from(row - area.y));
        self.at = line.min(count.saturating_sub(1));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_line_is_always_in_the_window() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.window(100, 10), 0..10);
        for (action, window, at) in [
            (Action::Bottom, 90..100, 99),
            (Action::Up, 90..100, 98),
            (Action::PageUp, 89..99, 89),
            (Action::Top, 0..10, 0),
            (Action::Up, 0..10, 0),
            (Action::PageDown, 0..10, 9),
            (Action::Down, 1..11, 10),
        ] {
            assert!(cursor.act(action, 100));
            assert_eq!(
                (cursor.window(100, 10), cursor.at),
                (window, at),
                "{action:?}"
            );
        }
        // The list becomes shorter than the place of the cursor.
        assert_eq!(cursor.window(3, 10), 0..3);
        assert_eq!(cursor.at, 2);
        assert_eq!(cursor.window(0, 10), 0..0);
        assert!(!cursor.act(Action::Quit, 3));
    }
}
