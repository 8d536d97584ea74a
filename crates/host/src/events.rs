//! What happens in a host, as one numbered stream of plain data.
//!
//! This, the snapshot and the questions are all a face sees. Every event has a number; who knows the
//! last number it has seen goes on from there ([`Host::events_after`](crate::Host::events_after)). A
//! reader that falls behind loses the oldest events and is told how many; it never slows a server
//! down (fault 49).

use std::borrow::Cow;
use std::sync::Arc;

use attache_client::protocol::{Ending, Extra, Json};
use attache_client::ring::Next;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::ServerName;
use crate::journal::{Core, now_ms};
use crate::plain;
use crate::policy::CallOrigin;
use crate::questions::{AnswerKind, Question};
use crate::snapshot::{ConnectionSnapshot, ServerState};

/// Events that are kept for a reader that does not read.
pub const EVENT_CAPACITY: usize = 1024;
/// How many bytes of events are kept, about.
pub const EVENT_BYTES: usize = 8 * 1024 * 1024;

/// The field that names the kind of an event.
const TAG: &str = "event";

/// Something that happened.
///
/// As JSON it is one flat object: its number, its time, its server, its kind as `event`, and the
/// fields of that kind.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its number. Numbers are never reused and have no gaps, except for what a reader lost.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The server it is about; none if it is about the stream itself.
    pub server: Option<ServerName>,
    /// What.
    pub kind: EventKind,
}

/// Kinds of events.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// There is a server that was not there before, or another of the same name.
    Added {
        /// How it is reached, secrets removed.
        target: String,
        /// What it is now.
        state: ServerState,
    },
    /// The server was taken out of the configuration.
    Removed,
    /// A server's state changed.
    State(StateChange),
    /// A request left for the server.
    Sent {
        /// The number of this request in this host.
        request: u64,
        /// Its method.
        method: Cow<'static, str>,
        /// The tool, resource or prompt it names; of a resource, secrets removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<String>,
        /// Who wants it, if it is a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<CallOrigin>,
    },
    /// A request ended.
    Ended {
        /// The number of this request in this host.
        request: u64,
        /// How; none if it was not issued, or ended with a question that was refused.
        ending: Option<Ending>,
        /// After how long, in milliseconds.
        after_ms: u64,
    },
    /// A request made progress.
    Progress {
        /// The number of this request in this host.
        request: u64,
        /// How far it is.
        progress: f64,
        /// How far it has to go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// What it is doing; untrusted text, secrets removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// There is a question to answer: see [`Questions`](crate::questions::Questions).
    Asked {
        /// The question.
        #[serde(with = "plain::shared")]
        question: Arc<Question>,
    },
    /// A question was answered, by whichever face was first.
    Answered {
        /// The number of the question.
        question: u64,
        /// What the answer was. What was typed into a form is not told.
        answer: AnswerKind,
    },
    /// A question was taken back before it was answered.
    Withdrawn {
        /// The number of the question.
        question: u64,
        /// Why.
        reason: String,
    },
    /// A log message of the server; untrusted text, secrets removed.
    Log {
        /// How much it matters.
        level: String,
        /// Which part of the server speaks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        logger: Option<String>,
        /// What it says.
        data: Json,
    },
    /// A line the server wrote to stderr; untrusted text.
    Stderr {
        /// The line, secrets removed.
        line: String,
    },
    /// A list of the server changed.
    ListChanged {
        /// Which list.
        list: crate::catalog::ListKind,
    },
    /// A resource of the server changed.
    ResourceUpdated {
        /// Which one.
        uri: String,
    },
    /// The server did something the protocol forbids, without harm to any request.
    Defect {
        /// What.
        problem: String,
    },
    /// An answer of the user, or the definition of a tool, was not written down, so it holds for
    /// this program only.
    NotStored {
        /// Why.
        problem: String,
    },
    /// Any other notification of the server.
    Notification {
        /// Its name.
        method: String,
    },
    /// The connection to the server was cut for a while, and what it said meanwhile is lost.
    Gap,
    /// The reader of this stream fell behind, or notifications of the server came too fast.
    Missed {
        /// How many events were lost.
        count: u64,
    },
}

