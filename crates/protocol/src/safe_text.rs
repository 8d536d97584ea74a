//! Makes foreign text harmless to whatever shows it (S13).
//!
//! Everything a server says may try to move a terminal's cursor, set its title, reorder what is read
//! or hide in it. This module owns which characters are dangerous and what is shown instead. It
//! knows nothing of where text is shown; a page that shows it still has to escape its own markup.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text for one line: harmless, and with line breaks made visible.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape(text, Breaks::Escaped)
}

/// Text of several lines: harmless, with its line breaks.
pub fn block(text: &str) -> Cow<'_, str> {
    escape(text, Breaks::Kept)
}

/// JSON text for a terminal: dangerous characters become JSON escapes, so it means the same.
///
/// In valid JSON such characters occur inside strings only, except for the carriage return, which
/// is white space.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\r' => safe.push(' '),
            dangerous if is_dangerous(dangerous) => {
                for unit in dangerous.encode_utf16(&mut [0; 2]) {
                    let _ = write!(safe, "\\u{unit:04x}");
                }
            }
            harmless => safe.push(harmless),
        }
    }
    Cow::Owned(safe)
}

/// What becomes of line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Kept,
    Escaped,
}

fn escape(text: &str, breaks: Breaks) -> Cow<'_, str> {
    let touched =
        |character| is_dangerous(character) || (character == '\n' && breaks == Breaks::Escaped);
    if !text.chars().any(touched) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(length) = colour_sequence(rest) {
            rest = &rest[length..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '\r' if rest.starts_with('\n') => {}
            '\n' if breaks == Breaks::Escaped => safe.push_str("\\n"),
            dangerous if is_dangerous(dangerous) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(dangerous));
            }
            harmless => safe.push(harmless),
        }
    }
    Cow::Owned(safe)
}

/// The length of a sequence that only sets colours, at the start of `text`. It is left out, because
/// it says nothing; every other sequence stays visible.
fn colour_sequence(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|character: char| !matches!(character, '0'..='9' | ';' | ':'))?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

/// Characters that control a terminal, reorder text, or cannot be seen.
fn is_dangerous(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // C0 and C1 controls, ESC and DEL among them.
        control if control.is_control() => true,
        // Marks, embeddings, overrides and isolates of text direction.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // Line and paragraph separators, which some programs treat as line breaks.
        '\u{2028}' | '\u{2029}' => true,
        // Characters without width that change no letter: places to hide text. Joiners are not
        // among them, scripts and emoji need those.
        '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}' => {
            true
        }
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacks_become_visible_text() {
        for (attack, shown) in [
            ("plain ü 日本 👩‍💻", "plain ü 日本 👩‍💻"),
            // Title, clipboard, hyperlink.
            ("\u{1b}]0;owned\u{7}", "\\u{1b}]0;owned\\u{7}"),
            ("\u{1b}]52;c;aGk=\u{1b}\\", "\\u{1b}]52;c;aGk=\\u{1b}\\"),
            // Clearing the screen, moving up and overwriting, C1 form of the same.
            ("\u{1b}[2J\u{1b}[1A", "\\u{1b}[2J\\u{1b}[1A"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("safe\rEVIL", "safe\\u{d}EVIL"),
            ("a\u{8}b\u{7f}\0", "a\\u{8}b\\u{7f}\\u{0}"),
            // Reordering and hiding.
            ("user\u{202e}nimda", "user\\u{202e}nimda"),
            ("\u{2066}x\u{2069}\u{200f}", "\\u{2066}x\\u{2069}\\u{200f}"),
            ("a\u{e0041}\u{200b}b", "a\\u{e0041}\\u{200b}b"),
            // Colours say nothing and go.
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[38:5:1mred\u{1b}[m", "red"),
            ("\u{1b}[31", "\\u{1b}[31"),
        ] {
            assert_eq!(block(attack), shown, "{attack:?}");
            assert_eq!(one_line(attack), shown, "{attack:?}");
        }
    }

    #[test]
    fn line_breaks_are_kept_in_blocks_only() {
        assert_eq!(block("a\r\nb\tc\n"), "a\nb\tc\n");
        assert_eq!(one_line("a\r\nb\tc\n"), "a\\nb\tc\\n");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let attack = "{\"a\":\r\"\u{9b}2J\u{202e}\u{7f}\u{e0041}ü\"}";
        let safe = json(attack);
        assert_eq!(safe, "{\"a\": \"\\u009b2J\\u202e\\u007f\\udb40\\udc41ü\"}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(attack), value(&safe));
    }
}
