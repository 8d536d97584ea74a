//! Small files that several processes keep together.
//!
//! Owns reading with a size limit, replacing a file in one step with rights for the user alone, and
//! changing a file under a lock so that no writer loses another's entries. It knows nothing of what
//! the files say. Everything here blocks for as long as the disk does.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The largest file that is read: far above any honest one.
pub(crate) const LARGEST: u64 = 16 * 1024 * 1024;
/// How long to wait for another writer, who holds the lock for milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often to look whether the lock is free.
const LOOK: Duration = Duration::from_millis(2);

/// The text of a file, or nothing if there is no such file.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the file is larger than {LARGEST} bytes"),
        ));
    }
    Ok(Some(text))
}

/// Puts a whole file in place in one step: a reader sees the old text or the new one.
///
/// The file gets the rights of the one it replaces, or is for the user alone. Its folder is made
/// if it is not there.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    replace_and(path, text, File::sync_all)
}

/// The same for what may be lost when the machine fails: nothing waits until the disk has it.
pub(crate) fn replace_losable(path: &Path, text: &str) -> io::Result<()> {
    replace_and(path, text, |_| Ok(()))
}

fn replace_and(path: &Path, text: &str, settle: fn(&File) -> io::Result<()>) -> io::Result<()> {
    // A file that is a link to another place, as in a folder of dotfiles, stays one.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let rights = fs::metadata(path).ok().map(|former| former.permissions());
    put(path, text, rights, settle)
}

/// The same for a text with secrets: for the user alone whatever the former file was, and never at
/// the other end of a link, which another may have put there.
pub(crate) fn replace_privately(path: &Path, text: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(io::Error::other(
            "it is a link; name the file it leads to with --config",
        ));
    }
    put(path, text, None, File::sync_all)
}

fn put(
    path: &Path,
    text: &str,
    rights: Option<fs::Permissions>,
    settle: fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = draft_beside(path);
    let written = write_draft(&draft, rights, text).and_then(|file| settle(&file));
    let written = written.and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The draft is of no use to anybody.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Changes a file under a lock: reads it, lets `change` make the new text, and replaces it.
/// Nothing is written if `change` gives nothing.
pub(crate) fn update<E: From<io::Error>>(
    path: &Path,
    change: impl FnOnce(Option<String>) -> Result<Option<String>, E>,
) -> Result<(), E> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let _lock = lock(&beside(path, "lock~"))?;
    match change(read(path)?)? {
        Some(text) => Ok(replace(path, &text)?),
        None => Ok(()),
    }
}

/// Makes a folder for the user alone, if it is not there.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn write_draft(draft: &Path, rights: Option<fs::Permissions>, text: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    let mut file = options.open(draft)?;
    if let Some(rights) = rights {
        file.set_permissions(rights)?;
    }
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn draft_beside(path: &Path) -> PathBuf {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    beside(path, &format!("{}-{made}~", std::process::id()))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

/// Locks a file, which can be read and written meanwhile. The lock is free again when the file is
/// dropped, and when the process ends in whatever way.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(file) = try_lock(path)? {
            return Ok(file);
        }
        if Instant::now() >= give_up {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "another process has kept {} locked for {} seconds",
                    path.display(),
                    PATIENCE.as_secs()
                ),
            ));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(unix)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{FlockOperation, flock};

    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    let file = options.open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(windows)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt as _;

    /// The system's code for a file that somebody else has open.
    const SHARING_VIOLATION: i32 = 32;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .share_mode(0);
    match options.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
pub(crate) fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

/// The user's own folders are private already.
#[cfg(windows)]
pub(crate) fn private(_options: &mut OpenOptions) {}

#[cfg(test)]
mod tests {
    use super::*;
    use attache_testkit::scratch::Scratch;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_private() {
        let scratch = Scratch::new("state").unwrap();
        let path = scratch.path().join("deep/er/file.json");
        assert_eq!(read(&path).unwrap(), None);
        replace(&path, "one").unwrap();
        replace(&path, "two").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        let beside: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(beside.len(), 1, "no draft stays behind");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&path), 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            replace(&path, "three").unwrap();
            assert_eq!(mode(&path), 0o644);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let scratch = Scratch::new("state").unwrap();
        let real = scratch.path().join("real");
        let link = scratch.path().join("link");
        fs::write(&real, "one").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        replace(&link, "two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
    }

    #[test]
    fn a_file_above_the_limit_is_refused() {
        let scratch = Scratch::new("state").unwrap();
        let path = scratch.path().join("file");
        File::create(&path).unwrap().set_len(LARGEST).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().len() as u64, LARGEST);
        File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert_eq!(read(&path).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let scratch = Scratch::new("state").unwrap();
        let path = scratch.path().join("file");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for line in 0..10 {
                        update::<io::Error>(path, |text| {
                            let text = text.unwrap_or_default();
                            Ok(Some(format!("{text}{writer} {line}\n")))
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(read(&path).unwrap().unwrap().lines().count(), 80);
    }
}
