//! The socket between commands and the background process, for the user alone.
//!
//! Owns what differs between systems: a socket in a private folder whose peer is checked on Unix, a
//! named pipe on Windows. One process at a time listens: it keeps a file locked, which the system
//! unlocks in whatever way it ends, so a socket that was left behind is known to have no process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::mem::ManuallyDrop;

use crate::Place;

/// A place to accept connections at, held by one process.
pub struct Listener {
    inner: platform::Listener,
    place: Place,
    /// Kept until the process ends, which is what a command that waits for it means.
    _lock: ManuallyDrop<File>,
}

/// Begins to listen; `None` if another process does.
pub fn listen(place: &Place) -> io::Result<Option<Listener>> {
    platform::private_folder(place.folder())?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut lock = options.open(place.lock())?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    lock.set_len(0)?;
    write!(lock, "{}", std::process::id())?;
    Ok(Some(Listener {
        inner: platform::listen(place)?,
        place: place.clone(),
        _lock: ManuallyDrop::new(lock),
    }))
}

/// Whether a process listens, or is about to end.
pub fn is_held(place: &Place) -> bool {
    let lock = File::open(place.lock());
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

/// The process that does, as far as the system lets a locked file be read.
pub fn holder(place: &Place) -> Option<u32> {
    let number = std::fs::read_to_string(place.lock()).ok()?;
    number.parse().ok().filter(|_| is_held(place))
}

impl Listener {
    /// The next connection of this user. Those of others are closed unheard.
    pub(crate) async fn accept(&mut self) -> io::Result<platform::Stream> {
        self.inner.accept().await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        platform::remove(&self.place);
    }
}

pub(crate) use platform::{Stream, connect};

#[cfg(unix)]
mod platform {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
    use std::path::Path;

    use tokio::net::{UnixListener, UnixStream};

    use crate::Place;

    pub(crate) type Stream = UnixStream;

    pub(super) struct Listener(UnixListener);

    /// Makes the folder, or refuses one that others can look into.
    pub(super) fn private_folder(folder: &Path) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        check_folder(folder)
    }

    fn check_folder(folder: &Path) -> io::Result<()> {
        let found = fs::symlink_metadata(folder)?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if found.is_dir() && is_ours && found.mode() & 0o077 == 0 {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{} is not yours alone; chmod 700 makes it so",
                folder.display()
            ),
        ))
    }

    /// The lock is held, so a socket that is there was left behind.
    pub(super) fn listen(place: &Place) -> io::Result<Listener> {
        remove(place);
        let socket = place.socket();
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
        Ok(Listener(listener))
    }

    pub(super) fn remove(place: &Place) {
        // A socket that is not there need not go.
        let _ = fs::remove_file(place.socket());
    }

    impl Listener {
        pub(super) async fn accept(&mut self) -> io::Result<Stream> {
            loop {
                let (stream, _) = self.0.accept().await?;
                if is_ours(&stream) {
                    return Ok(stream);
                }
            }
        }
    }

    /// Connects to the process that listens, if it is this user's.
    pub(crate) async fn connect(place: &Place) -> io::Result<Stream> {
        check_folder(place.folder())?;
        let stream = UnixStream::connect(place.socket()).await?;
        match is_ours(&stream) {
            true => Ok(stream),
            false => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        }
    }

    fn is_ours(stream: &UnixStream) -> bool {
        let user = rustix::process::geteuid().as_raw();
        stream.peer_cred().is_ok_and(|peer| peer.uid() == user)
    }
}

#[cfg(windows)]
mod platform {
    use std::io;
    use std::path::Path;

    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeServer, ServerOptions};

    use crate::Place;

    /// Both ends of a pipe.
    pub(crate) type Stream = Box<dyn Pipe>;

    pub(crate) trait Pipe: AsyncRead + AsyncWrite + Send + Unpin {}
    impl<T: AsyncRead + AsyncWrite + Send + Unpin> Pipe for T {}

    pub(super) struct Listener {
        name: String,
        next: NamedPipeServer,
    }

    /// The user's own folders are private already.
    pub(super) fn private_folder(folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)
    }

    fn name(place: &Place) -> String {
        let file = place.socket();
        let file = file.file_stem().unwrap_or_default().to_string_lossy();
        format!(r"\\.\pipe\attache-{file}")
    }

    pub(super) fn listen(place: &Place) -> io::Result<Listener> {
        let name = name(place);
        let next = ServerOptions::new()
            .first_pipe_instance(true)
            .create(&name)?;
        Ok(Listener { name, next })
    }

    /// A pipe ends with its process.
    pub(super) fn remove(_place: &Place) {}

    impl Listener {
        pub(super) async fn accept(&mut self) -> io::Result<Stream> {
            self.next.connect().await?;
            let next = ServerOptions::new().create(&self.name)?;
            Ok(Box::new(std::mem::replace(&mut self.next, next)))
        }
    }

    pub(crate) async fn connect(place: &Place) -> io::Result<Stream> {
        let client = ClientOptions::new().open(name(place))?;
        Ok(Box::new(client))
    }
}
