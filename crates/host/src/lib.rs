//! Many MCP servers as one.
//!
//! This crate owns configuration, discovery, names, policy and trust, and on top of them the life
//! of many servers. It knows nothing of how anything is drawn; it neither prints nor exits, and it
//! reads the user's environment and files only where its caller points.

pub mod config;

pub mod cache;
pub mod catalog;
mod error;
pub mod events;
pub mod questions;
pub mod retry;
pub mod snapshot;
pub mod supervisor;

pub use attache_client as client;
pub use error::{Cause, Error, Failure, Refuser};
