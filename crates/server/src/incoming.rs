//! What a client sent, sorted: also what is wrong with it, and whom to tell.
//!
//! The protocol crate sorts lines as a client needs it, where a broken line is somebody's log. For
//! a server a broken line is a broken request, and its sender waits for an answer.

use attache_protocol::{
    ErrorObject, Initialize, Line, MAX_DEPTH, Message, Method as _, Outcome, RequestId, Revision,
    codes, frame, nests_too_deep, parse_line, parse_message, shortened,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// One line or body of a client.
pub(crate) enum Incoming<'a> {
    /// One message.
    Message(Message<'a>),
    /// A batch, legal in 2025-03-26 only.
    Batch(Vec<&'a RawValue>),
    /// Not a message: the error to answer with, and the id if there is a usable one.
    Refused(ErrorObject, Option<RequestId>),
}

/// Sorts a line or a body. Every message of every face comes through here first, so this is where
/// its depth is checked (S23).
pub(crate) fn sort(line: &[u8]) -> Incoming<'_> {
    if nests_too_deep(line) {
        return too_deep(line);
    }
    sorted(parse_line(line), line)
}

/// Sorts an item of a batch, whose depth was checked with the batch. A handshake is never one
/// (X-BATCH-05).
pub(crate) fn sort_item(item: &RawValue) -> Incoming<'_> {
    match sorted(parse_message(item.get()), item.get().as_bytes()) {
        Incoming::Message(Message::Request { id, method, .. }) if method == Initialize::NAME => {
            let message = "initialize cannot be part of a batch; send it by itself";
            Incoming::Refused(ErrorObject::new(codes::INVALID_REQUEST, message), Some(id))
        }
        sorted => sorted,
    }
}

fn sorted<'a>(parsed: Line<'a>, text: &[u8]) -> Incoming<'a> {
    match parsed {
        Line::Batch(items) => Incoming::Batch(items),
        Line::Stray(reason) => refused(text, &reason),
        Line::Message(Message::Response {
            id,
            outcome: Outcome::Malformed(reason),
        }) => match probe(text) {
            // It has a result or an error: a bad answer, which nobody answers.
            Some(probe) if probe.is_response() => Incoming::Message(Message::Response {
                id,
                outcome: Outcome::Malformed(reason),
            }),
            _ => refused(text, &reason),
        },
        Line::Message(message) => Incoming::Message(message),
    }
}

/// A message that no handler will read. Finding its id takes no recursion.
fn too_deep<'a>(text: &[u8]) -> Incoming<'a> {
    let probe = probe(text);
    let id = probe.as_ref().and_then(Probe::id);
    if probe.is_some_and(|probe| probe.is_response()) {
        let reason = format!("nested deeper than {MAX_DEPTH} levels");
        return Incoming::Message(Message::Response {
            id,
            outcome: Outcome::Malformed(reason),
        });
    }
    let message =
        format!("the message nests deeper than {MAX_DEPTH} levels; send it with fewer levels");
    Incoming::Refused(ErrorObject::new(codes::INVALID_REQUEST, message), id)
}

fn refused<'a>(text: &[u8], reason: &str) -> Incoming<'a> {
    let is_json =
        std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    if !is_json {
        let message = format!("the message is not JSON: {}", shortened(reason));
        return Incoming::Refused(ErrorObject::new(codes::PARSE_ERROR, message), None);
    }
    let id = probe(text).as_ref().and_then(Probe::id);
    let message = format!("the message is no request: {}", shortened(reason));
    Incoming::Refused(ErrorObject::new(codes::INVALID_REQUEST, message), id)
}

/// The members that tell whom a broken message concerns.
#[derive(Deserialize)]
struct Probe<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<IgnoredAny>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl Probe<'_> {
    fn id(&self) -> Option<RequestId> {
        serde_json::from_str(self.id?.get()).ok()
    }

    fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

fn probe(text: &[u8]) -> Option<Probe<'_>> {
    // An array would be read as the members in their order.
    let is_object = text.trim_ascii_start().starts_with(b"{");
    is_object.then(|| serde_json::from_slice(text).ok())?
}

/// An error that belongs to no request. JSON-RPC writes a null id; from 2025-11-25 on the schema
/// wants none at all (X-BASE-05).
pub(crate) fn unaddressed(error: &ErrorObject, revision: Option<Revision>) -> Vec<u8> {
    let id = match revision {
        Some(revision) if revision.features().errors_without_id => "",
        _ => "\"id\":null,",
    };
    let error = serde_json::to_string(error).unwrap_or_default();
    format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}\n").into_bytes()
}

/// The answer to what was refused.
pub(crate) fn refusal(
    error: &ErrorObject,
    id: Option<&RequestId>,
    revision: Option<Revision>,
) -> Vec<u8> {
    match id {
        Some(id) => frame::error(id, error).unwrap_or_default(),
        None => unaddressed(error, revision),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[u8], code: i64, id: Option<RequestId>) {
        let text = String::from_utf8_lossy(line).into_owned();
        match sort(line) {
            Incoming::Refused(error, found) => {
                assert_eq!((error.code, found), (code, id), "{text}");
            }
            Incoming::Message(message) => panic!("{text}: {message:?}"),
            Incoming::Batch(_) => panic!("{text}: a batch"),
        }
    }

    #[test]
    fn x_err_01_broken_messages_are_told_apart() {
        for line in ["{", "hello", "{\"jsonrpc\":\"2.0\",\"id\":1,", "[1,", ""] {
            check(line.as_bytes(), codes::PARSE_ERROR, None);
        }
        check(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            codes::PARSE_ERROR,
            None,
        );
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":1}"#, Some(1.into())),
            (r#"{"id":2,"method":"ping"}"#, Some(2.into())),
            (
                r#"{"jsonrpc":"1.0","id":"3","method":"ping"}"#,
                Some("3".into()),
            ),
            (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, Some(4.into())),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, None),
            (r#"{"method":"ping"}"#, None),
            ("{}", None),
            ("7", None),
            ("\"ping\"", None),
            ("null", None),
            ("[]", None),
        ] {
            check(line.as_bytes(), codes::INVALID_REQUEST, id);
        }
    }

    #[test]
    fn s23_what_nests_too_deep_is_refused_with_its_id() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let request = |params: String| {
            format!(r#"{{"jsonrpc":"2.0","method":"resources/read","params":{params},"id":7}}"#)
        };
        let fits = request(nested(MAX_DEPTH - 1));
        assert!(matches!(sort(fits.as_bytes()), Incoming::Message(_)));
        for levels in [MAX_DEPTH, 60_000] {
            let request = request(nested(levels));
            check(request.as_bytes(), codes::INVALID_REQUEST, Some(7.into()));
            check(nested(levels + 1).as_bytes(), codes::INVALID_REQUEST, None);
            // An answer is not answered, and ends the question it belongs to.
            let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, nested(levels));
            let Incoming::Message(Message::Response { id, outcome }) = sort(answer.as_bytes())
            else {
                panic!("{levels} levels of an answer");
            };
            assert_eq!(id, Some(7.into()));
            assert!(matches!(outcome, Outcome::Malformed(_)));
        }
    }

    #[test]
    fn x_base_08_broken_answers_are_not_answered() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
        ] {
            assert!(matches!(
                sort(line.as_bytes()),
                Incoming::Message(Message::Response { .. })
            ));
        }
    }
}
