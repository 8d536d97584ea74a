//! One sender, any number of readers, a bounded queue each; a slow reader loses the oldest.
//!
//! Made when the first reader comes, so that a connection nobody listens to pays nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

#[derive(Debug)]
pub(crate) struct Fanout<T> {
    state: Mutex<State<T>>,
    capacity: usize,
}

#[derive(Debug)]
enum State<T> {
    Unheard,
    Heard(broadcast::Sender<T>),
    Closed,
}

impl<T: Clone> Fanout<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            state: Mutex::new(State::Unheard),
            capacity,
        }
    }

    /// What is sent from now on; nothing if the sender has closed.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<T> {
        let mut state = self.lock();
        match &*state {
            State::Heard(sender) => sender.subscribe(),
            State::Closed => broadcast::channel(1).1,
            State::Unheard => {
                let (sender, receiver) = broadcast::channel(self.capacity);
                *state = State::Heard(sender);
                receiver
            }
        }
    }

    /// Sends to all readers there are. `item` is made only if there is one.
    pub(crate) fn send(&self, item: impl FnOnce() -> T) {
        if let State::Heard(sender) = &*self.lock()
            && sender.receiver_count() > 0
        {
            // Failing means that the last reader left in this instant.
            let _ = sender.send(item());
        }
    }

    /// Lets every reader come to an end.
    pub(crate) fn close(&self) {
        *self.lock() = State::Closed;
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
