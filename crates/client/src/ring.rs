//! The last items of a stream, numbered, for any number of readers, each at its own pace.
//!
//! Plain data without a lock or a task: who shares a ring locks it and wakes its readers. Nothing a
//! reader does can make [`Ring::push`] wait, so a writer is never slowed by a reader
//! (fault 49). Items are bounded in number and in bytes; what a reader has lost is counted.

use std::collections::{BTreeMap, VecDeque};

/// The last items of a stream.
#[derive(Debug)]
pub struct Ring<T> {
    /// The newest items, without a gap up to `last`, each with its size.
    items: VecDeque<(usize, T)>,
    /// The number of the newest item there ever was; the first has the number 1.
    last: u64,
    bytes: usize,
    most: usize,
    most_bytes: usize,
    retention: Retention,
    /// For each reader, the number of the last item it has read or lost.
    readers: BTreeMap<u64, u64>,
    readers_ever: u64,
    dropped: u64,
}

/// When a ring keeps items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// While it has a reader.
    WhileRead,
    /// Always, so that a reader can begin in the past.
    Always,
}

/// What a reader gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// The next item.
    Item(T),
    /// So many items were dropped before they were read.
    Missed {
        /// How many.
        count: u64,
        /// The number of the last of them.
        last: u64,
    },
    /// Nothing new.
    Nothing,
}

impl<T: Clone> Ring<T> {
    /// A ring that keeps at most `most` items, and at most `most_bytes` of them.
    pub fn new(most: usize, most_bytes: usize, retention: Retention) -> Self {
        Self {
            items: VecDeque::new(),
            last: 0,
            bytes: 0,
            most,
            most_bytes,
            retention,
            readers: BTreeMap::new(),
            readers_ever: 0,
            dropped: 0,
        }
    }

    /// The number of the newest item there ever was.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether an item would be kept for anybody. If not, it need not be made: see
    /// [`skip`](Self::skip).
    pub fn is_wanted(&self) -> bool {
        self.retention == Retention::Always || !self.readers.is_empty()
    }

    /// How many items were dropped before every reader had read them.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Numbers an item that is not made, because it has no reader.
    pub fn skip(&mut self) -> u64 {
        self.clear();
        self.last += 1;
        self.last
    }

    /// Adds the next item, of about this size, and drops the oldest beyond the limits; that can be
    /// the item itself.
    pub fn push(&mut self, bytes: usize, item: T) -> u64 {
        self.last += 1;
        self.bytes += bytes;
        self.items.push_back((bytes, item));
        while self.items.len() > self.most || self.bytes > self.most_bytes {
            let number = self.last - self.items.len() as u64 + 1;
            let Some((bytes, _)) = self.items.pop_front() else {
                break;
            };
            self.bytes -= bytes;
            self.dropped += u64::from(self.readers.values().any(|read| *read < number));
        }
        self.last
    }

    /// Lets a reader begin after the item of this number; none if what follows it is not there any
    /// more, or never was.
    pub fn begin(&mut self, after: u64) -> Option<u64> {
        let oldest = self.last - self.items.len() as u64;
        if !(oldest..=self.last).contains(&after) {
            return None;
        }
        self.readers_ever += 1;
        self.readers.insert(self.readers_ever, after);
        Some(self.readers_ever)
    }

    /// What comes next for a reader.
    pub fn next(&mut self, reader: u64) -> Next<T> {
        let oldest = self.last - self.items.len() as u64;
        let Some(read) = self.readers.get_mut(&reader) else {
            return Next::Nothing;
        };
        if *read < oldest {
            let count = oldest - *read;
            *read = oldest;
            return Next::Missed {
                count,
                last: oldest,
            };
        }
        let at = usize::try_from(*read - oldest).unwrap_or(usize::MAX);
        match self.items.get(at) {
            Some((_, item)) => {
                *read += 1;
                Next::Item(item.clone())
            }
            None => Next::Nothing,
        }
    }

    /// A reader has gone.
    pub fn end(&mut self, reader: u64) {
        self.readers.remove(&reader);
        if !self.is_wanted() {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.items = VecDeque::new();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(ring: &mut Ring<u64>, reader: u64) -> (Vec<u64>, u64) {
        let (mut items, mut missed) = (Vec::new(), 0);
        loop {
            match ring.next(reader) {
                Next::Item(item) => items.push(item),
                Next::Missed { count, .. } => missed += count,
                Next::Nothing => return (items, missed),
            }
        }
    }

    #[test]
    fn each_reader_goes_at_its_own_pace_and_is_told_what_it_lost() {
        let mut ring = Ring::new(4, 1000, Retention::WhileRead);
        let quick = ring.begin(0).unwrap();
        let slow = ring.begin(0).unwrap();
        for number in 1..=10 {
            assert_eq!(ring.push(1, number), number);
            assert_eq!(ring.next(quick), Next::Item(number));
        }
        assert_eq!(ring.dropped(), 6);
        assert_eq!(ring.next(slow), Next::Missed { count: 6, last: 6 });
        assert_eq!(read_all(&mut ring, slow), (vec![7, 8, 9, 10], 0));
        assert_eq!(ring.dropped(), 6, "an item is dropped once");
        ring.end(quick);
        ring.push(1, 11);
        assert_eq!(read_all(&mut ring, slow), (vec![11], 0));
    }

    #[test]
    fn a_reader_begins_in_the_past_as_far_as_it_is_kept() {
        let mut ring = Ring::new(4, 1000, Retention::Always);
        for number in 1..=10 {
            ring.push(1, number);
        }
        assert_eq!(ring.dropped(), 0, "there was no reader to lose anything");
        for after in [0, 5, 11] {
            assert_eq!(ring.begin(after), None, "{after}");
        }
        for after in 6..=10 {
            let reader = ring.begin(after).unwrap();
            let expected: Vec<u64> = (after + 1..=10).collect();
            assert_eq!(read_all(&mut ring, reader), (expected, 0));
        }
    }

    #[test]
    fn nothing_is_kept_for_nobody_and_what_was_skipped_is_too_old() {
        let mut ring = Ring::new(4, 1000, Retention::WhileRead);
        assert!(!ring.is_wanted());
        assert_eq!(ring.skip(), 1);
        let reader = ring.begin(1).unwrap();
        assert!(ring.is_wanted());
        ring.push(1, 2);
        ring.end(reader);
        assert!(!ring.is_wanted());
        assert_eq!(ring.begin(1), None, "what the reader left was let go");
        assert_eq!(ring.skip(), 3);
        assert_eq!(ring.begin(2), None);
        assert!(ring.begin(3).is_some());
    }

    #[test]
    fn bytes_are_bounded_too_and_what_is_too_big_alone_is_lost() {
        let mut ring = Ring::new(100, 10, Retention::WhileRead);
        let reader = ring.begin(0).unwrap();
        for number in 1..=3 {
            ring.push(4, number);
        }
        assert_eq!(read_all(&mut ring, reader), (vec![2, 3], 1));
        ring.push(10, 4);
        assert_eq!(read_all(&mut ring, reader), (vec![4], 0));
        ring.push(11, 5);
        assert_eq!(read_all(&mut ring, reader), (vec![], 1));
        ring.push(1, 6);
        assert_eq!(read_all(&mut ring, reader), (vec![6], 0));
        assert_eq!(ring.dropped(), 2);
    }
}
