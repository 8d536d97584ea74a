//! The lines of the protocol: docs/attach.md says what they mean.

use std::collections::BTreeMap;

use attache::Change;
use attache::host::catalog::{Outcome, RejectedEntry};
use attache::host::config::ServerName;
use attache::host::questions::{Answer, Question, Topic};
use attache::host::snapshot::ServerSnapshot;
use attache::protocol::{CompletionReference, Implementation, Json, SubscriptionFilter};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::failure::RemoteFailure;

/// The version of the protocol.
pub(crate) const PROTOCOL: u32 = 1;
/// The longest line, in either direction.
pub(crate) const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// How many requests of a client are worked on at a time.
pub(crate) const MOST_REQUESTS: usize = 64;

/// What a client says first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) attach: u32,
    /// The version of the program.
    pub(crate) version: String,
    /// What the client would share; none to ask or to end the process only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

/// What it is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// Why the client may not use the servers, if so: `version`, `key` or `busy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The version of the program that listens.
    pub version: String,
    /// Its process.
    pub process: u32,
    /// The configuration file that it read.
    pub file: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
}

/// A request of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) id: u64,
    #[serde(rename = "do")]
    pub(crate) verb: String,
    #[serde(default)]
    pub(crate) with: Json,
}

/// A line of the background process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reply {
    /// The request it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub(crate) result: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Box<RemoteFailure>>,
    /// The number of a call in the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<Box<Question>>,
    /// A question that does not wait any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<Json>,
    /// Frames are followed from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frame: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) watched: Option<WatchLine>,
}

impl Reply {
    /// A line about a request, for its one other field.
    pub(crate) fn to(id: u64) -> Self {
        Self {
            id: Some(id),
            ..Self::default()
        }
    }

    /// Whether the request has ended with it.
    pub(crate) fn is_end(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }
}

/// A result may be null, and is one all the same.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// A tool call for the background process to make.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RemoteCall {
    /// Whose tool it is.
    pub server: String,
    /// Its name at that server.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Json,
    /// How long to wait, in milliseconds, if not as long as the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether to tell of its progress.
    #[serde(default)]
    pub progress: bool,
    /// The user has said yes to this call beforehand.
    #[serde(default)]
    pub approved: bool,
    /// The tool can only be called as a task (2025-11-25).
    #[serde(default)]
    pub task: bool,
    /// Which questions about this call the client can answer. A client that follows with these
    /// topics sees them there already.
    #[serde(default)]
    pub questions: Vec<Topic>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadWith {
    pub(crate) uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReadResult {
    pub(crate) server: ServerName,
    pub(crate) contents: Json,
    /// How old it is, if it comes from memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) age_ms: Option<u64>,
    /// Why there is nothing newer, if it is older than it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stale: Option<Box<RemoteFailure>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PromptWith {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListWith {
    /// `tools`, `resources`, `templates` or `prompts`.
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// How long to wait for servers that have not answered; none to wait for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wait_ms: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListResult {
    pub(crate) entries: Vec<ListedEntry>,
    pub(crate) servers: Vec<ListedServer>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListedEntry {
    pub(crate) server: ServerName,
    pub(crate) qualified: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plain: Option<String>,
    pub(crate) provider: String,
    pub(crate) entry: Json,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListedServer {
    pub(crate) name: ServerName,
    pub(crate) answer: Outcome,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rejected: Vec<RejectedEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FindWith {
    pub(crate) kind: String,
    pub(crate) name: String,
    /// The only server that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FindResult {
    pub(crate) server: ServerName,
    pub(crate) entry: Json,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rejected: Vec<RejectedEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerWith {
    pub(crate) server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AnswerWith {
    pub(crate) question: u64,
    pub(crate) answer: Answer,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FollowWith {
    /// Where to go on; none to begin with now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<u64>,
    /// The host whose event that is, as its snapshot names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_ms: Option<u64>,
    /// Which questions the client can answer, of any call.
    #[serde(default)]
    pub(crate) questions: Vec<Topic>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CancelWith {
    /// The id of the request.
    pub(crate) request: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OwnerWith {
    pub(crate) uri: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OwnerResult {
    pub(crate) server: ServerName,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CompleteWith {
    pub(crate) server: String,
    #[serde(rename = "ref")]
    pub(crate) reference: CompletionReference,
    pub(crate) argument: String,
    pub(crate) value: String,
    #[serde(default)]
    pub(crate) chosen: BTreeMap<String, String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ServersWith {
    /// The only server that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServersResult {
    pub(crate) servers: Vec<KnownServer>,
}

/// A server that has listed what it offers, or is switched off.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KnownServer {
    /// The server, with how much it offers.
    pub server: ServerSnapshot,
    /// Who it says it is; a hint, never authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<Implementation>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WatchWith {
    pub(crate) server: String,
    pub(crate) filter: SubscriptionFilter,
}

/// What a watch tells: what the server agreed to, then changes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WatchLine {
    Granted(SubscriptionFilter),
    Tools,
    Prompts,
    Resources,
    Resource { uri: String },
    Missed,
}

impl From<Change> for WatchLine {
    fn from(change: Change) -> Self {
        match change {
            Change::Tools => Self::Tools,
            Change::Prompts => Self::Prompts,
            Change::Resources => Self::Resources,
            Change::Resource { uri } => Self::Resource { uri },
            Change::Missed => Self::Missed,
        }
    }
}

impl WatchLine {
    /// The change, if it tells of one.
    pub(crate) fn change(self) -> Option<Change> {
        Some(match self {
            Self::Granted(_) => return None,
            Self::Tools => Change::Tools,
            Self::Prompts => Change::Prompts,
            Self::Resources => Change::Resources,
            Self::Resource { uri } => Change::Resource { uri },
            Self::Missed => Change::Missed,
        })
    }
}

/// Lines that arrive, none longer than the limit.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self {
            reader: BufReader::new(stream),
            line: Vec::new(),
        }
    }

    /// The next line; `None` at the end, after a line that is too long, and when reading fails.
    /// Nothing is lost if this is dropped before it is done.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let buffer = self.reader.fill_buf().await.ok()?;
            if buffer.is_empty() {
                return None;
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(buffer.len(), |at| at + 1);
            if self.line.len() + taken > LONGEST_LINE {
                return None;
            }
            self.line.extend_from_slice(&buffer[..taken]);
            self.reader.consume(taken);
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }
}

/// A value as a line.
pub(crate) fn line(value: &impl Serialize) -> String {
    // What is written here has string keys only and cannot fail.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    // In JSON a line break can only stand between its parts.
    if line.contains(['\n', '\r']) {
        line = line.replace(['\n', '\r'], " ");
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_cut_where_they_end_and_refused_where_they_do_not() {
        let mut lines = Lines::new(&b"one\ntwo\nthr"[..]);
        assert_eq!(lines.next().await.unwrap(), b"one\n");
        assert_eq!(lines.next().await.unwrap(), b"two\n");
        assert_eq!(lines.next().await, None);
        let long = vec![b'x'; LONGEST_LINE + 1];
        assert_eq!(Lines::new(&long[..]).next().await, None);
        let mut fits = vec![b'x'; LONGEST_LINE - 1];
        fits.push(b'\n');
        assert_eq!(Lines::new(&fits[..]).next().await.unwrap(), fits);
    }
}
