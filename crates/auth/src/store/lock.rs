//! Locks that hold across processes: one empty file per entry, locked by the operating system.
//!
//! The system frees a lock when its process ends, however it ends. Lock files are never removed:
//! two processes could then hold locks on two files of the same name.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::{Entry, EntryLock, blocking, failed};
use crate::error::AuthorizationError;

/// How often a taken lock is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// Locks in one folder.
#[derive(Clone, Debug)]
pub(super) struct FileLocks {
    folder: PathBuf,
}

impl FileLocks {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) async fn lock(
        &self,
        entry: &Entry,
        patience: Duration,
    ) -> Result<EntryLock, AuthorizationError> {
        let path = self.folder.join(format!("{}.lock", entry.file_name()));
        let deadline = Instant::now() + patience;
        loop {
            let path = path.clone();
            let folder = self.folder.clone();
            if let Some(file) = blocking(move || try_lock(&folder, &path)).await? {
                return Ok(EntryLock::new(file));
            }
            if Instant::now() >= deadline {
                return Err(AuthorizationError::Busy { after: patience });
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

fn try_lock(folder: &Path, path: &Path) -> Result<Option<File>, AuthorizationError> {
    let named = |error: io::Error| failed(format!("{}: {error}", path.display()));
    create_private_folder(folder).map_err(named)?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    private(&mut options);
    let file = options.open(path).map_err(named)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(named(error)),
    }
}

/// Creates a folder that only its owner can enter.
pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// New files can be read by their owner alone. Windows keeps profile folders private by itself.
pub(super) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = options;
}
