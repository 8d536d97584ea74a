//! One server kept alive: started on first use, restarted after a crash, parked when hopeless.
//!
//! [`machine`] decides, `driver` does, and a `Supervised` is the handle that everybody else has.
//! Nothing here knows of other servers, so nothing of one server can wait for another (P5). Only
//! the places are shared in which programs start, and a start that a request waits for needs none.

mod connecting;
mod container;
mod driver;
pub mod machine;

use std::sync::Arc;
use std::time::Duration;

use attache_client::{Client, ConnectError, Error as ClientError};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;

pub(crate) use connecting::{ServerMaker, Target};
pub(crate) use driver::{Circumstances, Observer};

use crate::config::{ServerConfig, ServerName};
use crate::error::{Cause, Error, Failure};
use crate::snapshot::ServerState;

/// Orders waiting for a driver. A wish that finds the queue full is no loss: one like it is in it.
const ORDER_CAPACITY: usize = 16;

/// The longest pause before a restart that those wait for who do not insist.
const SHORT_PAUSE: Duration = Duration::from_millis(500);

/// What a driver is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It is wanted among others, and starts when there is a place.
    Wanted,
    /// A request waits for this very server: it starts now.
    Needed,
    Restart,
    Stop,
}

/// What is known of a server from outside.
#[derive(Clone)]
pub(crate) struct Status {
    pub(crate) state: ServerState,
    pub(crate) client: Option<Client>,
    pub(crate) starts: u64,
    /// How many starts or connections have failed; tells a new failure from an old one.
    pub(crate) failures: u64,
    pub(crate) last_failure: Option<Arc<Failure>>,
    /// When it is started again, while it is backing off.
    pub(crate) again_at: Option<Instant>,
    /// Whether its start waits for a place.
    pub(crate) queued: bool,
}

/// How long somebody is willing to wait for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Through failures and pauses, until it is ready, parked, or the time of one start is over.
    Persistent,
    /// Until the first failure; its restart goes on without the one who asked. Nor is a long pause
    /// waited for. The server is one of many, so its start may have to wait for a place.
    FirstFailure,
}

/// The places in which programs start when many are wanted, shared by all servers of a host, so
/// that slow starters do not take the processor from each other.
pub(crate) type StartPlaces = Arc<Semaphore>;

/// A connection and its number: how many starts there had been when it began.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) number: u64,
}

impl Status {
    fn connection(&self) -> Option<Connection> {
        Some(Connection {
            client: self.client.clone()?,
            number: self.starts,
        })
    }
}

/// A server under supervision.
pub(crate) struct Supervised {
    name: ServerName,
    start_timeout: Duration,
    orders: mpsc::Sender<Order>,
    status: watch::Receiver<Status>,
}

impl Supervised {
    /// Puts a server under supervision in a task of its own. Dropping the handle stops the server.
    /// One that is no program needs no places.
    pub(crate) fn new(
        config: &ServerConfig,
        target: Target,
        observer: Arc<dyn Observer>,
        places: Option<StartPlaces>,
    ) -> Self {
        let (orders, inbox) = mpsc::channel(ORDER_CAPACITY);
        let status = driver::start(config, target, observer, inbox, places);
        Self {
            name: config.name.clone(),
            start_timeout: config.server.settings.timeouts.start,
            orders,
            status,
        }
    }

    /// What is known now.
    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// The connection, if there is one.
    pub(crate) fn connection(&self) -> Option<Connection> {
        self.status.borrow().connection()
    }

    /// Asks for the server without waiting for it.
    async fn want(&self, patience: Patience) {
        // A closed queue belongs to a stopped server.
        match patience {
            Patience::Persistent => {
                let _ = self.orders.send(Order::Needed).await;
            }
            // A full queue holds such a wish already.
            Patience::FirstFailure => {
                let _ = self.orders.try_send(Order::Wanted);
            }
        }
    }

