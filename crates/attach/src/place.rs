//! Where the background process of a configuration is found, and whether it is the right one.
//!
//! There is one for each configuration file, so the socket is named after the file. Whether it keeps
//! the very servers that this program would start is told by a key: a digest of the file's text, of
//! the variables that it names or that programs inherit, and of what restricts calls.

use std::path::{Path, PathBuf};

use attache::host::config::UserEnvironment;
use attache::host::trust::{Loaded, TrustState};
use attache::host::{path_digest, shareable};

/// How many digits of a path's digest name its socket.
const DIGITS: usize = 16;

/// The place of one configuration's background process.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
    name: String,
    key: String,
    file: PathBuf,
}

impl Place {
    /// The place for a configuration that was read, and the text of its lock file; none if the
    /// configuration may not be run, or there is no folder to put a socket in.
    pub fn of(loaded: &Loaded, environment: &UserEnvironment, lock: Option<&str>) -> Option<Self> {
        if loaded.trust != TrustState::Trusted {
            return None;
        }
        let file = loaded.found.file.clone();
        Some(Self {
            folder: Self::folder_of(environment)?,
            name: path_digest(&file)[..DIGITS].to_owned(),
            key: shareable(loaded, environment, lock),
            file,
        })
    }

    /// The user's folder of sockets: in the one for what lives as long as a login, or else in the
    /// state folder. It may not be there yet.
    pub fn folder_of(environment: &UserEnvironment) -> Option<PathBuf> {
        let runtime = environment.variable("XDG_RUNTIME_DIR");
        match runtime.map(PathBuf::from).filter(|it| it.is_absolute()) {
            Some(folder) => Some(folder.join("attache")),
            None => Some(environment.state_folder()?.join("run")),
        }
    }

    /// What has to be the same on both sides.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The configuration file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The folder of sockets, which is the user's alone.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The socket, or on Windows the last part of the pipe's name.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!("{}.sock", self.name))
    }

    /// The file that a background process keeps locked while it runs.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }
}
