//! This process's own standard streams, for the one who passes them on.
//!
//! They are taken away from everything else, so that closing one is seen by the client, and nothing
//! this process prints reaches its stdout. Reading and writing block, also where the client has made
//! its end of a shared stream non-blocking.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A stream that blocks.
#[derive(Clone, Debug)]
pub(super) struct Stream(Arc<File>);

/// The three standard streams.
pub(super) struct Streams {
    pub(super) stdin: Stream,
    pub(super) stdout: Stream,
    pub(super) stderr: Stream,
}

impl Streams {
    pub(super) fn take() -> io::Result<Self> {
        let stdin: OwnedFd = rustix::io::dup(rustix::stdio::stdin())?;
        let stdout: OwnedFd = rustix::io::dup(rustix::stdio::stdout())?;
        let stderr: OwnedFd = rustix::io::dup(rustix::stdio::stderr())?;
        let nothing = File::open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Self {
            stdin: Stream::of(stdin),
            stdout: Stream::of(stdout),
            stderr: Stream::of(stderr),
        })
    }
}

impl Stream {
    pub(super) fn of(descriptor: OwnedFd) -> Self {
        Self(Arc::new(File::from(descriptor)))
    }

    /// Watches whether anything can read it, without keeping it open.
    pub(super) fn readers(&self) -> Readers {
        Readers(Arc::downgrade(&self.0))
    }

    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        let descriptor = self.0.as_fd();
        poll(&mut [PollFd::new(&descriptor, flags)], None)?;
        Ok(())
    }
}

/// The readers of a stream.
pub(super) struct Readers(Weak<File>);

impl Readers {
    /// Whether all readers of a pipe have closed it.
    pub(super) fn are_gone(&self) -> bool {
        let Some(file) = self.0.upgrade() else {
            return false;
        };
        let descriptor = file.as_fd();
        let mut polled = [PollFd::new(&descriptor, PollFlags::empty())];
        let at_once = Timespec::default();
        poll(&mut polled, Some(&at_once)).is_ok()
            && polled[0]
                .revents()
                .intersects(PollFlags::ERR | PollFlags::HUP)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match (&*self.0).read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(PollFlags::IN)?;
                }
                read => return read,
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match (&*self.0).write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT)?;
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
