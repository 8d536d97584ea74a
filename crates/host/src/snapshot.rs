//! A host at one moment, as plain data for any face.
//!
//! Owns the shapes, and how each event changes them. Text in here that came from a server is untrusted; whoever shows it
//! escapes it first.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use attache_client::Client;
use attache_client::protocol::Ending;
use serde::{Deserialize, Serialize};

use crate::config::ServerName;
use crate::events::{Event, EventKind, StateChange};
use crate::plain;
use crate::policy::CallOrigin;
use crate::questions::Question;

/// How many requests that have ended a snapshot remembers.
pub const RECENT: usize = 100;

/// A host at one moment.
///
/// It is one cut: what it says of states, requests and questions is what all events up to `seq` have
/// told, and [`apply`](Self::apply) brings it up to date with every event after that. How much
/// servers offer, their counts of requests, the cache and what was dropped are not told in events;
/// take a new snapshot to see them change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// When this host was started, in milliseconds since 1970. Numbers of another host mean nothing
    /// here.
    pub started_ms: u64,
    /// The number of the last event it includes.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Every server, by name.
    pub servers: Vec<ServerSnapshot>,
    /// Requests on their way, by number.
    pub requests: VecDeque<OpenRequest>,
    /// Questions without an answer, by number.
    #[serde(with = "plain::shared_list")]
    pub questions: VecDeque<Arc<Question>>,
    /// The last requests that have ended, the newest last; at most [`RECENT`].
    pub recent: VecDeque<EndedRequest>,
    /// The cache.
    pub cache: CacheSnapshot,
    /// Events that were dropped before every reader had read them.
    pub dropped_events: u64,
    /// Lines that were not written to log files because they came too fast.
    pub dropped_log_lines: u64,
}

/// What became of an event that was applied to a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The snapshot includes it now.
    Now,
    /// The snapshot included it already.
    Already,
    /// Events before it are missing: the snapshot is as it was, and a new one is needed.
    Gap,
}

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenRequest {
    /// Its number in this host.
    pub request: u64,
    /// The server it was sent to.
    pub server: ServerName,
    /// Its method.
    pub method: Cow<'static, str>,
    /// The tool, resource or prompt it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Who wants it, if it is a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CallOrigin>,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// How far it is, if the server has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// How far it has to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What it is doing; untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A request that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedRequest {
    /// Its number in this host. One that was sent again has several endings.
    pub request: u64,
    /// The server it was sent to.
    pub server: ServerName,
    /// Its method.
    pub method: Cow<'static, str>,
    /// The tool, resource or prompt it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Who wanted it, if it was a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CallOrigin>,
    /// When it was sent, in milliseconds since 1970.
    pub since_ms: u64,
    /// After how long it ended, in milliseconds.
    pub after_ms: u64,
    /// How; none if it was not issued, or ended with a question that was refused.
    pub ending: Option<Ending>,
}

impl Snapshot {
    /// Brings the snapshot up to date with the next event.
    pub fn apply(&mut self, event: &Event) -> Applied {
        if event.seq <= self.seq {
            return Applied::Already;
        }
        let Some(server) = event.server.as_ref().filter(|_| event.seq == self.seq + 1) else {
            // A reader that lost events is told so without a server.
            return Applied::Gap;
        };
        self.change(event.seq, event.at_ms, server, &event.kind);
        Applied::Now
    }

    /// The same with the parts of an event.
    pub(crate) fn change(&mut self, seq: u64, at_ms: u64, server: &ServerName, kind: &EventKind) {
        self.seq = seq;
        self.at_ms = at_ms;
        match kind {
            EventKind::Added { target, state } => self.added(server, target, *state, at_ms),
            EventKind::Removed => self.servers.retain(|it| it.name != *server),
            EventKind::State(change) => self.state_changed(server, change, at_ms),
            EventKind::Sent {
                request,
                method,
                about,
                origin,
            } => {
                let open = OpenRequest {
                    request: *request,
                    server: server.clone(),
                    method: method.clone(),
                    about: about.clone(),
                    origin: *origin,
                    since_ms: at_ms,
                    progress: None,
                    total: None,
                    message: None,
                };
                match self.find(*request) {
                    Ok(at) => self.requests[at] = open,
                    Err(at) => self.requests.insert(at, open),
                }
            }
            EventKind::Progress {
                request,
                progress,
                total,
                message,
            } => {
                if let Ok(at) = self.find(*request) {
                    let open = &mut self.requests[at];
                    open.progress = Some(*progress);
                    open.total = *total;
                    open.message.clone_from(message);
                }
            }
            EventKind::Ended {
                request,
                ending,
                after_ms,
            } => self.ended(*request, *ending, *after_ms),
            EventKind::Asked { question } => {
                let at = self.questions.partition_point(|it| it.id < question.id);
                self.questions.insert(at, question.clone());
            }
            EventKind::Answered { question, .. } | EventKind::Withdrawn { question, .. } => {
                self.questions.retain(|it| it.id != *question);
            }
            _ => {}
        }
    }

