//! Why a model gave no answer, in kinds a program can match.

use std::time::Duration;

use attache_net::Unreachable;

/// What went wrong with the model.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The endpoint, its key or its headers cannot be used as they are.
    #[error("{0}")]
    Setup(String),
    /// No connection to the endpoint.
    #[error("the model cannot be reached: {cause}", cause = .0.cause())]
    Unreachable(Box<Unreachable>),
    /// The endpoint does not accept the key, or wants one.
    #[error("the endpoint does not accept the key ({status}): {message}")]
    Key {
        /// The HTTP status.
        status: u16,
        /// What the endpoint says.
        message: String,
    },
    /// The endpoint refused the request.
    #[error("the endpoint refused the request ({status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the endpoint says.
        message: String,
    },
    /// The endpoint has too much to do or a defect, also after waiting.
    #[error("the endpoint cannot answer now ({status}): {message}")]
    Busy {
        /// The HTTP status.
        status: u16,
        /// What the endpoint says.
        message: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The conversation is longer than the model takes.
    #[error("the conversation is longer than the model takes: {message}")]
    TooLong {
        /// What is too long.
        message: String,
    },
    /// The endpoint said in the middle of its answer that it failed.
    #[error("the endpoint failed while answering: {0}")]
    Failed(String),
    /// The endpoint was silent for too long.
    #[error("the endpoint was silent for {after:?} {before}")]
    TimedOut {
        /// For how long.
        after: Duration,
        /// What did not come: as a clause.
        before: &'static str,
    },
    /// The answer broke off.
    #[error("the answer broke off: {0}")]
    Cut(String),
    /// What came is no answer of a model.
    #[error("the endpoint does not answer as {api} does: {problem}")]
    NotAModel {
        /// The wire format that was expected.
        api: &'static str,
        /// What came.
        problem: String,
    },
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable(unreachable) => Some(format!(
                "{}; --offline answers from notes without a model",
                unreachable.remedy()
            )),
            Self::Key { .. } => Some(
                "set the variable that `api_key` in the `[chat]` table of your own file names"
                    .to_owned(),
            ),
            Self::Refused { status: 404, .. } => {
                Some("check `endpoint` and `model`; an endpoint usually ends with /v1".to_owned())
            }
            Self::Busy { .. } | Self::Failed(_) | Self::Cut(_) | Self::TimedOut { .. } => {
                Some("ask again with /retry".to_owned())
            }
            Self::TooLong { .. } => Some(
                "drop what is attached, /compact the conversation or begin a /new one".to_owned(),
            ),
            Self::NotAModel { .. } => {
                Some("check `endpoint` and `api` in the `[chat]` table".to_owned())
            }
            Self::Setup(_) | Self::Refused { .. } => None,
        }
    }

    /// Whether asking again may help before anything was shown.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Cut(_) | Self::Failed(_))
    }
}
