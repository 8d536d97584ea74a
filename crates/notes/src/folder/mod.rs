//! The folder of notes: everything is opened beneath its root (S15).
//!
//! Paths are relative, with slashes. Every folder on the way is opened by name from the one above
//! it, symbolic links are never followed, and only regular files are read, so neither a link nor a
//! pipe or device in the folder leads anywhere. Knows nothing of Markdown.

#[cfg(not(unix))]
mod paths;
mod rules;
mod scan;
#[cfg(unix)]
mod unix;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(unix))]
use paths::Directory;
pub(crate) use rules::{RULES_FILE, Rules};
pub(crate) use scan::Scan;
#[cfg(unix)]
use unix::Directory;

/// The largest note that is read.
pub const LARGEST_NOTE: u64 = 16 * 1024 * 1024;

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// Nanoseconds since 1970; clocks go backwards, so stamps are compared, never ordered.
    pub(crate) modified: i64,
    pub(crate) inode: u64,
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File(Stamp),
    Folder,
    /// A link, pipe, socket or device.
    Other,
}

/// Why a note cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// There is no regular file of that name.
    #[error("there is no such note")]
    NotFound,
    /// It is larger than a note may be.
    #[error("the note has {0} bytes, more than the {LARGEST_NOTE} that are read")]
    TooLarge(u64),
    /// The system refuses.
    #[error("the note cannot be read: {0}")]
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidInput => Self::NotFound,
            _ => Self::Io(error),
        }
    }
}

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    root: Directory,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let root = Directory::open(&path)?;
        Ok(Self { path, root })
    }

    /// The real path of the root.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What there is at a path. Nothing, if a folder on the way is not there or is a link.
    pub(crate) fn kind(&self, path: &str) -> io::Result<Option<Kind>> {
        let found = self
            .above(path)
            .and_then(|(folder, name)| folder.kind(name));
        match found {
            Ok(kind) => Ok(Some(kind)),
            Err(error) => match ReadError::from(error) {
                ReadError::NotFound => Ok(None),
                ReadError::Io(error) => Err(error),
                ReadError::TooLarge(_) => Ok(None),
            },
        }
    }

    /// The state of the regular file at a path, if there is one.
    pub(crate) fn stamp(&self, path: &str) -> Option<Stamp> {
        match self.kind(path) {
            Ok(Some(Kind::File(stamp))) => Some(stamp),
            _ => None,
        }
    }

    /// The bytes of a file, at most `limit` of them, and the state they belong to.
    pub(crate) fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, Stamp), ReadError> {
        let file = self.open_file(path)?;
        let Kind::File(stamp) = unix_or_path_kind(&file)? else {
            return Err(ReadError::NotFound);
        };
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size.min(limit)).unwrap_or(0));
        file.take(limit).read_to_end(&mut bytes)?;
        Ok((bytes, stamp))
    }

    fn open_file(&self, path: &str) -> io::Result<File> {
        let (names, name) = split(path)?;
        #[cfg(target_os = "linux")]
        if let Some(opened) = self.root.open_beneath(path) {
            return opened;
        }
        self.folder_of(&names)?.open_file(name)
    }

    /// A whole note.
    pub(crate) fn read_note(&self, path: &str) -> Result<(Vec<u8>, Stamp), ReadError> {
        // A byte more than allowed tells a note that grows while it is read.
        let (bytes, stamp) = self.read(path, LARGEST_NOTE + 1)?;
        let size = stamp.size.max(bytes.len() as u64);
        if size > LARGEST_NOTE {
            return Err(ReadError::TooLarge(size));
        }
        Ok((bytes, stamp))
    }

    /// Writes a file as a whole or not at all; folders on the way are made. An existing one is
    /// replaced only if `replaces` says so.
    pub(crate) fn write(&self, path: &str, text: &[u8], replaces: bool) -> io::Result<()> {
        let (names, name) = split(path)?;
        let mut folder = self.root.again()?;
        for part in names {
            folder = match folder.sub(part) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    folder.make(part)?;
                    folder.sub(part)?
                }
                other => other?,
            };
        }
        if !replaces && folder.kind(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let draft = draft_name(name);
        let written = (|| {
            let mut file = folder.create(&draft)?;
            file.write_all(text)?;
            file.sync_all()?;
            folder.place(&draft, name, replaces)
        })();
        if written.is_err() {
            // The draft is hidden, so one that cannot be removed is no note.
            let _ = folder.remove(&draft);
        }
        written
    }

    /// The folder above a path, and the last name.
    fn above<'a>(&self, path: &'a str) -> io::Result<(Directory, &'a str)> {
        let (names, name) = split(path)?;
        Ok((self.folder_of(&names)?, name))
    }

    fn folder_of(&self, names: &[&str]) -> io::Result<Directory> {
        let mut folder = self.root.again()?;
        for name in names {
            folder = folder.sub(name)?;
        }
        Ok(folder)
    }
}

/// A hidden name that no other draft has, and not too long for the system.
fn draft_name(name: &str) -> String {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let beginning: String = name.chars().take(40).collect();
    format!(".{beginning}.attache-{}-{number}", std::process::id())
}

fn unix_or_path_kind(file: &File) -> io::Result<Kind> {
    #[cfg(unix)]
    return unix::kind_of(file);
    #[cfg(not(unix))]
    return paths::kind_of(file);
}

/// The names of a path; it must stay beneath.
fn split(path: &str) -> io::Result<(Vec<&str>, &str)> {
    let mut names: Vec<&str> = path.split('/').collect();
    let is_bad =
        |name: &&str| name.is_empty() || matches!(*name, "." | "..") || name.contains(['\0', '\\']);
    let last = names.pop().filter(|last| !is_bad(last));
    match last {
        Some(last) if !names.iter().any(is_bad) => Ok((names, last)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
