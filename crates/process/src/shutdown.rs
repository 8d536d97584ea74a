//! The shutdown ladder as a plain state machine.
//!
//! Owns when it is time to ask (TERM), when to force (KILL), and when to give
//! up. Refuses to know how a signal is sent, how an exit is noticed, and what
//! time it is: callers pass the clock in. The guardian and the fallbacks without
//! one all climb down this same ladder.

use std::time::{Duration, Instant};

use super::Ladder;

/// What a process tree still gets when the process it served is gone: the server
/// itself has exited, or the client was killed. Nobody waits for an answer any
/// more, and FAULTS 2 allows two seconds in all.
pub(super) const ABANDONED: Ladder = Ladder {
    grace: Duration::from_millis(250),
    term: Duration::from_millis(250),
};

/// What a tree still gets when the client began an orderly end and left before it was over, as
/// commands of one call do: enough for the interpreters that take up to 1.2 s to leave, and still
/// within the two seconds of FAULTS 2.
#[cfg(target_os = "linux")]
pub(super) const LEFT_TO_GUARDIAN: Ladder = Ladder {
    grace: Duration::from_millis(1250),
    term: Duration::from_millis(350),
};

/// First pause between two rounds of KILL; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// Longest pause between two rounds of KILL.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How long KILL is repeated before the tree counts as out of reach: a process
/// stuck in the kernel, or one that runs as another user.
pub(super) const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// What is due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing until the deadline or the next event.
    Wait,
    /// Ask every member of the tree to end.
    Terminate,
    /// Kill every member of the tree.
    Kill,
    /// The tree does not die; stop trying.
    GiveUp,
}

/// Where a tree stands on the ladder.
#[derive(Debug)]
pub(super) struct ShutdownLadder {
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Serving,
    Grace {
        until: Instant,
        term: Duration,
    },
    Term {
        until: Instant,
    },
    Kill {
        next: Instant,
        pause: Duration,
        give_up: Instant,
    },
}

impl ShutdownLadder {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Serving,
        }
    }

    /// When [`ShutdownLadder::due`] must be asked again, whatever happens; `None` while
    /// the server is wanted, so that an idle watcher sleeps without a timer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Serving => None,
            Stage::Grace { until, .. } | Stage::Term { until } => Some(until),
            Stage::Kill { next, .. } => Some(next),
        }
    }

    /// Starts down the ladder, or hurries along it: a later order can shorten
    /// what is left but never lengthen it.
    pub(super) fn close(&mut self, ladder: Ladder, now: Instant) {
        self.stage = match self.stage {
            Stage::Serving => Stage::Grace {
                until: after(now, ladder.grace),
                term: ladder.term,
            },
            Stage::Grace { until, term } => Stage::Grace {
                until: until.min(after(now, ladder.grace)),
                term: term.min(ladder.term),
            },
            Stage::Term { until } => Stage::Term {
                until: until.min(after(now, ladder.term)),
            },
            killing @ Stage::Kill { .. } => killing,
        };
    }

    /// The server process itself has ended: what it left behind has nobody to
    /// serve, so there is nothing to wait for before asking it to end (FAULTS 3).
    pub(super) fn server_exited(&mut self, now: Instant) {
        self.close(
            Ladder {
                grace: Duration::ZERO,
                ..ABANDONED
            },
            now,
        );
    }

    /// Skips to the bottom of the ladder.
    pub(super) fn kill(&mut self, now: Instant) {
        if !matches!(self.stage, Stage::Kill { .. }) {
            self.stage = Stage::Kill {
                next: now,
                pause: FIRST_PAUSE,
                give_up: after(now, KILL_PATIENCE),
            };
        }
    }

    /// Says what is due at this moment and assumes that the caller does it.
    pub(super) fn due(&mut self, now: Instant) -> Step {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Step::Wait;
        }
        match self.stage {
            Stage::Serving => Step::Wait,
            Stage::Grace { term, .. } => {
                self.stage = Stage::Term {
                    until: after(now, term),
                };
                Step::Terminate
            }
            Stage::Term { .. } => {
                self.kill(now);
                self.due(now)
            }
            Stage::Kill { give_up, .. } if now >= give_up => Step::GiveUp,
            Stage::Kill { pause, give_up, .. } => {
                self.stage = Stage::Kill {
                    next: after(now, pause),
                    pause: (pause * 2).min(LONGEST_PAUSE),
                    give_up,
                };
                Step::Kill
            }
        }
    }
}

