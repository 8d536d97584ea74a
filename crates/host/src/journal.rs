//! The one book of a host: its events, numbered, and what they add up to.
//!
//! Owns the order of things. Everything that changes a state, a request or a question is told here,
//! under one lock, and changes the [`Snapshot`] in the same step; so a snapshot and the number it
//! names belong together. Events that change nothing are made only if a reader wants them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use attache_client::protocol::Ending;
use attache_client::ring::{Next, Retention, Ring};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::config::{ServerConfig, ServerName};
use crate::events::{EVENT_BYTES, EVENT_CAPACITY, Event, EventKind, Events, TooOld};
use crate::questions::Queue;
use crate::redact::Redactor;
use crate::snapshot::{ServerState, Snapshot};

/// The writing side, which everything in a host shares. Its end is the end of all streams.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) core: Arc<Core>,
    requests: AtomicU64,
}

/// What readers, faces and the host share.
pub(crate) struct Core {
    state: Mutex<State>,
    /// Whether events are kept for anybody, as a hint that needs no lock.
    heard: AtomicBool,
    /// Wakes readers of events.
    pub(crate) told: Notify,
    /// Wakes those who wait for questions, or for the end of one.
    pub(crate) asked: Notify,
}

pub(crate) struct State {
    ring: Ring<Arc<Event>>,
    /// What all events up to now add up to.
    pub(crate) now: Snapshot,
    pub(crate) queue: Queue,
    closed: bool,
}

impl Journal {
    /// A journal that keeps so many events even if there is no reader.
    pub(crate) fn new(kept: Option<usize>) -> Self {
        let retention = match kept {
            Some(_) => Retention::Always,
            None => Retention::WhileRead,
        };
        let ring = Ring::new(kept.unwrap_or(EVENT_CAPACITY), EVENT_BYTES, retention);
        let core = Core {
            heard: AtomicBool::new(ring.is_wanted()),
            state: Mutex::new(State {
                ring,
                now: Snapshot {
                    started_ms: now_ms(),
                    ..Snapshot::default()
                },
                queue: Queue::default(),
                closed: false,
            }),
            told: Notify::new(),
            asked: Notify::new(),
        };
        Self {
            core: Arc::new(core),
            requests: AtomicU64::new(0),
        }
    }

    /// What happens from now on.
    pub(crate) fn events(&self) -> Events {
        self.follow().1
    }

    /// What happens after an event.
    pub(crate) fn events_after(&self, seq: u64) -> Result<Events, TooOld> {
        let mut state = self.core.lock();
        let now = state.now.seq;
        let reader = state.ring.begin(seq).ok_or(TooOld { asked: seq, now })?;
        self.core.heard.store(true, Ordering::Relaxed);
        Ok(Events::new(self.core.clone(), reader))
    }

    /// How things are, and what happens after that.
    pub(crate) fn follow(&self) -> (Snapshot, Events) {
        let mut state = self.core.lock();
        let last = state.ring.last();
        // What follows the last event is there, as nothing has followed it.
        let reader = state.ring.begin(last).unwrap_or_default();
        self.core.heard.store(true, Ordering::Relaxed);
        let now = state.snapshot();
        drop(state);
        (now, Events::new(self.core.clone(), reader))
    }

    /// How things are, as far as events tell.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.core.lock().snapshot()
    }

    /// Whether there is a reader, or events are kept for one.
    pub(crate) fn is_heard(&self) -> bool {
        self.core.heard.load(Ordering::Relaxed)
    }

    /// Tells of something that changes nothing in a snapshot. `kind` is made only if it is wanted.
    pub(crate) fn tell(&self, server: &ServerName, kind: impl FnOnce() -> EventKind) {
        let mut state = self.core.lock();
        if state.ring.is_wanted() {
            state.record(server, kind());
            drop(state);
            self.core.told.notify_waiters();
        } else {
            state.now.seq = state.ring.skip();
        }
    }

    /// Tells of something that changes a state or a request.
    pub(crate) fn record(&self, server: &ServerName, kind: EventKind) {
        self.core.change(|state| state.record(server, kind));
    }

    /// Tells that there is a server of this configuration now.
    pub(crate) fn added(&self, config: &ServerConfig) {
        // Arguments hold secrets as often as variables do.
        let target = config.server.transport().to_string();
        let target = Redactor::for_servers([config]).redact(&target).into_owned();
        let state = match config.enabled {
            true => ServerState::Configured,
            false => ServerState::Disabled,
        };
        self.core.change(|state_now| {
            // Another server of this name may not work where the former might.
            state_now.queue.forget_roots(&config.name);
            state_now.record(&config.name, EventKind::Added { target, state });
        });
    }

    /// Tells that a request has ended. The answers to its questions are not waited for any more.
    pub(crate) fn ended(
        &self,
        server: &ServerName,
        request: u64,
        ending: Option<Ending>,
        after_ms: u64,
    ) {
        let ended = EventKind::Ended {
            request,
            ending,
            after_ms,
        };
        let withdrawn = self.core.change(|state| {
            state.record(server, ended);
            state.withdraw_all("the request it belongs to has ended", |question| {
                question.request == Some(request)
            })
        });
        if withdrawn {
            self.core.asked.notify_waiters();
        }
    }

    /// A number for a new request.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.core.change(|state| state.closed = true);
        self.core.asked.notify_waiters();
    }
}

impl Core {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements, so a panic elsewhere spoils nothing.
        self.state.lock()
    }

    /// Changes the state and wakes the readers of events.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.told.notify_waiters();
        changed
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(crate) fn read(&self, reader: u64) -> Next<Arc<Event>> {
        self.lock().ring.next(reader)
    }

    pub(crate) fn leave(&self, reader: u64) {
        let mut state = self.lock();
        state.ring.end(reader);
        self.heard.store(state.ring.is_wanted(), Ordering::Relaxed);
    }
}

impl State {
    /// Tells of an event and applies it.
    pub(crate) fn record(&mut self, server: &ServerName, kind: EventKind) {
        let at_ms = now_ms();
        if !self.ring.is_wanted() {
            let seq = self.ring.skip();
            self.now.change(seq, at_ms, server, &kind);
            return;
        }
        let event = Event {
            seq: self.ring.last() + 1,
            at_ms,
            server: Some(server.clone()),
            kind,
        };
        self.now.apply(&event);
        self.ring.push(event.size(), Arc::new(event));
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            at_ms: now_ms(),
            dropped_events: self.ring.dropped(),
            ..self.now.clone()
        }
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Core").finish_non_exhaustive()
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
