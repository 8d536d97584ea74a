//! How fast a server may be connected to again (P9, fault 58).
//!
//! Plain arithmetic over moments that the caller names: no clock, no tasks.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// So many reconnects are made within the window at the most, whatever a server says. With the
/// connection of the handshake and the first of a stream they are ten.
const MOST_IN_WINDOW: usize = 8;
const WINDOW: Duration = Duration::from_secs(60);
/// The shortest pause, also for a server that asks for none.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest pause that a server can ask for.
const LONGEST: Duration = Duration::from_secs(60);
/// How often the pause doubles at the most.
const DOUBLINGS: u32 = 6;

/// When the last reconnects to one server were, those that are allowed to come included.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    recent: VecDeque<Instant>,
}

impl Pace {
    /// Claims a reconnect and says when it may be made. `asked` is the time the server asks for,
    /// `failures` how many reconnects in a row have brought nothing.
    pub(crate) fn next(&mut self, now: Instant, asked: Option<Duration>, failures: u32) -> Instant {
        let pause = asked.unwrap_or_default().clamp(SHORTEST, LONGEST);
        let pause = (pause * 2_u32.pow(failures.min(DOUBLINGS))).min(LONGEST);
        let mut at = now + pause;
        if self.recent.len() == MOST_IN_WINDOW {
            let oldest = self.recent.pop_front();
            at = at.max(oldest.map_or(at, |oldest| oldest + WINDOW));
        }
        // Claims made at once must not be granted out of order.
        at = at.max(self.recent.back().copied().unwrap_or(at));
        self.recent.push_back(at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_58_a_pause_is_never_shorter_than_its_floor() {
        for (asked, failures, expected) in [
            (None, 0, 100),
            (Some(0), 0, 100),
            (Some(500), 0, 500),
            (Some(500), 1, 1000),
            (Some(0), 3, 800),
            (Some(u64::MAX), 0, 60_000),
            (Some(500), u32::MAX, 32_000),
        ] {
            let now = Instant::now();
            let asked = asked.map(Duration::from_millis);
            let at = Pace::default().next(now, asked, failures);
            assert_eq!((at - now).as_millis(), expected, "{asked:?} {failures}");
        }
    }

    #[test]
    fn promise_9_no_minute_holds_more_reconnects_than_are_allowed() {
        let mut pace = Pace::default();
        let mut now = Instant::now();
        let mut granted = Vec::new();
        for _ in 0..50 {
            now = pace.next(now, Some(Duration::ZERO), 0);
            granted.push(now);
        }
        for window in granted.windows(MOST_IN_WINDOW + 1) {
            assert!(window[MOST_IN_WINDOW] - window[0] >= WINDOW);
        }
    }

    #[test]
    fn claims_of_several_streams_share_the_allowance() {
        let mut pace = Pace::default();
        let now = Instant::now();
        let granted: Vec<_> = (0..25).map(|_| pace.next(now, None, 0)).collect();
        let in_first_minute = granted.iter().filter(|at| **at < now + WINDOW).count();
        assert_eq!(in_first_minute, MOST_IN_WINDOW);
        assert!(granted.is_sorted());
    }
}
