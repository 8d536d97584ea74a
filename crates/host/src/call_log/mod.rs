//! The call log: what was called, with what, and how it ended.
//!
//! Append-only lines of JSON in a folder of the user's, secrets masked, kept by size and age. A call
//! hands over what it has, without waiting; a thread masks and writes it. The queue to it is bounded
//! by number and by bytes, and what does not fit is counted. Nothing here can fail a call: what
//! cannot be written is told once, and the calls go on.

mod history;
mod mask;
mod queue;
mod record;
mod recording;
mod store;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::oneshot;

pub use history::{Filter, History, find, history, stored};
pub use record::{
    Action, Began, CallEnding, CallError, CallRecord, CalledServer, Ended, ProgressNote,
};
pub(crate) use recording::{ProgressLog, Recordable, RecordedServer, Recording, WantedRecord};

use queue::Queue;
use recording::{BeganCall, EndedCall};
use store::{Limits, Store};
use writer::Writer;

/// The folder of the call log, below that of log files.
const FOLDER: &str = "calls";

/// Where the call log is, below a folder of log files.
pub fn call_log_folder(logs: &Path) -> PathBuf {
    logs.join(FOLDER)
}

/// A call log that is written to. Cheap to clone; clones are one log.
#[derive(Clone, Debug)]
pub struct CallLog {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    limits: Limits,
    queue: Arc<Queue>,
    /// Whether there is a thread that writes; it begins with the first message.
    is_written: OnceLock<bool>,
    state: Arc<WriterState>,
    calls: AtomicU64,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// What the writing thread tells.
#[derive(Debug, Default)]
struct WriterState {
    lost: AtomicU64,
    problem: Mutex<Option<String>>,
}

/// What the writing thread is told. By value: for memory that one thread takes and another gives
/// back, the two wait for each other. Small: what is rare in it is boxed.
enum Message {
    Began(BeganCall),
    Ended(EndedCall),
    Flush(oneshot::Sender<()>),
}

impl Message {
    /// How much memory it keeps, as far as that is much.
    fn weight(&self) -> usize {
        match self {
            Self::Began(began) => began.weight(),
            Self::Ended(ended) => ended.weight(),
            Self::Flush(_) => 0,
        }
    }
}

impl CallLog {
    /// A log in a folder, which need not exist yet. Nothing is written before the first call.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self::with_limits(folder.into(), Limits::default())
    }

    fn with_limits(folder: PathBuf, limits: Limits) -> Self {
        Self {
            shared: Arc::new(Shared {
                folder,
                limits,
                queue: Arc::default(),
                is_written: OnceLock::new(),
                state: Arc::default(),
                calls: AtomicU64::new(0),
            }),
        }
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// How many calls were not written down: they came too fast, or nothing could be written.
    pub fn lost(&self) -> u64 {
        self.shared.state.lost.load(Ordering::Relaxed)
    }

    /// Why something was not written, if so. The first reason stays.
    pub fn problem(&self) -> Option<String> {
        self.shared.state.problem.lock().clone()
    }

    /// Waits until everything so far is written.
    pub(crate) async fn flushed(&self) {
        if self.shared.is_written.get() == Some(&true) {
            let (done, written) = oneshot::channel();
            self.shared.queue.push_urgent(Message::Flush(done));
            // The thread's end is as good as its word.
            let _ = written.await;
        }
    }

    /// A key for a call in this process.
    fn next_key(&self) -> u64 {
        self.shared.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands something over, or gives it back if there is no room.
    fn send(&self, message: Message) -> Result<(), Message> {
        match self.shared.is_written.get_or_init(|| self.begin_thread()) {
            true => self.shared.queue.push(message),
            false => Err(message),
        }
    }

    fn count_lost(&self) {
        self.shared.state.lost.fetch_add(1, Ordering::Relaxed);
    }

    fn begin_thread(&self) -> bool {
        let store = Store::new(self.shared.folder.clone(), self.shared.limits);
        let mut writer = Writer::new(store, self.shared.state.clone());
        let queue = self.shared.queue.clone();
        let work = move || {
            let mut messages = Vec::new();
            while queue.take(&mut messages) {
                writer.write(&mut messages);
            }
        };
        let thread = std::thread::Builder::new().name("attache-calls".to_owned());
        thread.spawn(work).is_ok()
    }
}

#[cfg(test)]
#[path = "call_log_tests.rs"]
mod tests;
