//! One connection to the server that is looked at, in the form of a revision.
//!
//! Builds requests by hand and reads what comes without believing any of it. Whatever comes passes
//! the [`Watch`], so that rules about every message hold for all checks.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use attache_protocol::{Era, Revision};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::bench::Bench;
use crate::facts::Facts;
use crate::http::HttpWire;
use crate::stdio::StdioWire;
use crate::target::Target;
use crate::trace::{Exchange, Step, Trace, What};
use crate::watch::Books;

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How many messages are kept that no check waits for.
const MOST_SEEN: usize = 10_000;

/// Something that happened on a wire.
pub(crate) enum WireEvent {
    /// A line of stdout, the JSON body of a response, or an event of a stream.
    Message { bytes: Vec<u8>, post: Option<usize> },
    /// A response began.
    Head {
        post: usize,
        status: u16,
        headers: Box<HeaderMap>,
    },
    /// A body that is no JSON.
    OtherBody { post: usize, bytes: Vec<u8> },
    /// A response ended, or never came.
    PostEnded { post: usize, failed: Option<String> },
    /// The server's stdout has ended.
    Closed,
}

/// Why a check could not go on: the server's doing, and so a finding.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// It could not be started or reached at all.
    NotStarted(String),
    /// It is gone.
    Ended(String),
    /// It does not answer in time.
    Silent(String),
    /// It refused to be opened.
    Refused(String),
    /// It did not answer its opening request in time, which a busy machine may be the reason for.
    SlowStart(String),
    /// No time is left for any check.
    TimeIsUp,
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(text)
            | Self::Ended(text)
            | Self::Silent(text)
            | Self::SlowStart(text) => formatter.write_str(text),
            Self::Refused(text) => write!(formatter, "the opening was refused: {text}"),
            Self::TimeIsUp => formatter.write_str("the time for all checks is up"),
        }
    }
}

enum Wire {
    Stdio(Option<StdioWire>),
    Http(HttpWire),
}

/// A message that came.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    /// The message, or null if it is none.
    pub(crate) value: Value,
    /// The status of the response it came with.
    pub(crate) status: Option<u16>,
}

impl Incoming {
    pub(crate) fn method(&self) -> Option<&str> {
        self.value["method"].as_str()
    }
}

/// What a request came to.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) status: Option<u16>,
}

impl Answer {
    pub(crate) fn result(&self) -> Option<&Value> {
        self.value.get("result")
    }

    pub(crate) fn code(&self) -> Option<i64> {
        self.value["error"]["code"].as_i64()
    }

    pub(crate) fn is_error(&self) -> bool {
        self.value.get("error").is_some() || self.status.is_some_and(|status| status >= 400)
    }

    /// What it is, in a few words.
    pub(crate) fn summary(&self) -> String {
        let status = match self.status {
            Some(status) if status != 200 => format!(" (HTTP {status})"),
            _ => String::new(),
        };
        match (self.result(), self.value.get("error")) {
            (Some(result), _) if result["isError"] == true => {
                format!("a result with isError{status}")
            }
            (Some(_), _) => format!("a result{status}"),
            (None, Some(error)) => {
                let message = error["message"].as_str().unwrap_or_default();
                let message: String = message.chars().take(120).collect();
                format!("error {} \"{message}\"{status}", error["code"])
            }
            (None, None) => match self.status {
                Some(status) => format!("HTTP {status} without a JSON-RPC message"),
                None => "neither a result nor an error".to_owned(),
            },
        }
    }
}

/// One response over HTTP.
#[derive(Default)]
struct Post {
    id: Option<Value>,
    status: Option<u16>,
    is_over: bool,
    failed: Option<String>,
}

/// How far a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Ready for requests.
    Whole,
    /// `initialize` is answered, and the server was not told that this was heard.
    Unconfirmed,
    /// Nothing has been sent.
    Bare,
}

/// One connection.
pub(crate) struct Peer {
    wire: Wire,
    events: mpsc::Receiver<WireEvent>,
    bench: Bench,
    pub(crate) trace: Trace,
    pub(crate) revision: Revision,
    pub(crate) books: Books,
    /// What came and was not an awaited answer.
    seen: Vec<Incoming>,
    posts: HashMap<usize, Post>,
    connection: usize,
    opening: Vec<Step>,
    is_opening: bool,
    next_id: u64,
    /// The result of the opening request.
    pub(crate) opened: Value,
    pub(crate) session: Option<String>,
    /// The version that HTTP requests name once it is known.
    negotiated: Option<String>,
    pub(crate) facts: Facts,
}

