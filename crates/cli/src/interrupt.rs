//! Ctrl-C and its relatives.
//!
//! The first signal asks the command to stop what it does; it tells its server and leaves. A second
//! one ends this process on the spot, whatever it is doing; the guardian takes the servers down
//! (fault 10). Servers run in process groups of their own, so a terminal's Ctrl-C reaches only us.

use tokio::sync::watch;

use crate::failure::Failure;

#[cfg(unix)]
pub(crate) use platform::ignored_signals;

/// Tells whether a signal has asked this process to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts(watch::Receiver<bool>);

impl Interrupts {
    /// Begins to listen for signals.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let (raise, raised) = watch::channel(false);
        platform::listen(&raise)
            .map_err(|error| Failure::unexpected(format!("cannot listen for signals: {error}")))?;
        Ok(Self(raised))
    }

    /// Waits for the first signal.
    pub(crate) async fn raised(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|raised| *raised).await.is_err() {
            // No signal can come any more: all of them are ignored.
            std::future::pending().await
        }
    }
}

#[cfg(unix)]
mod platform {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use tokio::signal::unix::{SignalKind, signal};
    use tokio::sync::watch;

    use crate::failure::Exit;

    /// The signals that ask a program to stop.
    const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

    /// Passes the first signal on. A second one is handled inside the signal handler, so that it
    /// works even while this thread is stuck in a write that is not read.
    pub(super) fn listen(raise: &watch::Sender<bool>) -> io::Result<()> {
        let ignored = ignored_signals();
        let raised_before = Arc::new(AtomicBool::new(false));
        for number in STOPPING {
            // `nohup` and shells that run something in the background mean what they do.
            if ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            // In this order: the first signal finds the flag down and raises it.
            let exit = Exit::Cancelled as i32;
            flag::register_conditional_shutdown(number, exit, Arc::clone(&raised_before))?;
            flag::register(number, Arc::clone(&raised_before))?;
            let mut signals = signal(SignalKind::from_raw(number))?;
            let raise = raise.clone();
            tokio::spawn(async move {
                if signals.recv().await.is_some() {
                    raise.send_replace(true);
                }
            });
        }
        Ok(())
    }

    /// The signals that this process was started to ignore, one bit each; none where the system
    /// does not tell.
    pub(crate) fn ignored_signals() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0)
    }
}

#[cfg(not(unix))]
mod platform {
    use std::io;

    use tokio::sync::watch;

    use crate::failure::Exit;

    pub(super) fn listen(raise: &watch::Sender<bool>) -> io::Result<()> {
        let raise = raise.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                raise.send_replace(true);
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(Exit::Cancelled as i32);
            }
        });
        Ok(())
    }
}