    /// Where the request is, or would be. Mostly the first or the last of them comes or goes, which
    /// moves few others.
    fn find(&self, request: u64) -> Result<usize, usize> {
        self.requests
            .binary_search_by_key(&request, |it| it.request)
    }

    fn ended(&mut self, request: u64, ending: Option<Ending>, after_ms: u64) {
        let Ok(at) = self.find(request) else { return };
        let Some(open) = self.requests.remove(at) else {
            return;
        };
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(EndedRequest {
            request,
            server: open.server,
            method: open.method,
            about: open.about,
            origin: open.origin,
            since_ms: open.since_ms,
            after_ms,
            ending,
        });
    }

    fn added(&mut self, name: &ServerName, target: &str, state: ServerState, at_ms: u64) {
        let added = ServerSnapshot {
            name: name.clone(),
            state,
            since_ms: at_ms,
            target: target.to_owned(),
            starts: 0,
            process_id: None,
            era: None,
            revision: None,
            calls_itself: None,
            offers: Offers::default(),
            requests: None,
            last_failure: None,
        };
        match self.servers.binary_search_by(|it| it.name.cmp(name)) {
            Ok(at) => self.servers[at] = added,
            Err(at) => self.servers.insert(at, added),
        }
    }

    fn state_changed(&mut self, name: &ServerName, change: &StateChange, at_ms: u64) {
        // A server that was taken out of the configuration still has to stop.
        let Ok(at) = self.servers.binary_search_by(|it| it.name.cmp(name)) else {
            return;
        };
        let server = &mut self.servers[at];
        server.state = change.state;
        server.since_ms = at_ms;
        server.starts = change.starts;
        let connection = change.connection.clone();
        server.process_id = connection.process_id;
        server.era = connection.era;
        server.revision = connection.revision;
        server.calls_itself = connection.calls_itself;
        if let Some(cause) = &change.cause {
            server.last_failure = Some(FailureSnapshot {
                cause: cause.clone(),
                stderr: change.stderr.clone(),
            });
        }
    }
}

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Switched off by configuration.
    Disabled,
    /// Known, not started yet.
    Configured,
    /// Being started.
    Starting,
    /// Running.
    Ready,
    /// It failed and is started again soon.
    BackingOff,
    /// It failed for good; a person has to restart it.
    Parked,
    /// Being stopped.
    Stopping,
    /// Stopped.
    Stopped,
}

impl ServerState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Configured => "configured",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::BackingOff => "backing off",
            Self::Parked => "parked",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }
}

/// One server at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerSnapshot {
    /// Its name here.
    pub name: ServerName,
    /// Where it is in its life.
    pub state: ServerState,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// How it is reached: its command line without its environment, or its URL.
    pub target: String,
    /// How often it was started.
    pub starts: u64,
    /// Its process, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// The era of its protocol, if it is ready: `legacy` or `modern`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// The revision it speaks, if it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How it names itself, with its version; a hint, never authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_itself: Option<String>,
    /// What it offers, as far as it is known.
    pub offers: Offers,
    /// Requests on its present connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestCounts>,
    /// What failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureSnapshot>,
}

/// What the connection to a server has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSnapshot {
    /// Its process, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// The era of its protocol: `legacy` or `modern`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// The revision it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How it names itself, with its version; a hint, never authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_itself: Option<String>,
}

impl ConnectionSnapshot {
    pub(crate) fn of(client: &Client) -> Self {
        Self {
            process_id: client.process_id(),
            era: Some(client.revision().era().to_string()),
            revision: Some(client.revision().as_str().to_owned()),
            calls_itself: client
                .server()
                .map(|server| format!("{} {}", server.name, server.version)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How many entries the lists of a server have; none where the list was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Tools.
    pub tools: Option<usize>,
    /// Resources.
    pub resources: Option<usize>,
    /// Resource templates.
    pub templates: Option<usize>,
    /// Prompts.
    pub prompts: Option<usize>,
}

/// Requests of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Issued in all.
    pub issued: u64,
    /// Not yet ended.
    pub open: u64,
}

/// A failure in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureSnapshot {
    /// What happened.
    pub cause: String,
    /// The last lines of the server's stderr, secrets removed.
    pub stderr: Vec<String>,
}

/// The cache at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSnapshot {
    /// Answers given without asking a server.
    pub hits: u64,
    /// Answers for which a server was asked.
    pub misses: u64,
    /// Stale answers given because the server could not be asked.
    pub stale: u64,
    /// Requests that waited for the same answer another one was already fetching.
    pub shared: u64,
    /// What is held.
    pub entries: u64,
    /// How many bytes that is.
    pub bytes: u64,
}
