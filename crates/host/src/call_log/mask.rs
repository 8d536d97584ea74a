//! JSON with its secrets masked: values under a secret's name, and secrets inside of texts.
//!
//! One pass over the text, without recursion and without numbers being read, so the work grows with
//! the text and everything that is not masked stays exactly as it was written.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::redact::{HIDDEN, Redactor, is_secret_name};

/// A JSON text without its secrets.
#[derive(Debug, Default)]
pub(crate) struct Masked<'t> {
    /// The text itself if nothing in it was masked.
    pub(crate) text: Cow<'t, str>,
    /// Where something was masked, as JSON pointers.
    pub(crate) places: Vec<String>,
    /// The texts that stood under a secret's name, which may come back in an answer.
    pub(crate) secrets: Vec<String>,
}

/// Masks a text, which is well-formed JSON.
pub(crate) fn mask<'t>(text: &'t str, redactor: &Redactor) -> Masked<'t> {
    let mut scan = Scan {
        text,
        at: 0,
        copied: 0,
        result: String::new(),
        open: Vec::new(),
        redactor,
        places: Vec::new(),
        secrets: Vec::new(),
    };
    while scan.step() {}
    let mut result = scan.result;
    Masked {
        text: match scan.copied {
            0 => Cow::Borrowed(text),
            copied => {
                result.push_str(&text[copied..]);
                Cow::Owned(result)
            }
        },
        places: scan.places,
        secrets: scan.secrets,
    }
}

/// An array or object that is open, and where in it the scan is.
enum Open {
    Array(usize),
    /// Where the key is that was read; none while the next string is one.
    Object(Option<Range<usize>>),
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// How much of the text is in the result already.
    copied: usize,
    result: String,
    open: Vec<Open>,
    redactor: &'a Redactor,
    places: Vec<String>,
    secrets: Vec<String>,
}

impl Scan<'_> {
    fn step(&mut self) -> bool {
        let Some(&byte) = self.text.as_bytes().get(self.at) else {
            return false;
        };
        let start = self.at;
        self.at += 1;
        match byte {
            b'{' => self.open.push(Open::Object(None)),
            b'[' => self.open.push(Open::Array(0)),
            b'}' | b']' => {
                self.open.pop();
            }
            b',' => match self.open.last_mut() {
                Some(Open::Array(index)) => *index += 1,
                Some(Open::Object(key)) => *key = None,
                None => {}
            },
            b'"' => {
                self.at = end_of_string(self.text, start);
                match self.open.last() {
                    Some(Open::Object(None)) => self.key(start),
                    _ => self.string(start),
                }
            }
            _ => {}
        }
        true
    }

    /// A key ends where the scan is. If it names a secret, its value is masked and passed over.
    fn key(&mut self, start: usize) {
        let written = &self.text[start..self.at];
        let key = decoded(written);
        if let Cow::Owned(shown) = self.redactor.redact(&key) {
            self.replace(start, &shown);
        }
        let end = self.at;
        if let Some(Open::Object(open)) = self.open.last_mut() {
            *open = Some(start..end);
        }
        if !is_secret_name(&key) {
            return;
        }
        let value = start_of_value(self.text, self.at);
        let end = end_of_value(self.text, value);
        let written = &self.text[value..end];
        self.at = end;
        if matches!(written, "null" | "true" | "false" | "\"\"" | "{}" | "[]") {
            return;
        }
        self.secrets.extend(strings_of(written));
        self.replace(value, HIDDEN);
        self.note();
    }

    /// A string that is a value ends where the scan is.
    fn string(&mut self, start: usize) {
        let text = decoded(&self.text[start..self.at]);
        if let Cow::Owned(shown) = self.redactor.redact(&text) {
            self.replace(start, &shown);
            self.note();
        }
    }

    /// Puts a text in the place of what was written from `start` to where the scan is.
    fn replace(&mut self, start: usize, shown: &str) {
        let before = &self.text[self.copied..start];
        self.result.push_str(before);
        // Writing a string as JSON cannot fail.
        let json = serde_json::to_string(shown).unwrap_or_default();
        self.result.push_str(&json);
        self.copied = self.at;
    }

    fn note(&mut self) {
        let mut place = String::new();
        for open in &self.open {
            place.push('/');
            match open {
                Open::Array(index) => place.push_str(&index.to_string()),
                Open::Object(Some(key)) => {
                    let key = decoded(&self.text[key.clone()]);
                    let key = self.redactor.redact(&key);
                    place.push_str(&key.replace('~', "~0").replace('/', "~1"));
                }
                Open::Object(None) => {}
            }
        }
        self.places.push(place);
    }
}

