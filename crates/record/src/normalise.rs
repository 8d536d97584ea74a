//! What differs from run to run without meaning anything: times, random names, places.
//!
//! Strings are looked at once from left to right. What is found is replaced by the name of its kind,
//! so that two results that differ in nothing else are equal.

use attache_schema::{Number, Value};

/// Milliseconds and seconds since 1970 between 2020 and 2100.
const SECONDS: std::ops::Range<u64> = 1_577_836_800..4_102_444_800;
const MILLISECONDS: std::ops::Range<u64> = 1_577_836_800_000..4_102_444_800_000;

/// Replaces what is volatile, and leaves out what it is told to.
#[derive(Clone, Debug, Default)]
pub struct Normaliser {
    /// Parts of JSON pointers; `*` stands for any one part.
    ignored: Vec<Vec<String>>,
}

impl Normaliser {
    /// Leaves out the values at these JSON pointers, in which `*` stands for any part.
    pub fn ignoring(paths: &[String]) -> Self {
        let parts = |path: &String| path.split('/').skip(1).map(str::to_owned).collect();
        Self {
            ignored: paths.iter().map(parts).collect(),
        }
    }

    /// The value without what is volatile.
    pub fn apply(&self, value: &Value) -> Value {
        let mut path = Vec::new();
        self.value(value, &mut path)
    }

    fn value(&self, value: &Value, path: &mut Vec<String>) -> Value {
        let is_ignored = |pattern: &Vec<String>| {
            pattern.len() == path.len()
                && pattern
                    .iter()
                    .zip(&*path)
                    .all(|(one, other)| one == "*" || one == other)
        };
        if !path.is_empty() && self.ignored.iter().any(is_ignored) {
            return Value::String("<ignored>".to_owned());
        }
        match value {
            Value::String(text) => Value::String(normal_text(text)),
            Value::Number(number) if is_time(number) => Value::String("<time>".to_owned()),
            Value::Array(items) => {
                let items = items.iter().enumerate().map(|(index, item)| {
                    path.push(index.to_string());
                    let item = self.value(item, path);
                    path.pop();
                    item
                });
                Value::Array(items.collect())
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, member)| {
                    path.push(name.to_owned());
                    let member = self.value(member, path);
                    path.pop();
                    (name.to_owned(), member)
                });
                Value::Object(members.collect())
            }
            other => other.clone(),
        }
    }
}

fn is_time(number: &Number) -> bool {
    let count = number.as_str().parse::<u64>();
    count.is_ok_and(|count| SECONDS.contains(&count) || MILLISECONDS.contains(&count))
}

fn normal_text(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        let found = begins
            .then(|| {
                uuid(&bytes[at..])
                    .map(|length| (length, "<uuid>"))
                    .or_else(|| time(&bytes[at..]).map(|length| (length, "<time>")))
                    .or_else(|| {
                        let is_first = at == 0 || !b"/:.<".contains(&bytes[at - 1]);
                        is_first
                            .then(|| path(&bytes[at..]))
                            .flatten()
                            .map(|length| (length, "<path>"))
                    })
            })
            .flatten();
        match found {
            Some((length, name)) => {
                out.push_str(&text[copied..at]);
                out.push_str(name);
                at += length;
                copied = at;
            }
            None => at += 1,
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// The length of a UUID at the beginning.
fn uuid(bytes: &[u8]) -> Option<usize> {
    const LENGTH: usize = 36;
    let word = bytes.get(..LENGTH)?;
    let fits = word.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let ends = bytes
        .get(LENGTH)
        .is_none_or(|byte| !byte.is_ascii_alphanumeric());
    (fits && ends).then_some(LENGTH)
}

/// The length of a date with a time at the beginning: `2026-11-17T22:44:20.5Z`, or with a blank, or
/// with an offset.
fn time(bytes: &[u8]) -> Option<usize> {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd";
    let word = bytes.get(..SHAPE.len())?;
    let fits = word.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'd' => byte.is_ascii_digit(),
        b'T' => b"Tt ".contains(byte),
        shape => byte == shape,
    });
    if !fits {
        return None;
    }
    let rest = &bytes[SHAPE.len()..];
    let fraction = rest
        .iter()
        .take_while(|byte| b":.,0123456789".contains(byte))
        .count();
    let zone = match rest.get(fraction) {
        Some(b'Z' | b'z') => 1,
        Some(b'+' | b'-') => {
            let offset = rest[fraction + 1..].iter();
            1 + offset
                .take_while(|byte| byte.is_ascii_digit() || **byte == b':')
                .count()
        }
        _ => 0,
    };
    Some(SHAPE.len() + fraction + zone)
}

/// The length of an absolute path of at least two parts at the beginning.
fn path(bytes: &[u8]) -> Option<usize> {
    let is_windows = matches!(bytes, [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic());
    if bytes.first() != Some(&b'/') && !is_windows {
        return None;
    }
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<>|,;:)]}`".contains(byte);
    let skipped = if is_windows { 2 } else { 0 };
    let length = skipped
        + bytes[skipped..]
            .iter()
            .take_while(|byte| !ends(byte))
            .count();
    let parts = bytes[..length]
        .iter()
        .filter(|byte| b"/\\".contains(byte))
        .count();
    (parts >= 2 && length > 3).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_random_names_and_places_are_replaced() {
        for (text, expected) in [
            ("at 2026-11-17T22:44:20.123Z, done", "at <time>, done"),
            ("2026-11-17 22:44:20+01:00", "<time>"),
            ("id 0192d1ee-7c1d-7abc-8def-0123456789ab!", "id <uuid>!"),
            ("in /home/me/file.txt: no", "in <path>: no"),
            (r"C:\Users\me\x ok", "<path> ok"),
            (
                "https://example.org/a/b stays",
                "https://example.org/a/b stays",
            ),
            ("1/2 and/or 3-4", "1/2 and/or 3-4"),
            ("2026-11-17", "2026-11-17"),
            ("é 😀", "é 😀"),
        ] {
            assert_eq!(normal_text(text), expected);
        }
    }

    #[test]
    fn numbers_that_are_times_and_ignored_places_are_replaced() {
        let value = Value::parse(r#"{"t":1790000000000,"n":42,"list":[{"x":1},{"x":2}]}"#).unwrap();
        let normal = Normaliser::ignoring(&["/list/*/x".to_owned()]).apply(&value);
        let expected = r#"{"t":"<time>","n":42,"list":[{"x":"<ignored>"},{"x":"<ignored>"}]}"#;
        assert_eq!(normal, Value::parse(expected).unwrap());
    }
}
