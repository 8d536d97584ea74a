//! Many MCP servers as one.
//!
//! This crate owns configuration, discovery, names, policy and trust, and on top of them the life
//! of many servers. It knows nothing of how anything is drawn; it neither prints nor exits, and it
//! reads the user's environment and files only where its caller points.

mod digest;
mod nearest;
mod state_file;

pub mod config;
pub mod names;
pub mod policy;
pub mod redact;
pub mod trust;

pub use attache_client as client;
pub use nearest::nearest;
