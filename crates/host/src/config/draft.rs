//! A server as a file describes it, before any variable is expanded.
//!
//! What discovery finds, import writes and export reads: secrets stay references, and the text is
//! that of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use attache_client::EraChoice;

use super::{HttpFlavor, Secret};

/// A server, not yet expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// How to reach it.
    pub transport: DraftTransport,
    /// Whether it is switched on.
    pub enabled: bool,
    /// How long starting it may take, if the file says so.
    pub start_timeout: Option<Duration>,
    /// How long a call may take, if the file says so.
    pub call_timeout: Option<Duration>,
    /// The tools to include; all if there are none.
    pub include: Vec<String>,
    /// The tools to leave out.
    pub exclude: Vec<String>,
    /// The era, if the file says so.
    pub era: Option<EraChoice>,
}

/// How to reach a server, not yet expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftTransport {
    /// A child process.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables.
        env: BTreeMap<String, Secret>,
        /// Its folder.
        cwd: Option<String>,
    },
    /// A server behind a URL.
    Http {
        /// Where it is.
        url: String,
        /// Which of the two HTTP transports it speaks.
        flavor: HttpFlavor,
        /// Headers sent with every request.
        headers: BTreeMap<String, Secret>,
    },
}

impl Draft {
    /// The same for a file elsewhere: relative paths of a program are those of `folder`, and it
    /// starts there (S21).
    pub(super) fn settle_in(&mut self, folder: &Path) {
        let DraftTransport::Stdio { command, cwd, .. } = &mut self.transport else {
            return;
        };
        let inside = |path: &str| {
            // Without the dots in between.
            let whole: PathBuf = folder.join(path).components().collect();
            whole.to_str().map(str::to_owned)
        };
        if command.chars().any(std::path::is_separator) && !command.contains("${") {
            *command = inside(command).unwrap_or_else(|| std::mem::take(command));
        }
        match cwd {
            Some(path) if path.contains("${") || path.starts_with('~') => {}
            Some(path) => *cwd = inside(path),
            None => *cwd = folder.to_str().map(str::to_owned),
        }
    }

    /// A server that is switched on and says nothing else.
    pub fn new(transport: DraftTransport) -> Self {
        Self {
            transport,
            enabled: true,
            start_timeout: None,
            call_timeout: None,
            include: Vec::new(),
            exclude: Vec::new(),
            era: None,
        }
    }
}

impl DraftTransport {
    /// The transport in a word: `stdio`, `http` or `sse`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http {
                flavor: HttpFlavor::Sse,
                ..
            } => "sse",
            Self::Http { .. } => "http",
        }
    }
}
