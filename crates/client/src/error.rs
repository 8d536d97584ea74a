//! How a connection or a call can fail, in kinds a program can match.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_net::Unreachable;
use attache_process::{ExitReason, SpawnError};
use attache_protocol::{Ending, ErrorObject, Json, Revision};

use crate::http::HttpError;
use crate::telling_line::telling_line;

/// What went wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server's process could not be started.
    Spawn(Arc<SpawnError>),
    /// The server was started, or the stream opened, but no session came about.
    Connect(ConnectError),
    /// The server answered with an error.
    Server(ServerError),
    /// No answer came in time; the server was told to stop.
    TimedOut {
        /// What was asked.
        method: String,
        /// How long was waited.
        after: Duration,
        /// What the server's stderr complains of, if it does.
        complaint: Option<String>,
    },
    /// The caller cancelled the request; the server was told to stop.
    Cancelled {
        /// What was asked.
        method: String,
    },
    /// The connection was lost before the request was written. Asking again is safe.
    NotSent {
        /// What was asked.
        method: String,
        /// Why the connection ended.
        reason: CloseReason,
    },
    /// The request was written and the connection lost before the answer. It may have had its
    /// effect.
    OutcomeUnknown {
        /// What was asked.
        method: String,
        /// Why the connection ended.
        reason: CloseReason,
    },
    /// The server refused the request, or answered with something else, at the level of HTTP.
    Http {
        /// What was asked.
        method: String,
        /// In what way.
        problem: HttpError,
    },
    /// The server broke the protocol in its answer.
    Protocol {
        /// What was asked.
        method: String,
        /// In what way.
        problem: String,
    },
    /// The request makes no sense to this server and was not sent.
    Unsupported {
        /// What was asked.
        method: String,
        /// Why not.
        reason: String,
    },
    /// The caller's own input cannot be sent.
    Input(String),
    /// A question of the server was refused, which ends the call that depends on it (C-MRTR-17).
    Refused {
        /// What was asked.
        method: String,
        /// Which question, and who refused it.
        reason: String,
    },
}

