//! What servers said, remembered for as long as it may be.
//!
//! Owns freshness, the bound in bytes, invalidation, and that many readers of the same thing cost
//! one request. It does not know how anything is fetched. The server's own word about how long an
//! answer is fresh comes first, the configured time second (seed 000, seeds row 38); an
//! answer that is neither is kept only to be served, marked as stale, when fetching fails.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use attache_client::protocol::{
    Entries, Prompt, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use attache_client::{Error as ClientError, Meaning};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::catalog::ListKind;
use crate::config::{CacheRules, CacheUse, ServerName};
use crate::error::Error;
use crate::snapshot::CacheSnapshot;

/// The longest time a server's word is believed for.
const LONGEST_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// What an entry costs beside its contents.
const ENTRY_OVERHEAD: u64 = 256;
/// How many parents of a changed resource are made stale with it.
const MOST_PARENTS: usize = 32;

/// An answer of a server.
#[derive(Clone, Debug)]
pub enum Cached {
    /// A list of tools.
    Tools(Arc<Entries<Tool>>),
    /// A list of resources.
    Resources(Arc<Entries<Resource>>),
    /// A list of resource templates.
    Templates(Arc<Entries<ResourceTemplate>>),
    /// A list of prompts.
    Prompts(Arc<Entries<Prompt>>),
    /// The contents of a resource.
    Contents(Arc<ReadResourceResult>),
}

impl Cached {
    /// How many entries it has, if it is a list.
    pub fn length(&self) -> Option<usize> {
        match self {
            Self::Tools(entries) => Some(entries.len()),
            Self::Resources(entries) => Some(entries.len()),
            Self::Templates(entries) => Some(entries.len()),
            Self::Prompts(entries) => Some(entries.len()),
            Self::Contents(_) => None,
        }
    }

    /// Its size as JSON, which is close to what it costs to keep.
    fn bytes(&self) -> u64 {
        let mut counter = ByteCount(0);
        // Counting cannot fail, and what cannot be written costs nothing.
        let _ = match self {
            Self::Tools(entries) => serde_json::to_writer(&mut counter, &**entries),
            Self::Resources(entries) => serde_json::to_writer(&mut counter, &**entries),
            Self::Templates(entries) => serde_json::to_writer(&mut counter, &**entries),
            Self::Prompts(entries) => serde_json::to_writer(&mut counter, &**entries),
            Self::Contents(contents) => serde_json::to_writer(&mut counter, &**contents),
        };
        counter.0 + ENTRY_OVERHEAD
    }
}

struct ByteCount(u64);

impl std::io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Who may be given a remembered answer, as its server says (2026-07-28).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheScope {
    /// Only the user it was fetched for.
    #[default]
    Private,
    /// Anybody.
    Public,
}

/// What a server says about how long its answer is fresh, over all pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lifetimes {
    ttl_ms: Option<i64>,
    scope: Option<CacheScope>,
}

impl Lifetimes {
    /// Takes note of one page: the shortest time and the narrowest scope count.
    pub fn note(&mut self, ttl_ms: Option<i64>, scope: Option<&str>) {
        self.ttl_ms = match (self.ttl_ms, ttl_ms) {
            (Some(former), Some(now)) => Some(former.min(now)),
            (former, now) => former.or(now),
        };
        let scope = match scope {
            Some("public") => CacheScope::Public,
            _ => CacheScope::Private,
        };
        self.scope = match self.scope {
            Some(CacheScope::Private) => Some(CacheScope::Private),
            _ => Some(scope),
        };
    }

    fn ttl(&self, rules: &CacheRules, what: &What) -> Duration {
        let own = self.ttl_ms.map(|ms| {
            // A negative time is no time (C-CACHE: nothing is fresh that the server does not
            // call so).
            Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(LONGEST_TTL)
        });
        let configured = match what {
            What::List(_) => rules.list_ttl.or(rules.ttl),
            What::Contents(_) => rules.ttl,
        };
        own.or(configured).unwrap_or(Duration::ZERO)
    }
}

