//! When to try again, and after how long.
//!
//! Owns the back-off with full jitter (P3) and the rule which failures may be repeated at all
//! (invariant 12: nothing that may have had an effect is silently repeated). Knows no server and
//! starts no timer.

use std::time::Duration;

use attache_client::{Error as ClientError, HttpError, Meaning};
use fastrand::Rng;

use crate::config::{Retry, RetryOn};

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
    /// Whether this failure allows another attempt under these rules. What the server says in terms
    /// of the protocol, except that it ran out of time itself, is an answer.
    pub fn allows_repeat_after(self, error: &ClientError, retry: &Retry) -> bool {
        let safe = match error {
            ClientError::NotSent { .. } => self != Self::Never,
            _ => self == Self::Harmless,
        };
        safe && kind_of(error).is_some_and(|kind| retry.on.contains(&kind))
    }
}

/// Which kind of failure it is, if it is one that may pass.
fn kind_of(error: &ClientError) -> Option<RetryOn> {
    match error {
        ClientError::NotSent { .. } | ClientError::OutcomeUnknown { .. } => Some(RetryOn::Lost),
        ClientError::TimedOut { .. } => Some(RetryOn::Timeout),
        ClientError::Server(error) if error.meaning == Meaning::TimedOut => Some(RetryOn::Timeout),
        ClientError::Http {
            problem:
                HttpError::Status {
                    status: 408 | 425 | 429 | 502..=504,
                    ..
                },
            ..
        } => Some(RetryOn::Transient),
        _ => None,
    }
}

/// Growing pauses with full jitter: each is a random part of a bound that grows by a factor.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    factor: f64,
    most: Duration,
    failures: u32,
    random: Rng,
}

impl Backoff {
    /// Pauses of at most `first`, doubling up to `most`.
    pub fn new(first: Duration, most: Duration, random: Rng) -> Self {
        Self {
            first,
            factor: 2.0,
            most,
            failures: 0,
            random,
        }
    }

    /// The pauses of these rules.
    pub fn of(retry: &Retry, random: Rng) -> Self {
        Self {
            factor: retry.factor,
            ..Self::new(retry.first, retry.ceiling, random)
        }
    }

    /// The bound of the next pause.
    pub fn bound(&self) -> Duration {
        let failures = i32::try_from(self.failures).unwrap_or(i32::MAX);
        let seconds = self.first.as_secs_f64() * self.factor.powi(failures);
        let bound = Duration::try_from_secs_f64(seconds);
        bound.unwrap_or(self.most).min(self.most)
    }

    /// The next pause.
    pub fn next_pause(&mut self) -> Duration {
        let bound = self.bound();
        self.failures = self.failures.saturating_add(1);
        bound.mul_f64(self.random.f64())
    }

    /// Begins with the shortest pause again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use attache_client::CloseReason;

    use super::*;

    #[test]
    fn pauses_double_up_to_the_most_and_are_a_random_part_of_that() {
        let (first, most) = (Duration::from_millis(100), Duration::from_secs(30));
        let mut backoff = Backoff::new(first, most, Rng::with_seed(7));
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
    fn pauses_grow_by_the_factor_up_to_the_ceiling() {
        let retry = Retry {
            first: Duration::from_millis(100),
            factor: 1.5,
            ceiling: Duration::from_millis(300),
            ..Retry::default()
        };
        let mut backoff = Backoff::of(&retry, Rng::with_seed(7));
        let bounds = [100, 150, 225, 300, 300].map(Duration::from_millis);
        for bound in bounds {
            assert_eq!(backoff.bound(), bound);
            assert!(backoff.next_pause() <= bound);
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
            complaint: None,
        };
        let status = |status| ClientError::Http {
            method: method(),
            problem: HttpError::Status {
                status,
                text: String::new(),
            },
        };
        for (error, kind, harmless, only_unsent) in [
            (not_sent, RetryOn::Lost, true, true),
            (unknown, RetryOn::Lost, true, false),
            (timed_out, RetryOn::Timeout, true, false),
            (status(503), RetryOn::Transient, true, false),
            (status(429), RetryOn::Transient, true, false),
            (status(404), RetryOn::Transient, false, false),
            (status(500), RetryOn::Transient, false, false),
        ] {
            let on = |on: &[RetryOn]| Retry {
                on: on.to_vec(),
                ..Retry::default()
            };
            let rules = on(&[kind]);
            let allowed = Repeatable::Harmless.allows_repeat_after(&error, &rules);
            assert_eq!(allowed, harmless, "{error}");
            let allowed = Repeatable::OnlyUnsent.allows_repeat_after(&error, &rules);
            assert_eq!(allowed, only_unsent, "{error}");
            assert!(!Repeatable::Never.allows_repeat_after(&error, &rules));
            let mut others = vec![RetryOn::Lost, RetryOn::Timeout, RetryOn::Transient];
            others.retain(|other| *other != kind);
            assert!(!Repeatable::Harmless.allows_repeat_after(&error, &on(&others)));
        }
    }
}
