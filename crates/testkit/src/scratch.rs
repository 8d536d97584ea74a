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

    /// Writes a file in it, and the folders above, and gives its path.
    pub fn write(&self, file: &str, contents: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.path.join(file);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, contents)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing useful can be done about a folder that will not go.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_vanishes_with_everything_in_it() {
        let folder = Scratch::new("vanishing").unwrap();
        let file = folder.write("above/file", "contents").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "contents");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
