//! Every message of every connection as it passes, for observers.
//!
//! Owns the numbered stream of frames and who follows it. Without a follower a message costs one
//! look at a flag: nothing is copied, kept or counted. With a follower, what passes is put into a
//! bounded ring, so that a follower that does not keep up loses frames, is told how many, and never
//! slows a connection down (fault 49, P5). Frames are raw: they hold whatever secrets were sent.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use http::HeaderMap;
use parking_lot::{Mutex, MutexGuard};
use reqwest::Response;
use tokio::sync::Notify;

use crate::error::CloseReason;
use crate::ring::{Next, Retention, Ring};

/// Frames that are kept for a follower that does not keep up.
pub const FRAME_CAPACITY: usize = 8192;
/// How many bytes of frames are kept, about.
pub const FRAME_BYTES: usize = 16 * 1024 * 1024;

/// Messages below this size are copied out of the buffer they were read into, so that a small one
/// that is kept does not pin a large buffer.
const COPY_BELOW: usize = 16 * 1024;
/// How the names of headers begin that belong to MCP.
const MCP_HEADER: &str = "mcp-";

/// Something that passed on a connection, or happened to it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its number among the frames of its [`FrameSource`].
    pub seq: u64,
    /// When.
    pub at: SystemTime,
    /// The name that the source was given for this server; empty if it was given none.
    pub source: Arc<str>,
    /// Which connection of the source; 0 if it is about none.
    pub connection: u64,
    /// What.
    pub kind: FrameKind,
}

/// Kinds of frames.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FrameKind {
    /// A connection is about to be made.
    Opened,
    /// A message to the server, handed to its transport, or an HTTP request without one.
    Sent {
        /// The message, without the end of its line.
        payload: Bytes,
        /// The HTTP request that it is sent in.
        http: Option<Box<HttpHead>>,
    },
    /// A message of the server, or the head of its answer to an HTTP request, whose messages follow.
    Received {
        /// The message, without the end of its line; what is no message is here as it came.
        payload: Bytes,
        /// The head of an HTTP answer.
        http: Option<Box<HttpHead>>,
    },
    /// A line that the server wrote to stderr.
    Stderr {
        /// The line.
        line: Arc<str>,
    },
    /// The connection has ended.
    Closed {
        /// Why.
        reason: CloseReason,
    },
    /// The supervisor says what state the server is in.
    State {
        /// The state.
        state: Arc<str>,
        /// Why, if something failed.
        cause: Option<Arc<str>>,
    },
    /// This follower did not keep up.
    Missed {
        /// How many frames it has lost.
        count: u64,
    },
}

/// What is told of an HTTP request or answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpHead {
    /// A number that a request shares with its answer.
    pub exchange: u64,
    /// The method of the request.
    pub method: String,
    /// The status, if this is the answer.
    pub status: Option<u16>,
    /// The headers whose names begin with `Mcp-`, in lower case.
    pub headers: Vec<(String, String)>,
}

/// Where frames come from: given to [`Server::observed_by`](crate::Server::observed_by), it tells
/// of all connections to that server. Clones are the same source.
#[derive(Clone)]
pub struct FrameSource {
    shared: Arc<Shared>,
    /// Followers come to an end when the last of these is gone.
    _alive: Arc<Alive>,
    name: Arc<str>,
}

struct Shared {
    followed: AtomicBool,
    ring: Mutex<Ring<Arc<Frame>>>,
    told: Notify,
    ended: AtomicBool,
    connections: AtomicU64,
    exchanges: AtomicU64,
}

struct Alive(Arc<Shared>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
        self.0.told.notify_waiters();
    }
}

impl Default for FrameSource {
    fn default() -> Self {
        let shared = Arc::new(Shared {
            followed: AtomicBool::new(false),
            ring: Mutex::new(Ring::new(FRAME_CAPACITY, FRAME_BYTES, Retention::WhileRead)),
            told: Notify::new(),
            ended: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
        });
        Self {
            _alive: Arc::new(Alive(shared.clone())),
            shared,
            name: "".into(),
        }
    }
}

