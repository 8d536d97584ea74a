//! Searching: what the index found, checked against the folder.

use std::ops::ControlFlow;
use std::time::Instant;

use super::listing::HEAD;
use super::{
    FIRST_WAIT, FRESH_WAIT, HEARTBEAT_AFTER, HEARTBEAT_WAIT, POLL_AFTER, Vault, WORTH_WAITING,
};
use crate::folder::{Folder, Stamp};
use crate::front_matter;
use crate::index::{Hit, IndexError};
use crate::query::Query;
use crate::snippet::snippet;

/// How many hits more than wanted are looked at, in case some are gone.
const SPARE: usize = 16;

/// What a search found.
#[derive(Debug)]
pub(crate) struct Results {
    /// How many notes match in all.
    pub(crate) total: usize,
    /// The best of them; without a query the latest.
    pub(crate) notes: Vec<FoundNote>,
    pub(crate) freshness: Freshness,
}

/// A note that was found.
#[derive(Debug)]
pub(crate) struct FoundNote {
    pub(crate) slug: String,
    pub(crate) title: String,
    pub(crate) tags: Vec<String>,
    pub(crate) snippet: String,
    pub(crate) score: Option<f32>,
    pub(crate) stamp: Stamp,
}

/// How the index stands to the folder.
#[derive(Clone, Debug)]
pub(crate) struct Freshness {
    pub(crate) notes: usize,
    /// How many notes changed since they were taken in; zero if the answer is about the folder as
    /// it is.
    pub(crate) pending: usize,
    /// Nanoseconds since 1970.
    pub(crate) as_of: i64,
    pub(crate) commit: Option<String>,
    pub(crate) trouble: Option<String>,
}

/// Hits, checked against the folder one by one until there are enough.
struct Checked<'a> {
    folder: &'a Folder,
    limit: usize,
    /// Those that are there, as they were read.
    hits: Vec<ReadHit>,
    /// Those that are gone or have changed.
    stale: Vec<String>,
    /// How many are gone.
    gone: usize,
}