/// What a JSON string says. One with half of a surrogate pair says what is written.
fn decoded(written: &str) -> Cow<'_, str> {
    let plain = written.strip_prefix('"').unwrap_or(written);
    let plain = plain.strip_suffix('"').unwrap_or(plain);
    match memchr(b'\\', plain.as_bytes()) {
        Some(_) => serde_json::from_str(written).map_or(plain.into(), Cow::Owned),
        None => plain.into(),
    }
}

/// All strings in a value that are no keys.
fn strings_of(value: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut at = 0;
    while let Some(found) = value[at..].find('"') {
        let end = end_of_string(value, at + found);
        if !value[end..].trim_start().starts_with(':') {
            strings.push(decoded(&value[at + found..end]).into_owned());
        }
        at = end;
    }
    // A number is a text too, for who repeats it.
    if strings.is_empty() {
        strings.push(value.to_owned());
    }
    strings
}

/// Behind the closing quote of the string that begins at `start`.
fn end_of_string(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

/// Where the value begins whose key ends at `at`.
fn start_of_value(text: &str, at: usize) -> usize {
    let between = |byte: &u8| *byte != b':' && !byte.is_ascii_whitespace();
    let rest = &text.as_bytes()[at..];
    at + rest.iter().position(between).unwrap_or(rest.len())
}

/// Behind the value that begins at `start`.
fn end_of_value(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b'}' | b']' | b',' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, places: &[&str]) {
        let mut redactor = Redactor::new();
        redactor.hide("swordfish");
        let masked = mask(text, &redactor);
        assert_eq!(masked.text, expected, "{text}");
        assert_eq!(masked.places, places, "{text}");
    }

    #[test]
    fn s12_secrets_in_json_are_masked_by_name_and_by_value() {
        for (text, expected, places) in [
            ("{}", "{}", &[][..]),
            (
                r#"{"query" : "tea", "token": "abc123"}"#,
                r#"{"query" : "tea", "token": "***"}"#,
                &["/token"],
            ),
            (
                r#"{"a":[{"api_key":17,"n":18446744073709551617.50}],"b":[1,{"x":2}]}"#,
                r#"{"a":[{"api_key":"***","n":18446744073709551617.50}],"b":[1,{"x":2}]}"#,
                &["/a/0/api_key"],
            ),
            (
                r#"{"password":{"old":"x}","new":["y\"",2]},"n":1}"#,
                r#"{"password":"***","n":1}"#,
                &["/password"],
            ),
            (
                r#"["a swordfish here",["swordf\u0069sh"]]"#,
                r#"["a *** here",["***"]]"#,
                &["/0", "/1/0"],
            ),
            (
                r#"{"secret":null,"password":"","token":false,"key":[]}"#,
                r#"{"secret":null,"password":"","token":false,"key":[]}"#,
                &[],
            ),
            (r#"{"a/b~":"swordfish"}"#, r#"{"a/b~":"***"}"#, &["/a~1b~0"]),
            (r#"{"swordfish":1}"#, r#"{"***":1}"#, &[]),
            (
                r#"{"s":"\ud800 swordfish"}"#,
                r#"{"s":"\\ud800 ***"}"#,
                &["/s"],
            ),
            (r#""swordfish""#, r#""***""#, &[""]),
            ("12", "12", &[]),
        ] {
            check(text, expected, places);
        }
    }

    #[test]
    fn what_stood_under_a_secret_name_is_known_afterwards() {
        let text = r#"{"token":"abc123","auth":{"user":"ada","pin":4711}}"#;
        let masked = mask(text, &Redactor::new());
        assert_eq!(masked.secrets, ["abc123", "ada"]);
    }

    #[test]
    fn deep_nesting_and_cut_texts_do_no_harm() {
        let deep = "[".repeat(100_000);
        assert_eq!(mask(&deep, &Redactor::new()).text, deep);
        for text in [
            r#"{"token"#,
            r#"{"token":"#,
            r#"{"token":"a"#,
            r#"{"token":"\"#,
        ] {
            mask(text, &Redactor::new());
        }
    }
}
