//! The task that does what the machine of one server decides.
//!
//! Owns the connection and its end. What happens on the connection it tells an [`Observer`], which
//! is how logs, events and caches learn of it without being known here.

use std::sync::Arc;
use std::time::Duration;

use attache_client::{Client, CloseReason};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::Instant;

use super::connecting::{Target, last_words, remedy, without_secrets};
use super::machine::{Action, Machine, MachineEvent, Phase, Remedy};
use super::{Order, StartPlaces, Status};
use crate::config::{ServerConfig, Start};
use crate::error::{Cause, Failure};
use crate::snapshot::ServerState;

/// How many last lines of stderr a failure keeps.
const LAST_LINES: usize = 20;
/// How long a start keeps its place. A server that needs longer waits rather than computes, or
/// hangs, and must not hold up the others (P5); its start goes on without a place.
const PLACE_KEPT: Duration = Duration::from_secs(5);

/// Who is told what happens to a server. Nothing here may wait: the driver's time is the server's.
pub(crate) trait Observer: Send + Sync + 'static {
    /// The state is another one now.
    fn state(&self, state: ServerState, now: Circumstances<'_>);

    /// A connection has begun.
    fn connected(&self, client: &Client);

    /// That connection has ended.
    fn disconnected(&self);

    /// Removes secrets from a line of the server.
    fn clean(&self, line: &str) -> String;
}

/// What belongs to a new state.
pub(crate) struct Circumstances<'a> {
    /// What has failed, if that is why.
    pub(crate) failure: Option<&'a Failure>,
    /// The connection, if it is ready.
    pub(crate) client: Option<&'a Client>,
    /// How often the server was started so far.
    pub(crate) starts: u64,
}

struct Driver {
    machine: Machine,
    target: Target,
    observer: Arc<dyn Observer>,
    orders: mpsc::Receiver<Order>,
    status: watch::Sender<Status>,
    client: Option<Client>,
    places: Option<StartPlaces>,
    /// Whether a request waits for this very server.
    needed: bool,
}

/// Starts the task and gives what it publishes.
pub(super) fn start(
    config: &ServerConfig,
    target: Target,
    observer: Arc<dyn Observer>,
    orders: mpsc::Receiver<Order>,
    places: Option<StartPlaces>,
) -> watch::Receiver<Status> {
    let (status, published) = watch::channel(Status {
        state: ServerState::Configured,
        client: None,
        starts: 0,
        failures: 0,
        last_failure: None,
        again_at: None,
        queued: false,
    });
    let driver = Driver {
        machine: Machine::new(config.restart.clone(), fastrand::Rng::new()),
        target,
        observer,
        orders,
        status,
        client: None,
        places,
        needed: false,
    };
    tokio::spawn(driver.run(config.start));
    published
}

impl Driver {
    async fn run(mut self, start: Start) {
        let mut action = match start {
            Start::Eager => self.happened(MachineEvent::Wanted),
            Start::Lazy => Action::Rest,
        };
        loop {
            action = match action {
                Action::Start => self.attempt().await,
                Action::Stop => self.tear_down().await,
                Action::Pause { until } => {
                    tokio::select! {
                        biased;
                        order = self.orders.recv() => match self.on_order(order) {
                            // A wish does not shorten the pause.
                            Action::Rest => action,
                            other => other,
                        },
                        () = tokio::time::sleep_until(until.into()) => {
                            self.happened(MachineEvent::PauseOver)
                        }
                    }
                }
                Action::Rest if self.machine.phase() == Phase::Stopped => return,
                Action::Rest => match self.client.clone() {
                    Some(client) => tokio::select! {
                        biased;
                        order = self.orders.recv() => self.on_order(order),
                        reason = client.closed() => self.lost(&client, reason).await,
                    },
                    None => {
                        let order = self.orders.recv().await;
                        self.on_order(order)
                    }
                },
            };
        }
    }

    /// What an order asks for. When nobody can give orders any more, nobody needs the server.
    fn on_order(&mut self, order: Option<Order>) -> Action {
        self.needed |= matches!(order, Some(Order::Needed | Order::Restart));
        self.happened(match order {
            Some(Order::Wanted | Order::Needed) => MachineEvent::Wanted,
            Some(Order::Restart) => MachineEvent::RestartAsked,
            Some(Order::Stop) | None => MachineEvent::StopAsked,
        })
    }

