//! When to try again, and after how long.
//!
//! Owns the back-off with full jitter (P3) and the rule which failures may be repeated at all
//! (invariant 12: nothing that may have had an effect is silently repeated). Knows no server and
//! starts no timer.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use attache_client::Error as ClientError;

/// How often a harmless request (a list, a read) is made at the most.
pub const HARMLESS_ATTEMPTS: u32 = 3;
/// How often a call is made at the most, if each failure before is known to be safe to repeat.
pub const CALL_ATTEMPTS: u32 = 3;

/// What repeating a request would mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeatable {
    /// It is made once, whatever happens.
    Never,
    /// It changes nothing, or changing it twice is changing it once: it may be repeated even if it
    /// may have arrived.
    Harmless,
    /// It may have an effect: it may be repeated only if it was certainly never sent.
    OnlyUnsent,
}

impl Repeatable {
    /// How often such a request is made at the most.
    pub fn attempts(self) -> u32 {
        match self {
            Self::Never => 1,
            Self::Harmless => HARMLESS_ATTEMPTS,
            Self::OnlyUnsent => CALL_ATTEMPTS,
        }
    }

    /// Whether this failure allows another attempt. A time-out does not: it has used up the time
    /// there was. An answer of the server, whatever it says, is an answer.
    pub fn allows_repeat_after(self, error: &ClientError) -> bool {
        match error {
            ClientError::NotSent { .. } => self != Self::Never,
            ClientError::OutcomeUnknown { .. } => self == Self::Harmless,
            _ => false,
        }
    }
}

/// Growing pauses with full jitter: each is a random part of a bound that doubles.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
    random: Random,
}

impl Backoff {
    /// Pauses of at most `first`, doubling up to `most`.
    pub fn new(first: Duration, most: Duration, random: Random) -> Self {
        Self {
            first,
            most,
            failures: 0,
            random,
        }
    }

    /// The bound of the next pause.
    pub fn bound(&self) -> Duration {
        let doubled = 2_u32.checked_pow(self.failures);
        let bound = doubled.and_then(|factor| self.first.checked_mul(factor));
        bound.unwrap_or(self.most).min(self.most)
    }

    /// The next pause.
    pub fn next_pause(&mut self) -> Duration {
        let bound = self.bound();
        self.failures = self.failures.saturating_add(1);
        bound.mul_f64(self.random.fraction())
    }

    /// Begins with the shortest pause again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// A small generator of numbers nobody has to trust: it only spreads restarts over time.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that always gives the same numbers for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own.
    pub fn fresh() -> Self {
        // The standard library seeds its hashers randomly, which spares a dependency.
        Self(RandomState::new().build_hasher().finish())
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to just below 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits fit exactly, which is why they are taken"
    )]
    pub fn fraction(&mut self) -> f64 {
        (self.next_number() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use attache_client::CloseReason;

    use super::*;

    #[test]
    fn pauses_double_up_to_the_most_and_are_a_random_part_of_that() {
        let (first, most) = (Duration::from_millis(100), Duration::from_secs(30));
        let mut backoff = Backoff::new(first, most, Random::seeded(7));
        let mut bounds = Vec::new();
        for _ in 0..11 {
            let bound = backoff.bound();
            bounds.push(bound.as_millis());
            assert!(backoff.next_pause() <= bound);
        }
        let expected = [
            100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
        ];
        assert_eq!(bounds, expected);
        backoff.failures = u32::MAX;
        assert_eq!(backoff.bound(), most);
        backoff.reset();
        assert_eq!(backoff.bound(), first);
    }

    #[test]
    fn jitter_uses_the_whole_range() {
        let mut random = Random::seeded(1);
        let fractions: Vec<_> = (0..1000).map(|_| random.fraction()).collect();
        assert!(fractions.iter().all(|part| (0.0..1.0).contains(part)));
        for tenth in 0..10 {
            let low = f64::from(tenth) / 10.0;
            let within = |part: &&f64| (low..low + 0.1).contains(*part);
            assert!(fractions.iter().filter(within).count() > 50, "{tenth}");
        }
    }

    #[test]
    fn only_what_is_safe_is_repeated() {
        let method = || "tools/call".to_owned();
        let reason = CloseReason::EndOfStream;
        let not_sent = ClientError::NotSent {
            method: method(),
            reason: reason.clone(),
        };
        let unknown = ClientError::OutcomeUnknown {
            method: method(),
            reason,
        };
        let timed_out = ClientError::TimedOut {
            method: method(),
            after: Duration::from_secs(1),
        };
        for (error, harmless, only_unsent) in [
            (not_sent, true, true),
            (unknown, true, false),
            (timed_out, false, false),
        ] {
            let allowed = Repeatable::Harmless.allows_repeat_after(&error);
            assert_eq!(allowed, harmless, "{error}");
            let allowed = Repeatable::OnlyUnsent.allows_repeat_after(&error);
            assert_eq!(allowed, only_unsent, "{error}");
            assert!(!Repeatable::Never.allows_repeat_after(&error));
        }
    }
}
            complaint: None,
        };
        let status = |status| ClientError::Http {
            method: method(),
            problem: HttpError::Status {
                status,
                text: String::new(),
            },
