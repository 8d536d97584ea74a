//! Which servers there are and how to treat each.
//!
//! Owns the plain description of every server, the file `attache.toml`, and the files of other
//! tools that describe servers. It starts nothing and asks nobody.

mod chat;
mod choices;
mod connect;
mod draft;
mod environment;
mod exchange;
mod expand;
mod model;
mod pattern;
mod profile;
mod read;
mod references_out;
mod search;
mod section;
mod server_table;
mod speckit;
mod ui;

pub mod discover;
pub mod reference;

pub use attache_client::authorization::Secret;
pub use attache_client::{HttpFlavor, HttpServer, Transport};
pub use chat::{ChatApi, ChatConfig, ChatTools};
pub use draft::Draft;
pub use environment::{Platform, UserEnvironment};
pub use exchange::{
    ExportForm, ImportError, ImportOutcome, Imported, OnClash, add, export, import, remove,
    write_private,
};
pub use expand::{ExpandError, expand, references};
pub use model::{
    AuthConfig, CacheRules, CacheUse, CallLogging, CallRetry, Config, Decision, Dialect, Grant,
    LogRules, Origin, PolicyRules, Problem, ReadOnlyHint, Restart, RestartWhen, Retry, RetryOn,
    ServerConfig, ServerName, ServerNameError, Severity, Source, Start, ToolFilter,
};
pub use pattern::Pattern;
pub use profile::Profile;
pub use read::SINGLE_SERVER;
pub use search::{FILE_NAME, Found, find, user_file};
pub use speckit::{SpeckitConfig, SpeckitWriter};
pub use ui::{UiConfig, UiTheme};
