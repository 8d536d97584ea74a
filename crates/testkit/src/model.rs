//! A scripted model behind a real HTTP endpoint, in both wire formats.
//!
//! Answers one request after the other as the script says: whole or in slices, slowly, cut, with an
//! error, or with pieces as odd as endpoints in the field send them. Keeps everything it was sent.
//! Refuses to know what a client should make of it.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use attache_testkit::model::{ModelReply, ModelScript};
//!
//! let model = ModelScript::completions()
//!     .then(ModelReply::calling(&[("c1", "notes__search", r#"{"query":"tea"}"#)]))
//!     .then(ModelReply::saying("Three minutes."))
//!     .start()
//!     .await?;
//! // A client asks at model.base() …
//! assert!(model.asked().is_empty());
//! # Ok::<_, std::io::Error>(()) })?;
//! # Ok::<_, std::io::Error>(())
//! ```

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Answer, HttpRequest, HttpScript, HttpServer};

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// Chat Completions, at `/v1/chat/completions`.
    Completions,
    /// Anthropic Messages, at `/v1/messages`.
    Anthropic,
}

/// What a model says, request by request.
#[derive(Clone, Debug)]
pub struct ModelScript {
    format: WireFormat,
    replies: VecDeque<ModelReply>,
    models: Value,
}

/// One answer of a model.
#[derive(Clone, Debug)]
pub struct ModelReply {
    kind: ReplyKind,
    /// How the answer is delivered.
    deliver: Vec<Deliver>,
}

#[derive(Clone, Debug)]
enum ReplyKind {
    /// Words, then calls.
    Usual {
        text: Vec<String>,
        calls: Vec<(String, String, String)>,
    },
    /// The data of events, as they are.
    Events(Vec<String>),
    /// Anything else.
    Http(Box<Answer>),
}

#[derive(Clone, Debug)]
enum Deliver {
    Sliced(usize),
    CutAfter(usize),
    After(Duration),
    /// After the words, before the end.
    Hold,
}

impl ModelScript {
    /// A model that speaks Chat Completions.
    pub fn completions() -> Self {
        Self::new(WireFormat::Completions)
    }

    /// A model that speaks Anthropic Messages.
    pub fn anthropic() -> Self {
        Self::new(WireFormat::Anthropic)
    }

    /// A model that speaks this format.
    pub fn new(format: WireFormat) -> Self {
        Self {
            format,
            replies: VecDeque::new(),
            models: json!({"data": []}),
        }
    }

    /// Adds the answer to the next request. Further requests than there are answers get status 410.
    #[must_use]
    pub fn then(mut self, reply: ModelReply) -> Self {
        self.replies.push_back(reply);
        self
    }

    /// What `GET /v1/models` gives.
    #[must_use]
    pub fn models(mut self, models: Value) -> Self {
        self.models = models;
        self
    }

    /// Starts the endpoint on a free port of the loopback interface.
    pub async fn start(self) -> io::Result<ModelServer> {
        let replies = Arc::new(Mutex::new(self.replies));
        let (format, models) = (self.format, self.models);
        let answer = move |request: &HttpRequest| {
            if request.verb == "GET" {
                return Answer::json(&models);
            }
            let next = replies
                .lock()
                .ok()
                .and_then(|mut replies| replies.pop_front());
            match next {
                Some(reply) => reply.answer(format),
                None => Answer::status(410),
            }
        };
        let http = HttpScript::computed(answer).start().await?;
        Ok(ModelServer { http })
    }
}

/// A model that listens.
#[derive(Debug)]
pub struct ModelServer {
    /// The server behind it.
    pub http: HttpServer,
}

impl ModelServer {
    /// Where the paths of the wire format begin.
    pub fn base(&self) -> String {
        format!("{}/v1", self.http.origin())
    }

    /// The bodies of all questions so far.
    pub fn asked(&self) -> Vec<Value> {
        let posted = self.http.requests_by("POST");
        posted.iter().map(HttpRequest::message).collect()
    }
}

impl ModelReply {
    fn of(kind: ReplyKind) -> Self {
        Self {
            kind,
            deliver: Vec::new(),
        }
    }

    /// Words, in one piece for each blank.
    pub fn saying(text: &str) -> Self {
        let pieces = text.split_inclusive(' ').map(str::to_owned);
        Self::of(ReplyKind::Usual {
            text: pieces.collect(),
            calls: Vec::new(),
        })
    }

    /// Calls: id, name, arguments.
    pub fn calling(calls: &[(&str, &str, &str)]) -> Self {
        let owned = |(id, name, arguments): &(&str, &str, &str)| {
            (
                (*id).to_owned(),
                (*name).to_owned(),
                (*arguments).to_owned(),
            )
        };
        Self::of(ReplyKind::Usual {
            text: Vec::new(),
            calls: calls.iter().map(owned).collect(),
        })
    }

