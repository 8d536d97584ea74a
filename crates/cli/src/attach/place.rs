//! Where the background process of a configuration is found, and whether it is the right one.
//!
//! There is one for each configuration file, so the socket is named after the file. Whether it keeps
//! the very servers that this command would start is told by a key: a digest of the file's text, of
//! the variables that it names or that programs inherit, and of what restricts calls.

use std::path::{Path, PathBuf};

use attache::host::trust::TrustState;
use attache::host::{path_digest, shareable};

use crate::configuration::Configuration;
use crate::failure::Failure;

/// How many digits of a path's digest name its socket.
const DIGITS: usize = 16;

/// The place of one configuration's background process.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    name: String,
    /// What has to be the same on both sides.
    pub(crate) key: String,
    /// The configuration file.
    pub(crate) file: PathBuf,
}

impl Place {
    /// The place for a configuration; none if it has no file that may be run, or there is no folder
    /// to put a socket in.
    pub(crate) fn of(configuration: &Configuration) -> Result<Option<Self>, Failure> {
        let Some(folder) = run_folder(configuration) else {
            return Ok(None);
        };
        let Some(loaded) = configuration.load()? else {
            return Ok(None);
        };
        if loaded.trust != TrustState::Trusted {
            return Ok(None);
        }
        let lock = configuration.lock_file();
        let lock = lock.and_then(|file| std::fs::read_to_string(file).ok());
        let file = loaded.found.file.clone();
        Ok(Some(Self {
            folder,
            name: path_digest(&file)[..DIGITS].to_owned(),
            key: shareable(&loaded, &configuration.environment, lock.as_deref()),
            file,
        }))
    }

    /// The same for a command that looks for a process: none before the first `attache up`.
    pub(crate) fn of_running(configuration: &Configuration) -> Option<Self> {
        run_folder(configuration).filter(|folder| folder.is_dir())?;
        let place = Self::of(configuration).ok().flatten()?;
        place.socket().exists().then_some(place)
    }

    /// The folder of sockets, which is the user's alone.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The socket, or on Windows the last part of the pipe's name.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(format!("{}.sock", self.name))
    }

    /// The file that a background process keeps locked while it runs.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }
}

/// The user's folder for what lives as long as a login, or else one in the state folder.
fn run_folder(configuration: &Configuration) -> Option<PathBuf> {
    let runtime = configuration.environment.variable("XDG_RUNTIME_DIR");
    match runtime.map(PathBuf::from).filter(|it| it.is_absolute()) {
        Some(folder) => Some(folder.join("attache")),
        None => Some(configuration.state_folder()?.join("run")),
    }
}
