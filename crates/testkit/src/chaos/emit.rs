//! Bytes a script puts on the wire, and the manner in which they leave.
//!
//! Owns [`Emit`], [`Writing`] and the substitution of placeholders. Refuses to
//! know what the bytes mean.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes to put on standard output or standard error.
///
/// The quoted placeholders `"$id"`, `"$token"`, `"$answer"` and `"$n"` are
/// replaced by JSON: the id of the request in hand, its progress token, the
/// client's last answer to an [`super::Ask`], and the number of the repetition
/// counted from 0. Bytes that name a placeholder without a value (a token the
/// client did not send) are not emitted at all.
///
/// Repetitions without a pause are one piece: nothing else comes between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emit {
    pub(super) to: Stream,
    pub(super) content: Content,
    pub(super) times: Times,
    pub(super) pause: Duration,
}

/// The stream that bytes go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Text keeps a script readable; bytes are for what text cannot hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Content {
    Text(String),
    /// Text that gets the line end of the current [`Writing`].
    Line(String),
    Bytes(Vec<u8>),
}

/// How often something is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Times {
    Count(u64),
    Forever,
}

impl Emit {
    /// Text as it is.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// Text and a line end.
    pub fn line(text: impl Into<String>) -> Self {
        Self::new(Content::Line(text.into()))
    }

    /// A JSON message on a line of its own.
    pub fn message(message: &Value) -> Self {
        Self::line(message.to_string())
    }

    /// Bytes as they are, UTF-8 or not.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(Content::Bytes(bytes.into()))
    }

    fn new(content: Content) -> Self {
        Self {
            to: Stream::Stdout,
            content,
            times: Times::Count(1),
            pause: Duration::ZERO,
        }
    }

    /// Repeats it this often.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.times = Times::Count(count);
        self
    }

    /// Repeats it until the process or the stream ends.
    #[must_use]
    pub fn forever(mut self) -> Self {
        self.times = Times::Forever;
        self
    }

    /// Pauses after each repetition, so that other bytes may come between.
    #[must_use]
    pub fn every(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Goes to standard error instead of standard output.
    #[must_use]
    pub fn on_stderr(mut self) -> Self {
        self.to = Stream::Stderr;
        self
    }

    /// The bytes with their line end, before substitution.
    pub(super) fn template(&self, line_end: LineEnd) -> Vec<u8> {
        match &self.content {
            Content::Text(text) => text.clone().into_bytes(),
            Content::Bytes(bytes) => bytes.clone(),
            Content::Line(text) => {
                let mut bytes = text.clone().into_bytes();
                bytes.extend_from_slice(line_end.bytes());
                bytes
            }
        }
    }
}

/// How bytes leave standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Writing {
    /// The most bytes of one write; no limit when absent.
    pub chunk: Option<usize>,
    /// A pause after each chunk.
    pub pause: Duration,
    /// What ends a line.
    pub line_end: LineEnd,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineEnd {
    /// A line feed.
    #[default]
    Lf,
    /// A carriage return and a line feed.
    CrLf,
}

impl LineEnd {
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
        }
    }
}

impl Writing {
    /// At most `bytes` bytes per write.
    pub fn chunks(bytes: usize) -> Self {
        Self {
            chunk: Some(bytes.max(1)),
            ..Self::default()
        }
    }

    /// Lines end with a carriage return and a line feed.
    pub fn crlf() -> Self {
        Self {
            line_end: LineEnd::CrLf,
            ..Self::default()
        }
    }

    /// Pauses after each chunk.
    #[must_use]
    pub fn pausing(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }
}

/// Replaces one placeholder, or returns `None` when the bytes name it and it
/// has no value.
pub(super) fn substitute(bytes: Vec<u8>, name: &str, value: Option<&Value>) -> Option<Vec<u8>> {
    let needle = format!("\"${name}\"").into_bytes();
    if !contains(&bytes, &needle) {
        return Some(bytes);
    }
    let value = value?.to_string().into_bytes();
    let mut replaced = Vec::with_capacity(bytes.len() + value.len());
    let mut rest = bytes.as_slice();
    while let Some(at) = find(rest, &needle) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(&value);
        rest = &rest[at + needle.len()..];
    }
    replaced.extend_from_slice(rest);
    Some(replaced)
}

/// Whether the bytes change from one repetition to the next.
pub(super) fn counts_repetitions(bytes: &[u8]) -> bool {
    contains(bytes, b"\"$n\"")
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    find(haystack, needle).is_some()
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(step) = haystack[from..].iter().position(|byte| *byte == first) {
        let at = from + step;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(template: &[u8], name: &str, value: Option<Value>, expected: Option<&[u8]>) {
        let replaced = substitute(template.to_vec(), name, value.as_ref());
        assert_eq!(replaced.as_deref(), expected, "{template:?} with {name}");
    }

    #[test]
    fn placeholders_become_json() {
        check(
            br#"{"id":"$id"}"#,
            "id",
            Some(json!(7)),
            Some(br#"{"id":7}"#),
        );
        check(
            br#"["$id","$id"]"#,
            "id",
            Some(json!("a\"b")),
            Some(br#"["a\"b","a\"b"]"#),
        );
        check(b"\xff\"$id\"\xff", "id", Some(json!(1)), Some(b"\xff1\xff"));
        check(b"\"\"$id", "id", Some(json!(1)), Some(b"\"\"$id"));
    }

    #[test]
    fn a_placeholder_without_value_silences_the_bytes() {
        check(br#"{"t":"$token"}"#, "token", None, None);
        check(b"no placeholder", "token", None, Some(b"no placeholder"));
    }
}
