//! Names that no two tests share.

/// A word that is unique on this machine for any practical purpose.
pub(crate) fn token() -> String {
    format!("{}-{:016x}", std::process::id(), fastrand::u64(..))
}
