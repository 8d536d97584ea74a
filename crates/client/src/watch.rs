//! Being told of changes: of one resource, of lists, in either era (eras.md 1.10).

use std::collections::HashMap;
use std::sync::Arc;

use attache_protocol::frame::MetaFields;
use attache_protocol::{
    Entries, Era, Method as _, Paged, Subscribe, SubscribeParams, SubscriptionFilter, Unsubscribe,
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{OnceCell, watch};

use crate::client::Client;
use crate::error::Error;
use crate::events::{Event, Events};
use crate::listen::{Listening, Turn};
use crate::request::Request;

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// A resource.
    Resource {
        /// Its URI.
        uri: String,
    },
    /// Changes were missed: the reader was too slow, or the connection was cut for a while. Fetch
    /// again what matters.
    Missed,
}

/// A stream of changes. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Watch {
    events: Events,
    granted: SubscriptionFilter,
    hold: Hold,
}

/// What keeps the subscription up.
#[derive(Debug)]
enum Hold {
    /// Legacy: the URIs subscribed to, and who counts them.
    Subscribed(Subscriptions),
    /// Modern: the open listen request.
    Listening(Box<Listening>),
    /// Nothing: the subscription or the connection has ended.
    Ended,
}

/// URIs a legacy watch has subscribed to.
#[derive(Debug)]
struct Subscriptions {
    client: Client,
    uris: Vec<String>,
}

/// How many watches want each URI of a legacy server.
#[derive(Debug, Default)]
pub(crate) struct WatchCounts(Mutex<HashMap<String, Watched>>);

/// A URI that is watched.
#[derive(Debug, Default)]
struct Watched {
    count: usize,
    /// Set when the server has agreed; watches that begin at once wait for the same agreement.
    agreed: Arc<OnceCell<()>>,
}

impl WatchCounts {
    /// Counts one more.
    fn add(&self, uri: &str) -> Arc<OnceCell<()>> {
        let mut counts = self.0.lock();
        let watched = counts.entry(uri.to_owned()).or_default();
        watched.count += 1;
        watched.agreed.clone()
    }

    /// Counts one less; true if it was the last and the server knows of it.
    fn remove(&self, uri: &str) -> bool {
        let mut counts = self.0.lock();
        let Some(watched) = counts.get_mut(uri) else {
            return false;
        };
        watched.count -= 1;
        if watched.count > 0 {
            return false;
        }
        let last = counts.remove(uri);
        last.is_some_and(|watched| watched.agreed.initialized())
    }
}

impl Client {
    /// Watches one resource.
    pub async fn watch(&self, uri: impl Into<String>) -> Result<Watch, Error> {
        self.watch_all(SubscriptionFilter {
            resource_subscriptions: Some(vec![uri.into()]),
            ..SubscriptionFilter::default()
        })
        .await
    }

    /// Watches everything the filter names. [`Watch::granted`] tells what the server agreed to.
    pub async fn watch_all(&self, wanted: SubscriptionFilter) -> Result<Watch, Error> {
        match self.revision().era() {
            Era::Legacy => self.subscribe(wanted).await,
            Era::Modern => self.watch_by_listening(wanted).await,
        }
    }

    async fn subscribe(&self, wanted: SubscriptionFilter) -> Result<Watch, Error> {
        let uris = wanted.resource_subscriptions.clone().unwrap_or_default();
        let resources = self.capabilities().resources.as_ref();
        let can_subscribe = resources.is_some_and(|it| it.subscribe == Some(true));
        if !uris.is_empty() && !can_subscribe {
            return Err(Error::Unsupported {
                method: Subscribe::NAME.to_owned(),
                reason: "the server does not offer subscriptions to resources".to_owned(),
            });
        }
        // From here on the events of this watch are kept, and what it holds is released if a
        // later step fails.
        let mut watch = Watch {
            events: self.events(),
            granted: wanted,
            hold: Hold::Subscribed(Subscriptions {
                client: self.clone(),
                uris: Vec::new(),
            }),
        };
        for uri in uris {
            let agreed = self.watch_counts().add(&uri);
            if let Hold::Subscribed(held) = &mut watch.hold {
                held.uris.push(uri.clone());
            }
            let subscribe = async || {
                let params = SubscribeParams::new(uri);
                Request::<Subscribe>::new(self, &params).await.map(drop)
            };
            agreed.get_or_try_init(subscribe).await?;
        }
        Ok(watch)
    }

    async fn watch_by_listening(&self, wanted: SubscriptionFilter) -> Result<Watch, Error> {
        let subscription = self.listen(wanted).await?;
        Ok(Watch {
            events: subscription.events,
            granted: subscription.granted,
            hold: Hold::Listening(Box::new(subscription.listening)),
        })
    }

    /// Follows a list: each time it has changed, the whole list again. Changes that come while it
    /// is being fetched cost one more fetch, however many they are (fault 50).
    pub async fn follow<M: Followed>(&self) -> Result<Follow<M>, Error> {
        let mut changes = M::changes(self);
        changes.mark_unchanged();
        let watch = match self.revision().era() {
            Era::Legacy => None,
            Era::Modern => Some(self.watch_by_listening(M::filter()).await?),
        };
        Ok(Follow {
            client: self.clone(),
            changes,
            watch,
            method: std::marker::PhantomData,
        })
    }
}

