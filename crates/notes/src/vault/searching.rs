//! Searching: what the index found, checked against the folder.

use std::time::Instant;

use super::listing::HEAD;
use super::{
    FIRST_WAIT, FRESH_WAIT, HEARTBEAT_AFTER, HEARTBEAT_WAIT, POLL_AFTER, Vault, WORTH_WAITING,
};
use crate::folder::Stamp;
use crate::front_matter;
use crate::index::{Found, Hit, IndexError};
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

/// Whether the hits are what the folder holds.
#[derive(Debug, PartialEq, Eq)]
enum Checked {
    Right,
    /// Some notes are gone or changed, which the worker knows now.
    Stale,
}

impl Vault {
    /// The best `limit` notes for a query, the latest if it is blank.
    pub(crate) async fn search(&self, text: &str, limit: usize) -> Results {
        self.scanned().await;
        self.look_after_watcher();
        self.wait_until_fresh().await;
        let query = (!text.trim().is_empty()).then(|| Query::parse(text));
        let mut found = self.found(query.as_ref(), limit + SPARE);
        if self.check(&mut found, limit) == Checked::Stale {
            self.wait_until_fresh().await;
            found = self.found(query.as_ref(), limit + SPARE);
            self.check(&mut found, limit);
        }
        // Before the notes are read: what changes from here on was right when it was found.
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

    fn found(&self, query: Option<&Query>, limit: usize) -> Found {
        let Some(query) = query else {
            return self.latest(limit);
        };
        let index = self.shared.index.read().clone();
        match index.map(|it| it.search(query, limit)) {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                if matches!(error, IndexError::Damaged(_)) {
                    self.shared.inbox.change(|mail| mail.rebuilds = true);
                }
                Found::default()
            }
            None => Found::default(),
        }
    }

    /// The notes that were changed last.
    fn latest(&self, limit: usize) -> Found {
        let catalog = self.shared.catalog.read();
        let mut notes: Vec<_> = catalog.notes().collect();
        let order = |it: &(&str, Stamp)| std::cmp::Reverse(it.1.modified);
        if notes.len() > limit && limit > 0 {
            notes.select_nth_unstable_by_key(limit - 1, order);
            notes.truncate(limit);
        }
        notes.sort_by_key(order);
        let hits = notes.into_iter().map(|(path, stamp)| Hit {
            path: path.to_owned(),
            stamp,
            score: f32::NAN,
        });
        Found {
            total: catalog.len(),
            hits: hits.collect(),
        }
    }

    /// Leaves out notes that are gone, and has the worker look at those and at changed ones.
    fn check(&self, found: &mut Found, limit: usize) -> Checked {
        let mut stale = Vec::new();
        let mut kept = 0;
        let before = found.hits.len();
        found.hits.retain(|hit| {
            if kept == limit {
                return false;
            }
            let stamp = self.shared.folder.stamp(&hit.path);
            if stamp != Some(hit.stamp) {
                stale.push(hit.path.clone());
            }
            kept += usize::from(stamp.is_some());
            stamp.is_some()
        });
        let gone = stale
            .iter()
            .filter(|it| self.shared.folder.stamp(it).is_none());
        found.total = found.total.saturating_sub(gone.count().min(before));
        if stale.is_empty() {
            return Checked::Right;
        }
        self.touch(stale);
        Checked::Stale
    }

    /// What is told of a hit; nothing if it is gone in this moment.
    fn told(&self, hit: Hit, query: &Query) -> Option<FoundNote> {
        let (bytes, stamp) = self.shared.folder.read(&hit.path, HEAD).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let note = front_matter::read(&hit.path, &text);
        Some(FoundNote {
            slug: self.slug_of(&hit.path)?,
            snippet: snippet(note.body, query.shown_words()),
            title: note.title,
            tags: note.tags,
            score: Some(hit.score).filter(|it| it.is_finite()),
            stamp,
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
