//! The thread that walks over the folder, watches it and writes the index.
//!
//! It alone changes the catalog and the index. It sleeps until there is something to do; the only
//! thing it does unasked is to look at everything again every ten minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::catalog::Changes;
use super::inbox::Mail;
use super::watch::Watcher;
use super::{News, Shared, Watching};
use crate::calendar;
use crate::folder::{Kind, RULES_FILE, ReadError, Scan, Stamp};
use crate::front_matter;
use crate::git;
use crate::identity::is_note_name;
use crate::index::{IndexError, Known, SearchIndex, WriteLock, Writer};

/// How often everything is looked at, whatever the watcher says.
const RESCAN_EVERY: Duration = Duration::from_secs(600);
/// The same where nothing can be watched.
const POLL_EVERY: Duration = Duration::from_secs(30);
/// So many notes are read while they are watched.
const QUIET_READS: usize = 5000;
/// How long notes are taken in before they become searchable together: at first, and where there are
/// more and more of them. Each time makes a part of the index, and a search goes through all parts.
const BATCH: Duration = Duration::from_secs(1);
const LONGEST_BATCH: Duration = Duration::from_secs(4);
/// How often is looked whether another process has written what is wanted.
const FOLLOW_EVERY: Duration = Duration::from_millis(100);
/// How long to wait before writing is tried again after the system refused it.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Changes of the list are told at most so often.
const LIST_PAUSE: Duration = Duration::from_millis(500);
/// A file that was written twice within the time its clock can tell apart looks the same after it.
/// Within this time of a change it is read again whenever something happens to it.
const SUSPECT: Duration = Duration::from_secs(2);
/// Where an index is, in its place.
const DATA: &str = "data";

pub(super) fn spawn(shared: Arc<Shared>) -> io::Result<()> {
    let worker = Worker {
        place: shared.place.clone(),
        shared,
        lock: None,
        writer: None,
        pending: BTreeSet::new(),
        next_scan: Instant::now() + RESCAN_EVERY,
        is_unwatched: false,
        retry: None,
        list_told: None,
        list_due: false,
        edited: BTreeMap::new(),
        batch: BATCH,
    };
    let thread = std::thread::Builder::new().name("notes".to_owned());
    thread.spawn(move || worker.run()).map(drop)
}

struct Worker {
    shared: Arc<Shared>,
    /// Where the index is on disk; nowhere, if it turned out that it cannot be there.
    place: Option<PathBuf>,
    /// The right to write the index on disk.
    lock: Option<WriteLock>,
    writer: Option<Writer>,
    /// How long notes are taken in the next time.
    batch: Duration,
    /// Paths that the index knows in another state than the catalog.
    pending: BTreeSet<String>,
    next_scan: Instant,
    /// The watcher is not started yet.
    is_unwatched: bool,
    /// Nothing is written before.
    retry: Option<Instant>,
    /// When a change of the list was last told, and whether another one is due.
    list_told: Option<Instant>,
    list_due: bool,
    /// Notes that have changed and that the index knows only as they were before, with the hash of
    /// the title they had then, if it is known: another title makes another list.
    edited: BTreeMap<String, Option<u64>>,
}

impl Worker {
    fn run(mut self) {
        let scan = Scan::of(&self.shared.folder);
        let folders = scan.folders.clone();
        let notes = {
            let mut catalog = self.shared.catalog.write();
            catalog.fill(scan);
            catalog.len()
        };
        // Until the index is opened it is not known which of them it knows.
        self.shared.status.send_modify(|status| {
            status.is_scanned = true;
            status.pending = notes;
        });
        // Reading thousands of notes tells the watcher so thousands of times, until its queue
        // overflows; it comes when that is done, and everything is looked at then. Otherwise it
        // comes first, so that no search finds the index complete before changes are noticed.
        let is_indexed = |place: &PathBuf| place.join(DATA).exists();
        let is_new = !self.place.as_ref().is_some_and(is_indexed);
        self.is_unwatched = is_new && notes > QUIET_READS;
        if !self.is_unwatched {
            self.watch(&folders);
        }
        self.open_index();
        if self.pending.len() > QUIET_READS {
            self.is_unwatched = true;
            *self.shared.watcher.lock() = None;
        }
        loop {
            let mail = self.shared.inbox.take(self.deadline());
            if mail.stops {
                return self.close();
            }
            self.heed(mail);
            self.write();
            if self.is_unwatched && self.pending.is_empty() {
                self.is_unwatched = false;
                self.shared.inbox.change(|mail| mail.rewatches = true);
            }
            self.tell_list();
            self.shared.inbox.done();
            self.publish(|_| {});
        }
    }

