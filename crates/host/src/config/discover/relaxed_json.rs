//! JSON with comments and trailing commas, as several editors allow it.

use std::borrow::Cow;

/// Blanks out comments and trailing commas, so that a strict parser can read the rest. Nothing
/// moves: lines and byte columns of what remains are those of the original.
pub(super) fn strict(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                comma = None;
                at = end_of_string(&bytes, at);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while bytes.get(at).is_some_and(|&byte| byte != b'\n') {
                    bytes[at] = b' ';
                    at += 1;
                }
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = blank_block(&mut bytes, at);
                continue;
            }
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    // Only whole characters were blanked, so this is UTF-8 still.
    match String::from_utf8(bytes) {
        Ok(strict) => Cow::Owned(strict),
        Err(_) => Cow::Borrowed(text),
    }
}

/// The byte after the string that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Blanks a block comment; one that is not closed goes to the end.
fn blank_block(bytes: &mut [u8], begin: usize) -> usize {
    let end = bytes[begin + 2..]
        .windows(2)
        .position(|pair| pair == b"*/")
        .map_or(bytes.len(), |found| begin + 2 + found + 2);
    for byte in &mut bytes[begin..end] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn comments_and_trailing_commas_are_blank() {
        for (text, expected) in [
            ("{}", json!({})),
            ("\u{feff}{}", json!({})),
            ("// x\n{\"a\": 1, // é\n}", json!({"a": 1})),
            ("[1, /* , ] */ 2, ]", json!([1, 2])),
            ("{\"a\": [1,\n// end\n],}", json!({"a": [1]})),
            (
                r#"{"url": "https://x//y", "b": "/* no */", "c": "\"//", "d": ",]"}"#,
                json!({"url": "https://x//y", "b": "/* no */", "c": "\"//", "d": ",]"}),
            ),
        ] {
            let value: Value = serde_json::from_str(&strict(text)).unwrap();
            assert_eq!(value, expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_stays_wrong_at_its_place() {
        let text = "{\n  /* one\n two */ \"a\": oops\n}";
        let error = serde_json::from_str::<Value>(&strict(text)).unwrap_err();
        assert_eq!((error.line(), error.column()), (3, 14));
        for text in ["[,]x", "[1,,]", "/", "/*", "\"\\", "{\"a\":1 /"] {
            assert!(
                serde_json::from_str::<Value>(&strict(text)).is_err(),
                "{text}"
            );
        }
    }
}
