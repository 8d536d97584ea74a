//! Which members and items of a value some rule has looked at, for `unevaluatedProperties` and
//! `unevaluatedItems`.

use std::collections::BTreeSet;

/// The parts of one value that were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evaluated {
    all: bool,
    members: BTreeSet<String>,
    /// So many of the first items.
    first: usize,
    items: BTreeSet<usize>,
}

impl Evaluated {
    pub(crate) fn everything(&mut self) {
        self.all = true;
    }

    pub(crate) fn member(&mut self, name: &str) {
        if !self.all {
            self.members.insert(name.to_owned());
        }
    }

    pub(crate) fn first_items(&mut self, count: usize) {
        self.first = self.first.max(count);
    }

    pub(crate) fn item(&mut self, index: usize) {
        self.items.insert(index);
    }

    pub(crate) fn has_member(&self, name: &str) -> bool {
        self.all || self.members.contains(name)
    }

    pub(crate) fn has_item(&self, index: usize) -> bool {
        self.all || index < self.first || self.items.contains(&index)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.all |= other.all;
        self.first = self.first.max(other.first);
        self.members.extend(other.members.iter().cloned());
        self.items.extend(&other.items);
    }
}
