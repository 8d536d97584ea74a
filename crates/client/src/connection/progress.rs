//! Progress of one call: a bounded queue between the reader and the caller.

use std::collections::VecDeque;
use std::task::{Context, Waker};

use attache_protocol::ProgressParams;
use parking_lot::Mutex;

/// Progress notes that came and were not looked at yet.
#[derive(Debug)]
pub(crate) struct ProgressQueue {
    state: Mutex<State>,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    notes: VecDeque<ProgressParams>,
    /// Wakes the caller.
    caller: Option<Waker>,
}

impl ProgressQueue {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            state: Mutex::default(),
            limit,
        }
    }

    /// Adds a note; the oldest goes when there are too many, as the newest tells most (fault 47).
    pub(crate) fn push(&self, note: ProgressParams) {
        let mut state = self.state.lock();
        if state.notes.len() == self.limit {
            state.notes.pop_front();
        }
        state.notes.push_back(note);
        let caller = state.caller.take();
        drop(state);
        if let Some(caller) = caller {
            caller.wake();
        }
    }

    /// Takes all notes, oldest first, and has the caller woken by the next one.
    pub(crate) fn take(&self, context: &Context<'_>) -> VecDeque<ProgressParams> {
        let mut state = self.state.lock();
        state.caller = Some(context.waker().clone());
        std::mem::take(&mut state.notes)
    }
}
