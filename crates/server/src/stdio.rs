//! Takes stdin and stdout away from everybody else in this process.
//!
//! A `println!` of a handler, or a child process it starts, must not reach the wire (S-STDIO-02).
//! On Unix the protocol gets descriptors of its own; descriptor 1 then leads to stderr and
//! descriptor 0 to nothing.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

/// The protocol's side of stdin and stdout.
pub(crate) type Halves = (
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncWrite + Send + Unpin>,
);

#[cfg(unix)]
pub(crate) fn take() -> io::Result<Halves> {
    use std::os::fd::OwnedFd;

    let stdin: OwnedFd = rustix::io::dup(rustix::stdio::stdin())?;
    let stdout: OwnedFd = rustix::io::dup(rustix::stdio::stdout())?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((unix::reader(stdin)?, unix::writer(stdout)?))
}

/// Elsewhere the streams are shared with the rest of the process: handlers must not print.
#[cfg(not(unix))]
pub(crate) fn take() -> io::Result<Halves> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::os::unix::net::UnixStream;

    use rustix::fs::FileType;
    use tokio::io::{AsyncRead, AsyncWrite};
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
