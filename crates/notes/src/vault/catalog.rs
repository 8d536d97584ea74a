//! The notes of a folder as they are known: which there are, in which state, under which names.
//!
//! A plain table, changed by one thread and read by all.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound::{Included, Unbounded};
use std::sync::Arc;

use crate::folder::{Rules, Scan, Stamp};
use crate::identity::Slugs;

/// All notes.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    notes: BTreeMap<Arc<str>, Stamp>,
    slugs: Slugs,
    pub(crate) rules: Rules,
}

/// What a step changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Paths that are new, different or gone.
    pub(crate) paths: BTreeSet<String>,
    /// Slugs that read differently now, or no longer.
    pub(crate) slugs: BTreeSet<String>,
    /// Those of the paths that were notes before and still are: their titles may be others now.
    pub(crate) edited: BTreeSet<String>,
    /// Notes came or went.
    pub(crate) is_other_list: bool,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}

impl Catalog {
    pub(crate) fn len(&self) -> usize {
        self.notes.len()
    }

    pub(crate) fn stamp(&self, path: &str) -> Option<Stamp> {
        self.notes.get(path).copied()
    }

    pub(crate) fn slug(&self, path: &str) -> Option<&str> {
        self.slugs.slug(path)
    }

    pub(crate) fn path(&self, slug: &str) -> Option<&str> {
        self.slugs.path(slug)
    }

    /// Slugs with their paths, in order, behind the slug `after`.
    pub(crate) fn behind<'a>(
        &'a self,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.slugs.behind(after)
    }

    /// Paths and states of all notes.
    pub(crate) fn notes(&self) -> impl Iterator<Item = (&str, Stamp)> {
        self.notes
            .iter()
            .map(|(path, stamp)| (path.as_ref(), *stamp))
    }

    /// Takes in a note, or its new state. One in the same state counts as changed only if
    /// `is_suspect`.
    pub(crate) fn put(&mut self, path: &str, stamp: Stamp, is_suspect: bool, told: &mut Changes) {
        if let Some(known) = self.notes.get_mut(path) {
            let before = std::mem::replace(known, stamp);
            if before == stamp && !is_suspect {
                return;
            }
            told.edited.insert(path.to_owned());
        } else {
            let path: Arc<str> = path.into();
            self.slugs.insert(&path);
            self.notes.insert(path, stamp);
            told.is_other_list = true;
        }
        told.paths.insert(path.to_owned());
        told.slugs.extend(self.slugs.slug(path).map(str::to_owned));
    }

    /// Forgets a note.
    pub(crate) fn remove(&mut self, path: &str, told: &mut Changes) {
        if self.notes.remove(path).is_none() {
            return;
        }
        told.slugs.extend(self.slugs.slug(path).map(str::to_owned));
        told.paths.insert(path.to_owned());
        told.is_other_list = true;
        self.slugs.remove(path);
    }

    /// Forgets a note, or every note in a folder of that path.
    pub(crate) fn remove_beneath(&mut self, path: &str, told: &mut Changes) {
        self.remove(path, told);
        let folder = format!("{path}/");
        let from = (Included(folder.as_str()), Unbounded);
        let within = self.notes.range::<str, _>(from).map(|(path, _)| path);
        let within = within.take_while(|it| it.starts_with(&folder));
        let gone: Vec<Arc<str>> = within.cloned().collect();
        for path in gone {
            self.remove(&path, told);
        }
    }

    /// Takes in what the first scan found. It is not announced, so nothing is kept of it that would be
    /// freed at once and leave the memory in pieces.
    pub(crate) fn fill(&mut self, scan: Scan) {
        let mut notes: Vec<(String, Stamp)> = scan.notes.into_iter().collect();
        notes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (path, stamp) in notes {
            let path: Arc<str> = path.into();
            self.slugs.insert(&path);
            self.notes.insert(path, stamp);
        }
        self.rules = scan.rules;
    }

    /// What a whole scan found otherwise than it is here: paths that are gone, and those that are new
    /// or in another state. They are in order: tables are made several times as fast from that.
    pub(crate) fn unlike<'a>(&self, scan: &'a Scan) -> (Vec<String>, Vec<(&'a str, Stamp)>) {
        let is_gone = |path: &&str| !scan.notes.contains_key(*path);
        let gone = self.notes.keys().map(AsRef::as_ref).filter(is_gone);
        let gone = gone.map(str::to_owned).collect();
        let found = scan
            .notes
            .iter()
            .map(|(path, stamp)| (path.as_str(), *stamp));
        let mut others: Vec<_> = found
            .filter(|(path, stamp)| self.notes.get(*path) != Some(stamp))
            .collect();
        others.sort_unstable_by_key(|(path, _)| *path);
        (gone, others)
    }

    /// The paths whose state in the index is another than here.
    pub(crate) fn differences(&self, indexed: &HashMap<String, Stamp>) -> BTreeSet<String> {
        let unlike = |it: &(&str, Stamp)| indexed.get(it.0) != Some(&it.1);
        let here = self.notes().filter(unlike).map(|(path, _)| path);
        let indexed = indexed.keys().map(String::as_str);
        let gone = indexed.filter(|it| !self.notes.contains_key(*it));
        here.chain(gone).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Stamp {
        Stamp {
            size,
            modified: 0,
            inode: 0,
        }
    }

    fn told(paths: &[&str], slugs: &[&str], is_other_list: bool) -> Changes {
        let set = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
        Changes {
            paths: set(paths),
            slugs: set(slugs),
            edited: if is_other_list { set(&[]) } else { set(paths) },
            is_other_list,
        }
    }

    #[track_caller]
    fn step(catalog: &mut Catalog, work: impl FnOnce(&mut Catalog, &mut Changes)) -> Changes {
        let mut changes = Changes::default();
        work(catalog, &mut changes);
        changes
    }

    #[test]
    fn steps_tell_what_they_change() {
        let catalog = &mut Catalog::default();
        let new = step(catalog, |it, told| it.put("a.md", stamp(1), false, told));
        assert_eq!(new, told(&["a.md"], &["a"], true));
        let same = step(catalog, |it, told| it.put("a.md", stamp(1), false, told));
        assert!(same.is_empty());
        let suspect = step(catalog, |it, told| it.put("a.md", stamp(1), true, told));
        assert_eq!(suspect, told(&["a.md"], &["a"], false));
        let other = step(catalog, |it, told| it.put("a.md", stamp(2), false, told));
        assert_eq!(other, told(&["a.md"], &["a"], false));
        step(catalog, |it, told| it.put("x/b.md", stamp(1), false, told));
        step(catalog, |it, told| it.put("x-c.md", stamp(1), false, told));
        let folder = step(catalog, |it, told| it.remove_beneath("x", told));
        assert_eq!(folder, told(&["x/b.md"], &["x-b"], true));
        let indexed = HashMap::from([("a.md".to_owned(), stamp(1)), ("z.md".to_owned(), stamp(1))]);
        let different: Vec<_> = catalog.differences(&indexed).into_iter().collect();
        assert_eq!(different, ["a.md", "x-c.md", "z.md"]);
    }
}
