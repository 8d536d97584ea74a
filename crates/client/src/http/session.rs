//! The session of a legacy server: its id, what it was told, and what follows it when it is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_protocol::frame::Params;
use attache_protocol::{Method as _, Revision, SetLevel, Subscribe, Unsubscribe};
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, watch};

/// The header that names a session.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names a revision.
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// One session, from an answer to `initialize` on.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its id, if the server gave one. Kept secret (C-SHL-24).
    id: Option<HeaderValue>,
    /// Requests wait while the server is told that the session has begun: some refuse what they
    /// get before.
    begun: watch::Sender<bool>,
    /// A request was answered in it.
    proven: AtomicBool,
    /// The session that came after this one, agreed on once however many requests found it lost
    /// (fault 56).
    pub(crate) successor: OnceCell<Arc<Session>>,
}

impl Session {
    /// The session that the head of an answer to `initialize` opens.
    pub(crate) fn opened(headers: &HeaderMap) -> Arc<Self> {
        let id = headers.get(SESSION_ID).cloned().map(|mut id| {
            id.set_sensitive(true);
            id
        });
        Arc::new(Self {
            id,
            begun: watch::Sender::new(true),
            proven: AtomicBool::new(false),
            successor: OnceCell::new(),
        })
    }

    /// The headers of every request of this session (C-SHL-24, C-SHL-29).
    pub(crate) fn headers(&self, revision: Option<Revision>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(id) = &self.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(revision) = revision.filter(|revision| revision.features().version_header) {
            headers.insert(
                PROTOCOL_VERSION,
                HeaderValue::from_static(revision.as_str()),
            );
        }
        headers
    }

    /// Whether the server can forget it: one without an id is not kept.
    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// A request was answered.
    pub(crate) fn prove(&self) {
        self.proven.store(true, Ordering::Relaxed);
    }

    /// Whether a request was ever answered in it. One that was lost before is not worth another
    /// try: the next would be lost as well (fault 56).
    pub(crate) fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Relaxed)
    }

    /// Makes requests wait.
    pub(crate) fn hold_requests(&self) {
        self.begun.send_replace(false);
    }

    /// Lets requests go.
    pub(crate) fn let_requests_go(&self) {
        self.begun.send_replace(true);
    }

    /// Waits until requests may go.
    pub(crate) async fn begun(&self) {
        if *self.begun.borrow() {
            return;
        }
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.begun.subscribe().wait_for(|begun| *begun).await;
    }
}

/// What the server of a session was told, to be told again after the session was lost.
#[derive(Debug, Default)]
pub(crate) struct ReplayLog(Mutex<BTreeMap<String, (&'static str, Params)>>);

impl ReplayLog {
    /// Whether requests of this method hold until they are taken back.
    pub(crate) fn is_kept(method: &str) -> bool {
        matches!(method, SetLevel::NAME | Subscribe::NAME | Unsubscribe::NAME)
    }

    /// Notes a request that the server has agreed to.
    pub(crate) fn note(&self, method: &str, params: &Params) {
        let mut told = self.0.lock();
        match method {
            SetLevel::NAME => {
                told.insert(SetLevel::NAME.to_owned(), (SetLevel::NAME, params.clone()));
            }
            Subscribe::NAME => {
                told.insert(
                    params.as_str().to_owned(),
                    (Subscribe::NAME, params.clone()),
                );
            }
            Unsubscribe::NAME => {
                told.remove(params.as_str());
            }
            _ => {}
        }
    }

    /// Everything to be said again.
    pub(crate) fn all(&self) -> Vec<(&'static str, Params)> {
        let told = self.0.lock();
        told.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(value: serde_json::Value) -> Params {
        Params::write(&value).unwrap()
    }

    #[test]
    fn only_what_still_holds_is_said_again() {
        let told = ReplayLog::default();
        let uri = |uri: &str| params(json!({ "uri": uri }));
        told.note("resources/subscribe", &uri("a"));
        told.note("resources/subscribe", &uri("b"));
        told.note("resources/unsubscribe", &uri("a"));
        told.note("logging/setLevel", &params(json!({"level": "info"})));
        told.note("logging/setLevel", &params(json!({"level": "error"})));
        told.note("tools/call", &params(json!({"name": "pay"})));
        let level = params(json!({"level": "error"}));
        assert_eq!(
            told.all(),
            [
                ("logging/setLevel", level),
                ("resources/subscribe", uri("b"))
            ]
        );
    }

    #[test]
    fn the_version_header_comes_with_2025_06_18() {
        let mut answered = HeaderMap::new();
        answered.insert(SESSION_ID, HeaderValue::from_static("s"));
        let session = Session::opened(&answered);
        for (revision, expected) in [
            (None, None),
            (Some(Revision::V2025_03_26), None),
            (Some(Revision::V2025_06_18), Some("2025-06-18")),
        ] {
            let headers = session.headers(revision);
            let found = headers.get(PROTOCOL_VERSION).map(|it| it.to_str().unwrap());
            assert_eq!(found, expected, "C-SHL-29");
            assert_eq!(headers.get(SESSION_ID).unwrap(), "s");
        }
    }
}
