//! What the background process tells for as long as it is listened to: events, frames, changes.
//!
//! Dropping a stream ends it there too. A reader that does not keep up loses the newest and is told
//! how many, as with a host in the same process.

use std::sync::Arc;

use attache::Change;
use attache::host::config::ServerName;
use attache::host::events::{Event, EventKind};
use attache::host::frames::{Frame, FrameKind};
use attache::host::snapshot::Snapshot;
use attache::protocol::{Json, SubscriptionFilter};
use serde::{Deserialize, Serialize};

use crate::failure::RemoteError;
use crate::inbox::Heard;
use crate::link::{Pending, result};
use crate::wire::{Reply, WatchLine};

/// Up to where events are known: of which host, and the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// When the host was started; numbers of another host mean nothing.
    pub started_ms: u64,
    /// The number of the last event that was seen.
    pub seq: u64,
}

impl Position {
    /// Where a snapshot stands.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            started_ms: snapshot.started_ms,
            seq: snapshot.seq,
        }
    }
}

/// How a stream of events begins, in place of the first of them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Beginning {
    Snapshot(Box<Snapshot>),
    Resumed(u64),
}

/// Events of the host in the background.
#[derive(Debug)]
pub struct RemoteEvents {
    pub(crate) pending: Pending,
}

impl RemoteEvents {
    /// Reads how the stream begins: a snapshot, unless it goes on where another left off.
    pub(crate) async fn begin(
        mut pending: Pending,
    ) -> Result<(Option<Snapshot>, Self), RemoteError> {
        let beginning = loop {
            if let Some(event) = first(&mut pending).await?.event {
                break event;
            }
        };
        let snapshot = match beginning.decode()? {
            Beginning::Snapshot(snapshot) => Some(*snapshot),
            Beginning::Resumed(_) => None,
        };
        Ok((snapshot, Self { pending }))
    }

    /// The next event; `None` when the host or the connection has ended.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            let heard = self.pending.next().await;
            if is_over(&heard) {
                return None;
            }
            if let Some(event) = event(heard) {
                return Some(event);
            }
        }
    }

    /// The next event, if there is one now.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        loop {
            let heard = self.pending.try_next()?;
            if is_over(&heard) {
                return None;
            }
            if let Some(event) = event(heard) {
                return Some(event);
            }
        }
    }
}

/// Frames of the host in the background, secrets hidden.
#[derive(Debug)]
pub struct RemoteFrames {
    pub(crate) pending: Pending,
}

impl RemoteFrames {
    pub(crate) async fn begin(mut pending: Pending) -> Result<Self, RemoteError> {
        first(&mut pending).await?;
        Ok(Self { pending })
    }

    /// The next frame; `None` when the host or the connection has ended.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            let heard = self.pending.next().await;
            if is_over(&heard) {
                return None;
            }
            if let Some(frame) = frame(heard) {
                return Some(frame);
            }
        }
    }

    /// The next frame, if there is one now.
    pub fn try_next(&mut self) -> Option<Frame> {
        loop {
            let heard = self.pending.try_next()?;
            if is_over(&heard) {
                return None;
            }
            if let Some(frame) = frame(heard) {
                return Some(frame);
            }
        }
    }
}

/// Changes of one server, across its restarts.
#[derive(Debug)]
pub struct RemoteWatch {
    server: ServerName,
    granted: SubscriptionFilter,
    pending: Pending,
}

impl RemoteWatch {
    pub(crate) async fn begin(
        server: ServerName,
        mut pending: Pending,
    ) -> Result<Self, RemoteError> {
        match first(&mut pending).await?.watched {
            Some(WatchLine::Granted(granted)) => Ok(Self {
                server,
                granted,
                pending,
            }),
            other => Err(RemoteError::Unreadable(format!("{other:?}"))),
        }
    }

    /// Whose changes these are.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// What the server agreed to tell of, when the watch began.
    pub fn granted(&self) -> &SubscriptionFilter {
        &self.granted
    }

    /// The next change, or why there are no more.
    pub async fn next(&mut self) -> Result<Change, RemoteError> {
        loop {
            match self.pending.next().await {
                Heard::Missed(..) => return Ok(Change::Missed),
                Heard::Line(reply) => {
                    if let Some(change) = reply.watched.and_then(WatchLine::change) {
                        return Ok(change);
                    }
                }
                Heard::End(reply) => {
                    result(reply)?;
                    return Err(RemoteError::Lost);
                }
                Heard::Lost => return Err(RemoteError::Lost),
            }
        }
    }
}

/// The first line of a stream, or why there is none.
async fn first(pending: &mut Pending) -> Result<Reply, RemoteError> {
    match pending.next().await {
        Heard::Line(reply) | Heard::Missed(_, reply) => Ok(reply),
        Heard::End(reply) => {
            result(reply)?;
            Err(RemoteError::Lost)
        }
        Heard::Lost => Err(RemoteError::Lost),
    }
}

fn is_over(heard: &Heard) -> bool {
    matches!(heard, Heard::End(_) | Heard::Lost)
}

/// The event in a line. One of a kind that is not known here is skipped: the reader of its number's
/// successor sees the gap.
fn event(heard: Heard) -> Option<Arc<Event>> {
    let (reply, missed) = unfold(heard)?;
    let mut event: Event = decode(reply.event)?;
    if let Some(count) = missed {
        event.server = None;
        event.kind = EventKind::Missed { count };
    }
    Some(Arc::new(event))
}

fn frame(heard: Heard) -> Option<Frame> {
    let (reply, missed) = unfold(heard)?;
    let mut frame: Frame = decode(reply.frame)?;
    if let Some(count) = missed {
        frame = Frame {
            server: None,
            connection: 0,
            redacted: false,
            kind: FrameKind::Missed { count },
            ..frame
        };
    }
    Some(frame)
}

fn unfold(heard: Heard) -> Option<(Reply, Option<u64>)> {
    match heard {
        Heard::Line(reply) => Some((reply, None)),
        Heard::Missed(count, reply) => Some((reply, Some(count))),
        Heard::End(_) | Heard::Lost => None,
    }
}

fn decode<T: serde::de::DeserializeOwned>(json: Option<Json>) -> Option<T> {
    json?.decode().ok()
}
