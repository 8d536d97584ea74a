//! The way to the thread that draws.
//!
//! Everything that happens anywhere becomes a message here. The drawing thread takes all that is
//! there at once, so that a flood costs one frame and not thousands. Events of the host wait outside
//! while too many are in here; then the host counts what is lost, and the UI says so.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::message::{JobId, JobNews, Message};

/// Messages in the box from which on events of the host have to wait.
const CROWDED: usize = 256;

/// Messages among which one is looked for that a newer one replaces.
const RECENT: usize = 32;

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

    /// Puts in how far a request is. One that still waits to be seen is replaced, so a server that
    /// tells more than can be drawn costs nothing.
    pub(crate) fn send_progress(&self, id: JobId, news: JobNews) {
        let mut waiting = self.shared.waiting.lock();
        let last = waiting.iter_mut().rev().take(RECENT);
        let mut last = last.filter_map(|message| match message {
            Message::Job(other, former @ JobNews::Progress { .. }) if *other == id => Some(former),
            _ => None,
        });
        match last.next() {
            Some(former) => *former = news,
            None => waiting.push(Message::Job(id, news)),
        }
        drop(waiting);
        self.shared.came.notify_one();
    }

    /// Whether nothing waits to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.waiting.lock().is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_progress_is_one_message() {
        let mailbox = Mailbox::default();
        for progress in 0..10_000 {
            let news = JobNews::Progress {
                progress: f64::from(progress),
                total: None,
                message: None,
            };
            mailbox.send_progress(u64::from(progress % 2 == 0), news);
        }
        let mut taken = Vec::new();
        mailbox.take(None, &mut taken);
        let shown = format!("{taken:?}");
        assert_eq!(taken.len(), 2, "{shown}");
        assert!(
            shown.contains("9999.0") && shown.contains("9998.0"),
            "{shown}"
        );
    }

    #[tokio::test]
    async fn events_wait_while_the_box_is_crowded() {
        let mailbox = Mailbox::default();
        for _ in 0..CROWDED {
            mailbox.send(Message::Wake);
        }
        let late = mailbox.clone();
        let sent = tokio::spawn(async move {
            late.send_when_there_is_room(Message::Events(Vec::new()))
                .await;
        });
        tokio::task::yield_now().await;
        let mut taken = Vec::new();
        mailbox.take(None, &mut taken);
        assert_eq!(taken.len(), CROWDED);
        sent.await.unwrap();
        taken.clear();
        mailbox.take(None, &mut taken);
        assert_eq!(taken.len(), 1);
    }
}
