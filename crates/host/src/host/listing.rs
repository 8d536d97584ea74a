//! Lists of all servers or of one, and how long servers are waited for.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use attache_client::protocol::{Entries, Prompt, Resource, ResourceTemplate, Tool};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Host;
use super::server_handle::ServerHandle;
use crate::cache::{Found, Freshness};
use crate::catalog::{Aggregate, Listable, Outcome, Part, aggregate};
use crate::config::ServerName;
use crate::error::Error;
use crate::supervisor::Patience;

/// How long a server that is remembered may keep everybody waiting.
const REMEMBERED_AFTER: Duration = Duration::from_secs(1);

/// A list that is fetched when it is awaited.
#[must_use = "a list is fetched when it is awaited"]
pub struct List<T> {
    host: Host,
    server: Option<String>,
    remembered_after: Duration,
    starting_after: Duration,
    takes_latest: bool,
    on_answer: Option<Listener<T>>,
}

/// What is told of each server's part as it comes.
type Listener<T> = Box<dyn FnMut(Aggregate<T>) + Send>;

impl Host {
    /// The tools of all servers.
    pub fn list_tools(&self) -> List<Tool> {
        self.list()
    }

    /// The resources of all servers.
    pub fn list_resources(&self) -> List<Resource> {
        self.list()
    }

    /// The resource templates of all servers.
    pub fn list_templates(&self) -> List<ResourceTemplate> {
        self.list()
    }

    /// The prompts of all servers.
    pub fn list_prompts(&self) -> List<Prompt> {
        self.list()
    }

    /// Any of the four lists.
    pub fn list<T: Listable>(&self) -> List<T> {
        List {
            host: self.clone(),
            server: None,
            remembered_after: REMEMBERED_AFTER,
            starting_after: Duration::MAX,
            takes_latest: false,
            on_answer: None,
        }
    }
}

impl<T: Listable> List<T> {
    /// Asks one server only.
    pub fn server(mut self, name: impl Into<String>) -> Self {
        self.server = Some(name.into());
        self
    }

    /// After how long servers that have not answered are answered for by what is remembered of
    /// them: a second, unless this says otherwise. As long as a server of which nothing is known is
    /// waited for, the others may still answer too.
    pub fn remembered_after(mut self, patience: Duration) -> Self {
        self.remembered_after = patience;
        self
    }

    /// After how long a server of which nothing is known is told to be starting. Without this it is
    /// waited for until it answers or fails, or its start has taken as long as it may.
    pub fn starting_after(mut self, patience: Duration) -> Self {
        self.starting_after = patience;
        self
    }

    /// Takes a list that was fetched within the last second, and not changed since as far as its
    /// server says: so that many who look for names do not ask for one list each.
    pub fn or_latest(mut self) -> Self {
        self.takes_latest = true;
        self
    }

    /// Waits until every server has answered or failed, or its start has taken as long as it may;
    /// what is remembered stands in only for servers that failed.
    pub fn for_all(self) -> Self {
        self.remembered_after(Duration::MAX)
            .starting_after(Duration::MAX)
    }

    /// Tells of each server as it answers or fails, before the whole list is there: an aggregate of
    /// that server alone. Servers that are switched off, or given up, come with the whole list only.
    pub fn on_answer(mut self, listener: impl FnMut(Aggregate<T>) + Send + 'static) -> Self {
        self.on_answer = Some(Box::new(listener));
        self
    }

