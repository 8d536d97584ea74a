//! The life of one server as a plain state machine.
//!
//! Owns when a server is started, restarted, left alone and stopped, with the numbers of P3 that
//! [`Restart`] holds. It is
//! driven by events that carry the time and answers with what to do next; it starts no process,
//! reads no clock and knows no task, so every rule here is tested as plain data.

use std::collections::VecDeque;
use std::time::Instant;

use crate::config::{Restart, RestartWhen};
use crate::retry::Backoff;

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Known, never started.
    Configured,
    /// Being started.
    Starting,
    /// Running.
    Ready {
        /// Since when.
        since: Instant,
    },
    /// It failed and is started again later.
    BackingOff {
        /// When.
        until: Instant,
    },
    /// It failed too often, or in a way that trying again cannot mend. Only a person restarts it.
    Parked,
    /// Being stopped.
    Stopping,
    /// Stopped for good.
    Stopped,
}

/// Something that happened to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    /// Somebody needs it.
    Wanted,
    /// Its start took one process more than the one it was begun with (fault 30).
    StartedAgain,
    /// Its start succeeded.
    Started,
    /// Its start failed, or it ended while it ran.
    Failed(Remedy),
    /// The time of a pause has come.
    PauseOver,
    /// A person wants it to run afresh, whatever came before.
    RestartAsked,
    /// A person wants it to end for now; it may be started again when it is needed.
    RestAsked,
    /// It is no longer wanted at all.
    StopAsked,
    /// Everything of it is gone.
    Gone,
}

/// Whether a failure may mend itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Another start may succeed.
    TryAgain {
        /// How many processes it may take: a server that leaves when it is probed for the modern
        /// era gets a second one (fault 30), and both count (P3).
        processes: usize,
    },
    /// Another start would fail the same way: the command is missing, no revision is common
    /// (fault 13).
    NeedsAPerson,
}

/// What the machine wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing; wait for what happens next.
    Rest,
    /// Start it.
    Start,
    /// Wait until then and report [`MachineEvent::PauseOver`].
    Pause {
        /// When the pause is over.
        until: Instant,
    },
    /// End the connection or the attempt, and report [`MachineEvent::Gone`].
    Stop,
}

/// What follows when a stop is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterStop {
    StayStopped,
    StartAgain,
    /// Until it is wanted.
    Rest,
}

/// One server's life.
#[derive(Clone, Debug)]
pub struct Machine {
    limits: Restart,
    phase: Phase,
    after_stop: AfterStop,
    /// The starts within the window, oldest first; never longer than the limit.
    recent_starts: VecDeque<Instant>,
    backoff: Backoff,
    starts: u64,
}

impl Machine {
    /// A server that was never started.
    pub fn new(limits: Restart, random: fastrand::Rng) -> Self {
        Self {
            phase: Phase::Configured,
            after_stop: AfterStop::StayStopped,
            recent_starts: VecDeque::new(),
            backoff: Backoff::new(limits.backoff_first, limits.backoff_longest, random),
            starts: 0,
            limits,
        }
    }

    /// Where the server is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// How often it was started in all.
    pub fn starts(&self) -> u64 {
        self.starts
    }

    /// Takes note of what happened and says what to do.
    pub fn happened(&mut self, what: MachineEvent, now: Instant) -> Action {
        match (what, self.phase) {
            // Stopping wins over everything, and everything ends in it (fault 7).
            (MachineEvent::StopAsked, Phase::Stopped) => Action::Rest,
            (MachineEvent::StopAsked, Phase::Stopping) => {
                self.after_stop = AfterStop::StayStopped;
                Action::Rest
            }
            (MachineEvent::StopAsked, _) => self.stop(AfterStop::StayStopped),
            (MachineEvent::Gone, Phase::Stopping) => match self.after_stop {
                AfterStop::StayStopped => {
                    self.phase = Phase::Stopped;
                    Action::Rest
                }
                AfterStop::StartAgain => self.start(now),
                AfterStop::Rest => {
                    self.phase = Phase::Configured;
                    Action::Rest
                }
            },
            // Who asks for it while it ends does not want it to stay so.
            (MachineEvent::Wanted, Phase::Stopping) if self.after_stop == AfterStop::Rest => {
                self.after_stop = AfterStop::StartAgain;
                Action::Rest
            }
            (MachineEvent::RestAsked, Phase::Stopping)
                if self.after_stop == AfterStop::StartAgain =>
            {
                self.after_stop = AfterStop::Rest;
                Action::Rest
            }
            (_, Phase::Stopping | Phase::Stopped) => Action::Rest,

            (MachineEvent::RestartAsked, Phase::Starting | Phase::Ready { .. }) => {
                self.forget_failures();
                self.stop(AfterStop::StartAgain)
            }
            (MachineEvent::RestartAsked, _) => {
                self.forget_failures();
                self.start(now)
            }

            (MachineEvent::RestAsked, Phase::Configured) => Action::Rest,
            (MachineEvent::RestAsked, _) => {
                self.forget_failures();
                self.stop(AfterStop::Rest)
            }

            (MachineEvent::Wanted, Phase::Configured) => self.start(now),
            (MachineEvent::StartedAgain, Phase::Starting) => {
                self.count_start(now);
                Action::Rest
            }
            (MachineEvent::Started, Phase::Starting) => {
                self.phase = Phase::Ready { since: now };
                Action::Rest
            }
            (MachineEvent::Failed(remedy), Phase::Starting) => self.failed(remedy, now),
            (MachineEvent::Failed(remedy), Phase::Ready { since }) => {
                if now.saturating_duration_since(since) >= self.limits.healthy_after {
                    self.backoff.reset();
                }
                self.failed(remedy, now)
            }
            (MachineEvent::PauseOver, Phase::BackingOff { until }) if now >= until => {
                self.start(now)
            }
            // A timer that fires early is set again.
            (MachineEvent::PauseOver, Phase::BackingOff { until }) => Action::Pause { until },
            // A wish while it starts, runs, pauses or is parked changes nothing; old news neither.
            _ => Action::Rest,
        }
    }

    fn start(&mut self, now: Instant) -> Action {
        self.count_start(now);
        self.starts += 1;
        self.phase = Phase::Starting;
        Action::Start
    }

    fn count_start(&mut self, now: Instant) {
        self.drop_old_starts(now);
        self.recent_starts.push_back(now);
    }

    fn stop(&mut self, after: AfterStop) -> Action {
        self.after_stop = after;
        self.phase = Phase::Stopping;
        Action::Stop
    }

    fn failed(&mut self, remedy: Remedy, now: Instant) -> Action {
        self.drop_old_starts(now);
        let may_restart = match remedy {
            Remedy::NeedsAPerson => false,
            Remedy::TryAgain { processes } => {
                let starts = self.recent_starts.len() + processes.max(1);
                self.limits.when == RestartWhen::OnFailure && starts <= self.limits.starts as usize
            }
        };
        if !may_restart {
            self.phase = Phase::Parked;
            return Action::Rest;
        }
        let until = now + self.backoff.next_pause();
        self.phase = Phase::BackingOff { until };
        Action::Pause { until }
    }

    fn forget_failures(&mut self) {
        self.backoff.reset();
        self.recent_starts.clear();
    }

    fn drop_old_starts(&mut self, now: Instant) {
        let window = self.limits.within;
        while let Some(oldest) = self.recent_starts.front()
            && now.saturating_duration_since(*oldest) >= window
        {
            self.recent_starts.pop_front();
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
