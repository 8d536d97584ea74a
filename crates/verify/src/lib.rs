//! Checks of MCP servers and clients by the duties of the specification.
//!
//! The checks are data (`checks`): each row names the duties it is about, whom it applies to, and a
//! function over a small kit of raw connections (`peer`, `stdio`, `http`, `sse`). Nothing here uses the
//! client or the server of this workspace, so that no defect of theirs can hide one of others, or
//! their own. Owns the checks, their order and their reports; refuses to know terminals and the
//! configuration.

mod baseline;
mod bench;
pub mod calls;
mod check;
pub mod checks;
pub mod client;
mod facts;
mod http;
mod peer;
mod processes;
pub mod report;
mod run;
mod sample;
mod schemas;
mod sse;
mod stdio;
mod target;
mod trace;
mod watch;

pub use baseline::Baseline;
pub use bench::AllowedCall;
pub use check::{Check, Group, Level, Outcome, Over, Verdict};
pub use report::{EraReport, Report};
pub use run::{Eras, Options, verify};
pub use target::{HttpTarget, StdioTarget, Target};
