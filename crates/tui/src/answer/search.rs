//! Finding text in an answer, whatever the case of its letters.

use std::ops::Range;

/// The occurrences of a text; upper and lower case letters of ASCII are the same.
pub(super) fn occurrences<'t>(
    text: &'t str,
    found: &'t str,
) -> impl Iterator<Item = Range<usize>> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        let range = next(text, found, from)?;
        from = range.end.max(range.start + 1);
        Some(range)
    })
}

/// The next occurrence from a position on.
pub(super) fn next(text: &str, found: &str, from: usize) -> Option<Range<usize>> {
    let (text, found) = (text.as_bytes(), found.as_bytes());
    let (first, length) = (*found.first()?, found.len());
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let last = text.len().checked_sub(length)?;
    let mut at = from;
    while at <= last {
        let ahead = text.get(at..=last)?;
        at += ahead
            .iter()
            .position(|byte| *byte == lower || *byte == upper)?;
        if text[at..at + length].eq_ignore_ascii_case(found) {
            return Some(at..at + length);
        }
        at += 1;
    }
    None
}

/// The last occurrence that begins before a position.
pub(super) fn previous(text: &str, found: &str, before: usize) -> Option<Range<usize>> {
    let (text, found) = (text.as_bytes(), found.as_bytes());
    let length = found.len();
    let last = text.len().checked_sub(length)?;
    if length == 0 {
        return None;
    }
    let mut starts = (0..before.min(last + 1)).rev();
    let start = starts.find(|at| text[*at..*at + length].eq_ignore_ascii_case(found))?;
    Some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_in_both_directions() {
        let text = "Ab aB ünd ab";
        let all: Vec<_> = occurrences(text, "ab").collect();
        assert_eq!(all, [0..2, 3..5, 11..13]);
        assert_eq!(next(text, "ÜND", 0), None, "other letters are exact");
        assert_eq!(next(text, "ünd", 0), Some(6..10));
        assert_eq!(previous(text, "ab", 11), Some(3..5));
        assert_eq!(previous(text, "ab", 0), None);
        for found in ["", "longer than the text itself"] {
            assert_eq!(next(text, found, 0), None);
            assert_eq!(previous(text, found, 9), None);
        }
    }
}
