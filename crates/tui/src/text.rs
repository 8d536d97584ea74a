//! Small texts: cut to a width, sizes, times, and foreign text made safe.

use std::borrow::Cow;

use attache_view::safe_text;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Foreign text for one line of the screen: harmless, without tabs.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    match safe_text::one_line(text) {
        Cow::Borrowed(text) if !text.contains('\t') => Cow::Borrowed(text),
        safe => Cow::Owned(safe.replace('\t', " ")),
    }
}

/// The beginning of a text that may be of any length.
pub(crate) fn head(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A foreign name, of which more than this would never be read.
pub(crate) fn safe_name(text: &str) -> String {
    safe(head(text, 512)).into_owned()
}

/// The width of a text on the screen.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text cut to a width; what stands for the rest is included in it.
pub(crate) fn cut<'a>(text: &'a str, most: usize, ellipsis: &str) -> Cow<'a, str> {
    if text.len() <= most && text.is_ascii() || text.width() <= most {
        return Cow::Borrowed(text);
    }
    let room = most.saturating_sub(ellipsis.width());
    let mut taken = 0;
    let mut end = 0;
    for (at, character) in text.char_indices() {
        let wide = character.width().unwrap_or(0);
        if taken + wide > room {
            break;
        }
        taken += wide;
        end = at + character.len_utf8();
    }
    if most == 0 {
        return Cow::Borrowed("");
    }
    Cow::Owned(format!("{}{ellipsis}", &text[..end]))
}

/// A text cut or filled up to exactly a width.
pub(crate) fn column(text: &str, wide: usize, ellipsis: &str) -> String {
    let cut = cut(text, wide, ellipsis);
    let missing = wide.saturating_sub(cut.width());
    format!("{cut}{:missing$}", "")
}

/// The same, at the right end of its column.
pub(crate) fn right(text: &str, wide: usize, ellipsis: &str) -> String {
    let cut = cut(text, wide, ellipsis);
    let missing = wide.saturating_sub(cut.width());
    format!("{:missing$}{cut}", "")
}

/// A size as people say it.
pub(crate) fn bytes(count: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let exact = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..10_000 => format!("{:.1} kB", exact / 1e3),
        10_000..1_000_000 => format!("{} kB", count / 1_000),
        1_000_000..10_000_000 => format!("{:.1} MB", exact / 1e6),
        _ => format!("{} MB", count / 1_000_000),
    }
}

/// A duration as people say it.
pub(crate) fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        60_000..3_600_000 => {
            let seconds = milliseconds / 1_000;
            format!("{}:{:02} min", seconds / 60, seconds % 60)
        }
        _ => {
            let minutes = milliseconds / 60_000;
            format!("{}:{:02} h", minutes / 60, minutes % 60)
        }
    }
}

/// The time of day in UTC, which is what logs have too.
pub(crate) fn clock(at_ms: u64) -> String {
    let seconds = at_ms / 1_000 % 86_400;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// How long ago something was, in one word.
pub(crate) fn ago(at_ms: u64, now_ms: u64) -> String {
    match now_ms.saturating_sub(at_ms) / 1_000 {
        seconds @ 0..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

/// A word as a shell takes it.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "_-./:=@%+,".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_width_and_not_by_letters() {
        for (text, most, expected) in [
            ("plain", 5, "plain"),
            ("plainer", 5, "plai…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("x", 0, ""),
        ] {
            assert_eq!(cut(text, most, "…"), expected);
        }
        assert_eq!(column("ü", 3, "…"), "ü  ");
        assert_eq!(right("12", 4, "…"), "  12");
    }

    #[test]
    fn sizes_and_times_are_short() {
        let sizes = [0, 999, 1_200, 15_000, 2_500_000, 12_000_000].map(bytes);
        assert_eq!(sizes.join(", "), "0 B, 999 B, 1.2 kB, 15 kB, 2.5 MB, 12 MB");
        let times = [5, 1_240, 61_000, 3_700_000].map(duration);
        assert_eq!(times.join(", "), "5 ms, 1.2 s, 1:01 min, 1:01 h");
        assert_eq!(clock(1_700_000_000_000), "22:13:20");
    }

    #[test]
    fn shells_get_words_back() {
        assert_eq!(shell_word("notes/search"), "notes/search");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }
}
