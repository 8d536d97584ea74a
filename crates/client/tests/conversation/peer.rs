//! A server driven by hand on the other end of an in-memory stream, message by message.
//!
//! Owns reading, writing and the shape of answers. Refuses to know when to say what: the test does.

use std::time::Duration;

use attache_client::protocol::{Era, Revision};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::time::timeout;

use crate::record::{Record, Tap};

/// Longer than anything the client waits for. The clock is paused, so waiting costs nothing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a client is listened to that should say nothing.
const SILENCE: Duration = Duration::from_millis(5);

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The server's side of a conversation.
pub(crate) struct Peer {
    pub(crate) revision: Revision,
    pub(crate) record: Record,
    input: BufReader<ReadHalf<Tap>>,
    /// The part of a line that came before a wait was given up.
    partial: Vec<u8>,
    output: WriteHalf<Tap>,
}

impl Peer {
    pub(crate) fn new(stream: DuplexStream, revision: Revision) -> Self {
        let tap = Tap::new(stream);
        let record = tap.record();
        let (input, output) = tokio::io::split(tap);
        Self {
            revision,
            record,
            input: BufReader::new(input),
            partial: Vec::new(),
            output,
        }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.revision.era() == Era::Modern
    }

    /// The next line of the client; `None` when it has closed its side.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let read = self.input.read_until(b'\n', &mut self.partial);
        let read = timeout(PATIENCE, read).await;
        read.expect("the client says nothing").unwrap();
        let line = std::mem::take(&mut self.partial);
        let line = String::from_utf8(line).unwrap();
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// The next message of the client.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.line().await.expect("the client closed its side");
        serde_json::from_str(&line).unwrap()
    }

    /// The next message, which is a request of `method`.
    pub(crate) async fn request(&mut self, method: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        assert!(message["id"].is_u64(), "no request: {message}");
        message
    }

    /// The params of the next message, which is a notification of `method`.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        assert!(message.get("id").is_none(), "no notification: {message}");
        message["params"].clone()
    }

    /// The client takes back `request`, and does nothing else.
    pub(crate) async fn cancellation(&mut self, request: &Value) {
        let params = self.notification("notifications/cancelled").await;
        assert_eq!(params["requestId"], request["id"]);
    }

    /// The client has nothing to say for now.
    pub(crate) async fn hears_nothing(&mut self) {
        if let Ok(line) = timeout(SILENCE, self.line()).await {
            panic!("the client said {line:?}");
        }
    }

    /// The client has closed its side.
    pub(crate) async fn hears_the_end(&mut self) {
        assert_eq!(self.line().await, None);
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.say_raw(&format!("{message}\n")).await;
    }

    /// Says bytes as they are, in one write.
    pub(crate) async fn say_raw(&mut self, bytes: &str) {
        self.output.write_all(bytes.as_bytes()).await.unwrap();
        self.output.flush().await.unwrap();
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// A notification, of the subscription that `listen` began if the server is modern.
    pub(crate) async fn tell(&mut self, listen: &Value, method: &str, mut params: Value) {
        if self.is_modern() {
            params["_meta"] = json!({SUBSCRIPTION: listen["id"]});
        }
        self.notify(method, params).await;
    }

    pub(crate) async fn progress(&mut self, request: &Value, progress: f64) {
        let token = request["params"]["_meta"]["progressToken"].clone();
        let params = json!({"progressToken": token, "progress": progress});
        self.notify("notifications/progress", params).await;
    }

    /// Answers with a result, in the form of the era.
    pub(crate) async fn answer(&mut self, request: &Value, mut result: Value) {
        if self.is_modern() && result.get("resultType").is_none() {
            result["resultType"] = json!("complete");
        }
        self.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }

    pub(crate) async fn answer_text(&mut self, request: &Value, text: &str) {
        self.answer(
            request,
            json!({"content": [{"type": "text", "text": text}]}),
        )
        .await;
    }

    /// Answers with an error; null data is left out.
    pub(crate) async fn refuse(&mut self, request: &Value, code: i64, data: Value) {
        let mut error = json!({"code": code, "message": "no"});
        if !data.is_null() {
            error["data"] = data;
        }
        self.say(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
            .await;
    }

    /// A modern answer that asks back.
    pub(crate) async fn ask_back(&mut self, request: &Value, questions: Value, state: Value) {
        let mut result = json!({"resultType": "input_required"});
        if !questions.is_null() {
            result["inputRequests"] = questions;
        }
        if !state.is_null() {
            result["requestState"] = state;
        }
        self.answer(request, result).await;
    }

    /// A legacy server's request.
    pub(crate) async fn ask(&mut self, id: Value, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
    }

    /// Closes the server's output.
    pub(crate) async fn close_output(&mut self) {
        self.output.shutdown().await.unwrap();
    }

    /// What the client still says until it closes its side.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut rest = Vec::new();
        while let Some(line) = self.line().await {
            rest.push(line);
        }
        rest
    }
}
