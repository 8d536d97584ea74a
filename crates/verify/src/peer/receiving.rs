//! What comes on a connection: waiting for answers, for other messages, and for silence.

use std::time::Duration;

use attache_protocol::Era;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::wire::{Wire, WireEvent};
use super::{Answer, Incoming, Peer, Trouble};

/// How many messages are kept that no check waits for.
const MOST_SEEN: usize = 10_000;

/// One response over HTTP.
#[derive(Default)]
pub(super) struct Post {
    pub(super) id: Option<Value>,
    pub(super) status: Option<u16>,
    pub(super) is_over: bool,
    pub(super) failed: Option<String>,
}

impl Peer {
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
                        Wire::Sse(_) => Trouble::Ended("its stream of events has ended".to_owned()),
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
                    let is_stream = matches!(self.wire, Wire::Sse(_));
                    let state = self.posts.entry(post).or_default();
                    state.is_over = true;
                    state.failed = failed;
                    let is_taken = state.status.is_some_and(|status| status < 400);
                    if is_stream && is_taken {
                        // Its answer comes on the stream.
                        state.id = None;
                    }
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
}
