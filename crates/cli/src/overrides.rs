//! Options of the command line that change how servers are started and talked to.
//!
//! Owns their meaning for one server. Whose word counts is simple: what was typed wins.

use std::path::PathBuf;
use std::time::Duration;

use attache::host::config::{Dialect, ServerConfig, Transport};
use attache::protocol::{LogLevel, Revision};
use attache::{EraChoice, Quirks};

/// What was typed about servers, and nothing that was not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) era: Option<EraChoice>,
    pub(crate) protocol: Option<Revision>,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) start_timeout: Option<Duration>,
    /// How long one request may take, whatever it is.
    pub(crate) timeout: Option<Duration>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) log_level: Option<LogLevel>,
}

impl Overrides {
    /// Whether something was typed that is one server's affair, such as a secret in its
    /// environment.
    pub(crate) fn are_for_one_server(&self) -> bool {
        !self.environment.is_empty() || self.folder.is_some()
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