impl FrameSource {
    /// The same source, whose frames carry this name from here on.
    #[must_use]
    pub fn named(&self, name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            ..self.clone()
        }
    }

    /// What passes from now on.
    pub fn follow(&self) -> Frames {
        self.follow_connection(None)
    }

    fn follow_connection(&self, only: Option<u64>) -> Frames {
        let mut ring = self.shared.lock();
        let last = ring.last();
        // What follows the last frame is there, as nothing has followed it.
        let reader = ring.begin(last).unwrap_or_default();
        self.shared.followed.store(true, Ordering::Relaxed);
        drop(ring);
        Frames {
            shared: self.shared.clone(),
            reader,
            only,
        }
    }

    /// Tells of a state of the server, in the order of its frames.
    pub fn state(&self, state: &str, cause: Option<&str>) {
        if self.shared.is_followed() {
            let kind = FrameKind::State {
                state: state.into(),
                cause: cause.map(Into::into),
            };
            self.shared.push(&self.name, 0, kind);
        }
    }

    /// A connection that is about to be made.
    pub(crate) fn open(&self) -> ConnectionFrames {
        let number = self.shared.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let frames = ConnectionFrames {
            source: self.clone(),
            number,
        };
        if frames.is_followed() {
            frames.push(FrameKind::Opened);
        }
        frames
    }
}

impl fmt::Debug for FrameSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FrameSource")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A stream of frames, from the moment it was asked for.
pub struct Frames {
    shared: Arc<Shared>,
    reader: u64,
    /// The only connection that is of interest.
    only: Option<u64>,
}

impl Frames {
    /// The next frame; `None` when the server or host is gone and all frames were read.
    pub async fn next(&mut self) -> Option<Arc<Frame>> {
        let shared = self.shared.clone();
        loop {
            // Made before looking, so that no frame can come unnoticed in between.
            let told = shared.told.notified();
            if let Some(frame) = self.try_next() {
                return Some(frame);
            }
            if shared.ended.load(Ordering::Acquire) {
                return self.try_next();
            }
            told.await;
        }
    }

    /// The next frame, if there is one now.
    pub fn try_next(&mut self) -> Option<Arc<Frame>> {
        loop {
            match self.shared.lock().next(self.reader) {
                Next::Item(frame) if self.only.is_some_and(|it| it != frame.connection) => {}
                Next::Item(frame) => return Some(frame),
                Next::Missed { count, last } => {
                    return Some(Arc::new(Frame {
                        seq: last,
                        at: SystemTime::now(),
                        source: "".into(),
                        connection: 0,
                        kind: FrameKind::Missed { count },
                    }));
                }
                Next::Nothing => return None,
            }
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        let mut ring = self.shared.lock();
        ring.end(self.reader);
        let followed = ring.is_wanted();
        self.shared.followed.store(followed, Ordering::Relaxed);
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Frames").finish_non_exhaustive()
    }
}

impl Shared {
    fn is_followed(&self) -> bool {
        self.followed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Ring<Arc<Frame>>> {
        // The ring is consistent between any two statements, so a panic elsewhere spoils nothing.
        self.ring.lock()
    }

    fn push(&self, source: &Arc<str>, connection: u64, kind: FrameKind) {
        let size = size_of::<Frame>() + kind.size();
        let mut ring = self.lock();
        // The last follower may have left in this instant.
        if !ring.is_wanted() {
            return;
        }
        let frame = Frame {
            seq: ring.last() + 1,
            at: SystemTime::now(),
            source: source.clone(),
            connection,
            kind,
        };
        ring.push(size, Arc::new(frame));
        drop(ring);
        self.told.notify_waiters();
    }
}

/// The frames of one connection. Every method does nothing without a follower.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionFrames {
    source: FrameSource,
    number: u64,
}

impl ConnectionFrames {
    /// What passes on this connection from now on.
    pub(crate) fn follow(&self) -> Frames {
        self.source.follow_connection(Some(self.number))
    }

    /// Whether there is a follower: the only thing asked on the way of a message without one.
    #[inline]
    pub(crate) fn is_followed(&self) -> bool {
        self.source.shared.is_followed()
    }

    /// A line goes into a byte stream.
    #[inline]
    pub(crate) fn sent(&self, line: &[u8]) {
        if self.is_followed() {
            self.push_sent(line);
        }
    }

    #[cold]
    fn push_sent(&self, line: &[u8]) {
        self.push(FrameKind::Sent {
            payload: Bytes::copy_from_slice(line.trim_ascii_end()),
            http: None,
        });
    }

    /// A message came.
    #[inline]
    pub(crate) fn received(&self, message: &Bytes) {
        if self.is_followed() {
            self.push_received(message);
        }
    }

    #[cold]
    fn push_received(&self, message: &Bytes) {
        let payload = match message.len() < COPY_BELOW {
            true => Bytes::copy_from_slice(message),
            false => message.clone(),
        };
        self.push(FrameKind::Received {
            payload,
            http: None,
        });
    }

    /// A request leaves; gives its number if anybody follows.
    pub(crate) fn http_sent(
        &self,
        method: &http::Method,
        headers: &HeaderMap,
        body: Option<&Bytes>,
    ) -> Option<u64> {
        if !self.is_followed() {
            return None;
        }
        let exchange = self.source.shared.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        self.push(FrameKind::Sent {
            payload: body.cloned().unwrap_or_default(),
            http: Some(Box::new(HttpHead {
                exchange,
                method: method.to_string(),
                status: None,
                headers: mcp_headers(headers),
            })),
        });
        Some(exchange)
    }