impl Error {
    /// How the call ended, for errors that end a call that was issued.
    pub fn ending(&self) -> Option<Ending> {
        match self {
            Self::Server(_) => Some(Ending::ServerError),
            Self::TimedOut { .. } => Some(Ending::TimedOut),
            Self::Cancelled { .. } => Some(Ending::Cancelled),
            Self::NotSent { .. } => Some(Ending::NotSent),
            Self::OutcomeUnknown { .. } => Some(Ending::OutcomeUnknown),
            Self::Http { problem, .. } => Some(problem.ending()),
            Self::Protocol { .. } => Some(Ending::ProtocolError),
            Self::Spawn(_)
            | Self::Connect(_)
            | Self::Unsupported { .. }
            | Self::Input(_)
            | Self::Refused { .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spawn(error) => error.fmt(formatter),
            Self::Connect(error) => error.fmt(formatter),
            Self::Server(error) => error.fmt(formatter),
            Self::TimedOut {
                method,
                after,
                complaint,
            } => {
                write!(formatter, "{method} was not answered within {after:?}")?;
                match complaint {
                    Some(line) => write!(formatter, "; its stderr says: {line}"),
                    None => Ok(()),
                }
            }
            Self::Cancelled { method } => write!(formatter, "{method} was cancelled"),
            Self::NotSent { method, reason } => {
                write!(formatter, "{method} was not sent: {reason}")
            }
            Self::OutcomeUnknown { method, reason } => write!(
                formatter,
                "{method} was sent and may have had its effect, but no answer came: {reason}"
            ),
            Self::Http { method, problem } => {
                write!(formatter, "{method} brought no result: {problem}")
            }
            Self::Protocol { method, problem } => {
                write!(
                    formatter,
                    "the server broke the protocol in its answer to {method}: {problem}"
                )
            }
            Self::Unsupported { method, reason } => {
                write!(formatter, "{method} was not sent: {reason}")
            }
            Self::Input(problem) => formatter.write_str(problem),
            Self::Refused { method, reason } => {
                write!(formatter, "{method} brought no result: {reason}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Spawn(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl From<SpawnError> for Error {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(Arc::new(error))
    }
}

/// Why no session came about (X-INIT-18: distinct failures).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server did not answer the handshake in time; its process was stopped.
    TimedOut {
        /// How long was waited.
        after: Duration,
        /// The first lines it wrote to stdout that are no messages.
        strays: Vec<String>,
        /// The last lines of its stderr.
        stderr: Vec<String>,
    },
    /// The connection ended during the handshake.
    Lost(CloseReason),
    /// The server speaks no revision that this client may speak to it.
    NoCommonRevision {
        /// What the server offers.
        offered: Vec<String>,
        /// What this client was willing to speak.
        wanted: Vec<Revision>,
    },
    /// The server refused the handshake.
    Refused(ServerError),
    /// The server broke the protocol in the handshake.
    Protocol(String),
    /// The server refused the handshake at the level of HTTP.
    Http(HttpError),
    /// What is at the address speaks no MCP in any way that is known.
    NoServer {
        /// What it answered to each attempt.
        answers: Vec<String>,
    },
    /// The streams of this server were used by an earlier connection.
    StreamsUsedUp,
    /// Something was set that the server's transport does not have, such as a header of a child
    /// process.
    Misplaced {
        /// What was set.
        setting: &'static str,
        /// How the server is reached.
        transport: &'static str,
    },
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut {
                after,
                strays,
                stderr,
            } => {
                write!(
                    formatter,
                    "the server did not answer the handshake within {after:?}"
                )?;
                if let Some(line) = strays.first() {
                    write!(formatter, "; it wrote to stdout: {line}")?;
                }
                write_tail(formatter, stderr)
            }
            Self::Lost(reason @ CloseReason::Unreachable(_)) => reason.fmt(formatter),
            Self::Lost(reason) => write!(formatter, "no session came about: {reason}"),
            Self::NoCommonRevision { offered, wanted } => {
                let wanted: Vec<_> = wanted.iter().map(|revision| revision.as_str()).collect();
                write!(
                    formatter,
                    "the server and this client have no protocol revision in common: the server \
                     offers {}, and this client may speak {}",
                    or_nothing(&offered.join(", ")),
                    wanted.join(", ")
                )
            }
            Self::Refused(error) => write!(
                formatter,
                "the server refused the handshake ({}): {} (code {})",
                error.method, error.message, error.code
            ),
            Self::Protocol(problem) => {
                write!(
                    formatter,
                    "the server broke the protocol in the handshake: {problem}"
                )
            }
            Self::Http(error) => write!(formatter, "no session came about: {error}"),
            Self::NoServer { answers } => write!(
                formatter,
                "there is no MCP server at this address; check it. It answered: {}",
                or_nothing(&answers.join("; "))
            ),
            Self::StreamsUsedUp => {
                formatter.write_str("the streams were used by an earlier connection; open new ones")
            }
            Self::Misplaced { setting, transport } => write!(
                formatter,
                "{setting:?} was set, which a server reached over {transport} does not have; \
                 leave it out"
            ),
        }
    }
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side closed it.
    ClosedHere,
    /// The server's process ended.
    Exited {
        /// How.
        exit: ExitReason,
        /// The last lines of its stderr.
        stderr: Vec<String>,
    },
    /// The server closed its output but may still be running.
    EndOfStream,
    /// The server sent a message longer than the limit and was stopped.
    FrameTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The server stopped taking input and was stopped.
    WriteStalled {
        /// How long was waited.
        after: Duration,
    },
    /// Writing failed.
    WriteFailed(String),
    /// Reading failed.
    ReadFailed(String),
    /// No connection to the server could be made.
    Unreachable(Box<Unreachable>),
    /// The server has forgotten the session.
    SessionLost,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClosedHere => formatter.write_str("the connection was closed by this client"),
            Self::Exited { exit, stderr } => {
                write!(formatter, "the server {exit}")?;
                write_tail(formatter, stderr)
            }
            Self::EndOfStream => formatter.write_str("the server closed its output"),
            Self::FrameTooLong { limit } => write!(
                formatter,
                "the server sent a message of more than {limit} bytes and was stopped"
            ),
            Self::WriteStalled { after } => write!(
                formatter,
                "the server took no input for {after:?} and was stopped"
            ),
            Self::WriteFailed(error) => write!(formatter, "writing to the server failed: {error}"),
            Self::ReadFailed(error) => write!(formatter, "reading from the server failed: {error}"),
            Self::Unreachable(error) => {
                write!(formatter, "the server cannot be reached: {error}")
            }
            Self::SessionLost => formatter.write_str("the server has forgotten the session"),
        }
    }
}

