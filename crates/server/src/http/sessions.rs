//! Legacy sessions over HTTP, with the streams a client can come back to.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::seal::random_name;
use crate::service::{Outlet, Principal, Service};

use super::HttpSettings;
use super::events::EventLog;

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
    used: Mutex<Instant>,
}

/// There is no room for another session, or no randomness for its name.
pub(super) struct NoRoom;

impl<S: Service> Sessions<S> {
    /// Makes a session that nobody can reach yet.
    pub(super) fn prepare(
        service: &S,
        settings: &HttpSettings,
        principal: &Principal,
    ) -> Result<Arc<Entry<S>>, NoRoom> {
        let general = Arc::new(EventLog::new(0, settings));
        let outlet: Arc<dyn Outlet> = Arc::clone(&general) as Arc<dyn Outlet>;
        Ok(Arc::new(Entry {
            id: random_name().map_err(|_| NoRoom)?,
            session: service.open(principal.clone(), outlet),
            general,
            principal: principal.clone(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
        }))
    }

    /// Makes a session reachable. Those that nobody used for long make room.
    pub(super) fn insert(
        &self,
        service: &S,
        settings: &HttpSettings,
        entry: Arc<Entry<S>>,
    ) -> Result<(), NoRoom> {
        let expired: Vec<_> = {
            let mut table = self.lock();
            let is_idle = |_: &String, it: &mut Arc<Entry<S>>| it.is_idle(settings.session_idle);
            let expired = table.extract_if(is_idle).map(|(_, it)| it).collect();
            if table.len() >= settings.max_sessions {
                return Err(NoRoom);
            }
            table.insert(entry.id.clone(), entry);
            expired
        };
        for entry in expired {
            entry.close(service);
        }
        Ok(())
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
        *entry.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Some(entry)
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Entry<S>>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Service> Entry<S> {
    /// A log for the messages of one request.
    pub(super) fn new_stream(&self, settings: &HttpSettings) -> Arc<EventLog> {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        Arc::new(EventLog::new(number, settings))
    }

    /// Keeps a stream for a client that comes back. The oldest finished ones make room.
    pub(super) fn keep(&self, log: &Arc<EventLog>, limit: usize) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(log.stream(), Arc::clone(log));
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
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.get(&number).cloned()
    }

    /// Ends the session and all its streams.
    pub(super) fn close(&self, service: &S) {
        service.close(&self.session);
        self.general.finish(None);
        let streams =
            std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner));
        for log in streams.values() {
            log.finish(None);
        }
    }

    /// A session is in use while its general stream is open.
    fn is_idle(&self, limit: Duration) -> bool {
        if self.general.is_listened_to() {
            return false;
        }
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() >= limit
    }
}
