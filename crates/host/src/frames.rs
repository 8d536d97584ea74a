//! The messages of all connections of a host, secrets removed, as plain data.
//!
//! Owns what of a raw frame leaves the host: [`Frame`] is the only form of it that can be written
//! down or sent on, and it is made by hiding what [`Redactor`] finds. That happens where frames are
//! read, so it costs the follower time and never a connection.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use attache_client::frames::{Frame as RawFrame, FrameKind as RawKind, HttpHead};
use attache_client::frames::{FrameSource, Frames as RawFrames};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::{ServerConfig, ServerName};
use crate::redact::{HIDDEN, Redactor, is_secret_name};

/// Something that passed on a connection of a server, or happened to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Its number. Numbers have no gaps, except for what this follower lost.
    pub seq: u64,
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// The server; none if it is about the stream itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// Which connection; 0 if it is about none.
    pub connection: u64,
    /// Whether something in it was hidden, and [`HIDDEN`] stands in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// What.
    pub kind: FrameKind,
}

/// Kinds of frames. All text comes from a server, or is for one: escape it before it is drawn (S13).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FrameKind {
    /// A connection is about to be made.
    Opened,
    /// A message to the server, handed to its transport, or an HTTP request without one.
    Sent(Message),
    /// A message of the server, or the head of its answer to an HTTP request, whose messages follow.
    Received(Message),
    /// A line that the server wrote to stderr.
    Stderr {
        /// The line.
        line: String,
    },
    /// The connection has ended.
    Closed {
        /// Why.
        reason: String,
    },
    /// The server is in another state.
    State {
        /// The state.
        state: String,
        /// Why, if something failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// This follower did not keep up.
    Missed {
        /// How many frames it has lost.
        count: u64,
    },
}

/// A message, or an HTTP request or answer without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// How many bytes it had on the wire.
    pub bytes: usize,
    /// The message, without the end of its line; empty if there is none.
    pub payload: Payload,
    /// What is told of HTTP, if it travelled so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
}

/// What is told of an HTTP request or answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http {
    /// A number that a request shares with its answer.
    pub exchange: u64,
    /// The method of the request.
    pub method: String,
    /// The status, if this is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers whose names begin with `Mcp-`, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
}

/// The text of a message. It shares the bytes that were read, unless something had to be hidden in
/// it; as JSON it is a string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(Bytes);

impl Payload {
    /// The text; bytes that are none are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self(text.into()))
    }
}

/// A stream of frames, from the moment it was asked for.
#[derive(Debug)]
pub struct Frames {
    raw: RawFrames,
    redactors: Arc<Redactors>,
}

/// What is hidden in the frames of each server, by its name.
type Redactors = Mutex<BTreeMap<Arc<str>, Arc<Redactor>>>;

/// Where the frames of all servers of a host come together.
#[derive(Debug, Default)]
pub(crate) struct FrameObserver {
    source: FrameSource,
    redactors: Arc<Redactors>,
}

impl FrameObserver {
    /// The source for the connections of a server.
    pub(crate) fn source_of(&self, config: &ServerConfig) -> FrameSource {
        let name: Arc<str> = config.name.as_str().into();
        let mut redactor = Redactor::for_servers([config]);
        let mut redactors = self.redactors.lock();
        // Frames of a former server of this name may still be read.
        if let Some(former) = redactors.get(&name) {
            redactor.hide_all_of(former);
        }
        redactors.insert(name.clone(), Arc::new(redactor));
        self.source.named(name)
    }

    /// What passes from now on.
    pub(crate) fn follow(&self) -> Frames {
        Frames {
            raw: self.source.follow(),
            redactors: self.redactors.clone(),
        }
    }
}

impl Frames {
    /// The next frame; `None` when the host is gone and all frames were read.
    pub async fn next(&mut self) -> Option<Frame> {
        let raw = self.raw.next().await?;
        Some(self.shown(&raw))
    }

    /// The next frame, if there is one now.
    pub fn try_next(&mut self) -> Option<Frame> {
        let raw = self.raw.try_next()?;
        Some(self.shown(&raw))
    }

    fn shown(&self, raw: &RawFrame) -> Frame {
        let redactor = self.redactors.lock().get(&raw.source).cloned();
        let mut hiding = Hiding {
            redactor: redactor.unwrap_or_default(),
            found: false,
        };
        let kind = hiding.kind(&raw.kind);
        Frame {
            seq: raw.seq,
            at_us: microseconds(raw.at),
            server: ServerName::new(&raw.source).ok(),
            connection: raw.connection,
            redacted: hiding.found,
            kind,
        }
    }
}

/// Hides secrets, and notes whether there were any.
struct Hiding {
    redactor: Arc<Redactor>,
    found: bool,
}

impl Hiding {
    fn kind(&mut self, kind: &RawKind) -> FrameKind {
        match kind {
            RawKind::Opened => FrameKind::Opened,
            RawKind::Sent { payload, http } => {
                FrameKind::Sent(self.message(payload, http.as_deref()))
            }
            RawKind::Received { payload, http } => {
                FrameKind::Received(self.message(payload, http.as_deref()))
            }
            RawKind::Stderr { line } => FrameKind::Stderr {
                line: self.text(line).into_owned(),
            },
            RawKind::Closed { reason } => FrameKind::Closed {
                reason: self.text(&reason.to_string()).into_owned(),
            },
            RawKind::State { state, cause } => FrameKind::State {
                state: state.to_string(),
                cause: cause.as_deref().map(|cause| self.text(cause).into_owned()),
            },
            RawKind::Missed { count } => FrameKind::Missed { count: *count },
            // A kind that is not known here cannot be searched for secrets.
            _ => FrameKind::Missed { count: 1 },
        }
    }

    fn message(&mut self, payload: &Bytes, http: Option<&HttpHead>) -> Message {
        let text = String::from_utf8_lossy(payload);
        let shown = match self.text(&text) {
            Cow::Borrowed(_) => payload.clone(),
            Cow::Owned(hidden) => hidden.into(),
        };
        Message {
            bytes: payload.len(),
            payload: Payload(shown),
            http: http.map(|http| Http {
                exchange: http.exchange,
                method: http.method.clone(),
                status: http.status,
                headers: http.headers.iter().map(|it| self.header(it)).collect(),
            }),
        }
    }

    fn header(&mut self, (name, value): &(String, String)) -> (String, String) {
        let value = match is_secret_name(name) {
            true => {
                self.found = true;
                HIDDEN.to_owned()
            }
            false => self.text(value).into_owned(),
        };
        (name.clone(), value)
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let shown = self.redactor.redact(text);
        self.found |= matches!(shown, Cow::Owned(_));
        shown
    }
}

fn microseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}