    /// The head of an answer came.
    pub(crate) fn http_received(&self, exchange: u64, method: &http::Method, response: &Response) {
        self.push(FrameKind::Received {
            payload: Bytes::new(),
            http: Some(Box::new(HttpHead {
                exchange,
                method: method.to_string(),
                status: Some(response.status().as_u16()),
                headers: mcp_headers(response.headers()),
            })),
        });
    }

    pub(crate) fn stderr(&self, line: &str) {
        if self.is_followed() {
            self.push(FrameKind::Stderr { line: line.into() });
        }
    }

    pub(crate) fn closed(&self, reason: &CloseReason) {
        if self.is_followed() {
            self.push(FrameKind::Closed {
                reason: reason.clone(),
            });
        }
    }

    fn push(&self, kind: FrameKind) {
        let FrameSource { shared, name, .. } = &self.source;
        shared.push(name, self.number, kind);
    }
}

fn mcp_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let ours = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with(MCP_HEADER));
    let shown = ours.map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    shown.collect()
}

impl FrameKind {
    /// About how much memory it takes besides itself.
    fn size(&self) -> usize {
        match self {
            Self::Sent { payload, http } | Self::Received { payload, http } => {
                let lengths = http.iter().flat_map(|http| &http.headers);
                let headers: usize = lengths.map(|(name, value)| name.len() + value.len()).sum();
                payload.len() + headers
            }
            Self::Stderr { line } => line.len(),
            Self::State { cause, .. } => cause.as_ref().map_or(0, |cause| cause.len()),
            Self::Opened | Self::Closed { .. } | Self::Missed { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payloads(frames: &mut Frames) -> Vec<String> {
        let kinds = std::iter::from_fn(|| frames.try_next());
        let texts = kinds.map(|frame| match &frame.kind {
            FrameKind::Sent { payload, .. } => format!("> {}", payload.escape_ascii()),
            FrameKind::Received { payload, .. } => format!("< {}", payload.escape_ascii()),
            other => format!("{other:?}"),
        });
        texts.collect()
    }

    #[test]
    fn nothing_is_kept_or_numbered_for_nobody() {
        let source = FrameSource::default();
        let connection = source.open();
        connection.sent(b"unseen\n");
        assert_eq!(source.shared.lock().last(), 0);
        let mut frames = connection.follow();
        connection.sent(b"one\n");
        source.open().sent(b"elsewhere\n");
        connection.received(&Bytes::from_static(b"two"));
        assert_eq!(payloads(&mut frames), ["> one", "< two"]);
        drop(frames);
        assert!(!connection.is_followed());
    }

    #[test]
    fn large_messages_are_shared_and_small_ones_pin_no_buffer() {
        let source = FrameSource::default();
        let connection = source.open();
        let mut frames = source.follow();
        let buffer = Bytes::from(vec![b'x'; COPY_BELOW * 2]);
        connection.received(&buffer);
        connection.received(&buffer.slice(..COPY_BELOW - 1));
        let kept = std::iter::from_fn(|| frames.try_next());
        let shared = kept.map(|frame| match &frame.kind {
            FrameKind::Received { payload, .. } => payload.as_ptr() == buffer.as_ptr(),
            other => panic!("{other:?}"),
        });
        assert_eq!(shared.collect::<Vec<_>>(), [true, false]);
    }

    /// Fault 49: what a follower loses is counted, by number and by size.
    #[tokio::test]
    async fn fault_49_a_slow_follower_loses_the_oldest_and_is_told() {
        let source = FrameSource::default();
        let connection = source.open();
        let mut frames = source.follow();
        for _ in 0..FRAME_CAPACITY + 10 {
            connection.sent(b"x\n");
        }
        let first = frames.next().await.unwrap();
        assert!(matches!(first.kind, FrameKind::Missed { count: 10 }));
        drop((source, connection));
        let mut received = 0;
        while frames.next().await.is_some() {
            received += 1;
        }
        assert_eq!(received, FRAME_CAPACITY);
    }

    #[test]
    fn large_frames_are_bounded_by_their_bytes() {
        let source = FrameSource::default();
        let connection = source.open();
        let mut frames = source.follow();
        let half = Bytes::from(vec![b'x'; FRAME_BYTES / 2]);
        for _ in 0..3 {
            connection.received(&half);
        }
        let first = frames.try_next().unwrap();
        assert!(matches!(first.kind, FrameKind::Missed { count: 2 }));
        assert!(frames.try_next().is_some() && frames.try_next().is_none());
    }
}
