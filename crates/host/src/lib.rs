//! Many MCP servers as one.
//!
//! This crate owns configuration, discovery, names, policy and trust, and on top of them the life
//! of many servers. It knows nothing of how anything is drawn; it neither prints nor exits, and it
//! reads the user's environment and files only where its caller points.

pub mod config;

pub use attache_client as client;
