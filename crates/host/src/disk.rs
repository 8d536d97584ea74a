//! The one thread of a host that writes to the disk.
//!
//! Owns the queue to it. Log lines and remembered lists go this way, so that a slow disk slows
//! nothing else down; when the queue is full, what comes is dropped and counted. The thread begins
//! with the first thing to write, so that a host with nothing to write costs none.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::config::ServerName;
use crate::log_files::LogFiles;
use crate::state_file;

/// Things waiting to be written.
const QUEUE_CAPACITY: usize = 4096;

/// Something to write.
pub(crate) enum Writing {
    /// A line of a server's log.
    LogLine { server: ServerName, line: String },
    /// A whole file, put in place in one step.
    File { path: PathBuf, text: String },
    /// Nothing; tells when everything before it is written.
    Flush(oneshot::Sender<()>),
}

/// The way to the writing thread.
#[derive(Clone)]
pub(crate) struct Disk {
    shared: Arc<Shared>,
}

struct Shared {
    log_folder: PathBuf,
    queue: Mutex<Option<SyncSender<Writing>>>,
    dropped: AtomicU64,
}

impl Disk {
    pub(crate) fn new(log_folder: PathBuf) -> Self {
        Self {
            shared: Arc::new(Shared {
                log_folder,
                queue: Mutex::new(None),
                dropped: AtomicU64::new(0),
            }),
        }
    }

    /// Has something written, soon.
    pub(crate) fn write(&self, writing: Writing) {
        let queue = self.queue();
        if queue.is_none_or(|queue| queue.try_send(writing).is_err()) {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything so far is written. Without a thread there is nothing to wait for.
    pub(crate) async fn flushed(&self) {
        let queue = self.lock().clone();
        let Some(queue) = queue else { return };
        let (done, written) = oneshot::channel();
        let sent = tokio::task::spawn_blocking(move || queue.send(Writing::Flush(done)));
        if sent.await.is_ok_and(|sent| sent.is_ok()) {
            // The thread's end is as good as its word.
            let _ = written.await;
        }
    }

    /// How many things were not written because they came too fast.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    fn queue(&self) -> Option<SyncSender<Writing>> {
        let mut queue = self.lock();
        if queue.is_none() {
            let (sender, receiver) = sync_channel(QUEUE_CAPACITY);
            let logs = LogFiles::new(self.shared.log_folder.clone());
            let thread = std::thread::Builder::new().name("attache-disk".to_owned());
            thread.spawn(move || work(&receiver, logs)).ok()?;
            *queue = Some(sender);
        }
        queue.clone()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Option<SyncSender<Writing>>> {
        self.shared.queue.lock()
    }
}

/// Writes until nobody can send any more. What cannot be written is lost: the host goes on without
/// logs and memory rather than not at all.
fn work(queue: &Receiver<Writing>, mut logs: LogFiles) {
    while let Ok(writing) = queue.recv() {
        match writing {
            Writing::LogLine { server, line } => logs.append(&server, &line),
            Writing::File { path, text } => {
                // Remembered lists are rewritten with every fetch, and one that is broken counts
                // as none.
                let _ = state_file::replace_losable(&path, &text);
            }
            Writing::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}
