//! Which servers there are and how to treat each.
//!
//! Owns the plain description of every server. It starts nothing and asks nobody.

mod model;
mod pattern;
mod secret;

pub use model::{
    AuthConfig, CacheRules, CacheUse, CallRetry, Config, Decision, Dialect, Grant, HttpFlavor,
    Origin, PolicyRules, Problem, ReadOnlyHint, Restart, RestartWhen, ServerConfig, ServerName,
    ServerNameError, Severity, Source, Start, ToolFilter, Transport,
};
pub use pattern::Pattern;
pub use secret::Secret;
