//! A bridge that lets all modern clients over HTTP share one server over stdio.
//!
//! A modern request stands for itself, so a bridge need not know who sent it: it gives each
//! request an id of its own on the way in, and everything that comes back the id and token that
//! its client knows. Owns the process and who waits for what; the HTTP side is the kit's own face,
//! and what messages mean only the server behind it knows.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attache_server::http::{self, HttpSettings};
use attache_server::protocol::{Json, Outcome, RequestId, Revision, meta};
use attache_server::{
    After, Answer, MirroredArgument, Outlet, Principal, Request, Sent, Service, Work,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

/// A bridge in a runtime of its own; the server ends with it.
pub(crate) struct Bridge {
    pub(crate) url: String,
    _runtime: tokio::runtime::Runtime,
}

impl Bridge {
    /// Starts the server, asks for its tools, then listens.
    pub(crate) fn start(program: &Path) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let address = runtime.block_on(listen(program));
        Self {
            url: format!("http://{address}/mcp"),
            _runtime: runtime,
        }
    }
}

async fn listen(program: &Path) -> SocketAddr {
    let mut child = Command::new(program)
        .arg("--stdio")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (lines, written) = mpsc::unbounded_channel();
    tokio::spawn(write(child.stdin.take().unwrap(), written));
    let shared = Arc::new(Shared {
        lines,
        waiting: Mutex::default(),
        next: AtomicU64::new(1),
        mirrored: Mutex::default(),
    });
    let stdout = child.stdout.take().unwrap();
    let reader = Arc::clone(&shared);
    tokio::spawn(async move {
        reader.read(stdout).await;
        // The process is this task's, and goes with it.
        drop(child);
    });
    shared.learn_tools().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let settings = HttpSettings::default();
    tokio::spawn(http::serve(
        listener,
        Bridged(shared),
        settings,
        std::future::pending(),
    ));
    address
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<Value>) {
    while let Some(line) = lines.recv().await {
        stdin
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }
}

/// What all requests share.
struct Shared {
    lines: mpsc::UnboundedSender<Value>,
    /// Requests that are not answered, by the id the server knows.
    waiting: Mutex<HashMap<u64, Waiting>>,
    next: AtomicU64,
    /// The arguments that clients mirror into headers, by tool.
    mirrored: Mutex<HashMap<String, Arc<[MirroredArgument]>>>,
}

/// A request on its way.
struct Waiting {
    /// The id and the token of progress that the client knows.
    id: Value,
    token: Option<Value>,
    /// Log messages name no request; they go to those that want some.
    wants_logs: bool,
    back: mpsc::UnboundedSender<Value>,
}

impl Shared {
    /// Sends a request under an id of the bridge's own.
    fn send(
        &self,
        id: &Value,
        method: &str,
        mut params: Value,
    ) -> (u64, mpsc::UnboundedReceiver<Value>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (back, messages) = mpsc::unbounded_channel();
        let mut waiting = Waiting {
            id: id.clone(),
            token: None,
            wants_logs: false,
            back,
        };
        if let Some(fields) = params.get_mut("_meta").and_then(Value::as_object_mut) {
            waiting.wants_logs = fields.contains_key(meta::LOG_LEVEL);
            let token = fields.get_mut(meta::PROGRESS_TOKEN);
            // One that is no token is the server's to refuse.
            if let Some(token) = token.filter(|it| it.is_string() || it.is_number()) {
                waiting.token = Some(std::mem::replace(token, json!(number)));
            }
        }
        self.waiting().insert(number, waiting);
        let mut line = json!({"jsonrpc": "2.0", "id": number, "method": method});
        if !params.is_null() {
            line["params"] = params;
        }
        self.lines.send(line).unwrap();
        (number, messages)
    }

