//! Ctrl-C and its relatives.
//!
//! The first signal asks the command to stop what it does; it tells its server and leaves. A second
//! one ends this process on the spot, whatever it is doing; the guardian takes the servers down
//! (fault 10). Servers run in process groups of their own, so a terminal's Ctrl-C reaches only us.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
#[cfg(feature = "chat")]
use std::sync::atomic::Ordering;

use tokio::sync::watch;

use crate::failure::Failure;

#[cfg(unix)]
pub(crate) use platform::ignored_signals;

/// Tells whether a signal has asked this process to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts {
    raised: watch::Sender<Asked>,
    /// A signal has come and is not answered yet, so that the next one forces.
    is_unanswered: Arc<AtomicBool>,
}

/// What signals have asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Asked {
    #[default]
    Nothing,
    /// Ctrl-C: to stop what is going on.
    ToStop,
    /// Another signal: to end.
    ToEnd,
}

impl Interrupts {
    /// Begins to listen for signals.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let interrupts = Self {
            raised: watch::Sender::default(),
            is_unanswered: Arc::default(),
        };
        platform::listen(&interrupts)
            .map_err(|error| Failure::unexpected(format!("cannot listen for signals: {error}")))?;
        Ok(interrupts)
    }

    /// Waits for the first signal.
    pub(crate) async fn raised(&self) {
        self.asked().await;
    }

    /// The same, and says what it asks for.
    pub(crate) async fn asked(&self) -> Asked {
        let mut receiver = self.raised.subscribe();
        let asked = receiver.wait_for(|asked| *asked != Asked::Nothing).await;
        // The sender is in this very value, so there is always one.
        asked.map_or(Asked::Nothing, |asked| *asked)
    }

    /// A request to stop was answered by stopping; the next signal is a first one again.
    #[cfg(feature = "chat")]
    pub(crate) fn answered(&self) {
        self.raised.send_if_modified(|asked| {
            let was_stop = *asked == Asked::ToStop;
            if was_stop {
                *asked = Asked::Nothing;
                self.is_unanswered.store(false, Ordering::SeqCst);
            }
            was_stop
        });
    }
}

#[cfg(unix)]
mod platform {
    use std::fs::File;
    use std::io::{self, Read as _};
    use std::sync::Arc;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use tokio::signal::unix::{SignalKind, signal};

    use super::{Asked, Interrupts};
    use crate::failure::Exit;

    /// The signals that ask a program to stop.
    const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
    /// How much of what the system tells of this process is read.
    const STATUS_ROOM: usize = 8 * 1024;

    /// Passes the first signal on. A second one is handled inside the signal handler, so that it
    /// works even while this thread is stuck in a write that is not read.
    pub(super) fn listen(interrupts: &Interrupts) -> io::Result<()> {
        let ignored = ignored_signals();
        let raised_before = &interrupts.is_unanswered;
        for number in STOPPING {
            // `nohup` and shells that run something in the background mean what they do.
            if ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            // In this order: the first signal finds the flag down and raises it.
            let exit = Exit::Cancelled as i32;
            flag::register_conditional_shutdown(number, exit, Arc::clone(raised_before))?;
            flag::register(number, Arc::clone(raised_before))?;
            let mut signals = signal(SignalKind::from_raw(number))?;
            let raised = interrupts.raised.clone();
            let asked = match number {
                SIGINT => Asked::ToStop,
                _ => Asked::ToEnd,
            };
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    raised.send_replace(asked);
                }
            });
        }
        Ok(())
    }

    /// The signals that this process was started to ignore, one bit each; none where the system
    /// does not tell.
    pub(crate) fn ignored_signals() -> u64 {
        let mut status = String::with_capacity(STATUS_ROOM);
        // The system does not say how long it is, and every read has it written anew.
        let read = File::open("/proc/self/status")
            .and_then(|file| file.take(STATUS_ROOM as u64).read_to_string(&mut status));
        if read.is_err() {
            return 0;
        }
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod platform {
    use std::io;
    use std::sync::atomic::Ordering;

    use super::{Asked, Interrupts};
    use crate::failure::Exit;

    pub(super) fn listen(interrupts: &Interrupts) -> io::Result<()> {
        let interrupts = interrupts.clone();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                if interrupts.is_unanswered.swap(true, Ordering::SeqCst) {
                    std::process::exit(Exit::Cancelled as i32);
                }
                interrupts.raised.send_replace(Asked::ToStop);
            }
        });
        Ok(())
    }
}
