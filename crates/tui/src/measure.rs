//! How many columns a text takes, and how it is made to fit.

use std::borrow::Cow;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// How many columns a tab takes. A terminal's own tab stops are of no use inside a pane.
const TAB: &str = "    ";

/// The columns of one character.
pub(crate) fn char_width(character: char) -> usize {
    match character {
        '\t' => TAB.len(),
        other => other.width().unwrap_or(0),
    }
}

/// The columns of a text.
pub(crate) fn width(text: &str) -> usize {
    match text.is_ascii() && !text.contains('\t') {
        true => text.len(),
        false => text.chars().map(char_width).sum(),
    }
}

/// The text with tabs as spaces, because a drawn tab has no width.
pub(crate) fn untabbed(text: &str) -> Cow<'_, str> {
    match text.contains('\t') {
        true => Cow::Owned(text.replace('\t', TAB)),
        false => Cow::Borrowed(text),
    }
}

/// As much of a text as fits into so many columns; what is cut is told by an ellipsis of one column.
pub(crate) fn fit<'t>(text: &'t str, columns: usize, ellipsis: &str) -> Cow<'t, str> {
    let mut used = 0;
    let mut cut = 0;
    for (at, character) in text.char_indices() {
        used += char_width(character);
        if used < columns {
            cut = at + character.len_utf8();
        }
        if used > columns {
            let kept = untabbed(&text[..cut]).into_owned();
            return Cow::Owned(if columns == 0 { kept } else { kept + ellipsis });
        }
    }
    untabbed(text)
}

/// A text in exactly so many columns.
pub(crate) fn padded(text: &str, columns: usize, ellipsis: &str) -> String {
    let mut fitted = fit(text, columns, ellipsis).into_owned();
    let missing = columns.saturating_sub(width(&fitted));
    fitted.extend(std::iter::repeat_n(' ', missing));
    fitted
}

/// The end of the first row of a line that is wrapped after so many columns: behind a space if
/// there is one, else between two characters. It is never the beginning, unless the line is empty.
pub(crate) fn row_end(line: &str, columns: usize) -> usize {
    let columns = columns.max(1);
    if line.len() <= columns && line.is_ascii() && !line.contains('\t') {
        return line.len();
    }
    let mut used = 0;
    let mut space = None;
    for (at, character) in line.char_indices() {
        used += char_width(character);
        if used > columns && at > 0 {
            // A space that does not fit belongs to the end of its row.
            return match character {
                ' ' => at + 1,
                _ => space.unwrap_or(at),
            };
        }
        if character == ' ' {
            space = Some(at + 1);
        }
    }
    line.len()
}

/// The rows of a text of several lines, as ranges of it.
pub(crate) fn rows(text: &str, columns: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split('\n') {
        let mut at = 0;
        loop {
            let end = at + row_end(&line[at..], columns);
            rows.push(start + at..start + end);
            at = end;
            if at >= line.len() {
                break;
            }
        }
        start += line.len() + 1;
    }
    rows
}

/// The rows of a text, without the spaces at their ends.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let rows = rows(text, columns).into_iter();
    rows.map(|row| untabbed(text[row].trim_end()).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("a\tb", 9, "a    b"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("", 0, ""),
        ] {
            assert_eq!(fit(text, columns, "…"), expected, "{text} {columns}");
            assert!(width(&fit(text, columns, "…")) <= columns);
        }
        assert_eq!(padded("日本", 5, "…"), "日本 ");
    }

    #[test]
    fn texts_are_wrapped_at_spaces_where_there_are_some() {
        for (text, columns, expected) in [
            ("one two three", 7, &["one two", "three"][..]),
            ("one two three", 8, &["one two", "three"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("日本語", 3, &["日", "本", "語"]),
            ("日本語", 0, &["日", "本", "語"]),
            ("a\n\nb", 9, &["a", "", "b"]),
            ("", 9, &[""]),
        ] {
            assert_eq!(wrapped(text, columns), expected, "{text}");
        }
    }
}
