//! What all servers of a host share, none of which can make a request to one wait for another.

use std::path::PathBuf;
use std::sync::Arc;

use attache_client::protocol::Implementation;
use parking_lot::RwLock;
use tokio::sync::Semaphore;

use crate::accounts::Accounts;
use crate::cache::Cache;
use crate::call_log::CallLog;
use crate::config::{PolicyRules, ServerConfig, ServerName};
use crate::disk::{Disk, Writing};
use crate::events::EventKind;
use crate::frames::FrameObserver;
use crate::journal::{Journal, now_ms};
use crate::log_files;
use crate::policy::{Answers, Gate, Pins};
use crate::probes::Probes;
use crate::questions::{Askable, Questions};
use crate::supervisor::StartPlaces;

/// How long a host is meant to live, which decides what is worth doing in advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// For many requests: lists are kept fresh, changes are subscribed to.
    #[default]
    Kept,
    /// For one command: nothing is done that only a later request would gain from.
    OneShot,
}

pub(crate) struct Shared {
    /// How this client names itself to servers whose configuration does not say it.
    identity: Option<Implementation>,
    pub(crate) cache: Cache,
    pub(crate) events: Journal,
    /// What passes on all connections.
    pub(crate) frames: FrameObserver,
    pub(crate) questions: Questions,
    /// What servers are told that they may ask.
    pub(crate) askable: Askable,
    pub(crate) accounts: Accounts,
    pub(crate) lifetime: Lifetime,
    /// The folder of manifests and the thread that writes, if there is a state folder.
    pub(crate) state: Option<State>,
    /// Where calls are written down, if they are.
    pub(crate) call_log: Option<CallLog>,
    /// The servers that are probed in vain, if that is remembered.
    pub(crate) probes: Option<Arc<Probes>>,
    pub(crate) pins: Arc<Pins>,
    pub(crate) answers: Arc<Answers>,
    pub(crate) start_places: StartPlaces,
    gate: RwLock<Arc<Gate>>,
}

/// Where a host keeps what outlives it.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) manifests: PathBuf,
    /// Where servers have folders of their own to start in.
    pub(crate) folders: PathBuf,
    pub(crate) disk: Disk,
}

/// The parts of a [`Shared`] that a builder collects.
pub(crate) struct Parts {
    pub(crate) identity: Option<Implementation>,
    pub(crate) cache_bytes: u64,
    pub(crate) concurrent_starts: Option<usize>,
    pub(crate) askable: Askable,
    /// How many events are kept without a reader.
    pub(crate) kept_events: Option<usize>,
    pub(crate) accounts: Accounts,
    pub(crate) lifetime: Lifetime,
    pub(crate) state: Option<State>,
    pub(crate) call_log: Option<CallLog>,
    pub(crate) probes: Option<Arc<Probes>>,
    pub(crate) pins: Arc<Pins>,
    pub(crate) answers: Arc<Answers>,
    pub(crate) rules: PolicyRules,
}

/// How many programs may be starting for each core, and at least, unless configured. A start is
/// part computing, part waiting for files and the network.
const STARTS_PER_CORE: usize = 2;
const LEAST_STARTS: usize = 4;

fn usual_concurrent_starts() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    LEAST_STARTS.max(cores * STARTS_PER_CORE)
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Self {
        let events = Journal::new(parts.kept_events);
        let questions = Questions::new(events.core.clone());
        let gate = Gate::new(
            parts.rules,
            parts.answers.clone(),
            parts.pins.clone(),
            questions.clone(),
        );
        Self {
            identity: parts.identity,
            cache: Cache::new(parts.cache_bytes),
            events,
            frames: FrameObserver::default(),
            questions,
            askable: parts.askable,
            accounts: parts.accounts,
            lifetime: parts.lifetime,
            state: parts.state,
            call_log: parts.call_log,
            probes: parts.probes,
            pins: parts.pins,
            answers: parts.answers,
            start_places: Arc::new(Semaphore::new(match parts.concurrent_starts {
                // Without a place, no list would ever end.
                Some(starts) => starts.max(1),
                None => usual_concurrent_starts(),
            })),
            gate: RwLock::new(Arc::new(gate)),
        }
    }

    /// Has a server told who this client is, if its configuration does not say so itself.
    pub(crate) fn identify(&self, server: &mut ServerConfig) {
        if server.client.is_none() {
            server.client.clone_from(&self.identity);
        }
    }

    /// The rules as they are now.
    pub(crate) fn gate(&self) -> Arc<Gate> {
        self.gate.read().clone()
    }

    /// Other rules for all servers.
    pub(crate) fn replace_rules(&self, rules: PolicyRules) {
        let gate = Gate::new(
            rules,
            self.answers.clone(),
            self.pins.clone(),
            self.questions.clone(),
        );
        *self.gate.write() = Arc::new(gate);
    }

    /// Whether anything reads or keeps what servers say.
    pub(crate) fn is_heard(&self) -> bool {
        self.state.is_some() || self.events.is_heard()
    }

    /// Tells those who listen of something that changes no state, request or question.
    pub(crate) fn emit(&self, server: &ServerName, kind: impl FnOnce() -> EventKind) {
        self.events.tell(server, kind);
    }

    /// Writes a line to the server's log file, if there are log files. Secrets are gone already.
    pub(crate) fn log(&self, server: &ServerName, source: &str, text: &str) {
        if let Some(state) = &self.state {
            state.disk.write(Writing::LogLine {
                server: server.clone(),
                line: log_files::line(now_ms(), source, text),
            });
        }
    }
}
