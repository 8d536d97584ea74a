//! Interoperability with real servers from npm and PyPI, of both eras.
//!
//! `scripts/install-test-servers` puts them into an ignored folder; without it these tests fail
//! and say so.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod every_server;
mod everything;
mod field;
mod forms;
mod gateways;
mod old_majors;
mod over_http;

use std::path::{Path, PathBuf};
use std::time::Duration;

use attache_client::Server;
use attache_testkit::real_servers::{installed, reference_server};

/// Generous: interpreters start slowly on a busy machine.
const START: Duration = Duration::from_secs(60);

fn node(package: &str, arguments: &[&str]) -> Server {
    let script = reference_server(package);
    let arguments = arguments.iter().map(Into::into);
    Server::stdio(
        "node",
        std::iter::once(script.into_os_string()).chain(arguments),
    )
    .start_timeout(START)
}

/// A small server of ours, written with what others made.
fn script(file: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_servers/servers");
    folder.join(file)
}

fn python(environment: &str, program: &str) -> Server {
    let program = installed(&format!("{environment}/bin/{program}"));
    Server::stdio(program, [] as [&str; 0]).start_timeout(START)
}
