//! Servers that others wrote: where they are installed, and how to run one behind a URL.
//!
//! `scripts/install-test-servers` puts them into an ignored folder; without it these functions fail
//! and say so. Refuses to know what a client should make of them.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// A file in the folder of installed servers.
pub fn installed(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let folder = match std::env::var_os("ATTACHE_TEST_DEPS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.test-deps"),
    };
    let file = folder.join(path);
    if file.exists() {
        return Ok(file);
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "{} is missing; run scripts/install-test-servers",
            file.display()
        ),
    ))
}

/// The entry script of one of the protocol's reference servers for Node.
pub fn reference_server(package: &str) -> io::Result<PathBuf> {
    installed(format!(
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
        let script = reference_server("server-everything")?;
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
        let python = installed("python-fastmcp/bin/python")?;
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
    fn what_is_not_installed_names_the_remedy() {
        let error = installed("no/such/server").unwrap_err();
        assert!(error.to_string().contains("scripts/install-test-servers"));
    }
}
