//! What servers offered last time, kept on disk.
//!
//! Owns one small file per server, so that a list can be answered at once while a slow server
//! still starts, and shells can complete names without starting anything. What comes from here is
//! always marked as remembered. A file belongs to one way of starting the server: if that has
//! changed, what it says is not believed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use attache_client::protocol::{Entries, Json};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use crate::catalog::{ListKind, Listable};
use crate::config::{ServerConfig, ServerName};
use crate::digest::sha256_hex;
use crate::disk::{Disk, Writing};
use crate::journal::now_ms;
use crate::state_file;

/// The most a file may hold; longer lists are not remembered.
pub const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The least time between two writings of a list that has not changed. Its date is shown in
/// seconds, so no face shows the difference.
const DATE_GRAIN_MS: u64 = 1000;
/// The form of the file.
const VERSION: u32 = 1;

/// The lists of one server as they were.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// How the server was started.
    fingerprint: String,
    lists: BTreeMap<ListKind, StoredList>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredList {
    saved_ms: u64,
    entries: Json,
}

/// A list as it was.
#[derive(Clone, Debug)]
pub struct Remembered<T> {
    /// When it was fetched, in milliseconds since 1970.
    pub saved_ms: u64,
    /// Its entries.
    pub entries: Entries<T>,
}

/// The manifest of one server.
pub(crate) struct Manifest {
    path: PathBuf,
    fingerprint: String,
    disk: Disk,
    /// Read when it is first needed.
    stored: Mutex<Option<Stored>>,
}

/// The manifest of a server, below the folder of all manifests.
pub fn manifest_path(folder: &Path, server: &ServerName) -> PathBuf {
    folder.join(format!("{server}.json"))
}

/// The list a server had last time, read without a host: for shells that complete names. None if
/// there is no such list, or if the server is started in another way now.
pub fn remembered<T: Listable>(folder: &Path, config: &ServerConfig) -> Option<Remembered<T>> {
    let stored = load(&manifest_path(folder, &config.name), &fingerprint(config))?;
    stored.list()
}

impl Stored {
    fn list<T: Listable>(&self) -> Option<Remembered<T>> {
        let list = self.lists.get(&T::KIND)?;
        Some(Remembered {
            saved_ms: list.saved_ms,
            entries: list.entries.decode().ok()?,
        })
    }
}

impl Manifest {
    pub(crate) fn new(folder: &Path, config: &ServerConfig, disk: Disk) -> Self {
        Self {
            path: manifest_path(folder, &config.name),
            fingerprint: fingerprint(config),
            disk,
            stored: Mutex::new(None),
        }
    }

    /// Whether there is such a list.
    pub(crate) fn has(&self, kind: ListKind) -> bool {
        let stored = self.stored();
        stored
            .as_ref()
            .is_some_and(|it| it.lists.contains_key(&kind))
    }

    /// The list as it was last time.
    pub(crate) fn list<T: Listable>(&self) -> Option<Remembered<T>> {
        self.stored().as_ref()?.list()
    }

    /// Remembers a list that was just fetched, also if it is the same as before: its date is that
    /// of the last fetch.
    pub(crate) fn remember<T: Listable>(&self, entries: &Entries<T>) {
        let Ok(entries) = Json::from_serialize(entries) else {
            return;
        };
        let mut stored = self.stored();
        let Some(stored) = stored.as_mut() else {
            return;
        };
        let saved_ms = now_ms();
        let former = stored.lists.get(&T::KIND);
        if former.is_some_and(|former| {
            former.entries == entries && saved_ms.abs_diff(former.saved_ms) < DATE_GRAIN_MS
        }) {
            return;
        }
        let list = StoredList { saved_ms, entries };
        let replaced = stored.lists.insert(T::KIND, list);
        match serde_json::to_string(stored) {
            Ok(text) if text.len() <= MOST_BYTES => self.disk.write(Writing::File {
                path: self.path.clone(),
                text,
            }),
            _ => {
                // Too much to remember. An older list would be wrong now, so there is none.
                drop(replaced);
                stored.lists.remove(&T::KIND);
            }
        }
    }

