//! What is written down of one call, and what it looks like on disk.
//!
//! A line is one JSON object. A call has one line when it begins and one when it ends, under the
//! same number, so that a call whose program was killed is known all the same; where the first could
//! not be written, the second has everything. Secrets are masked before anything comes here.

use std::borrow::Cow;
use std::sync::Arc;

use attache_client::protocol::{Ending, Json};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::policy::CallOrigin;

/// One call, as far as the log tells.
#[derive(Clone, Debug, Default)]
pub struct CallRecord {
    /// Its number, which no other call has.
    pub number: u64,
    /// How it began; none if that line is gone.
    pub began: Option<Began>,
    /// How it ended; none while it runs, or if its program ended before it.
    pub ended: Option<Ended>,
}

/// The beginning of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Began {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// `tools/call`, `resources/read` or `prompts/get`; or what a face was told to change, see
    /// [`Action`].
    pub method: Cow<'static, str>,
    /// The server; none if it was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool's or prompt's own name, or the resource's URI.
    pub name: String,
    /// Something in the name was masked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub name_masked: bool,
    /// The arguments, unless they are in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
    /// The file with arguments that are too long for a line, in the folder of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_file: Option<String>,
    /// Where arguments were masked, as JSON pointers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<String>,
    /// Who wanted a call of a tool: `person` or `program`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Cow<'static, str>>,
    /// The tool claims to change nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub claims_read_only: bool,
    /// The process that made it.
    #[serde(default)]
    pub process: u32,
    /// How the server is found again.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_shared",
        deserialize_with = "read_shared"
    )]
    pub target: Option<Arc<CalledServer>>,
}

/// How the server of a call is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalledServer {
    /// By its name, in this configuration file.
    Configured {
        /// The file.
        file: String,
        /// Whether the user had named the file.
        named: bool,
    },
    /// By its name, in this program.
    BuiltIn,
    /// By what was typed on the spot.
    Typed {
        /// The command and its arguments, or the URL.
        words: Vec<String>,
        /// The folder it was started in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// Something in the words was masked.
        #[serde(default, skip_serializing_if = "is_false")]
        masked: bool,
    },
}

/// The end of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ended {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// After how long, the start of the server and questions to the user included.
    pub took_ms: u64,
    /// In which way.
    pub ending: CallEnding,
    /// The result, unless it is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// The file with a result that is too long for a line, in the folder of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_file: Option<String>,
    /// Why there is neither, if there was a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_omitted: Option<String>,
    /// How long the result was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub result_bytes: u64,
    /// It came from memory, and the server was not asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// What it said on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<ProgressNote>,
    /// How many more notes there were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub progress_omitted: u64,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
}

/// One note of progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressNote {
    /// After how long.
    pub after_ms: u64,
    /// How far it is.
    pub progress: f64,
    /// How far it has to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What went wrong with a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallError {
    /// What happened.
    pub message: String,
    /// The code that the server answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// What the server said besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// The last lines of the server's stderr.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

/// What a face was told to change, which is written down beside the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A question was answered.
    Answer,
    /// Definitions of tools were approved.
    Approve,
    /// A server was started, stopped, switched or told how much to log.
    Switch,
}

impl Action {
    /// What the methods of all actions begin with, which no method of MCP does.
    const PREFIX: &str = "attache/";

    /// What stands in the log as its method.
    pub fn method(self) -> &'static str {
        match self {
            Self::Answer => "attache/answer",
            Self::Approve => "attache/approve",
            Self::Switch => "attache/switch",
        }
    }

    /// Whether a method of the log is one of an action.
    pub fn is(method: &str) -> bool {
        method.starts_with(Self::PREFIX)
    }
}

