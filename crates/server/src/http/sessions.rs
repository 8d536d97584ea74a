//! Legacy sessions over HTTP, with the streams a client can come back to.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::HttpSettings;
use super::events::EventLog;
use super::kept::KeptEvents;
use crate::seal::random_name;
use crate::service::{Outlet, Principal, Service};

/// All sessions of a face.
pub(super) struct Sessions<S: Service> {
    table: Mutex<HashMap<String, Arc<Entry<S>>>>,
}

impl<S: Service> Default for Sessions<S> {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
        }
    }
}

/// One session.
pub(super) struct Entry<S: Service> {
    pub(super) id: String,
    pub(super) session: Arc<S::Session>,
    /// What belongs to no request.
    pub(super) general: Arc<EventLog>,
    principal: Principal,
    streams: Mutex<BTreeMap<u64, Arc<EventLog>>>,
    next_stream: AtomicU64,
    kept: Arc<KeptEvents>,
    /// How many requests run.
    working: AtomicUsize,
    used: Mutex<Used>,
}

/// When a session was used, ordered by which makes room first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Used {
    /// It has a request that runs, or its general stream is open.
    now: bool,
    /// Its client has come back after `initialize`.
    again: bool,
    last: Instant,
}

/// There is no randomness for the name of a session.
pub(super) struct NoName;

impl<S: Service> Sessions<S> {
    /// Makes a session that nobody can reach yet.
    pub(super) fn prepare(
        service: &S,
        settings: &HttpSettings,
        kept: &Arc<KeptEvents>,
        principal: &Principal,
    ) -> Result<Arc<Entry<S>>, NoName> {
        let general = Arc::new(EventLog::new(0, settings, kept));
        let outlet: Arc<dyn Outlet> = Arc::clone(&general) as Arc<dyn Outlet>;
        Ok(Arc::new(Entry {
            id: random_name().map_err(|_| NoName)?,
            session: service.open(principal.clone(), outlet),
            general,
            principal: principal.clone(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            kept: Arc::clone(kept),
            working: AtomicUsize::new(0),
            used: Mutex::new(Used {
                now: false,
                again: false,
                last: Instant::now(),
            }),
        }))
    }

    /// Makes a session reachable. Those that were not used for long make room, and if that is not
    /// enough the idlest of a principal that has as many as it may, or more than any other.
    pub(super) fn insert(&self, service: &S, settings: &HttpSettings, entry: Arc<Entry<S>>) {
        entry.kept.list(&entry.general);
        let leaving: Vec<_> = {
            let mut table = self.lock();
            let is_idle = |_: &String, it: &mut Arc<Entry<S>>| it.is_idle(settings.session_idle);
            let mut leaving: Vec<_> = table.extract_if(is_idle).map(|(_, it)| it).collect();
            let mut shares: HashMap<&Principal, usize> = HashMap::new();
            for it in table.values() {
                *shares.entry(&it.principal).or_default() += 1;
            }
            let own = shares.get(&entry.principal).copied().unwrap_or_default();
            let most = || shares.iter().max_by_key(|(_, count)| **count);
            let crowded = if own >= settings.max_sessions_per_principal {
                Some(entry.principal.clone())
            } else if table.len() >= settings.max_sessions {
                most().map(|(principal, _)| (*principal).clone())
            } else {
                None
            };
            if let Some(crowded) = crowded {
                let sessions = table.values().filter(|it| it.principal == crowded);
                let idlest = sessions
                    .min_by_key(|it| it.use_of())
                    .map(|it| it.id.clone());
                leaving.extend(idlest.and_then(|id| table.remove(&id)));
            }
            table.insert(entry.id.clone(), entry);
            leaving
        };
        for entry in leaving {
            entry.close(service);
        }
    }

    /// The session of that id, if it belongs to the one who asks (S10).
    pub(super) fn find(
        &self,
        id: &str,
        principal: &Principal,
        settings: &HttpSettings,
    ) -> Option<Arc<Entry<S>>> {
        let entry = self.lock().get(id).cloned()?;
        if entry.principal != *principal || entry.is_idle(settings.session_idle) {
            return None;
        }
        entry.note_use();
        Some(entry)
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Entry<S>>>> {
        self.table.lock()
    }
}

impl<S: Service> Entry<S> {
    /// A log for the messages of one request.
    pub(super) fn new_stream(&self, settings: &HttpSettings) -> Arc<EventLog> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        Arc::new(EventLog::new(number, settings, &self.kept))
    }

    /// The session is in use until the guard is dropped.
    pub(super) fn work(self: &Arc<Self>) -> Working<S> {
        self.working.fetch_add(1, Ordering::Relaxed);
        Working(Arc::clone(self))
    }

    /// Keeps a stream for a client that comes back. The oldest finished ones make room.
    pub(super) fn keep(&self, log: &Arc<EventLog>, limit: usize) {
        let mut streams = self.streams.lock();
        streams.insert(log.stream(), Arc::clone(log));
        self.kept.list(log);
        let surplus = streams.len().saturating_sub(limit);
        let finished = streams.iter().filter(|(_, it)| it.is_finished());
        let oldest: Vec<u64> = finished.map(|(number, _)| *number).take(surplus).collect();
        for number in oldest {
            streams.remove(&number);
        }
    }

    pub(super) fn stream(&self, number: u64) -> Option<Arc<EventLog>> {
        if number == 0 {
            return Some(Arc::clone(&self.general));
        }
        let streams = self.streams.lock();
        let log = streams.get(&number).cloned();
        log.filter(|log| !log.is_forgotten())
    }

    /// Ends the session and all its streams.
    pub(super) fn close(&self, service: &S) {
        service.close(&self.session);
        self.general.finish(None);
        let streams = std::mem::take(&mut *self.streams.lock());
        for log in streams.values() {
            log.finish(None);
        }
    }

    fn note_use(&self) {
        let mut used = self.used.lock();
        used.again = true;
        used.last = Instant::now();
    }

    fn use_of(&self) -> Used {
        let used = *self.used.lock();
        Used {
            now: self.general.is_listened_to() || self.working.load(Ordering::Relaxed) > 0,
            ..used
        }
    }

    fn is_idle(&self, limit: Duration) -> bool {
        let used = self.use_of();
        !used.now && used.last.elapsed() >= limit
    }
}

/// A request of a session that runs.
pub(super) struct Working<S: Service>(Arc<Entry<S>>);

impl<S: Service> Drop for Working<S> {
    fn drop(&mut self) {
        self.0.note_use();
        self.0.working.fetch_sub(1, Ordering::Relaxed);
    }
}
