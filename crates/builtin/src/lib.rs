//! Ready-made MCP servers.
//!
//! Each is a module of its own: a pure domain part and the tools over it. Knows nothing of how a
//! server is started or where its messages go.

pub mod demo;
pub mod lisp;
pub mod speckit;
