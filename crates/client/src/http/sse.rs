//! HTTP+SSE, the transport of 2024-11-05: one stream for everything the server says, and an address
//! it names there for everything it is told. The last resort (section 8 of the ledger).

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};

use attache_net::innermost;
use attache_protocol::{
    EventTooLong, Initialized, Notification as _, SseEvent, SseParser, frame, shortened,
};
use bytes::Bytes;
use http::HeaderMap;
use reqwest::Response;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use url::Url;

use super::content::{Content, Refusal, refusal, stated_type};
use super::error::HttpError;
use super::send::{HttpRequest, Wire};
use super::unawaited::method_of;
use crate::connection::{
    BoxFuture, Failure, Link, Outlet, PostFuture, PostState, Sent, Unsent, WriteMode,
};
use crate::error::{CloseReason, ConnectError};
use crate::frames::ConnectionFrames;
use crate::settings::Settings;

/// How many messages are on their way to the server at once.
const MOST_POSTS: u32 = 64;

/// The event that names the address for messages (S-SSE-02).
const ENDPOINT: &str = "endpoint";

/// A server of this kind that has named its address.
pub(crate) struct SseTransport {
    pub(crate) transport: SseSender,
    pub(crate) stream: SseReader,
}

/// What the server says.
pub(crate) struct SseReader {
    response: Response,
    parser: SseParser,
}

/// The way to the server.
#[derive(Clone)]
pub(crate) struct SseSender(Arc<Shared>);

struct Shared {
    wire: Wire,
    endpoint: Url,
    runtime: Handle,
    link: OnceLock<Weak<Link>>,
    posts: Arc<Semaphore>,
    /// Requests wait while the server is told that the handshake is over: each message is a POST of
    /// its own, and version 1 of the Python SDK refuses a request that overtakes that notice.
    begun: watch::Sender<bool>,
}

/// What there is in place of a server of this kind.
#[derive(Debug)]
pub(crate) enum SseUnavailable {
    /// No answer says what is there.
    Failed(Failure),
    /// An answer that is no stream.
    Answered {
        status: u16,
        /// The type of its content, if it gave one.
        found: Option<String>,
    },
    /// A stream that leads nowhere, in words.
    Unusable(String),
}

impl SseUnavailable {
    /// Words for a list of what was tried.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Failed(Failure::Http(error)) => format!("GET: {error}"),
            Self::Failed(Failure::NotSent(reason) | Failure::OutcomeUnknown(reason)) => {
                format!("GET: {reason}")
            }
            Self::Failed(_) => "GET: no answer".to_owned(),
            Self::Answered { status, found } => {
                let found = found.as_deref().unwrap_or("no content type");
                format!("GET: status {status}, {found}")
            }
            Self::Unusable(problem) => format!("GET: {problem}"),
        }
    }
}

/// For connecting by this transport and no other.
impl From<SseUnavailable> for ConnectError {
    fn from(not_older: SseUnavailable) -> Self {
        match not_older {
            SseUnavailable::Failed(Failure::Http(error)) => Self::Http(error),
            SseUnavailable::Failed(Failure::NotSent(reason) | Failure::OutcomeUnknown(reason)) => {
                Self::Lost(reason)
            }
            // A server that fails has not said what it is.
            SseUnavailable::Answered {
                status: status @ 500..,
                ..
            } => Self::Http(HttpError::Status {
                status,
                text: String::new(),
            }),
            other => Self::NoServer {
                answers: vec![other.told()],
            },
        }
    }
}

impl SseTransport {
    /// Opens the stream and waits for the address.
    pub(crate) async fn open(wire: Wire, settings: &Settings) -> Result<Self, SseUnavailable> {
        let departed = AtomicBool::new(false);
        let outgoing = HttpRequest::listen(HeaderMap::new());
        let sent = wire.send(&wire.url, &outgoing, &departed).await;
        let response = sent.map_err(SseUnavailable::Failed)?;
        if !response.status().is_success() || Content::of(&response) != Content::Events {
            return Err(SseUnavailable::Answered {
                status: response.status().as_u16(),
                found: stated_type(&response),
            });
        }
        let mut stream = SseReader {
            response,
            parser: SseParser::new(settings.limits.frame),
        };
        let endpoint = match stream.next().await {
            Ok(Some(event)) if event.kind.as_deref() == Some(ENDPOINT) => {
                resolve(&wire.url, &event.data).map_err(SseUnavailable::Unusable)?
            }
            _ => {
                let problem = "an event stream that names no address";
                return Err(SseUnavailable::Unusable(problem.to_owned()));
            }
        };
        let transport = SseSender(Arc::new(Shared {
            wire,
            endpoint,
            runtime: Handle::current(),
            link: OnceLock::new(),
            posts: Arc::new(Semaphore::new(MOST_POSTS as usize)),
            begun: watch::Sender::new(true),
        }));
        Ok(Self { transport, stream })
    }
}

/// The address for messages. It must not lead elsewhere: the headers may hold secrets (C-SSE-05).
fn resolve(stream: &Url, named: &[u8]) -> Result<Url, String> {
    let named = String::from_utf8_lossy(named);
    let endpoint = stream
        .join(named.trim())
        .map_err(|error| format!("the address {} is none: {error}", shortened(&named)))?;
    if endpoint.origin() == stream.origin() {
        Ok(endpoint)
    } else {
        Err(format!(
            "the server names {} for messages, which is another origin",
            shortened(&named)
        ))
    }
}

