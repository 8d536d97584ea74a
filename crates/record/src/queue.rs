//! The way from the hot path to the thread that writes: bounded, and never waited for.
//!
//! Who puts something in waits for a short lock at most. What finds no room is counted, by stream,
//! and the count takes its place in the order. Knows nothing of what is written.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};

use crate::cut::Framing;
use crate::format::{Direction, HttpHead, Lost};

/// How long the writer gathers before it writes, so that a burst wakes it once.
const GATHERING: Duration = Duration::from_millis(5);
/// What one item costs besides its bytes.
const OVERHEAD: usize = 128;

/// Something to be written.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) at: Instant,
    pub(crate) conn: u32,
    pub(crate) dir: Direction,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Bytes of a stream.
    Bytes(Bytes, Framing),
    /// A whole message, and where others have replaced secrets in it.
    Message(Bytes, Vec<String>),
    /// A stream ended.
    End,
    /// Bytes of a stream are missing here.
    Gap(Lost),
    Http(Box<HttpHead>),
    State(&'static str, Option<String>),
}

#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    news: Condvar,
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    items: Vec<Item>,
    size: usize,
    lost: BTreeMap<(u32, &'static str), (Direction, Lost)>,
    is_closed: bool,
    /// The writer waits to be woken.
    is_asleep: bool,
}

impl Queue {
    /// A queue of so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            state: Mutex::default(),
            news: Condvar::new(),
            most,
        }
    }

    pub(crate) fn push(&self, item: Item) {
        let size = match &item.what {
            What::Bytes(bytes, _) | What::Message(bytes, _) => bytes.len(),
            // It takes no part in what is bounded: there is one for each stream that was let in.
            What::End => 0,
            What::Gap(_) => 0,
            What::Http(head) => head
                .headers
                .iter()
                .map(|(name, value)| name.len() + value.len())
                .sum(),
            What::State(_, text) => text.as_ref().map_or(0, String::len),
        };
        let mut state = self.state.lock();
        if state.is_closed {
            return;
        }
        let is_end = matches!(item.what, What::End);
        if state.size + size + OVERHEAD > self.most && !is_end {
            let (_, lost) = state
                .lost
                .entry((item.conn, item.dir.as_str()))
                .or_insert((item.dir, Lost::default()));
            lost.frames += 1;
            lost.bytes += size as u64;
            return;
        }
        state.tell_losses(item.at);
        state.size += size + OVERHEAD;
        state.items.push(item);
        if std::mem::take(&mut state.is_asleep) {
            drop(state);
            self.news.notify_one();
        }
    }

    /// Nothing more is taken; what is there will be written.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.tell_losses(Instant::now());
        state.is_closed = true;
        state.is_asleep = false;
        drop(state);
        self.news.notify_one();
    }

    /// Waits for something to write; nothing when the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<Vec<Item>> {
        let mut state = self.state.lock();
        if state.items.is_empty() && !state.is_closed {
            state.is_asleep = true;
            while state.is_asleep {
                self.news.wait(&mut state);
            }
        }
        if !state.is_closed {
            // Closing ends the gathering early.
            self.news.wait_for(&mut state, GATHERING);
        }
        state.size = 0;
        let items = std::mem::take(&mut state.items);
        (!items.is_empty() || !state.is_closed).then_some(items)
    }
}

impl State {
    fn tell_losses(&mut self, at: Instant) {
        for ((conn, _), (dir, lost)) in std::mem::take(&mut self.lost) {
            self.items.push(Item {
                at,
                conn,
                dir,
                what: What::Gap(lost),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(bytes: &'static [u8]) -> Item {
        Item {
            at: Instant::now(),
            conn: 1,
            dir: Direction::C2s,
            what: What::Bytes(Bytes::from_static(bytes), Framing::Lines),
        }
    }

    #[test]
    fn what_finds_no_room_is_counted_in_its_place() {
        let queue = Queue::new(2 * (OVERHEAD + 4));
        for bytes in [&b"1234"[..], b"1234", b"12345", b"1"] {
            queue.push(item(bytes));
        }
        let first = queue.take().unwrap();
        assert_eq!(first.len(), 2, "at the limit both fit");
        queue.push(item(b"next"));
        queue.close();
        queue.push(item(b"too late"));
        let second = queue.take().unwrap();
        let expected = Lost {
            frames: 2,
            bytes: 6,
        };
        assert!(matches!(second[0].what, What::Gap(lost) if lost == expected));
        assert!(matches!(&second[1].what, What::Bytes(bytes, _) if &bytes[..] == b"next"));
        assert!(queue.take().is_none());
    }
}
