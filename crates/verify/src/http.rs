//! HTTP requests with the headers that a check wants, and what comes back, as it comes.
//!
//! Knows server-sent events as lines only. Its own reader, so that no fault of the client's hides a
//! server's.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::peer::{Trouble, WireEvent};
use crate::target::HttpTarget;
use crate::trace::{Exchange, Trace, What};

/// A session that no server has given out.
pub(crate) const NO_SUCH_SESSION: &str = "attache-verify-no-such-session";
/// How much of a body is read.
const LONGEST_BODY: usize = 16 * 1024 * 1024;
/// How many messages may wait to be looked at.
const QUEUE: usize = 4096;

/// The way to a server behind a URL.
#[derive(Clone)]
pub(crate) struct HttpWire {
    client: reqwest::Client,
    target: HttpTarget,
    sender: mpsc::Sender<WireEvent>,
}

/// A whole response, or as much of it as came in time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    /// Whether the server ended it.
    pub(crate) is_over: bool,
    /// The events of a stream.
    pub(crate) events: Vec<SseEvent>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_stream(&self) -> bool {
        is_stream(&self.headers)
    }

    /// The messages of a JSON body or a stream.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if self.is_stream() {
            let data = self.events.iter().filter(|event| !event.data.is_empty());
            return data
                .filter_map(|event| serde_json::from_str(&event.data).ok())
                .collect();
        }
        serde_json::from_str(&self.body).into_iter().collect()
    }

    /// The code of the JSON-RPC error in it.
    pub(crate) fn code(&self) -> Option<i64> {
        self.messages()
            .iter()
            .find_map(|message| message["error"]["code"].as_i64())
    }

    pub(crate) fn summary(&self) -> String {
        let code = self.code();
        match code {
            Some(code) => format!("HTTP {} with {code}", self.status),
            None => format!("HTTP {}", self.status),
        }
    }
}

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) data: String,
    pub(crate) retry: Option<String>,
}

/// Splits a stream into events.
#[derive(Default)]
pub(crate) struct SseReader {
    rest: Vec<u8>,
    event: SseEvent,
    has_fields: bool,
}

impl SseReader {
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                if std::mem::take(&mut self.has_fields) {
                    events.push(std::mem::take(&mut self.event));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => {
                    if !self.event.data.is_empty() {
                        self.event.data.push('\n');
                    }
                    self.event.data.push_str(value);
                }
                "id" => self.event.id = Some(value.to_owned()),
                "event" => self.event.name = Some(value.to_owned()),
                "retry" => self.event.retry = Some(value.to_owned()),
                // A comment.
                _ => continue,
            }
            self.has_fields = true;
        }
        events
    }
}

impl HttpWire {
    pub(crate) fn open(target: &HttpTarget) -> Result<(Self, mpsc::Receiver<WireEvent>), Trouble> {
        let client = target.client().map_err(Trouble::NotStarted)?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let wire = Self {
            client,
            target: target.clone(),
            sender,
        };
        Ok((wire, receiver))
    }

    pub(crate) fn request(&self, exchange: &Exchange) -> Result<reqwest::RequestBuilder, String> {
        let verb = Method::from_bytes(exchange.verb.as_bytes()).map_err(|it| it.to_string())?;
        let mut headers = HeaderMap::new();
        let fixed = self.target.headers.iter();
        let all = fixed.chain(exchange.headers.iter().map(|(name, value)| (name, value)));
        for (name, value) in all {
            let name: HeaderName = name.parse().map_err(|_| format!("{name} is no header"))?;
            let value = HeaderValue::from_bytes(value.as_bytes())
                .map_err(|_| format!("{name} has a value that no header may have"))?;
            headers.append(name, value);
        }
        let request = self.client.request(verb, &self.target.url).headers(headers);
        Ok(match &exchange.body {
            Some(body) => request.body(body.clone()),
            None => request,
        })
    }

    /// Where events go, for what comes another way than as a response.
    pub(crate) fn sender(&self) -> mpsc::Sender<WireEvent> {
        self.sender.clone()
    }

