//! How authorization can fail, in kinds a program can match.

use std::fmt;

/// Why a request could not be authorized. Texts name the cause and the remedy, never a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizationError {
    /// The server wants credentials and none are configured.
    Required {
        /// What the server says about it.
        problem: String,
    },
}

impl fmt::Display for AuthorizationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required { problem } => {
                write!(formatter, "the server requires authorization: {problem}")
            }
        }
    }
}

impl std::error::Error for AuthorizationError {}
