//! Progress of one call: a bounded queue between the reader and the caller.

use parking_lot::Mutex;
use std::collections::VecDeque;

use attache_protocol::ProgressParams;
use tokio::sync::Notify;

/// Progress notes that came and were not looked at yet.
#[derive(Debug)]
pub(crate) struct ProgressQueue {
    notes: Mutex<VecDeque<ProgressParams>>,
    limit: usize,
    arrived: Notify,
}

impl ProgressQueue {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            notes: Mutex::default(),
            limit,
            arrived: Notify::new(),
        }
    }

    /// Adds a note; the oldest goes when there are too many, as the newest tells most (fault 47).
    pub(crate) fn push(&self, note: ProgressParams) {
        let mut notes = self.notes.lock();
        if notes.len() == self.limit {
            notes.pop_front();
        }
        notes.push_back(note);
        drop(notes);
        self.arrived.notify_one();
    }

    /// Takes all notes, oldest first.
    pub(crate) fn take(&self) -> VecDeque<ProgressParams> {
        std::mem::take(&mut *self.notes.lock())
    }

    /// Waits until a note has come.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }
}
