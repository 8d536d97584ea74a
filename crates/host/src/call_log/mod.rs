//! The call log: what was called, with what, and how it ended.
//!
//! Append-only lines of JSON in a folder of the user's, secrets masked, kept by size and age. A call
//! hands over what it has, without waiting; a thread masks and writes it. The queue to it is bounded
//! by number and by bytes, and what does not fit is counted. Nothing here can fail a call: what
//! cannot be written is told once, and the calls go on.

mod history;
mod mask;
mod record;
mod recording;
mod store;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

pub use history::{Filter, History, find, history, stored};
pub use record::{
    Action, Began, CallEnding, CallError, CallRecord, CalledServer, Ended, ProgressNote,
};
pub(crate) use recording::{ProgressLog, Recordable, RecordedServer, Recording, WantedRecord};

use recording::{BeganCall, EndedCall};
use store::{Limits, Store};
use writer::Writer;

/// Lines waiting to be written.
const QUEUE_CAPACITY: usize = 1024;
/// How much arguments and results may weigh that wait to be written.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// For how long messages are gathered, and how many, before they are written.
const GATHERING: Duration = Duration::from_millis(5);
const GATHERED: usize = 64;
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
    queue: Mutex<Option<SyncSender<Message>>>,
    /// Bytes in the queue.
    waiting: AtomicUsize,
    state: Arc<WriterState>,
    calls: AtomicU64,
}

/// What the writing thread tells.
#[derive(Debug, Default)]
struct WriterState {
    lost: AtomicU64,
    problem: Mutex<Option<String>>,
}

/// What the writing thread is told.
enum Message {
    Began(Box<BeganCall>),
    Ended(Box<EndedCall>),
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
                queue: Mutex::new(None),
                waiting: AtomicUsize::new(0),
                state: Arc::default(),
                calls: AtomicU64::new(0),
            }),
        }
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// How many lines came too fast to be written.
    pub fn lost(&self) -> u64 {
        self.shared.state.lost.load(Ordering::Relaxed)
    }

    /// Why something was not written, if so. The first reason stays.
    pub fn problem(&self) -> Option<String> {
        self.shared.state.problem.lock().clone()
    }

    /// Waits until everything so far is written.
    pub(crate) async fn flushed(&self) {
        let Some(queue) = self.shared.queue.lock().clone() else {
            return;
        };
        let (done, written) = oneshot::channel();
        let sent = tokio::task::spawn_blocking(move || queue.send(Message::Flush(done)));
        if sent.await.is_ok_and(|sent| sent.is_ok()) {
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
        let weight = message.weight();
        let before = self.shared.waiting.fetch_add(weight, Ordering::Relaxed);
        let sent = match before + weight <= QUEUE_BYTES || before == 0 {
            true => self.push(message),
            false => Err(message),
        };
        if sent.is_err() {
            self.shared.waiting.fetch_sub(weight, Ordering::Relaxed);
        }
        sent
    }

    fn push(&self, message: Message) -> Result<(), Message> {
        match self.queue() {
            Some(queue) => queue.try_send(message).map_err(|error| match error {
                TrySendError::Full(message) | TrySendError::Disconnected(message) => message,
            }),
            None => Err(message),
        }
    }

    fn count_lost(&self) {
        self.shared.state.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// The way to the thread, which begins with the first message.
    fn queue(&self) -> Option<SyncSender<Message>> {
        let mut queue = self.shared.queue.lock();
        if queue.is_none() {
            let (sender, receiver) = sync_channel::<Message>(QUEUE_CAPACITY);
            let store = Store::new(self.shared.folder.clone(), self.shared.limits);
            let mut writer = Writer::new(store, self.shared.state.clone());
            // The thread must not keep the queue open that ends it.
            let shared = Arc::downgrade(&self.shared);
            let thread = std::thread::Builder::new().name("attache-calls".to_owned());
            let work = move || {
                while let Ok(first) = receiver.recv() {
                    let messages = gathered(first, &receiver);
                    let mut weight = messages.iter().map(Message::weight).sum();
                    let further = receiver.try_iter().inspect(|it| weight += it.weight());
                    writer.write(messages, further);
                    if let Some(shared) = shared.upgrade() {
                        shared.waiting.fetch_sub(weight, Ordering::Relaxed);
                    }
                }
            };
            thread.spawn(work).ok()?;
            *queue = Some(sender);
        }
        queue.clone()
    }
}

/// What comes shortly after a message, unless it has to be written at once. Most calls end by then,
/// so that writing takes nothing from the servers that answer them.
fn gathered(first: Message, receiver: &Receiver<Message>) -> Vec<Message> {
    let until = Instant::now() + GATHERING;
    let mut messages = vec![first];
    while messages.len() < GATHERED && !matches!(messages.last(), Some(Message::Flush(_))) {
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => messages.push(message),
            Err(_) => break,
        }
    }
    messages
}

#[cfg(test)]
#[path = "call_log_tests.rs"]
mod tests;
