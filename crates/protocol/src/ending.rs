//! The ways a call can end: one list, from the table of calls in flight to the exit code of a
//! command.

use serde::{Deserialize, Serialize};

/// The ways a call can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The server answered with a result.
    Result,
    /// The server answered with an error.
    ServerError,
    /// No answer came in time.
    TimedOut,
    /// The caller cancelled or dropped the call.
    Cancelled,
    /// The connection was lost before the request was written: safe to repeat.
    NotSent,
    /// The request was written and the connection lost: it may have had its effect.
    OutcomeUnknown,
    /// The answer broke the protocol.
    ProtocolError,
}

impl Ending {
    /// All endings, in the order a [`Tally`](crate::Tally) counts them.
    pub const ALL: [Self; 7] = [
        Self::Result,
        Self::ServerError,
        Self::TimedOut,
        Self::Cancelled,
        Self::NotSent,
        Self::OutcomeUnknown,
        Self::ProtocolError,
    ];

    /// The name used in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::ServerError => "server_error",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::NotSent => "not_sent",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::ProtocolError => "protocol_error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_its_name_in_json() {
        for ending in Ending::ALL {
            let json = serde_json::to_string(&ending).unwrap();
            assert_eq!(json, format!("\"{}\"", ending.name()));
            assert_eq!(serde_json::from_str::<Ending>(&json).unwrap(), ending);
        }
    }
}