/// An answer that was just fetched.
#[derive(Clone, Debug)]
pub struct Fetched {
    value: Cached,
    lifetimes: Lifetimes,
    /// When the request that succeeded was sent, if that was later than the first attempt.
    asked_in: Option<Epoch>,
    /// The server declares that it has such a thing.
    offered: bool,
}

impl Fetched {
    /// An answer and what its server says about it.
    pub fn new(value: Cached, lifetimes: Lifetimes) -> Self {
        Self {
            value,
            lifetimes,
            asked_in: None,
            offered: true,
        }
    }

    /// Nothing was asked for, since the server does not declare to have it.
    pub(crate) fn not_offered(mut self) -> Self {
        self.offered = false;
        self
    }

    /// Says in which epoch the server was asked. A fetch that had to be repeated is as new as its
    /// last attempt.
    pub(crate) fn asked_in(mut self, epoch: Epoch) -> Self {
        self.asked_in = Some(epoch);
        self
    }

    /// The answer.
    pub fn value(&self) -> &Cached {
        &self.value
    }
}

/// What is remembered under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) server: ServerName,
    pub(crate) what: What,
}

/// What of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    List(ListKind),
    Contents(Arc<str>),
}

/// An answer and how fresh it is.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) value: Cached,
    pub(crate) freshness: Freshness,
    pub(crate) scope: CacheScope,
    /// The server declares that it has such a thing.
    pub(crate) offered: bool,
}

/// How fresh an answer is.
#[derive(Clone, Debug)]
pub enum Freshness {
    /// The server has just given it.
    Fetched,
    /// Remembered, and still as good as new.
    Fresh {
        /// How old it is.
        age: Duration,
    },
    /// Remembered and outdated; fetching it again failed.
    Stale {
        /// How old it is.
        age: Duration,
        /// Why there is nothing newer.
        because: Box<Error>,
    },
}

/// What the counts of [`Epochs`] were at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(u64, u64);

/// Counts that rise when what is remembered of a server is no longer so. An answer is good only if
/// they are what they were when fetching it began, so a change during the fetch counts too.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    everything: AtomicU64,
    lists: [AtomicU64; ListKind::ALL.len()],
}

impl Epochs {
    /// Everything of the server is outdated.
    pub(crate) fn everything_changed(&self) {
        self.everything.fetch_add(1, Ordering::AcqRel);
    }

