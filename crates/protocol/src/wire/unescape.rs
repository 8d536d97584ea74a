//! A JSON string turned into its text in one pass, eight bytes at a time.
//!
//! Text with line breaks and quotes has an escape every few words, and a search, a copy and a push
//! for each of the short runs in between cost more than the bytes themselves.

use crate::wire::scan::{end_of_run, marked};

/// Reads a string behind its opening quote: its text, and how many bytes it takes with the closing
/// quote. Gives up on lone surrogates, which no text can hold, and on what is no string.
pub(crate) fn unescaped(json: &str) -> Option<(String, usize)> {
    let bytes = json.as_bytes();
    let run = end_of_run(bytes)?;
    if bytes[run] == b'"' {
        return Some((json[..run].to_owned(), run + 1));
    }
    // A text is never longer than its escaped form, so the write never overtakes the read.
    let mut text = vec![0; bytes.len()];
    text[..run].copy_from_slice(&bytes[..run]);
    let (mut read, mut written) = (run, run);
    loop {
        let run = copy_run(&bytes[read..], &mut text[written..])?;
        read += run;
        written += run;
        if bytes[read] == b'"' {
            break;
        }
        let (character, length) = escape(&json[read..])?;
        written += character.encode_utf8(&mut text[written..]).len();
        read += length;
    }
    text.truncate(written);
    // The rest of the line was not text, and half of the text may have been escapes.
    if text.capacity() > 2 * text.len() {
        text.shrink_to_fit();
    }
    Some((String::from_utf8(text).ok()?, read + 1))
}

/// Copies up to the next byte that means something; gives how many bytes that are.
fn copy_run(from: &[u8], to: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    while let (Some(source), Some(target)) = (from.get(at..at + 8), to.get_mut(at..at + 8)) {
        target.copy_from_slice(source);
        let found = marked(u64::from_le_bytes(source.try_into().ok()?));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let run = end_of_run(from.get(at..)?)?;
    to.get_mut(at..at + run)?
        .copy_from_slice(&from[at..at + run]);
    Some(at + run)
}

/// The character of an escape, and how many bytes it takes.
fn escape(json: &str) -> Option<(char, usize)> {
    let [b'\\', kind, ..] = json.as_bytes() else {
        return None;
    };
    let character = match kind {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'u' => return unicode_escape(json),
        _ => return None,
    };
    Some((character, 2))
}

/// Four hexadecimal digits, or a pair of surrogates.
fn unicode_escape(json: &str) -> Option<(char, usize)> {
    let first = four_digits(json)?;
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, 6));
    }
    let second = four_digits(json.get(6..)?)?;
    let pair = char::decode_utf16([first, second]).next()?.ok()?;
    Some((pair, 12))
}

fn four_digits(json: &str) -> Option<u16> {
    let digits = json.strip_prefix("\\u")?.get(..4)?;
    // The parser of numbers would also take a sign.
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text is what the parser makes of the string, wherever in the line it ends.
    fn check(json: &str) {
        let parsed: String = serde_json::from_str(&format!("\"{json}\"")).unwrap();
        for rest in ["", "}", ",\"other\":\"text\\n\"}"] {
            let line = format!("{json}\"{rest}");
            let expected = Some((parsed.clone(), json.len() + 1));
            assert_eq!(unescaped(&line), expected, "{line}");
        }
    }

    #[test]
    fn strings_are_read_as_the_parser_reads_them() {
        check("");
        check("plain");
        check(r#"\"\\\/\b\f\n\r\t ä€😀 \u00e4\u20AC\ud83d\ude00\u0000"#);
        for escape in [r"\n", r#"\""#, r"\u00e4", r"\ud83d\ude00"] {
            for before in 0..20 {
                for after in 0..20 {
                    let (before, after) = ("aä".repeat(before), "€b".repeat(after));
                    check(&format!("{before}{escape}{after}"));
                    check(&format!("{before}{escape}{escape}{after}{escape}"));
                }
            }
        }
    }

    #[test]
    fn what_is_no_text_is_none() {
        for json in [
            "",
            "no end",
            "no end\\n",
            "\\\"",
            "\\",
            "a\\x\"",
            "\\u12\"",
            "\\u+123\"",
            "\\u00e\u{e9}\"",
            "\\ud800\"",
            "\\ud800\\u0041\"",
            "\\udc00\"",
            "\\n\u{1}\"",
            "a\nb\"",
        ] {
            assert_eq!(unescaped(json), None, "{json}");
        }
    }
}
