//! The notes of a folder as they are known: which there are, in which state, under which names.
//!
//! A plain table, changed by one thread and read by all.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::folder::{Rules, Scan, Stamp};
use crate::identity::Slugs;

/// All notes.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    notes: BTreeMap<String, Stamp>,
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
            .map(|(path, stamp)| (path.as_str(), *stamp))
    }

    /// Takes in a note, or its new state. One in the same state counts as changed only if
    /// `is_suspect`.
    pub(crate) fn put(&mut self, path: &str, stamp: Stamp, is_suspect: bool, told: &mut Changes) {
        let before = self.notes.insert(path.to_owned(), stamp);
        if before == Some(stamp) && !is_suspect {
            return;
        }
        if before.is_none() {
            self.slugs.insert(path);
            told.is_other_list = true;
        } else {
            told.edited.insert(path.to_owned());
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
        let within = self.notes.range(folder.clone()..);
        let within = within.map(|(path, _)| path.clone());
        let gone: Vec<String> = within.take_while(|it| it.starts_with(&folder)).collect();
        for path in gone {
            self.remove(&path, told);
        }
    }

    /// The paths whose state here is another than in a whole scan, in order: tables are made several
    /// times as fast from what is in order.
    pub(crate) fn unlike(&self, scan: &Scan) -> Vec<String> {
        let is_gone = |path: &&String| !scan.notes.contains_key(*path);
        let gone = self.notes.keys().filter(is_gone);
        let is_other = |it: &(&String, &Stamp)| self.notes.get(it.0) != Some(it.1);
        let others = scan.notes.iter().filter(is_other).map(|(path, _)| path);
        let mut unlike: Vec<String> = gone.chain(others).cloned().collect();
        unlike.sort_unstable();
        unlike
    }

    /// Becomes what a whole scan found; these paths are all that differ.
    pub(crate) fn replace(&mut self, scan: Scan, unlike: &[String], told: &mut Changes) {
        for path in unlike {
            match scan.notes.get(path) {
                Some(stamp) => self.put(path, *stamp, false, told),
                None => self.remove(path, told),
            }
        }
        self.rules = scan.rules;
    }

    /// The paths whose state in the index is another than here.
    pub(crate) fn differences(&self, indexed: &HashMap<String, Stamp>) -> BTreeSet<String> {
        let unlike = |it: &(&String, &Stamp)| indexed.get(it.0) != Some(it.1);
        let here = self.notes.iter().filter(unlike).map(|(path, _)| path);
        let gone = indexed.keys().filter(|it| !self.notes.contains_key(*it));
        here.chain(gone).cloned().collect()
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
