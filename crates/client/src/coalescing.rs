//! Lets what nobody waits for gather before it is read, so that a flood costs few wake-ups.
//!
//! A server that writes one notification, or one line of stderr, after the other wakes its reader
//! for each of them, and a machine with few cores then has none left for the other servers (P5).
//! Read once a millisecond the same flood comes in large pieces. Nothing is lost by it: the pipe
//! holds what gathers, and a server that fills it waits until it is read.

use std::time::Duration;

use tokio::time::Instant;

/// Reads that follow each other within this time belong together.
const QUICK: Duration = Duration::from_micros(200);
/// So many of them in a row are a flood.
const MANY: u32 = 16;
/// How long a flood gathers between two reads.
const REST: Duration = Duration::from_millis(1);

/// The pace of one stream's reads.
#[derive(Debug, Default)]
pub(crate) struct ReadCoalescing {
    last: Option<Instant>,
    quick: u32,
}

impl ReadCoalescing {
    /// A read brought something that somebody waits for: the next one must not be late.
    pub(crate) fn awaited(&mut self) {
        self.quick = 0;
    }

    /// A read brought nothing that anybody waits for.
    pub(crate) async fn aside(&mut self) {
        let now = Instant::now();
        let is_quick = self
            .last
            .is_some_and(|last| now.duration_since(last) < QUICK);
        self.quick = if is_quick { self.quick + 1 } else { 0 };
        self.last = Some(now);
        if self.quick >= MANY {
            tokio::time::sleep(REST).await;
            // What gathered meanwhile still belongs to the flood.
            self.quick = MANY;
            self.last = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn rests(gathering: &mut ReadCoalescing) -> bool {
        let began = Instant::now();
        gathering.aside().await;
        began.elapsed() >= REST
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_read_once_a_millisecond_until_it_ends() {
        let mut gathering = ReadCoalescing::default();
        for _ in 0..MANY {
            assert!(!rests(&mut gathering).await);
        }
        for _ in 0..3 {
            assert!(rests(&mut gathering).await);
        }
        tokio::time::advance(QUICK).await;
        assert!(!rests(&mut gathering).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_never_made_to_wait_for_the_next() {
        let mut gathering = ReadCoalescing::default();
        for _ in 0..3 {
            for _ in 0..MANY - 1 {
                assert!(!rests(&mut gathering).await);
            }
            gathering.awaited();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_slowly_is_read_at_once() {
        let mut gathering = ReadCoalescing::default();
        for _ in 0..10 * MANY {
            assert!(!rests(&mut gathering).await);
            tokio::time::advance(QUICK).await;
        }
    }
}
