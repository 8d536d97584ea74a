//! Takes stdin and stdout away from everybody else in this process.
//!
//! A `println!` of a handler, or a child process it starts, must not reach the wire (S-STDIO-02).
//! On Unix the protocol gets descriptors of its own; descriptor 1 then leads to stderr and
//! descriptor 0 to nothing.

use std::future::Future;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

/// The protocol's side of stdin and stdout.
pub(crate) struct Streams {
    pub(crate) read: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) write: Box<dyn AsyncWrite + Send + Unpin>,
    /// Ends when nothing can read stdout any more, where the system tells; else never.
    pub(crate) unread: Pin<Box<dyn Future<Output = ()> + Send>>,
}

#[cfg(unix)]
pub(crate) fn take() -> io::Result<Streams> {
    use std::os::fd::OwnedFd;

    let stdin: OwnedFd = rustix::io::dup(rustix::stdio::stdin())?;
    let stdout: OwnedFd = rustix::io::dup(rustix::stdio::stdout())?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    let unread = unix::unread(&stdout);
    Ok(Streams {
        read: unix::reader(stdin)?,
        write: unix::writer(stdout)?,
        unread: Box::pin(unread),
    })
}

/// Elsewhere the streams are shared with the rest of the process: handlers must not print.
#[cfg(not(unix))]
pub(crate) fn take() -> io::Result<Streams> {
    Ok(Streams {
        read: Box::new(tokio::io::stdin()),
        write: Box::new(tokio::io::stdout()),
        unread: Box::pin(std::future::pending()),
    })
}

#[cfg(unix)]
mod unix {
    use std::future::Future;
    use std::io;
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::os::unix::net::UnixStream;

    use rustix::fs::FileType;
    use tokio::io::{AsyncRead, AsyncWrite, Interest};
    use tokio::net::unix::pipe;

    pub(super) fn reader(stdin: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
        Ok(match kind(&stdin)? {
            FileType::Fifo => match reopened(&stdin, |it, path| it.open_receiver(path)) {
                Some(pipe) => Box::new(pipe),
                None => Box::new(pipe::Receiver::from_owned_fd(stdin)?),
            },
            FileType::Socket => Box::new(socket(stdin)?),
            // Files and terminals are read by a thread of the runtime.
            _ => Box::new(tokio::fs::File::from_std(std::fs::File::from(stdin))),
        })
    }

    pub(super) fn writer(stdout: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
        Ok(match kind(&stdout)? {
            FileType::Fifo => match reopened(&stdout, |it, path| it.open_sender(path)) {
                Some(pipe) => Box::new(pipe),
                None => Box::new(pipe::Sender::from_owned_fd(stdout)?),
            },
            FileType::Socket => Box::new(socket(stdout)?),
            _ => Box::new(tokio::fs::File::from_std(std::fs::File::from(stdout))),
        })
    }

    /// Waits until all readers of a pipe are gone. Of other streams only a write would tell.
    pub(super) fn unread(stdout: &OwnedFd) -> impl Future<Output = ()> + Send + use<> {
        let watched = match kind(stdout) {
            Ok(FileType::Fifo) => reopened(stdout, |it, path| it.open_sender(path)),
            _ => None,
        };
        async move {
            let is_unread = match &watched {
                Some(watched) => watched.ready(Interest::ERROR).await.is_ok(),
                None => false,
            };
            if !is_unread {
                std::future::pending::<()>().await;
            }
        }
    }

    fn kind(descriptor: &OwnedFd) -> io::Result<FileType> {
        let stat = rustix::fs::fstat(descriptor)?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    fn socket(descriptor: OwnedFd) -> io::Result<tokio::net::UnixStream> {
        let socket = UnixStream::from(descriptor);
        socket.set_nonblocking(true)?;
        tokio::net::UnixStream::from_std(socket)
    }

    /// The same pipe opened once more, where the system has a name for it. Making a shared
    /// description non-blocking would surprise whoever shares it, such as stderr after `2>&1`.
    fn reopened<T>(
        descriptor: &OwnedFd,
        open: impl Fn(&pipe::OpenOptions, String) -> io::Result<T>,
    ) -> Option<T> {
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        open(&pipe::OpenOptions::new(), path).ok()
    }
}