    async fn fetch(mut self) -> Result<Aggregate<T>, Error> {
        let server_handles = match &self.server {
            Some(name) => vec![self.host.server_handle(name)?],
            None => self.host.server_handles(),
        };
        let patience = match server_handles.as_slice() {
            // Who asks one server wants it; many are not kept waiting for one that fails.
            [_] => Patience::Persistent,
            _ => Patience::FirstFailure,
        };
        let began = Instant::now();
        let mut parts = Vec::new();
        let mut missing: BTreeMap<ServerName, Arc<ServerHandle>> = BTreeMap::new();
        // None waits for another (P5).
        let mut under_way = JoinSet::new();
        for server_handle in server_handles {
            if !server_handle.is_enabled() {
                parts.push(disabled(&server_handle));
                continue;
            }
            let latest = self.takes_latest.then(|| server_handle.known_lately::<T>());
            if let Some(entries) = latest.flatten() {
                parts.push(part(&server_handle, Outcome::Ok, None, entries));
                continue;
            }
            missing.insert(server_handle.name().clone(), server_handle.clone());
            under_way.spawn(async move {
                let fetched = server_handle.list::<T>(patience).await;
                (server_handle, fetched)
            });
        }
        let mut because = String::new();
        while !missing.is_empty() {
            let wait = match missing.values().all(|it| it.remembers(T::KIND)) {
                true => self.remembered_after,
                false => self.starting_after,
            };
            let left = wait.saturating_sub(began.elapsed());
            match tokio::time::timeout(left, under_way.join_next()).await {
                Ok(Some(Ok((server_handle, fetched)))) => {
                    missing.remove(server_handle.name());
                    let part = answered(&server_handle, fetched);
                    if let Some(listener) = &mut self.on_answer {
                        listener(aggregate(vec![part.clone()]));
                    }
                    parts.push(part);
                }
                Ok(Some(Err(_))) => {}
                Ok(None) => {
                    "its answer could not be worked out".clone_into(&mut because);
                    break;
                }
                Err(_) => {
                    because = format!("no answer within {wait:?}");
                    break;
                }
            }
        }
        // What is given up here goes on by itself, so that a late success still counts (fault 35).
        under_way.detach_all();
        let unanswered = missing.values().map(|it| unanswered(it, because.clone()));
        parts.extend(unanswered);
        Ok(aggregate(parts))
    }
}

impl<T: Listable> IntoFuture for List<T> {
    type Output = Result<Aggregate<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.fetch())
    }
}

fn part<T>(
    server_handle: &ServerHandle,
    outcome: Outcome,
    error: Option<Error>,
    entries: Arc<Entries<T>>,
) -> Part<T> {
    Part {
        server: server_handle.name().clone(),
        outcome,
        error,
        entries,
        filter: server_handle.config().tool_filter.clone(),
    }
}

/// The part of a server that is switched off.
fn disabled<T>(server_handle: &ServerHandle) -> Part<T> {
    let server = server_handle.name().clone();
    let error = Error::Disabled { server };
    part(
        server_handle,
        Outcome::Disabled,
        Some(error),
        Arc::default(),
    )
}

/// The part of a server that has not answered in time.
fn unanswered<T: Listable>(server_handle: &ServerHandle, because: String) -> Part<T> {
    match server_handle.remembered::<T>() {
        Some(remembered) => {
            let outcome = Outcome::Remembered {
                saved_ms: remembered.saved_ms,
                because,
            };
            part(server_handle, outcome, None, Arc::new(remembered.entries))
        }
        None => part(server_handle, Outcome::Starting, None, Arc::default()),
    }
}

/// The part of a server that has answered or failed. What is remembered is better than a failure.
fn answered<T: Listable>(
    server_handle: &ServerHandle,
    fetched: Result<(Arc<Entries<T>>, Found), Error>,
) -> Part<T> {
    let (because, outdated) = match &fetched {
        Ok((entries, found)) => match &found.freshness {
            Freshness::Stale { because, age } => (because.to_string(), Some((entries, *age))),
            _ if !found.offered => {
                return part(server_handle, Outcome::NotOffered, None, entries.clone());
            }
            _ => return part(server_handle, Outcome::Ok, None, entries.clone()),
        },
        Err(error) => (error.to_string(), None),
    };
    let remembered = match outdated {
        Some((entries, age)) => {
            let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let saved_ms = crate::journal::now_ms().saturating_sub(age_ms);
            Some((saved_ms, entries.clone()))
        }
        None => server_handle
            .remembered::<T>()
            .map(|it| (it.saved_ms, Arc::new(it.entries))),
    };
    let error = fetched.err();
    match (remembered, error) {
        (Some((saved_ms, entries)), error) => {
            let outcome = Outcome::Remembered { saved_ms, because };
            part(server_handle, outcome, error, entries)
        }
        (None, Some(error)) => {
            let outcome = Outcome::of(&error);
            part(server_handle, outcome, Some(error), Arc::default())
        }
        (None, None) => part(server_handle, Outcome::Starting, None, Arc::default()),
    }
}
