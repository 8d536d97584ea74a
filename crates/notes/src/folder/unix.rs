//! Folders as descriptors: a name is looked up in the folder that was opened, whatever happens to
//! the path that led there.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use super::{Kind, Stamp};

#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

/// What a folder is opened for: to be looked into, never through a link.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The same for a file. Opening a pipe does not wait for its other end.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Another handle to the same folder.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    pub(super) fn sub(&self, name: &str) -> io::Result<Self> {
        let opened = rustix::fs::openat(&self.0, name, FOLDER, Mode::empty());
        opened.map(Self).map_err(links_are_nothing)
    }

    pub(super) fn kind(&self, name: &str) -> io::Result<Kind> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind(&stat))
    }

    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let opened = rustix::fs::openat(&self.0, name, FILE, Mode::empty());
        opened.map(File::from).map_err(links_are_nothing)
    }

    /// Opens a file in folders beneath this one in a single step, in which the kernel follows no
    /// link; `None` where it cannot do so.
    #[cfg(target_os = "linux")]
    pub(super) fn open_beneath(&self, path: &str) -> Option<io::Result<File>> {
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;

        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.0, path, FILE, Mode::empty(), resolve) {
            // Old kernels do not know it, some sandboxes forbid it, and a folder that is moved
            // meanwhile makes it give up.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => None,
            opened => Some(opened.map(File::from).map_err(links_are_nothing)),
        }
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    pub(super) fn make(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(
            &self.0,
            name,
            Mode::from_raw_mode(0o777),
        )?)
    }

    pub(super) fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o666);
        let file = rustix::fs::openat(&self.0, name, flags | OFlags::CLOEXEC, mode)?;
        Ok(File::from(file))
    }

    pub(super) fn place(&self, draft: &str, name: &str, replaces: bool) -> io::Result<()> {
        if replaces {
            rustix::fs::renameat(&self.0, draft, &self.0, name)?;
        } else {
            self.place_new(draft, name)?;
        }
        rustix::fs::fsync(&self.0)?;
        Ok(())
    }

    /// A link to the draft fails where the name is taken, also by a quicker writer.
    fn place_new(&self, draft: &str, name: &str) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&self.0, draft, &self.0, name, flags) {
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
                other => return Ok(other?),
            }
        }
        rustix::fs::linkat(&self.0, draft, &self.0, name, AtFlags::empty())?;
        self.remove(draft)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }
}

/// What is behind a link is not in the folder.
fn links_are_nothing(error: rustix::io::Errno) -> io::Error {
    match error {
        rustix::io::Errno::LOOP => io::ErrorKind::NotFound.into(),
        other => other.into(),
    }
}

pub(super) fn kind_of(file: &File) -> io::Result<Kind> {
    Ok(kind(&rustix::fs::fstat(file)?))
}

fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            #[allow(
                clippy::unnecessary_cast,
                reason = "the types of these fields differ between systems"
            )]
            let (seconds, fraction) = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
            Kind::File(Stamp {
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: seconds
                    .saturating_mul(1_000_000_000)
                    .saturating_add(fraction),
                inode: stat.st_ino,
            })
        }
        FileType::Directory => Kind::Folder,
        _ => Kind::Other,
    }
}