    /// One start. An order to stop ends it at once: dropping the attempt takes down whatever it
    /// had started (fault 7).
    async fn attempt(&mut self) -> Action {
        let mut place = match self.place().await {
            Ok(place) => place,
            Err(action) => return action,
        };
        let mut place_kept = std::pin::pin!(tokio::time::sleep(PLACE_KEPT));
        let (processes_before, _) = self.target.processes();
        let server = self.target.server();
        let connect = async move { server?.connect().await };
        let mut connect = std::pin::pin!(connect);
        let connected = loop {
            tokio::select! {
                biased;
                order = self.orders.recv() => match self.on_order(order) {
                    Action::Rest => {}
                    action => return action,
                },
                connected = &mut connect => break connected,
                () = &mut place_kept, if place.is_some() => place = None,
            }
        };
        drop(place);
        let (processes, _) = self.target.processes();
        for _ in processes_before + 1..processes {
            self.happened(MachineEvent::StartedAgain);
        }
        match connected {
            Ok(client) => {
                self.target.note_probe().await;
                self.observer.connected(&client);
                self.client = Some(client);
                self.needed = false;
                self.happened(MachineEvent::Started)
            }
            Err(error) => {
                let said = last_words(&error);
                let stderr = said[said.len().saturating_sub(LAST_LINES)..].to_vec();
                self.failed(Cause::Start(error), stderr).await
            }
        }
    }

    /// Waits for a place to start in, for as long as no request needs this very server. An order
    /// that makes the start pointless is given back.
    async fn place(&mut self) -> Result<Option<OwnedSemaphorePermit>, Action> {
        let Some(places) = self.places.clone() else {
            return Ok(None);
        };
        let mut free = std::pin::pin!(places.acquire_owned());
        let place = loop {
            if self.needed {
                break None;
            }
            tokio::select! {
                biased;
                order = self.orders.recv() => match self.on_order(order) {
                    Action::Rest => {}
                    action => return Err(action),
                },
                place = &mut free => break place.ok(),
            }
        };
        self.status.send_modify(|status| status.queued = false);
        Ok(place)
    }

    /// The connection ended by itself.
    async fn lost(&mut self, client: &Client, reason: CloseReason) -> Action {
        self.client = None;
        self.observer.disconnected();
        let stderr = client.stderr().tail_lines(LAST_LINES);
        self.failed(Cause::Lost(reason), stderr).await
    }

    async fn failed(&mut self, cause: Cause, stderr: Vec<String>) -> Action {
        if let Some(container) = &self.target.container {
            container.stop().await;
        }
        let (_, processes) = self.target.processes();
        let remedy = match &cause {
            Cause::Start(error) => remedy(error, processes),
            Cause::Lost(_) => Remedy::TryAgain { processes },
        };
        let clean = |line: &String| self.observer.clean(line);
        let cause = without_secrets(cause, clean);
        let stderr = stderr.iter().map(clean).collect();
        let failure = Arc::new(Failure { cause, stderr });
        self.status.send_if_modified(|status| {
            status.failures += 1;
            status.last_failure = Some(failure);
            // Told together with the state that follows from it.
            false
        });
        self.happened(MachineEvent::Failed(remedy))
    }

    /// Ends the connection in order and waits until everything of it is gone.
    async fn tear_down(&mut self) -> Action {
        if let Some(client) = self.client.take() {
            client.close().await;
            self.observer.disconnected();
        }
        if let Some(container) = &self.target.container {
            container.stop().await;
        }
        self.happened(MachineEvent::Gone)
    }

    /// Tells the machine, and everybody else what has become of it.
    fn happened(&mut self, what: MachineEvent) -> Action {
        let action = self.machine.happened(what, Instant::now().into_std());
        let state = match self.machine.phase() {
            Phase::Configured => ServerState::Configured,
            Phase::Starting => ServerState::Starting,
            Phase::Ready { .. } => ServerState::Ready,
            Phase::BackingOff { .. } => ServerState::BackingOff,
            Phase::Parked => ServerState::Parked,
            Phase::Stopping => ServerState::Stopping,
            Phase::Stopped => ServerState::Stopped,
        };
        let changed = self.status.borrow().state != state;
        if changed {
            // Told before it is published, so that what others do because of it is told after.
            let status = self.status.borrow();
            let failure = match state {
                ServerState::BackingOff | ServerState::Parked => status.last_failure.as_deref(),
                _ => None,
            };
            let client = self.client.as_ref();
            let now = Circumstances {
                failure,
                client: client.filter(|_| state == ServerState::Ready),
                starts: self.machine.starts(),
            };
            self.observer.state(state, now);
        }
        self.status.send_if_modified(|status| {
            if changed {
                status.state = state;
            }
            status.starts = self.machine.starts();
            status.queued = match action {
                Action::Start => self.places.is_some(),
                _ => status.queued && state == ServerState::Starting,
            };
            status.again_at = match self.machine.phase() {
                Phase::BackingOff { until } => Some(until.into()),
                _ => None,
            };
            status.client = match state {
                ServerState::Ready => self.client.clone(),
                _ => None,
            };
            changed
        });
        action
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
