//! The way to the thread that draws.
//!
//! Everything that happens anywhere becomes a message here. The drawing thread takes all that is
//! there at once, so that a flood costs one frame and not thousands. Events of the host wait outside
//! while too many are in here; then the host counts what is lost, and the UI says so.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::message::Message;

/// Messages in the box from which on events of the host have to wait.
const CROWDED: usize = 256;

/// Messages for the thread that draws. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mailbox {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Vec<Message>>,
    came: Condvar,
    emptied: Notify,
}

impl Mailbox {
    /// Puts a message in and wakes the drawing thread.
    pub(crate) fn send(&self, message: Message) {
        self.shared.waiting.lock().push(message);
        self.shared.came.notify_one();
    }

    /// The same for what may come in floods: waits while the box is crowded.
    pub(crate) async fn send_when_there_is_room(&self, message: Message) {
        loop {
            // Made before looking, so that the box cannot be emptied unnoticed in between.
            let emptied = self.shared.emptied.notified();
            if self.shared.waiting.lock().len() < CROWDED {
                return self.send(message);
            }
            emptied.await;
        }
    }

    /// Takes all messages into `into`, waiting for one until the given time, or for as long as it
    /// takes.
    pub(crate) fn take(&self, until: Option<Instant>, into: &mut Vec<Message>) {
        let mut waiting = self.shared.waiting.lock();
        while waiting.is_empty() {
            match until {
                Some(until) => {
                    if self.shared.came.wait_until(&mut waiting, until).timed_out() {
                        break;
                    }
                }
                None => self.shared.came.wait(&mut waiting),
            }
        }
        into.append(&mut waiting);
        drop(waiting);
        self.shared.emptied.notify_waiters();
    }
}
