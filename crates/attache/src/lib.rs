//! An MCP client that speaks to every server, of any revision, and never hangs, leaks, or lies
//! about what happened.
pub use attache_client::*;
pub use serde_json::json;
