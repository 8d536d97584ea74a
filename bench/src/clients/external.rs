//! How the workers are launched, those of the clients in other languages too.
//!
//! Owns where `bench/run` has put them. Refuses to install anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ClientKind;
use crate::Result;

/// Where the standard error of all workers goes, inside the folder of peers.
pub(crate) const WORKER_LOG: &str = "workers.log";

/// The folder with the installed peers, laid out by `bench/run`.
#[derive(Clone, Debug)]
pub(crate) struct Peers {
    folder: PathBuf,
}

impl Peers {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The command line that starts a worker for this client. What it and its
    /// servers say on standard error goes to a file, not between the table's lines.
    pub(crate) fn launch(&self, kind: ClientKind) -> Result<Command> {
        fs::create_dir_all(&self.folder)?;
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(WORKER_LOG))?;
        let mut command = self.worker(kind)?;
        command.stderr(log);
        Ok(command)
    }

    fn worker(&self, kind: ClientKind) -> Result<Command> {
        match kind {
            ClientKind::TypeScript => {
                let mut command = self.node("typescript")?;
                command.arg(self.installed("typescript/client.mjs")?);
                Ok(command)
            }
            ClientKind::Python => {
                let mut command = Command::new(self.installed("python/venv/bin/python")?);
                command.arg(self.installed("python/client.py")?);
                Ok(command)
            }
            ClientKind::RawPipe
            | ClientKind::Blocking
            | ClientKind::Rmcp
            | ClientKind::AttacheRaw
            | ClientKind::AttacheTyped
            | ClientKind::AttacheObserved => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["worker", kind.name()]);
                Ok(command)
            }
        }
    }

    /// The Node that was installed beside the packages of a peer.
    pub(crate) fn node(&self, peer: &str) -> Result<Command> {
        Ok(Command::new(
            self.installed(format!("{peer}/node_modules/node/bin/node"))?,
        ))
    }

    /// An installed file, or an error that names what is missing.
    pub(crate) fn installed(&self, path: impl AsRef<Path>) -> Result<PathBuf> {
        let path = path.as_ref();
        let file = self.folder.join(path);
        if file.exists() {
            Ok(file)
        } else {
            Err(format!("{} is not installed", path.display()).into())
        }
    }
}
