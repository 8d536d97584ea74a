//! The message as text: envelope, frames, scanning, server-sent events.
//!
//! Knows JSON-RPC and its framings, and no method of MCP.

pub mod codes;
pub mod frame;
pub mod meta;

pub(crate) mod envelope;
pub(crate) mod framing;
pub(crate) mod id;
pub(crate) mod json;
pub(crate) mod mirrored;
pub(crate) mod peek;
pub(crate) mod plain_result;
pub(crate) mod record;
pub(crate) mod scan;
pub(crate) mod sse;
pub(crate) mod unescape;
