//! Which files git ignores, and so do we.

use std::collections::BTreeMap;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The name of the files that say what is ignored.
pub(crate) const RULES_FILE: &str = ".gitignore";

/// The rules of all folders beneath the root.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    folders: BTreeMap<String, Gitignore>,
}

impl Rules {
    /// Takes in the rules of a folder. Lines that make no sense are left out.
    pub(super) fn add(&mut self, root: &Path, folder: &str, text: &str) {
        let mut builder = GitignoreBuilder::new(root.join(folder));
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build() {
            self.folders.insert(folder.to_owned(), rules);
        }
    }

    /// Whether an entry is ignored, the folders above it not considered.
    pub(super) fn ignores_entry(&self, root: &Path, path: &str, is_folder: bool) -> bool {
        if self.folders.is_empty() {
            return false;
        }
        let whole = root.join(path);
        let mut above = path;
        loop {
            above = above.rfind('/').map_or("", |end| &above[..end]);
            if let Some(rules) = self.folders.get(above) {
                match rules.matched(&whole, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            if above.is_empty() {
                return false;
            }
        }
    }

    /// Whether a path is ignored, itself or with a folder above it.
    pub(crate) fn ignores(&self, root: &Path, path: &str) -> bool {
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.any(|folder| self.ignores_entry(root, folder, true))
            || self.ignores_entry(root, path, false)
    }
}
