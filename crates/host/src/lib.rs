//! Many MCP servers as one.
//!
//! This crate owns configuration, discovery, names, policy and trust, and on top of them the life
//! of many servers. It knows nothing of how anything is drawn; it neither prints nor exits, and it
//! reads the user's environment and files only where its caller points.

pub mod cache;
pub mod call_log;
pub mod catalog;
pub mod config;
pub mod events;
pub mod frames;
pub mod log_files;
pub mod manifest;
pub mod names;
pub mod policy;
pub mod questions;
pub mod redact;
pub mod retry;
pub mod snapshot;
pub mod supervisor;
pub mod trust;

mod accounts;
mod as_written;
mod digest;
mod disk;
mod error;
mod host;
mod journal;
mod nearest;
mod plain;
mod probes;
mod shareable;
mod state_file;

pub use accounts::Accounts;
pub use attache_client as client;
pub use error::{Cause, Error, Failure, Refuser};
pub use host::{
    Call, GetPrompt, Host, HostBuilder, Lifetime, List, PinError, PinnedTool, Read, ReadAnswer,
    Watch, Watched, configured_log_folder, log_folder, manifest_folder,
};
pub use nearest::nearest;
pub use shareable::{path_digest, shareable};