    async fn read(&self, stdout: ChildStdout) {
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            self.sort(serde_json::from_str(&line).unwrap());
        }
    }

    fn sort(&self, mut message: Value) {
        let mut waiting = self.waiting();
        if message.get("method").is_none() {
            let number = message["id"].as_u64();
            if let Some(asked) = number.and_then(|number| waiting.remove(&number)) {
                message["id"] = asked.id.clone();
                restore_subscription(&mut message, "result", &asked.id);
                // Whoever asked may have gone in this very moment.
                let _ = asked.back.send(message);
            }
            return;
        }
        let named = message["params"]["_meta"][meta::SUBSCRIPTION_ID].as_u64();
        let told = message["params"][meta::PROGRESS_TOKEN].as_u64();
        if let Some(asked) = named.or(told).and_then(|number| waiting.get(&number)) {
            if let (Some(_), Some(token)) = (told, &asked.token) {
                message["params"][meta::PROGRESS_TOKEN] = token.clone();
            }
            restore_subscription(&mut message, "params", &asked.id);
            let _ = asked.back.send(message);
        } else if message["method"] == "notifications/message" {
            for asked in waiting.values().filter(|it| it.wants_logs) {
                let _ = asked.back.send(message.clone());
            }
        }
    }

    /// The HTTP face has to know which arguments come as headers too.
    async fn learn_tools(&self) {
        let params = json!({"_meta": {
            meta::PROTOCOL_VERSION: Revision::V2026_07_28,
            meta::CLIENT_CAPABILITIES: {},
        }});
        let (_, mut messages) = self.send(&json!(0), "tools/list", params);
        let answer = messages.recv().await.unwrap();
        let tools = answer["result"]["tools"].as_array().unwrap();
        let mut known = self.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let schema = Json::from(tool["inputSchema"].clone());
            let mirrored = MirroredArgument::of_schema(&schema).unwrap();
            known.insert(tool["name"].as_str().unwrap().to_owned(), mirrored.into());
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn restore_subscription(message: &mut Value, part: &str, id: &Value) {
    let named = message.pointer_mut(&format!("/{part}/_meta"));
    let named = named.and_then(|it| it.get_mut(meta::SUBSCRIPTION_ID));
    if let Some(named) = named {
        *named = id.clone();
    }
}

/// A request whose client may go away; then the server is told.
struct Open {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.shared.waiting().remove(&self.number).is_some() {
            let cancelled = json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": self.number},
            });
            let _ = self.shared.lines.send(cancelled);
        }
    }
}

#[derive(Clone)]
struct Bridged(Arc<Shared>);

impl Service for Bridged {
    type Session = ();

    fn open(&self, _: Principal, _: Arc<dyn Outlet>) -> Arc<()> {
        Arc::new(())
    }

    fn request(&self, _: &Arc<()>, request: Request<'_>, outlet: &Arc<dyn Outlet>) -> Work {
        let id = serde_json::to_value(&request.id).unwrap();
        let params = request.params.map(RawValue::get).unwrap_or("null");
        let params = serde_json::from_str(params).unwrap();
        let (number, mut messages) = self.0.send(&id, request.method, params);
        let open = Open {
            shared: Arc::clone(&self.0),
            number,
        };
        let outlet = Arc::clone(outlet);
        Work::Open(Box::pin(async move {
            while let Some(message) = messages.recv().await {
                let frame = message.to_string().into_bytes();
                if message.get("method").is_none() {
                    let error_code = message["error"]["code"].as_i64();
                    drop(open);
                    return Some(Answer { frame, error_code });
                }
                outlet.send(frame, Sent::Change).ok()?;
            }
            None
        }))
    }

    fn notification(&self, _: &Arc<()>, _: &str, _: Option<&RawValue>) -> After {
        After::GoOn
    }

    fn response(&self, _: &Arc<()>, _: &RequestId, _: Outcome<'_>) {}

    fn supported(&self) -> &[Revision] {
        &[Revision::V2026_07_28]
    }

    fn revision(&self, _: &Arc<()>) -> Option<Revision> {
        None
    }

    fn input_ended(&self, _: &Arc<()>) {}

    fn close(&self, _: &Arc<()>) {}

    fn mirrored_arguments(&self, tool: &str) -> Arc<[MirroredArgument]> {
        let known = self
            .0
            .mirrored
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.get(tool).cloned().unwrap_or_else(|| Arc::new([]))
    }
}
