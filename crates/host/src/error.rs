//! How a wish to the host can fail, in kinds a program can match.
//!
//! Owns the sentences: what happened, to which server, and what to do about it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache_client::protocol::Ending;
use attache_client::{CloseReason, Error as ClientError};

use crate::config::ServerName;

/// What went wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// No server has that name.
    UnknownServer {
        /// The name that was asked for.
        name: String,
        /// The configured name most like it.
        nearest: Option<String>,
    },
    /// The server is configured and switched off.
    Disabled {
        /// Which one.
        server: ServerName,
    },
    /// No server that answered offers it.
    NotOffered {
        /// What kind of thing: tool, resource, prompt.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The offered name most like it.
        nearest: Option<String>,
        /// Servers that could not be asked, so it may be theirs.
        unasked: Vec<ServerName>,
    },
    /// Several servers offer it.
    Ambiguous {
        /// The plain name that was asked for.
        name: String,
        /// The qualified names it could mean.
        candidates: Vec<String>,
    },
    /// A server offers it, and another that has not answered may offer it too (fault 74).
    OwnerUnknown {
        /// The plain name that was asked for.
        name: String,
        /// The qualified names it could mean, first those that are known to be offered.
        candidates: Vec<String>,
        /// Servers that have not answered.
        unasked: Vec<ServerName>,
    },
    /// The server failed too often, or in a way that trying again cannot mend.
    Parked {
        /// Which one.
        server: ServerName,
        /// The failure that parked it.
        failure: Arc<Failure>,
    },
    /// The server could not be started, this time.
    Unreachable {
        /// Which one.
        server: ServerName,
        /// What happened.
        failure: Arc<Failure>,
    },
    /// The server was not ready in time; its start goes on.
    StillStarting {
        /// Which one.
        server: ServerName,
        /// How long was waited.
        after: Duration,
    },
    /// The server was removed or the host closed.
    Stopped {
        /// Which one.
        server: ServerName,
    },
    /// The call was not made, because somebody or something forbids it.
    Refused {
        /// Which server.
        server: ServerName,
        /// Which tool.
        tool: String,
        /// Who forbids it.
        by: Refuser,
    },
    /// The request failed.
    Request {
        /// Which server.
        server: ServerName,
        /// How.
        error: ClientError,
    },
}

/// Who or what forbids a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refuser {
    /// A rule of the configuration.
    Policy {
        /// Which rule, as a clause.
        rule: String,
    },
    /// The policy says to ask, and no face can.
    NobodyToAsk {
        /// Which rule, as a clause.
        rule: String,
    },
    /// The user.
    User {
        /// Why.
        reason: String,
    },
    /// The tool is not the one that was approved: its definition has changed (S4).
    Drift {
        /// In what.
        difference: String,
        /// The lock file, if that is what it differs from, and not what the user has used.
        lock: Option<PathBuf>,
    },
    /// The lock file names the server and does not list the tool (S26).
    NotLocked {
        /// The lock file.
        file: PathBuf,
    },
    /// What was approved cannot be read.
    UnreadablePins {
        /// Why not, and what to do about it.
        problem: String,
    },
}

/// Why a server is not running.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What happened.
    pub cause: Cause,
    /// The last lines of the server's stderr, secrets removed.
    pub stderr: Vec<String>,
}

/// What ended a server, or kept it from beginning.
#[derive(Clone, Debug)]
pub enum Cause {
    /// Its start failed.
    Start(ClientError),
    /// It was running and its connection ended.
    Lost(CloseReason),
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(formatter),
            Self::Lost(reason) => reason.fmt(formatter),
        }
    }
}

impl Error {
    /// The server it is about, if it is about one.
    pub fn server(&self) -> Option<&ServerName> {
        match self {
            Self::UnknownServer { .. }
            | Self::NotOffered { .. }
            | Self::Ambiguous { .. }
            | Self::OwnerUnknown { .. } => None,
            Self::Disabled { server }
            | Self::Parked { server, .. }
            | Self::Unreachable { server, .. }
            | Self::StillStarting { server, .. }
            | Self::Stopped { server }
            | Self::Refused { server, .. }
            | Self::Request { server, .. } => Some(server),
        }
    }

