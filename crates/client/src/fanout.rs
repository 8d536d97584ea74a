//! One sender, any number of readers, a bounded queue each; a slow reader loses the oldest.
//!
//! Made when the first reader comes, so that a connection nobody listens to pays nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::broadcast;

#[derive(Debug)]
pub(crate) struct Fanout<T> {
    state: Mutex<State<T>>,
    capacity: usize,
    dropped: AtomicU64,
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
            // What is underneath takes a power of two, and no less than one.
            capacity: capacity.max(1).next_power_of_two(),
            dropped: AtomicU64::new(0),
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
            // A full queue drops its oldest item, which somebody has not read yet. That counts
            // now: a reader that never reads would never notice (fault 49).
            if sender.len() == self.capacity {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
            // Failing means that the last reader left in this instant.
            let _ = sender.send(item());
        }
    }

    /// How many items were dropped before every reader had read them.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Lets every reader come to an end.
    pub(crate) fn close(&self) {
        *self.lock() = State::Closed;
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_item_is_dropped_once_however_many_readers_are_slow() {
        let fanout = Fanout::new(0);
        let mut quick = fanout.subscribe();
        let _slow = [fanout.subscribe(), fanout.subscribe()];
        for item in 1..=3 {
            fanout.send(|| item);
            assert_eq!(quick.recv().await, Ok(item));
        }
        assert_eq!(fanout.dropped(), 2);
    }
}
