//! How a command fails: one cause, one remedy, one exit code.
//!
//! The library's typed errors become a [`Failure`] here and nowhere else. Knows nothing of how it
//! is shown.

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use attache::host::{Cause, Error as HostError, Failure as ServerFailure, Refuser};
use attache::protocol::{CallTool, Ending, Json, Method as _};
use attache::{CloseReason, ConnectError, Error, HttpError, Meaning, ServerError};
use serde::Serialize;

/// How many of the last lines of a server's stderr are shown with a failure.
const MOST_DETAILS: usize = 20;

/// Why a command did not do what was asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) exit: Exit,
    /// What happened, as one sentence.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<Box<str>>,
    /// Which server it is about.
    pub(crate) server: Option<Box<str>>,
    /// The code the server answered with.
    pub(crate) code: Option<i64>,
    /// What that code means, if it means more than its text.
    pub(crate) meaning: Option<Meaning>,
    /// What the server said besides.
    pub(crate) data: Option<Json>,
    /// Of a mistake in the command line, further ones, a sentence each; of a server that never
    /// became ready, its last lines, for those who ask for them.
    pub(crate) details: Vec<String>,
}

/// The kinds of failure, as scripts see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The tool ran and failed: its result says how.
    ToolFailed,
    Spawn,
    Connect,
    Incompatible,
    Config,
    Usage,
    Refused,
    Auth,
    Unexpected,
    /// A call ended in another way than with a result.
    #[serde(untagged)]
    Ended(Ending),
}

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Unexpected = 1,
    Usage = 2,
    Authorization = 3,
    Unreachable = 4,
    Failed = 5,
    TimedOut = 6,
    Cancelled = 7,
    OutcomeUnknown = 8,
}

impl From<Ending> for Exit {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Result => Self::Done,
            Ending::ServerError => Self::Failed,
            Ending::TimedOut => Self::TimedOut,
            Ending::Cancelled => Self::Cancelled,
            Ending::NotSent => Self::Unreachable,
            Ending::OutcomeUnknown => Self::OutcomeUnknown,
            Ending::ProtocolError => Self::Unexpected,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Failure {
    pub(crate) fn new(kind: Kind, exit: Exit, message: impl Into<String>) -> Self {
        Self {
            kind,
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

    /// A call ended in this way.
    pub(crate) fn ended(ending: Ending, message: impl Into<String>) -> Self {
        Self::new(Kind::Ended(ending), ending.into(), message)
    }

    /// The command line does not make sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, Exit::Usage, message)
    }

    /// The configuration does not make sense.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Kind::Config, Exit::Usage, message)
    }

    /// Something was not done because the user has not allowed it.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Kind::Refused, Exit::Cancelled, message)
    }

    /// A tool ran and failed.
    pub(crate) fn tool_failed(message: impl Into<String>) -> Self {
        Self::new(Kind::ToolFailed, Exit::Failed, message)
    }

