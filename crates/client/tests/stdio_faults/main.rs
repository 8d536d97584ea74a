//! The client against a real server process that misbehaves: one test or more for each
//! numbered fault of a stdio server that concerns framing, accounting and tolerance, and
//! for the limits of promise P4.
//!
//! Owns no server of its own: every one is a scripted chaos server of the test kit, and
//! everything is seen through the client's public interface.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod answers;
mod batches;
mod endings;
mod framing;
mod hostile_json;
mod limits;
mod malformed;
mod memory;
mod notifications;
mod stderr;
mod support;
mod tolerance;
mod writing;
