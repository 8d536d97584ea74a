//! A bounded collection by owner and name that makes room where there is most of one owner.
//!
//! Owns the order of use and the memory of what had to go; knows nothing of what is kept.

use std::collections::{HashMap, VecDeque};

/// How many names of dropped things are remembered.
const MOST_DROPPED: usize = 1024;

/// Whose thing it is, and how it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) owner: String,
    pub(super) name: String,
}

/// Things by owner and name, the one used last at the end.
#[derive(Debug)]
pub(super) struct Recent<T> {
    most: usize,
    entries: VecDeque<(Key, T)>,
    /// What had to go and has not been asked for since, the last at the end.
    dropped: VecDeque<Key>,
}

/// What is there under a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<T> {
    /// The thing, made if it was not there, and the one that had to go for it.
    Here(T, Option<T>),
    /// It had to go; this is said once.
    Dropped,
}

impl<T: Clone> Recent<T> {
    /// Keeps at most so many, and at least one.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            entries: VecDeque::new(),
            dropped: VecDeque::new(),
        }
    }

    /// The thing of a name. Where there is no room for a new one, the owner of the most things
    /// gives up the one not used for longest, rather one that is not busy.
    pub(super) fn use_or_insert(
        &mut self,
        key: &Key,
        make: impl FnOnce() -> T,
        is_busy: impl Fn(&T) -> bool,
    ) -> Found<T> {
        if self.forget_dropped(key) {
            return Found::Dropped;
        }
        let known = self.entries.iter().position(|(known, _)| known == key);
        let mut gone = None;
        let entry = match known.and_then(|index| self.entries.remove(index)) {
            Some(entry) => entry,
            None => {
                if self.entries.len() >= self.most {
                    gone = self.make_room(&key.owner, is_busy);
                }
                (key.clone(), make())
            }
        };
        let thing = entry.1.clone();
        self.entries.push_back(entry);
        Found::Here(thing, gone)
    }

    /// Forgets the thing of a name if it is the one that is meant.
    pub(super) fn remove_if(&mut self, key: &Key, meant: impl Fn(&T) -> bool) {
        self.entries
            .retain(|(known, thing)| known != key || !meant(thing));
    }

    /// Whether the thing of a name is the one that is meant.
    pub(super) fn has(&self, key: &Key, meant: impl Fn(&T) -> bool) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(known, thing)| known == key && meant(thing))
    }

    /// Forgets that the thing of a name had to go; whether it was remembered.
    pub(super) fn forget_dropped(&mut self, key: &Key) -> bool {
        let before = self.dropped.len();
        self.dropped.retain(|known| known != key);
        self.dropped.len() < before
    }

    /// Forgets everything, and gives what was there.
    pub(super) fn clear(&mut self) -> Vec<T> {
        self.dropped.clear();
        self.entries.drain(..).map(|(_, thing)| thing).collect()
    }

    fn make_room(&mut self, newcomer: &str, is_busy: impl Fn(&T) -> bool) -> Option<T> {
        let owners = self.entries.iter().map(|(key, _)| key.owner.as_str());
        let (giver, oldest) = who_gives(owners, newcomer)?;
        let idle = self
            .entries
            .iter()
            .position(|(key, thing)| key.owner == giver && !is_busy(thing));
        let (key, thing) = self.entries.remove(idle.unwrap_or(oldest))?;
        if self.dropped.len() >= MOST_DROPPED {
            let owners = self.dropped.iter().map(|key| key.owner.as_str());
            if let Some((_, oldest)) = who_gives(owners, &key.owner) {
                self.dropped.remove(oldest);
            }
        }
        self.dropped.push_back(key);
        Some(thing)
    }
}

