//! A folder of Markdown as an MCP server.
//!
//! Every note is a resource, search is instant and says how fresh it is, sync goes by git, and
//! changes are announced as they happen. The domain (`folder`, `index`, `query`, `vault`, `sync`)
//! knows nothing of MCP; `service` puts it on the server kit. Knows nothing of how it is started.

mod analysis;
mod calendar;
mod folder;
mod front_matter;
mod git;
mod identity;
mod index;
mod query;
mod sample;
mod saving;
mod service;
mod snippet;
mod sync;
mod vault;

pub use analysis::Language;
pub use folder::LARGEST_NOTE;
pub use sample::sample_folder;
pub use service::{NotesDialect, NotesServer, NotesSettings, Writing};
pub use sync::Upstream;
pub use vault::{Vault, VaultSettings, Watching};
