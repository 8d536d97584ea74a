//! The queue from calls to the thread that writes them down.
//!
//! Bounded by number and by bytes, and nothing that is put in ever waits. The thread is woken for
//! the first message and then for many more or after a moment, never for each: a wake-up costs more
//! than the message, and most calls have ended by then, so that a call is one line and writing it
//! takes nothing from the server that answers.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::Message;

/// Messages waiting to be written.
pub(super) const CAPACITY: usize = 16 * 1024;
/// How much arguments and results may weigh that wait to be written, or are being written.
pub(super) const BYTES: usize = 64 * 1024 * 1024;
/// For how long messages are gathered, and how many, before they are written.
const GATHERING: Duration = Duration::from_millis(5);
const GATHERED: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    messages: Vec<Message>,
    /// The weight of these and of those that are being written.
    weight: usize,
    /// The weight of those that are being written.
    writing: usize,
    /// The thread sleeps until so many are there; none if it is awake.
    wake_at: Option<usize>,
    /// The messages must not wait for more of them.
    is_urgent: bool,
    is_closed: bool,
}

impl State {
    fn add(&mut self, message: Message, weight: usize) {
        self.weight += weight;
        self.messages.push(message);
    }

    /// Whether the thread has to be woken, which is said once.
    fn wakes(&mut self) -> bool {
        let wakes = |at| self.messages.len() >= at || self.is_urgent || self.is_closed;
        self.wake_at.take_if(|at| wakes(*at)).is_some()
    }
}

impl Queue {
    /// Puts a message in, or gives it back if there is no room.
    pub(super) fn push(&self, message: Message) -> Result<(), Message> {
        let weight = message.weight();
        let mut state = self.state.lock();
        let fits = state.weight == 0 || state.weight + weight <= BYTES;
        if state.messages.len() >= CAPACITY || !fits {
            return Err(message);
        }
        state.add(message, weight);
        if state.wakes() {
            drop(state);
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Puts a message in for which there is always room, and has all written without delay.
    pub(super) fn push_urgent(&self, message: Message) {
        let mut state = self.state.lock();
        state.add(message, 0);
        state.is_urgent = true;
        if state.wakes() {
            self.changed.notify_one();
        }
    }

    /// Lets the thread end when all is written.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        if state.wakes() {
            self.changed.notify_one();
        }
    }

    /// Waits for messages and puts all there are into `messages`, which is empty; what was taken
    /// before counts as written. False if there are none and none will come.
    pub(super) fn take(&self, messages: &mut Vec<Message>) -> bool {
        let mut state = self.state.lock();
        state.weight -= std::mem::take(&mut state.writing);
        while state.messages.is_empty() {
            if state.is_closed {
                return false;
            }
            state.wake_at = Some(1);
            self.changed.wait(&mut state);
        }
        let until = Instant::now() + GATHERING;
        while state.messages.len() < GATHERED && !state.is_urgent && !state.is_closed {
            state.wake_at = Some(GATHERED);
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.wake_at = None;
        state.is_urgent = false;
        state.writing = state.weight;
        std::mem::swap(&mut state.messages, messages);
        true
    }

    /// The weight of what waits or is being written.
    #[cfg(test)]
    pub(super) fn weight(&self) -> usize {
        self.state.lock().weight
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("State");
        shown.field("messages", &self.messages.len());
        shown.field("weight", &self.weight).finish_non_exhaustive()
    }
}
