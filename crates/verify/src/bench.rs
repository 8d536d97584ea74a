//! What every check has at hand: the server, the revision, time, and where evidence goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_protocol::{Era, Revision};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::peer::Trouble;
use crate::target::Target;
use crate::trace::Trace;
use crate::watch::Watch;

/// A tool that the user allows to be called.
#[derive(Clone, Debug)]
pub struct AllowedCall {
    /// The tool.
    pub tool: String,
    /// Its arguments; without any they are made from its schema.
    pub arguments: Option<Value>,
}

/// The eras that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spoken {
    pub(crate) legacy: bool,
    pub(crate) modern: bool,
}

impl Spoken {
    pub(crate) fn has(self, era: Era) -> bool {
        match era {
            Era::Legacy => self.legacy,
            Era::Modern => self.modern,
        }
    }
}

/// What a check has at hand. Clones share everything but the evidence.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) target: Target,
    pub(crate) revision: Revision,
    pub(crate) trace: Trace,
    pub(crate) watch: Watch,
    pub(crate) allowed: Arc<Vec<AllowedCall>>,
    pub(crate) seed: u64,
    pub(crate) spoken: Spoken,
    /// When no more checks begin.
    pub(crate) deadline: Instant,
    pub(crate) clock: Arc<Clock>,
}

/// How patient all checks are together.
pub(crate) struct Clock {
    pub(crate) patience: Duration,
    pub(crate) start_patience: Duration,
    /// How many waits were in vain: a server that hangs shall not use up all the time.
    silences: AtomicUsize,
    connections: AtomicUsize,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// How long is waited for a server that has been silent before.
const SHORT_PATIENCE: Duration = Duration::from_millis(1500);
/// After so many waits in vain.
const SILENCES: usize = 3;

impl Clock {
    pub(crate) fn new(patience: Duration, start_patience: Duration) -> Self {
        Self {
            patience,
            start_patience,
            silences: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            tasks: Mutex::default(),
        }
    }

    /// Everything that was begun and may still run.
    pub(crate) fn take_tasks(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.tasks.lock())
    }
}

impl Bench {
    /// The same with evidence of its own.
    pub(crate) fn for_check(&self) -> Self {
        Self {
            trace: Trace::default(),
            ..self.clone()
        }
    }

    pub(crate) fn next_connection(&self) -> usize {
        self.clock.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How long one answer may take.
    pub(crate) fn patience(&self) -> Duration {
        match self.clock.silences.load(Ordering::Relaxed) >= SILENCES {
            true => SHORT_PATIENCE.min(self.clock.patience),
            false => self.clock.patience,
        }
    }

    pub(crate) fn start_patience(&self) -> Duration {
        self.within(self.clock.start_patience)
    }

    pub(crate) fn note_silence(&self) {
        self.clock.silences.fetch_add(1, Ordering::Relaxed);
    }

    /// As much of a time as is left.
    pub(crate) fn within(&self, time: Duration) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        time.min(left)
    }

    pub(crate) fn check_time(&self) -> Result<(), Trouble> {
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err(Trouble::TimeIsUp),
        }
    }

    /// Keeps something that runs beside the checks.
    pub(crate) fn own(&self, task: JoinHandle<()>) {
        let mut tasks = self.clock.tasks.lock();
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Whether the server is spoken to over Streamable HTTP.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.target, Target::Http(_))
    }
}
