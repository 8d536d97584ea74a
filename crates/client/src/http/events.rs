//! Streams of events: the answer to a request, and its resumption when the connection is cut.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use attache_net::innermost;
use attache_protocol::SseParser;
use http::{HeaderName, HeaderValue};
use reqwest::Response;
use tokio::time::Instant;

use super::content::Content;
use super::send::HttpRequest;
use super::session::Session;
use super::streamable::{Post, Shared, is_lost};
use crate::connection::{Failure, Link};
use crate::error::CloseReason;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long a stream may go on after its answer, so that its connection can be used again.
const DRAIN_PATIENCE: Duration = Duration::from_millis(200);
/// How many attempts in a row to resume a stream may fail.
const MOST_FAILED_RESUMES: u32 = 5;

/// How reading a stream ended.
#[derive(Debug)]
pub(super) enum StreamEnd {
    /// The server ended it, or what was awaited has come.
    Ended,
    /// The connection broke.
    Broken(String),
    /// The server sent too long an event.
    TooLong(usize),
}

/// What a request to listen came to.
pub(super) enum Opened {
    /// A stream.
    Stream(Box<Response>),
    /// The server knows the session no more.
    SessionLost,
    /// The server offers no such stream.
    Refused,
    /// There was no answer, or the server failed; another time may be better.
    Failed,
}

impl Shared {
    /// Reads the stream of a request to its answer, over as many connections as it takes.
    pub(super) async fn follow(
        self: &Arc<Self>,
        link: &Arc<Link>,
        post: &Post,
        mut stream: Response,
    ) -> Result<(), Failure> {
        let mut parser = SseParser::new(self.limits.frame);
        loop {
            let end = self.pump(link, Some(post), &mut stream, &mut parser).await;
            if !link.awaits(post.id) {
                return Ok(());
            }
            let lost = match end {
                StreamEnd::TooLong(limit) => {
                    let problem = format!("an event is longer than {limit} bytes");
                    return Err(Failure::Protocol(problem));
                }
                StreamEnd::Ended => CloseReason::EndOfStream,
                StreamEnd::Broken(cause) => CloseReason::ReadFailed(cause),
            };
            stream = self
                .resume(&parser)
                .await
                .ok_or(Failure::OutcomeUnknown(lost))?;
            parser = parser.continued();
        }
    }

    /// Takes up a stream that was cut, if it can be: legacy streams whose events have ids
    /// (C-SHL-10, C-SHL-21). Modern ones are lost with their connection (C-SHM-29).
    async fn resume(&self, parser: &SseParser) -> Option<Response> {
        let session = self.session().filter(|_| !self.is_modern())?;
        let last = parser.last_event_id()?;
        for failures in 0..MOST_FAILED_RESUMES {
            self.pause(parser.retry_ms(), failures).await;
            match self.open_stream(&session, Some(last)).await {
                Opened::Stream(stream) => return Some(*stream),
                Opened::SessionLost | Opened::Refused => return None,
                Opened::Failed => {}
            }
        }
        None
    }

    /// Waits until the server may be connected to again (P9, X-SHL-11).
    pub(super) async fn pause(&self, retry_ms: Option<u64>, failures: u32) {
        let asked = retry_ms.map(Duration::from_millis);
        let at = {
            let mut pace = self.wire.target().pace();
            pace.next(Instant::now(), asked, failures)
        };
        tokio::time::sleep_until(at).await;
    }

    /// Asks for a stream: the session's own, or the one that the event with the given id was on.
    pub(super) async fn open_stream(&self, session: &Session, last: Option<&str>) -> Opened {
        let mut headers = session.headers(self.revision.get().copied());
        if let Some(last) = last.and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT_ID, last);
        }
        let outgoing = HttpRequest::listen(headers);
        let departed = AtomicBool::new(false);
        let sent = self.wire.send(&self.wire.url, &outgoing, &departed);
        match sent.await {
            Ok(response) if is_lost(session, &response) => Opened::SessionLost,
            Ok(response) if response.status().is_server_error() => Opened::Failed,
            Ok(response)
                if response.status().is_success() && Content::of(&response) == Content::Events =>
            {
                Opened::Stream(Box::new(response))
            }
            Ok(_) | Err(Failure::Http(_)) => Opened::Refused,
            Err(_) => Opened::Failed,
        }
    }

    /// Hands over every message of a stream until it ends, or has brought what was awaited.
    pub(super) async fn pump(
        &self,
        link: &Arc<Link>,
        post: Option<&Post>,
        stream: &mut Response,
        parser: &mut SseParser,
    ) -> StreamEnd {
        loop {
            let awaited = post.is_none_or(|post| link.awaits(post.id));
            let chunk = if awaited {
                stream.chunk().await
            } else {
                match tokio::time::timeout(DRAIN_PATIENCE, stream.chunk()).await {
                    Ok(chunk) => chunk,
                    Err(_) => return StreamEnd::Ended,
                }
            };
            match chunk {
                Ok(Some(bytes)) => parser.push(bytes),
                Ok(None) => return StreamEnd::Ended,
                Err(error) => return StreamEnd::Broken(innermost(&error)),
            }
            loop {
                match parser.next_event() {
                    // An event without data only has an id (S-SHL-09).
                    Ok(Some(event)) if event.data.is_empty() || !event.is_message() => {}
                    Ok(Some(event)) => match post {
                        Some(post) => self.deliver(link, post, &event.data),
                        None => {
                            link.receive(&event.data);
                        }
                    },
                    Ok(None) => break,
                    Err(too_long) => return StreamEnd::TooLong(too_long.limit),
                }
            }
        }
    }
}
