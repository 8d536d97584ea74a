//! The server of notes as a client sees it.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod reading;
mod support;
mod syncing;
mod writing;
