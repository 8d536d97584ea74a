//! A recording served in place of its server.
//!
//! Owns which recorded answer a request gets, and when it gets none. Answers carry the caller's id,
//! and progress the caller's token; everything else is what the server said. Knows nothing of how
//! messages travel: the faces of the server kit see to that, over stdio and HTTP, in both eras.

mod play;
mod script;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use attache_protocol::{
    Era, ErrorObject, Initialize, Json, Method as _, Outcome, RequestId, Revision, codes, meta,
};
use attache_schema::Value;
use attache_server::{
    After, Answer as Sent, MirroredArgument, Outlet, Principal, Request, Service, Work,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::conversation::{Conversation, cancelled_id, in_words};
use crate::matching::Signature;
use play::Playing;
use script::{Cursors, Lookup, Script};

/// How many misses are remembered in words; the rest is counted.
const MOST_TOLD: usize = 1000;

/// What to do about a request that the recording does not have.
#[derive(Clone, Default)]
pub enum OnMiss {
    /// Answer with an error.
    #[default]
    Error,
    /// Answer what the nearest recorded request got, if one is nearest.
    Nearest,
    /// Ask the real server.
    Ask(Arc<dyn Upstream>),
}

/// The future of an answer of the real server.
pub type Asked = Pin<Box<dyn Future<Output = Result<Json, ErrorObject>> + Send>>;

/// A real server to ask.
pub trait Upstream: Send + Sync {
    /// Asks it.
    fn ask(&self, method: &str, params: Option<Json>) -> Asked;
}

/// When answers come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// At once.
    #[default]
    Instant,
    /// As long after the request as they were recorded.
    AsRecorded,
}

/// How a recording is served.
#[derive(Clone, Default)]
pub struct Settings {
    /// What to do about a request that the recording does not have.
    pub on_miss: OnMiss,
    /// When answers come.
    pub pace: Pace,
    /// Serve this era only.
    pub era: Option<Era>,
}

/// A request that the recording does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// What was asked, in words.
    pub what: String,
    /// Why it has no answer of its own, and what was done.
    pub reason: String,
}

/// Told of each miss when it happens.
pub type MissListener = Box<dyn Fn(&Miss) + Send + Sync>;

/// A recording as a service. Cheap to clone.
#[derive(Clone)]
pub struct Mock(Arc<Inner>);

struct Inner {
    script: Script,
    settings: Settings,
    /// How far repeated requests of the modern era have come: it has no sessions.
    cursors: Mutex<Cursors>,
    misses: Mutex<Vec<Miss>>,
    missed: AtomicU64,
    listener: MissListener,
}

impl Mock {
    /// Serves a conversation; `listener` is told of each miss.
    pub fn new(conversation: Conversation, settings: Settings, listener: MissListener) -> Self {
        Self(Arc::new(Inner {
            script: Script::new(conversation, settings.era),
            settings,
            cursors: Mutex::default(),
            misses: Mutex::default(),
            missed: AtomicU64::new(0),
            listener,
        }))
    }

    /// How many requests found no answer of their own.
    pub fn missed(&self) -> u64 {
        self.0.missed.load(Ordering::Relaxed)
    }

    /// The first of them.
    pub fn misses(&self) -> Vec<Miss> {
        self.0.misses.lock().clone()
    }

    /// The revisions that were recorded, newest first.
    pub fn revisions(&self) -> &[Revision] {
        self.0.script.revisions()
    }
}

impl Inner {
    fn miss(&self, what: String, reason: String) {
        self.missed.fetch_add(1, Ordering::Relaxed);
        let miss = Miss { what, reason };
        (self.listener)(&miss);
        let mut misses = self.misses.lock();
        if misses.len() < MOST_TOLD {
            misses.push(miss);
        }
    }
}

/// What is remembered of a connection, or of a legacy session.
pub struct Session {
    outlet: Arc<dyn Outlet>,
    cursors: Mutex<Cursors>,
    revision: Mutex<Option<Revision>>,
    playing: Arc<Playing>,
}

impl Service for Mock {
    type Session = Session;

    fn open(&self, _: Principal, outlet: Arc<dyn Outlet>) -> Arc<Session> {
        Arc::new(Session {
            outlet,
            cursors: Mutex::default(),
            revision: Mutex::new(None),
            playing: Arc::default(),
        })
    }

