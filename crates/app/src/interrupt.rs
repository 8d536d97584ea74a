//! Ctrl-C and its relatives.
//!
//! The first signal asks the command to stop what it does; it tells its server and leaves. A second
//! one ends this process on the spot, whatever it is doing; the guardian takes the servers down
//! (fault 10). Servers run in process groups of their own, so a terminal's Ctrl-C reaches only us.

use tokio::sync::watch;

use crate::failure::Failure;

/// Tells whether somebody wants this process to stop. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts(watch::Receiver<bool>);

impl Interrupts {
    /// Begins to listen for signals.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let (sender, receiver) = watch::channel(false);
        let first = platform::first_signal()
            .map_err(|error| Failure::unexpected(format!("cannot listen for signals: {error}")))?;
        tokio::spawn(async move {
            first.await;
            sender.send_replace(true);
            platform::force_on_the_next().await;
        });
        Ok(Self(receiver))
    }

    /// Waits for the first signal.
    pub(crate) async fn raised(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|raised| *raised).await.is_err() {
            // Nobody listens any more, so nobody can be interrupted.
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
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use crate::failure::Exit;

    /// The signals that ask a program to stop.
    const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

    /// Resolves at the first signal. A second one is handled inside the signal handler, so that it
    /// works even while this thread is stuck in a write that nobody reads.
    pub(super) fn first_signal() -> io::Result<impl Future<Output = ()>> {
        let raised_before = Arc::new(AtomicBool::new(false));
        for number in STOPPING {
            // In this order: the first signal finds the flag down and raises it.
            flag::register_conditional_shutdown(
                number,
                Exit::Cancelled as i32,
                Arc::clone(&raised_before),
            )?;
            flag::register(number, Arc::clone(&raised_before))?;
        }
        let [mut interrupt, mut terminate, mut hang_up] = streams()?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        })
    }

    fn streams() -> io::Result<[Signal; 3]> {
        Ok([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ])
    }

    /// The signal handler does it.
    pub(super) async fn force_on_the_next() {}
}

#[cfg(not(unix))]
mod platform {
    use std::io;

    use crate::failure::Exit;

    pub(super) fn first_signal() -> io::Result<impl Future<Output = ()>> {
        Ok(next())
    }

    pub(super) async fn force_on_the_next() {
        next().await;
        std::process::exit(Exit::Cancelled as i32);
    }

    async fn next() {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
