//! What is remembered of a connection or of a legacy session.
//!
//! Owns the start-up state, the requests that run, and the questions the client has not answered
//! yet. One lock, held for a moment and never across an await.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use attache_protocol::{
    ClientCapabilities, ErrorObject, Implementation, Json, LogLevel, Outcome, RequestId, Revision,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};

use crate::context::Call;
use crate::service::{Outlet, Principal};

/// A connection, or a legacy session over HTTP.
pub struct Session {
    pub(crate) principal: Principal,
    /// Where messages go that belong to no request.
    pub(crate) outlet: Arc<dyn Outlet>,
    next_question: AtomicU64,
    state: Mutex<State>,
    closing: Notify,
}

#[derive(Default)]
struct State {
    opened: Option<Arc<Opened>>,
    /// The client has said that it is ready.
    initialized: bool,
    log_level: Option<LogLevel>,
    watched: HashSet<String>,
    running: HashMap<RequestId, Arc<Call>>,
    /// Requests that run while another one has their id.
    namesakes: Vec<Arc<Call>>,
    questions: HashMap<u64, oneshot::Sender<Reply>>,
    closed: bool,
}

/// What the handshake of a legacy session settled.
pub(crate) struct Opened {
    pub(crate) revision: Revision,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) client: Option<Arc<Implementation>>,
}

/// What a client answers to a question.
pub(crate) type Reply = Result<Json, ErrorObject>;

/// How far the start-up of a legacy session has come.
pub(crate) enum Stage {
    /// No `initialize` yet.
    New,
    /// `initialize` is answered.
    Opened(Arc<Opened>),
    /// The client is ready.
    Ready(Arc<Opened>),
}

/// The id is already that of a running request.
pub(crate) struct IdInUse;

impl Session {
    pub(crate) fn new(principal: Principal, outlet: Arc<dyn Outlet>) -> Self {
        Self {
            principal,
            outlet,
            next_question: AtomicU64::new(1),
            state: Mutex::default(),
            closing: Notify::new(),
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        let state = self.lock();
        match &state.opened {
            None => Stage::New,
            Some(opened) if state.initialized => Stage::Ready(Arc::clone(opened)),
            Some(opened) => Stage::Opened(Arc::clone(opened)),
        }
    }

    pub(crate) fn opened(&self) -> Option<Arc<Opened>> {
        self.lock().opened.clone()
    }

    /// Opens the session, anew if it was open: nothing of what the client before this one settled
    /// holds any more. Requests that run, and the questions they have asked, still belong to a peer
    /// that waits for an answer, so they stay.
    pub(crate) fn begin(&self, opened: Opened) {
        let mut state = self.lock();
        state.opened = Some(Arc::new(opened));
        state.initialized = false;
        state.log_level = None;
        state.watched.clear();
    }

    pub(crate) fn note_initialized(&self) {
        self.lock().initialized = true;
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        self.lock().log_level.unwrap_or(LogLevel::Info)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.lock().log_level = Some(level);
    }

    /// Watches a resource; `false` if the session watches too many already.
    pub(crate) fn watch(&self, uri: String, limit: usize) -> bool {
        let mut state = self.lock();
        if state.watched.len() >= limit && !state.watched.contains(&uri) {
            return false;
        }
        state.watched.insert(uri);
        true
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        self.lock().watched.remove(uri);
    }

    pub(crate) fn watches(&self, uri: &str) -> bool {
        self.lock().watched.contains(uri)
    }

    /// Makes a request cancellable. On a way that many share, an id names one running request;
    /// where each answer has a way of its own, some clients use one id for all (fault 72).
    pub(crate) fn enrol(&self, call: &Arc<Call>) -> Result<(), IdInUse> {
        let mut state = self.lock();
        let is_taken = state.running.contains_key(&call.id);
        if is_taken && !call.outlet.serves_one_request() {
            return Err(IdInUse);
        }
        if state.closed {
            call.cancel();
        }
        if is_taken {
            state.namesakes.push(Arc::clone(call));
        } else {
            state.running.insert(call.id.clone(), Arc::clone(call));
        }
        Ok(())
    }

    /// The request has ended. Another one may use its id already if it was cancelled before.
    pub(crate) fn dismiss(&self, call: &Arc<Call>) {
        let mut state = self.lock();
        if state
            .running
            .get(&call.id)
            .is_some_and(|it| Arc::ptr_eq(it, call))
        {
            state.running.remove(&call.id);
        } else {
            state.namesakes.retain(|it| !Arc::ptr_eq(it, call));
        }
    }

    /// Cancels a request; one that is unknown or done is ignored (X-CANC-04). Where several
    /// have the id, nothing tells which one is meant, and all go on.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let call = {
            let mut state = self.lock();
            let named = |it: &Arc<Call>| it.id == *id;
            let namesakes = state.namesakes.iter().filter(|it| named(it)).count();
            match (state.running.contains_key(id), namesakes) {
                (true, 0) => state.running.remove(id),
                (false, 1) => state.namesakes.extract_if(.., |it| named(it)).next(),
                _ => None,
            }
        };
        if let Some(call) = call {
            call.cancel();
        }
    }

    /// A number for a question and the place where its answer will come.
    pub(crate) fn question(&self) -> (u64, oneshot::Receiver<Reply>) {
        let (sender, receiver) = oneshot::channel();
        let id = self.next_question.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        if !state.closed {
            state.questions.insert(id, sender);
        }
        (id, receiver)
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn forget_question(&self, id: u64) {
        self.lock().questions.remove(&id);
    }

    /// Hands an answer to whoever asked; one that nobody waits for is dropped.
    pub(crate) fn answer(&self, id: &RequestId, outcome: Outcome<'_>) {
        let Some(id) = id.as_counter() else { return };
        let Some(waiting) = self.lock().questions.remove(&id) else {
            return;
        };
        let reply = match outcome {
            Outcome::Result(text) => Json::parse(text).map_err(malformed),
            Outcome::Error(error) => Err(error),
            Outcome::Malformed(reason) => Err(malformed(reason)),
        };
        // Whoever asked may have gone in this very moment.
        let _ = waiting.send(reply);
    }

    /// The client cannot answer any more; questions and subscriptions end now, other work may go
    /// on.
    pub(crate) fn hang_up(&self) {
        {
            let mut state = self.lock();
            state.closed = true;
            state.questions.clear();
        }
        self.closing.notify_waiters();
    }

    /// Waits until the client cannot say anything more.
    pub(crate) async fn hung_up(&self) {
        let closing = self.closing.notified();
        tokio::pin!(closing);
        closing.as_mut().enable();
        if !self.is_closed() {
            closing.await;
        }
    }

    /// Ends everything that runs.
    pub(crate) fn close(&self) {
        let running: Vec<_> = {
            let mut state = self.lock();
            state.closed = true;
            state.questions.clear();
            state.watched.clear();
            let namesakes = std::mem::take(&mut state.namesakes);
            let named = state.running.drain().map(|(_, call)| call);
            named.chain(namesakes).collect()
        };
        for call in running {
            call.cancel();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
fn malformed(reason: impl std::fmt::Display) -> ErrorObject {
    let message = format!("the client's answer is malformed: {reason}");
    ErrorObject::new(attache_protocol::codes::INTERNAL_ERROR, message)
}