    /// Sends a request whose response becomes events.
    pub(crate) fn post(&self, exchange: &Exchange, post: usize) -> tokio::task::JoinHandle<()> {
        let sender = self.sender.clone();
        let request = self.request(exchange);
        tokio::spawn(async move {
            let failed = match request {
                Ok(request) => deliver(request, post, &sender).await.err(),
                Err(error) => Some(error),
            };
            let event = WireEvent::PostEnded { post, failed };
            let _ = sender.send(event).await;
        })
    }

    /// Makes a request and reads its response until it ends, has enough, or time is up.
    pub(crate) async fn exchange(
        &self,
        exchange: Exchange,
        trace: &Trace,
        patience: Duration,
        is_enough: impl Fn(&Response) -> bool,
    ) -> Result<Response, Trouble> {
        trace.add(0, false, What::Request(exchange.clone()));
        let request = self.request(&exchange).map_err(Trouble::NotStarted)?;
        let deadline = Instant::now() + patience;
        let sent = tokio::time::timeout_at(deadline, request.send()).await;
        let mut incoming = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(Trouble::Ended(innermost(&error))),
            Err(_) => {
                return Err(Trouble::Silent(format!(
                    "no response to {} in {:.1} s",
                    exchange.verb,
                    patience.as_secs_f64()
                )));
            }
        };
        let mut response = Response {
            status: incoming.status().as_u16(),
            headers: incoming.headers().clone(),
            ..Response::default()
        };
        let mut reader = SseReader::default();
        let mut body = Vec::new();
        while !is_enough(&response) && body.len() < LONGEST_BODY {
            match tokio::time::timeout_at(deadline, incoming.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    body.extend_from_slice(&chunk);
                    if response.is_stream() {
                        response.events.extend(reader.feed(&chunk));
                    }
                }
                Ok(Ok(None)) => {
                    response.is_over = true;
                    break;
                }
                Ok(Err(_)) | Err(_) => break,
            }
        }
        response.body = String::from_utf8_lossy(&body).into_owned();
        let shown = format!("HTTP {} {}", response.status, response.body);
        trace.came(0, false, shown.as_bytes());
        Ok(response)
    }
}

async fn deliver(
    request: reqwest::RequestBuilder,
    post: usize,
    sender: &mpsc::Sender<WireEvent>,
) -> Result<(), String> {
    let mut response = request.send().await.map_err(|error| innermost(&error))?;
    let head = WireEvent::Head {
        post,
        status: response.status().as_u16(),
        headers: Box::new(response.headers().clone()),
    };
    let _ = sender.send(head).await;
    let streams = is_stream(response.headers());
    let mut reader = SseReader::default();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| innermost(&error))? {
        if streams {
            for event in reader.feed(&chunk) {
                if event.data.is_empty() {
                    continue;
                }
                let message = WireEvent::Message {
                    bytes: event.data.into_bytes(),
                    post: Some(post),
                };
                let _ = sender.send(message).await;
            }
        } else if body.len() < LONGEST_BODY {
            body.extend_from_slice(&chunk);
        }
    }
    let blank = body.iter().all(u8::is_ascii_whitespace);
    if !blank {
        let is_json = response
            .headers()
            .get("content-type")
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.contains("json"));
        let event = match is_json {
            true => WireEvent::Message {
                bytes: body,
                post: Some(post),
            },
            false => WireEvent::OtherBody { post, bytes: body },
        };
        let _ = sender.send(event).await;
    }
    Ok(())
}

pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get("content-type");
    kind.and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn innermost(error: &reqwest::Error) -> String {
    attache_net::innermost(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_whatever_the_slices() {
        let text = ": hello\r\nid: 1\r\ndata:\r\n\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\n";
        for size in [1, 7, text.len()] {
            let mut reader = SseReader::default();
            let events: Vec<SseEvent> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|chunk| reader.feed(chunk))
                .collect();
            assert_eq!(events.len(), 2, "{events:?}");
            assert_eq!(events[0].id.as_deref(), Some("1"));
            assert_eq!(events[1].data, "{\"a\":\n1}");
        }
    }
}
