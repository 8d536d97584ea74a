//! HTTP+SSE, the transport of 2024-11-05: one stream for everything the server says, and an address
//! it names there for everything it is told. The last resort (section 8 of the ledger).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};

use attache_protocol::{EventTooLong, Revision, SseEvent, SseParser, shortened};
use bytes::Bytes;
use http::HeaderMap;
use reqwest::Response;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use url::Url;

use super::content::{Content, Refusal, refusal, stated_type};
use super::send::{Outgoing, Wire};
use super::target::HttpTarget;
use super::unreachable::innermost;
use crate::connection::{Carriage, Carrier, Failure, Link, Parcel};
use crate::error::CloseReason;
use crate::settings::Settings;

/// How many messages are on their way to the server at once.
const MOST_POSTS: u32 = 64;

/// The event that names the address for messages (S-SSE-02).
const ENDPOINT: &str = "endpoint";

/// A server of this kind that has named its address.
pub(crate) struct Older {
    pub(crate) carrier: OlderCarrier,
    pub(crate) stream: OlderStream,
}

/// What the server says.
pub(crate) struct OlderStream {
    response: Response,
    parser: SseParser,
}

/// The way to the server.
#[derive(Clone)]
pub(crate) struct OlderCarrier(Arc<Shared>);

struct Shared {
    wire: Wire,
    endpoint: Url,
    runtime: Handle,
    link: OnceLock<Weak<Link>>,
    posts: Arc<Semaphore>,
}

impl Older {
    /// Opens the stream and waits for the address. The error says in words what came instead.
    pub(crate) async fn open(target: &HttpTarget, settings: &Settings) -> Result<Self, String> {
        let wire = Wire::new(target)?;
        let departed = AtomicBool::new(false);
        let outgoing = Outgoing::listen(HeaderMap::new());
        let sent = wire.send(&wire.url, &outgoing, &departed).await;
        let response = sent.map_err(|failure| match failure {
            Failure::Http(error) => format!("GET: {error}"),
            Failure::NotSent(reason) | Failure::OutcomeUnknown(reason) => format!("GET: {reason}"),
            _ => "GET: no answer".to_owned(),
        })?;
        if !response.status().is_success() || Content::of(&response) != Content::Events {
            return Err(format!(
                "GET: status {}, {}",
                response.status().as_u16(),
                stated_type(&response)
                    .as_deref()
                    .unwrap_or("no content type")
            ));
        }
        let mut stream = OlderStream {
            response,
            parser: SseParser::new(settings.limits.frame),
        };
        let endpoint = match stream.next().await {
            Ok(Some(event)) if event.kind.as_deref() == Some(ENDPOINT) => {
                resolve(&wire.url, &event.data)?
            }
            _ => return Err("GET: an event stream that names no address".to_owned()),
        };
        let carrier = OlderCarrier(Arc::new(Shared {
            wire,
            endpoint,
            runtime: Handle::current(),
            link: OnceLock::new(),
            posts: Arc::new(Semaphore::new(MOST_POSTS as usize)),
        }));
        Ok(Self { carrier, stream })
    }
}

/// The address for messages. It must not lead elsewhere: the headers may hold secrets (C-SSE-05).
fn resolve(stream: &Url, named: &[u8]) -> Result<Url, String> {
    let named = String::from_utf8_lossy(named);
    let endpoint = stream
        .join(named.trim())
        .map_err(|error| format!("GET: the address {} is none: {error}", shortened(&named)))?;
    if endpoint.origin() == stream.origin() {
        Ok(endpoint)
    } else {
        Err(format!(
            "GET: the server names {} for messages, which is another origin",
            shortened(&named)
        ))
    }
}

/// Why a stream ended.
enum StreamError {
    TooLong(EventTooLong),
    Broken(String),
}

impl OlderStream {
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

impl OlderCarrier {
    /// Names the connection that messages are carried for.
    pub(crate) fn attach(&self, link: &Arc<Link>) {
        // A carrier serves one connection.
        let _ = self.0.link.set(Arc::downgrade(link));
    }
}

impl Shared {
    /// Delivers a message. Success only means that it was taken: answers come on the stream.
    async fn post(&self, line: Vec<u8>, departed: &AtomicBool) -> Result<(), Failure> {
        let body = Bytes::from(line);
        let outgoing = Outgoing::post(HeaderMap::new(), body);
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

impl Carrier for OlderCarrier {
    fn carry(&self, parcel: Parcel<'_>) -> Carriage {
        let departed = Arc::new(AtomicBool::new(false));
        let (id, line) = (parcel.id, parcel.line);
        let task = self.0.runtime.spawn({
            let (shared, departed) = (self.0.clone(), departed.clone());
            async move {
                // The semaphore is never closed.
                let _permit = shared.posts.acquire().await;
                if let Err(failure) = shared.post(line, &departed).await
                    && let Some(link) = shared.link.get().and_then(Weak::upgrade)
                {
                    link.fail(id, failure);
                }
            }
        });
        Carriage::new(departed, task.abort_handle())
    }

    fn carry_aside(&self, line: &[u8]) {
        let Ok(permit) = self.0.posts.clone().try_acquire_owned() else {
            if let Some(link) = self.0.link.get().and_then(Weak::upgrade) {
                link.violation(format!(
                    "more than {MOST_POSTS} messages wait to be delivered; one was dropped"
                ));
            }
            return;
        };
        let (shared, line) = (self.0.clone(), line.to_vec());
        self.0.runtime.spawn(async move {
            // Nobody waits for it, so nobody is told.
            let _ = shared.post(line, &AtomicBool::new(false)).await;
            drop(permit);
        });
    }

    fn settled(&self, _revision: Revision) {}

    fn has_room(&self) -> bool {
        self.0.posts.available_permits() > 0
    }

    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async { drop(self.0.posts.acquire().await) })
    }

    fn delivered(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async { drop(self.0.posts.acquire_many(MOST_POSTS).await) })
    }

    fn close(&self) {}
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
