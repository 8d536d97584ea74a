//! Plays that rest until a time.
//!
//! Owns the queue ordered by due time. Refuses to know what a play does when
//! it goes on: the engine's clock thread takes due plays and resumes them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::play::Play;

/// A queue of resting plays.
#[derive(Default)]
pub(super) struct Clock {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    resting: BinaryHeap<Resting>,
    added: u64,
}

/// Ordered so that the heap's greatest is the one due first, and among equals
/// the one added first.
struct Resting {
    due: Instant,
    number: u64,
    play: Play,
}

impl Clock {
    /// Lets a play rest for a time.
    pub(super) fn rest(&self, play: Play, time: Duration) {
        let mut queue = self.lock();
        queue.added += 1;
        let number = queue.added;
        queue.resting.push(Resting {
            due: Instant::now() + time,
            number,
            play,
        });
        self.changed.notify_one();
    }

    /// Blocks until a play is due and returns it.
    pub(super) fn next_due(&self) -> Play {
        let mut queue = self.lock();
        loop {
            let now = Instant::now();
            let due = queue.resting.peek().map(|first| first.due);
            queue = match due {
                Some(due) if due <= now => {
                    if let Some(first) = queue.resting.pop() {
                        return first.play;
                    }
                    queue
                }
                Some(due) => {
                    let waited = self.changed.wait_timeout(queue, due - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ord for Resting {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Resting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Resting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Resting {}
