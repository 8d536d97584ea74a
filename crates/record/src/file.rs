//! The file of a recording: whose it is, who may read it, and where in it a new recording begins.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::RecordError;

/// How long to wait for another recorder of the same file.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How often to look whether it has ended.
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// What becomes of a recording that the file holds already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The new one is added behind it: clients start a server more than once.
    #[default]
    Continue,
    /// It is replaced.
    Replace,
}

/// Opens the file, held by this process alone while it records.
pub(crate) fn open_file(path: &Path, existing: Existing) -> Result<File, RecordError> {
    let open = |source| RecordError::Open {
        path: path.to_path_buf(),
        source,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(open)?;
    if !file.metadata().map_err(open)?.is_file() {
        // A pipe or a device takes what it is given.
        return Ok(file);
    }
    lock(&file, path)?;
    if file.metadata().map_err(open)?.len() > 0 && !is_recording(&file, path) {
        return Err(RecordError::NotReplaced {
            path: path.to_path_buf(),
        });
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let private = std::fs::Permissions::from_mode(0o600);
        file.set_permissions(private).map_err(open)?;
    }
    match existing {
        Existing::Replace => {
            file.set_len(0).map_err(open)?;
            io::Seek::rewind(&mut &file).map_err(open)?;
        }
        Existing::Continue => go_to_the_end(&file, path).map_err(open)?,
    }
    Ok(file)
}

/// Waits a little for another recorder of the file, which may be about to end.
fn lock(file: &File, path: &Path) -> Result<(), RecordError> {
    let give_up = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            // Some file systems have no locks; then two recorders of one file are not noticed.
            Err(std::fs::TryLockError::Error(_)) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() >= give_up => {
                return Err(RecordError::Busy {
                    path: path.to_path_buf(),
                });
            }
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
        }
    }
}

/// A recording that was cut in a line must not swallow the header of the next one.
fn go_to_the_end(mut file: &File, path: &Path) -> io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 || is_compressed(path) {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    match last {
        [b'\n'] => Ok(()),
        _ => file.write_all(b"\n"),
    }
}

/// Whether a file begins like a recording, compressed if its name says so.
fn is_recording(file: &File, path: &Path) -> bool {
    let beginning: &[u8] = match is_compressed(path) {
        true => &[0x1f, 0x8b],
        false => b"{\"format\":",
    };
    let mut reader = BufReader::with_capacity(64, file);
    let found = reader.fill_buf();
    found.is_ok_and(|found| found.starts_with(beginning))
}

/// Whether a file is written and read compressed.
pub(crate) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "gz")
}