    fn request(
        &self,
        session: &Arc<Session>,
        request: Request<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Work {
        let raw = request.params.map(Json::from);
        let params = raw.as_ref().and_then(|raw| Value::of_json(raw).ok());
        let params = params.unwrap_or_else(|| Value::Object(Default::default()));
        let era = era_of(&request, &params);
        let signature = Signature::of(era, request.method, &params);
        let found = match era {
            Era::Legacy => self.0.script.find(&signature, &mut session.cursors.lock()),
            Era::Modern => self.0.script.find(&signature, &mut self.0.cursors.lock()),
        };
        let index = match found {
            Lookup::Found(index) => index,
            Lookup::Missing(reason) => {
                let request = Missed {
                    id: request.id.clone(),
                    method: request.method,
                    params: &params,
                    raw,
                    signature: &signature,
                };
                match self.without_record(request, &reason) {
                    Ok(index) => index,
                    Err(work) => return work,
                }
            }
        };
        if request.method == Initialize::NAME {
            return self.greet(session, &request.id, index);
        }
        play::play(play::Call {
            mock: Arc::clone(&self.0),
            session: Arc::clone(session),
            outlet: Arc::clone(outlet),
            id: request.id,
            token: token(&params),
            index,
        })
    }

    fn notification(
        &self,
        session: &Arc<Session>,
        method: &str,
        params: Option<&RawValue>,
    ) -> After {
        if method == "notifications/cancelled"
            && let Some(id) = params.and_then(|params| cancelled_id(params.get()))
        {
            session.playing.cancel(&id);
        }
        After::GoOn
    }

    fn response(&self, session: &Arc<Session>, id: &RequestId, _: Outcome<'_>) {
        session.playing.answered(id);
    }

    fn supported(&self) -> &[Revision] {
        self.revisions()
    }

    fn revision(&self, session: &Arc<Session>) -> Option<Revision> {
        *session.revision.lock()
    }

    fn input_ended(&self, session: &Arc<Session>) {
        session.playing.nobody_answers();
        session.playing.end_endless();
    }

    fn close(&self, session: &Arc<Session>) {
        self.input_ended(session);
    }

    fn mirrored_arguments(&self, tool: &str) -> Arc<[MirroredArgument]> {
        self.0.script.mirrored(tool)
    }
}

/// A request that the recording does not have.
struct Missed<'a> {
    id: RequestId,
    method: &'a str,
    params: &'a Value,
    raw: Option<Json>,
    signature: &'a Signature,
}

impl Mock {
    /// The handshake. A face needs its answer at once.
    fn greet(&self, session: &Session, id: &RequestId, index: usize) -> Work {
        let exchange = self.0.script.exchange(index);
        Work::Done(match exchange.answer.as_ref().map(|it| &it.outcome) {
            Some(Ok(result)) => {
                let version = exchange.result();
                let version = version.as_ref().and_then(|it| it.get("protocolVersion"));
                let version = version
                    .and_then(Value::as_str)
                    .and_then(|it| it.parse().ok());
                *session.revision.lock() = version;
                Sent::result(id, result)
            }
            Some(Err(error)) => Sent::error(id, error),
            None => Sent::error(id, &unanswered()),
        })
    }

    /// What happens to a request that the recording does not have: another exchange, or its answer.
    fn without_record(&self, request: Missed<'_>, reason: &str) -> Result<usize, Work> {
        let script = &self.0.script;
        let method = request.method;
        if method == "ping" {
            // It says that the connection lives, which it does.
            return Err(Work::Done(Sent::result(
                &request.id,
                &serde_json::json!({}),
            )));
        }
        let what = in_words(method, request.params);
        let is_unknown = !script.has_method(method, request.signature.is_modern);
        if method == "server/discover" && is_unknown {
            // A client of both eras finds out that this is a legacy server. That is no miss.
            let error = ErrorObject::new(codes::METHOD_NOT_FOUND, "Method not found");
            return Err(Work::Done(Sent::error(&request.id, &error)));
        }
        match &self.0.settings.on_miss {
            OnMiss::Nearest => {
                if let Some(index) = script.nearest(request.signature, request.params) {
                    let nearest = script.exchange(index);
                    let told = format!(
                        "{reason}; answered like the nearest one, recorded as number {}",
                        nearest.seq
                    );
                    self.0.miss(what, told);
                    return Ok(index);
                }
            }
            OnMiss::Ask(upstream) => {
                self.0
                    .miss(what, format!("{reason}; the real server was asked"));
                let asked = upstream.ask(method, request.raw);
                let id = request.id;
                return Err(Work::Later(Box::pin(async move {
                    Some(match asked.await {
                        Ok(result) => Sent::result(&id, &result),
                        Err(error) => Sent::error(&id, &error),
                    })
                })));
            }
            OnMiss::Error => {}
        }
        self.0.miss(what.clone(), reason.to_owned());
        let code = match is_unknown {
            true => codes::METHOD_NOT_FOUND,
            false => codes::INTERNAL_ERROR,
        };
        let message = format!("the recording has no answer to {what}: {reason}");
        Err(Work::Done(Sent::error(
            &request.id,
            &ErrorObject::new(code, message),
        )))
    }
}

fn unanswered() -> ErrorObject {
    let message = "the recording ends before the answer to this request";
    ErrorObject::new(codes::INTERNAL_ERROR, message)
}

fn era_of(request: &Request<'_>, params: &Value) -> Era {
    if request.method == Initialize::NAME {
        return Era::Legacy;
    }
    let meta = params.get("_meta");
    let says_so = meta.is_some_and(|it| it.get(meta::PROTOCOL_VERSION).is_some());
    match (request.era, says_so) {
        (Some(era), _) => era,
        (None, true) => Era::Modern,
        (None, false) => Era::Legacy,
    }
}

/// The token under which the caller wants progress.
fn token(params: &Value) -> Option<Value> {
    params.get("_meta")?.get(meta::PROGRESS_TOKEN).cloned()
}