    fn stored(&self) -> MutexGuard<'_, Option<Stored>> {
        let mut stored = self.stored.lock();
        if stored.is_none() {
            let read = load(&self.path, &self.fingerprint);
            *stored = Some(read.unwrap_or_else(|| Stored {
                version: VERSION,
                fingerprint: self.fingerprint.clone(),
                lists: BTreeMap::new(),
            }));
        }
        stored
    }
}

/// A file that cannot be read or understood is as good as none.
fn load(path: &Path, fingerprint: &str) -> Option<Stored> {
    let text = state_file::read(path).ok()??;
    let stored: Stored = serde_json::from_str(&text).ok()?;
    let believed = stored.version == VERSION && stored.fingerprint == fingerprint;
    believed.then_some(stored)
}

/// A digest of how a server is reached.
pub(crate) fn fingerprint(config: &ServerConfig) -> String {
    let words = config.server.transport().identity();
    // Written as JSON, so that no two lists of words look alike.
    let words = serde_json::to_string(&words).unwrap_or_default();
    sha256_hex(words.as_bytes())
}

#[cfg(test)]
mod tests {
    use attache_client::Server;
    use attache_client::protocol::Tool;
    use attache_testkit::scratch::Scratch;

    use super::*;
    use crate::config::Source;

    fn server() -> ServerConfig {
        let name = ServerName::new("s").unwrap();
        ServerConfig::new(name, Server::stdio("server", [""; 0]), Source::program())
    }

    fn tools(description: &str) -> Entries<Tool> {
        let mut tool = Tool::new("t", Json::parse("{}").unwrap());
        tool.description = Some(description.to_owned());
        vec![tool].into()
    }

    #[tokio::test]
    async fn a_list_is_remembered_up_to_the_limit_and_no_longer() {
        let scratch = Scratch::new("manifest").unwrap();
        let disk = Disk::new(scratch.path().join("logs"));
        let manifest = Manifest::new(scratch.path(), &server(), disk.clone());
        let remembered = || remembered::<Tool>(scratch.path(), &server());
        assert!(remembered().is_none());
        // What the file holds beside this text.
        manifest.remember(&tools(""));
        disk.flushed().await;
        let path = manifest_path(scratch.path(), &server().name);
        let rest = std::fs::metadata(path).unwrap().len();
        let longest = MOST_BYTES - usize::try_from(rest).unwrap();
        manifest.remember(&tools(&"x".repeat(longest)));
        disk.flushed().await;
        let length = |list: Option<Remembered<Tool>>| {
            list.unwrap().entries[0].description.clone().unwrap().len()
        };
        assert_eq!(length(remembered()), longest);
        assert!(manifest.has(ListKind::Tools));
        manifest.remember(&tools(&"x".repeat(longest + 1)));
        assert!(!manifest.has(ListKind::Tools));
    }

    #[tokio::test]
    async fn a_list_is_dated_by_its_last_fetch_also_if_it_is_the_same() {
        let scratch = Scratch::new("manifest").unwrap();
        let disk = Disk::new(scratch.path().join("logs"));
        let path = manifest_path(scratch.path(), &server().name);
        let saved = || {
            let list = remembered::<Tool>(scratch.path(), &server());
            list.unwrap().saved_ms
        };
        let manifest = Manifest::new(scratch.path(), &server(), disk.clone());
        manifest.remember(&tools("same"));
        disk.flushed().await;
        let now = saved();
        // The same file as if it had been written a day ago.
        let day_ago = now - 24 * 60 * 60 * 1000;
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(&now.to_string(), &day_ago.to_string())).unwrap();
        assert_eq!(saved(), day_ago);
        let manifest = Manifest::new(scratch.path(), &server(), disk.clone());
        manifest.remember(&tools("same"));
        disk.flushed().await;
        assert!(saved() >= now, "{} is before {now}", saved());
    }

    #[test]
    fn a_broken_file_is_as_good_as_none() {
        let scratch = Scratch::new("manifest").unwrap();
        std::fs::write(manifest_path(scratch.path(), &server().name), "{").unwrap();
        assert!(remembered::<Tool>(scratch.path(), &server()).is_none());
    }
}
