//! The time in which a person is being asked something. It counts against nobody's patience (P6).
//!
//! Owns that time and how to wait without it. It knows nothing of what is asked: a question of the
//! server, or a login that its transport needs.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Counts the time in which at least one person may be looking at a question. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionClock(Arc<watch::Sender<QuestionTime>>);

/// One question that a person may be looking at, until it is dropped.
pub(crate) struct Asking(QuestionClock);

#[derive(Clone, Copy, Debug, Default)]
struct QuestionTime {
    open: usize,
    /// When the first of the open questions was put.
    since: Option<Instant>,
    /// The time before that.
    before: Duration,
}

impl QuestionTime {
    fn total(&self) -> Duration {
        let now = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.before + now
    }
}

impl QuestionClock {
    /// A question is put to a person.
    pub(crate) fn begin(&self) -> Asking {
        self.0.send_modify(|asked| {
            asked.open += 1;
            asked.since.get_or_insert_with(Instant::now);
        });
        Asking(self.clone())
    }

    /// For how long a person was being asked something, up to now.
    pub(crate) fn total(&self) -> Duration {
        self.0.borrow().total()
    }

    /// Waits until no person is being asked anything.
    pub(crate) async fn nobody_asked(&self) {
        let mut asked = self.0.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = asked.wait_for(|asked| asked.open == 0).await;
    }

    /// Waits as long as `patience` does, and then for the time in which a person was being asked
    /// meanwhile.
    pub(crate) async fn without_asking(&self, patience: impl Future<Output = ()>) {
        let before = self.total();
        patience.await;
        let over = Instant::now();
        loop {
            self.nobody_asked().await;
            let end = over + self.total().saturating_sub(before);
            if Instant::now() >= end {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }

    /// The outcome of `work`, or nothing if it takes longer than this, asking left out.
    pub(crate) async fn timeout<T>(
        &self,
        after: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        tokio::select! {
            biased;
            done = &mut work => Some(done),
            () = self.without_asking(tokio::time::sleep(after)) => None,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.0.send_modify(|asked| {
            asked.open -= 1;
            if asked.open == 0 {
                asked.before = asked.total();
                asked.since = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// P6: a patience of five seconds ends after five seconds in which nobody was being asked.
    #[tokio::test(start_paused = true)]
    async fn asking_is_left_out() {
        let clock = QuestionClock::default();
        let begun = Instant::now();
        let asker = clock.clone();
        let asking = tokio::spawn(async move {
            for _ in 0..2 {
                tokio::time::sleep(SECOND).await;
                let _asking = asker.begin();
                tokio::time::sleep(SECOND * 20).await;
            }
        });
        let outcome = clock
            .timeout(SECOND * 5, std::future::pending::<()>())
            .await;
        assert_eq!(outcome, None);
        assert_eq!(begun.elapsed(), SECOND * 45);
        asking.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_done_in_time_is_done() {
        let clock = QuestionClock::default();
        let work = tokio::time::sleep(SECOND);
        assert_eq!(clock.timeout(SECOND * 2, work).await, Some(()));
        let begun = Instant::now();
        let late = tokio::time::sleep(SECOND * 3);
        assert_eq!(clock.timeout(SECOND * 2, late).await, None);
        assert_eq!(begun.elapsed(), SECOND * 2);
    }
}
