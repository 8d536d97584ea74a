//! States that may not be used again, remembered for as long as they would still be good
//! (S-MRTR-09).
//!
//! Owns nothing but their serial numbers and when each expires. The memory is this process's own:
//! instances that share a key do not share it.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

/// Serial numbers of used states, with the second since 1970 in which they expire.
#[derive(Default)]
pub(crate) struct UsedStates {
    table: Mutex<HashMap<String, u64>>,
}

/// Why a state cannot be redeemed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnusableState {
    /// It was before.
    Used,
    /// As many are remembered as may be.
    NoRoom,
}

impl UsedStates {
    pub(crate) fn contains(&self, serial: &str) -> bool {
        self.lock().contains_key(serial)
    }

    /// Remembers a serial number until `expires`. Those that have expired at `now` make room.
    pub(crate) fn insert(
        &self,
        serial: &str,
        now: u64,
        expires: u64,
        limit: usize,
    ) -> Result<(), UnusableState> {
        let mut table = self.lock();
        if table.contains_key(serial) {
            return Err(UnusableState::Used);
        }
        if table.len() >= limit {
            table.retain(|_, expires| *expires >= now);
        }
        if table.len() >= limit {
            return Err(UnusableState::NoRoom);
        }
        table.insert(serial.to_owned(), expires);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.table.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_mrtr_09_so_many_are_remembered_until_they_expire() {
        let redeemed = UsedStates::default();
        assert_eq!(redeemed.insert("a", 100, 110, 2), Ok(()));
        assert_eq!(redeemed.insert("a", 100, 110, 2), Err(UnusableState::Used));
        assert_eq!(redeemed.insert("b", 100, 120, 2), Ok(()));
        let full = Err(UnusableState::NoRoom);
        assert_eq!(redeemed.insert("c", 110, 130, 2), full);
        assert!(redeemed.contains("a"), "it is good in its last second");
        assert_eq!(redeemed.insert("c", 111, 130, 2), Ok(()));
        assert!(!redeemed.contains("a") && redeemed.contains("b"));
    }
}