/// A new state of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// What it is now.
    pub state: ServerState,
    /// How often it was started so far.
    pub starts: u64,
    /// Why, if something failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The last lines of its stderr, if something failed, secrets removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
    /// What the connection has shown, if it is ready.
    #[serde(default, skip_serializing_if = "ConnectionSnapshot::is_empty")]
    pub connection: ConnectionSnapshot,
}

impl Event {
    /// About how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        let text = match &self.kind {
            EventKind::Added { target, .. } => target.len(),
            EventKind::State(change) => {
                let cause = change.cause.as_ref().map_or(0, String::len);
                cause + change.stderr.iter().map(String::len).sum::<usize>()
            }
            EventKind::Sent { about, .. } => about.as_ref().map_or(0, String::len),
            EventKind::Progress { message, .. } => message.as_ref().map_or(0, String::len),
            EventKind::Asked { question } => question.size(),
            EventKind::Withdrawn { reason, .. } => reason.len(),
            EventKind::Log { logger, data, .. } => {
                logger.as_ref().map_or(0, String::len) + data.as_str().len()
            }
            EventKind::Stderr { line } => line.len(),
            EventKind::ResourceUpdated { uri } => uri.len(),
            EventKind::Defect { problem } | EventKind::NotStored { problem } => problem.len(),
            EventKind::Notification { method } => method.len(),
            EventKind::Removed
            | EventKind::Ended { .. }
            | EventKind::Answered { .. }
            | EventKind::ListChanged { .. }
            | EventKind::Gap
            | EventKind::Missed { .. } => 0,
        };
        size_of::<Self>() + text
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = Extra::default();
        fields.insert("seq", serde_json::Value::from(self.seq));
        fields.insert("at_ms", serde_json::Value::from(self.at_ms));
        if let Some(server) = &self.server {
            fields.insert("server", serde_json::Value::from(server.as_str()));
        }
        plain::flatten(&mut fields, TAG, &self.kind).map_err(S::Error::custom)?;
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            seq: u64,
            at_ms: u64,
            server: Option<ServerName>,
        }
        let fields = Extra::deserialize(deserializer)?;
        let read = || {
            let head: Head = Json::from_serialize(&fields)?.decode()?;
            Ok(Self {
                seq: head.seq,
                at_ms: head.at_ms,
                server: head.server,
                kind: plain::unflatten(&fields, TAG)?,
            })
        };
        read().map_err(|error: serde_json::Error| D::Error::custom(error))
    }
}

/// The events after a number are not kept any more, or the number is of another host: take the
/// snapshot and go on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the events after {asked} are not kept; take the snapshot, which is of event {now}")]
pub struct TooOld {
    /// The number that was asked for.
    pub asked: u64,
    /// The number of the last event.
    pub now: u64,
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    core: Arc<Core>,
    reader: u64,
}

impl Events {
    pub(crate) fn new(core: Arc<Core>, reader: u64) -> Self {
        Self { core, reader }
    }

    /// The next event; `None` when the host is gone and all events were read.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        let core = self.core.clone();
        loop {
            // Made before looking, so that no event can come unnoticed in between.
            let told = core.told.notified();
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if core.is_closed() {
                return self.try_next();
            }
            told.await;
        }
    }

    /// The next event, if there is one now.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        match self.core.read(self.reader) {
            Next::Item(event) => Some(event),
            Next::Missed { count, last } => Some(Arc::new(Event {
                seq: last,
                at_ms: now_ms(),
                server: None,
                kind: EventKind::Missed { count },
            })),
            Next::Nothing => None,
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.core.leave(self.reader);
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
