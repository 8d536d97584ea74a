//! Interoperability with real servers from npm and PyPI, of both eras.
//!
//! `scripts/install-test-servers` puts them into an ignored folder; without it these tests fail
//! and say so.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod every_server;
mod everything;
mod over_http;

use std::path::PathBuf;
use std::time::Duration;

use attache_client::Server;

/// Generous: interpreters start slowly on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A file of the folder with the installed servers.
fn installed(path: &str) -> PathBuf {
    let folder = match std::env::var_os("ATTACHE_TEST_DEPS") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.test-deps")),
    };
    let file = folder.join(path);
    assert!(
        file.exists(),
        "{} is missing; run scripts/install-test-servers first",
        file.display()
    );
    file
}

fn node(package: &str, arguments: &[&str]) -> Server {
    let script = installed(&format!(
        "npm/node_modules/@modelcontextprotocol/{package}/dist/index.js"
    ));
    let arguments = arguments.iter().map(Into::into);
    Server::stdio(
        "node",
        std::iter::once(script.into_os_string()).chain(arguments),
    )
    .start_timeout(START)
}

fn python(environment: &str, program: &str) -> Server {
    let program = installed(&format!("{environment}/bin/{program}"));
    Server::stdio(program, [] as [&str; 0]).start_timeout(START)
}