impl Peer {
    pub(crate) async fn open(bench: &Bench, opening: Opening) -> Result<Self, Trouble> {
        Self::open_as(bench, bench.revision, opening).await
    }

    pub(crate) async fn open_as(
        bench: &Bench,
        revision: Revision,
        opening: Opening,
    ) -> Result<Self, Trouble> {
        let (wire, events) = match &bench.target {
            Target::Stdio(stdio) => {
                let (wire, events) = StdioWire::open(stdio).await?;
                (Wire::Stdio(Some(wire)), events)
            }
            Target::Http(http) => {
                let (wire, events) = HttpWire::open(http)?;
                (Wire::Http(wire), events)
            }
        };
        let connection = bench.next_connection();
        let mut peer = Self {
            wire,
            events,
            bench: bench.clone(),
            trace: bench.trace.clone(),
            revision,
            books: Books::new(revision),
            seen: Vec::new(),
            posts: HashMap::new(),
            connection,
            opening: Vec::new(),
            is_opening: true,
            next_id: 1,
            opened: Value::Null,
            session: None,
            negotiated: None,
            facts: Facts::default(),
        };
        let opened = match (revision.era(), opening) {
            (_, Opening::Bare) => Ok(()),
            (Era::Modern, _) => peer.discover().await,
            (Era::Legacy, _) => peer.initialize().await,
        };
        opened.map_err(|trouble| match trouble {
            Trouble::Silent(text) => Trouble::SlowStart(text),
            other => other,
        })?;
        if revision.era() == Era::Legacy && opening == Opening::Whole {
            peer.confirm().await?;
        }
        peer.is_opening = false;
        peer.opening = peer.trace.opening(connection);
        Ok(peer)
    }

    async fn discover(&mut self) -> Result<(), Trouble> {
        let patience = self.bench.start_patience();
        let id = self.request("server/discover", json!({})).await?;
        let answer = self.answer_within(&id, patience).await?;
        match answer.result() {
            Some(result) if result["supportedVersions"].is_array() => {
                self.accept_opening(result.clone());
                Ok(())
            }
            _ => Err(Trouble::Refused(answer.summary())),
        }
    }

    /// The params of `initialize` for a version.
    pub(crate) fn initialize_params(version: &str) -> Value {
        json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "attache-verify", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    async fn initialize(&mut self) -> Result<(), Trouble> {
        let version = self.revision.to_string();
        let patience = self.bench.start_patience();
        let params = Self::initialize_params(&version);
        let id = self.request("initialize", params).await?;
        let answer = self.answer_within(&id, patience).await?;
        let Some(result) = answer.result() else {
            return Err(Trouble::Refused(answer.summary()));
        };
        if let Some(given) = result["protocolVersion"].as_str() {
            self.negotiated = Some(given.to_owned());
            if let Ok(revision) = given.parse::<Revision>() {
                self.revision = revision;
                self.books.revision = revision;
            }
        }
        self.accept_opening(result.clone());
        Ok(())
    }

    /// Tells the server that its answer to `initialize` was heard.
    pub(crate) async fn confirm(&mut self) -> Result<(), Trouble> {
        self.books.is_confirmed = true;
        self.notify("notifications/initialized", Value::Null).await
    }

    fn accept_opening(&mut self, result: Value) {
        self.books.capabilities = result["capabilities"].clone();
        self.opened = result;
    }

    /// The connection goes on with another check.
    pub(crate) fn begin(&mut self, trace: Trace) {
        trace.add_all(&self.opening);
        self.trace = trace;
        self.seen.clear();
    }

    pub(crate) fn era(&self) -> Era {
        self.revision.era()
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.era() == Era::Modern
    }

    /// What the server says it offers, as `tools` or `tools.listChanged`.
    pub(crate) fn offers(&self, path: &str) -> bool {
        let mut value = &self.books.capabilities;
        for part in path.split('.') {
            value = &value[part];
        }
        !value.is_null() && value != &Value::Bool(false)
    }

    /// An id that was not used before.
    pub(crate) fn fresh_id(&mut self) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        json!(id)
    }

