//! An answer as it grows, in the same shape for both wire formats.
//!
//! Owns how the pieces of calls find each other and what a failure looks like. Endpoints that call
//! themselves compatible leave out, repeat and reorder almost everything, so nothing is required
//! here and what is unknown is kept.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::cut;
use crate::error::Error;
use crate::message::{Answer, StopReason, Thinking, ToolCall, Usage};

/// The most calls of one answer.
const MOST_CALLS: usize = 128;
/// The longest sentence of a failure that is shown.
const LONGEST_FAILURE: usize = 2_000;

/// A piece of an answer.
#[derive(Debug)]
pub enum Delta<'a> {
    /// Words.
    Text(&'a str),
    /// Thoughts.
    Thinking(&'a str),
    /// Nothing yet: the request is made again after a pause.
    Waiting {
        /// How long.
        pause: Duration,
        /// Why.
        because: &'a Error,
    },
}

/// An answer so far.
#[derive(Debug, Default)]
pub struct Reply {
    /// What the model said.
    pub answer: Answer,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
    /// The model that the endpoint says it is.
    pub model: Option<String>,
    /// Anything that belongs to an answer has come.
    pub(super) is_begun: bool,
    /// Anything was given to the face.
    pub(super) was_shown: bool,
    /// What identifies each call, beside its place in the answer.
    keys: Vec<CallKey>,
    /// What the endpoint numbers its blocks of thinking by.
    thinking_index: Option<u64>,
}

#[derive(Debug, Default)]
struct CallKey {
    index: Option<u64>,
    /// An id that the endpoint gave.
    id: Option<String>,
}

impl Reply {
    /// How many bytes have come.
    pub(super) fn bytes(&self) -> usize {
        let thinking: usize = self.answer.thinking.iter().map(|it| it.text.len()).sum();
        let calls = self.answer.calls.iter();
        let calls: usize = calls.map(|call| call.arguments.len()).sum();
        self.answer.text.len() + thinking + calls
    }

    pub(super) fn add_text(&mut self, text: &str, on_delta: &mut (dyn FnMut(Delta<'_>) + Send)) {
        self.is_begun = true;
        if !text.is_empty() {
            self.was_shown = true;
            self.answer.text.push_str(text);
            on_delta(Delta::Text(text));
        }
    }

    pub(super) fn add_thinking(
        &mut self,
        index: Option<u64>,
        text: &str,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) {
        self.is_begun = true;
        if !text.is_empty() {
            self.was_shown = true;
            self.thinking_at(index).text.push_str(text);
            on_delta(Delta::Thinking(text));
        }
    }

    /// The block of thinking that a piece belongs to.
    pub(super) fn thinking_at(&mut self, index: Option<u64>) -> &mut Thinking {
        if self.answer.thinking.is_empty() || (index.is_some() && index != self.thinking_index) {
            self.answer.thinking.push(Thinking::default());
            self.thinking_index = index;
        }
        let last = self.answer.thinking.len() - 1;
        &mut self.answer.thinking[last]
    }

    /// Adds a piece of a call, which is found by its index or its id, or is the last one.
    pub(super) fn add_call(&mut self, piece: CallPiece<'_>) {
        self.is_begun = true;
        let Some(at) = self.call_of(&piece) else {
            return;
        };
        let (key, call) = (&mut self.keys[at], &mut self.answer.calls[at]);
        if let Some(id) = piece.id {
            id.clone_into(&mut call.id);
            key.id = Some(id.to_owned());
        }
        if let Some(name) = piece.name {
            // Some endpoints repeat the name with every piece, others send it in pieces.
            if call.name.is_empty() || (call.arguments.is_empty() && call.name != name) {
                call.name.push_str(name);
            }
        }
        if let Some(arguments) = piece.arguments {
            call.arguments.push_str(arguments);
        }
        for (name, value) in piece.extra {
            call.extra.insert(name.clone(), value.clone());
        }
    }

    fn call_of(&mut self, piece: &CallPiece<'_>) -> Option<usize> {
        let by_id = |id: &str| {
            let mut keys = self.keys.iter();
            keys.position(|key| key.id.as_deref() == Some(id))
        };
        let by_index = |index: u64| {
            let mut keys = self.keys.iter();
            // Two calls under one number are told apart by their ids.
            keys.rposition(|key| {
                let same_id = piece
                    .id
                    .is_none_or(|id| key.id.as_deref().is_none_or(|known| known == id));
                key.index == Some(index) && same_id
            })
        };
        let found = match (piece.id, piece.index) {
            (Some(id), index) => by_id(id).or_else(|| index.and_then(by_index)),
            (None, Some(index)) => by_index(index),
            // Without either a name begins a call and anything else goes on with the last.
            (None, None) if piece.name.is_some() => None,
            (None, None) => self.keys.len().checked_sub(1),
        };
        if found.is_some() {
            return found;
        }
        if self.keys.len() >= MOST_CALLS {
            return None;
        }
        self.keys.push(CallKey {
            index: piece.index,
            id: None,
        });
        self.answer.calls.push(ToolCall::default());
        Some(self.keys.len() - 1)
    }

    /// Keeps fields that are not known here: texts and lists go on, anything else is replaced.
    pub(super) fn keep(&mut self, name: &str, value: &Value) {
        let kept = &mut self.answer.extra;
        match (kept.get_mut(name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
            _ => {
                kept.insert(name.to_owned(), value.clone());
            }
        }
    }

    /// The answer is complete: calls without a name are none, and each gets an id of its own.
    pub(super) fn finish(&mut self) {
        self.answer.calls.retain(|call| !call.name.is_empty());
        let mut seen: Vec<String> = Vec::new();
        for (number, call) in self.answer.calls.iter_mut().enumerate() {
            if call.id.is_empty() || seen.contains(&call.id) {
                call.id = format!("call_{number}_{:08x}", fastrand::u32(..));
            }
            seen.push(call.id.clone());
        }
        if !self.answer.calls.is_empty() && self.stop == StopReason::Done {
            self.stop = StopReason::Tools;
        }
    }
}

/// A piece of a call as an endpoint sends it.
#[derive(Debug, Default)]
pub(super) struct CallPiece<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) arguments: Option<&'a str>,
    pub(super) extra: Vec<(&'a String, &'a Value)>,
}

/// A text that says something.
pub(super) fn said<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// What of an object is not among the known names.
pub(super) fn unknown<'a>(
    object: Option<&'a Map<String, Value>>,
    known: &[&str],
) -> Vec<(&'a String, &'a Value)> {
    let all = object.into_iter().flatten();
    all.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null())
        .collect()
}