    /// Waits for a connection later than `former`, which is known to be dead, though perhaps not
    /// yet to the driver; 0 means any. However many wait, there is one start (fault 15).
    pub(crate) async fn ready_after(
        &self,
        former: u64,
        patience: Patience,
    ) -> Result<Connection, Error> {
        let mut status = self.status.clone();
        let later = |now: &Status| now.connection().filter(|it| it.number > former);
        let failures_before = {
            let now = status.borrow();
            if let Some(connection) = later(&now) {
                return Ok(connection);
            }
            if patience == Patience::FirstFailure
                && let (Some(again_at), Some(failure)) = (now.again_at, &now.last_failure)
                && again_at.saturating_duration_since(Instant::now()) > SHORT_PAUSE
            {
                return Err(self.unreachable(failure.clone()));
            }
            match now.state {
                // Its death is news that is still under way and no failure of the next start.
                ServerState::Ready => now.failures + 1,
                _ => now.failures,
            }
        };
        self.want(patience).await;
        let is_settled = |now: &Status| {
            let failed = now.failures > failures_before;
            match now.state {
                ServerState::Ready => now.starts > former,
                ServerState::Parked | ServerState::Stopped | ServerState::Disabled => true,
                _ if !failed => false,
                _ => {
                    // Who has waited for a whole start has waited long enough.
                    let timed_out = now.last_failure.as_ref().is_some_and(|it| is_time_out(it));
                    timed_out || patience == Patience::FirstFailure
                }
            }
        };
        // The time of a start begins with it, not with the wait for a place.
        let has_begun = |now: &Status| now.state != ServerState::Configured && !now.queued;
        let begun = status.wait_for(|now| is_settled(now) || has_begun(now));
        if begun.await.is_err() {
            return Err(self.stopped());
        }
        let deadline = Instant::now() + self.start_timeout;
        let settled = status.wait_for(is_settled);
        let status = match tokio::time::timeout_at(deadline, settled).await {
            Ok(Ok(status)) => status.clone(),
            Ok(Err(_)) => return Err(self.stopped()),
            Err(_) => {
                let now = self.status();
                let Some(failure) = now.last_failure.filter(|_| now.failures > failures_before)
                else {
                    return Err(Error::StillStarting {
                        server: self.name.clone(),
                        after: self.start_timeout,
                    });
                };
                return Err(self.unreachable(failure));
            }
        };
        match (status.state, later(&status), status.last_failure) {
            (_, Some(connection), _) => Ok(connection),
            (ServerState::Parked, _, Some(failure)) => Err(Error::Parked {
                server: self.name.clone(),
                failure,
            }),
            (ServerState::Stopped | ServerState::Disabled, _, _) | (_, _, None) => {
                Err(self.stopped())
            }
            (_, _, Some(failure)) => Err(self.unreachable(failure)),
        }
    }

    /// Starts the server afresh, whatever it was before, and returns when the new start has begun.
    pub(crate) async fn restart(&self) {
        let mut status = self.status.clone();
        let before = status.borrow().starts;
        // A closed queue belongs to a stopped server, which nobody can restart.
        let _ = self.orders.send(Order::Restart).await;
        let _ = status
            .wait_for(|now| now.starts > before || now.state == ServerState::Stopped)
            .await;
    }

    /// Stops the server and waits until nothing of it is left.
    pub(crate) async fn stop(&self) {
        let _ = self.orders.send(Order::Stop).await;
        let mut status = self.status.clone();
        // The driver's end is as good as its word.
        let _ = status
            .wait_for(|now| now.state == ServerState::Stopped)
            .await;
    }

    fn stopped(&self) -> Error {
        Error::Stopped {
            server: self.name.clone(),
        }
    }

    fn unreachable(&self, failure: Arc<Failure>) -> Error {
        Error::Unreachable {
            server: self.name.clone(),
            failure,
        }
    }
}

fn is_time_out(failure: &Failure) -> bool {
    matches!(
        failure.cause,
        Cause::Start(ClientError::Connect(ConnectError::TimedOut { .. }))
    )
}
