//! Folders as paths, where the system has no descriptors for them: every step is looked at before it
//! is taken.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{Kind, Stamp};
use crate::calendar;

#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(Self(path.to_owned())),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self(self.0.clone()))
    }

    pub(super) fn sub(&self, name: &str) -> io::Result<Self> {
        match self.kind(name)? {
            Kind::Folder => Ok(Self(self.0.join(name))),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn kind(&self, name: &str) -> io::Result<Kind> {
        Ok(kind(&fs::symlink_metadata(self.0.join(name))?))
    }

    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        match self.kind(name)? {
            Kind::File(_) => File::open(self.0.join(name)),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.0)?
            .map(|it| Ok(it?.file_name()))
            .collect()
    }

    pub(super) fn make(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        File::create(self.0.join(name))
    }

    pub(super) fn place(&self, draft: &str, name: &str, _: bool) -> io::Result<()> {
        fs::rename(self.0.join(draft), self.0.join(name))
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }
}

pub(super) fn kind_of(file: &File) -> io::Result<Kind> {
    Ok(kind(&file.metadata()?))
}

fn kind(metadata: &Metadata) -> Kind {
    if metadata.is_dir() {
        return Kind::Folder;
    }
    if !metadata.is_file() {
        return Kind::Other;
    }
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    Kind::File(Stamp {
        size: metadata.len(),
        modified: calendar::nanoseconds(modified.unwrap_or_default()),
        inode: 0,
    })
}
