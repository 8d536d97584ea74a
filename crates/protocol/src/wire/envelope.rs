//! The JSON-RPC envelope: what kind of message a line is, and where its payload lies.
//!
//! Only the envelope is parsed; params, results and error data stay raw slices of the line.
//! Malformed lines are sorted by whom they concern, so that a broken answer ends exactly the call
//! it belongs to (fault 43) and a log line on stdout ends none (fault 18).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::record::Key;
use crate::wire::scan::is_one_value;
use crate::{Json, RequestId};

/// One message as it lies in its line.
#[derive(Debug)]
pub enum Message<'a> {
    /// The peer asks something.
    Request {
        /// To be echoed exactly in the answer.
        id: RequestId,
        /// The method's name.
        method: Cow<'a, str>,
        /// The raw params, if any.
        params: Option<&'a RawValue>,
    },
    /// The peer tells something.
    Notification {
        /// The notification's name.
        method: Cow<'a, str>,
        /// The raw params, if any.
        params: Option<&'a RawValue>,
    },
    /// The peer answers something.
    Response {
        /// Whose answer it is; `None` when the id is null, missing or no id at all.
        id: Option<RequestId>,
        /// The answer.
        outcome: Outcome<'a>,
    },
}

/// What a response says.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// The raw result: the text of one JSON value.
    Result(&'a str),
    /// An error of the peer.
    Error(ErrorObject),
    /// The response breaks JSON-RPC in the way described.
    Malformed(String),
}

/// What one line holds.
#[derive(Debug)]
pub enum Line<'a> {
    /// One message.
    Message(Message<'a>),
    /// A batch of messages, still raw; legal in 2025-03-26 only (X-BATCH-01, X-BATCH-04).
    Batch(Vec<&'a RawValue>),
    /// No JSON-RPC message: a banner, a log line, a broken request. The text says why.
    Stray(String),
}

/// The `error` member of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// The JSON-RPC error code.
    pub code: i64,
    /// One sentence about the error.
    pub message: String,
    /// Whatever else the peer says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (code {})", self.message, self.code)
    }
}

/// Sorts one line of the wire.
pub fn parse_line(line: &[u8]) -> Line<'_> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            // What stands before the defect is text, and mostly holds the id (fault 19).
            let readable = std::str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default();
            let id = Envelope::id_in(readable);
            return unreadable(line, id, format!("not UTF-8: {error}"));
        }
    };
    if let Some(message) = plain_result(text) {
        return Line::Message(message);
    }
    if text.trim_ascii_start().starts_with('[') {
        return match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(items) if items.is_empty() => Line::Stray("an empty batch".to_owned()),
            Ok(items) => Line::Batch(items),
            Err(error) => Line::Stray(format!("not JSON: {error}")),
        };
    }
    parse_message(text)
}

/// A short way for successful answers in the two orders nearly every server writes them in. What is
/// left between the fixed parts is checked to be one value, so nothing else can hide in the line.
fn plain_result(text: &str) -> Option<Message<'_>> {
    let (id, result) = match text.strip_prefix(r#"{"jsonrpc":"2.0","id":"#) {
        Some(rest) => {
            let (id, result) = rest.split_once(',')?;
            let result = result.strip_prefix(r#""result":"#)?;
            (id, result.strip_suffix('}')?)
        }
        None => {
            let rest = text.strip_prefix(r#"{"result":"#)?;
            let at = rest.len().saturating_sub(LONGEST_TAIL);
            let tail = memchr::memmem::rfind(&rest.as_bytes()[at..], TAIL.as_bytes())? + at;
            (rest[tail + TAIL.len()..].strip_suffix('}')?, &rest[..tail])
        }
    };
    if !result.starts_with('{') || id.starts_with('0') || !id.bytes().all(|it| it.is_ascii_digit())
    {
        return None;
    }
    is_one_value(result).then_some(())?;
    Some(Message::Response {
        id: Some(id.parse::<u64>().ok()?.into()),
        outcome: Outcome::Result(result),
    })
}

/// How an answer ends that begins with its result; an id of ours has at most twenty digits.
const TAIL: &str = r#","jsonrpc":"2.0","id":"#;
const LONGEST_TAIL: usize = TAIL.len() + 21;

/// Sorts one message, be it a line or an item of a batch.
pub fn parse_message(text: &str) -> Line<'_> {
    let mut envelope = Envelope::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    match envelope.read(&mut parser).and_then(|()| parser.end()) {
        Ok(()) => envelope.sort(text),
        Err(error) => {
            let id = envelope.id.and_then(Id::known);
            unreadable(text.as_bytes(), id, shortened(error))
        }
    }
}

/// A line that cannot be parsed still ends the call it names, if it names one.
fn unreadable<'a>(line: &[u8], id: Option<RequestId>, reason: String) -> Line<'a> {
    let looks_like_rpc = memchr::memmem::find(line, b"\"jsonrpc\"").is_some();
    match id.or_else(|| trailing_id(line)).filter(|_| looks_like_rpc) {
        Some(id) => Line::Message(Message::Response {
            id: Some(id),
            outcome: Outcome::Malformed(reason),
        }),
        None => Line::Stray(reason),
    }
}

/// The id in `…,"id":7}` at the very end of a line, where several SDKs write it.
fn trailing_id(line: &[u8]) -> Option<RequestId> {
    const NAME: &[u8] = b"\"id\":";
    let at = memchr::memmem::rfind(line, NAME)?;
    let value = line.get(at + NAME.len()..)?.trim_ascii();
    serde_json::from_slice(value.strip_suffix(b"}")?).ok()
}

/// The members of one JSON-RPC object as they are found.
#[derive(Default)]
struct Envelope<'a> {
    version: Option<&'a RawValue>,
    id: Option<Id>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    doubled: Option<&'static str>,
}

