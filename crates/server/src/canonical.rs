//! One spelling for every way of writing the same JSON value: members in the order of their names,
//! no blanks, strings with the same escapes. Numbers stay as they are written.
//!
//! Reads in one pass, and never deeper than a message may nest.

use std::collections::BTreeMap;

use attache_protocol::MAX_DEPTH;
use serde_json::value::RawValue;

/// The canonical text of a value. One that nests too deep, or holds a string that cannot be
/// decoded, stands for itself.
pub(crate) fn canonical(raw: &RawValue) -> Vec<u8> {
    let text = raw.get();
    let mut reader = Reader { text, at: 0 };
    let mut out = Vec::with_capacity(text.len());
    match reader.value(MAX_DEPTH) {
        Some(node) => node.write(&mut out),
        None => out.extend_from_slice(text.as_bytes()),
    }
    out
}

enum Node<'a> {
    Object(BTreeMap<String, Node<'a>>),
    Array(Vec<Node<'a>>),
    Text(String),
    /// A number or a word.
    Other(&'a str),
}

impl Node<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Object(fields) => {
                out.push(b'{');
                for (name, field) in fields {
                    write_text(name, out);
                    out.push(b':');
                    field.write(out);
                    out.push(b',');
                }
                out.push(b'}');
            }
            Self::Array(items) => {
                out.push(b'[');
                for item in items {
                    item.write(out);
                    out.push(b',');
                }
                out.push(b']');
            }
            Self::Text(text) => write_text(text, out),
            Self::Other(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing a string to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// A place in a text that is known to be JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, levels: usize) -> Option<Node<'a>> {
        match self.next_token()? {
            b'{' => {
                let levels = levels.checked_sub(1)?;
                self.at += 1;
                let mut fields = BTreeMap::new();
                loop {
                    match self.next_token()? {
                        b'}' => break,
                        b'"' => {
                            let name = self.string()?;
                            (self.next_token()? == b':').then(|| self.at += 1)?;
                            fields.insert(name, self.value(levels)?);
                        }
                        _ => self.at += 1,
                    }
                }
                self.at += 1;
                Some(Node::Object(fields))
            }
            b'[' => {
                let levels = levels.checked_sub(1)?;
                self.at += 1;
                let mut items = Vec::new();
                loop {
                    match self.next_token()? {
                        b']' => break,
                        b',' => self.at += 1,
                        _ => items.push(self.value(levels)?),
                    }
                }
                self.at += 1;
                Some(Node::Array(items))
            }
            b'"' => self.string().map(Node::Text),
            _ => {
                let rest = &self.text[self.at..];
                let ends = |it: char| matches!(it, ',' | ']' | '}') || it.is_ascii_whitespace();
                let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
                self.at += word.len().max(1);
                Some(Node::Other(word))
            }
        }
    }

    /// The first byte behind blanks.
    fn next_token(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !byte.is_ascii_whitespace() {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// The string that begins here.
    fn string(&mut self) -> Option<String> {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        loop {
            end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes[end] == b'"' {
                break;
            }
            end += 2;
        }
        let text = self.text.get(self.at..=end)?;
        self.at = end + 1;
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        assert_eq!(String::from_utf8(canonical(raw)).unwrap(), expected);
    }

    #[test]
    fn every_spelling_becomes_one() {
        check("{}", "{}");
        check(
            r#"{ "b": [2, {"d": -4.50e7, "c": true}, []], "a\"\\": null }"#,
            r#"{"a\"\\":null,"b":[2,{"c":true,"d":-4.50e7,},[],],}"#,
        );
        check(r#""\u0041\/\ud83d\ude00""#, "\"A/😀\"");
        check(" 12345678901234567890123 ", "12345678901234567890123");
        // Half a character cannot be decoded.
        check(r#"["\ud83d" ,1]"#, r#"["\ud83d" ,1]"#);
    }

    #[test]
    fn fault_69_depth_is_bounded_and_costs_one_pass() {
        let nested = |levels: usize| format!("{} 1{}", "[".repeat(levels), "]".repeat(levels));
        let written = |levels: usize| format!("{}1{}", "[".repeat(levels), ",]".repeat(levels));
        check(&nested(MAX_DEPTH), &written(MAX_DEPTH));
        for levels in [MAX_DEPTH + 1, 200_000] {
            check(&nested(levels), &nested(levels));
        }
    }
}
