//! Credentials in files that only their owner can read.
//!
//! One file per entry, replaced as a whole: a reader sees the old text or the new one, never half
//! of one, and a crash leaves the old one.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock::{FileLocks, create_private_folder, private};
use super::{CredentialStore, Entry, EntryLock, MAX_ENTRY_LENGTH, blocking, failed};
use crate::BoxFuture;
use crate::error::AuthorizationError;
use crate::jwt;
use crate::secret::Secret;

/// What the names of drafts begin with.
const DRAFT: &str = ".draft-";
/// A draft this old is nobody's any more: writing one takes milliseconds.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Keeps credentials in a folder.
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: PathBuf,
    locks: FileLocks,
}

impl FileStore {
    /// Keeps credentials in this folder, which is created for its owner alone when first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            locks: FileLocks::new(folder.clone()),
            folder,
        }
    }

    fn path(&self, entry: &Entry) -> PathBuf {
        self.folder.join(format!("{}.json", entry.file_name()))
    }
}

impl CredentialStore for FileStore {
    fn load<'a>(
        &'a self,
        entry: &'a Entry,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthorizationError>> {
        let path = self.path(entry);
        Box::pin(blocking(move || read(&path)))
    }

    fn save<'a>(
        &'a self,
        entry: &'a Entry,
        text: Secret,
    ) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        let path = self.path(entry);
        let folder = self.folder.clone();
        Box::pin(blocking(move || {
            if text.expose().len() > MAX_ENTRY_LENGTH {
                return Err(failed(format!(
                    "they are longer than {MAX_ENTRY_LENGTH} bytes and are not kept"
                )));
            }
            let random = jwt::random_text()?;
            let draft = folder.join(format!("{DRAFT}{random}"));
            let written = write(&folder, &draft, &path, &text);
            if written.is_err() {
                // A draft that cannot be removed either is reported with the first failure.
                let _ = fs::remove_file(&draft);
            }
            sweep(&folder);
            written.map_err(|error| failed(format!("{}: {error}", path.display())))
        }))
    }

    fn delete<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        let path = self.path(entry);
        let folder = self.folder.clone();
        Box::pin(blocking(move || {
            sweep(&folder);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(failed(format!("{}: {error}", path.display())))
                }
                _ => Ok(()),
            }
        }))
    }

    fn lock<'a>(
        &'a self,
        entry: &'a Entry,
        patience: Duration,
    ) -> BoxFuture<'a, Result<EntryLock, AuthorizationError>> {
        Box::pin(self.locks.lock(entry, patience))
    }
}

fn read(path: &Path) -> Result<Option<Secret>, AuthorizationError> {
    let named = |problem: String| failed(format!("{}: {problem}", path.display()));
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(named(error.to_string())),
    };
    let metadata = file.metadata().map_err(|error| named(error.to_string()))?;
    if is_open_to_others(&metadata) {
        return Err(named(
            "others can read it; remove it and log in again".to_owned(),
        ));
    }
    let mut text = String::new();
    file.take(MAX_ENTRY_LENGTH as u64 + 1)
        .read_to_string(&mut text)
        .map_err(|error| named(error.to_string()))?;
    if text.len() > MAX_ENTRY_LENGTH {
        return Err(named(format!("it is longer than {MAX_ENTRY_LENGTH} bytes")));
    }
    Ok(Some(Secret::new(text)))
}

/// Writes a draft, makes sure that it is on the disk, and puts it in place.
fn write(folder: &Path, draft: &Path, path: &Path, text: &Secret) -> io::Result<()> {
    create_private_folder(folder)?;
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    private(&mut options);
    let mut file = options.open(draft)?;
    file.write_all(text.expose().as_bytes())?;
    file.sync_all()?;
    drop(file);
    fs::rename(draft, path)
}

/// Removes drafts of processes that were killed: they may hold tokens that were given up since. One
/// that cannot be removed is as private as it was.
fn sweep(folder: &Path) {
    let Ok(files) = fs::read_dir(folder) else {
        return;
    };
    for file in files.flatten() {
        let is_draft = file.file_name().to_string_lossy().starts_with(DRAFT);
        let written = file.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if is_draft && age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(file.path());
        }
    }
}

#[cfg(unix)]
fn is_open_to_others(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_metadata: &fs::Metadata) -> bool {
    false
}
