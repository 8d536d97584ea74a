//! Whole conversations with servers, over the public interface of the client.
//!
//! Three rings: a hand-driven server in memory under a paused clock (`peer`), wire transcripts of
//! each revision, and the chaos server as a real process. Every message the client writes is
//! checked against the official schema of its revision when `MCP_SCHEMA_DIR` names the schemas.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where an expectation does"
)]

mod deadlines;
mod endings;
mod lists;
mod logging;
mod negotiation;
mod opening;
mod peer;
mod processes;
mod questions;
mod quirks;
mod record;
mod rounds;
mod seeds;
mod server_requests;
mod task_extension;
mod tasks;
mod transcripts;
mod unsupported;
mod user_time;
mod visits;
mod watching;
mod watching_legacy;