    /// Ends everything that works on the index before the last handle to the vault is gone.
    fn close(mut self) {
        *self.shared.watcher.lock() = None;
        if let Some(writer) = self.writer.take() {
            writer.close();
        }
        *self.shared.index.write() = None;
        self.lock = None;
    }

    /// When there is something to do without mail.
    fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let write = match (self.pending.is_empty(), self.retry) {
            (true, _) => None,
            (false, None) => Some(now),
            (false, Some(retry)) => Some(retry),
        };
        let list = self.list_told.filter(|_| self.list_due);
        let list = list.map(|told| told + LIST_PAUSE);
        [write, list, Some(self.next_scan)]
            .into_iter()
            .flatten()
            .min()
    }

    fn publish(&self, change: impl FnOnce(&mut super::Status)) {
        let pending = self.pending.len();
        self.shared.status.send_modify(|status| {
            status.pending = pending;
            change(status);
        });
    }

    // What happens in the folder.

    fn heed(&mut self, mail: Mail) {
        if mail.rebuilds {
            self.rebuild();
        }
        let mut folders = Vec::new();
        let mut changes = Changes::default();
        let is_other = |path: &String| path.rsplit('/').next() == Some(RULES_FILE);
        let is_due = Instant::now() >= self.next_scan;
        if mail.rescans || mail.rewatches || is_due || mail.paths.iter().any(is_other) {
            folders = self.rescan(&mut changes);
        }
        for path in &mail.new_folders {
            self.look_at(path, &mut folders, &mut changes);
        }
        let mut created = Vec::new();
        for path in &mail.paths {
            self.look_at(path, &mut created, &mut changes);
        }
        if mail.rewatches {
            *self.shared.watcher.lock() = None;
            self.watch(&folders);
        } else {
            self.watch_more(&folders, created);
        }
        self.take_in(changes);
    }

    /// Watches these folders too. One that is new is looked at once more: notes may have come
    /// between the look and the watch.
    fn watch_more(&mut self, folders: &[String], mut created: Vec<String>) {
        let added = match &mut *self.shared.watcher.lock() {
            Some(watcher) => watcher.add(&created).and_then(|_| watcher.add(folders)),
            None => return,
        };
        match added {
            Ok(added) => created.extend(added),
            Err(_) => return self.poll(),
        }
        if !created.is_empty() {
            let looks = |mail: &mut Mail| mail.new_folders.extend(created);
            self.shared.inbox.change(looks);
        }
    }

    fn rescan(&mut self, changes: &mut Changes) -> Vec<String> {
        let scan = Scan::of(&self.shared.folder);
        let folders = scan.folders.clone();
        self.replace(scan, changes);
        let is_polling = {
            let mut care = self.shared.care.lock();
            care.scanned = Instant::now();
            care.is_polling
        };
        let pause = if is_polling { POLL_EVERY } else { RESCAN_EVERY };
        self.next_scan = Instant::now() + pause;
        folders
    }

    /// The catalog becomes what a scan found. Everybody reads it, so it is kept from them only while
    /// it changes.
    fn replace(&self, scan: Scan, changes: &mut Changes) {
        let (gone, others) = self.shared.catalog.read().unlike(&scan);
        let mut catalog = self.shared.catalog.write();
        for path in gone {
            catalog.remove(&path, changes);
        }
        for (path, stamp) in others {
            catalog.put(path, stamp, false, changes);
        }
        catalog.rules = scan.rules;
    }

    fn look_at(&self, path: &str, folders: &mut Vec<String>, changes: &mut Changes) {
        let folder = &self.shared.folder;
        let mut catalog = self.shared.catalog.write();
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_hidden = path.split('/').any(|it| it.starts_with('.'));
        if is_hidden || catalog.rules.ignores(folder.path(), path) {
            catalog.remove_beneath(path, changes);
            return;
        }
        match folder.kind(path) {
            Ok(Some(Kind::File(stamp))) if is_note_name(name) => {
                let age = calendar::now().saturating_sub(stamp.modified);
                let is_suspect = age < calendar::nanoseconds(SUSPECT);
                catalog.put(path, stamp, is_suspect, changes);
            }
            Ok(Some(Kind::Folder)) => {
                let rules = std::mem::take(&mut catalog.rules);
                let scan = Scan::beneath(folder, path, rules);
                for (path, stamp) in &scan.notes {
                    catalog.put(path, *stamp, false, changes);
                }
                catalog.rules = scan.rules;
                folders.extend(scan.folders);
            }
            Ok(_) => catalog.remove_beneath(path, changes),
            // What cannot be looked at is not known to be gone.
            Err(_) => {}
        }
    }

    fn take_in(&mut self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        self.note_edits(changes.edited);
        self.pending.extend(changes.paths);
        self.list_due |= changes.is_other_list;
        let news = News {
            is_other_list: false,
            slugs: changes.slugs.into_iter().collect(),
        };
        self.tell(&news);
        self.tell_list();
        self.publish(|_| {});
    }

    /// Keeps the titles of notes that have changed, to compare them with the new ones.
    fn note_edits(&mut self, paths: BTreeSet<String>) {
        let index = self.shared.index.read().clone();
        let is_follower = self.place.is_some() && self.lock.is_none();
        for path in paths {
            let known = index.as_ref().and_then(|it| it.known(&path).ok()?);
            // Another process may have written the new title already.
            let stamp = self.shared.catalog.read().stamp(&path);
            let is_old = |it: &Known| !is_follower || Some(it.stamp) != stamp;
            let title = known.filter(is_old).map(|it| it.title_hash);
            self.edited.entry(path).or_insert(title);
        }
    }

    /// Finds notes among those that are in the index now whose titles are others than before.
    fn compare_titles(&mut self, index: &SearchIndex) {
        let pending = &self.pending;
        let edited = std::mem::take(&mut self.edited).into_iter();
        let (open, done): (_, BTreeMap<_, _>) =
            edited.partition(|(path, _)| pending.contains(path));
        self.edited = open;
        for (path, before) in done {
            let known = index.known(&path).ok().flatten();
            // The list is another one too if that cannot be told.
            let is_same = before.is_some() && before == known.map(|it| it.title_hash);
            self.list_due |= !is_same;
        }
    }

    /// Tells that the list is another one, if it is time.
    fn tell_list(&mut self) {
        let is_early = self.list_told.is_some_and(|it| it.elapsed() < LIST_PAUSE);
        if self.list_due && !is_early {
            self.list_due = false;
            self.list_told = Some(Instant::now());
            self.tell(&News {
                is_other_list: true,
                slugs: Vec::new(),
            });
        }
    }

    fn tell(&self, news: &News) {
        if let Some(listener) = &*self.shared.listener.read() {
            listener(news);
        }
    }

    // The watcher.

    fn watch(&mut self, folders: &[String]) {
        let shared = &self.shared;
        if shared.settings.watching == Watching::Polling {
            return self.poll();
        }
        let root = shared.folder.path();
        match Watcher::start(root, folders, &shared.inbox, &shared.heartbeat) {
            Ok(watcher) => {
                *self.shared.watcher.lock() = Some(watcher);
                // What changed between the walk and the watch is seen by another walk.
                self.shared.inbox.change(|mail| mail.rescans = true);
            }
            Err(_) => self.poll(),
        }
    }

    /// Nothing can be watched, as when the system has no watches left.
    fn poll(&mut self) {
        *self.shared.watcher.lock() = None;
        self.shared.care.lock().is_polling = true;
        self.next_scan = self.next_scan.min(Instant::now() + POLL_EVERY);
    }

    // The index.

    /// Opens the index on disk, or a new one, and finds out what it does not know.
    fn open_index(&mut self) {
        let opened = match self.place.clone() {
            Some(place) => self.open_on_disk(&place),
            None => SearchIndex::in_memory().map(Some),
        };
        match opened {
            Ok(index) => self.compare(index),
            Err(_) => self.keep_in_memory(),
        }
    }

    /// A cache that cannot be written is replaced by memory.
    fn keep_in_memory(&mut self) {
        self.lock = None;
        self.place = None;
        let index = SearchIndex::in_memory().ok();
        self.compare(index);
    }

    fn open_on_disk(&mut self, place: &Path) -> Result<Option<SearchIndex>, IndexError> {
        let data = place.join(DATA);
        match WriteLock::take(place) {
            Ok(lock) => {
                self.lock = Some(lock);
                match SearchIndex::open(&data) {
                    Ok(index) => Ok(Some(index)),
                    Err(_) => SearchIndex::create(&data).map(Some),
                }
            }
            // Another process writes; what it has written so far can be read.
            Err(IndexError::Locked) => Ok(SearchIndex::open(&data).ok()),
            Err(error) => Err(error),
        }
    }

    fn compare(&mut self, index: Option<SearchIndex>) {
        let known = match &index {
            Some(index) => index.contents(),
            None => Ok(Default::default()),
        };
        match known {
            Ok(known) => self.pending = self.shared.catalog.read().differences(&known),
            Err(_) => {
                self.shared.inbox.change(|mail| mail.rebuilds = true);
                return;
            }
        }
        *self.shared.index.write() = index.map(Arc::new);
        self.note_state();
    }

    /// Makes the index anew from the notes.
    fn rebuild(&mut self) {
        self.writer = None;
        *self.shared.index.write() = None;
        let created = match (&self.place, &self.lock) {
            (Some(place), Some(_)) => SearchIndex::create(&place.join(DATA)).map(Some),
            // The process that writes finds the same damage, or writes a new one.
            (Some(_), None) => Ok(None),
            (None, _) => SearchIndex::in_memory().map(Some),
        };
        match created {
            Ok(index) => self.compare(index),
            Err(_) => self.keep_in_memory(),
        }
    }

    fn write(&mut self) {
        let is_early = self.retry.is_some_and(|it| Instant::now() < it);
        if self.pending.is_empty() || is_early {
            return;
        }
        self.retry = None;
        match self.write_batch() {
            Ok(()) => self.note_state(),
            Err(IndexError::Locked) => {
                self.follow();
                self.retry = Some(Instant::now() + FOLLOW_EVERY);
            }
            Err(IndexError::Damaged(_)) => {
                self.rebuild();
                // A second damage is met a moment later, not in a circle.
                self.retry = Some(Instant::now() + FOLLOW_EVERY);
            }
            Err(error @ IndexError::Io(_)) => {
                self.writer = None;
                self.retry = Some(Instant::now() + RETRY_AFTER);
                let trouble = error.to_string();
                self.publish(|status| status.trouble = Some(trouble));
            }
        }
    }

    fn write_batch(&mut self) -> Result<(), IndexError> {
        let index = self.writable_index()?;
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => Writer::new(&index)?,
        };
        let begun = Instant::now();
        let mut changes = Changes::default();
        let mut done: Vec<(String, Option<Stamp>)> = Vec::new();
        for path in &self.pending {
            let is_known = self.shared.catalog.read().stamp(path).is_some();
            let stamp = match is_known {
                true => put(&self.shared, &writer, path, &mut changes)?,
                false => {
                    writer.remove(path);
                    None
                }
            };
            done.push((path.clone(), stamp));
            if begun.elapsed() > self.batch {
                break;
            }
        }
        self.batch = match done.len() < self.pending.len() {
            true => LONGEST_BATCH.min(self.batch * 2),
            false => BATCH,
        };
        self.note_edits(std::mem::take(&mut changes.edited));
        writer.commit()?;
        self.writer = Some(writer);
        index.reload()?;
        {
            let catalog = self.shared.catalog.read();
            for (path, stamp) in done {
                if catalog.stamp(&path) == stamp {
                    self.pending.remove(&path);
                    changes.paths.remove(&path);
                }
            }
        }
        self.compare_titles(&index);
        if !changes.slugs.is_empty() {
            self.list_due |= changes.is_other_list;
            self.pending.extend(changes.paths);
            self.tell(&News {
                is_other_list: false,
                slugs: changes.slugs.into_iter().collect(),
            });
        }
        Ok(())
    }

    /// The index, if this process may write it.
    fn writable_index(&mut self) -> Result<Arc<SearchIndex>, IndexError> {
        if let (Some(place), None) = (self.place.clone(), &self.lock) {
            self.lock = Some(WriteLock::take(&place)?);
            // The process that wrote before is gone; what it left may be anything.
            let data = place.join(DATA);
            let index = match SearchIndex::open(&data) {
                Ok(index) => index,
                Err(_) => SearchIndex::create(&data)?,
            };
            self.compare(Some(index));
        }
        let index = self.shared.index.read().clone();
        index.ok_or_else(|| IndexError::Damaged("there is none".to_owned()))
    }

    /// Sees what another process has written.
    fn follow(&mut self) {
        let Some(place) = self.place.clone() else {
            return;
        };
        let index = self.shared.index.read().clone();
        let is_there = index.is_some_and(|it| it.reload().is_ok());
        if !is_there {
            match SearchIndex::open(&place.join(DATA)) {
                Ok(index) => self.compare(Some(index)),
                Err(_) => return,
            }
        }
        let Some(index) = self.shared.index.read().clone() else {
            return;
        };
        let catalog = self.shared.catalog.read();
        let stamp = |path: &str| Some(index.known(path).ok()?.map(|it| it.stamp));
        self.pending
            .retain(|path| stamp(path) != Some(catalog.stamp(path)));
        drop(catalog);
        self.compare_titles(&index);
        self.note_state();
    }

    fn note_state(&self) {
        let commit = git::head(self.shared.folder.path());
        let is_complete = self.pending.is_empty();
        self.publish(|status| {
            status.was_complete |= is_complete;
            status.as_of = calendar::now();
            status.commit = commit;
            status.trouble = None;
        });
    }
}

/// Takes a note into the index as it is now, and says in which state that was.
fn put(
    shared: &Shared,
    writer: &Writer,
    path: &str,
    changes: &mut Changes,
) -> Result<Option<Stamp>, IndexError> {
    let language = shared.settings.language;
    let (bytes, stamp) = match shared.folder.read_note(path) {
        Ok(read) => read,
        Err(ReadError::NotFound) => {
            shared.catalog.write().remove(path, changes);
            writer.remove(path);
            return Ok(None);
        }
        // A note that cannot be read is still found by its name.
        Err(ReadError::TooLarge(_) | ReadError::Io(_)) => match shared.folder.stamp(path) {
            Some(stamp) => (Vec::new(), stamp),
            None => return Ok(None),
        },
    };
    let text = String::from_utf8_lossy(&bytes);
    let note = front_matter::read(path, &text);
    writer.put(path, &note, stamp, language)?;
    shared.catalog.write().put(path, stamp, false, changes);
    Ok(Some(stamp))
}