/// Appends the line in which a server says what is wrong, if there is one.
fn write_tail(formatter: &mut fmt::Formatter<'_>, stderr: &[String]) -> fmt::Result {
    match telling_line(stderr) {
        None => Ok(()),
        Some(line) => write!(formatter, "; its last words: {line}"),
    }
}

/// An error the server answered with: code and data as they came, and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerError {
    /// What was asked.
    pub method: String,
    /// The code on the wire.
    pub code: i64,
    /// The server's sentence.
    pub message: String,
    /// Whatever else it says.
    pub data: Option<Json>,
    /// What it means, as far as the protocol or the settings of this server say.
    pub meaning: Meaning,
}

impl ServerError {
    pub(crate) fn new(method: &str, error: ErrorObject, meaning: Meaning) -> Self {
        Self {
            method: method.to_owned(),
            code: error.code,
            message: error.message,
            data: error.data,
            meaning,
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method,
            code,
            message,
            ..
        } = self;
        write!(
            formatter,
            "the server answered {method} with an error: {message} "
        )?;
        match self.meaning.of_alias() {
            Some(name) => write!(formatter, "(code {code}, {name})"),
            None => write!(formatter, "(code {code})"),
        }
    }
}

impl std::error::Error for ServerError {}

/// What an error code means in its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// The resource does not exist.
    ResourceNotFound,
    /// The tool ran and failed.
    ToolFailed,
    /// The request was cancelled.
    Cancelled,
    /// The server gave up waiting for what it needs to answer.
    TimedOut,
    /// The server does not know the method.
    MethodNotFound,
    /// The params do not fit the method.
    InvalidParams,
    /// The user has to visit an address first (X-ERR-03).
    UrlElicitationRequired,
    /// The request needs a capability that this client did not declare.
    MissingCapability,
    /// The server does not speak this revision.
    UnsupportedVersion,
    /// No meaning beyond the text.
    Other,
}

impl Meaning {
    const ALL: [Self; 10] = [
        Self::ResourceNotFound,
        Self::ToolFailed,
        Self::Cancelled,
        Self::TimedOut,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::UrlElicitationRequired,
        Self::MissingCapability,
        Self::UnsupportedVersion,
        Self::Other,
    ];

    /// The meaning of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// A word for it that programs can match.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ResourceNotFound => "resource_not_found",
            Self::ToolFailed => "tool_failed",
            Self::Cancelled => "cancelled",
            Self::MethodNotFound => "method_not_found",
            Self::InvalidParams => "invalid_params",
            Self::UrlElicitationRequired => "url_elicitation_required",
            Self::MissingCapability => "missing_capability",
            Self::UnsupportedVersion => "unsupported_version",
            Self::TimedOut => "timed_out",
            Self::Other => "other",
        }
    }

    /// The word for a meaning that the code alone does not have, because only the settings of the
    /// server give it one.
    fn of_alias(self) -> Option<&'static str> {
        match self {
            Self::ToolFailed => Some("tool failed"),
            Self::Cancelled => Some("cancelled"),
            Self::TimedOut => Some("timeout"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_sentences() {
        let method = || "tools/call".to_owned();
        let reason = || CloseReason::Exited {
            exit: ExitReason::Signal(9),
            stderr: vec!["out of memory".to_owned()],
        };
        for (error, text) in [
            (
                Error::OutcomeUnknown {
                    method: method(),
                    reason: reason(),
                },
                "tools/call was sent and may have had its effect, but no answer came: the server \
                 was killed by signal 9 (SIGKILL)",
            ),
            (
                Error::NotSent {
                    method: method(),
                    reason: CloseReason::EndOfStream,
                },
                "tools/call was not sent: the server closed its output",
            ),
            (
                Error::Connect(ConnectError::Lost(reason())),
                "no session came about: the server was killed by signal 9 (SIGKILL)",
            ),
            (
                Error::TimedOut {
                    method: method(),
                    after: Duration::from_secs(5),
                    complaint: None,
                },
                "tools/call was not answered within 5s",
            ),
        ] {
            let error = error.to_string();
            assert!(error.starts_with(text), "{error}");
        }
    }
}
