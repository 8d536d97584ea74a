//! A folder of notes, watched and searchable.
//!
//! One thread walks, watches and writes the index (`worker`); everybody else reads tables it keeps.
//! Owns freshness: an answer is about the folder as it is, or says how far it is not. Knows nothing
//! of MCP.

mod catalog;
mod inbox;
mod listing;
mod searching;
mod watch;
mod worker;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch as channel;

use crate::analysis::Language;
use crate::folder::Folder;
use crate::index::{self, SearchIndex};
use catalog::Catalog;
use inbox::Inbox;
use watch::{Heartbeat, Watcher};

pub(crate) use searching::{FoundNote, Freshness, Results};

/// A search waits so long for changes that are not in the index yet.
const FRESH_WAIT: Duration = Duration::from_millis(50);
/// Before the index was complete for the first time a search waits so long: a small folder is read by
/// then, and clients that wait a second at most still get an answer.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Of more changes than that a search does not expect to see the end.
const WORTH_WAITING: usize = 2000;
/// A watcher that has told nothing for so long is asked for a sign of life.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(60);
/// It has so long to give it.
const HEARTBEAT_WAIT: Duration = Duration::from_secs(1);
/// Where nothing can be watched, a search looks again at a folder it has last seen so long ago.
const POLL_AFTER: Duration = Duration::from_secs(1);

/// How a folder is served.
#[derive(Clone, Debug)]
pub struct VaultSettings {
    /// The folder beneath which indexes are kept; in memory without one.
    pub cache: Option<PathBuf>,
    /// The language of notes that name none.
    pub language: Language,
    /// Whether changes are noticed by watching, or by looking again.
    pub watching: Watching,
}

/// How changes are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watching {
    /// The system tells; where it cannot, like `Polling`.
    #[default]
    Events,
    /// The folder is looked at again, when it is searched and now and then.
    Polling,
}

impl Default for VaultSettings {
    fn default() -> Self {
        Self {
            cache: None,
            language: Language::ENGLISH,
            watching: Watching::Events,
        }
    }
}

/// A folder of notes. Clones are the same; with the last one the work on it ends.
#[derive(Clone)]
pub struct Vault {
    shared: Arc<Shared>,
    /// Ends the worker.
    _keep: Arc<Keep>,
}

struct Keep(Arc<Shared>);

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.inbox.change(|mail| mail.stops = true);
    }
}

/// What all threads share. No two locks are held at once.
struct Shared {
    folder: Folder,
    settings: VaultSettings,
    /// Where the index is, if on disk.
    place: Option<PathBuf>,
    catalog: RwLock<Catalog>,
    index: RwLock<Option<Arc<SearchIndex>>>,
    inbox: Arc<Inbox>,
    heartbeat: Arc<Heartbeat>,
    watcher: Mutex<Option<Watcher>>,
    care: Mutex<Care>,
    status: channel::Sender<Status>,
    listener: RwLock<Option<Box<Listener>>>,
}

/// What is told of changes.
type Listener = dyn Fn(&News) + Send + Sync;

/// Changes of the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Notes came or went, or have other titles.
    pub(crate) is_other_list: bool,
    /// The slugs of notes that read differently now, or no longer.
    pub(crate) slugs: Vec<String>,
}

/// How far the worker is.
#[derive(Clone, Debug, Default)]
struct Status {
    /// The folder was walked over once.
    is_scanned: bool,
    /// Everything was in the index once.
    was_complete: bool,
    /// How many notes the index knows in another state than the folder has them.
    pending: usize,
    /// When the index was last written or seen to be right, in nanoseconds since 1970.
    as_of: i64,
    /// The commit that the folder was at then.
    commit: Option<String>,
    /// What keeps the index from being written.
    trouble: Option<String>,
}

/// Whether the watcher can be relied on.
#[derive(Debug)]
struct Care {
    is_polling: bool,
    /// When everything was last looked at.
    scanned: Instant,
    /// When the watcher last showed that it lives.
    alive: Instant,
    /// A beat that was written and not told yet, and how many were told before.
    beat: Option<(Instant, u64)>,
}

impl Vault {
    /// Opens a folder and begins to walk over it in the background.
    pub fn open(folder: &Path, settings: VaultSettings) -> io::Result<Self> {
        let folder = Folder::open(folder)?;
        let cache = settings.cache.as_deref();
        let place = cache.map(|cache| index::place(cache, folder.path()));
        let now = Instant::now();
        let shared = Arc::new(Shared {
            heartbeat: Arc::new(Heartbeat::new(place.clone())),
            folder,
            settings,
            place,
            catalog: RwLock::default(),
            index: RwLock::new(None),
            inbox: Arc::default(),
            watcher: Mutex::new(None),
            care: Mutex::new(Care {
                is_polling: false,
                scanned: now,
                alive: now,
                beat: None,
            }),
            status: channel::Sender::new(Status::default()),
            listener: RwLock::new(None),
        });
        worker::spawn(Arc::clone(&shared))?;
        Ok(Self {
            _keep: Arc::new(Keep(Arc::clone(&shared))),
            shared,
        })
    }

    /// The real path of the folder.
    pub(crate) fn path(&self) -> &Path {
        self.shared.folder.path()
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.shared.folder
    }

    /// Calls `listener` with every change from now on, on the thread of the worker.
    pub(crate) fn on_change(&self, listener: impl Fn(&News) + Send + Sync + 'static) {
        *self.shared.listener.write() = Some(Box::new(listener));
    }

    /// Waits until the folder was walked over once.
    pub(crate) async fn scanned(&self) {
        let mut status = self.shared.status.subscribe();
        // The sender lives as long as this vault.
        let _ = status.wait_for(|it| it.is_scanned).await;
    }

    /// Has these paths looked at, as the watcher would soon.
    pub(crate) fn touch(&self, paths: impl IntoIterator<Item = String>) {
        self.shared.inbox.put(paths);
        self.shared.inbox.hurry();
    }

    /// Waits until all changes that are known are in the index, at most for `limit`.
    pub(crate) async fn settled(&self, limit: Duration) -> bool {
        let shared = &self.shared;
        let mut status = shared.status.subscribe();
        let settling = async {
            loop {
                let (is_scanned, pending) = {
                    let status = status.borrow_and_update();
                    (status.is_scanned, status.pending)
                };
                if is_scanned && pending == 0 && shared.inbox.unread() == 0 {
                    return;
                }
                shared.inbox.hurry();
                if status.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(limit, settling).await.is_ok()
    }

    /// How many notes there are.
    pub(crate) fn len(&self) -> usize {
        self.shared.catalog.read().len()
    }
}
