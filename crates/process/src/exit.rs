//! How a server process ended, and how far the end of its tree has got.
//!
//! Owns the words for both. Refuses to know who watches the process.

use std::fmt;

/// Why the server process is no longer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// It ended by itself with this exit code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It is gone, or out of reach, and nobody saw how it ended.
    Unknown,
}

impl ExitReason {
    /// Reads the reason out of a status that the operating system reported.
    pub(super) fn from_status(status: std::process::ExitStatus) -> Self {
        if let Some(code) = status.code() {
            return Self::Code(code);
        }
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        Self::Unknown
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "was killed by signal {number} ({name})"),
                None => write!(f, "was killed by signal {number}"),
            },
            Self::Unknown => f.write_str("ended for an unknown reason"),
        }
    }
}

/// What is known about a server process and the tree below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessState {
    /// The server process runs.
    Running,
    /// The server process ended; what it left behind is being taken down.
    Exited(ExitReason),
    /// Nothing of the tree is left that we could still reach.
    Gone(ExitReason),
}

impl ProcessState {
    pub(super) fn is_over(&self) -> bool {
        !matches!(self, Self::Running)
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Gone(_))
    }

    pub(super) fn reason(&self) -> ExitReason {
        match self {
            Self::Running => ExitReason::Unknown,
            Self::Exited(reason) | Self::Gone(reason) => *reason,
        }
    }
}

/// The signals a server dies of in practice, by names that people search for.
#[cfg(unix)]
fn signal_name(number: i32) -> Option<&'static str> {
    use rustix::process::Signal;
    const NAMES: [(Signal, &str); 16] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
    ];
    NAMES
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map(|(_, name)| *name)
}

#[cfg(not(unix))]
fn signal_name(_number: i32) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_read_as_sentences() {
        for (reason, text) in [
            (ExitReason::Code(0), "exited with code 0"),
            (ExitReason::Code(3), "exited with code 3"),
            (ExitReason::Signal(9), "was killed by signal 9 (SIGKILL)"),
            (ExitReason::Signal(64), "was killed by signal 64"),
            (ExitReason::Unknown, "ended for an unknown reason"),
        ] {
            assert_eq!(reason.to_string(), text);
        }
    }
}
