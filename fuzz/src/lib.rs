//! What the fuzz targets do with their bytes.
//!
//! The targets themselves hold one macro of the fuzzer each, which declares an exported function and
//! is the only reason why `unsafe_code` is not forbidden for the whole crate.

#![forbid(unsafe_code)]

mod lisp;
mod methods;
mod record;
mod server;
mod view;

use attache_protocol::{
    Line, LineFramer, Message, Outcome, Payload, ResultKind, SseEvent, SseParser, parse_line,
    parse_message, subscription_id,
};
use bytes::Bytes;
use serde_json::value::RawValue;

pub use lisp::{lisp_evaluator, lisp_reader};
pub use methods::methods;
pub use record::{recording, tap};
pub use server::server_dispatch;
pub use view::{document, form};

/// The longest line of the framing target; short, so that it is reached.
const MAX_FRAME: usize = 64;

/// Any chunking gives the same lines. The first byte chooses the size of the chunks.
pub fn framing(bytes: &[u8]) {
    let Some((&size, stream)) = bytes.split_first() else {
        return;
    };
    let size = usize::from(size).max(1);
    assert_eq!(lines([stream]), lines(stream.chunks(size)));
}

/// All lines of a stream, and whether one was too long.
fn lines<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Bytes>, bool) {
    let mut framer = LineFramer::new(MAX_FRAME);
    let mut lines = Vec::new();
    for chunk in chunks {
        framer.buffer_for_read();
        framer.note_read(chunk.len());
        framer.push(chunk);
        loop {
            match framer.next_line() {
                Ok(Some(line)) => {
                    assert!(line.len() <= MAX_FRAME && !line.contains(&b'\n'));
                    lines.push(line);
                }
                Ok(None) => break,
                Err(_) => return (lines, true),
            }
        }
    }
    (lines, false)
}

/// Any chunking gives the same events. The first byte chooses the size of the chunks.
pub fn events(bytes: &[u8]) {
    let Some((&size, stream)) = bytes.split_first() else {
        return;
    };
    let size = usize::from(size).max(1);
    assert_eq!(events_of([stream]), events_of(stream.chunks(size)));
}

/// All events of a stream with what is known after it, and whether one was too long.
fn events_of<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<SseEvent>, Option<String>, Option<u64>, bool) {
    let mut parser = SseParser::new(MAX_FRAME);
    let mut events = Vec::new();
    let mut refused = false;
    'stream: for chunk in chunks {
        parser.push(Bytes::copy_from_slice(chunk));
        loop {
            match parser.next_event() {
                Ok(Some(event)) => {
                    assert!(event.data.len() <= MAX_FRAME + 1);
                    events.push(event);
                }
                Ok(None) => break,
                Err(_) => {
                    refused = true;
                    break 'stream;
                }
            }
        }
    }
    let last_id = parser.last_event_id().map(str::to_owned);
    (events, last_id, parser.retry_ms(), refused)
}

/// Any line is sorted, and what it holds can be looked at.
pub fn envelope(bytes: &[u8]) {
    let frame = Bytes::copy_from_slice(bytes);
    match parse_line(&frame) {
        Line::Message(message) => look_at(&frame, message),
        Line::Batch(items) => {
            for item in items {
                if let Line::Message(message) = parse_message(item.get()) {
                    look_at(&frame, message);
                }
            }
        }
        Line::Stray(reason) => assert!(!reason.is_empty()),
    }
}

fn look_at(frame: &Bytes, message: Message<'_>) {
    let text = match message {
        Message::Request { id, params, .. } => {
            let _ = id.as_counter();
            let echoed = serde_json::to_string(&id).unwrap_or_default();
            assert_eq!(serde_json::from_str(&echoed).ok(), Some(id));
            params.map(RawValue::get)
        }
        Message::Notification { params, .. } => params.map(RawValue::get),
        Message::Response { outcome, .. } => match outcome {
            Outcome::Result(text) => Some(text),
            Outcome::Error(error) => {
                assert!(!error.to_string().is_empty());
                None
            }
            Outcome::Malformed(reason) => {
                assert!(!reason.is_empty());
                None
            }
        },
    };
    if let Some(text) = text {
        let payload = Payload::of_frame(frame, text);
        let _ = ResultKind::of(&payload);
        let _ = subscription_id(&payload);
        assert!(payload.to_json().is_ok());
    }
}
