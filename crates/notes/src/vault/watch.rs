//! The watcher of a folder.
//!
//! Owns which folders are watched and whether the watcher lives. It only says what may have changed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::inbox::Inbox;

/// The file whose change the watcher must tell, to show that it lives.
const HEARTBEAT: &str = "heartbeat";

/// A running watcher.
pub(crate) struct Watcher {
    watcher: RecommendedWatcher,
    root: PathBuf,
    watched: HashSet<String>,
}

/// Shows that a watcher lives: beats that were written, and those that it has told.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat {
    folder: Option<PathBuf>,
    told: AtomicU64,
}

impl Heartbeat {
    /// The file is written in `folder`; without one there is no heartbeat.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            told: AtomicU64::new(0),
        }
    }

    fn file(&self) -> Option<PathBuf> {
        let name = format!("{HEARTBEAT}-{}", std::process::id());
        Some(self.folder.as_ref()?.join(name))
    }

    /// Writes a beat; `false` where it cannot be written.
    pub(crate) fn beat(&self) -> bool {
        let file = self.file();
        file.is_some_and(|file| std::fs::write(file, b"beat\n").is_ok())
    }

    /// How many beats were told.
    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        if let Some(file) = self.file() {
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Watcher {
    /// Watches these folders beneath the root, and the heartbeat.
    pub(crate) fn start(
        root: &Path,
        folders: &[String],
        inbox: &Arc<Inbox>,
        heartbeat: &Arc<Heartbeat>,
    ) -> Result<Self, notify::Error> {
        let ears = Ears {
            root: root.to_owned(),
            inbox: Arc::clone(inbox),
            heartbeat: Arc::clone(heartbeat),
        };
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(move |event| ears.hear(event), config)?;
        let mut started = Self {
            watcher,
            root: root.to_owned(),
            watched: HashSet::new(),
        };
        if let Some(folder) = &heartbeat.folder {
            std::fs::create_dir_all(folder).map_err(notify::Error::io)?;
            started.watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        started.add(folders)?;
        Ok(started)
    }

    /// Watches more folders. On Linux each costs a watch, so hidden and ignored ones are left out;
    /// elsewhere one stream tells of everything.
    /// Gives those that were not watched before.
    pub(crate) fn add(&mut self, folders: &[String]) -> Result<Vec<String>, notify::Error> {
        let mut added = Vec::new();
        for folder in folders {
            let mode = match cfg!(target_os = "linux") {
                true => RecursiveMode::NonRecursive,
                false if folder.is_empty() => RecursiveMode::Recursive,
                false => continue,
            };
            let path = self.root.join(folder);
            match self.watcher.watch(&path, mode) {
                // A folder that is gone again was told by the one above it.
                Err(error) if is_gone(&error) && !folder.is_empty() => {}
                other => other?,
            }
            if self.watched.insert(folder.clone()) {
                added.push(folder.clone());
            }
        }
        Ok(added)
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// What the watcher's thread does with an event.
struct Ears {
    root: PathBuf,
    inbox: Arc<Inbox>,
    heartbeat: Arc<Heartbeat>,
}

impl Ears {
    fn hear(&self, event: Result<Event, notify::Error>) {
        let Ok(event) = event else {
            self.inbox.change(|mail| mail.rescans = true);
            return;
        };
        if event.need_rescan() {
            self.inbox.change(|mail| mail.rescans = true);
        }
        // Reading changes nothing, and the index does a lot of it.
        let is_change = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
            EventKind::Access(_) => false,
            _ => true,
        };
        if !is_change {
            return;
        }
        let mut paths = Vec::new();
        for path in &event.paths {
            match path.strip_prefix(&self.root).ok().map(Path::to_str) {
                Some(Some("")) => self.inbox.change(|mail| mail.rescans = true),
                Some(Some(path)) => paths.push(path.replace(std::path::MAIN_SEPARATOR, "/")),
                // A name that is no UTF-8 is no note's.
                Some(None) => {}
                None => {
                    if self.heartbeat.file().as_ref() == Some(path) {
                        self.heartbeat.told.fetch_add(1, Ordering::AcqRel);
                    }
                }
            }
        }
        // Hidden names are drafts of editors and the insides of git; only rules among them count.
        paths.retain(|path| {
            let is_rules = path.rsplit('/').next() == Some(crate::folder::RULES_FILE);
            is_rules || !path.split('/').any(|name| name.starts_with('.'))
        });
        if !paths.is_empty() {
            self.inbox.put(paths);
        }
    }
}
