//! The table of calls in flight: the one place where a call begins and ends.
//!
//! A plain struct without tasks or time. Every call that [`begin`](InFlight::begin) issues leaves
//! through [`end`](InFlight::end) or [`close`](InFlight::close) exactly once, and the
//! [`Tally`] proves it: issued = open + sum of endings (invariant 2).

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use crate::ending::Ending;

/// How many calls were issued and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls begun.
    pub issued: u64,
    /// Calls still waiting.
    pub open: u64,
    endings: [u64; Ending::ALL.len()],
}

impl Tally {
    /// How many calls ended this way.
    pub fn count(&self, ending: Ending) -> u64 {
        self.endings[ending as usize]
    }

    /// How many calls ended, in any way.
    pub fn ended(&self) -> u64 {
        self.endings.iter().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "issued {}, open {}, ended {}",
            self.issued,
            self.open,
            self.ended()
        )?;
        for ending in Ending::ALL {
            write!(formatter, ", {} {}", ending.name(), self.count(ending))?;
        }
        Ok(())
    }
}

/// The connection is closed: no call can begin any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// Calls in flight, each with what is needed to complete it.
#[derive(Debug)]
pub struct InFlight<W> {
    last_id: u64,
    open: HashMap<u64, W, BuildHasherDefault<CounterHasher>>,
    tally: Tally,
    closed: bool,
}

/// Hashes ids that this table counts out itself, so no peer can choose them to collide.
#[derive(Debug, Default)]
struct CounterHasher(u64);

impl Hasher for CounterHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, id: u64) {
        // A multiplication by the golden ratio spreads neighbours over all bits.
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl<W> Default for InFlight<W> {
    fn default() -> Self {
        Self {
            last_id: 0,
            open: HashMap::default(),
            tally: Tally::default(),
            closed: false,
        }
    }
}

impl<W> InFlight<W> {
    /// A fresh id for a call about to begin; ids start at 1 and are never reused (X-BASE-03).
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Begins the call that [`next_id`](Self::next_id) gave `id` to.
    pub fn begin(&mut self, id: u64, waiter: W) -> Result<(), Closed> {
        if self.closed {
            return Err(Closed);
        }
        self.tally.issued += 1;
        let former = self.open.insert(id, waiter);
        debug_assert!(former.is_none(), "an id begins one call");
        Ok(())
    }

    /// Whether no call can begin any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The open calls and their waiters, in no order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut W)> {
        self.open.iter_mut().map(|(id, waiter)| (*id, waiter))
    }

    /// The waiter of an open call.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut W> {
        self.open.get_mut(&id)
    }

    /// Ends a call and gives back its waiter; `None` if it has ended already or never began.
    pub fn end(&mut self, id: u64, ending: Ending) -> Option<W> {
        let waiter = self.open.remove(&id)?;
        self.tally.endings[ending as usize] += 1;
        Some(waiter)
    }

    /// Counts a call that ended with a result as a protocol error instead: its payload turned out
    /// not to be what the method declares.
    pub fn reclassify_undecodable(&mut self) {
        self.tally.endings[Ending::Result as usize] -= 1;
        self.tally.endings[Ending::ProtocolError as usize] += 1;
    }

    /// Ends every open call, each in the way `ending` says, and lets none begin any more.
    pub fn close(&mut self, ending: impl Fn(&W) -> Ending) -> Vec<(W, Ending)> {
        self.closed = true;
        let ended: Vec<_> = std::mem::take(&mut self.open)
            .into_values()
            .map(|waiter| {
                let ending = ending(&waiter);
                (waiter, ending)
            })
            .collect();
        for (_, ending) in &ended {
            self.tally.endings[*ending as usize] += 1;
        }
        ended
    }

    /// Whether `id` was issued once, be it open or ended.
    pub fn was_issued(&self, id: u64) -> bool {
        (1..=self.last_id).contains(&id)
    }

    /// How many calls are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether no call is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The counts so far.
    pub fn tally(&self) -> Tally {
        Tally {
            open: self.open.len() as u64,
            ..self.tally
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin<W>(table: &mut InFlight<W>, waiter: W) -> u64 {
        let id = table.next_id();
        table.begin(id, waiter).unwrap();
        id
    }

    fn balanced<W>(table: &InFlight<W>) -> bool {
        let tally = table.tally();
        tally.issued == tally.open + tally.ended()
    }

    #[test]
    fn fault_42_a_call_ends_once_and_the_first_ending_wins() {
        let mut table = InFlight::default();
        let id = begin(&mut table, "waiter");
        assert_eq!(table.end(id, Ending::Result), Some("waiter"));
        assert_eq!(table.end(id, Ending::TimedOut), None);
        assert_eq!(table.tally().count(Ending::Result), 1);
        assert_eq!(table.tally().count(Ending::TimedOut), 0);
        assert!(balanced(&table));
    }

    #[test]
    fn ids_are_never_reused() {
        let mut table = InFlight::default();
        let first = begin(&mut table, ());
        table.end(first, Ending::Cancelled);
        assert_eq!(begin(&mut table, ()), first + 1);
        assert!(table.was_issued(first) && !table.was_issued(0) && !table.was_issued(3));
    }

    #[test]
    fn closing_ends_all_that_is_open_and_refuses_the_rest() {
        let mut table = InFlight::default();
        for sent in [true, false, true] {
            begin(&mut table, sent);
        }
        let ended = table.close(|sent| {
            if *sent {
                Ending::OutcomeUnknown
            } else {
                Ending::NotSent
            }
        });
        assert_eq!(ended.len(), 3);
        assert_eq!(table.tally().count(Ending::OutcomeUnknown), 2);
        assert_eq!(table.tally().count(Ending::NotSent), 1);
        let late = table.next_id();
        assert_eq!(table.begin(late, true), Err(Closed));
        assert!(balanced(&table));
    }

    #[test]
    fn an_undecodable_result_counts_as_a_protocol_error() {
        let mut table = InFlight::default();
        let id = begin(&mut table, ());
        table.end(id, Ending::Result);
        table.reclassify_undecodable();
        assert_eq!(table.tally().count(Ending::ProtocolError), 1);
        assert!(balanced(&table));
    }
}
