//! The older HTTP+SSE transport: a stream that the server's messages come on, and the address that
//! it names for ours.
//!
//! Knows the events of that stream; requests and their responses are `http`'s.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use url::Url;

use crate::http::{HttpWire, SseEvent, SseReader, is_stream};
use crate::peer::{Trouble, WireEvent};
use crate::target::HttpTarget;
use crate::trace::Exchange;

/// One connection over HTTP+SSE.
pub(crate) struct SseWire {
    posting: HttpWire,
    stream: JoinHandle<()>,
    names: Arc<Mutex<BTreeSet<String>>>,
}

/// What the beginning of a stream says.
pub(crate) struct Begun {
    response: reqwest::Response,
    reader: SseReader,
    /// Every event that came with the first one.
    pub(crate) events: Vec<SseEvent>,
}

impl Begun {
    /// Opens the stream and waits for its first event.
    pub(crate) async fn at(target: &HttpTarget, patience: Duration) -> Result<Self, Trouble> {
        let deadline = Instant::now() + patience;
        let (wire, _) = HttpWire::open(target)?;
        let get = Exchange {
            verb: "GET",
            headers: vec![("Accept".to_owned(), "text/event-stream".to_owned())],
            body: None,
        };
        let request = wire.request(&get).map_err(Trouble::NotStarted)?;
        let silent = |_| Trouble::Silent(format!("no event in {:.1} s", patience.as_secs_f64()));
        let ended = |error: reqwest::Error| Trouble::Ended(attache_net::innermost(&error));
        let sent = tokio::time::timeout_at(deadline, request.send()).await;
        let mut response = sent.map_err(silent)?.map_err(ended)?;
        let status = response.status().as_u16();
        if status != 200 || !is_stream(response.headers()) {
            let text = format!("GET was answered with HTTP {status} and no stream of events");
            return Err(match status {
                401 => Trouble::LoginNeeded(text),
                _ => Trouble::Refused(text),
            });
        }
        let mut reader = SseReader::default();
        loop {
            let chunk = tokio::time::timeout_at(deadline, response.chunk()).await;
            let Some(chunk) = chunk.map_err(silent)?.map_err(ended)? else {
                let text = "the stream ended before its first event";
                return Err(Trouble::Ended(text.to_owned()));
            };
            let events = reader.feed(&chunk);
            if !events.is_empty() {
                return Ok(Self {
                    response,
                    reader,
                    events,
                });
            }
        }
    }

    /// The address that the first event names, or what is wrong with it.
    pub(crate) fn endpoint(&self, target: &HttpTarget) -> Result<Url, String> {
        let first = &self.events[0];
        if first.name.as_deref() != Some("endpoint") {
            let name = first.name.as_deref().unwrap_or("message");
            return Err(format!("the first event is {name:?}, not \"endpoint\""));
        }
        let own = Url::parse(&target.url).map_err(|error| format!("{}: {error}", target.url))?;
        let named = own
            .join(first.data.trim())
            .map_err(|error| format!("the endpoint {:?} is no address: {error}", first.data))?;
        // Messages, and the user's headers with them, go to no other server (C-SSE-05).
        match named.origin() == own.origin() {
            true => Ok(named),
            false => Err(format!("the endpoint {named} is at another origin")),
        }
    }
}

impl SseWire {
    pub(crate) async fn open(
        target: &HttpTarget,
        patience: Duration,
    ) -> Result<(Self, mpsc::Receiver<WireEvent>), Trouble> {
        let begun = Begun::at(target, patience).await?;
        let endpoint = begun.endpoint(target).map_err(Trouble::Refused)?;
        let posted_to = HttpTarget {
            url: endpoint.into(),
            ..target.clone()
        };
        let (posting, receiver) = HttpWire::open(&posted_to)?;
        let names = Arc::default();
        let stream = tokio::spawn(follow(begun, posting.sender(), Arc::clone(&names)));
        let wire = Self {
            posting,
            stream,
            names,
        };
        Ok((wire, receiver))
    }

    /// The way to the address that the server named.
    pub(crate) fn posting(&self) -> HttpWire {
        self.posting.clone()
    }

    /// The names of the events that messages came as; an event without one has none.
    pub(crate) fn event_names(&self) -> BTreeSet<String> {
        self.names.lock().clone()
    }
}

impl Drop for SseWire {
    fn drop(&mut self) {
        self.stream.abort();
    }
}

/// Hands on what comes, until the server or the connection ends it.
async fn follow(
    begun: Begun,
    sender: mpsc::Sender<WireEvent>,
    names: Arc<Mutex<BTreeSet<String>>>,
) {
    let Begun {
        mut response,
        mut reader,
        mut events,
    } = begun;
    events.remove(0);
    loop {
        for event in events.drain(..).filter(|event| !event.data.is_empty()) {
            names.lock().insert(event.name.unwrap_or_default());
            let message = WireEvent::Message {
                bytes: event.data.into_bytes(),
                post: None,
            };
            if sender.send(message).await.is_err() {
                return;
            }
        }
        match response.chunk().await {
            Ok(Some(chunk)) => events = reader.feed(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    let _ = sender.send(WireEvent::Closed).await;
}