impl Watch {
    /// What the server agreed to report (C-SUBM-05).
    pub fn granted(&self) -> &SubscriptionFilter {
        &self.granted
    }

    /// The next change; `None` when the subscription or the connection has ended.
    pub async fn next(&mut self) -> Option<Change> {
        loop {
            let event = match &mut self.hold {
                Hold::Subscribed(_) => self.events.next().await,
                Hold::Listening(listening) => tokio::select! {
                    biased;
                    event = self.events.next() => event,
                    turn = listening.turn() => match turn {
                        Turn::Ended => None,
                        Turn::Restored(events, granted) => {
                            self.events = events;
                            self.granted = granted;
                            // The first of these events is the gap.
                            continue;
                        }
                    },
                },
                Hold::Ended => None,
            };
            let Some(event) = event else {
                self.hold = Hold::Ended;
                return None;
            };
            if let Some(change) = self.change(&event) {
                if let Hold::Listening(listening) = &mut self.hold {
                    listening.note_life();
                }
                return Some(change);
            }
        }
    }

    /// Waits until the server has ended the subscription.
    async fn ended(&mut self) {
        match &mut self.hold {
            Hold::Subscribed(_) => std::future::pending().await,
            Hold::Listening(listening) => {
                // A list that is followed counts as changed when its subscription was restored.
                while let Turn::Restored(events, granted) = listening.turn().await {
                    self.events = events;
                    self.granted = granted;
                }
                self.hold = Hold::Ended;
            }
            Hold::Ended => {}
        }
    }

    fn change(&self, event: &Event) -> Option<Change> {
        match (event, &self.hold) {
            // The events of the restored subscription begin with the gap.
            (Event::Gap, Hold::Listening(listening)) if listening.id().is_none() => return None,
            (Event::Missed(_) | Event::Gap, _) => return Some(Change::Missed),
            _ => {}
        }
        match &self.hold {
            // Several subscriptions are told apart by id (C-SUBM-09).
            Hold::Listening(listening) => {
                if event.subscription().is_none() || event.subscription() != listening.id() {
                    return None;
                }
            }
            Hold::Subscribed(_) => {
                if !self.wants(event) {
                    return None;
                }
            }
            Hold::Ended => return None,
        }
        match event {
            Event::ToolsChanged { .. } => Some(Change::Tools),
            Event::PromptsChanged { .. } => Some(Change::Prompts),
            Event::ResourcesChanged { .. } => Some(Change::Resources),
            Event::ResourceUpdated { uri, .. } => Some(Change::Resource { uri: uri.clone() }),
            _ => None,
        }
    }

    /// Legacy servers tell everybody everything; the filter is applied here.
    fn wants(&self, event: &Event) -> bool {
        match event {
            Event::ToolsChanged { .. } => self.granted.tools_list_changed,
            Event::PromptsChanged { .. } => self.granted.prompts_list_changed,
            Event::ResourcesChanged { .. } => self.granted.resources_list_changed,
            // An update may name a part of what was subscribed to.
            Event::ResourceUpdated { uri, .. } => self
                .granted
                .resource_subscriptions
                .iter()
                .flatten()
                .any(|subscribed| uri.starts_with(subscribed.as_str())),
            _ => false,
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        for uri in self.uris.drain(..) {
            if self.client.watch_counts().remove(&uri) {
                // Said at once, so that a watch that begins right after is subscribed after.
                let (link, no_meta) = (self.client.link(), MetaFields::default());
                link.request_unawaited(Unsubscribe::NAME, &SubscribeParams::new(uri), &no_meta);
            }
        }
    }
}

/// A list that can be followed.
pub trait Followed: Paged + 'static {
    /// The change counter of this list.
    #[doc(hidden)]
    fn changes(client: &Client) -> watch::Receiver<u64>;

    /// The filter that asks a modern server for its changes.
    #[doc(hidden)]
    fn filter() -> SubscriptionFilter;
}

macro_rules! followed {
    ($($method:ty: $counter:ident, $filter:ident;)*) => {
        $(
            impl Followed for $method {
                fn changes(client: &Client) -> watch::Receiver<u64> {
                    client.link().lists.$counter.subscribe()
                }

                fn filter() -> SubscriptionFilter {
                    SubscriptionFilter { $filter: true, ..SubscriptionFilter::default() }
                }
            }
        )*
    };
}

followed! {
    attache_protocol::ListTools: tools, tools_list_changed;
    attache_protocol::ListPrompts: prompts, prompts_list_changed;
    attache_protocol::ListResources: resources, resources_list_changed;
}

/// A list that is fetched again whenever it has changed.
#[derive(Debug)]
pub struct Follow<M> {
    client: Client,
    changes: watch::Receiver<u64>,
    /// Keeps the modern subscription up.
    watch: Option<Watch>,
    method: std::marker::PhantomData<fn() -> M>,
}

impl<M: Followed> Follow<M>
where
    M::Item: Serialize,
    M::Result: 'static,
{
    /// Waits for a change and fetches the list; `None` when the subscription or the connection has
    /// ended.
    pub async fn next(&mut self) -> Option<Result<Entries<M::Item>, Error>> {
        let watch = self.watch.as_mut();
        let ended = async {
            match watch {
                Some(watch) => watch.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = self.changes.changed() => changed.ok()?,
            () = ended => return None,
            _ = self.client.closed() => return None,
        }
        Some(self.client.list::<M>().await)
    }
}