    /// Something is not there, or did not work, on the server's side.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::ended(Ending::ServerError, message)
    }

    /// Something that should not happen did.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self::new(Kind::Unexpected, Exit::Unexpected, message)
    }

    /// The program that reads our output has seen enough: a reason to stop, and nothing to complain
    /// about.
    pub(crate) fn reader_left() -> Self {
        Self {
            exit: Exit::Done,
            ..Self::unexpected("the output is not read any more")
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which server it is about, unless it does already.
    pub(crate) fn of(mut self, server: &str) -> Self {
        self.server.get_or_insert_with(|| server.into());
        self
    }

    fn with_details(mut self, stderr: &[String]) -> Self {
        let skipped = stderr.len().saturating_sub(MOST_DETAILS);
        self.details = stderr[skipped..].to_vec();
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let server = error.server().map(ToString::to_string);
        let failure = match error {
            HostError::UnknownServer { name, nearest } => {
                let failure = Self::usage(format!("no server is named \"{name}\""));
                match nearest {
                    Some(nearest) => failure.hint(format!("did you mean \"{nearest}\"?")),
                    None => failure.hint("`attache ls` shows the servers there are"),
                }
            }
            HostError::Disabled { .. } => {
                Self::new(Kind::Config, Exit::Unreachable, "it is switched off")
                    .hint("set `enabled = true` in its table to use it")
            }
            HostError::NotOffered {
                kind,
                name,
                nearest,
                unasked,
            } => not_offered(kind, &name, nearest, &unasked),
            HostError::Ambiguous { name, candidates } => {
                Self::usage(format!("\"{name}\" is offered by several servers"))
                    .hint(format!("say which: {}", candidates.join(", ")))
            }
            HostError::OwnerUnknown {
                name,
                candidates,
                unasked,
            } => Self::usage(format!(
                "\"{name}\" may also be offered by servers that have not answered: {}",
                joined(&unasked)
            ))
            .hint(format!("say which: {}", candidates.join(", "))),
            HostError::Parked { failure, .. } | HostError::Unreachable { failure, .. } => {
                Self::from_start(&failure)
            }
            HostError::StillStarting { after, .. } => Self::new(
                Kind::Connect,
                Exit::Unreachable,
                format!("it is not ready after {}", time(after)),
            )
            .hint("allow more with --start-timeout, or `timeouts.initialize` in its table"),
            HostError::Stopped { .. } => {
                Self::new(Kind::Connect, Exit::Unreachable, "it was stopped")
            }
            HostError::Refused { server, tool, by } => {
                let failure = Self::refused(format!("{tool} was not called: {by}"));
                match by {
                    Refuser::Drift { lock: None, .. } => failure.hint(format!(
                        "`attache trust {server}` shows the difference and accepts it"
                    )),
                    Refuser::Drift { lock: Some(_), .. } | Refuser::NotLocked { .. } => failure
                        .hint(format!(
                            "`attache trust {server} --lock` shows the difference and writes it \
                             to the lock file"
                        )),
                    Refuser::Policy { .. } => failure.hint("change the policy in attache.toml"),
                    Refuser::NobodyToAsk { .. } => {
                        failure.hint("call it on a terminal, or say yes beforehand with --yes")
                    }
                    Refuser::UnreadablePins { .. } | Refuser::User { .. } => failure,
                }
            }
            HostError::Request { error, .. } => error.into(),
            other => Self::failed(other.to_string()),
        };
        match server {
            Some(server) => failure.of(&server),
            None => failure,
        }
    }
}

fn not_offered(
    kind: &str,
    name: &str,
    nearest: Option<String>,
    unasked: &[attache::host::config::ServerName],
) -> Failure {
    let message = format!("there is no {kind} \"{name}\"");
    if !unasked.is_empty() {
        let message = format!("{message} on the servers that answered");
        let failure = Failure::new(Kind::Connect, Exit::Unreachable, message);
        let silent = format!("these servers could not be asked: {}", joined(unasked));
        return failure.hint(match nearest {
            Some(nearest) => format!("did you mean \"{nearest}\"? {silent}"),
            None => silent,
        });
    }
    let failure = Failure::failed(message);
    match nearest {
        Some(nearest) => failure.hint(format!("did you mean \"{nearest}\"?")),
        None => failure.hint(format!("`attache {kind}s` lists what there is")),
    }
}

fn joined(servers: &[attache::host::config::ServerName]) -> String {
    let names: Vec<&str> = servers.iter().map(AsRef::as_ref).collect();
    names.join(", ")
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Spawn(_) => Self::new(Kind::Spawn, Exit::Unreachable, message),
            Error::Connect(error) => Self::from_connect(&error, message),
            Error::Server(error) => Self::from_server(error),
            Error::TimedOut {
                method,
                after,
                complaint,
            } => Self::ended(
                Ending::TimedOut,
                format!(
                    "{method} was not answered within {}; the server was told to stop{}",
                    time(after),
                    complaint.map_or_else(String::new, |line| format!("; its stderr says: {line}"))
                ),
            )
            .hint("give it longer with --timeout, for example --timeout 5m"),
            Error::Cancelled { .. } => cancelled(),
            Error::NotSent { .. } => Self::ended(Ending::NotSent, message),
            Error::OutcomeUnknown { method, .. } => {
                let failure = Self::ended(Ending::OutcomeUnknown, message);
                match method.as_str() {
                    CallTool::NAME => {
                        failure.hint("find out whether it took effect before you repeat it")
                    }
                    _ => failure.hint("it only asked for something, so repeating it is safe"),
                }
            }
            Error::Protocol { .. } => Self::ended(Ending::ProtocolError, message)
                .hint("the server has a defect; --verbose shows what it writes to stderr"),
            Error::Http { problem, .. } => Self::from_http(&problem, message),
            Error::Unsupported { .. } => Self::failed(message),
            Error::Input(_) => Self::usage(message),
            Error::Refused { .. } => Self::new(Kind::Refused, Exit::Cancelled, message),
            _ => Self::failed(message),
        }
    }
}

impl Failure {
    /// Why a server does not run.
    fn from_start(failure: &ServerFailure) -> Self {
        let told = match &failure.cause {
            Cause::Start(Error::Unsupported { reason, .. }) => {
                Self::new(Kind::Connect, Exit::Unreachable, reason.clone())
            }
            Cause::Start(error) => error.clone().into(),
            Cause::Lost(reason) => Self::new(Kind::Connect, Exit::Unreachable, reason.to_string()),
        };
        match failure.stderr.is_empty() {
            true => told,
            false => told.with_details(&failure.stderr),
        }
    }

