//! The conversation's model, lent to servers that ask for one.
//!
//! Owns what a server may have of it: a rate, a length, a budget. Who may is the person's decision
//! for each request, made elsewhere; nothing of the conversation is shown to the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_protocol::{Content, CreateMessageParams, CreateMessageResult, SamplingMessage};
use parking_lot::Mutex;

use crate::message::{Answer, Image, Message, Part, StopReason};
use crate::model::{Ask, Model, Reply};
use crate::untrusted::Mark;

/// How many requests a server may make within [`RATE_TIME`].
pub(crate) const RATE: usize = 10;
/// See [`RATE`].
const RATE_TIME: Duration = Duration::from_secs(60);
/// The longest answer that a server gets, in tokens.
pub(crate) const MOST_TOKENS: u64 = 4_096;
/// How many tokens all answers to a server may have together.
pub(crate) const BUDGET: u64 = 100_000;
/// The longest conversation that a server may send, in bytes.
const LONGEST: usize = 256 * 1024;

/// Answers `sampling/createMessage` with a model.
#[derive(Debug)]
pub struct Sampler {
    model: Arc<Model>,
    servers: Mutex<BTreeMap<String, Account>>,
}

/// What a server has used.
#[derive(Debug, Default)]
struct Account {
    recent: Vec<Instant>,
    tokens: u64,
}

impl Sampler {
    /// Lends a model.
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            servers: Mutex::default(),
        }
    }

    /// Whether a request of a server can be answered at all, before anybody is asked about it.
    pub fn check(&self, server: &str, request: &CreateMessageParams) -> Result<(), String> {
        if request
            .tools
            .as_ref()
            .is_some_and(|tools| !tools.is_empty())
        {
            return Err("tools are not offered with the model".to_owned());
        }
        let bytes: usize = messages(request).iter().map(Message::bytes).sum();
        if bytes > LONGEST {
            return Err(format!("the conversation is longer than {LONGEST} bytes"));
        }
        let servers = self.servers.lock();
        match servers.get(server) {
            Some(account) if account.tokens >= BUDGET => {
                Err("the budget of this server is used up".to_owned())
            }
            Some(account) if account.in_time() >= RATE => {
                Err(format!("more than {RATE} requests in a minute"))
            }
            _ => Ok(()),
        }
    }

    /// Asks the model. The person has agreed before.
    pub async fn sample(
        &self,
        server: &str,
        request: &CreateMessageParams,
    ) -> Result<CreateMessageResult, String> {
        self.check(server, request)?;
        self.begin(server);
        let most = u64::try_from(request.max_tokens)
            .unwrap_or(1)
            .clamp(1, MOST_TOKENS);
        let messages = messages(request);
        let mark = Mark::new();
        let ask = Ask {
            system: request.system_prompt.as_deref().unwrap_or_default(),
            max_tokens: Some(most),
            stop: request.stop_sequences.as_deref().unwrap_or_default(),
            ..Ask::new(&messages, &mark)
        };
        let mut reply = Reply::default();
        let answered = self.model.answer(ask, &mut reply, &mut |_| {}).await;
        self.end(server, reply.usage.output.unwrap_or(most));
        answered.map_err(|error| error.to_string())?;
        let model = reply
            .model
            .as_deref()
            .unwrap_or(&self.model.endpoint().model);
        let mut result = CreateMessageResult::new(model, Content::text(reply.answer.text));
        result.stop_reason = match reply.stop {
            StopReason::Length => Some("maxTokens".to_owned()),
            _ => Some("endTurn".to_owned()),
        };
        Ok(result)
    }

    fn begin(&self, server: &str) {
        let mut servers = self.servers.lock();
        let account = servers.entry(server.to_owned()).or_default();
        account.recent.retain(|at| at.elapsed() < RATE_TIME);
        account.recent.push(Instant::now());
    }

    fn end(&self, server: &str, tokens: u64) {
        let mut servers = self.servers.lock();
        servers.entry(server.to_owned()).or_default().tokens += tokens;
    }
}

impl Account {
    fn in_time(&self) -> usize {
        let recent = self.recent.iter();
        recent.filter(|at| at.elapsed() < RATE_TIME).count()
    }
}

/// The conversation that a server sends. Its words are its own from beginning to end, so there is
/// nothing to tell apart.
fn messages(request: &CreateMessageParams) -> Vec<Message> {
    request.messages.iter().map(message).collect()
}

fn message(message: &SamplingMessage) -> Message {
    if message.role == "assistant" {
        let texts = message.content.iter().filter_map(Content::as_text);
        return Message::Assistant(Answer {
            text: texts.collect::<Vec<_>>().join("\n"),
            ..Answer::default()
        });
    }
    let parts = message.content.iter().map(|content| match content {
        Content::Image(media) if Image::is_taken(&media.mime_type) => Part::Image(Image {
            mime_type: media.mime_type.clone(),
            data: media.data.clone(),
        }),
        content => Part::text(content.summary()),
    });
    Message::User {
        parts: parts.collect(),
    }
}