/// The moment `wait` from `now`, where a wait beyond the clock's range means the
/// furthest moment that any caller can sensibly mean.
fn after(now: Instant, wait: Duration) -> Instant {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    now + wait.min(A_YEAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn ladder(grace: u64, term: u64) -> Ladder {
        Ladder {
            grace: ms(grace),
            term: ms(term),
        }
    }

    /// Runs a shutdown to its end as if nothing in the tree ever died, and lists
    /// every step but `Wait` with its time in milliseconds.
    fn climb_down(mut shutdown: ShutdownLadder, start: Instant) -> Vec<(u128, Step)> {
        let mut steps = Vec::new();
        while let Some(now) = shutdown.deadline() {
            match shutdown.due(now) {
                Step::Wait => {}
                Step::GiveUp => {
                    steps.push((now.duration_since(start).as_millis(), Step::GiveUp));
                    break;
                }
                step => steps.push((now.duration_since(start).as_millis(), step)),
            }
        }
        steps
    }

    #[test]
    fn a_wanted_server_needs_no_timer() {
        let mut shutdown = ShutdownLadder::new();
        assert_eq!(shutdown.deadline(), None);
        assert_eq!(shutdown.due(Instant::now()), Step::Wait);
    }

    // C-INIT-13.
    #[test]
    fn the_ladder_asks_once_then_kills_until_patience_ends() {
        let start = Instant::now();
        let mut shutdown = ShutdownLadder::new();
        shutdown.close(ladder(2_000, 1_000), start);
        assert_eq!(shutdown.due(start + ms(1_999)), Step::Wait);

        let steps = climb_down(shutdown, start);
        assert_eq!(steps[0], (2_000, Step::Terminate));
        assert_eq!(steps[1], (3_000, Step::Kill));
        assert_eq!(steps[2], (3_005, Step::Kill));
        assert_eq!(steps[3], (3_015, Step::Kill));
        let (last, killing) = steps[2..].split_last().unwrap();
        assert!(killing.iter().all(|(_, step)| *step == Step::Kill));
        assert_eq!(last.1, Step::GiveUp);
        let patience = (3_000 + KILL_PATIENCE.as_millis())
            ..=(3_000 + (KILL_PATIENCE + LONGEST_PAUSE).as_millis());
        assert!(patience.contains(&last.0), "gave up at {}", last.0);
    }

    #[test]
    fn an_abandoned_tree_is_being_killed_well_within_two_seconds() {
        let start = Instant::now();
        let mut shutdown = ShutdownLadder::new();
        shutdown.close(ABANDONED, start);
        let steps = climb_down(shutdown, start);
        assert_eq!(
            steps[..2],
            [(250, Step::Terminate), (500, Step::Kill)],
            "FAULTS 2 leaves two seconds"
        );
    }

    #[test]
    fn what_a_server_left_behind_is_asked_at_once() {
        let start = Instant::now();
        let mut shutdown = ShutdownLadder::new();
        shutdown.server_exited(start);
        let steps = climb_down(shutdown, start);
        assert_eq!(steps[..2], [(0, Step::Terminate), (250, Step::Kill)]);
    }

    #[test]
    fn later_orders_hurry_and_never_delay() {
        let start = Instant::now();
        type Orders = fn(&mut ShutdownLadder, Instant);
        let cases: [(Orders, [(u128, Step); 2]); 4] = [
            (
                |shutdown, now| shutdown.close(ladder(9_000, 9_000), now),
                [(2_000, Step::Terminate), (3_000, Step::Kill)],
            ),
            (
                |shutdown, now| shutdown.close(ABANDONED, now),
                [(350, Step::Terminate), (600, Step::Kill)],
            ),
            (
                |shutdown, now| shutdown.server_exited(now),
                [(100, Step::Terminate), (350, Step::Kill)],
            ),
            (
                |shutdown, now| shutdown.kill(now),
                [(100, Step::Kill), (105, Step::Kill)],
            ),
        ];
        for (order, expected) in cases {
            let mut shutdown = ShutdownLadder::new();
            shutdown.close(ladder(2_000, 1_000), start);
            order(&mut shutdown, start + ms(100));
            assert_eq!(climb_down(shutdown, start)[..2], expected);
        }
    }

    #[test]
    fn a_wait_beyond_the_clock_does_not_overflow() {
        let mut shutdown = ShutdownLadder::new();
        shutdown.close(
            Ladder {
                grace: Duration::MAX,
                term: Duration::MAX,
            },
            Instant::now(),
        );
        assert_eq!(shutdown.due(Instant::now()), Step::Wait);
    }
}
