//! The bytes that all events of all streams hold together, and who gives some up when it is too
//! much (fault 70).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::events::EventLog;

/// The list of streams is tidied when it has grown to this, or to twice what was left the last time.
const FIRST_TIDYING: usize = 64;

/// One budget for the events of all sessions.
pub(super) struct KeptEvents {
    limit: usize,
    used: AtomicUsize,
    streams: Mutex<Streams>,
}

struct Streams {
    /// Those that clients can come back to, the oldest first.
    order: VecDeque<Weak<EventLog>>,
    tidy_at: usize,
}

impl KeptEvents {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: AtomicUsize::new(0),
            streams: Mutex::new(Streams {
                order: VecDeque::new(),
                tidy_at: FIRST_TIDYING,
            }),
        }
    }

    pub(super) fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.limit
    }

    /// Lists a stream that clients can come back to.
    pub(super) fn list(&self, log: &Arc<EventLog>) {
        let mut streams = self.streams.lock();
        if streams.order.len() >= streams.tidy_at {
            streams.order.retain(|it| it.strong_count() > 0);
            streams.tidy_at = FIRST_TIDYING.max(2 * streams.order.len());
        }
        streams.order.push_back(Arc::downgrade(log));
    }

    /// Makes room in a full budget. Streams that have ended and are not being read go as a whole,
    /// the oldest first; the others give up what was read. Called while no stream is locked.
    pub(super) fn make_room(&self) {
        if !self.is_full() {
            return;
        }
        let mut streams = self.streams.lock();
        for _ in 0..streams.order.len() {
            let Some(oldest) = streams.order.pop_front() else {
                return;
            };
            if let Some(log) = oldest.upgrade()
                && !log.forget_if_over()
            {
                log.drop_read();
                streams.order.push_back(oldest);
            }
            if !self.is_full() {
                return;
            }
        }
    }
}
