//! kitty's graphics: the pixels are told once, and marks in the text say where they are shown. So
//! an image scrolls, is covered and goes away as text does.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use ratatui::style::Color;

/// How many characters one part of a transmission has.
const PART: usize = 4096;
/// The character that stands for a cell of an image.
const PLACEHOLDER: char = '\u{10eeee}';
/// The marks that number rows and columns, from zero.
const NUMBERS: &[u32] = &[
    0x305, 0x30d, 0x30e, 0x310, 0x312, 0x33d, 0x33e, 0x33f, 0x346, 0x34a, 0x34b, 0x34c, 0x350,
    0x351, 0x352, 0x357, 0x35b, 0x363, 0x364, 0x365, 0x366, 0x367, 0x368, 0x369, 0x36a, 0x36b,
    0x36c, 0x36d, 0x36e, 0x36f, 0x483, 0x484, 0x485, 0x486, 0x487,
];

/// A number for an image. Numbers of several programs may meet in one terminal; the process number
/// keeps them apart well enough.
pub(super) fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    (std::process::id().wrapping_mul(251).wrapping_add(next) & 0x00ff_ffff).max(1)
}

/// The number of an image is told by the colour of its marks.
pub(super) fn color(number: u32) -> Color {
    let [_, red, green, blue] = number.to_be_bytes();
    Color::Rgb(red, green, blue)
}

/// The mark of a cell. The first of a row is numbered, the others follow it.
pub(super) fn mark(row: usize, column: usize) -> String {
    let number = |at: usize| NUMBERS.get(at).and_then(|mark| char::from_u32(*mark));
    let mut mark = String::from(PLACEHOLDER);
    if column == 0 {
        mark.extend(number(row));
        mark.extend(number(0));
    }
    mark
}

/// Tells a terminal the pixels, to be shown where the marks are.
pub(super) fn transmission(png: &[u8], number: u32, columns: usize, rows: usize) -> String {
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    let mut told = String::with_capacity(data.len() + 200);
    let mut rest = data.as_str();
    let mut is_first = true;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.len().min(PART));
        let more = u8::from(!after.is_empty());
        match std::mem::take(&mut is_first) {
            true => {
                let place = format!("c={columns},r={rows}");
                let _ = write!(
                    told,
                    "\x1b_Gq=2,a=T,U=1,f=100,i={number},{place},m={more};{part}\x1b\\"
                );
            }
            false => {
                let _ = write!(told, "\x1b_Gq=2,m={more};{part}\x1b\\");
            }
        }
        rest = after;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_come_in_parts() {
        let told = transmission(&vec![0; 6_000], 7, 10, 5);
        let parts: Vec<&str> = told
            .split("\x1b\\")
            .filter(|part| !part.is_empty())
            .collect();
        assert_eq!(parts.len(), 2);
        assert!(parts[0].starts_with("\x1b_Gq=2,a=T,U=1,f=100,i=7,c=10,r=5,m=1;AAAA"));
        assert!(parts[1].starts_with("\x1b_Gq=2,m=0;AAAA"));
        assert_eq!(parts[0].split(';').nth(1).map(str::len), Some(PART));
    }

    #[test]
    fn marks_number_rows() {
        assert_eq!(mark(0, 0), "\u{10eeee}\u{305}\u{305}");
        assert_eq!(mark(2, 0), "\u{10eeee}\u{30e}\u{305}");
        assert_eq!(mark(2, 5), "\u{10eeee}");
        assert_eq!(NUMBERS.len(), super::super::MAX_ROWS);
    }
}
