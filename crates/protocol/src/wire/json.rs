//! Raw JSON text that is decoded late, and the depth limit that makes late decoding safe.
//!
//! Owns the two carriers of undecoded JSON: [`Json`], a value inside a typed record, and
//! [`Payload`], the params or result of a message, borrowed from the bytes that were read. It knows
//! nothing about MCP.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// How deep arrays and objects may nest in a value that is decoded.
///
/// Records decode their fields one by one from raw text, each with a parser of its own, so the
/// parser's own recursion limit would start afresh at every level. This limit is checked once over
/// the whole text before any decoding begins.
pub const MAX_DEPTH: usize = 128;

/// One JSON value, kept exactly as it was written.
///
/// Big numbers, key order and unknown content survive, because nothing is interpreted until
/// [`decode`](Json::decode) is called.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Writes any serialisable value as JSON.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Decodes the value as `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        decode_text(self.as_str())
    }

    /// Decodes the value as a generic tree. Numbers beyond 64 bits lose precision here, and only
    /// here.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        self.decode()
    }
}

impl Default for Json {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl From<&RawValue> for Json {
    fn from(raw: &RawValue) -> Self {
        Self(raw.to_owned())
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        // A `Value` has string keys only, so writing it cannot fail.
        Self::from_serialize(&value).unwrap_or_default()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The params or the result of a message as it came over the wire.
///
/// Large payloads share the buffer they were read into; nothing is copied until they are decoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Bytes);

/// Payloads below this size are copied out of the read buffer instead of sharing it, so that a
/// small answer someone keeps does not pin a large buffer.
const COPY_BELOW: usize = 16 * 1024;

impl Payload {
    /// The payload of a message that says nothing.
    pub const EMPTY: Self = Self(Bytes::from_static(b"{}"));

    /// Takes the JSON `text`, which must lie inside `frame`, sharing or copying it by size.
    pub fn of_frame(frame: &Bytes, text: &str) -> Self {
        let text = text.as_bytes();
        if text.len() < COPY_BELOW {
            Self(Bytes::copy_from_slice(text))
        } else {
            Self(frame.slice_ref(text))
        }
    }

    /// The JSON text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The JSON text. What is no text in it is shown as such.
    pub fn text(&self) -> Cow<'_, str> {
        // Checking alone is quicker than looking for what has to be replaced.
        match std::str::from_utf8(&self.0) {
            Ok(text) => text.into(),
            Err(_) => String::from_utf8_lossy(&self.0),
        }
    }

    /// Decodes the payload as the type its method declares.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        let text = std::str::from_utf8(&self.0).map_err(serde_json::Error::custom)?;
        decode_text(text)
    }

    /// Copies the payload into a value of its own.
    pub fn to_json(&self) -> Result<Json, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Json> for Payload {
    fn from(json: Json) -> Self {
        let text: Box<str> = json.0.into();
        Self(Bytes::from(text.into_boxed_bytes()))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

pub(crate) fn decode_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    if depth_exceeds(text.as_bytes(), MAX_DEPTH) {
        return Err(serde_json::Error::custom(format_args!(
            "nested deeper than {MAX_DEPTH} levels"
        )));
    }
    serde_json::from_str(text)
}

/// Whether a text nests deeper than [`MAX_DEPTH`]. A receiver asks this before anything reads the
/// text, so that no reader's recursion can be driven by a peer (S23).
pub fn nests_too_deep(text: &[u8]) -> bool {
    depth_exceeds(text, MAX_DEPTH)
}

/// Whether brackets nest deeper than `limit` in `text`, which is well-formed JSON.
fn depth_exceeds(text: &[u8], limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => at = end_of_string(text, at),
            _ => {}
        }
    }
    false
}

/// The position after the closing quote of the string whose first character is at `at`.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = text
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        if text[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn fault_26_depth_is_limited_exactly() {
        let at_limit = Json::parse(&nested(MAX_DEPTH - 1)).unwrap();
        assert!(at_limit.to_value().is_ok());
        let beyond = Json::parse(&nested(MAX_DEPTH + 1)).unwrap();
        let error = beyond.to_value().unwrap_err().to_string();
        assert!(error.contains("nested deeper than 128"), "{error}");
        let absurd = Json::parse(&nested(100_000)).unwrap();
        assert!(absurd.to_value().is_err());
    }

    #[test]
    fn brackets_inside_strings_do_not_count_as_depth() {
        let text = format!(r#"["{}\"{}"]"#, "[".repeat(500), "{".repeat(500));
        assert!(!depth_exceeds(text.as_bytes(), 1));
        assert!(depth_exceeds(br#"["\\",[1]]"#, 1));
    }

    #[test]
    fn big_numbers_survive() {
        let text = r#"{"n":123456789012345678901234567890.123456789}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    #[test]
    fn large_payloads_share_the_frame_and_small_ones_do_not() {
        for (length, shared) in [(COPY_BELOW - 3, false), (COPY_BELOW, true)] {
            let frame = Bytes::from(format!("\"{}\"", "x".repeat(length)));
            let payload = Payload::of_frame(&frame, std::str::from_utf8(&frame).unwrap());
            assert_eq!(payload.as_bytes(), &frame[..]);
            assert_eq!(payload.as_bytes().as_ptr() == frame.as_ptr(), shared);
        }
    }

    #[test]
    fn fault_71_null_is_an_empty_result_and_no_other() {
        use crate::{CallTool, DiscoverResult, EmptyResult, Method as _};
        let frame = Bytes::from_static(b"null");
        let null = Payload::of_frame(&frame, "null");
        assert_eq!(
            null.decode::<EmptyResult>().unwrap(),
            EmptyResult::default()
        );
        assert!(CallTool::decode(&null).is_err());
        assert!(null.decode::<DiscoverResult>().is_err());
        let told: EmptyResult = Payload::from(Json::from(serde_json::json!({"_meta": {"a": 1}})))
            .decode()
            .unwrap();
        assert_eq!(
            serde_json::to_string(&told).unwrap(),
            r#"{"_meta":{"a":1}}"#
        );
    }
}