/// Why a stream ended.
enum StreamError {
    TooLong(EventTooLong),
    Broken(String),
}

impl SseReader {
    async fn next(&mut self) -> Result<Option<SseEvent>, StreamError> {
        loop {
            let event = self.parser.next_event().map_err(StreamError::TooLong)?;
            if event.is_some() {
                return Ok(event);
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.parser.push(bytes),
                Ok(None) => return Ok(None),
                Err(error) => return Err(StreamError::Broken(innermost(&error))),
            }
        }
    }

    /// Hands over everything the server says. The end of the stream is the end of the connection: a
    /// new one would have a new address and need a new handshake (C-SSE-05).
    pub(crate) async fn run(mut self, link: Arc<Link>) {
        let reason = loop {
            match self.next().await {
                Ok(Some(event)) if event.is_message() => {
                    link.receive(&event.data);
                }
                Ok(Some(_)) => {}
                Ok(None) => break CloseReason::EndOfStream,
                Err(StreamError::TooLong(EventTooLong { limit })) => {
                    break CloseReason::FrameTooLong { limit };
                }
                Err(StreamError::Broken(cause)) => break CloseReason::ReadFailed(cause),
            }
        };
        link.close(reason);
    }
}

impl SseSender {
    /// The frames of the connection.
    pub(crate) fn frames(&self) -> &ConnectionFrames {
        self.0.wire.frames()
    }

    /// Names the connection that messages are carried for.
    pub(crate) fn attach(&self, link: &Arc<Link>) {
        // A transport serves one connection.
        let _ = self.0.link.set(Arc::downgrade(link));
    }
}

impl Shared {
    /// Delivers a message. Success only means that it was taken: answers come on the stream.
    async fn post(&self, line: Vec<u8>, departed: &AtomicBool) -> Result<(), Failure> {
        let body = Bytes::from(line);
        let outgoing = HttpRequest::post(HeaderMap::new(), body);
        let response = self.wire.send(&self.endpoint, &outgoing, departed).await?;
        if response.status().is_success() {
            return Ok(());
        }
        match refusal(response).await {
            Refusal::Message(message) => {
                if let Some(link) = self.link.get().and_then(Weak::upgrade) {
                    link.receive(&message);
                }
                Err(Failure::Protocol("it was refused".to_owned()))
            }
            Refusal::Plain(error) => Err(Failure::Http(error)),
        }
    }
}

impl Outlet for SseSender {
    fn send_request(&self, request: &frame::Request<'_>, _: WriteMode) -> Result<Sent, Unsent> {
        let state = Arc::new(PostState::default());
        let (id, line) = (request.id, request.to_line()?);
        let (shared, posted) = (self.0.clone(), state.clone());
        let work = async move {
            // Neither the sender, which lives in `shared`, nor the semaphore is ever closed.
            let _ = shared.begun.subscribe().wait_for(|begun| *begun).await;
            let _permit = shared.posts.acquire().await;
            if let Err(failure) = shared.post(line, &posted.departed).await
                && let Some(link) = shared.link.get().and_then(Weak::upgrade)
            {
                link.fail(id, failure);
            }
        };
        let post = PostFuture::new(state, self.0.runtime.clone(), work);
        Ok(Sent::post(post))
    }

    fn send_unawaited(&self, line: &[u8]) {
        let Ok(permit) = self.0.posts.clone().try_acquire_owned() else {
            if let Some(link) = self.0.link.get().and_then(Weak::upgrade) {
                link.violation(format!(
                    "more than {MOST_POSTS} messages wait to be delivered; one was dropped"
                ));
            }
            return;
        };
        let (shared, line) = (self.0.clone(), line.to_vec());
        let ends_handshake = method_of(&line).as_deref() == Some(Initialized::NAME);
        if ends_handshake {
            shared.begun.send_replace(false);
        }
        self.0.runtime.spawn(async move {
            // No caller waits for it, so there is none to be told.
            let _ = shared.post(line, &AtomicBool::new(false)).await;
            if ends_handshake {
                shared.begun.send_replace(true);
            }
            drop(permit);
        });
    }

    fn has_room(&self) -> bool {
        self.0.posts.available_permits() > 0
    }

    fn room(&self) -> BoxFuture<'_> {
        Box::pin(async { drop(self.0.posts.acquire().await) })
    }

    fn flushed(&self) -> BoxFuture<'_> {
        Box::pin(async { drop(self.0.posts.acquire_many(MOST_POSTS).await) })
    }

    fn is_http(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_messages_stays_within_its_origin() {
        let stream = Url::parse("http://127.0.0.1:8000/sse").unwrap();
        for (named, expected) in [
            (
                "/messages?id=1",
                Some("http://127.0.0.1:8000/messages?id=1"),
            ),
            ("messages", Some("http://127.0.0.1:8000/messages")),
            ("http://127.0.0.1:8000/m", Some("http://127.0.0.1:8000/m")),
            ("http://127.0.0.1:9000/m", None),
            ("https://127.0.0.1:8000/m", None),
            ("//example.org/m", None),
        ] {
            let found = resolve(&stream, named.as_bytes()).ok();
            let found = found.as_ref().map(Url::as_str);
            assert_eq!(found, expected, "{named} (C-SSE-05)");
        }
    }
}