    fn from_connect(error: &ConnectError, message: String) -> Self {
        let failure = Self::new(Kind::Connect, Exit::Unreachable, message);
        match error {
            ConnectError::TimedOut { stderr, .. } => failure
                .hint("check that it is an MCP server, or allow more with --start-timeout")
                .with_details(stderr),
            // Its message says what to look at; there is no command to run.
            ConnectError::Lost(CloseReason::Unreachable(_)) => failure,
            ConnectError::Lost(CloseReason::ReadFailed(_)) => {
                failure.hint("check that what answers is an MCP server")
            }
            ConnectError::Lost(reason) => failure
                .hint("run the command by itself to see why it leaves")
                .with_details(stderr_of(reason)),
            ConnectError::NoCommonRevision { .. } => Self {
                kind: Kind::Incompatible,
                ..failure
            }
            .hint("leave out --era and --protocol to take what the server offers"),
            ConnectError::Refused(error) => Self {
                code: Some(error.code),
                meaning: meaning(error),
                data: error.data.clone(),
                ..failure
            },
            ConnectError::Protocol(_) => failure.hint("check that what answers is an MCP server"),
            ConnectError::Http(problem) => Self::from_http(problem, failure.message),
            // Their messages say what to do.
            _ => failure,
        }
    }

    fn from_http(problem: &HttpError, message: String) -> Self {
        if let HttpError::Authorization(_) = problem {
            return Self::new(Kind::Auth, Exit::Authorization, message);
        }
        let failure = Self::ended(problem.ending(), message);
        match problem.ending() {
            // It was refused at the level of HTTP, so no MCP server has seen it.
            Ending::ServerError => Self {
                exit: Exit::Unreachable,
                ..failure
            },
            Ending::OutcomeUnknown => {
                failure.hint("find out whether it took effect before you repeat it")
            }
            _ => failure,
        }
    }

    fn from_server(error: ServerError) -> Self {
        let failure = match error.meaning {
            Meaning::Cancelled => {
                let message = format!("the server cancelled it: {error}");
                Self::ended(Ending::Cancelled, message)
            }
            Meaning::ToolFailed => Self::tool_failed(error.to_string()),
            Meaning::TimedOut => Self::ended(Ending::TimedOut, error.to_string()),
            Meaning::ResourceNotFound => {
                Self::failed(format!("the resource does not exist: {}", error.message))
                    .hint("`attache resources` lists what there is")
            }
            Meaning::MethodNotFound => {
                Self::failed(error.to_string()).hint("`attache ls` shows what the server offers")
            }
            Meaning::MissingCapability | Meaning::UrlElicitationRequired => {
                Self::failed(error.to_string())
                    .hint("it needs to ask you something; run it on a terminal")
            }
            _ => Self::failed(error.to_string()),
        };
        Self {
            code: Some(error.code),
            meaning: meaning(&error),
            data: error.data,
            ..failure
        }
    }
}

fn meaning(error: &ServerError) -> Option<Meaning> {
    Some(error.meaning).filter(|meaning| *meaning != Meaning::Other)
}

/// The user stopped a request.
pub(crate) fn cancelled() -> Failure {
    Failure::ended(
        Ending::Cancelled,
        "the request was cancelled; the server was told",
    )
}

/// An answer that cannot be read as what it should be.
pub(crate) fn unreadable(method: &str, error: &serde_json::Error) -> Failure {
    Failure::ended(
        Ending::ProtocolError,
        format!("the server's answer to {method} cannot be read: {error}"),
    )
    .hint("--json prints it as it came")
}

/// A time as people say it.
fn time(time: Duration) -> String {
    match time.as_millis() {
        millis @ ..1000 => format!("{millis} ms"),
        millis if millis < 60_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{:.1} min", time.as_secs_f64() / 60.0),
    }
}

fn stderr_of(reason: &CloseReason) -> &[String] {
    match reason {
        CloseReason::Exited { stderr, .. } => stderr,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_a_kind_and_an_exit_code() {
        let exits = Ending::ALL.map(|ending| Failure::ended(ending, "x").exit as u8);
        assert_eq!(exits, [0, 5, 6, 7, 4, 8, 1]);
        for ending in Ending::ALL {
            let kind = serde_json::to_value(Failure::ended(ending, "x").kind).unwrap();
            assert_eq!(kind, ending.name());
        }
        let kind = serde_json::to_value(Kind::ToolFailed).unwrap();
        assert_eq!(kind, "tool_failed");
    }
}