    /// Events with this data, as they are.
    pub fn events(data: impl IntoIterator<Item = impl ToString>) -> Self {
        let data = data.into_iter().map(|data| data.to_string());
        Self::of(ReplyKind::Events(data.collect()))
    }

    /// Any answer over HTTP.
    pub fn http(answer: Answer) -> Self {
        Self::of(ReplyKind::Http(Box::new(answer)))
    }

    /// So many bytes at a time.
    #[must_use]
    pub fn sliced(mut self, bytes: usize) -> Self {
        self.deliver.push(Deliver::Sliced(bytes));
        self
    }

    /// Only so many bytes, head included, then the connection is closed.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.deliver.push(Deliver::CutAfter(bytes));
        self
    }

    /// After a pause.
    #[must_use]
    pub fn after(mut self, pause: Duration) -> Self {
        self.deliver.push(Deliver::After(pause));
        self
    }

    /// Without an end: after its words it is silent, and the connection stays.
    #[must_use]
    pub fn hold(mut self) -> Self {
        self.deliver.push(Deliver::Hold);
        self
    }

    fn answer(self, format: WireFormat) -> Answer {
        let is_held = self.deliver.iter().any(|it| matches!(it, Deliver::Hold));
        let mut answer = match self.kind {
            ReplyKind::Http(answer) => *answer,
            ReplyKind::Events(data) => data.iter().fold(Answer::events(), |answer, data| {
                answer.raw(&format!("data: {data}\n\n"))
            }),
            ReplyKind::Usual { text, calls } => match format {
                WireFormat::Completions => completions(&text, &calls, is_held),
                WireFormat::Anthropic => anthropic(&text, &calls, is_held),
            },
        };
        for deliver in self.deliver {
            answer = match deliver {
                Deliver::Sliced(bytes) => answer.sliced(bytes),
                Deliver::CutAfter(bytes) => answer.cut_after(bytes),
                Deliver::After(pause) => answer.after(pause),
                Deliver::Hold => answer.hold(),
            };
        }
        answer
    }
}

fn completions(text: &[String], calls: &[(String, String, String)], is_held: bool) -> Answer {
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let mut answer =
        Answer::events().message(&chunk(json!({"role": "assistant", "content": ""}), None));
    for piece in text {
        answer = answer.message(&chunk(json!({"content": piece}), None));
    }
    for (index, (id, name, arguments)) in calls.iter().enumerate() {
        let begin = json!({"tool_calls": [{"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": ""}}]});
        answer = answer.message(&chunk(begin, None));
        let middle = arguments.len() / 2;
        let middle = (middle..=arguments.len()).find(|at| arguments.is_char_boundary(*at));
        let (one, other) = arguments.split_at(middle.unwrap_or(0));
        for piece in [one, other] {
            let more = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            answer = answer.message(&chunk(more, None));
        }
    }
    if is_held {
        return answer;
    }
    let reason = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    answer
        .message(&chunk(json!({}), Some(reason)))
        .message(&json!({"choices": [], "usage": {"prompt_tokens": 120, "completion_tokens": 7}}))
        .raw("data: [DONE]\n\n")
}

fn anthropic(text: &[String], calls: &[(String, String, String)], is_held: bool) -> Answer {
    let event = |answer: Answer, value: Value| {
        let kind = value["type"].as_str().unwrap_or_default().to_owned();
        answer.raw(&format!("event: {kind}\ndata: {value}\n\n"))
    };
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant",
        "model": "scripted", "content": [], "usage": {"input_tokens": 120, "output_tokens": 1}}});
    let mut answer = event(Answer::events(), start);
    answer = event(answer, json!({"type": "ping"}));
    let mut index = 0;
    if !text.is_empty() {
        let block = json!({"type": "text", "text": ""});
        answer = event(
            answer,
            json!({"type": "content_block_start", "index": 0, "content_block": block}),
        );
        for piece in text {
            let delta = json!({"type": "text_delta", "text": piece});
            answer = event(
                answer,
                json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            );
        }
        if is_held {
            return answer;
        }
        answer = event(answer, json!({"type": "content_block_stop", "index": 0}));
        index = 1;
    }
    for (id, name, arguments) in calls {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        answer = event(
            answer,
            json!({"type": "content_block_start", "index": index, "content_block": block}),
        );
        let delta = json!({"type": "input_json_delta", "partial_json": arguments});
        answer = event(
            answer,
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        );
        answer = event(
            answer,
            json!({"type": "content_block_stop", "index": index}),
        );
        index += 1;
    }
    let reason = if calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    answer = event(
        answer,
        json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 7}}),
    );
    event(answer, json!({"type": "message_stop"}))
}
