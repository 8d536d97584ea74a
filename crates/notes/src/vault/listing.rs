//! Lists of notes, reading one, and completing a name.

use std::time::Duration;

use super::Vault;
use crate::folder::{ReadError, Stamp};
use crate::front_matter;
use crate::identity::{ENDING, is_note_name};

/// How much of a note is read to find its title.
pub(super) const HEAD: u64 = 80 * 1024;
/// How long reading waits for a note that was saved just now to be noticed.
const NOTICE_WAIT: Duration = Duration::from_millis(50);
/// How many completions are found at most.
const MOST_COMPLETIONS: usize = 1000;
/// What is put before a note whose bytes are no text.
const LOSSY: &str =
    "> This note is not UTF-8; bytes that cannot be shown stand here as \u{fffd}.\n\n";

/// A page of the list of notes.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) notes: Vec<ListedNote>,
    /// The slug that the next page begins behind.
    pub(crate) next: Option<String>,
}

/// A note in a list.
#[derive(Debug)]
pub(crate) struct ListedNote {
    pub(crate) slug: String,
    pub(crate) title: String,
    pub(crate) stamp: Stamp,
}

impl Vault {
    /// The notes behind a slug, in the order of slugs. Titles are read now, so that a list needs no
    /// index.
    pub(crate) fn page(&self, after: Option<&str>, size: usize) -> Page {
        let (entries, next) = {
            let catalog = self.shared.catalog.read();
            let mut entries = Vec::with_capacity(size);
            let mut behind = catalog.behind(after);
            for (slug, path) in behind.by_ref().take(size) {
                let stamp = catalog.stamp(path);
                entries.extend(stamp.map(|it| (slug.to_owned(), path.to_owned(), it)));
            }
            let has_more = behind.next().is_some();
            let last = entries.last().map(|(slug, ..)| slug.clone());
            (entries, last.filter(|_| has_more))
        };
        let listed = entries.into_iter().map(|(slug, path, stamp)| ListedNote {
            title: self.title(&path),
            slug,
            stamp,
        });
        Page {
            notes: listed.collect(),
            next,
        }
    }

    fn title(&self, path: &str) -> String {
        match self.shared.folder.read(path, HEAD) {
            Ok((bytes, _)) => front_matter::read(path, &String::from_utf8_lossy(&bytes)).title,
            Err(_) => front_matter::file_title(path),
        }
    }

    /// The text of the note of a slug, or of a path in the folder.
    pub(crate) async fn read(&self, name: &str) -> Result<String, ReadError> {
        self.scanned().await;
        let mut path = self.path_of(name);
        if path.is_none() {
            // It may have been saved a moment ago.
            self.settled(NOTICE_WAIT).await;
            path = self.path_of(name);
        }
        let path = path.ok_or(ReadError::NotFound)?;
        let (bytes, _) = self.shared.folder.read_note(&path)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
            format!("{LOSSY}{}", String::from_utf8_lossy(error.as_bytes()))
        }))
    }

    fn path_of(&self, name: &str) -> Option<String> {
        let catalog = self.shared.catalog.read();
        if let Some(path) = catalog.path(name) {
            return Some(path.to_owned());
        }
        let path = match is_note_name(name.rsplit('/').next().unwrap_or(name)) {
            true => name.to_owned(),
            false => format!("{name}{ENDING}"),
        };
        catalog.stamp(&path).map(|_| path)
    }

    pub(crate) fn slug_of(&self, path: &str) -> Option<String> {
        let catalog = self.shared.catalog.read();
        catalog.slug(path).map(str::to_owned)
    }

    /// Slugs that begin with what is typed, then those that have its letters in order.
    pub(crate) fn completions(&self, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let catalog = self.shared.catalog.read();
        let mut beginning = Vec::new();
        let mut others = Vec::new();
        for (slug, _) in catalog.behind(None) {
            if slug.starts_with(&typed) {
                beginning.push(slug.to_owned());
            } else if others.len() < MOST_COMPLETIONS && has_in_order(slug, &typed) {
                others.push(slug.to_owned());
            }
            if beginning.len() >= MOST_COMPLETIONS {
                break;
            }
        }
        // Letters that stand together are meant more often.
        others.sort_by_key(|slug| !slug.contains(&typed));
        beginning.extend(others);
        beginning.truncate(MOST_COMPLETIONS);
        beginning
    }
}

fn has_in_order(slug: &str, typed: &str) -> bool {
    let mut characters = slug.chars();
    typed
        .chars()
        .all(|wanted| characters.any(|it| it == wanted))
}
