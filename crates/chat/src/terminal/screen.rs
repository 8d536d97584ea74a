//! The terminal itself: its size, its modes, and what was typed too early.

#[cfg(unix)]
pub use unix::{SavedTerminal, hidden_line, size};
#[cfg(unix)]
pub(super) use unix::{forget_typed, wait_readable};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize,
        tcsetattr,
    };

    /// The modes of the terminal as they were. They are set again when this is dropped, so that no
    /// way of leaving, also out of a half-typed line, leaves the shell without an echo.
    #[derive(Debug)]
    pub struct SavedTerminal(Option<Termios>);

    impl SavedTerminal {
        /// Remembers the modes; nothing if there is no terminal.
        pub fn save() -> Self {
            Self(tcgetattr(io::stdin()).ok())
        }
    }

    impl Drop for SavedTerminal {
        fn drop(&mut self) {
            if let Some(modes) = &self.0 {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
            }
        }
    }

    /// A line that is not shown while it is typed.
    pub fn hidden_line() -> io::Result<String> {
        let _saved = SavedTerminal::save();
        if let Ok(mut modes) = tcgetattr(io::stdin()) {
            modes.local_modes.remove(LocalModes::ECHO);
            tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        }
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        Ok(line)
    }

    /// Columns and rows.
    pub fn size() -> (usize, usize) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                (size.ws_col.into(), size.ws_row.into())
            }
            _ => (80, 24),
        }
    }

    /// Forgets what was typed before it was asked for: it answers no question.
    pub(in crate::terminal) fn forget_typed() {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }

    /// Waits a while for a line; whether there is one.
    pub(in crate::terminal) fn wait_readable(patience: Duration) -> bool {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: patience.subsec_nanos().into(),
        };
        poll(&mut polled, Some(&patience)).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(not(unix))]
pub use other::{SavedTerminal, hidden_line, size};
#[cfg(not(unix))]
pub(super) use other::{forget_typed, wait_readable};

#[cfg(not(unix))]
mod other {
    use std::time::Duration;

    /// The modes of the terminal, which the line editor sees to here.
    #[derive(Debug)]
    pub struct SavedTerminal;

    impl SavedTerminal {
        /// Remembers nothing.
        pub fn save() -> Self {
            Self
        }
    }

    /// A line; whether it is shown is the system's affair.
    pub fn hidden_line() -> std::io::Result<String> {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        Ok(line)
    }

    /// Columns and rows.
    pub fn size() -> (usize, usize) {
        (80, 24)
    }

    pub(in crate::terminal) fn forget_typed() {}

    pub(in crate::terminal) fn wait_readable(_: Duration) -> bool {
        true
    }
}
