//! Lists of all servers or of one.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use attache_client::protocol::{Prompt, Resource, ResourceTemplate, Tool};
use tokio::task::JoinSet;

use super::Host;
use super::station::Station;
use crate::cache::Freshness;
use crate::catalog::{Aggregate, Listable, Outcome, Part, aggregate};
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
    entry: PhantomData<fn() -> T>,
}

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
            entry: PhantomData,
        }
    }
}

impl<T: Listable> List<T> {
    /// Asks one server only.
    pub fn server(mut self, name: impl Into<String>) -> Self {
        self.server = Some(name.into());
        self
    }

    /// After how long a server that has not answered is answered for by what is remembered of it.
    pub fn remembered_after(mut self, patience: Duration) -> Self {
        self.remembered_after = patience;
        self
    }

    async fn fetch(self) -> Result<Aggregate<T>, Error> {
        let stations = match &self.server {
            Some(name) => vec![self.host.station(name)?],
            None => self.host.stations(),
        };
        let patience = match stations.as_slice() {
            // Who asks one server wants it; many are not kept waiting for one that fails.
            [_] => Patience::Persistent,
            _ => Patience::FirstFailure,
        };
        let parts = each(stations, move |station| {
            part::<T>(station, patience, self.remembered_after)
        });
        Ok(aggregate(parts.await))
    }
}

impl<T: Listable> IntoFuture for List<T> {
    type Output = Result<Aggregate<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.fetch())
    }
}

/// Does the same with many servers at once; none waits for another (P5).
async fn each<R, F>(stations: Vec<Arc<Station>>, work: impl Fn(Arc<Station>) -> F) -> Vec<R>
where
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    if let [only] = stations.as_slice() {
        return vec![work(only.clone()).await];
    }
    let mut under_way = JoinSet::new();
    for station in stations {
        under_way.spawn(work(station));
    }
    under_way.join_all().await
}

/// One server's part in a list.
async fn part<T: Listable>(
    station: Arc<Station>,
    patience: Patience,
    remembered_after: Duration,
) -> Part<T> {
    let filter = station.config().tool_filter.clone();
    let part = |outcome, error, entries| Part {
        server: station.name().clone(),
        outcome,
        error,
        entries,
        filter,
    };
    if !station.is_enabled() {
        let server = station.name().clone();
        return part(
            Outcome::Disabled,
            Some(Error::Disabled { server }),
            Arc::default(),
        );
    }
    let fetched = if station.remembers(T::KIND) {
        // What is given up here goes on by itself, so that a late success still counts (fault 35).
        let going_on = station.clone();
        let fetch = tokio::spawn(async move { going_on.list::<T>(patience).await });
        match tokio::time::timeout(remembered_after, fetch).await {
            Ok(Ok(fetched)) => Ok(fetched),
            Ok(Err(_)) => Err("its answer could not be worked out".to_owned()),
            Err(_) => Err(format!("no answer within {remembered_after:?}")),
        }
    } else {
        Ok(station.list::<T>(patience).await)
    };
    let because = match &fetched {
        Ok(Ok((entries, found))) => match &found.freshness {
            Freshness::Stale { because, .. } => because.to_string(),
            _ => return part(Outcome::Ok, None, entries.clone()),
        },
        Ok(Err(error)) => error.to_string(),
        Err(because) => because.clone(),
    };
    if let Some(remembered) = station.remembered::<T>() {
        let outcome = Outcome::Remembered {
            saved_ms: remembered.saved_ms,
            because,
        };
        let error = fetched.ok().and_then(Result::err);
        return part(outcome, error, Arc::new(remembered.entries));
    }
    match fetched {
        Ok(Ok((entries, found))) => {
            let age = match found.freshness {
                Freshness::Stale { age, .. } | Freshness::Fresh { age } => age,
                Freshness::Fetched => Duration::ZERO,
            };
            let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let saved_ms = crate::events::now_ms().saturating_sub(age_ms);
            part(Outcome::Remembered { saved_ms, because }, None, entries)
        }
        Ok(Err(error)) => part(Outcome::of(&error), Some(error), Arc::default()),
        Err(_) => part(Outcome::Starting, None, Arc::default()),
    }
}
