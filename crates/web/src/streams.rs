//! The snapshot, and what happens after it: events with their numbers, resumable; frames as they
//! pass.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use attache::host::events::{Event, EventKind, Events};
use attache::host::frames::{Frame, Frames};
use attache::host::snapshot::Snapshot;
use attache::server::http::Serving;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::answer::ok;
use crate::asked::Asked;
use crate::calling::{self, CallView};
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::known_server;
use crate::routes::Query;
use crate::subscriptions::Subscription;

/// How often a silent stream shows that it is alive.
const ALIVE: Duration = Duration::from_secs(15);
/// Pieces of a stream that wait for a reader who does not read. Then the host's own ring holds the
/// events, and counts what it loses.
const AHEAD: usize = 16;
/// How many bytes of events one piece has, about.
const PIECE: usize = 64 * 1024;
/// How many bytes of events wait beyond the pieces, lines of logs left aside.
const MOST_WAITING: usize = 16 * PIECE;

/// What the stream of events takes.
pub(crate) const EVENTS_QUERY: &[Query] = &[
    Query {
        name: "after",
        about: "Begin behind the event of this number, like the header `Last-Event-ID`.",
    },
    Query {
        name: "host",
        about: "The `started_ms` that the number is of; if it is another, the stream begins with `reset`.",
    },
];

/// What the stream of frames takes.
pub(crate) const FRAMES_QUERY: &[Query] = &[Query {
    name: "server",
    about: "Of this server only.",
}];

#[derive(Serialize)]
struct SnapshotView {
    #[serde(flatten)]
    snapshot: Snapshot,
    console: ConsoleView,
    calls: Vec<CallView>,
    subscriptions: Vec<Subscription>,
}

#[derive(Serialize)]
struct ConsoleView {
    version: &'static str,
    started_ms: u64,
    call_log: bool,
}

pub(crate) async fn snapshot(console: Arc<Console>, _: Asked) -> Result<Response, ApiError> {
    Ok(ok(&SnapshotView {
        console: ConsoleView {
            version: env!("CARGO_PKG_VERSION"),
            started_ms: console.started_ms,
            call_log: console.host.call_log().is_some(),
        },
        calls: calling::views(&console),
        subscriptions: console.subscriptions.all(),
        snapshot: console.host.snapshot(),
    }))
}

pub(crate) async fn events(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let header = asked
        .headers
        .get("last-event-id")
        .and_then(|it| it.to_str().ok());
    let after = match header {
        Some(text) => text.trim().parse().ok(),
        None => asked.query_number("after")?,
    };
    let is_other_host = asked
        .query_number("host")?
        .is_some_and(|host| host != console.started_ms);
    let begun = match after.filter(|_| !is_other_host) {
        Some(after) => Reading::after(&console, after),
        None if is_other_host || header.is_some() => Reading::reset(&console),
        None => {
            let (now, events) = console.host.follow();
            Reading {
                events,
                seen: now.seq,
                begins_with: None,
            }
        }
    };
    let following = console.clone();
    stream(&console, asked.serving, move |pieces| {
        follow(following, begun, pieces)
    })
}

/// A reader of events, where it is.
struct Reading {
    events: Events,
    /// The last number it has seen.
    seen: u64,
    /// What it is told first.
    begins_with: Option<String>,
}

#[derive(Serialize)]
struct Reset {
    seq: u64,
    started_ms: u64,
}

impl Reading {
    fn after(console: &Console, after: u64) -> Self {
        match console.host.events_after(after) {
            Ok(events) => Self {
                events,
                seen: after,
                begins_with: None,
            },
            Err(_) => Self::reset(console),
        }
    }

    /// From now on, behind the word that the snapshot has to be taken anew.
    fn reset(console: &Console) -> Self {
        let (snapshot, events) = console.host.follow();
        let reset = Reset {
            seq: snapshot.seq,
            started_ms: snapshot.started_ms,
        };
        let data = serde_json::to_string(&reset).unwrap_or_default();
        Self {
            events,
            seen: snapshot.seq,
            begins_with: Some(format!("event: reset\ndata: {data}\n\n")),
        }
    }
}