    /// One list is.
    pub(crate) fn list_changed(&self, kind: ListKind) {
        self.lists[kind as usize].fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn of(&self, what: &What) -> Epoch {
        let own = match what {
            What::List(kind) => self.lists[*kind as usize].load(Ordering::Acquire),
            What::Contents(_) => 0,
        };
        Epoch(self.everything.load(Ordering::Acquire), own)
    }
}

struct Entry {
    value: Cached,
    scope: CacheScope,
    offered: bool,
    bytes: u64,
    fetched: Instant,
    fresh_until: Instant,
    epoch: Epoch,
    /// A notification has named this very entry.
    outdated: AtomicBool,
}

impl Entry {
    /// Whether nothing has said since that it has changed.
    fn is_good(&self, key: &Key, epochs: &Epochs) -> bool {
        self.epoch == epochs.of(&key.what) && !self.outdated.load(Ordering::Acquire)
    }
}

/// One fetch that any number of readers wait for.
struct Flight {
    landed: OnceCell<Result<Found, Error>>,
    /// The epoch it began in. Who comes in a later one must not be given its answer.
    epoch: Epoch,
    /// A notification came during the fetch.
    outdated: AtomicBool,
}

/// What a host remembers.
pub(crate) struct Cache {
    store: moka::sync::Cache<Key, Arc<Entry>>,
    flights: Mutex<HashMap<Key, Weak<Flight>>>,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    stale: AtomicU64,
    shared: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Cache {
    /// A cache of at most so many bytes.
    pub(crate) fn new(most_bytes: u64) -> Self {
        let store = moka::sync::Cache::builder()
            .max_capacity(most_bytes)
            .weigher(|_: &Key, entry: &Arc<Entry>| u32::try_from(entry.bytes).unwrap_or(u32::MAX))
            .build();
        Self {
            store,
            flights: Mutex::default(),
            counters: Counters::default(),
        }
    }

    /// The answer under `key`: remembered if it is fresh, otherwise fetched, once for all who want
    /// it now. When fetching fails, what is remembered is given, marked as stale.
    pub(crate) async fn get<F>(
        &self,
        key: Key,
        rules: &CacheRules,
        epochs: &Epochs,
        fetch: impl FnOnce() -> F + Send,
    ) -> Result<Found, Error>
    where
        F: Future<Output = Result<Fetched, Error>> + Send,
    {
        if rules.usage == CacheUse::Off {
            count(&self.counters.misses);
            let Fetched {
                value,
                lifetimes,
                offered,
                ..
            } = fetch().await?;
            return Ok(Found {
                value,
                freshness: Freshness::Fetched,
                scope: lifetimes.scope.unwrap_or_default(),
                offered,
            });
        }
        if let Some(found) = self.fresh(&key, epochs) {
            count(&self.counters.hits);
            return Ok(found);
        }
        let flight = self.flight(&key, epochs);
        // If the one who fetches is dropped, the next who waits takes over.
        let landed = flight.landed.get_or_init(async || {
            count(&self.counters.misses);
            let landed = match fetch().await {
                Ok(fetched) => Ok(self.keep(&key, rules, fetched, &flight)),
                Err(error) => self.stale(&key, error),
            };
            // Nobody may join any more: what happens from now on is not in this answer.
            self.land(&key, &flight);
            landed
        });
        landed.await.clone()
    }

    /// What is remembered, however old, unless it is known to be outdated.
    pub(crate) fn remembered(&self, key: &Key, epochs: &Epochs) -> Option<Cached> {
        let entry = self.store.get(key)?;
        entry.is_good(key, epochs).then(|| entry.value.clone())
    }

    /// The same, unless it was fetched longer ago than this.
    pub(crate) fn remembered_within(
        &self,
        key: &Key,
        epochs: &Epochs,
        within: Duration,
    ) -> Option<Cached> {
        let entry = self.store.get(key)?;
        let is_new = entry.fetched.elapsed() <= within;
        is_new.then(|| self.remembered(key, epochs)).flatten()
    }

    /// Drops what is remembered.
    pub(crate) fn forget(&self, key: &Key) {
        self.store.invalidate(key);
    }

    /// What is remembered; also what the server has announced a change of since, if it was fetched
    /// at most so long ago. Nothing if everything of the server is outdated, as after its restart.
    pub(crate) fn remembered_or_lately(
        &self,
        key: &Key,
        epochs: &Epochs,
        within: Duration,
    ) -> Option<Cached> {
        let entry = self.store.get(key)?;
        let same_server = entry.epoch.0 == epochs.of(&key.what).0;
        let lately = same_server && entry.fetched.elapsed() <= within;
        (entry.is_good(key, epochs) || lately).then(|| entry.value.clone())
    }

    /// What is remembered at all.
    pub(crate) fn last_known(&self, key: &Key) -> Option<Cached> {
        self.store.get(key).map(|entry| entry.value.clone())
    }

    /// A resource has changed: it is outdated, and so is what it may be a part of (the notification
    /// may name a part of what was read).
    pub(crate) fn resource_changed(&self, server: &ServerName, uri: &str) {
        let mut names = vec![uri];
        let mut rest = uri;
        while let Some((parent, _)) = rest.rsplit_once('/')
            && names.len() < MOST_PARENTS
        {
            names.push(parent);
            rest = parent;
        }
        for name in names {
            let key = Key {
                server: server.clone(),
                what: What::Contents(name.into()),
            };
            if let Some(entry) = self.store.get(&key) {
                entry.outdated.store(true, Ordering::Release);
            }
            if let Some(flight) = self.flights().get(&key).and_then(Weak::upgrade) {
                flight.outdated.store(true, Ordering::Release);
            }
        }
    }

    pub(crate) fn snapshot(&self) -> CacheSnapshot {
        self.store.run_pending_tasks();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheSnapshot {
            hits: read(&self.counters.hits),
            misses: read(&self.counters.misses),
            stale: read(&self.counters.stale),
            shared: read(&self.counters.shared),
            entries: self.store.entry_count(),
            bytes: self.store.weighted_size(),
        }
    }

    fn fresh(&self, key: &Key, epochs: &Epochs) -> Option<Found> {
        let entry = self.store.get(key)?;
        let now = Instant::now();
        let good = now < entry.fresh_until && entry.is_good(key, epochs);
        good.then(|| Found {
            value: entry.value.clone(),
            freshness: Freshness::Fresh {
                age: now - entry.fetched,
            },
            scope: entry.scope,
            offered: entry.offered,
        })
    }

    fn keep(&self, key: &Key, rules: &CacheRules, fetched: Fetched, flight: &Flight) -> Found {
        let Fetched {
            value,
            lifetimes,
            asked_in,
            offered,
        } = fetched;
        let now = Instant::now();
        let scope = lifetimes.scope.unwrap_or_default();
        let entry = Entry {
            bytes: value.bytes(),
            value: value.clone(),
            scope,
            offered,
            fetched: now,
            fresh_until: now + lifetimes.ttl(rules, &key.what),
            epoch: asked_in.unwrap_or(flight.epoch),
            outdated: AtomicBool::new(flight.outdated.load(Ordering::Acquire)),
        };
        self.store.insert(key.clone(), Arc::new(entry));
        Found {
            value,
            freshness: Freshness::Fetched,
            scope,
            offered,
        }
    }

    /// An old answer is better than none, unless the server itself says that there is none.
    fn stale(&self, key: &Key, error: Error) -> Result<Found, Error> {
        if is_the_answer(&key.what, &error) {
            self.store.invalidate(key);
            return Err(error);
        }
        let Some(entry) = self.store.get(key) else {
            return Err(error);
        };
        count(&self.counters.stale);
        Ok(Found {
            value: entry.value.clone(),
            freshness: Freshness::Stale {
                age: Instant::now() - entry.fetched,
                because: Box::new(error),
            },
            scope: entry.scope,
            offered: entry.offered,
        })
    }

    /// The flight to join, or a new one.
    fn flight(&self, key: &Key, epochs: &Epochs) -> Arc<Flight> {
        let epoch = epochs.of(&key.what);
        let mut flights = self.flights();
        if let Some(flight) = flights.get(key).and_then(Weak::upgrade)
            && flight.epoch == epoch
            && !flight.outdated.load(Ordering::Acquire)
        {
            count(&self.counters.shared);
            return flight;
        }
        // Flights whose readers were all dropped leave their keys behind.
        flights.retain(|_, flight| flight.strong_count() > 0);
        let flight = Arc::new(Flight {
            landed: OnceCell::new(),
            epoch,
            outdated: AtomicBool::new(false),
        });
        flights.insert(key.clone(), Arc::downgrade(&flight));
        flight
    }

    fn land(&self, key: &Key, flight: &Arc<Flight>) {
        let mut flights = self.flights();
        let same = flights
            .get(key)
            .is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(flight)));
        if same {
            flights.remove(key);
        }
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Key, Weak<Flight>>> {
        self.flights.lock()
    }
}

/// Whether an error is what the server has to say, rather than a failure to hear it. A resource can
/// be missing, a list cannot (fault 73).
fn is_the_answer(what: &What, error: &Error) -> bool {
    match error.client_error() {
        Some(ClientError::Server(error)) => match error.meaning {
            Meaning::ResourceNotFound => matches!(what, What::Contents(_)),
            Meaning::InvalidParams | Meaning::MethodNotFound => true,
            _ => false,
        },
        Some(ClientError::Input(_) | ClientError::Unsupported { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