/// The owner who gives up a thing for a newcomer, and where its oldest is: the owner of the most,
/// the new one counted. A newcomer that is among these gives up its own.
fn who_gives<'a>(
    owners: impl Iterator<Item = &'a str> + Clone,
    newcomer: &str,
) -> Option<(String, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::from([(newcomer, 1)]);
    for owner in owners.clone() {
        *counts.entry(owner).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(0);
    let gives_own = counts.get(newcomer) == Some(&most) && most > 1;
    let (oldest, owner) = owners.enumerate().find(|(_, owner)| match gives_own {
        true => *owner == newcomer,
        false => counts.get(owner) == Some(&most),
    })?;
    Some((owner.to_owned(), oldest))
}

#[cfg(test)]
mod tests {
    use super::{Found, Key, MOST_DROPPED, Recent};

    fn key(text: &str) -> Key {
        let (owner, name) = text.split_once('/').unwrap();
        Key {
            owner: owner.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Uses a name; what had to go for it, `!` if that was itself.
    fn used(recent: &mut Recent<String>, name: &str, busy: &[&str]) -> String {
        let is_busy = |thing: &String| busy.contains(&thing.as_str());
        match recent.use_or_insert(&key(name), || name.to_owned(), is_busy) {
            Found::Here(thing, gone) => {
                assert_eq!(thing, name);
                gone.unwrap_or_default()
            }
            Found::Dropped => "!".to_owned(),
        }
    }

    #[test]
    fn the_oldest_goes_when_there_is_no_room_and_that_is_said_once() {
        let mut recent = Recent::new(2);
        for (name, gone) in [
            ("o/a", ""),
            ("o/b", ""),
            // Using one makes it the youngest.
            ("o/a", ""),
            ("o/c", "o/b"),
            ("o/b", "!"),
            ("o/b", "o/a"),
        ] {
            assert_eq!(used(&mut recent, name, &[]), gone, "{name}");
        }
        recent.remove_if(&key("o/b"), |thing| thing.ends_with('x'));
        assert!(recent.has(&key("o/b"), |thing| thing == "o/b"));
        recent.remove_if(&key("o/b"), |thing| thing.ends_with('b'));
        assert!(!recent.has(&key("o/b"), |_| true));
        assert_eq!(used(&mut recent, "o/b", &[]), "");
    }

    #[test]
    fn the_owner_of_the_most_makes_room() {
        let mut recent = Recent::new(3);
        used(&mut recent, "quiet/1", &[]);
        for number in 0..20 {
            let gone = used(&mut recent, &format!("flood/{number}"), &[]);
            assert!(!gone.starts_with("quiet"), "{gone}");
        }
        assert_eq!(used(&mut recent, "quiet/1", &[]), "");
        assert_eq!(used(&mut recent, "third/1", &[]), "flood/18");
        // With one each the oldest goes, whichever owner it has.
        assert_eq!(used(&mut recent, "fourth/1", &[]), "flood/19");
    }

    #[test]
    fn one_that_is_busy_stays_while_its_owner_has_another() {
        let mut recent = Recent::new(2);
        used(&mut recent, "o/a", &[]);
        used(&mut recent, "o/b", &[]);
        assert_eq!(used(&mut recent, "o/c", &["o/a"]), "o/b");
        assert_eq!(used(&mut recent, "o/d", &["o/a", "o/c"]), "o/a");
    }

    #[test]
    fn so_many_that_had_to_go_are_remembered_and_a_flood_forgets_its_own() {
        let mut recent = Recent::new(1);
        used(&mut recent, "quiet/1", &[]);
        for number in 0..=MOST_DROPPED {
            used(&mut recent, &format!("flood/{number}"), &[]);
        }
        assert_eq!(recent.dropped.len(), MOST_DROPPED);
        assert_eq!(used(&mut recent, "quiet/1", &[]), "!");
        assert_eq!(used(&mut recent, "flood/1", &[]), "!");
        assert_ne!(used(&mut recent, "flood/0", &[]), "!");
    }

    #[test]
    fn room_for_none_is_room_for_one() {
        let mut recent = Recent::new(0);
        assert_eq!(used(&mut recent, "o/a", &[]), "");
        assert_eq!(used(&mut recent, "o/b", &[]), "o/a");
    }
}
