//! Bytes as they are.

use std::fmt::Write as _;
use std::sync::Arc;

use ratatui::text::{Line, Span};

use crate::theme::{Role, Theme};

/// Bytes in rows of sixteen, or of eight where there is little room.
#[derive(Debug)]
pub(super) struct HexView {
    bytes: Arc<[u8]>,
    in_row: usize,
}

impl HexView {
    pub(super) fn new(bytes: Arc<[u8]>) -> Self {
        Self { bytes, in_row: 16 }
    }

    pub(super) fn layout(&mut self, columns: usize) {
        self.in_row = match columns {
            0..44 => 4,
            44..76 => 8,
            _ => 16,
        };
    }

    pub(super) fn count(&self) -> usize {
        self.bytes.len().div_ceil(self.in_row).max(1)
    }

    fn row(&self, row: usize) -> (String, String, String) {
        let start = row * self.in_row;
        let bytes = self.bytes.iter().skip(start).take(self.in_row);
        let mut digits = String::new();
        let mut letters = String::new();
        for (at, byte) in bytes.enumerate() {
            let gap = if at % 8 == 0 && at > 0 { " " } else { "" };
            let _ = write!(digits, "{gap}{byte:02x} ");
            letters.push(match byte {
                0x20..=0x7e => char::from(*byte),
                _ => '.',
            });
        }
        let wide = self.in_row * 3 + self.in_row.div_ceil(8) - 1;
        (
            format!("{start:08x}  "),
            format!("{digits:<wide$} "),
            letters,
        )
    }

    pub(super) fn plain(&self, row: usize) -> String {
        let (at, digits, letters) = self.row(row);
        format!("{at}{digits}{letters}")
    }

    pub(super) fn line(&self, row: usize, theme: &Theme) -> Line<'static> {
        let (at, digits, letters) = self.row(row);
        Line::from(vec![
            Span::styled(at, theme.style(Role::Secondary)),
            Span::styled(digits, theme.style(Role::Number)),
            Span::styled(letters, theme.style(Role::Code)),
        ])
    }
}
