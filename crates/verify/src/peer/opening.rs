//! How a connection begins: `initialize` in the legacy era, `server/discover` in the modern one.

use std::collections::HashMap;

use attache_protocol::{Era, Revision};
use serde_json::{Value, json};

use super::wire::Wire;
use super::{Answer, Peer, Trouble};
use crate::bench::Bench;
use crate::facts::Facts;
use crate::http::HttpWire;
use crate::sse::SseWire;
use crate::stdio::StdioWire;
use crate::target::Target;
use crate::watch::Books;

/// How far a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Ready for requests.
    Whole,
    /// `initialize` is answered, and the server was not told that this was heard.
    Unconfirmed,
    /// Nothing has been sent.
    Bare,
}

impl Peer {
    pub(crate) async fn open(bench: &Bench, opening: Opening) -> Result<Self, Trouble> {
        Self::open_as(bench, bench.revision, opening).await
    }

    pub(crate) async fn open_as(
        bench: &Bench,
        revision: Revision,
        opening: Opening,
    ) -> Result<Self, Trouble> {
        let (wire, events) = match &bench.target {
            Target::Stdio(stdio) => {
                let (wire, events) = StdioWire::open(stdio).await?;
                (Wire::Stdio(Some(wire)), events)
            }
            Target::Http(http) => {
                let (wire, events) = HttpWire::open(http)?;
                (Wire::Http(wire), events)
            }
            Target::Sse(http) => {
                let (wire, events) = SseWire::open(http, bench.start_patience()).await?;
                (Wire::Sse(wire), events)
            }
        };
        let connection = bench.next_connection();
        let mut peer = Self {
            wire,
            events,
            bench: bench.clone(),
            trace: bench.trace.clone(),
            revision,
            books: Books::new(revision),
            seen: Vec::new(),
            posts: HashMap::new(),
            connection,
            opening: Vec::new(),
            is_opening: true,
            next_id: 1,
            opened: Value::Null,
            session: None,
            negotiated: None,
            facts: Facts::default(),
        };
        let opened = match (revision.era(), opening) {
            (_, Opening::Bare) => Ok(()),
            (Era::Modern, _) => peer.discover().await,
            (Era::Legacy, _) => peer.initialize().await,
        };
        opened.map_err(|trouble| match trouble {
            Trouble::Silent(text) => Trouble::SlowStart(text),
            other => other,
        })?;
        if revision.era() == Era::Legacy && opening == Opening::Whole {
            peer.confirm().await?;
        }
        peer.is_opening = false;
        peer.opening = peer.trace.opening(connection);
        Ok(peer)
    }

    async fn discover(&mut self) -> Result<(), Trouble> {
        let patience = self.bench.start_patience();
        let id = self.request("server/discover", json!({})).await?;
        let answer = self.answer_within(&id, patience).await?;
        match answer.result() {
            Some(result) if result["supportedVersions"].is_array() => {
                self.accept_opening(result.clone());
                Ok(())
            }
            _ => Err(refused(&answer)),
        }
    }

    /// The params of `initialize` for a version.
    pub(crate) fn initialize_params(version: &str) -> Value {
        json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "attache-verify", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    async fn initialize(&mut self) -> Result<(), Trouble> {
        let version = self.revision.to_string();
        let patience = self.bench.start_patience();
        let params = Self::initialize_params(&version);
        let id = self.request("initialize", params).await?;
        let answer = self.answer_within(&id, patience).await?;
        let Some(result) = answer.result() else {
            return Err(refused(&answer));
        };
        if let Some(given) = result["protocolVersion"].as_str() {
            self.negotiated = Some(given.to_owned());
            if let Ok(revision) = given.parse::<Revision>() {
                self.revision = revision;
                self.books.revision = revision;
            }
        }
        self.accept_opening(result.clone());
        Ok(())
    }

    /// Tells the server that its answer to `initialize` was heard.
    pub(crate) async fn confirm(&mut self) -> Result<(), Trouble> {
        self.books.is_confirmed = true;
        self.notify("notifications/initialized", Value::Null).await
    }

    fn accept_opening(&mut self, result: Value) {
        self.books.capabilities = result["capabilities"].clone();
        self.opened = result;
    }
}

/// Why an opening request has no result.
fn refused(answer: &Answer) -> Trouble {
    match answer.status {
        Some(401) => Trouble::LoginNeeded(answer.summary()),
        _ => Trouble::Refused(answer.summary()),
    }
}
