//! What a note is called: its slug and its URI.
//!
//! A slug depends on the paths of the folder only, so restarts and clones agree. Knows nothing of
//! files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// How many digits of a hash tell notes apart whose names would be the same.
const SUFFIX: usize = 6;

/// The ending of a note's file name.
pub(crate) const ENDING: &str = ".md";

/// Whether a file of that name is a note. Names with a dot in front are settings of tools.
pub(crate) fn is_note_name(name: &str) -> bool {
    let ending = name.len().checked_sub(ENDING.len());
    let ending = ending.and_then(|at| name.get(at..));
    !name.starts_with('.') && ending.is_some_and(|it| it.eq_ignore_ascii_case(ENDING))
}

/// The slug that the path of a note asks for: lower case, spaces and folders become hyphens.
pub(crate) fn wanted_slug(path: &str) -> String {
    let bare = path.get(..path.len().saturating_sub(ENDING.len()));
    let lower = bare.unwrap_or(path).to_lowercase();
    let hyphen = |it: char| it == '/' || it == '\\' || it.is_whitespace() || it.is_control();
    let slug: String = lower
        .chars()
        .map(|it| if hyphen(it) { '-' } else { it })
        .collect();
    slug
}

/// The slug of a note that shares the wanted one with others, in its `round`-th attempt.
fn told_apart(wanted: &str, path: &str, round: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(path.as_bytes());
    hash.update(round.to_string());
    let mut slug = format!("{wanted}-");
    for byte in hash.finalize().iter().take(SUFFIX.div_ceil(2)) {
        // Writing to a string cannot fail.
        let _ = write!(slug, "{byte:02x}");
    }
    slug
}

/// The slugs of all notes of a folder, as they come and go.
///
/// Of notes that ask for the same slug the one whose path is exactly that slug gets it; all others
/// get a hash of their path behind theirs, whichever came first. Texts are shared between the tables,
/// which are most of what a large folder takes in memory.
#[derive(Debug, Default)]
pub(crate) struct Slugs {
    /// The path of each slug, in order.
    paths: BTreeMap<Arc<str>, Arc<str>>,
    slugs: HashMap<Arc<str>, Arc<str>>,
    /// Paths by the slug they ask for; only where several do.
    shared: HashMap<String, BTreeSet<Arc<str>>>,
}

impl Slugs {
    pub(crate) fn slug(&self, path: &str) -> Option<&str> {
        self.slugs.get(path).map(AsRef::as_ref)
    }

    pub(crate) fn path(&self, slug: &str) -> Option<&str> {
        self.paths.get(slug).map(AsRef::as_ref)
    }

    /// Slugs with their paths, in the order of slugs, behind `after`.
    pub(crate) fn behind<'a>(
        &'a self,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        let range = self.paths.range::<str, _>((from, Unbounded));
        range.map(|(slug, path)| (slug.as_ref(), path.as_ref()))
    }

    /// Takes a note in; nothing happens if it is there already.
    pub(crate) fn insert(&mut self, path: &Arc<str>) {
        if self.slugs.contains_key(path) {
            return;
        }
        let wanted = wanted_slug(path);
        if let Some(group) = self.shared.get_mut(&wanted) {
            group.insert(Arc::clone(path));
            self.assign_group(&wanted);
        } else if let Some(other) = self.paths.get(wanted.as_str()).cloned() {
            // Also a note that only got this slug to be told apart makes room for one that asks
            // for it.
            let mut group = BTreeSet::from([Arc::clone(path)]);
            if wanted_slug(&other) == wanted {
                group.insert(other);
            } else {
                self.release(&other);
                let others = wanted_slug(&other);
                self.give(path, &wanted);
                self.assign_group(&others);
                return;
            }
            self.shared.insert(wanted.clone(), group);
            self.assign_group(&wanted);
        } else {
            self.give(path, &wanted);
        }
    }

    /// Forgets a note.
    pub(crate) fn remove(&mut self, path: &str) {
        if !self.slugs.contains_key(path) {
            return;
        }
        self.release(path);
        let wanted = wanted_slug(path);
        if let Some(group) = self.shared.get_mut(&wanted) {
            group.remove(path);
            self.assign_group(&wanted);
            if self.shared.get(&wanted).is_some_and(|it| it.len() < 2) {
                self.shared.remove(&wanted);
            }
        }
    }

    fn assign_group(&mut self, wanted: &str) {
        let group = self.shared.get(wanted).cloned().unwrap_or_default();
        for path in &group {
            self.release(path);
        }
        let is_alone = group.len() == 1;
        for path in &group {
            let is_exact = path.strip_suffix(ENDING) == Some(wanted);
            if (is_alone || is_exact) && !self.paths.contains_key(wanted) {
                self.give(path, wanted);
                continue;
            }
            let mut rounds = (0..).map(|round| told_apart(wanted, path, round));
            let free = rounds.find(|slug| !self.paths.contains_key(slug.as_str()));
            self.give(path, free.as_deref().unwrap_or(path));
        }
    }

    fn give(&mut self, path: &Arc<str>, slug: &str) {
        let slug: Arc<str> = slug.into();
        self.paths.insert(Arc::clone(&slug), Arc::clone(path));
        self.slugs.insert(Arc::clone(path), slug);
    }

    fn release(&mut self, path: &str) {
        if let Some(slug) = self.slugs.remove(path) {
            self.paths.remove(&slug);
        }
    }
}

