//! A peer that speaks raw lines, in memory or to a real process, and checks every message it gets
//! against the official schema of its revision.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use attache_server::{EndReason, NoArguments, Server, ServerBuilder, Tool};
use attache_testkit::binaries;
use attache_testkit::schema::Schemas;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;

pub(crate) const MODERN: &str = "2026-07-28";

/// A server that has one tool which says hello.
pub(crate) fn hello() -> ServerBuilder {
    Server::builder("test", "1.0").tool(Tool::new(
        "hello",
        "Says hello.",
        |_, _: NoArguments| async { Ok("hello") },
    ))
}

/// The messages a server sent, judged by the schema.
#[derive(Default)]
pub(crate) struct Judge {
    asked: HashMap<String, String>,
    revision: Option<String>,
}

impl Judge {
    /// Remembers what was asked, to judge the answer by it.
    fn note_text(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line.trim_start_matches('\u{feff}')) else {
            return;
        };
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            self.asked.insert(id.to_string(), method.to_owned());
        }
    }

    /// Judges a message by the revision of the session, or as modern if there is none.
    pub(crate) fn check(&mut self, message: &Value) {
        static SCHEMAS: OnceLock<Option<Schemas>> = OnceLock::new();
        let Some(schemas) = SCHEMAS.get_or_init(Schemas::from_env) else {
            return;
        };
        let is_first = self.revision.is_none();
        if let Some(revision) = message["result"]["protocolVersion"].as_str() {
            self.revision = Some(revision.to_owned());
        }
        // Before a session is open, no revision says what an error without a request looks like.
        if is_first && message["id"].is_null() && message.get("error").is_some() {
            return;
        }
        let method = self
            .asked
            .get(&message["id"].to_string())
            .map(String::as_str);
        let is_modern = message["result"].get("resultType").is_some();
        let revision = match &self.revision {
            Some(revision) if !is_modern => revision.as_str(),
            // A ping or a refusal before the handshake is the same in all legacy revisions.
            None if !is_modern && message.get("method").is_none() => "2025-11-25",
            _ => MODERN,
        };
        let definition_known = method != Some("shutdown")
            && !method.is_some_and(|it| it.starts_with("tasks/") && revision == MODERN)
            && message["result"]["resultType"] != "task";
        if definition_known {
            assert_eq!(
                schemas.check_server_message(revision, message, method),
                Ok(())
            );
        }
    }
}

/// A client of raw lines over memory.
pub(crate) struct Wire {
    write: tokio::io::WriteHalf<DuplexStream>,
    lines: tokio::io::Lines<tokio::io::BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    judge: Judge,
    pub(crate) serving: JoinHandle<EndReason>,
}

impl Wire {
    pub(crate) fn new(server: &Server) -> Self {
        let (stream, serving) = server.memory();
        let (read, write) = tokio::io::split(stream);
        Self {
            write,
            lines: tokio::io::BufReader::new(read).lines(),
            judge: Judge::default(),
            serving: tokio::spawn(serving),
        }
    }

    /// A connection with an open legacy session.
    pub(crate) async fn legacy(server: &Server, revision: &str, capabilities: Value) -> Self {
        let mut wire = Self::new(server);
        let answer = wire.ask(initialize(revision, capabilities)).await;
        assert_eq!(answer["result"]["protocolVersion"], revision);
        wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        wire
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, line: &str) {
        self.judge.note_text(line);
        self.write
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    /// The next message of the server.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        self.judge.check(&message);
        message
    }

    /// The next line of the server as a batch.
    pub(crate) async fn next_batch(&mut self) -> Vec<Value> {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The next message, where no schema has a word for it: an error without a request.
    pub(crate) async fn next_unjudged(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and gives the next message, which must be its answer.
    pub(crate) async fn ask(&mut self, request: Value) -> Value {
        self.send(&request).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], request["id"], "{answer}");
        answer
    }

    /// Closes this side and gives what the server still says.
    pub(crate) async fn finish(mut self) -> (Vec<Value>, EndReason) {
        self.write.shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            let message = serde_json::from_str(&line).unwrap();
            self.judge.check(&message);
            rest.push(message);
        }
        (rest, self.serving.await.unwrap())
    }

    /// Stops reading and closes nothing.
    pub(crate) async fn send_without_reading(&mut self, text: &str) -> std::io::Result<()> {
        self.write.write_all(text.as_bytes()).await
    }
}

pub(crate) fn initialize(revision: &str, capabilities: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": {
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    let id: Value = id.into();
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
}

/// A modern request.
pub(crate) fn modern(id: impl Into<Value>, method: &str, params: Value) -> Value {
    modern_with(id, method, params, json!({}))
}

/// A modern request of a client with these capabilities.
pub(crate) fn modern_with(
    id: impl Into<Value>,
    method: &str,
    mut params: Value,
    capabilities: Value,
) -> Value {
    let id: Value = id.into();
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

/// An example of this crate.
pub(crate) fn example(name: &str) -> PathBuf {
    binaries::example("attache-server", name).unwrap()
}

/// A real server process over its stdin and stdout.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    judge: Judge,
}

impl Process {
    pub(crate) fn start(name: &str) -> Self {
        let mut child = Command::new(example(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take().map(BufReader::new),
            child,
            judge: Judge::default(),
        }
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.judge.note_text(line);
        let mut stdin = self.stdin.as_ref().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next line of the server, with its line end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().unwrap();
        stdout.read_line(&mut line).unwrap();
        if let Ok(message) = serde_json::from_str(&line) {
            self.judge.check(&message);
        }
        line
    }

    /// Closes stdin; gives all lines that are left and the exit code.
    pub(crate) fn finish(mut self) -> (Vec<String>, Option<i32>) {
        self.stdin = None;
        let mut lines = Vec::new();
        loop {
            match self.line() {
                line if line.is_empty() => break,
                line => lines.push(line),
            }
        }
        (lines, self.child.wait().unwrap().code())
    }

    /// Goes away without reading; the exit code, if the server ends within that time.
    pub(crate) fn abandon(mut self, patience: Duration) -> Option<i32> {
        self.stdin = None;
        self.stdout = None;
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
