//! A model behind an endpoint: one request, one streamed answer.
//!
//! Owns HTTP, time limits and when a request is made again: only before anything of the answer was
//! shown. What the two wire formats say is in a file each. Knows no tools and no conversation
//! beyond the request at hand.

mod anthropic;
mod completions;
mod reading;
mod window;

use std::time::Duration;

use attache_host::config::ChatApi;
use attache_net::{Unreachable, tls};
use attache_protocol::SseParser;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

pub use reading::{Delta, Reply};

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::message::Message;
use crate::untrusted::Mark;

/// The longest event of a stream: far above a whole answer.
const LONGEST_EVENT: usize = 8 * 1024 * 1024;
/// The longest answer that is read, calls and thoughts included.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;
/// The longest body of a refusal that is read.
const LONGEST_REFUSAL: usize = 64 * 1024;
/// How often a request is made.
const MOST_ATTEMPTS: u32 = 4;
/// The first wait between two attempts, doubled each time, where the endpoint names none.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait between two attempts. Who is told to wait longer is told so at once.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How long an endpoint may send signs of life without a piece of an answer.
const LONGEST_WITHOUT_EVENT: Duration = Duration::from_secs(600);

/// A model.
#[derive(Debug)]
pub struct Model {
    endpoint: Endpoint,
    client: OnceCell<reqwest::Client>,
}

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What it is told first.
    pub system: &'a str,
    /// The conversation.
    pub messages: &'a [Message],
    /// The tools it may wish for.
    pub tools: &'a [Definition],
    /// How many tokens it may answer with; the endpoint's own limit without it.
    pub max_tokens: Option<u64>,
    /// What makes it stop.
    pub stop: &'a [String],
    /// What stands around the words of servers.
    pub mark: &'a Mark,
}

impl<'a> Ask<'a> {
    /// A conversation without anything else.
    pub fn new(messages: &'a [Message], mark: &'a Mark) -> Self {
        Self {
            system: "",
            messages,
            tools: &[],
            max_tokens: None,
            stop: &[],
            mark,
        }
    }
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name for model providers.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
}

impl Definition {
    /// How many bytes of a request it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.parameters.to_string().len() + 40
    }
}

