//! Options of the command line that change how servers are started and talked to.
//!
//! Owns their words and their meaning for one server. Whose word counts is simple: what was typed
//! wins.

use std::path::PathBuf;
use std::time::Duration;

use attache::host::config::{Dialect, ServerConfig, Transport};
use attache::protocol::{LogLevel, Revision};
use attache::{EraChoice, Quirks};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// The longest time that can be asked for.
const LONGEST_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// What was typed about servers, and nothing that was not.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Overrides {
    /// How long one request may take, like 500ms, 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_time, display_order = 102)]
    timeout: Option<Duration>,
    /// How long the server may take to start, like 30s
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Server")]
    start_timeout: Option<Duration>,
    /// Set a variable in the server's environment; may be repeated
    #[arg(
        long = "env",
        value_name = "NAME=VALUE",
        value_parser = parse_variable,
        help_heading = "Server"
    )]
    environment: Vec<(String, String)>,
    /// Start the server in this folder
    #[arg(long = "cwd", value_name = "FOLDER", help_heading = "Server")]
    folder: Option<PathBuf>,
    /// Show the server's log from this level on, like info
    #[arg(long, value_name = "LEVEL", help_heading = "Server")]
    pub(crate) log_level: Option<LogLevel>,
    /// Which protocol era to speak; auto finds out
    #[arg(
        long,
        value_name = "auto|modern|legacy",
        value_parser = era_parser(),
        hide_possible_values = true,
        help_heading = "Server"
    )]
    era: Option<EraChoice>,
    /// The protocol revision to ask for, like 2025-06-18
    #[arg(long, value_name = "DATE", help_heading = "Server")]
    protocol: Option<Revision>,
    /// lsp adds `$/cancelRequest`, `shutdown` and `exit`
    #[arg(
        long,
        value_name = "standard|lsp",
        value_parser = dialect_parser(),
        hide_possible_values = true,
        help_heading = "Server"
    )]
    dialect: Option<Dialect>,
}

impl Overrides {
    /// Whether something was typed that is one server's affair, such as a secret in its
    /// environment.
    pub(crate) fn are_for_one_server(&self) -> bool {
        !self.environment.is_empty() || self.folder.is_some()
    }

    /// Whether a server that others use too can serve a command with these words: they may change
    /// how long it waits, and not what it talks to.
    pub(crate) fn can_share(&self) -> bool {
        let Self {
            timeout: _,
            start_timeout,
            environment,
            folder,
            log_level,
            era,
            protocol,
            dialect,
        } = self;
        start_timeout.is_none()
            && environment.is_empty()
            && folder.is_none()
            && log_level.is_none()
            && era.is_none()
            && protocol.is_none()
            && dialect.is_none()
    }

    /// How long one request may take.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn apply(&self, server: &mut ServerConfig) {
        let settings = &mut server.server.settings;
        if let Some(era) = self.era {
            settings.era = era;
        }
        if let Some(revision) = self.protocol {
            settings.protocol = Some(revision);
        }
        if let Some(dialect) = self.dialect {
            server.dialect = dialect;
            settings.quirks = match dialect {
                Dialect::Lsp => Quirks::lsp(),
                Dialect::Standard | Dialect::Custom => Quirks::default(),
            };
        }
        let timeouts = &mut settings.timeouts;
        if let Some(time) = self.start_timeout {
            timeouts.start = time;
        }
        if let Some(time) = self.timeout {
            // A person who names a time means it, whatever progress there is.
            timeouts.request = time;
            timeouts.read = time;
            timeouts.call = time;
            timeouts.maximum = time;
        }
        if let Transport::Stdio(launch) = server.server.transport_mut() {
            let variables = self.environment.iter();
            launch
                .vars
                .extend(variables.map(|(name, value)| (name.into(), value.into())));
            if let Some(folder) = &self.folder {
                launch.cwd = Some(folder.clone());
            }
        }
    }
}

pub(crate) fn era_parser() -> impl TypedValueParser<Value = EraChoice> {
    PossibleValuesParser::new(["auto", "both", "modern", "legacy"]).map(|word| {
        match word.as_str() {
            "modern" => EraChoice::Modern,
            "legacy" => EraChoice::Legacy,
            _ => EraChoice::Auto,
        }
    })
}

fn dialect_parser() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(["standard", "lsp"]).map(|word| match word.as_str() {
        "lsp" => Dialect::Lsp,
        _ => Dialect::Standard,
    })
}

pub(crate) fn parse_variable(pair: &str) -> Result<(String, String), String> {
    match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("\"{pair}\" is not NAME=VALUE")),
    }
}

pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("\"{text}\" is not a time like 500ms, 30s or 5m")),
    };
    let amount: f64 = digits
        .parse()
        .map_err(|_| format!("\"{text}\" is not a time like 500ms, 30s or 5m"))?;
    match Duration::try_from_secs_f64(amount * unit) {
        Ok(time) if time.is_zero() => Err("it must be more than nothing".to_owned()),
        Ok(time) if time <= LONGEST_TIME => Ok(time),
        _ => Err(format!("\"{text}\" is not between 1ms and 24h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_a_limit() {
        for (text, expected) in [
            ("500ms", Some(Duration::from_millis(500))),
            ("1.5s", Some(Duration::from_millis(1500))),
            ("2m", Some(Duration::from_secs(120))),
            ("24h", Some(LONGEST_TIME)),
            ("24.1h", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("0s", None),
            ("1d", None),
            ("1e999s", None),
        ] {
            assert_eq!(parse_time(text).ok(), expected, "{text}");
        }
    }
}
