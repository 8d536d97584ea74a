//! A raw client for the kit's own tests: bytes in, bytes out, nothing hidden.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use attache_testkit::chaos::{Launch, Script};
use serde_json::{Value, json};

/// Longer than anything here takes, short enough to fail in.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A started chaos server.
pub(crate) struct Peer {
    pub(crate) launch: Launch,
    pub(crate) stderr: ChildStderr,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
}

impl Peer {
    pub(crate) fn start(script: &Script) -> Self {
        let launch = script.launch().unwrap();
        let mut child = launch
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (said, lines) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                if said.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self {
            stderr: child.stderr.take().unwrap(),
            stdin: child.stdin.take(),
            child,
            lines,
            launch,
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn try_send(&mut self, message: &Value) -> std::io::Result<()> {
        let line = format!("{message}\n");
        self.stdin.as_mut().unwrap().write_all(line.as_bytes())
    }

    pub(crate) fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(crate) fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(
            id,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        );
    }

    pub(crate) fn cancel(&mut self, id: impl Into<Value>) {
        let id: Value = id.into();
        let params = json!({"requestId": id});
        self.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }

    pub(crate) fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        });
        self.request("init", "initialize", params);
        let answer = self.message();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// The next line with its line end, or `None` at the end of output.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the server says nothing"),
        }
    }

    pub(crate) fn message(&mut self) -> Value {
        let line = self.line().expect("the output ended");
        serde_json::from_slice(&line)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)))
    }

    /// Nothing is waiting to be read at this moment.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.lines.try_recv().is_err()
    }

    pub(crate) fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().unwrap()
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server does not end");
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn read_stderr(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.stderr.read_to_end(&mut bytes).unwrap();
        bytes
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The `_meta` that every modern request bears.
pub(crate) fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
