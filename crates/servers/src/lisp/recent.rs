//! A bounded collection by name that drops what was not used for longest.
//!
//! Owns the order of use; knows nothing of what is kept.

use std::collections::VecDeque;

/// Things by name, the one used last at the end.
#[derive(Debug)]
pub(super) struct Recent<T> {
    most: usize,
    entries: VecDeque<(String, T)>,
}

impl<T> Recent<T> {
    /// Keeps at most so many, and at least one.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            entries: VecDeque::new(),
        }
    }

    /// The thing of a name, made if it is not there, and the one that had to go for it.
    pub(super) fn use_or_insert(
        &mut self,
        name: &str,
        make: impl FnOnce() -> T,
    ) -> (&mut T, Option<T>) {
        let known = self.entries.iter().position(|(known, _)| known == name);
        let mut dropped = None;
        let entry = match known.and_then(|index| self.entries.remove(index)) {
            Some(entry) => entry,
            None => {
                if self.entries.len() >= self.most {
                    dropped = self.entries.pop_front().map(|(_, oldest)| oldest);
                }
                (name.to_owned(), make())
            }
        };
        self.entries.push_back(entry);
        let last = self.entries.len() - 1;
        (&mut self.entries[last].1, dropped)
    }

    /// Forgets the thing of a name if it is the one that is meant.
    pub(super) fn remove_if(&mut self, name: &str, meant: impl Fn(&T) -> bool) {
        self.entries
            .retain(|(known, thing)| known != name || !meant(thing));
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn the_oldest_goes_when_there_is_no_room() {
        let mut recent = Recent::new(2);
        let mut used = |name: &str| {
            let (thing, dropped) = recent.use_or_insert(name, || format!("thing of {name}"));
            (thing.clone(), dropped)
        };
        let of = |name: &str| format!("thing of {name}");
        assert_eq!(used("a"), (of("a"), None));
        assert_eq!(used("b"), (of("b"), None));
        // Using one makes it the youngest.
        assert_eq!(used("a"), (of("a"), None));
        assert_eq!(used("c"), (of("c"), Some(of("b"))));
        assert_eq!(used("b"), (of("b"), Some(of("a"))));
        recent.remove_if("b", |thing| thing.ends_with('x'));
        assert_eq!(recent.use_or_insert("b", String::new).0, &of("b"));
        recent.remove_if("b", |thing| thing.ends_with('b'));
        assert_eq!(recent.use_or_insert("b", String::new).0, "");
    }

    #[test]
    fn room_for_none_is_room_for_one() {
        let mut recent = Recent::new(0);
        assert_eq!(recent.use_or_insert("a", || 1), (&mut 1, None));
        assert_eq!(recent.use_or_insert("b", || 2), (&mut 2, Some(1)));
    }
}
