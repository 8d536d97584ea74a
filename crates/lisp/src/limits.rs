//! The limits of an evaluation, and how its embedder may interrupt it.
//!
//! Owns the numbers and the polling interface; knows nothing of how a limit is enforced.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What one evaluation may use. Every field is checked before the work it bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Procedure calls, loop turns and units of work inside primitives.
    pub steps: u64,
    /// Bytes of live and not yet collected Scheme objects, compiled code included.
    pub heap: usize,
    /// Pending (non-tail) calls, and nesting of parentheses while reading.
    pub depth: usize,
    /// Bits of one exact integer, numerator or denominator.
    pub integer_bits: u64,
    /// Bytes of source text.
    pub source: usize,
    /// Bytes of captured output, and of the written value.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            heap: 64 << 20,
            depth: 100_000,
            integer_bits: 1 << 20,
            source: 1 << 20,
            output: 256 << 10,
        }
    }
}

/// Polled at regular numbers of steps; a reason stops the evaluation.
pub trait Interrupt {
    /// Says whether the evaluation must stop now, and why; told the steps used so far.
    fn poll(&self, steps: u64) -> Option<Stop>;
}

/// Why an embedder stopped an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time allowed is used up.
    Deadline,
    /// Somebody asked for the evaluation to end.
    Cancelled,
}

/// Never interrupts: the step limit alone ends the evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uninterrupted;

impl Interrupt for Uninterrupted {
    fn poll(&self, _steps: u64) -> Option<Stop> {
        None
    }
}

/// Stops at an instant, or as soon as a flag is raised.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// When to stop, if there is such a time.
    pub deadline: Option<Instant>,
    /// The flag that cancels, if there is one.
    pub cancelled: Option<&'a AtomicBool>,
}

impl Interrupt for Watch<'_> {
    fn poll(&self, _steps: u64) -> Option<Stop> {
        if self
            .cancelled
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return Some(Stop::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some(Stop::Deadline),
            _ => None,
        }
    }
}