/// An `id` member: usable, or present but no id.
enum Id {
    Known(RequestId),
    Null,
}

impl Id {
    fn known(self) -> Option<RequestId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Null => None,
        }
    }
}

impl<'a> Envelope<'a> {
    /// The id in a text that may break off anywhere behind it.
    fn id_in(text: &'a str) -> Option<RequestId> {
        let mut envelope = Self::default();
        // The text is known to be broken; what could be read of it is kept.
        let _ = envelope.read(&mut serde_json::Deserializer::from_str(text));
        envelope.id.and_then(Id::known)
    }

    /// Fills the members one by one, so that those before a syntax error are known.
    fn read(
        &mut self,
        parser: &mut serde_json::Deserializer<serde_json::de::StrRead<'a>>,
    ) -> Result<(), serde_json::Error> {
        parser.deserialize_map(EnvelopeVisitor(self))
    }

    fn sort(self, text: &'a str) -> Line<'a> {
        let is_answer = self.result.is_some() || self.error.is_some();
        if self.method.is_some() && !is_answer {
            return self.sort_call();
        }
        // A log may well say "error" or "result"; without an id there is nobody to tell (fault 18).
        if self.version.is_none() && !(is_answer && self.id.is_some()) {
            return Line::Stray("a JSON object that is no JSON-RPC message".to_owned());
        }
        if self.id.is_none() && !is_answer {
            return Line::Stray("a JSON-RPC message without method, result or error".to_owned());
        }
        let outcome = match self.complaint() {
            Some(complaint) => Outcome::Malformed(complaint),
            None => self.outcome(text),
        };
        Line::Message(Message::Response {
            id: self.id.and_then(Id::known),
            outcome,
        })
    }

    fn sort_call(self) -> Line<'a> {
        if let Some(complaint) = self.complaint() {
            return Line::Stray(complaint);
        }
        let method = self
            .method
            .and_then(|raw| serde_json::from_str::<Key<'a>>(raw.get()).ok());
        let Some(Key(method)) = method else {
            return Line::Stray("the method is not a string".to_owned());
        };
        // `null` stands for absent params in some clients (seeds row 18).
        let params = self.params.filter(|raw| raw.get() != "null");
        Line::Message(match self.id {
            Some(Id::Known(id)) => Message::Request { id, method, params },
            Some(Id::Null) => {
                return Line::Stray("a request whose id is no string or integer".to_owned());
            }
            None => Message::Notification { method, params },
        })
    }

    fn complaint(&self) -> Option<String> {
        if let Some(key) = self.doubled {
            return Some(format!("the member \"{key}\" appears twice"));
        }
        match self.version.map(RawValue::get) {
            Some("\"2.0\"") => None,
            Some(other) => Some(format!("\"jsonrpc\" is {}, not \"2.0\"", shortened(other))),
            None => Some("\"jsonrpc\" is missing".to_owned()),
        }
    }

    fn outcome(&self, text: &str) -> Outcome<'a> {
        match (self.result, self.error) {
            (Some(result), None) if matches!(result.get().as_bytes()[0], b'{' | b'n') => {
                Outcome::Result(result.get())
            }
            (Some(result), None) => Outcome::Malformed(format!(
                "the result is not an object: {}",
                shortened(result.get())
            )),
            (None, Some(error)) => match serde_json::from_str(error.get()) {
                Ok(error) => Outcome::Error(error),
                Err(reason) => Outcome::Malformed(format!(
                    "the error is malformed ({}): {}",
                    shortened(reason),
                    shortened(error.get())
                )),
            },
            (Some(_), Some(_)) => Outcome::Malformed("both result and error".to_owned()),
            (None, None) => {
                Outcome::Malformed(format!("neither result nor error: {}", shortened(text)))
            }
        }
    }
}

struct EnvelopeVisitor<'e, 'a>(&'e mut Envelope<'a>);

impl<'a> Visitor<'a> for EnvelopeVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let envelope = self.0;
        while let Some(Key(key)) = map.next_key()? {
            let (name, slot) = match &*key {
                "id" => {
                    let raw: &RawValue = map.next_value()?;
                    if envelope.id.is_some() {
                        envelope.doubled = Some("id");
                    } else {
                        envelope.id = Some(read_id(raw));
                    }
                    continue;
                }
                "jsonrpc" => ("jsonrpc", &mut envelope.version),
                "method" => ("method", &mut envelope.method),
                "params" => ("params", &mut envelope.params),
                "result" => ("result", &mut envelope.result),
                "error" => ("error", &mut envelope.error),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let value = map.next_value()?;
            if slot.replace(value).is_some() {
                envelope.doubled = Some(name);
            }
        }
        Ok(())
    }
}

fn read_id(raw: &RawValue) -> Id {
    serde_json::from_str(raw.get()).map_or(Id::Null, Id::Known)
}

/// The first characters of a foreign text, or of a reason that quotes one, enough to recognise it
/// in an error. No more of it than that is ever held, since it may be as long as a frame.
pub fn shortened(text: impl fmt::Display) -> String {
    use fmt::Write as _;
    let mut kept = Shortened {
        text: String::new(),
        room: 200,
    };
    // Failing is how writing stops when there is no room left.
    let _ = write!(kept, "{text}");
    kept.text
}

/// Takes what is written until its room is used up.
struct Shortened {
    text: String,
    /// Characters that still fit.
    room: usize,
}

impl fmt::Write for Shortened {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        match piece.char_indices().nth(self.room) {
            None => {
                self.text.push_str(piece);
                self.room -= piece.chars().count();
                Ok(())
            }
            Some((end, _)) => {
                self.text.push_str(&piece[..end]);
                self.text.push('…');
                Err(fmt::Error)
            }
        }
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