/// The URI of a slug: everything but unreserved characters is percent-encoded.
pub(crate) fn uri(scheme: &str, slug: &str) -> String {
    let mut uri = format!("{scheme}://note/");
    for byte in slug.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// A text from a note as one line: no control characters, no forged lines.
pub(crate) fn one_line(text: &str) -> String {
    let is_hidden = |it: char| {
        it.is_control()
            || matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let shown: String = text
        .chars()
        .map(|it| if is_hidden(it) { ' ' } else { it })
        .collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_ask_for_slugs() {
        for (path, slug) in [
            (
                "morning-meditation-2024-12-01.md",
                "morning-meditation-2024-12-01",
            ),
            ("Morning Routine.md", "morning-routine"),
            ("daas/morning.md", "daas-morning"),
            ("Täglich/Über mich.MD", "täglich-über-mich"),
            ("a\nb.md", "a-b"),
        ] {
            assert_eq!(wanted_slug(path), slug, "{path}");
        }
    }

    #[test]
    fn only_visible_markdown_is_a_note() {
        for (name, expected) in [
            ("a.md", true),
            ("a.MD", true),
            ("ä.md", true),
            (".md", false),
            (".hidden.md", false),
            ("a.markdown", false),
            ("md", false),
            ("é", false),
        ] {
            assert_eq!(is_note_name(name), expected, "{name}");
        }
    }

    fn slugs(paths: &[&str]) -> BTreeMap<String, String> {
        let mut slugs = Slugs::default();
        for path in paths {
            slugs.insert(&Arc::from(*path));
        }
        let pairs = slugs.slugs.iter();
        pairs.map(|(a, b)| (a.to_string(), b.to_string())).collect()
    }

    #[test]
    fn collisions_do_not_depend_on_who_came_first() {
        let mut paths = ["a b.md", "A B.md", "a/b.md", "a-b.md", "c.md"];
        let expected = slugs(&paths);
        assert_eq!(expected["a-b.md"], "a-b");
        assert_eq!(expected["c.md"], "c");
        assert!(expected["a/b.md"].starts_with("a-b-"));
        let distinct: BTreeSet<_> = expected.values().collect();
        assert_eq!(distinct.len(), paths.len());
        for _ in 0..paths.len() {
            paths.rotate_left(1);
            assert_eq!(slugs(&paths), expected);
        }
    }

    #[test]
    fn the_last_of_a_group_gets_the_plain_slug_back() {
        let mut slugs = Slugs::default();
        slugs.insert(&Arc::from("A.md"));
        slugs.insert(&Arc::from("a.MD"));
        assert_ne!(slugs.slug("A.md"), Some("a"));
        slugs.remove("a.MD");
        assert_eq!(slugs.slug("A.md"), Some("a"));
        assert_eq!(slugs.slugs.len(), 1);
        slugs.remove("A.md");
        slugs.remove("A.md");
        assert_eq!((slugs.slugs.len(), slugs.behind(None).count()), (0, 0));
    }

    /// A note named like the slug that told another one apart takes nothing away.
    #[test]
    fn a_forged_suffix_loses_no_note() {
        let mut slugs = Slugs::default();
        slugs.insert(&Arc::from("A.md"));
        slugs.insert(&Arc::from("B.md"));
        slugs.insert(&Arc::from("a.MD"));
        let taken = slugs.slug("A.md").unwrap().to_owned();
        let forged = format!("{taken}.md");
        slugs.insert(&Arc::from(forged.as_str()));
        assert_eq!(slugs.slug(&forged), Some(taken.as_str()));
        let all: BTreeSet<_> = slugs.behind(None).map(|(_, path)| path).collect();
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn uris_are_encoded_and_lines_are_single() {
        assert_eq!(uri("n", "a-b_1.x~"), "n://note/a-b_1.x~");
        assert_eq!(uri("n", "ä#?%/"), "n://note/%C3%A4%23%3F%25%2F");
        assert_eq!(
            one_line(" a\n2. \u{1b}[31mforged\u{202e} "),
            "a 2. [31mforged"
        );
    }
}