/// Writes events for as long as there is a reader.
///
/// A reader that is slower than a server that floods its log loses lines, which are counted and told
/// in their place. All other events wait for it, because they say what is; only if too many of them
/// wait, the host's ring runs over, and the reader begins anew.
async fn follow(console: Arc<Console>, mut reading: Reading, pieces: mpsc::Sender<Bytes>) {
    let mut waiting = Waiting::default();
    loop {
        if let Some(first) = reading.begins_with.take() {
            waiting.text.push_str(&first);
        }
        tokio::select! {
            place = pieces.reserve(), if !waiting.is_empty() => match place {
                Ok(place) => place.send(waiting.take()),
                Err(_) => return,
            },
            event = reading.events.next(), if waiting.text.len() < MOST_WAITING => match event {
                // The host is gone, and so is the console.
                None => return,
                Some(event) if is_gap(&event) => reading = Reading::after(&console, reading.seen),
                Some(event) => {
                    reading.seen = event.seq;
                    waiting.add(&event);
                }
            },
            () = tokio::time::sleep(ALIVE), if waiting.is_empty() => {
                waiting.text.push_str(": alive\n\n");
            }
        }
    }
}

/// Events that were not sent yet.
#[derive(Default)]
struct Waiting {
    text: String,
    lost: Lost,
}

/// Lines that are told by their number only.
#[derive(Default)]
struct Lost {
    count: u64,
    /// The last of them.
    seq: u64,
    at_ms: u64,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.lost.count == 0
    }

    fn add(&mut self, event: &Event) {
        let is_line = matches!(
            event.kind,
            EventKind::Log { .. } | EventKind::Stderr { .. } | EventKind::Notification { .. }
        );
        if is_line && self.text.len() >= PIECE {
            let (seq, at_ms) = (event.seq, event.at_ms);
            let count = self.lost.count + 1;
            self.lost = Lost { count, seq, at_ms };
            return;
        }
        self.tell_lost();
        self.text.push_str(&written(event));
    }

    fn tell_lost(&mut self) {
        let Lost { count, seq, at_ms } = std::mem::take(&mut self.lost);
        if count > 0 {
            let event = Event {
                seq,
                at_ms,
                server: None,
                kind: EventKind::Missed { count },
            };
            self.text.push_str(&written(&event));
        }
    }

    fn take(&mut self) -> Bytes {
        self.tell_lost();
        std::mem::take(&mut self.text).into()
    }
}

/// Whether this reader has lost events, which is told without a server.
fn is_gap(event: &Event) -> bool {
    event.server.is_none() && matches!(event.kind, EventKind::Missed { .. })
}

/// An event as the stream has it. JSON has no line breaks, so it is one line of data.
fn written(event: &Event) -> String {
    let data = serde_json::to_string(event).unwrap_or_default();
    // Before it stand numbers and a name whose quotes are escaped, so the first is the field itself.
    let name = data.split_once("\"event\":\"").map_or("", |(_, rest)| rest);
    let name = name.split_once('"').map_or("", |(name, _)| name);
    format!("id: {}\nevent: {name}\ndata: {data}\n\n", event.seq)
}

pub(crate) async fn frames(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = match asked.query("server") {
        Some(name) => Some(known_server(&console, name)?),
        None => None,
    };
    let frames = console.host.frames();
    let wants = move |frame: &Frame| {
        let of = frame.server.as_ref();
        server.is_none() || of.is_none() || of == server.as_ref()
    };
    stream(&console, asked.serving, move |pieces| {
        watch(frames, wants, pieces)
    })
}

