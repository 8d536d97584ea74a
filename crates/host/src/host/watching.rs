//! Being told of changes of a server, across its restarts.

use std::sync::Arc;
use std::time::Duration;

use attache_client::protocol::{Ending, SubscriptionFilter};
use attache_client::{Change, Client, Watch as ClientWatch};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Host;
use super::server_handle::ServerHandle;
use crate::config::ServerName;
use crate::error::Error;
use crate::supervisor::{Connection, Patience};

/// Changes queued for a reader that does not read. Then the watch waits, and what the connection
/// drops meanwhile is told as [`Change::Missed`].
const QUEUE: usize = 64;
/// The pauses between two subscriptions of one watch on one connection double from the first to the
/// longest. A server that ends each at once sees nine of them in its worst minute (fault 58, P9).
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A subscription that lasted this long makes the next pause a first one again.
const LASTING: Duration = Duration::from_secs(60);

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum Watched {
    /// Something changed.
    Changed(Change),
    /// The server was restarted and the subscription made anew. Changes in between were not seen:
    /// fetch again what matters.
    Resubscribed,
    /// The watch has ended, because the server is parked, stopped, or refuses it now.
    Ended(Error),
}

/// A stream of changes of one server, which survives its restarts. Dropping it ends the
/// subscription.
#[derive(Debug)]
pub struct Watch {
    server: ServerName,
    granted: SubscriptionFilter,
    changes: mpsc::Receiver<Watched>,
    following: JoinHandle<()>,
}

impl Host {
    /// Watches one resource. Which server's it is follows from the lists, unless `server` names it.
    pub async fn watch(&self, uri: &str) -> Result<Watch, Error> {
        let server_handle = self.find_resource(uri).await?;
        watch(server_handle, resource(uri)).await
    }

    /// Watches one resource of a server.
    pub async fn watch_of(&self, server: &str, uri: &str) -> Result<Watch, Error> {
        watch(self.server_handle(server)?, resource(uri)).await
    }

    /// Watches everything of a server that the filter names.
    pub async fn watch_all(
        &self,
        server: &str,
        wanted: SubscriptionFilter,
    ) -> Result<Watch, Error> {
        watch(self.server_handle(server)?, wanted).await
    }
}

fn resource(uri: &str) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: Some(vec![uri.to_owned()]),
        ..SubscriptionFilter::default()
    }
}

impl Watch {
    /// Whose changes these are.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// What the server agreed to tell of, when the watch began.
    pub fn granted(&self) -> &SubscriptionFilter {
        &self.granted
    }

    /// The next thing to know; `None` when the watch has ended and said why.
    pub async fn next(&mut self) -> Option<Watched> {
        self.changes.recv().await
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.following.abort();
    }
}

/// Subscribes, and returns when the server has agreed.
async fn watch(
    server_handle: Arc<ServerHandle>,
    wanted: SubscriptionFilter,
) -> Result<Watch, Error> {
    let connection = server_handle
        .connection_after(0, Patience::Persistent)
        .await?;
    let subscription = subscribe(&server_handle, &connection.client, &wanted).await?;
    let (sender, changes) = mpsc::channel(QUEUE);
    let server = server_handle.name().clone();
    let granted = subscription.granted().clone();
    let following = tokio::spawn(async move {
        let ended = follow(&server_handle, connection, subscription, wanted, &sender).await;
        // Without a reader nobody has to be told.
        if let Err(error) = ended {
            let _ = sender.send(Watched::Ended(error)).await;
        }
    });
    Ok(Watch {
        server,
        granted,
        changes,
        following,
    })
}

async fn subscribe(
    server_handle: &ServerHandle,
    client: &Client,
    wanted: &SubscriptionFilter,
) -> Result<ClientWatch, Error> {
    let subscribed = client.watch_all(wanted.clone()).await;
    subscribed.map_err(|error| Error::Request {
        server: server_handle.name().clone(),
        error,
    })
}

/// Passes changes on, and subscribes again whenever the subscription has ended.
async fn follow(
    server_handle: &ServerHandle,
    mut connection: Connection,
    mut subscription: ClientWatch,
    wanted: SubscriptionFilter,
    changes: &mpsc::Sender<Watched>,
) -> Result<(), Error> {
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = Instant::now();
        while let Some(change) = subscription.next().await {
            if changes.send(Watched::Changed(change)).await.is_err() {
                return Ok(());
            }
        }
        if begun.elapsed() >= LASTING {
            pause = FIRST_PAUSE;
        }
        // The connection mostly ends with it. If it does not, the server has ended the
        // subscription alone, and gets a pause before the next.
        let closed = connection.client.closed();
        if tokio::time::timeout(pause, closed).await.is_ok() {
            // How often a server is started is for its supervisor to say.
            let patience = Patience::Persistent;
            connection = server_handle
                .connection_after(connection.number, patience)
                .await?;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
        subscription = match subscribe(server_handle, &connection.client, &wanted).await {
            Ok(subscription) => subscription,
            // It died again, or a gateway has lost it; the next round waits for its successor.
            Err(error) => match error.ending() {
                Some(Ending::NotSent | Ending::OutcomeUnknown) => continue,
                _ => return Err(error),
            },
        };
        if changes.send(Watched::Resubscribed).await.is_err() {
            return Ok(());
        }
    }
}
