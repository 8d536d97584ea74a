//! The time of day, as tokens count it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970. A clock before that counts as 1970: everything then looks long expired.
pub(crate) fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}
