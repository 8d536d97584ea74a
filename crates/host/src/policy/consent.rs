//! What the user says about a call, for how long it holds, and for what.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The call may be made.
    Allow(Remember),
    /// It may not.
    Deny(Remember),
}

impl Answer {
    /// For how long it holds.
    pub fn remember(self) -> Remember {
        match self {
            Self::Allow(remember) | Self::Deny(remember) => remember,
        }
    }
}

/// For how long an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// For this call.
    #[default]
    Once,
    /// Until the program ends.
    Session,
    /// Until the user changes their mind.
    Always,
}

/// For what an answer that is remembered holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For this tool.
    #[default]
    Tool,
    /// For all tools of its server.
    Server,
}

impl fmt::Display for Remember {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Once => "for this call",
            Self::Session => "for this session",
            Self::Always => "for always",
        })
    }
}
