//! A folder, its server in memory, and a client that speaks raw lines.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use attache_notes::{NotesServer, NotesSettings, Vault, VaultSettings};
use attache_server::Server;
use attache_testkit::scratch::Scratch;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for notes, one for the index, and one for whatever else.
pub(crate) struct Place {
    scratch: Scratch,
}

impl Place {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new("notes").unwrap();
        std::fs::create_dir(scratch.path().join("notes")).unwrap();
        Self { scratch }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.scratch.path().join(path)
    }

    /// Writes a file, and the folders above.
    pub(crate) fn write(&self, path: &str, text: &str) {
        self.scratch.write(path, text).unwrap();
    }

    /// The server of the folder `notes`.
    pub(crate) fn server(&self, change: impl FnOnce(&mut NotesSettings)) -> Server {
        self.server_of("notes", change)
    }

    pub(crate) fn server_of(
        &self,
        folder: &str,
        change: impl FnOnce(&mut NotesSettings),
    ) -> Server {
        let settings = VaultSettings {
            cache: Some(self.path("cache")),
            ..VaultSettings::default()
        };
        let vault = Vault::open(&self.path(folder), settings).unwrap();
        let mut settings = NotesSettings::default();
        change(&mut settings);
        NotesServer::new(vault, settings).build().unwrap()
    }

    /// Runs git in a folder and gives what it prints.
    pub(crate) fn git(&self, folder: &str, words: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path(folder))
            .args([
                "-c",
                "user.name=Test",
                "-c",
                "user.email=test@example.invalid",
            ])
            .args([
                "-c",
                "commit.gpgSign=false",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(words)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A repository `upstream` with one note, and its clone `notes`.
    pub(crate) fn cloned() -> Self {
        let place = Self::new();
        place.write("upstream/a.md", "# First\nalpha");
        place.git("", &["init", "-q", "-b", "main", "upstream"]);
        place.commit("upstream", "first");
        std::fs::remove_dir(place.path("notes")).unwrap();
        place.git("", &["clone", "-q", "upstream", "notes"]);
        place
    }

    pub(crate) fn commit(&self, folder: &str, message: &str) -> String {
        self.git(folder, &["add", "-A"]);
        self.git(folder, &["commit", "-q", "-m", message]);
        self.git(folder, &["rev-parse", "HEAD"])
    }
}

pub(crate) struct Client {
    stream: BufReader<DuplexStream>,
    next: u64,
    revision: &'static str,
    /// Notifications that came in between.
    heard: VecDeque<Value>,
}

impl Client {
    /// A client of that revision; a legacy one has shaken hands.
    pub(crate) async fn new(server: &Server, revision: &'static str) -> Self {
        let (stream, serving) = server.memory();
        tokio::spawn(serving);
        let mut client = Self {
            stream: BufReader::new(stream),
            next: 1,
            revision,
            heard: VecDeque::new(),
        };
        if revision != "2026-07-28" {
            let params = json!({"protocolVersion": revision, "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}});
            client.ask("initialize", params).await;
            client
                .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
        }
        client
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .await
            .unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        let read = tokio::time::timeout(PATIENCE, read).await;
        read.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and gives its id.
    pub(crate) async fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        if self.revision == "2026-07-28" {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(self.revision);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({"name": "test", "version": "1"});
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&message).await;
        id
    }

    /// The answer to a request, whole.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        if let Some(at) = self.heard.iter().position(|it| it["id"] == id) {
            return self.heard.remove(at).unwrap();
        }
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// The next notification of that method.
    pub(crate) async fn hear(&mut self, method: &str) -> Value {
        loop {
            let earlier = self.heard.iter().position(|it| it["method"] == method);
            if let Some(message) = earlier.and_then(|at| self.heard.remove(at)) {
                return message["params"].clone();
            }
            let message = self.receive().await;
            self.heard.push_back(message);
        }
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.ask("tools/call", params).await;
        answer["result"].clone()
    }

    /// Searches until the answer is about the folder as it is.
    pub(crate) async fn search(&mut self, query: &str) -> Value {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let result = self.call("search_notes", json!({"query": query})).await;
            let pending = &result["structuredContent"]["index"]["pending"];
            if *pending == 0 {
                return result;
            }
            assert!(tokio::time::Instant::now() < deadline, "{result}");
        }
    }
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Waits until a file is there and written.
pub(crate) async fn appears(file: &Path) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let has_text = || std::fs::metadata(file).is_ok_and(|it| it.len() > 0);
    while !has_text() {
        assert!(tokio::time::Instant::now() < deadline, "{}", file.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
