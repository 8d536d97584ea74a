//! The kit's own tests with real processes, in one binary.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where an expectation does, and may say what it measured"
)]

mod correct_server;
mod faults;
mod official_schemas;
mod process_faults;
mod schemas;
mod support;
mod throughput;
