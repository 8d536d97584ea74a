//! A modern subscription: one open request, opened again when its connection is lost.
//!
//! On a byte stream the request ends with the connection. Over HTTP it has a connection of its own,
//! which proxies like to cut; then it is sent anew, and whoever watches is told that changes may
//! have been missed (C-SUBM-08, fault 59).

use attache_protocol::frame::Params;
use attache_protocol::{Listen, ListenParams, Method as _, SubscriptionFilter};

use tokio::task::JoinHandle;

use crate::client::Client;
use crate::connection::{Failure, Patience, PendingRequest, ProgressWish};
use crate::error::Error;
use crate::events::{Event, Events};

/// A subscription that the server has agreed to.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) events: Events,
    pub(crate) granted: SubscriptionFilter,
    pub(crate) listening: Listening,
}

/// What keeps a subscription up.
#[derive(Debug)]
pub(crate) struct Listening {
    state: State,
    after_loss: AfterLoss,
    /// How often in a row it was lost without having brought anything.
    losses: u32,
}

/// Where a subscription stands.
#[derive(Debug)]
enum State {
    /// Its request is open.
    Open(Box<PendingRequest>),
    /// It was lost, and a task opens it again: whoever waits may stop waiting at any time.
    Lost(JoinHandle<Option<Opened>>),
    /// It is over.
    Ended,
}

/// A request that was opened.
#[derive(Debug)]
struct Opened {
    events: Events,
    granted: SubscriptionFilter,
    pending: Box<PendingRequest>,
}

/// What becomes of a subscription whose connection is lost.
#[derive(Debug)]
enum AfterLoss {
    /// It has ended.
    End,
    /// It is opened again.
    Listen(Client, SubscriptionFilter),
}

/// How waiting for the end of a subscription ended.
pub(crate) enum Turn {
    /// The subscription is over.
    Ended,
    /// It was lost and stands again, with a stream of events of its own.
    Restored(Events, SubscriptionFilter),
}

impl Client {
    /// Opens a subscription and waits until the server has agreed.
    pub(crate) async fn listen(&self, wanted: SubscriptionFilter) -> Result<Subscription, Error> {
        let opened = self.open_listen(wanted.clone()).await?;
        let after_loss = if self.link().mirrors_in_headers() {
            AfterLoss::Listen(self.clone(), wanted)
        } else {
            AfterLoss::End
        };
        let listening = Listening {
            state: State::Open(opened.pending),
            after_loss,
            losses: 0,
        };
        Ok(Subscription {
            events: opened.events,
            granted: opened.granted,
            listening,
        })
    }

    async fn open_listen(&self, wanted: SubscriptionFilter) -> Result<Opened, Error> {
        let params = Params::write(&ListenParams::new(wanted))
            .map_err(|error| Error::Input(error.to_string()))?;
        let mut events = self.events();
        let request_meta = self.request_meta(&Default::default());
        let explain = |failure| self.explain(failure, Listen::NAME, &params);
        let mut pending = self
            .link()
            .begin(
                Listen::NAME,
                &params,
                &request_meta,
                ProgressWish::None,
                Patience::Endless,
            )
            .map(PendingRequest::unattended)
            .map_err(explain)?;
        let patience = self.link().timeouts.request;
        let acknowledged = acknowledgement(&mut events, pending.id());
        let granted = tokio::select! {
            // What came first on the wire comes first here, though both may be there.
            biased;
            filter = tokio::time::timeout(patience, acknowledged) => match filter {
                Ok(Some(filter)) => Ok(filter),
                Ok(None) => Err(Failure::Protocol("no acknowledgement came".to_owned())),
                Err(_) => Err(Failure::TimedOut(patience)),
            },
            ended = pending.answered() => match ended {
                Ok(_) => Err(Failure::Protocol("it ended before it began".to_owned())),
                Err(failure) => Err(failure),
            },
        };
        let granted = granted.map_err(explain)?;
        Ok(Opened {
            events,
            granted,
            pending: Box::new(pending),
        })
    }

    /// Opens a lost subscription again, however long it takes, at the pace the server is owed.
    async fn reopen(self, wanted: SubscriptionFilter, losses: u32) -> Option<Opened> {
        let link = self.link();
        for failures in losses.. {
            link.pause_before_reconnect(failures).await;
            if link.end_reason().is_some() {
                return None;
            }
            match self.open_listen(wanted.clone()).await {
                Ok(opened) => {
                    // Lists that are followed on the same connection count as changed.
                    link.report_gap();
                    return Some(opened);
                }
                Err(error) if may_pass(&error) => {}
                Err(_) => return None,
            }
        }
        None
    }
}

/// Waits for the server's word about what it will report (S-SUBM-03).
async fn acknowledgement(events: &mut Events, id: u64) -> Option<SubscriptionFilter> {
    loop {
        match &*events.next().await? {
            Event::Acknowledged {
                filter,
                subscription,
            } if *subscription == Some(id) => return Some(filter.clone()),
            _ => {}
        }
    }
}

impl Listening {
    /// The id that the events of this subscription carry.
    pub(crate) fn id(&self) -> Option<u64> {
        match &self.state {
            State::Open(pending) => Some(pending.id()),
            State::Lost(_) | State::Ended => None,
        }
    }

    /// Waits until the subscription has ended, or was lost and stands again. Can be dropped and
    /// called again.
    pub(crate) async fn turn(&mut self) -> Turn {
        loop {
            self.state = match &mut self.state {
                State::Open(pending) => match (pending.answered().await, &self.after_loss) {
                    (Err(failure), AfterLoss::Listen(client, wanted)) if is_loss(&failure) => {
                        let reopened = client.clone().reopen(wanted.clone(), self.losses);
                        self.losses = self.losses.saturating_add(1);
                        State::Lost(tokio::spawn(reopened))
                    }
                    // An orderly end (S-SUBM-07), a refusal, or the end of the connection.
                    _ => State::Ended,
                },
                State::Lost(reopening) => match reopening.await {
                    Ok(Some(opened)) => {
                        self.state = State::Open(opened.pending);
                        return Turn::Restored(opened.events, opened.granted);
                    }
                    _ => State::Ended,
                },
                State::Ended => return Turn::Ended,
            };
        }
    }

    /// Something came: the server is well.
    pub(crate) fn note_life(&mut self) {
        self.losses = 0;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let State::Lost(reopening) = &self.state {
            reopening.abort();
        }
    }
}

/// Whether a request ended because its connection was lost, as opposed to by the server's will.
fn is_loss(failure: &Failure) -> bool {
    match failure {
        Failure::OutcomeUnknown(_) | Failure::NotSent(_) => true,
        Failure::Http(error) => error.is_failure(),
        _ => false,
    }
}

/// Whether the next attempt may go better.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::NotSent { .. } | Error::OutcomeUnknown { .. } | Error::TimedOut { .. } => true,
        Error::Http { problem, .. } => problem.is_failure(),
        _ => false,
    }
}