    /// How the request ended, for errors that end a request that was issued.
    pub fn ending(&self) -> Option<Ending> {
        match self {
            Self::Request { error, .. } => error.ending(),
            _ => None,
        }
    }

    /// What the connection said, where there was one.
    pub fn client_error(&self) -> Option<&ClientError> {
        match self {
            Self::Parked { failure, .. } | Self::Unreachable { failure, .. } => {
                match &failure.cause {
                    Cause::Start(error) => Some(error),
                    Cause::Lost(_) => None,
                }
            }
            Self::Request { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownServer { name, nearest } => {
                write!(formatter, "no server is named {name:?}")?;
                meant(formatter, nearest.as_deref())
            }
            Self::Disabled { server } => write!(
                formatter,
                "{server} is switched off; set `enabled = true` to use it"
            ),
            Self::NotOffered {
                kind,
                name,
                nearest,
                unasked,
            } => {
                write!(formatter, "no server offers the {kind} {name:?}")?;
                meant(formatter, nearest.as_deref())?;
                match unasked.as_slice() {
                    [] => Ok(()),
                    unasked => {
                        let names: Vec<_> = unasked.iter().map(ServerName::as_str).collect();
                        let names = names.join(", ");
                        write!(formatter, "; these servers could not be asked: {names}")
                    }
                }
            }
            Self::Ambiguous { name, candidates } => write!(
                formatter,
                "{name:?} is offered by several servers; say which: {}",
                candidates.join(", ")
            ),
            Self::OwnerUnknown {
                name,
                candidates,
                unasked,
            } => {
                let names: Vec<_> = unasked.iter().map(ServerName::as_str).collect();
                write!(
                    formatter,
                    "{name:?} may also be offered by servers that have not answered ({}); \
                     say which: {}",
                    names.join(", "),
                    candidates.join(", ")
                )
            }
            Self::Parked { server, failure } => write!(
                formatter,
                "{server} is parked: {}; mend that and restart it",
                failure.cause
            ),
            Self::Unreachable { server, failure } => {
                write!(formatter, "{server}: {}", failure.cause)
            }
            Self::StillStarting { server, after } => write!(
                formatter,
                "{server} is not ready after {after:?}; it goes on starting"
            ),
            Self::Stopped { server } => write!(formatter, "{server} was stopped"),
            Self::Refused { server, tool, by } => {
                write!(formatter, "{server}/{tool} was not called: {by}")
            }
            Self::Request { server, error } => write!(formatter, "{server}: {error}"),
        }
    }
}

fn meant(formatter: &mut fmt::Formatter<'_>, nearest: Option<&str>) -> fmt::Result {
    match nearest {
        Some(nearest) => write!(formatter, "; did you mean {nearest:?}?"),
        None => Ok(()),
    }
}

impl fmt::Display for Refuser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy { rule } => formatter.write_str(rule),
            Self::NobodyToAsk { rule } => write!(formatter, "{rule}, and there is nobody to ask"),
            Self::User { reason } => formatter.write_str(reason),
            Self::Drift {
                difference,
                lock: None,
            } => write!(
                formatter,
                "it is not what was approved, it differs in {difference}"
            ),
            Self::Drift {
                difference,
                lock: Some(lock),
            } => write!(
                formatter,
                "it is not what {} says, it differs in {difference}",
                lock.display()
            ),
            Self::NotLocked { file } => write!(formatter, "{} does not list it", file.display()),
            Self::UnreadablePins { problem } => {
                write!(formatter, "what was approved cannot be read: {problem}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.client_error()
            .map(|error| error as &(dyn std::error::Error + 'static))
    }
}
