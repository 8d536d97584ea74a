//! Names that no two tests share.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// A word that is unique on this machine for any practical purpose: process
/// id, a counter, and the standard library's own per-process randomness.
pub(crate) fn token() -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(made);
    let random = hasher.finish();
    format!("{}-{made}-{random:016x}", std::process::id())
}
