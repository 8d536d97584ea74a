//! Configuration: the file, its errors, the files of other tools, and what comes of them.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod chat;
mod discovery;
mod errors;
mod exchange;
mod file;
mod no_panics;
mod reference;
mod speckit;
mod wire;

use std::path::Path;

use attache_host::config::{Config, Origin, Platform, UserEnvironment};

/// UserEnvironment with a made-up home and a few variables.
pub(crate) fn environment() -> UserEnvironment {
    let variables = [
        ("HOME", "/home/me"),
        ("TOKEN", "s3cret-token"),
        ("NAME", "value"),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    UserEnvironment::new(variables, "/home/me/project").on(Platform::Linux)
}

/// Reads a text as the file `/cfg/attache.toml`.
pub(crate) fn read(text: &str) -> Config {
    let file = Path::new("/cfg/attache.toml");
    Config::read(text, file, Origin::User, &environment())
}
