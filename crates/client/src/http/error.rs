//! What can go wrong at the level of HTTP, below MCP.

use std::fmt;

use attache_protocol::{Ending, shortened};

use attache_auth::AuthorizationError;

/// An answer that is no MCP, or none that this client may use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpError {
    /// The server answered with a status that stands for a failure, and nothing of MCP in it.
    Status {
        /// The status.
        status: u16,
        /// The beginning of what it said.
        text: String,
    },
    /// The server answered with content of another type (fault 34).
    ContentType {
        /// The status.
        status: u16,
        /// The type it gave, if it gave one.
        found: Option<String>,
    },
    /// The server sends its clients elsewhere, to where this one does not follow.
    Redirected {
        /// The status.
        status: u16,
        /// Where to.
        location: String,
    },
    /// The server wants credentials.
    Authorization(AuthorizationError),
}

impl HttpError {
    /// How a call ends that meets this. A gateway that lost its server cannot know what became of
    /// the request; every other refusal is an answer.
    pub fn ending(&self) -> Ending {
        match self {
            Self::Status {
                status: 502..=504 | 520..=527,
                ..
            } => Ending::OutcomeUnknown,
            Self::ContentType { .. } => Ending::ProtocolError,
            Self::Status { .. } | Self::Redirected { .. } | Self::Authorization(_) => {
                Ending::ServerError
            }
        }
    }

    /// The status, if the server gave one that counts.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. }
            | Self::ContentType { status, .. }
            | Self::Redirected { status, .. } => Some(*status),
            Self::Authorization(_) => None,
        }
    }

    /// Whether the server failed, as opposed to having refused. That says nothing about the era.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Status { status: 500.., .. })
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status, text } => {
                write!(formatter, "the server answered with HTTP status {status}")?;
                if !text.is_empty() {
                    write!(formatter, ": {}", shortened(text))?;
                }
                match status {
                    404 => formatter.write_str("; check the path of the address"),
                    413 | 431 => formatter.write_str("; the request is too large for it"),
                    429 => formatter.write_str("; wait before asking again"),
                    _ => Ok(()),
                }
            }
            Self::ContentType { status, found } => {
                write!(
                    formatter,
                    "the server answered with HTTP status {status} and {}, where only JSON or an \
                     event stream is MCP; check the address",
                    match found {
                        Some(found) => format!("content of the type {}", shortened(found)),
                        None => "content of no stated type".to_owned(),
                    }
                )
            }
            Self::Redirected { status, location } => write!(
                formatter,
                "the server redirects (HTTP status {status}) to {}, which this client does not \
                 follow; use that address if you trust it",
                shortened(location)
            ),
            Self::Authorization(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for HttpError {}

impl From<AuthorizationError> for HttpError {
    fn from(error: AuthorizationError) -> Self {
        Self::Authorization(error)
    }
}
