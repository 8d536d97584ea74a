//! A second stack for deep forms.
//!
//! Owns the way onto it. The expander and the compiler follow the nesting of forms with Rust's own
//! stack; forms of the usual depth fit the caller's, whatever thread that is, and deeper ones go on
//! in a thread of their own whose stack is large enough for the deepest that is allowed. Memory is
//! used only as far as a form really nests.

use std::thread;

use crate::error::{ErrorKind, Fallible, Fault};

/// How deep forms may nest; a form of the source may count as two or three levels.
pub(crate) const MAX_NESTING: usize = 10_000;
/// Levels that are surely left on a caller's stack.
pub(crate) const SHALLOW: usize = 100;
/// What a level takes at most, without optimisation.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) {
    24 << 10
} else {
    8 << 10
};
/// What the way onto a second stack costs, in steps: about as much time.
pub(crate) const STEPS: usize = 1_000;

/// Runs work on a stack with room for the deepest forms.
pub(crate) fn deep<T: Send>(work: impl FnOnce() -> Fallible<T> + Send) -> Fallible<T> {
    let outcome = thread::scope(|scope| {
        let spawned = thread::Builder::new()
            .stack_size(MAX_NESTING * LEVEL_BYTES)
            .spawn_scoped(scope, work);
        spawned.map(thread::ScopedJoinHandle::join)
    });
    match outcome {
        Ok(Ok(result)) => result,
        // A defect goes on as it would have without the second stack.
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => Err(Fault::limit(
            ErrorKind::Depth,
            format!("no stack for forms that nest deeper than {SHALLOW}: {error}"),
        )),
    }
}
