//! The face of Streamable HTTP: both eras on one path.
//!
//! Owns who may reach the server, the era of a request, sessions with their streams, and the status
//! of every answer. What messages mean is the service's business, so a gateway can stand behind
//! this face as well as a server built with this kit.

mod answers;
mod bodies;
mod connections;
mod decimal;
mod events;
mod guard;
mod headers;
mod kept;
mod legacy;
mod modern;
mod sessions;
mod settings;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use attache_protocol::{Era, ErrorObject, Message, Revision, codes};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::any;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::incoming::{Incoming, sort};
use crate::service::{Principal, Service};

use answers::{busy, empty, refuse};
use connections::Connection;
use events::{EventBody, EventIds, LogReader};
use headers::Claimed;
use kept::KeptEvents;
use sessions::Sessions;

pub use bodies::{Unfinished, Unread};
pub use connections::{Handshake, Peer, Plain, Serving};
pub use settings::HttpSettings;

/// A service behind HTTP.
struct Face<S: Service> {
    service: S,
    settings: HttpSettings,
    sessions: Sessions<S>,
    kept: Arc<KeptEvents>,
    unfinished: Unfinished,
    /// One permit per handler that runs.
    slots: Arc<Semaphore>,
    /// How many requests wait for a permit.
    waiting: AtomicUsize,
}

/// The routes of a service, to be served alone or joined with others. How many connections there
/// are, and how long the head of a request takes, is for the accept loop to limit.
pub fn router<S: Service>(service: S, settings: HttpSettings) -> Router {
    let path = settings.path.clone();
    let face = Arc::new(Face {
        slots: Arc::new(Semaphore::new(settings.limits.max_running)),
        waiting: AtomicUsize::new(0),
        sessions: Sessions::default(),
        kept: Arc::new(KeptEvents::new(settings.max_kept_bytes)),
        unfinished: Unfinished::new(&settings),
        service,
        settings,
    });
    Router::new()
        .route(&path, any(receive::<S>))
        .with_state(face)
}

/// Serves until `shutdown` ends, then lets open requests end.
pub async fn serve<S: Service>(
    listener: TcpListener,
    service: S,
    settings: HttpSettings,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = router(service, settings.clone());
    connections::serve(listener, router, &settings, Plain, shutdown).await;
    Ok(())
}

/// Serves routes of any make with the limits and deadlines of connections that [`serve`] has, until
/// `shutdown` ends; then lets open requests end.
pub async fn serve_router(
    listener: TcpListener,
    router: Router,
    settings: &HttpSettings,
    handshake: impl Handshake,
    shutdown: impl Future<Output = ()>,
) {
    connections::serve(listener, router, settings, handshake, shutdown).await;
}

/// Finds out who asks, or refuses: the wrong host name, a page of another origin, no token (S1).
pub fn admit(settings: &HttpSettings, headers: &HeaderMap) -> Result<Principal, Box<Response>> {
    guard::check(settings, headers)
}

/// One request of HTTP that may pass, with what is known about it.
struct Passed<'a, S: Service> {
    face: &'a Arc<Face<S>>,
    principal: Principal,
    headers: &'a HeaderMap,
    /// Keeps the connection from making room.
    serving: Option<Arc<Serving>>,
}

async fn receive<S: Service>(State(face): State<Arc<Face<S>>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let connection = parts.extensions.get::<Arc<Connection>>();
    let principal = match guard::check(&face.settings, &parts.headers) {
        Ok(principal) => principal,
        Err(refusal) => return *refusal,
    };
    let body = match parts.method {
        Method::POST => match read(&face, &parts.headers, body).await {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        },
        _ => Bytes::new(),
    };
    let passed = Passed {
        face: &face,
        principal,
        headers: &parts.headers,
        serving: connection.map(|it| Arc::new(it.serve())),
    };
    match parts.method {
        Method::POST => passed.post(&body).await,
        Method::GET => passed.get(),
        Method::DELETE => passed.delete(),
        _ => guard::method_not_allowed(),
    }
}

/// Reads the body of a POST.
async fn read<S: Service>(
    face: &Face<S>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, guard::Refusal> {
    guard::check_post(headers)?;
    let settings = &face.settings;
    let read = face.unfinished.read(body, settings).await;
    let (status, message) = match read {
        Ok(body) => return Ok(body),
        Err(Unread::NoRoom) => return Err(Box::new(busy(None))),
        Err(Unread::TooLong) => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is longer than {} bytes", settings.max_body),
        ),
        Err(Unread::TooSlow) => (
            StatusCode::REQUEST_TIMEOUT,
            format!("the body took longer than {:?}", settings.body_timeout),
        ),
        Err(Unread::Broken) => (StatusCode::BAD_REQUEST, "the body broke off".to_owned()),
    };
    let error = ErrorObject::new(codes::INVALID_REQUEST, message);
    Err(Box::new(refuse(status, &error, None)))
}

impl<S: Service> Passed<'_, S> {
    async fn post(&self, body: &Bytes) -> Response {
        let claimed = match Claimed::read(self.headers) {
            Ok(claimed) => claimed,
            Err(error) => return refuse(StatusCode::BAD_REQUEST, &error, None),
        };
        self.sort(body, &claimed).await
    }

    /// A stream of events as the body of the answer.
    fn body(&self, reader: LogReader, ids: EventIds) -> EventBody {
        let settings = &self.face.settings;
        EventBody::new(reader, ids, settings, self.serving.clone())
    }

    async fn sort(&self, body: &Bytes, claimed: &Claimed) -> Response {
        match sort(body) {
            Incoming::Refused(error, id) => refuse(StatusCode::BAD_REQUEST, &error, id.as_ref()),
            Incoming::Batch(items) => self.legacy_batch(&items, claimed).await,
            Incoming::Message(message) => match self.era(&message, claimed) {
                Era::Modern => self.modern(message, claimed).await,
                Era::Legacy => self.legacy(message, claimed).await,
            },
        }
    }

    /// The era of a message: by its header, or by its own metadata where the header says nothing
    /// that is known.
    fn era(&self, message: &Message<'_>, claimed: &Claimed) -> Era {
        if let Some(revision) = claimed.revision() {
            return revision.era();
        }
        let params = match message {
            Message::Request { params, .. } | Message::Notification { params, .. } => *params,
            Message::Response { .. } => None,
        };
        match params {
            Some(params) if headers::has_modern_meta(params) => Era::Modern,
            _ => Era::Legacy,
        }
    }

    fn get(&self) -> Response {
        if !self.speaks_legacy() {
            return guard::method_not_allowed();
        }
        self.legacy_get()
    }

    fn delete(&self) -> Response {
        if !self.speaks_legacy() {
            return guard::method_not_allowed();
        }
        match self.session() {
            Ok(entry) => {
                self.face.sessions.remove(&entry.id);
                entry.close(&self.face.service);
                empty(StatusCode::NO_CONTENT)
            }
            Err(refusal) => *refusal,
        }
    }

    /// Only a server with legacy revisions has sessions (S-SHM-30).
    fn speaks_legacy(&self) -> bool {
        let supported = self.face.service.supported();
        supported
            .iter()
            .any(|it: &Revision| it.era() == Era::Legacy)
    }
}
