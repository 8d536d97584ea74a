//! How long modern clients may keep what they were told (section 14 of the ledger).

use std::time::Duration;

/// Who may share a cached result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// Only the one who asked.
    #[default]
    Private,
    /// Everybody; choose it knowing that (S-CACHE-10).
    Public,
}

/// A hint for caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// How long the result is fresh.
    pub ttl: Duration,
    /// Who may share it.
    pub scope: CacheScope,
}

impl Caching {
    /// Fresh for `ttl`, for the one who asked.
    pub fn private(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Private,
        }
    }

    /// Fresh for `ttl`, for everybody.
    pub fn public(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Public,
        }
    }

    pub(crate) fn ttl_ms(&self) -> i64 {
        i64::try_from(self.ttl.as_millis()).unwrap_or(i64::MAX)
    }

    pub(crate) fn scope_name(&self) -> &'static str {
        match self.scope {
            CacheScope::Private => "private",
            CacheScope::Public => "public",
        }
    }
}
