//! Connections of HTTP: how many there are, and which of them makes room when there are too many.
//!
//! A connection waits, for a request or for the rest of one, or it is served. Only those that wait
//! make room, whichever has waited longest first, so that half-sent requests cannot keep others
//! out (fault 70). What travels on a connection is not known here.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::Extensions;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::HttpSettings;

/// The longest head of a request in bytes, and how much of a body is read ahead.
const MAX_HEAD: usize = 64 * 1024;

/// How long to wait at most after the system had no descriptor for a connection.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(20);

/// What is done to a connection before HTTP is spoken on it: nothing, or a handshake of TLS.
pub trait Handshake: Clone + Send + Sync + 'static {
    /// What HTTP is spoken on.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Does it. It may take as long as the head of a request.
    fn shake(&self, stream: TcpStream) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// HTTP is spoken on the connection as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Handshake for Plain {
    type Stream = TcpStream;

    async fn shake(&self, stream: TcpStream) -> io::Result<TcpStream> {
        Ok(stream)
    }
}

/// The address that a request comes from, among its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Accepts and serves connections until `shutdown` ends, then lets open requests end. Dropping the
/// future closes all connections.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    settings: &HttpSettings,
    handshake: impl Handshake,
    shutdown: impl Future<Output = ()>,
) {
    let connections = Arc::new(Connections::new(
        settings.max_connections.min(descriptors()),
    ));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(settings.header_timeout)
        .max_buf_size(MAX_HEAD);
    let service = TowerToHyperService::new(router);
    let (stop, stopping) = watch::channel(());
    let mut tasks = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, peer, connection) = tokio::select! {
            () = &mut shutdown => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        while tasks.try_join_next().is_some() {}
        let (http, service, mut stopping) = (http.clone(), service.clone(), stopping.clone());
        let (handshake, patience) = (handshake.clone(), settings.header_timeout);
        tasks.spawn(async move {
            let shaken = tokio::select! {
                shaken = timeout(patience, handshake.shake(stream)) => shaken,
                () = connection.told_to_leave() => return,
                _ = stopping.changed() => return,
            };
            // However a handshake fails, only its client cares, and knows.
            if let Ok(Ok(stream)) = shaken {
                run(stream, peer, connection, http, service, stopping).await;
            }
        });
    }
    drop((listener, stop));
    while tasks.join_next().await.is_some() {}
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Connections>,
) -> (TcpStream, Peer, Arc<Connection>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Without this a small answer can wait for the acknowledgement of the one before.
                // A connection that cannot be tuned still works.
                let _ = stream.set_nodelay(true);
                return (stream, Peer(peer), connections.admit().await);
            }
            // The client left before it was accepted.
            Err(error) if is_of_the_client(&error) => {}
            Err(_) => {
                connections.make_room();
                // Where none could end, another part of the process has to give something back.
                let _ = timeout(SHORTAGE_PAUSE, connections.changed.notified()).await;
            }
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

async fn run(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    connection: Arc<Connection>,
    http: http1::Builder,
    service: TowerToHyperService<Router>,
    mut stopping: watch::Receiver<()>,
) {
    let seen = Arc::clone(&connection);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&seen));
        request.extensions_mut().insert(peer);
        service.call(request)
    });
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    // However a connection ends, only its client cares, and knows.
    tokio::select! {
        _ = serving.as_mut() => return,
        () = connection.told_to_leave() => return,
        _ = stopping.changed() => {}
    }
    serving.as_mut().graceful_shutdown();
    tokio::select! {
        _ = serving => {}
        () = connection.told_to_leave() => {}
    }
}

/// How many connections the process has descriptors for. A quarter is left to everything else.
#[cfg(unix)]
fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let limit = limit.current.and_then(|it| usize::try_from(it).ok());
    limit.map_or(usize::MAX, |limit| (limit / 4 * 3).max(1))
}

#[cfg(not(unix))]
fn descriptors() -> usize {
    usize::MAX
}

/// All connections of a listener.
struct Connections {
    limit: usize,
    table: Mutex<Table>,
    /// One has ended, or waits again and could make room.
    changed: Notify,
}

#[derive(Default)]
struct Table {
    open: usize,
    /// The connection that was told to end and has not yet, by its number.
    leaving: Option<u64>,
    next: u64,
    /// Those that wait, in the order in which they began to.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// One connection.
pub(super) struct Connection {
    connections: Arc<Connections>,
    /// It may have been told to leave.
    told: Arc<Notify>,
    /// Its number among those that wait; none while it is served.
    place: Mutex<Option<u64>>,
}

impl Connections {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            table: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Enters a connection as soon as there is room, which others make.
    async fn admit(self: &Arc<Self>) -> Arc<Connection> {
        loop {
            {
                let mut table = self.lock();
                if table.open < self.limit {
                    table.open += 1;
                    break;
                }
            }
            self.make_room();
            self.changed.notified().await;
        }
        let connection = Connection {
            connections: Arc::clone(self),
            told: Arc::new(Notify::new()),
            place: Mutex::new(None),
        };
        connection.wait();
        Arc::new(connection)
    }

    /// Tells the connection that has waited longest to end, unless one is about to anyway.
    fn make_room(&self) {
        let mut table = self.lock();
        if table.leaving.is_none()
            && let Some((number, told)) = table.waiting.pop_first()
        {
            table.leaving = Some(number);
            told.notify_one();
        }
    }

    /// The connection of that number does not wait any more.
    fn withdraw(&self, place: Option<u64>) {
        let Some(place) = place else { return };
        let mut table = self.lock();
        table.waiting.remove(&place);
        if table.leaving == Some(place) {
            table.leaving = None;
            drop(table);
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }
}

impl Connection {
    /// The request is here as a whole; the connection makes no room until the guard is dropped.
    pub(super) fn serve(self: &Arc<Self>) -> Serving {
        let place = self.place().take();
        self.connections.withdraw(place);
        Serving(Arc::clone(self))
    }

    /// Waits until this connection has to make room. One that is served meanwhile stays.
    async fn told_to_leave(&self) {
        loop {
            self.told.notified().await;
            let place = *self.place();
            if place.is_some() && place == self.connections.lock().leaving {
                return;
            }
        }
    }

    fn wait(&self) {
        let number = {
            let mut table = self.connections.lock();
            table.next += 1;
            let number = table.next;
            table.waiting.insert(number, Arc::clone(&self.told));
            number
        };
        *self.place() = Some(number);
        self.connections.changed.notify_one();
    }

    fn place(&self) -> MutexGuard<'_, Option<u64>> {
        self.place.lock()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let place = self.place().take();
        self.connections.lock().open -= 1;
        self.connections.withdraw(place);
        self.connections.changed.notify_one();
    }
}

/// A connection at work on a request, which keeps it from making room for others.
pub struct Serving(Arc<Connection>);

impl Serving {
    /// Keeps the connection of a request, once it is known that it may ask; nothing if it came by
    /// another way than [`serve_router`](super::serve_router).
    pub fn of(extensions: &Extensions) -> Option<Self> {
        extensions.get::<Arc<Connection>>().map(Connection::serve)
    }
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Serving")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.wait();
    }
}