/// In which way a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallEnding {
    /// With a result.
    Result,
    /// With a result that says that the tool failed.
    ToolFailed,
    /// It goes on as a task of the server.
    Task,
    /// With an error of the server.
    ServerError,
    /// It took too long.
    TimedOut,
    /// It was cancelled.
    Cancelled,
    /// The connection was lost before it was sent, or it could not be sent at all.
    NotSent,
    /// The connection was lost after it was sent.
    OutcomeUnknown,
    /// The answer broke the protocol.
    ProtocolError,
    /// The policy or the user refused it, so it was not made.
    Refused,
    /// A question that the server asked back was refused.
    QuestionRefused,
    /// The server did not run.
    Unreachable,
    /// There is no such tool, resource, prompt or server.
    NotFound,
    /// In a way that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl CallEnding {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::ToolFailed => "tool failed",
            Self::Task => "task",
            Self::ServerError => "server error",
            Self::TimedOut => "timed out",
            Self::Cancelled => "cancelled",
            Self::NotSent => "not sent",
            Self::OutcomeUnknown => "outcome unknown",
            Self::ProtocolError => "protocol error",
            Self::Refused => "refused",
            Self::QuestionRefused => "question refused",
            Self::Unreachable => "unreachable",
            Self::NotFound => "not found",
            Self::Other => "other",
        }
    }

    /// How a call ended that failed so.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::UnknownServer { .. }
            | Error::NotOffered { .. }
            | Error::Ambiguous { .. }
            | Error::OwnerUnknown { .. } => Self::NotFound,
            Error::Refused { .. } => Self::Refused,
            Error::Disabled { .. }
            | Error::Parked { .. }
            | Error::Unreachable { .. }
            | Error::StillStarting { .. }
            | Error::Stopped { .. } => Self::Unreachable,
            Error::Request { error, .. } => match error.ending() {
                Some(Ending::Result) => Self::Result,
                Some(Ending::ServerError) => Self::ServerError,
                Some(Ending::TimedOut) => Self::TimedOut,
                Some(Ending::Cancelled) => Self::Cancelled,
                Some(Ending::NotSent) => Self::NotSent,
                Some(Ending::OutcomeUnknown) => Self::OutcomeUnknown,
                Some(Ending::ProtocolError) => Self::ProtocolError,
                None if matches!(error, attache_client::Error::Refused { .. }) => {
                    Self::QuestionRefused
                }
                None => Self::NotSent,
            },
        }
    }
}

impl CallRecord {
    /// Whether making the call again may have an effect for the second time. A tool's own claim to
    /// change nothing counts here: the question is for the user's comfort, and the policy decides
    /// afterwards all the same.
    pub fn may_have_had_an_effect(&self) -> bool {
        let Some(began) = &self.began else {
            return true;
        };
        let asks_only = began.method != "tools/call" || began.claims_read_only;
        let never_sent = self.ended.as_ref().is_some_and(|ended| {
            matches!(
                ended.ending,
                CallEnding::NotSent
                    | CallEnding::Refused
                    | CallEnding::Unreachable
                    | CallEnding::NotFound
            )
        });
        !asks_only && !never_sent
    }
}

pub(super) fn origin_word(origin: CallOrigin) -> &'static str {
    match origin {
        CallOrigin::Person => "person",
        CallOrigin::Program => "program",
    }
}

/// One line of the log.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Line {
    /// The call it is about.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) n: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) began: Option<Began>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Ended>,
    /// So many calls before it were not written down: they came too fast, or nothing could be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) lost: u64,
}

fn write_shared<S: Serializer>(
    target: &Option<Arc<CalledServer>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    target.as_deref().serialize(serializer)
}

fn read_shared<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Arc<CalledServer>>, D::Error> {
    let target = Option::deserialize(deserializer)?;
    Ok(target.map(Arc::new))
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(method: &str, claims_read_only: bool, ending: CallEnding) -> CallRecord {
        CallRecord {
            number: 1,
            began: Some(Began {
                method: method.to_owned().into(),
                claims_read_only,
                ..Began::default()
            }),
            ended: Some(Ended {
                ending,
                ..Ended::default()
            }),
        }
    }

    #[test]
    fn only_what_was_sent_and_changes_something_may_have_had_an_effect() {
        for (method, read_only, ending, expected) in [
            ("tools/call", false, CallEnding::Result, true),
            ("tools/call", false, CallEnding::OutcomeUnknown, true),
            ("tools/call", false, CallEnding::Cancelled, true),
            ("tools/call", false, CallEnding::QuestionRefused, true),
            ("tools/call", false, CallEnding::Refused, false),
            ("tools/call", true, CallEnding::Result, false),
            ("tools/call", false, CallEnding::NotSent, false),
            ("tools/call", false, CallEnding::NotFound, false),
            ("resources/read", false, CallEnding::Result, false),
            ("prompts/get", false, CallEnding::TimedOut, false),
        ] {
            let record = record(method, read_only, ending);
            assert_eq!(record.may_have_had_an_effect(), expected, "{record:?}");
        }
        assert!(CallRecord::default().may_have_had_an_effect());
    }

    #[test]
    fn a_line_of_a_later_version_can_be_read() {
        let text = r#"{"n":7,"ended":{"at_ms":1,"took_ms":2,"ending":"ascended","new":{}},"x":1}"#;
        let line: Line = serde_json::from_str(text).unwrap();
        assert_eq!(line.ended.unwrap().ending, CallEnding::Other);
    }
}
