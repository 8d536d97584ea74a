//! What happens in a host, as one bounded stream of plain data.
//!
//! This and the snapshot are all a face sees. A reader that falls behind loses the oldest events
//! and is told how many; it never slows a server down (fault 49).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use attache_client::protocol::{Ending, Json};
use serde::Serialize;
use tokio::sync::broadcast;

use crate::config::ServerName;
use crate::snapshot::ServerState;

/// Events queued for a reader that does not read.
pub const EVENT_CAPACITY: usize = 1024;

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The server it is about; none if it is about the stream itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Kinds of events.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A server's state changed.
    State {
        /// What it is now.
        state: ServerState,
        /// Why, if something failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// A request left for the server.
    Sent {
        /// The number of this request in this host.
        request: u64,
        /// Its method.
        method: &'static str,
        /// The tool, resource or prompt it names.
        #[serde(skip_serializing_if = "Option::is_none")]
        about: Option<String>,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// What it is doing.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A log message of the server; untrusted text.
    Log {
        /// How much it matters.
        level: String,
        /// Which part of the server speaks.
        #[serde(skip_serializing_if = "Option::is_none")]
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

/// A stream of events, from the moment it was asked for.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Arc<Event>>,
}

impl Events {
    /// The next event; `None` when the host is gone and all events were read.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Arc::new(Event {
                at_ms: now_ms(),
                server: None,
                kind: EventKind::Missed { count },
            })),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The sending side, shared by everything in a host.
#[derive(Debug)]
pub(crate) struct EventSource {
    sender: broadcast::Sender<Arc<Event>>,
    dropped: AtomicU64,
    requests: AtomicU64,
}

impl EventSource {
    pub(crate) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(EVENT_CAPACITY),
            dropped: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events {
            receiver: self.sender.subscribe(),
        }
    }

    /// Whether there is a reader.
    pub(crate) fn is_heard(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Tells every reader. `kind` is made only if there is one.
    pub(crate) fn emit(&self, server: &ServerName, kind: impl FnOnce() -> EventKind) {
        if !self.is_heard() {
            return;
        }
        // A full queue drops its oldest event, which one of the readers has not read yet.
        if self.sender.len() == EVENT_CAPACITY {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        let event = Event {
            at_ms: now_ms(),
            server: Some(server.clone()),
            kind: kind(),
        };
        // Failing means that the last reader left in this instant.
        let _ = self.sender.send(Arc::new(event));
    }

    /// A number for a new request.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many events were dropped before every reader had read them.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fault_49_a_slow_reader_loses_the_oldest_and_is_told() {
        let source = EventSource::new();
        let server = ServerName::new("s").unwrap();
        let defect = |number: usize| EventKind::Defect {
            problem: number.to_string(),
        };
        let mut events = source.subscribe();
        for number in 0..EVENT_CAPACITY + 10 {
            source.emit(&server, || defect(number));
        }
        assert_eq!(source.dropped(), 10);
        let first = events.next().await.unwrap();
        assert!(matches!(first.kind, EventKind::Missed { count: 10 }));
        drop(source);
        let mut received = 0;
        while events.next().await.is_some() {
            received += 1;
        }
        assert_eq!(received, EVENT_CAPACITY);
    }

    #[test]
    fn events_are_plain_data_with_their_kind_in_a_field() {
        let event = Event {
            at_ms: 7,
            server: ServerName::new("notes").ok(),
            kind: EventKind::ResourceUpdated { uri: "n:1".into() },
        };
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            r#"{"at_ms":7,"server":"notes","event":"resource_updated","uri":"n:1"}"#
        );
    }
}
