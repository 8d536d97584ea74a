//! One connection to the server that is looked at, in the form of a revision.
//!
//! Builds requests by hand and reads what comes without believing any of it. Whatever comes passes
//! the [`Watch`](crate::watch::Watch), so that rules about every message hold for all checks.

mod answer;
mod metadata;
mod opening;
mod receiving;
mod wire;

use std::collections::{BTreeSet, HashMap};

use attache_protocol::{Era, Revision};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::bench::Bench;
use crate::facts::Facts;
use crate::http::HttpWire;
use crate::stdio::StdioWire;
use crate::trace::{Exchange, Step, Trace, What};
use crate::watch::Books;
use receiving::Post;
use wire::Wire;

pub(crate) use answer::{Answer, Incoming};
pub(crate) use metadata::{
    CAPABILITIES_KEY, CLIENT_KEY, LOG_LEVEL_KEY, SUBSCRIPTION_KEY, TASKS_EXTENSION, VERSION_KEY,
    http_headers, modern_meta,
};
pub(crate) use opening::Opening;
pub(crate) use wire::{Trouble, WireEvent};

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
                let headers = http_headers(
                    &sent,
                    self.revision,
                    self.negotiated.as_deref(),
                    self.session.as_deref(),
                );
                let wire = wire.clone();
                self.post(&wire, &sent, headers, bytes);
                Ok(())
            }
            Wire::Sse(wire) => {
                let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
                let wire = wire.posting();
                self.post(&wire, &sent, headers, bytes);
                Ok(())
            }
        }
    }

    fn post(&mut self, wire: &HttpWire, sent: &Value, headers: Vec<(String, String)>, body: &[u8]) {
        let exchange = Exchange {
            verb: "POST",
            headers,
            body: Some(body.to_vec()),
        };
        let post = self.posts.len();
        let state = Post {
            id: sent.get("id").filter(|id| !id.is_null()).cloned(),
            ..Post::default()
        };
        self.posts.insert(post, state);
        let what = What::Request(exchange.clone());
        self.trace.add(self.connection, self.is_opening, what);
        self.bench.own(wire.post(&exchange, post));
    }

    /// The names of the events that messages came as, over HTTP+SSE.
    pub(crate) fn event_names(&self) -> BTreeSet<String> {
        match &self.wire {
            Wire::Sse(wire) => wire.event_names(),
            _ => BTreeSet::new(),
        }
    }

    /// The process behind the connection.
    pub(crate) fn stdio(&mut self) -> Option<&mut StdioWire> {
        match &mut self.wire {
            Wire::Stdio(wire) => wire.as_mut(),
            Wire::Http(_) | Wire::Sse(_) => None,
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