/// An object in the place of an answer that says that there is none.
pub(super) fn check_failure(kind: Option<&str>, value: &Value) -> Result<(), Error> {
    let error = value.get("error").filter(|error| !error.is_null());
    let is_failure = error.is_some() || kind == Some("error") || value["type"] == "error";
    if !is_failure {
        return Ok(());
    }
    let message = match failure_text(value) {
        text if text.is_empty() => "it gives no reason".to_owned(),
        text => text,
    };
    match is_too_long(&message) {
        true => Err(Error::TooLong { message }),
        false => Err(Error::Failed(message)),
    }
}

/// The sentence in any of the forms that endpoints have for failures.
pub(super) fn failure_text(value: &Value) -> String {
    let error = value.get("error").unwrap_or(value);
    let sentence = match error {
        Value::String(text) => Some(text.as_str()),
        error => said(error, "message")
            .or_else(|| said(error, "detail"))
            .or_else(|| said(error, "type")),
    };
    let sentence = sentence.or_else(|| said(value, "message").or_else(|| said(value, "detail")));
    let mut text = sentence.unwrap_or_default().to_owned();
    // Providers behind a router say more one level down.
    if let Some(raw) = error.get("metadata").and_then(|more| said(more, "raw")) {
        text = format!("{text}: {raw}");
    }
    cut::beginning(&text, LONGEST_FAILURE)
}

/// Whether a refusal is about the length of the conversation. There is no common code for it.
pub(super) fn is_too_long(message: &str) -> bool {
    let message = message.to_lowercase();
    [
        "context length",
        "context_length",
        "context size",
        "context window",
        "maximum context",
        "prompt is too long",
        "too many tokens",
        "exceeds the available context",
    ]
    .iter()
    .any(|words| message.contains(words))
}
