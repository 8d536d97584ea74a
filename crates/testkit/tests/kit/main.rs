//! The kit's own tests with real processes, in one binary.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where an expectation does"
)]

mod correct_server;
mod faults;
mod process_faults;
mod support;
mod throughput;
