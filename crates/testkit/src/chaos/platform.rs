//! What a chaos server needs of its operating system: its standard streams
//! unbuffered, closed on demand, signals to itself, sessions.
//!
//! Owns every platform difference of the chaos server. Off Unix the streams
//! work and the rest answers `Unsupported`.

#[cfg(unix)]
pub(super) use unix::*;

#[cfg(unix)]
mod unix {
    use std::fs::OpenOptions;
    use std::io::{self, Read, Write};

    use crate::chaos::action::Signal;

    /// Standard input without a buffer, so that nothing is read ahead.
    pub(in crate::chaos) struct Stdin;

    impl Read for Stdin {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(rustix::io::read(rustix::stdio::stdin(), buffer)?)
        }
    }

    /// Standard output without a buffer, so that one write is one write.
    pub(in crate::chaos) struct Stdout;

    impl Write for Stdout {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Replacing a descriptor by the null device closes what it was.
    pub(in crate::chaos) fn close_stdin() -> io::Result<()> {
        let null = OpenOptions::new().read(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stdin(null)?)
    }

    pub(in crate::chaos) fn close_stdout() -> io::Result<()> {
        let null = OpenOptions::new().write(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stdout(null)?)
    }

    pub(in crate::chaos) fn close_stderr() -> io::Result<()> {
        let null = OpenOptions::new().write(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stderr(null)?)
    }

    pub(in crate::chaos) fn signal_self(signal: Signal) -> io::Result<()> {
        let signal = match signal {
            Signal::Hangup => rustix::process::Signal::HUP,
            Signal::Interrupt => rustix::process::Signal::INT,
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::SegmentationFault => rustix::process::Signal::SEGV,
            Signal::Stop => rustix::process::Signal::STOP,
            Signal::Terminate => rustix::process::Signal::TERM,
        };
        Ok(rustix::process::kill_process(
            rustix::process::getpid(),
            signal,
        )?)
    }

    pub(in crate::chaos) fn start_session() -> io::Result<()> {
        rustix::process::setsid()?;
        Ok(())
    }
}

#[cfg(not(unix))]
pub(super) use other::*;

#[cfg(not(unix))]
mod other {
    use std::io::{self, Read, Write};

    use crate::chaos::action::Signal;

    pub(in crate::chaos) struct Stdin;

    impl Read for Stdin {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            io::stdin().read(buffer)
        }
    }

    pub(in crate::chaos) struct Stdout;

    impl Write for Stdout {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let written = io::stdout().write(bytes)?;
            io::stdout().flush()?;
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            io::stdout().flush()
        }
    }

    pub(in crate::chaos) fn close_stdin() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::chaos) fn close_stdout() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::chaos) fn close_stderr() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::chaos) fn signal_self(_: Signal) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::chaos) fn start_session() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
