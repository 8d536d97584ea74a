//! The benchmark's server over HTTP, as a process of its own for the time of one work.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::Result;
use crate::control::ServerCommand;

/// A running server. Dropping it ends the process.
pub(crate) struct HttpServer {
    process: Child,
    port: u16,
}

impl HttpServer {
    /// Starts the server and learns its port.
    pub(crate) fn start(program: &str) -> Result<Self> {
        let mut process = Command::new(program)
            .arg("--http")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse()?;
        Ok(Self { process, port })
    }

    /// The server as a client is told about it: an address in place of a program.
    pub(crate) fn command(&self) -> ServerCommand {
        ServerCommand {
            program: format!("http://127.0.0.1:{}/mcp", self.port),
            arguments: Vec::new(),
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
