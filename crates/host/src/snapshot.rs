//! A host at one moment, as plain data for any face.
//!
//! Owns the shapes only. Text in here that came from a server is untrusted; whoever shows it
//! escapes it first.

use serde::Serialize;

use crate::config::ServerName;

/// A host at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Every server, by name.
    pub servers: Vec<ServerSnapshot>,
    /// The cache.
    pub cache: CacheSnapshot,
    /// Events that were dropped before every reader had read them.
    pub dropped_events: u64,
    /// Lines that were not written to log files because they came too fast.
    pub dropped_log_lines: u64,
}

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
pub struct ServerSnapshot {
    /// Its name here.
    pub name: ServerName,
    /// Where it is in its life.
    pub state: ServerState,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// It is starting, and waits until others have started.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queued: bool,
    /// How it is reached: its command line without its environment, or its URL.
    pub target: String,
    /// How often it was started.
    pub starts: u64,
    /// Its process, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// The era of its protocol, if it is ready: `legacy` or `modern`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// The revision it speaks, if it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<&'static str>,
    /// How it names itself, with its version; a hint, never authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_itself: Option<String>,
    /// What it offers, as far as it is known.
    pub offers: Offers,
    /// Requests on its present connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestCounts>,
    /// What failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureSnapshot>,
}

/// How many entries the lists of a server have; none where the list was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RequestCounts {
    /// Issued in all.
    pub issued: u64,
    /// Not yet ended.
    pub open: u64,
}

/// A failure in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureSnapshot {
    /// What happened.
    pub cause: String,
    /// The last lines of the server's stderr, secrets removed.
    pub stderr: Vec<String>,
}

/// The cache at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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

impl Serialize for ServerName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
