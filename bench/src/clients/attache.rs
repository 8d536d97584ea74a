//! This client. The adapter comes with the library's API; until then its two
//! columns say so instead of showing a number.

/// Why the columns of this client are empty.
pub(crate) const ABSENT: &str = "the library has no client API yet";
