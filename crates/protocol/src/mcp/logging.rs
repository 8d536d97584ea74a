//! Log messages of a server, and how many of them are wanted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::mcp::method::{methods, notifications};
use crate::wire::record::record;
use crate::{EmptyResult, Json};

methods! {
    /// Sets the lowest level that is sent (up to 2025-11-25).
    SetLevel = "logging/setLevel" (SetLevelParams) -> EmptyResult;
}

notifications! {
    /// A log message.
    LogMessage = "notifications/message" (LogMessageParams);
}

/// How much a log message matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Details for whoever works on the server.
    Debug,
    /// Ordinary news.
    Info,
    /// News worth a look.
    Notice,
    /// Something is odd.
    Warning,
    /// Something failed.
    Error,
    /// A part of the server failed.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// The server is unusable.
    Emergency,
}

impl LogLevel {
    /// All levels, least first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A word that names no log level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no log level; the levels are {levels}",
    levels = LogLevel::ALL.map(LogLevel::as_str).join(", ")
)]
pub struct UnknownLogLevel(pub String);

impl FromStr for LogLevel {
    type Err = UnknownLogLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLogLevel> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == name)
            .ok_or_else(|| UnknownLogLevel(name.to_owned()))
    }
}

record! {
    /// The params of `logging/setLevel`.
    pub struct SetLevelParams {
        /// The lowest level that is sent.
        level: LogLevel = required "level",
    }
}

impl SetLevelParams {
    /// Wants messages of `level` and above.
    pub fn new(level: LogLevel) -> Self {
        Self {
            level,
            extra: Default::default(),
        }
    }
}

record! {
    /// A log message.
    #[derive(Default)]
    pub struct LogMessageParams {
        /// The level as it came; see [`LogMessageParams::level`].
        level: String = required "level",
        /// Which part of the server speaks.
        logger: Option<String> = optional "logger",
        /// What it says.
        data: Json = always "data",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl LogMessageParams {
    /// The level, if it is one.
    pub fn level(&self) -> Option<LogLevel> {
        self.level.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_one_name_and_one_order() {
        for pair in LogLevel::ALL.windows(2) {
            assert!(pair[0] < pair[1]);
        }
        for level in LogLevel::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
            let json = serde_json::to_string(&level).unwrap();
            assert_eq!(json, format!("\"{level}\""));
        }
        let error = "loud".parse::<LogLevel>().unwrap_err().to_string();
        assert!(
            error.starts_with("\"loud\" is no log level; the levels are debug, info"),
            "{error}"
        );
    }

    #[test]
    fn fault_54_a_message_of_an_unknown_level_is_still_a_message() {
        let message: LogMessageParams =
            serde_json::from_str(r#"{"level":"loud","data":{"n":1e400}}"#).unwrap();
        assert_eq!(message.level(), None);
        assert_eq!(message.data.as_str(), r#"{"n":1e400}"#);
    }
}
