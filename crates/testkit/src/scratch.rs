//! Folders that live as long as a test needs them.
//!
//! Owns unguessable names in the system's temporary folder and their removal.

use std::io;
use std::path::{Path, PathBuf};

use crate::random;

/// A new folder, deleted with everything in it when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a folder whose name begins with `purpose`.
    pub fn new(purpose: &str) -> io::Result<Self> {
        let name = format!("attache-{purpose}-{}", random::token());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing useful can be done about a folder that will not go.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
