//! When to fetch a list again that its server says has changed (fault 50).
//!
//! Owns the coalescing and the rate limit as plain data: many notices cost at most two fetches, and
//! a server that announces a change after every list is asked ever more rarely. Starts no timer.

use std::time::{Duration, Instant};

/// Notices that come this soon after the first are fetched together.
const GATHERING: Duration = Duration::from_millis(50);
/// The least time between two fetches of one list on notice.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);
/// The most, for a server that keeps announcing.
const MOST_INTERVAL: Duration = Duration::from_secs(60);

/// The refreshes of one list.
#[derive(Clone, Debug)]
pub(crate) struct RefreshPlan {
    /// When the next fetch is due, if one is.
    due: Option<Instant>,
    last: Option<Instant>,
    interval: Duration,
}

impl Default for RefreshPlan {
    fn default() -> Self {
        Self {
            due: None,
            last: None,
            interval: LEAST_INTERVAL,
        }
    }
}

impl RefreshPlan {
    /// A notice came. Gives when to fetch, if that was not planned already. A list that nobody has
    /// ever wanted is not fetched because it changed.
    pub(crate) fn noticed(&mut self, now: Instant) -> Option<Instant> {
        let last = self.last?;
        if self.due.is_some() {
            return None;
        }
        // A notice soon after a fetch may be the answer to it: a loop. Quiet in between shows that
        // it was none.
        let since = now.saturating_duration_since(last);
        self.interval = if since < self.interval {
            (self.interval * 2).min(MOST_INTERVAL)
        } else {
            LEAST_INTERVAL
        };
        let due = (now + GATHERING).max(last + self.interval);
        self.due = Some(due);
        Some(due)
    }

    /// The planned fetch begins. Notices from now on are news.
    pub(crate) fn begins(&mut self, now: Instant) {
        self.due = None;
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_50_two_hundred_notices_cost_at_most_two_fetches() {
        // All at once; spread over the fetch; spread over a second.
        for spacing_us in [0, 100, 5000] {
            let mut plan = RefreshPlan::default();
            let mut now = Instant::now();
            plan.begins(now);
            now += Duration::from_secs(10);
            let mut due: Option<Instant> = None;
            let mut fetches = 0;
            for _ in 0..200 {
                if due.is_some_and(|due| due <= now) {
                    plan.begins(now);
                    fetches += 1;
                    due = None;
                }
                due = plan.noticed(now).or(due);
                now += Duration::from_micros(spacing_us);
            }
            fetches += u32::from(due.is_some());
            assert!(fetches <= 2, "{fetches} fetches at {spacing_us} us");
        }
    }

    #[test]
    fn fault_50_a_server_that_announces_after_each_list_is_asked_ever_more_rarely() {
        let mut plan = RefreshPlan::default();
        let began = Instant::now();
        let mut now = began;
        let mut fetches = 0;
        plan.begins(now);
        while now < began + Duration::from_secs(600) {
            now = plan.noticed(now).unwrap();
            plan.begins(now);
            fetches += 1;
            now += Duration::from_millis(1);
        }
        // Once a second it would be 600.
        assert!(fetches <= 16, "{fetches} in ten minutes");
    }

    #[test]
    fn quiet_brings_the_shortest_interval_back() {
        let mut plan = RefreshPlan::default();
        let mut now = Instant::now();
        assert_eq!(plan.noticed(now), None, "nobody has wanted it yet");
        plan.begins(now);
        for _ in 0..10 {
            now = plan.noticed(now).unwrap();
            plan.begins(now);
        }
        assert_eq!(plan.interval, MOST_INTERVAL);
        now += MOST_INTERVAL;
        assert_eq!(plan.noticed(now), Some(now + GATHERING));
        assert_eq!(plan.interval, LEAST_INTERVAL);
    }
}
