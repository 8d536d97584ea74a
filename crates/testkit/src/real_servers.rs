//! What `scripts/install-test-servers` installs: servers that others wrote, and the official
//! conformance suite.
//!
//! Owns where these files are, and how to run a server behind a URL. Refuses to know what a client
//! should make of it.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::binaries;

/// The variable that names the folder, if it is not `.test-deps` in the workspace.
const FOLDER_VARIABLE: &str = "ATTACHE_TEST_DEPS";

/// How long a server may take until it listens: interpreters start slowly on a busy machine.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked at until then.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A server of fastmcp with a tool, a resource and a prompt; the port is its argument.
const FASTMCP: &str = "
import sys
from fastmcp import FastMCP
server = FastMCP('adder')
@server.tool
def add(a: int, b: int) -> int:
    return a + b
@server.resource('notes://today')
def today() -> str:
    return 'rain'
@server.prompt
def greet(name: str) -> str:
    return f'Greet {name}.'
server.run(transport='http', host='127.0.0.1', port=int(sys.argv[1]), show_banner=False)
";

/// A file of the folder with everything installed.
///
/// # Panics
///
/// If it is not there: a test that needs it must not pass without it.
#[track_caller]
pub fn installed(path: &str) -> PathBuf {
    let folder = std::env::var_os(FOLDER_VARIABLE)
        .map_or_else(|| binaries::workspace().join(".test-deps"), PathBuf::from);
    let file = folder.join(path);
    assert!(
        file.exists(),
        "{} is missing; run scripts/install-test-servers first",
        file.display()
    );
    file
}

/// The entry script of one of the protocol's reference servers for Node.
///
/// # Panics
///
/// If it is not installed.
#[track_caller]
pub fn reference_server(package: &str) -> PathBuf {
    installed(&format!(
        "npm/node_modules/@modelcontextprotocol/{package}/dist/index.js"
    ))
}

/// The HTTP transports of server-everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EverythingTransport {
    /// Streamable HTTP.
    StreamableHttp,
    /// The older HTTP+SSE.
    Sse,
}

/// A server process that listens on a port of the loopback interface. It ends when this is dropped.
#[derive(Debug)]
pub struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    /// Starts a command that listens on the port it is told, and waits until it does. `path` is
    /// where on it MCP is spoken.
    pub fn start(path: &str, command: impl FnOnce(u16) -> Command) -> io::Result<Self> {
        // The port is free now; nobody else is likely to take it within a second.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let child = command(port)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Self {
            child,
            url: format!("http://127.0.0.1:{port}{path}"),
        };
        let deadline = Instant::now() + START_PATIENCE;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Some(status) = server.child.try_wait()? {
                return Err(io::Error::other(format!(
                    "the server ended before it listened: {status}"
                )));
            }
            if Instant::now() >= deadline {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("the server does not listen after {START_PATIENCE:?}"),
                ));
            }
            thread::sleep(LOOK_INTERVAL);
        }
        Ok(server)
    }

    /// The reference server of the protocol, of the legacy era.
    pub fn everything(transport: EverythingTransport) -> io::Result<Self> {
        let script = reference_server("server-everything");
        let (word, path) = match transport {
            EverythingTransport::StreamableHttp => ("streamableHttp", "/mcp"),
            EverythingTransport::Sse => ("sse", "/sse"),
        };
        Self::start(path, |port| {
            let mut command = Command::new("node");
            command.arg(script).arg(word).env("PORT", port.to_string());
            command
        })
    }

    /// A server of fastmcp: the tool `add`, the resource `notes://today`, the prompt `greet`.
    pub fn fastmcp() -> io::Result<Self> {
        let python = installed("python-fastmcp/bin/python");
        Self::start("/mcp", |port| {
            let mut command = Command::new(python);
            command.args(["-c", FASTMCP, &port.to_string()]);
            command
        })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_before_it_listens_is_told_of() {
        let started = Listening::start("/mcp", |_| {
            let mut command = Command::new("sh");
            command.args(["-c", "exit 3"]);
            command
        });
        let error = started.map(drop).map_err(|error| error.to_string());
        let expected = "the server ended before it listened: exit status: 3";
        assert_eq!(error, Err(expected.to_owned()));
    }

    #[test]
    #[should_panic = "no/such/server is missing; run scripts/install-test-servers first"]
    fn a_server_that_is_not_installed_fails_the_test() {
        installed("no/such/server");
    }
}
