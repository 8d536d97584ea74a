//! What can go wrong with a request, on either side of the socket.

use std::fmt;

use attache::host::Error as HostError;
use attache::protocol::{Ending, Json};
use serde::{Deserialize, Serialize};

/// How the background process puts an error of its host into words.
///
/// Commands add a remedy and an exit code to errors; a face that attaches shows the same ones, so
/// they are made where the error is.
pub type Explain = fn(HostError) -> RemoteFailure;

/// A failure as it crosses the socket: everything that a command would say itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteFailure {
    /// What kind of failure, in the words of `attache --json`.
    pub kind: String,
    /// How the call ended, if it is about a call that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The exit code of a command that fails so.
    pub exit: u8,
    /// What happened, as one sentence.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// Which server it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Box<str>>,
    /// The code that the server answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// What that code means, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// What the server said besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// The last lines of a server that never became ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

impl RemoteFailure {
    /// A failure of this kind, with the exit code that commands have for it.
    pub fn new(kind: impl Into<String>, exit: u8, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            ending: None,
            exit,
            message: message.into(),
            hint: None,
            server: None,
            code: None,
            meaning: None,
            data: None,
            details: Vec::new(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Box<Self> {
        Box::new(Self::new("usage", 2, message))
    }

    pub(crate) fn unexpected(message: impl Into<String>) -> Box<Self> {
        Box::new(Self::new("unexpected", 1, message))
    }

    pub(crate) fn refused(message: impl Into<String>) -> Box<Self> {
        Box::new(Self::new("refused", 7, message))
    }

    pub(crate) fn ended(ending: Ending, exit: u8, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            ending: Some(ending),
            ..Self::new(ending.name(), exit, message)
        })
    }

    pub(crate) fn cancelled() -> Box<Self> {
        let message = "the request was cancelled; the server was told";
        Self::ended(Ending::Cancelled, 7, message)
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which server it is about, unless it does already.
    #[must_use]
    pub fn of(mut self, server: &str) -> Self {
        self.server.get_or_insert_with(|| server.into());
        self
    }
}

impl fmt::Display for RemoteFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for RemoteFailure {}

/// Why a request has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RemoteError {
    /// The background process, or a server of it, answered with a failure.
    #[error("{0}")]
    Failed(Box<RemoteFailure>),
    /// The connection to the background process ended before the answer. A call that was made may
    /// have taken effect.
    #[error("the process that keeps the servers ended before the answer")]
    Lost,
    /// The connection had ended before the request, which was never sent.
    #[error("the process that keeps the servers has ended, and the request was not sent")]
    NotSent,
    /// The answer is not what was asked for.
    #[error("the answer of the process that keeps the servers cannot be read: {0}")]
    Unreadable(String),
}

impl From<serde_json::Error> for RemoteError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}
