//! A server as a file describes it, before any variable is expanded.
//!
//! What discovery finds, import writes and export reads: secrets stay references, and the text is
//! that of the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use attache_client::EraChoice;
use attache_client::protocol::Implementation;

use super::{Profile, Transport};

/// A server, not yet expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// How to reach it; its texts may hold references to variables.
    pub transport: Transport,
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
    /// The profile that fits the tool.
    pub profile: Option<Profile>,
    /// How the tool names itself to the server, if the server may expect it.
    pub client: Option<Implementation>,
}

impl Draft {
    /// The same for a file elsewhere: relative paths of a program are those of `folder`, and it
    /// starts there (S21).
    pub(super) fn settle_in(&mut self, folder: &Path) {
        let Transport::Stdio(launch) = &mut self.transport else {
            return;
        };
        // Without the dots in between.
        let inside = |path: &Path| -> PathBuf { folder.join(path).components().collect() };
        let program = launch.program.to_string_lossy();
        if program.chars().any(std::path::is_separator) && !program.contains("${") {
            launch.program = inside(Path::new(&launch.program)).into();
        }
        launch.cwd = match launch.cwd.take() {
            Some(path) if is_reference(&path) => Some(path),
            Some(path) => Some(inside(&path)),
            None => Some(folder.to_path_buf()),
        };
    }

    /// A server that is switched on and says nothing else.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            enabled: true,
            start_timeout: None,
            call_timeout: None,
            include: Vec::new(),
            exclude: Vec::new(),
            era: None,
            profile: None,
            client: None,
        }
    }
}

/// Whether a path begins elsewhere than it is written: at a variable, or at home.
fn is_reference(path: &Path) -> bool {
    let text = path.to_string_lossy();
    text.contains("${") || text.starts_with('~')
}