impl Checked<'_> {
    fn take(&mut self, mut hit: Hit) -> ControlFlow<()> {
        let read = self.folder.read(&hit.path, HEAD);
        let stamp = match &read {
            Ok((_, stamp)) => Some(*stamp),
            // What cannot be read may be there; it cannot be shown.
            Err(_) => self.folder.stamp(&hit.path),
        };
        if stamp != Some(hit.stamp) {
            self.stale.push(hit.path.clone());
        }
        self.gone += usize::from(stamp.is_none());
        if let Ok((bytes, stamp)) = read {
            hit.stamp = stamp;
            self.hits.push(ReadHit { hit, bytes });
        }
        match self.hits.len() < self.limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// A hit and the beginning of its note.
#[derive(Debug)]
struct ReadHit {
    hit: Hit,
    bytes: Vec<u8>,
}

/// What there is in the folder of what was looked for.
#[derive(Debug)]
struct Found {
    total: usize,
    hits: Vec<ReadHit>,
    /// Some notes are gone or changed, which the worker knows now.
    is_stale: bool,
}

impl Vault {
    /// The best `limit` notes for a query, the latest if it is blank.
    pub(crate) async fn search(&self, text: &str, limit: usize) -> Results {
        self.scanned().await;
        self.look_after_watcher();
        self.wait_until_fresh().await;
        let query = (!text.trim().is_empty()).then(|| Query::parse(text));
        let mut found = self.found(query.as_ref(), limit);
        if found.is_stale {
            self.wait_until_fresh().await;
            found = self.found(query.as_ref(), limit);
        }
        let freshness = self.freshness();
        let shown = query.unwrap_or_default();
        let notes = found
            .hits
            .into_iter()
            .filter_map(|hit| self.told(hit, &shown));
        Results {
            notes: notes.collect(),
            total: found.total,
            freshness,
        }
    }

    async fn wait_until_fresh(&self) {
        let (pending, was_complete) = {
            let status = self.shared.status.borrow();
            (status.pending, status.was_complete)
        };
        if pending <= WORTH_WAITING {
            let limit = if was_complete { FRESH_WAIT } else { FIRST_WAIT };
            self.settled(limit).await;
        }
    }

    /// Looks for notes, leaves out those that are gone, and has the worker look at those and at
    /// changed ones.
    fn found(&self, query: Option<&Query>, limit: usize) -> Found {
        let mut checked = Checked {
            folder: &self.shared.folder,
            limit,
            hits: Vec::with_capacity(limit),
            stale: Vec::new(),
            gone: 0,
        };
        let total = match query {
            Some(query) => self.matches(query, &mut checked),
            None => self.latest(&mut checked),
        };
        let found = Found {
            total: total.saturating_sub(checked.gone),
            hits: checked.hits,
            is_stale: !checked.stale.is_empty(),
        };
        if found.is_stale {
            self.touch(checked.stale);
        }
        found
    }

    /// What the index finds, and how many there are in all.
    fn matches(&self, query: &Query, checked: &mut Checked<'_>) -> usize {
        let index = self.shared.index.read().clone();
        let limit = checked.limit + SPARE;
        match index.map(|it| it.search(query, limit, |hit| checked.take(hit))) {
            Some(Ok(total)) => total,
            Some(Err(error)) => {
                if matches!(error, IndexError::Damaged(_)) {
                    self.shared.inbox.change(|mail| mail.rebuilds = true);
                }
                checked.hits.clear();
                0
            }
            None => 0,
        }
    }

    /// The notes that were changed last, and how many there are in all.
    fn latest(&self, checked: &mut Checked<'_>) -> usize {
        let limit = checked.limit + SPARE;
        let (total, latest) = {
            let catalog = self.shared.catalog.read();
            let mut notes: Vec<_> = catalog.notes().collect();
            let order = |it: &(&str, Stamp)| std::cmp::Reverse(it.1.modified);
            if notes.len() > limit {
                notes.select_nth_unstable_by_key(limit - 1, order);
                notes.truncate(limit);
            }
            notes.sort_by_key(order);
            let latest = notes.into_iter().map(|(path, stamp)| Hit {
                path: path.to_owned(),
                stamp,
                score: f32::NAN,
            });
            (catalog.len(), latest.collect::<Vec<Hit>>())
        };
        // The rest is not looked at once there are enough.
        let _ = latest.into_iter().try_for_each(|hit| checked.take(hit));
        total
    }

    /// What is told of a hit; nothing if it is gone in this moment.
    fn told(&self, found: ReadHit, query: &Query) -> Option<FoundNote> {
        let ReadHit { hit, bytes } = found;
        let text = String::from_utf8_lossy(&bytes);
        let note = front_matter::read(&hit.path, &text);
        Some(FoundNote {
            slug: self.slug_of(&hit.path)?,
            snippet: snippet(note.body, query.shown_words()),
            title: note.title,
            tags: note.tags,
            score: Some(hit.score).filter(|it| it.is_finite()),
            stamp: hit.stamp,
        })
    }

    pub(crate) fn freshness(&self) -> Freshness {
        let unread = self.shared.inbox.unread();
        let status = self.shared.status.borrow().clone();
        Freshness {
            notes: self.len(),
            pending: status.pending.max(unread),
            as_of: status.as_of,
            commit: status.commit,
            trouble: status.trouble,
        }
    }

    /// Sees to it that changes are noticed. It is done when something depends on it, so that an
    /// idle server never wakes up.
    fn look_after_watcher(&self) {
        let shared = &self.shared;
        let mut care = shared.care.lock();
        if care.is_polling {
            if care.scanned.elapsed() > POLL_AFTER {
                care.scanned = Instant::now();
                shared.inbox.change(|mail| mail.rescans = true);
            }
            return;
        }
        let told = shared.heartbeat.told();
        match care.beat {
            Some((_, before)) if told > before => {
                care.alive = Instant::now();
                care.beat = None;
            }
            Some((at, _)) if at.elapsed() > HEARTBEAT_WAIT => {
                care.alive = Instant::now();
                care.beat = None;
                shared.inbox.change(|mail| {
                    mail.rewatches = true;
                    mail.rescans = true;
                });
            }
            Some(_) => {}
            None if care.alive.elapsed() > HEARTBEAT_AFTER => {
                care.beat = shared.heartbeat.beat().then(|| (Instant::now(), told));
                care.alive = Instant::now();
            }
            None => {}
        }
    }
}