impl Model {
    /// The model of an endpoint. Nothing is connected yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            client: OnceCell::new(),
        }
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks, and gives every piece of the answer to `on_delta` as it comes. What has come so far
    /// stands in `reply` however this ends, also if it is dropped, which stops the model.
    pub async fn answer(
        &self,
        ask: Ask<'_>,
        reply: &mut Reply,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<(), Error> {
        let mut wait = FIRST_WAIT;
        for attempt in 1.. {
            *reply = Reply::default();
            let error = match self.attempt(ask, reply, on_delta).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let asked_for = match &error {
                Error::Busy { retry_after, .. } => *retry_after,
                _ => None,
            };
            let pause = asked_for.unwrap_or(wait);
            // What was shown cannot be taken back, so nothing is asked again after that.
            if reply.was_shown
                || !error.is_passing()
                || attempt >= MOST_ATTEMPTS
                || pause > LONGEST_WAIT
            {
                return Err(error);
            }
            on_delta(Delta::Waiting {
                pause,
                because: &error,
            });
            tokio::time::sleep(pause).await;
            wait *= 2;
        }
        Ok(())
    }

    async fn attempt(
        &self,
        ask: Ask<'_>,
        reply: &mut Reply,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<(), Error> {
        let (path, body) = match self.endpoint.api {
            ChatApi::OpenAi => ("chat/completions", completions::body(&self.endpoint, ask)),
            ChatApi::Anthropic => ("messages", anthropic::body(&self.endpoint, ask)),
        };
        let url = self.endpoint.url(path)?;
        let request = self.client().await?.post(url).headers(self.headers()?);
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = request
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body.to_string());
        let patience = self.endpoint.patience.first;
        let response = match timeout(patience, request.send()).await {
            Ok(response) => response.map_err(|error| self.not_sent(&error))?,
            Err(_) => return Err(silent(patience, "before it answered")),
        };
        if !response.status().is_success() {
            return Err(refusal(response, patience).await);
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        match content_type {
            // Some endpoints answer in one piece, whatever they were asked.
            Some(kind) if kind.starts_with("application/json") => {
                self.whole(response, reply, on_delta).await
            }
            Some(kind) if kind.starts_with("text/html") => Err(self.not_a_model("a web page came")),
            _ => self.stream(response, reply, on_delta).await,
        }
    }

    async fn stream(
        &self,
        mut response: Response,
        reply: &mut Reply,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<(), Error> {
        let mut parser = SseParser::new(LONGEST_EVENT);
        let mut received = 0;
        let mut last_event = Instant::now();
        let between = self.endpoint.patience.between;
        loop {
            let chunk = match timeout(between, response.chunk()).await {
                Ok(chunk) => chunk.map_err(|error| Error::Cut(attache_net::innermost(&error)))?,
                Err(_) => return Err(silent(between, "in the middle of its answer")),
            };
            let Some(chunk) = chunk else { break };
            received += chunk.len();
            if received > LONGEST_ANSWER * 4 || reply.bytes() > LONGEST_ANSWER {
                return Err(Error::Cut("it is longer than 16 MiB".to_owned()));
            }
            parser.push(chunk);
            loop {
                let event = parser.next_event();
                let event = event.map_err(|error| self.not_a_model(error.to_string()))?;
                let Some(event) = event else { break };
                last_event = Instant::now();
                if self.read_event(event.kind.as_deref(), &event.data, reply, on_delta)? {
                    return Ok(());
                }
            }
            if last_event.elapsed() > LONGEST_WITHOUT_EVENT {
                return Err(silent(LONGEST_WITHOUT_EVENT, "but for signs of life"));
            }
        }
        match reply.is_begun {
            true => {
                reply.finish();
                Ok(())
            }
            false => Err(self.not_a_model("the answer is empty")),
        }
    }

    /// Reads one event; true if it is the last.
    fn read_event(
        &self,
        kind: Option<&str>,
        data: &[u8],
        reply: &mut Reply,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<bool, Error> {
        let data = data.trim_ascii();
        if data == b"[DONE]" {
            reply.finish();
            return Ok(true);
        }
        // A line that is no JSON spoils itself only.
        let Ok(value) = serde_json::from_slice::<Value>(data) else {
            return Ok(false);
        };
        reading::check_failure(kind, &value)?;
        let ended = match self.endpoint.api {
            ChatApi::OpenAi => completions::read(&value, reply, on_delta),
            ChatApi::Anthropic => anthropic::read(&value, reply, on_delta),
        };
        if ended {
            reply.finish();
        }
        Ok(ended)
    }

    async fn whole(
        &self,
        mut response: Response,
        reply: &mut Reply,
        on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<(), Error> {
        let mut body = Vec::new();
        let between = self.endpoint.patience.between;
        loop {
            let chunk = match timeout(between, response.chunk()).await {
                Ok(chunk) => chunk.map_err(|error| Error::Cut(attache_net::innermost(&error)))?,
                Err(_) => return Err(silent(between, "in the middle of its answer")),
            };
            let Some(chunk) = chunk else { break };
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_ANSWER {
                return Err(Error::Cut("it is longer than 16 MiB".to_owned()));
            }
        }
        let value: Value =
            serde_json::from_slice(&body).map_err(|_| self.not_a_model("what came is no JSON"))?;
        reading::check_failure(None, &value)?;
        match self.endpoint.api {
            ChatApi::OpenAi => completions::read_whole(&value, reply, on_delta),
            ChatApi::Anthropic => anthropic::read_whole(&value, reply, on_delta),
        }
        match reply.is_begun {
            true => {
                reply.finish();
                Ok(())
            }
            false => Err(self.not_a_model("the answer holds no message")),
        }
    }

    /// The pool of connections to the endpoint.
    async fn client(&self) -> Result<&reqwest::Client, Error> {
        let build = || async {
            let proxy = &self.endpoint.proxy;
            let route = proxy.route_to(&self.endpoint.base);
            let route = route.map_err(Error::Setup)?;
            let builder = reqwest::Client::builder()
                .tls_backend_preconfigured(tls::settings(&route, None).map_err(Error::Setup)?)
                // Another address would see the key.
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .connect_timeout(self.endpoint.patience.connect)
                .tcp_nodelay(true);
            let builder = proxy.apply(builder).map_err(Error::Setup)?;
            builder
                .build()
                .map_err(|error| Error::Setup(format!("HTTP cannot be set up: {error}")))
        };
        self.client.get_or_try_init(build).await
    }

    fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.endpoint.key {
            let (name, text) = match self.endpoint.api {
                ChatApi::OpenAi => ("authorization", format!("Bearer {}", key.expose())),
                ChatApi::Anthropic => ("x-api-key", key.expose().to_owned()),
            };
            headers.insert(
                HeaderName::from_static(name),
                secret_header("the key", &text)?,
            );
        }
        if self.endpoint.api == ChatApi::Anthropic {
            let version = HeaderValue::from_static(anthropic::VERSION);
            headers.insert("anthropic-version", version);
        }
        for (name, value) in &self.endpoint.headers {
            let key = name.parse::<HeaderName>();
            let key = key.map_err(|_| Error::Setup(format!("{name:?} is no name of a header")))?;
            let what = format!("the header {name:?}");
            headers.insert(key, secret_header(&what, value.expose())?);
        }
        Ok(headers)
    }

    fn not_sent(&self, error: &reqwest::Error) -> Error {
        if !error.is_connect() {
            return Error::Cut(attache_net::innermost(error));
        }
        match self.endpoint.proxy.route_to(&self.endpoint.base) {
            Ok(route) => Error::Unreachable(Box::new(Unreachable::from_error(error, &route))),
            Err(problem) => Error::Setup(problem),
        }
    }

    fn not_a_model(&self, problem: impl Into<String>) -> Error {
        Error::NotAModel {
            api: match self.endpoint.api {
                ChatApi::OpenAi => "Chat Completions",
                ChatApi::Anthropic => "Anthropic Messages",
            },
            problem: problem.into(),
        }
    }
}

/// A header whose value no log may show.
fn secret_header(what: &str, text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Error::Setup(format!("{what} holds characters that no header may hold")))?;
    value.set_sensitive(true);
    Ok(value)
}

fn silent(after: Duration, before: &'static str) -> Error {
    Error::TimedOut { after, before }
}

/// What a refusal says.
async fn refusal(mut response: Response, patience: Duration) -> Error {
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let retry_after = retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_REFUSAL {
                break;
            }
        }
    };
    // A refusal that never ends is a refusal all the same.
    let _ = timeout(patience, read).await;
    let said: Value = serde_json::from_slice(&body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&body);
        json!({ "error": text.trim() })
    });
    let message = match reading::failure_text(&said) {
        text if text.is_empty() => status.canonical_reason().unwrap_or("no reason").to_owned(),
        text => text,
    };
    let status = status.as_u16();
    match status {
        401 | 403 => Error::Key { status, message },
        408 | 409 | 425 | 429 | 500.. => Error::Busy {
            status,
            message,
            retry_after,
        },
        413 => Error::TooLong { message },
        _ if reading::is_too_long(&message) => Error::TooLong { message },
        _ if StatusCode::from_u16(status).is_ok_and(|status| status.is_redirection()) => {
            Error::Refused {
                status,
                message: "it leads to another address, which is not followed; write that one as \
                          `endpoint`"
                    .to_owned(),
            }
        }
        _ => Error::Refused { status, message },
    }
}
