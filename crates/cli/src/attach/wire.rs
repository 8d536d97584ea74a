//! The lines of the protocol: docs/attach.md says what they mean.

use attache::host::catalog::RejectedEntry;
use attache::host::questions::{Answer, Question, Topic};
use attache::protocol::{Ending, Json};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::failure::{Exit, Failure, Kind};

/// The version of the protocol.
pub(super) const PROTOCOL: u32 = 1;
/// The longest line, in either direction.
pub(super) const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// What a client says first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) attach: u32,
    /// The version of the program.
    pub(super) version: String,
    /// What the client would share; none to ask or to end the process only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
}

/// What it is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Welcome {
    /// Why not, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// The version of the program that listens.
    pub(crate) version: String,
    /// Its process.
    pub(crate) process: u32,
    /// The configuration file that it read.
    pub(crate) file: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
}

/// A request of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) id: u64,
    #[serde(rename = "do")]
    pub(super) verb: String,
    #[serde(default)]
    pub(super) with: Json,
}

/// A line of the background process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reply {
    /// The request it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Box<RemoteFailure>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) progress: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) question: Option<Box<Question>>,
    /// A question that does not wait any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) closed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<Json>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CallWith {
    pub(super) server: String,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<u64>,
    /// The client wants to hear of its progress.
    #[serde(default)]
    pub(super) progress: bool,
    /// The user has said yes to this call beforehand.
    #[serde(default)]
    pub(super) approved: bool,
    /// Which questions about this call the client can answer.
    #[serde(default)]
    pub(super) questions: Vec<Topic>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReadWith {
    pub(super) uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReadResult {
    pub(super) server: String,
    pub(super) contents: Json,
    /// How old it is, if it comes from memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) age_ms: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PromptWith {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ListWith {
    /// `tools`, `resources`, `templates` or `prompts`.
    pub(super) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ListResult {
    pub(super) entries: Vec<ListedEntry>,
    pub(super) servers: Vec<ListedServer>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ListedEntry {
    pub(super) server: String,
    pub(super) qualified: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plain: Option<String>,
    pub(super) provider: String,
    pub(super) entry: Json,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ListedServer {
    pub(super) name: String,
    /// `ok`, `not_offered` or `disabled`.
    pub(super) outcome: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rejected: Vec<RejectedEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FindWith {
    pub(super) kind: String,
    pub(super) name: String,
    /// The only server that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FindResult {
    pub(super) server: String,
    pub(super) entry: Json,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) rejected: Vec<RejectedEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ServerWith {
    pub(super) server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) level: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AnswerWith {
    pub(super) question: u64,
    pub(super) answer: Answer,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FollowWith {
    /// The last event that was seen; none to begin with now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<u64>,
    /// Which questions the client can answer, of any call.
    #[serde(default)]
    pub(super) questions: Vec<Topic>,
}

/// A failure as it crosses the socket: everything that a command would say itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RemoteFailure {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ending: Option<Ending>,
    exit: u8,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meaning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Json>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
}

const KINDS: [(&str, Kind); 9] = [
    ("tool_failed", Kind::ToolFailed),
    ("spawn", Kind::Spawn),
    ("connect", Kind::Connect),
    ("incompatible", Kind::Incompatible),
    ("config", Kind::Config),
    ("usage", Kind::Usage),
    ("refused", Kind::Refused),
    ("auth", Kind::Auth),
    ("unexpected", Kind::Unexpected),
];

impl From<Failure> for RemoteFailure {
    fn from(failure: Failure) -> Self {
        let ending = match failure.kind {
            Kind::Ended(ending) => Some(ending),
            _ => None,
        };
        let known = KINDS.iter().find(|(_, kind)| *kind == failure.kind);
        Self {
            kind: match (known, ending) {
                (Some((word, _)), _) => (*word).to_owned(),
                (None, Some(ending)) => ending.name().to_owned(),
                (None, None) => "unexpected".to_owned(),
            },
            ending,
            exit: failure.exit as u8,
            message: failure.message,
            hint: failure.hint,
            server: failure.server,
            code: failure.code,
            meaning: failure.meaning.map(|it| it.as_str().to_owned()),
            data: failure.data,
            details: failure.details,
        }
    }
}

impl From<RemoteFailure> for Failure {
    fn from(remote: RemoteFailure) -> Self {
        let kind = match remote.ending {
            Some(ending) => Kind::Ended(ending),
            None => {
                let known = KINDS.iter().find(|(word, _)| *word == remote.kind);
                known.map_or(Kind::Unexpected, |(_, kind)| *kind)
            }
        };
        Self {
            kind,
            exit: Exit::of_code(remote.exit),
            message: remote.message,
            hint: remote.hint,
            server: remote.server,
            code: remote.code,
            meaning: remote.meaning.and_then(|it| attache::Meaning::of_word(&it)),
            data: remote.data,
            details: remote.details,
        }
    }
}

/// Lines that arrive, none longer than the limit.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            reader: BufReader::new(stream),
            line: Vec::new(),
        }
    }

    /// The next line; `None` at the end, after a line that is too long, and when reading fails.
    /// Nothing is lost if this is dropped before it is done.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
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
pub(super) fn line(value: &impl Serialize) -> String {
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

    #[test]
    fn a_failure_says_the_same_on_the_other_side() {
        for failure in [
            Failure::usage("what").hint("how").of("notes"),
            Failure::ended(Ending::OutcomeUnknown, "lost"),
            Failure {
                code: Some(-32_000),
                meaning: Some(attache::Meaning::InvalidParams),
                data: Some(Json::parse("[1]").unwrap()),
                details: vec!["stderr".to_owned()],
                ..Failure::tool_failed("no")
            },
        ] {
            let remote = line(&RemoteFailure::from(failure.clone()));
            let remote: RemoteFailure = serde_json::from_str(&remote).unwrap();
            assert_eq!(
                format!("{:?}", Failure::from(remote)),
                format!("{failure:?}")
            );
        }
    }
}
