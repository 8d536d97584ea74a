//! Running out of time: one timer for all calls of a connection.
//!
//! A timer per call would be set and taken back at every one of them and wake the runtime's driver
//! in between, though almost none ever fires. So the time of a call stands in the table, and a
//! single timer is set for whichever runs out first.

use std::time::Duration;

use attache_protocol::Ending;
use tokio::time::Instant;

use super::{CallKind, Calls, Failure, Link, Waiter};

/// Longer than anything lasts; a longer time would be more than a clock can show.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// How long a call waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// As long as it takes: for subscriptions, whose request stays open (C-SUBM-11), and for
    /// requests of the handshake, which has a deadline of its own.
    Endless,
    /// While there is time.
    While(TimeLeft),
}

/// The time a request has left. It stands still while the user is being asked something: on a
/// stream the question of a legacy server may belong to any call (P6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLeft {
    patience: Duration,
    whole: Duration,
    /// The end of the patience, which progress puts off, and that of the whole, which it does not.
    soft: Instant,
    hard: Instant,
    /// For how long people had been asked when the two moments were last right.
    asked: Duration,
}

impl TimeLeft {
    /// From now on: `patience` without a sign of progress, and of the `whole` time altogether what
    /// is `left` of it.
    pub(crate) fn new(
        link: &Link,
        patience: Duration,
        whole: Duration,
        left: Option<Duration>,
    ) -> Self {
        let now = Instant::now();
        let whole = whole.min(FOR_EVER);
        let patience = patience.min(FOR_EVER);
        Self {
            patience,
            whole,
            soft: now + patience,
            hard: now + left.unwrap_or(whole).min(whole),
            asked: link.server_requests.asked.total(),
        }
    }

    /// When it is over if nothing happens.
    pub(crate) fn end(&self) -> Instant {
        self.soft.min(self.hard)
    }

    /// How much of the whole time is left now.
    pub(crate) fn left(&mut self, link: &Link) -> Duration {
        self.leave_out_asking(link.server_requests.asked.total());
        self.hard.saturating_duration_since(Instant::now())
    }

    /// How much of the whole time is gone.
    pub(crate) fn spent(&mut self, link: &Link) -> Duration {
        self.whole.saturating_sub(self.left(link))
    }

    fn leave_out_asking(&mut self, asked: Duration) {
        let more = asked.saturating_sub(self.asked);
        self.asked = asked;
        self.soft += more;
        self.hard += more;
    }
}

impl Waiter {
    /// There was progress: the patience begins anew.
    pub(super) fn extend_time(&mut self, link: &Link) {
        if let Patience::While(time) = &mut self.patience {
            time.leave_out_asking(link.server_requests.asked.total());
            time.soft = Instant::now() + time.patience;
        }
    }
}

impl Link {
    /// Has the timer set for a call that began, if it is the first to run out of time.
    pub(super) fn watch_time(&self, calls: &mut Calls, patience: Patience) {
        let Patience::While(time) = patience else {
            return;
        };
        if calls.alarm.is_none_or(|alarm| time.end() < alarm) {
            calls.alarm = Some(time.end());
            self.sooner.notify_one();
        }
    }

    /// Ends calls that run out of time, as long as the connection lasts.
    pub(crate) async fn run_deadlines(&self) {
        loop {
            // The timer keeps standing while calls end and others begin, so it mostly finds that
            // there is time left; then it is set anew.
            let alarm = self.end_overdue();
            let due = async {
                match alarm {
                    Some(alarm) => tokio::time::sleep_until(alarm).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.sooner.notified() => {}
                () = due => self.server_requests.asked.nobody_asked().await,
            }
        }
    }

    /// Ends every call without time left and tells the server; returns when to look again.
    fn end_overdue(&self) -> Option<Instant> {
        let asked = self.server_requests.asked.total();
        let now = Instant::now();
        let mut overdue = Vec::new();
        let alarm = {
            let mut calls = self.calls();
            let mut next: Option<Instant> = None;
            for (id, waiter) in calls.in_flight.iter_mut() {
                if let Patience::While(time) = &mut waiter.patience {
                    time.leave_out_asking(asked);
                    if time.end() <= now {
                        overdue.push((id, *time));
                    } else {
                        next = Some(next.map_or(time.end(), |next| next.min(time.end())));
                    }
                }
            }
            calls.alarm = next;
            next
        };
        for (id, mut time) in overdue {
            // An answer that came in between has won (fault 44).
            if let Some(waiter) = self.give_up(id, Ending::TimedOut, "timed out") {
                let spent = time.spent(self);
                let _ = waiter.answer.send(Err(Failure::TimedOut(spent)));
            }
        }
        alarm
    }

    /// Ends a call from this side and tells the server; `None` if it has ended already.
    pub(super) fn give_up(&self, id: u64, ending: Ending, reason: &str) -> Option<Waiter> {
        let waiter = self.calls().in_flight.end(id, ending)?;
        waiter.delivery.stop();
        // `initialize` is never cancelled (C-INIT-11).
        if waiter.kind != CallKind::Handshake {
            self.send_cancel(id, reason);
        }
        Some(waiter)
    }
}