    /// A request of this revision, not sent.
    pub(crate) fn message(&self, id: &Value, method: &str, mut params: Value) -> Value {
        if self.is_modern() {
            if !params.is_object() {
                params = json!({});
            }
            let mut meta = match params["_meta"].take() {
                Value::Object(meta) => meta,
                _ => Map::new(),
            };
            for (key, value) in modern_meta(&self.revision.to_string()) {
                meta.entry(key).or_insert(value);
            }
            params["_meta"] = Value::Object(meta);
        }
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        message
    }

    /// Sends a request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Trouble> {
        let id = self.fresh_id();
        let message = self.message(&id, method, params);
        self.send(&message).await?;
        Ok(id)
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Answer, Trouble> {
        let id = self.request(method, params).await?;
        self.answer(&id).await
    }

    /// The same with everything about the request given.
    pub(crate) async fn ask_exactly(&mut self, message: &Value) -> Result<Answer, Trouble> {
        self.send(message).await?;
        self.answer(&message["id"]).await
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) -> Result<(), Trouble> {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message).await
    }

    pub(crate) async fn send(&mut self, message: &Value) -> Result<(), Trouble> {
        self.send_bytes(message.to_string().as_bytes()).await
    }

    /// Sends bytes as they are: a line, or the body of a POST.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.bench.check_time()?;
        let sent: Value = serde_json::from_slice(bytes).unwrap_or_else(|_| legible_id(bytes));
        self.books.note_sent(&sent);
        match &mut self.wire {
            Wire::Stdio(Some(wire)) => {
                let mut line = bytes.to_vec();
                line.push(b'\n');
                let what = What::Bytes(line.clone());
                self.trace.add(self.connection, self.is_opening, what);
                wire.write(&line).await
            }
            Wire::Stdio(None) => Err(Trouble::Ended("the connection is closed".to_owned())),
            Wire::Http(wire) => {
                let exchange = Exchange {
                    verb: "POST",
                    headers: http_headers(
                        &sent,
                        self.revision,
                        self.negotiated.as_deref(),
                        self.session.as_deref(),
                    ),
                    body: Some(bytes.to_vec()),
                };
                let post = self.posts.len();
                let state = Post {
                    id: sent.get("id").filter(|id| !id.is_null()).cloned(),
                    ..Post::default()
                };
                self.posts.insert(post, state);
                let what = What::Request(exchange.clone());
                self.trace.add(self.connection, self.is_opening, what);
                let task = wire.post(&exchange, post);
                self.bench.own(task);
                Ok(())
            }
        }
    }

    /// Waits for the answer to a request.
    pub(crate) async fn answer(&mut self, id: &Value) -> Result<Answer, Trouble> {
        self.answer_within(id, self.bench.patience()).await
    }

    pub(crate) async fn answer_within(
        &mut self,
        id: &Value,
        patience: Duration,
    ) -> Result<Answer, Trouble> {
        match self.answer_or_silence(id, patience).await? {
            Some(answer) => Ok(answer),
            None => {
                // A wait that was cut short says nothing about the server.
                self.bench.check_time()?;
                self.bench.note_silence();
                let method = self.books.method_of(id).unwrap_or("a request");
                Err(Trouble::Silent(format!(
                    "no answer to {method} (id {id}) in {:.1} s",
                    patience.as_secs_f64()
                )))
            }
        }
    }

    /// Waits for the answer to a request, which may stay away.
    pub(crate) async fn answer_or_silence(
        &mut self,
        id: &Value,
        patience: Duration,
    ) -> Result<Option<Answer>, Trouble> {
        let answers = |message: &Incoming| {
            message.value.get("id") == Some(id) && message.value.get("method").is_none()
        };
        if let Some(at) = self.seen.iter().position(answers) {
            let message = self.seen.remove(at);
            return Ok(Some(Answer {
                value: message.value,
                status: message.status,
            }));
        }
        let deadline = Instant::now() + self.bench.within(patience);
        loop {
            // Over HTTP a response may end without a message.
            let ended = self
                .posts
                .values()
                .find(|post| post.is_over && post.id.as_ref() == Some(id));
            if let Some(post) = ended {
                if let Some(failed) = &post.failed {
                    return Err(Trouble::Ended(failed.clone()));
                }
                return Ok(Some(Answer {
                    value: Value::Null,
                    status: post.status,
                }));
            }
            let Some(message) = self.receive(deadline).await? else {
                return Ok(None);
            };
            if answers(&message) {
                return Ok(Some(Answer {
                    value: message.value,
                    status: message.status,
                }));
            }
            self.keep(message);
        }
    }

    fn keep(&mut self, message: Incoming) {
        if self.seen.len() < MOST_SEEN && !message.value.is_null() {
            self.seen.push(message);
        }
    }

    /// The next message, or nothing when time is up. Nothing that is no message is given.
    async fn receive(&mut self, deadline: Instant) -> Result<Option<Incoming>, Trouble> {
        loop {
            let Ok(event) = tokio::time::timeout_at(deadline, self.events.recv()).await else {
                return Ok(None);
            };
            match event {
                None | Some(WireEvent::Closed) => {
                    return Err(match &self.wire {
                        Wire::Stdio(Some(wire)) => wire.ended().await,
                        _ => Trouble::Ended("the connection is closed".to_owned()),
                    });
                }
                Some(WireEvent::Head {
                    post,
                    status,
                    headers,
                }) => {
                    if let Some(id) = headers.get("mcp-session-id")
                        && self.is_opening
                        && let Ok(id) = id.to_str()
                    {
                        self.session = Some(id.to_owned());
                    }
                    self.posts.entry(post).or_default().status = Some(status);
                }
                Some(WireEvent::OtherBody { post, bytes }) => {
                    let status = self.status_of(post);
                    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(500)]).into_owned();
                    let text = format!("HTTP {} {text}", status.unwrap_or(0));
                    self.trace
                        .came(self.connection, self.is_opening, text.as_bytes());
                }
                Some(WireEvent::PostEnded { post, failed }) => {
                    let state = self.posts.entry(post).or_default();
                    state.is_over = true;
                    state.failed = failed;
                    // A check may be waiting for exactly this.
                    return Ok(Some(Incoming {
                        value: Value::Null,
                        status: state.status,
                    }));
                }
                Some(WireEvent::Message { bytes, post }) => {
                    self.trace.came(self.connection, self.is_opening, &bytes);
                    let found = self.books.note_received(&bytes);
                    let reproduce = || self.trace.reproduce(&self.bench.target);
                    self.bench.watch.note(found, &bytes, reproduce);
                    let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
                        continue;
                    };
                    let status = post.and_then(|post| self.status_of(post));
                    self.answer_request(&value).await?;
                    return Ok(Some(Incoming { value, status }));
                }
            }
        }
    }

    fn status_of(&self, post: usize) -> Option<u16> {
        self.posts.get(&post)?.status
    }

    /// A legacy server may ask; it is told the truth, which is that nothing was declared.
    async fn answer_request(&mut self, message: &Value) -> Result<(), Trouble> {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return Ok(());
        };
        if self.is_modern() {
            return Ok(());
        }
        let answer = match method {
            "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {
                "code": -32601, "message": "not declared by this client",
            }}),
        };
        Box::pin(self.send(&answer)).await
    }

    /// A request that every server of the era answers; when its answer has come, everything sent
    /// before has been read.
    pub(crate) async fn fence(&mut self) -> Result<(), Trouble> {
        let method = match self.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        let answer = self.ask(method, Value::Null).await?;
        match answer.value.is_null() {
            true => Err(Trouble::Ended(format!(
                "{method} was answered with {}",
                answer.summary()
            ))),
            false => Ok(()),
        }
    }

    /// Waits, over HTTP, until every response so far is over, and gives the status of the last.
    pub(crate) async fn settled(&mut self) -> Result<Option<u16>, Trouble> {
        let deadline = Instant::now() + self.bench.within(self.bench.patience());
        while self.posts.values().any(|post| !post.is_over) {
            let Some(message) = self.receive(deadline).await? else {
                self.bench.check_time()?;
                return Err(Trouble::Silent("a response does not end".to_owned()));
            };
            self.keep(message);
        }
        let last = self.posts.len().checked_sub(1);
        let last = last.and_then(|last| self.posts.get(&last));
        match last {
            Some(Post {
                failed: Some(failed),
                ..
            }) => Err(Trouble::Ended(failed.clone())),
            Some(post) => Ok(post.status),
            None => Ok(None),
        }
    }

    /// Takes what comes within a time, and everything that was left over.
    pub(crate) async fn listen(&mut self, time: Duration) -> Result<Vec<Incoming>, Trouble> {
        let deadline = Instant::now() + self.bench.within(time);
        while let Some(message) = self.receive(deadline).await? {
            self.keep(message);
        }
        Ok(std::mem::take(&mut self.seen))
    }

    /// Waits for a message that was not asked for.
    pub(crate) async fn wait_for(
        &mut self,
        patience: Duration,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, Trouble> {
        if let Some(at) = self
            .seen
            .iter()
            .position(|message| is_wanted(&message.value))
        {
            return Ok(Some(self.seen.remove(at).value));
        }
        let deadline = Instant::now() + self.bench.within(patience);
        while let Some(message) = self.receive(deadline).await? {
            if is_wanted(&message.value) {
                return Ok(Some(message.value));
            }
            self.keep(message);
        }
        Ok(None)
    }

    /// What came and answered nothing.
    pub(crate) fn leftovers(&mut self) -> Vec<Incoming> {
        std::mem::take(&mut self.seen)
    }

    /// The process behind the connection.
    pub(crate) fn stdio(&mut self) -> Option<&mut StdioWire> {
        match &mut self.wire {
            Wire::Stdio(wire) => wire.as_mut(),
            Wire::Http(_) => None,
        }
    }

    /// Sends bytes that are no line, and no more after them.
    pub(crate) async fn send_unfinished(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let what = What::Bytes(bytes.to_vec());
        self.trace.add(self.connection, false, what);
        match &mut self.wire {
            Wire::Stdio(Some(wire)) => wire.write(bytes).await,
            _ => Ok(()),
        }
    }

    /// Ends the server's input.
    pub(crate) fn end_input(&mut self) {
        self.trace.add(self.connection, false, What::EndOfInput);
        if let Some(wire) = self.stdio() {
            wire.close_input();
        }
    }

    /// The server's answer to the version asked for.
    pub(crate) fn version(&self) -> Option<&str> {
        self.opened["protocolVersion"].as_str()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Wire::Stdio(wire) = &mut self.wire
            && let Some(wire) = wire.take()
            && tokio::runtime::Handle::try_current().is_ok()
        {
            self.bench.own(tokio::spawn(wire.close()));
        }
    }
}

