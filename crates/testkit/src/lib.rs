//! Real misbehaving parts for tests.

pub mod binaries;
pub mod chaos;
pub mod processes;
mod random;
pub mod scratch;