async fn watch(
    mut frames: Frames,
    wants: impl Fn(&Frame) -> bool + Send,
    pieces: mpsc::Sender<Bytes>,
) {
    loop {
        let mut piece = String::new();
        match tokio::time::timeout(ALIVE, frames.next()).await {
            Err(_) => piece.push_str(": alive\n\n"),
            Ok(None) => return,
            Ok(Some(frame)) => {
                let mut next = Some(frame);
                while let Some(frame) = next {
                    if wants(&frame) {
                        let data = serde_json::to_string(&frame).unwrap_or_default();
                        piece.push_str(&format!(
                            "id: {}\nevent: frame\ndata: {data}\n\n",
                            frame.seq
                        ));
                    }
                    next = if piece.len() < PIECE {
                        frames.try_next()
                    } else {
                        None
                    };
                }
            }
        }
        let is_left = match piece.is_empty() {
            true => pieces.is_closed(),
            false => pieces.send(piece.into()).await.is_err(),
        };
        if is_left {
            return;
        }
    }
}

/// A body that goes on. The task that writes it ends when the reader leaves.
struct EventBody {
    pieces: mpsc::Receiver<Bytes>,
    _place: OwnedSemaphorePermit,
    _serving: Option<Serving>,
}

impl Stream for EventBody {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.pieces.poll_recv(context).map(|piece| piece.map(Ok))
    }
}

fn stream<F>(
    console: &Console,
    serving: Option<Serving>,
    write: impl FnOnce(mpsc::Sender<Bytes>) -> F,
) -> Result<Response, ApiError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let Ok(place) = console.streams.clone().try_acquire_owned() else {
        return Err(ApiError::busy("too many streams are open; close one first"));
    };
    let (sender, pieces) = mpsc::channel(AHEAD);
    // The first bytes tell the reader that the stream has begun.
    let _ = sender.try_send(Bytes::from_static(b": hello\n\n"));
    let left = sender.clone();
    let writing = write(sender);
    let mut closing = console.closing.subscribe();
    tokio::spawn(async move {
        tokio::select! {
            () = writing => {}
            // Nothing may happen for long after the reader has left.
            () = left.closed() => {}
            _ = closing.wait_for(|is_closing| *is_closing) => {}
        }
    });
    let mut response = Response::new(Body::from_stream(EventBody {
        pieces,
        _place: place,
        _serving: serving,
    }));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Keeps proxies from collecting events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64, kind: EventKind) -> Event {
        Event {
            seq,
            at_ms: 7,
            server: "notes".parse().ok(),
            kind,
        }
    }

    /// Fault 49: a reader that is too slow for a flood is told how many lines it did not get.
    #[test]
    fn lines_beyond_a_piece_are_counted_where_they_would_stand_and_nothing_else_is() {
        let line = |seq| {
            event(
                seq,
                EventKind::Stderr {
                    line: "x".repeat(1000),
                },
            )
        };
        let mut waiting = Waiting::default();
        let lines = 200;
        for seq in 1..=lines {
            waiting.add(&line(seq));
        }
        waiting.add(&event(lines + 1, EventKind::Removed));
        waiting.add(&line(lines + 2));
        let text = String::from_utf8(waiting.take().to_vec()).unwrap();
        assert!(waiting.is_empty());
        let kept = text.matches("event: stderr").count() as u64;
        assert!(kept < lines);
        let missed = lines - kept;
        let told = format!(
            "id: {lines}\nevent: missed\ndata: {{\"seq\":{lines},\"at_ms\":7,\"event\":\"missed\",\"count\":{missed}}}\n\n\
             id: 201\nevent: removed\n"
        );
        assert!(text.contains(&told), "{text}");
        assert!(
            text.ends_with("\"event\":\"missed\",\"count\":1}\n\n"),
            "{text}"
        );
    }

    #[test]
    fn an_event_is_named_by_its_own_field() {
        let data = attache::protocol::Json::parse(r#"{"event":"asked"}"#).unwrap();
        let log = event(
            3,
            EventKind::Log {
                level: "info".into(),
                logger: None,
                data,
            },
        );
        assert!(written(&log).starts_with("id: 3\nevent: log\n"));
    }
}