/// The id that a lenient server may read in a message that is no JSON, as a message.
fn legible_id(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let digits = text.split_once("\"id\":").map_or("", |(_, rest)| rest);
    let end = digits
        .find(|it: char| !it.is_ascii_digit())
        .unwrap_or(digits.len());
    match digits[..end].parse::<u64>() {
        Ok(id) => json!({"id": id}),
        Err(_) => Value::Null,
    }
}

/// What the metadata of every modern request holds.
pub(crate) fn modern_meta(version: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([
        (VERSION_KEY.to_owned(), json!(version)),
        (CAPABILITIES_KEY.to_owned(), json!({})),
        (
            CLIENT_KEY.to_owned(),
            json!({"name": "attache-verify", "version": env!("CARGO_PKG_VERSION")}),
        ),
    ])
}

/// The headers of a correct POST.
pub(crate) fn http_headers(
    message: &Value,
    revision: Revision,
    negotiated: Option<&str>,
    session: Option<&str>,
) -> Vec<(String, String)> {
    let mut headers = vec![
        ("Content-Type".to_owned(), "application/json".to_owned()),
        (
            "Accept".to_owned(),
            "application/json, text/event-stream".to_owned(),
        ),
    ];
    let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
    let method = message["method"].as_str();
    match revision.era() {
        Era::Modern => {
            let meta = &message["params"]["_meta"][VERSION_KEY];
            let version = meta.as_str().map(str::to_owned);
            add(
                "MCP-Protocol-Version",
                &version.unwrap_or_else(|| revision.to_string()),
            );
            if let Some(method) = method {
                add("Mcp-Method", method);
            }
            if let Some(name) = mirrored_name(message) {
                add("Mcp-Name", &header_value(&name));
            }
        }
        Era::Legacy => {
            if let Some(session) = session {
                add("Mcp-Session-Id", session);
            }
            if let Some(version) = negotiated
                && method != Some("initialize")
            {
                add("MCP-Protocol-Version", version);
            }
        }
    }
    headers
}

/// What `Mcp-Name` holds for a request.
fn mirrored_name(message: &Value) -> Option<String> {
    let params = &message["params"];
    let value = match message["method"].as_str()? {
        "tools/call" | "prompts/get" => &params["name"],
        "resources/read" => &params["uri"],
        "tasks/get" | "tasks/update" | "tasks/cancel" => &params["taskId"],
        _ => return None,
    };
    value.as_str().map(str::to_owned)
}

/// A text as a header's value.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let has_edge = text.starts_with(' ') || text.ends_with(' ');
    if is_plain && !has_edge && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("=?base64?{encoded}?=")
}
