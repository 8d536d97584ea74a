//! What is asked of the evaluator and what it answers, as plain data.
//!
//! Owns the shapes and the check of a request; knows nothing of processes or of MCP.

use attache_lisp::{ErrorKind, Position};

use super::limits::{Limits, LowerLimits, TooHigh};

/// The longest name of a session, in bytes.
pub(super) const MAX_SESSION_NAME: usize = 128;

/// A program to evaluate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The source text: any number of forms.
    pub code: String,
    /// The name of the session whose definitions it sees and adds to; none means a new world.
    pub session: Option<String>,
    /// Whose session it is: names of different owners mean different sessions.
    pub owner: String,
    /// Lower limits than the server's own.
    pub limits: LowerLimits,
}

/// Why a request is not evaluated at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A limit would be raised.
    #[error(transparent)]
    TooHigh(TooHigh),
    /// The name of the session is empty or too long.
    #[error("the name of a session must have 1 to {MAX_SESSION_NAME} bytes; choose a shorter one")]
    SessionName,
}

impl Request {
    /// Checks the request; answers the limits it is evaluated under.
    pub(super) fn check(&self, own: &Limits) -> Result<Limits, RequestError> {
        if let Some(name) = &self.session
            && !(1..=MAX_SESSION_NAME).contains(&name.len())
        {
            return Err(RequestError::SessionName);
        }
        own.lowered(&self.limits).map_err(RequestError::TooHigh)
    }
}

/// How far an evaluation came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Steps used so far.
    pub steps: u64,
    /// Steps it may use.
    pub limit: u64,
}

/// The end of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The value, or why there is none.
    pub result: Result<Evaluated, Failed>,
    /// What became of the session, if one was named.
    pub session: Option<SessionState>,
}

/// What the evaluation meant for its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// It began with this evaluation and keeps its definitions.
    New,
    /// It had definitions of earlier evaluations, and keeps them.
    Continued,
    /// Its definitions are gone; the next evaluation begins it anew.
    Lost,
}

impl SessionState {
    /// The name as callers see it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Continued => "continued",
            Self::Lost => "lost",
        }
    }
}

/// A value and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// The last value as `write` shows it; empty when there is nothing to show.
    pub value: String,
    /// What the program wrote.
    pub output: String,
    /// Steps used.
    pub steps: u64,
    /// The most bytes of heap in use.
    pub heap_peak: u64,
}

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The kind, stable for programs that react to it.
    pub kind: ErrorKind,
    /// What happened and, where there is one, what to do.
    pub message: String,
    /// Where in the source.
    pub position: Option<Position>,
    /// What the program wrote before.
    pub output: String,
}

impl Failed {
    /// A failure that no place in the program is to blame for.
    pub(super) fn outside(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            position: None,
            output: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, LowerLimits, MAX_SESSION_NAME, Request, RequestError};

    #[test]
    fn names_of_sessions_at_the_limit() {
        for (length, good) in [
            (0, false),
            (1, true),
            (MAX_SESSION_NAME, true),
            (MAX_SESSION_NAME + 1, false),
        ] {
            let request = Request {
                session: Some("s".repeat(length)),
                ..Request::default()
            };
            assert_eq!(request.check(&Limits::default()).is_ok(), good, "{length}");
        }
    }

    #[test]
    fn a_raised_limit_is_refused() {
        let request = Request {
            limits: LowerLimits {
                steps: Some(u64::MAX),
                ..LowerLimits::default()
            },
            ..Request::default()
        };
        let refused = request.check(&Limits::default());
        assert!(matches!(refused, Err(RequestError::TooHigh(limit)) if limit.name == "steps"));
    }
}
