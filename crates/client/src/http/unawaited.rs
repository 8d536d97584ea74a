//! Messages that nobody waits for: notifications, answers to the server's questions, the goodbye.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use attache_protocol::{Initialized, Line, Message, Notification as _, parse_line};
use bytes::Bytes;
use http::HeaderMap;

use super::mirrors::plain_headers;
use super::send::HttpRequest;
use super::session::Session;
use super::streamable::{MAX_UNAWAITED, Shared};
use crate::connection::Failure;

impl Shared {
    /// Takes a message on its way; more than a bounded number at once are refused.
    pub(super) fn aside(self: &Arc<Self>, line: &[u8]) {
        if *self.closed.borrow() {
            return;
        }
        let Ok(permit) = self.unawaited.clone().try_acquire_owned() else {
            if let Some(link) = self.link() {
                link.violation(format!(
                    "more than {MAX_UNAWAITED} answers and notifications wait to be delivered; one \
                     was dropped"
                ));
            }
            return;
        };
        let body = Bytes::copy_from_slice(line.trim_ascii_end());
        let session = self.session();
        let begins = session
            .as_ref()
            .filter(|_| method_of(&body).as_deref() == Some(Initialized::NAME))
            .map(Beginning::hold);
        let shared = self.clone();
        self.spawn(async move {
            let delivered = shared.deliver_unawaited(&body, session.as_deref());
            let delivered = tokio::time::timeout(shared.timeouts.request, delivered);
            let mut closed = shared.closed.subscribe();
            tokio::select! {
                _ = delivered => {
                    if let Some(begins) = begins {
                        shared.listen(begins.session.clone());
                    }
                }
                // Whoever wanted it delivered has waited for it before closing.
                _ = closed.wait_for(|closed| *closed) => {}
            }
            drop(permit);
        });
    }

    async fn deliver_unawaited(&self, body: &Bytes, session: Option<&Session>) {
        let headers = match (self.revision.get(), session) {
            (Some(revision), _) if self.is_modern() => {
                let method = method_of(body).unwrap_or_default();
                plain_headers(revision.as_str(), &method)
            }
            (revision, Some(session)) => session.headers(revision.copied()),
            (_, None) => HeaderMap::new(),
        };
        let outgoing = HttpRequest::post(headers, body.clone());
        let departed = AtomicBool::new(false);
        let sent = self.wire.send(&self.wire.url, &outgoing, &departed).await;
        let problem = match sent {
            Ok(response) if response.status().is_success() => return,
            // The next request finds out as well, and begins a new session.
            Ok(response) if response.status().as_u16() == 404 => return,
            Ok(response) => format!("HTTP status {}", response.status().as_u16()),
            Err(Failure::Http(error)) => error.to_string(),
            Err(_) => return,
        };
        if let Some(link) = self.link() {
            link.violation(format!(
                "the server refused a notification or answer: {problem}"
            ));
        }
    }

    /// Ends everything: no stream is kept up, and the session is given back (C-SHL-28).
    pub(super) fn close(self: &Arc<Self>) {
        if self.closed.send_replace(true) {
            return;
        }
        if let Some(listening) = self.listening.lock().take() {
            listening.abort();
        }
        let Some(session) = self.session().filter(|session| session.has_id()) else {
            return;
        };
        let Ok(permit) = self.unawaited.clone().try_acquire_owned() else {
            return;
        };
        let shared = self.clone();
        self.spawn(async move {
            let outgoing = HttpRequest::delete(session.headers(shared.revision.get().copied()));
            let departed = AtomicBool::new(false);
            let goodbye = shared.wire.send(&shared.wire.url, &outgoing, &departed);
            // Any answer will do; 405 is one of them.
            let _ = tokio::time::timeout(shared.timeouts.close_grace, goodbye).await;
            drop(permit);
        });
    }
}

/// The server is being told that a session has begun; its requests wait until it knows.
struct Beginning {
    session: Arc<Session>,
}

impl Beginning {
    fn hold(session: &Arc<Session>) -> Self {
        session.hold_requests();
        Self {
            session: session.clone(),
        }
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        self.session.let_requests_go();
    }
}

pub(super) fn method_of(body: &[u8]) -> Option<String> {
    match parse_line(body) {
        Line::Message(Message::Notification { method, .. }) => Some(method.into_owned()),
        _ => None,
    }
}
