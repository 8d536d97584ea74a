//! The walk over a folder.

use std::collections::HashMap;

use super::rules::RULES_FILE;
use super::{Folder, Kind, Rules, Stamp};
use crate::identity::is_note_name;

/// How deep folders may nest.
const DEEPEST: usize = 64;
/// How many notes a folder may have; the others are left out.
const MOST_NOTES: usize = 1_000_000;
/// How many bytes of ignore rules are read.
const LONGEST_RULES: u64 = 1024 * 1024;

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) notes: HashMap<String, Stamp>,
    /// The folders that notes may be in, the root (an empty path) included.
    pub(crate) folders: Vec<String>,
    pub(crate) rules: Rules,
    /// How many entries were left out because their names are no UTF-8, or because there are too
    /// many or too deep ones, or because they could not be looked at.
    pub(crate) left_out: usize,
}

impl Scan {
    /// Walks over everything.
    pub(crate) fn of(folder: &Folder) -> Self {
        let mut scan = Self::default();
        scan.walk(folder, String::new());
        scan
    }

    /// Walks over a folder in it, with the rules that are known.
    pub(crate) fn beneath(folder: &Folder, path: &str, rules: Rules) -> Self {
        let mut scan = Self {
            rules,
            ..Self::default()
        };
        scan.walk(folder, path.to_owned());
        scan
    }

    fn walk(&mut self, folder: &Folder, from: String) {
        let mut open = vec![from];
        while let Some(path) = open.pop() {
            let is_too_deep = path.matches('/').count() >= DEEPEST;
            let listed = match path.is_empty() {
                true => folder.root.again(),
                false => folder
                    .above(&path)
                    .and_then(|(above, name)| above.sub(name)),
            };
            let Some(directory) = listed.ok().filter(|_| !is_too_deep) else {
                self.left_out += 1;
                continue;
            };
            let Ok(names) = directory.names() else {
                self.left_out += 1;
                continue;
            };
            if names.iter().any(|it| it == RULES_FILE) {
                self.read_rules(folder, &path);
            }
            for name in names {
                let Some(name) = name.to_str() else {
                    self.left_out += 1;
                    continue;
                };
                if name.starts_with('.') {
                    continue;
                }
                let entry = join(&path, name);
                let Ok(kind) = directory.kind(name) else {
                    continue;
                };
                let is_folder = kind == Kind::Folder;
                let counts = is_folder || is_note_name(name);
                if !counts || self.rules.ignores_entry(folder.path(), &entry, is_folder) {
                    continue;
                }
                match kind {
                    Kind::Folder => open.push(entry),
                    Kind::File(_) if self.notes.len() >= MOST_NOTES => self.left_out += 1,
                    Kind::File(stamp) => {
                        self.notes.insert(entry, stamp);
                    }
                    Kind::Other => {}
                }
            }
            self.folders.push(path);
        }
    }

    fn read_rules(&mut self, folder: &Folder, path: &str) {
        if let Ok((bytes, _)) = folder.read(&join(path, RULES_FILE), LONGEST_RULES) {
            let text = String::from_utf8_lossy(&bytes);
            self.rules.add(folder.path(), path, &text);
        }
    }
}

/// A path in a folder; the root is empty.
pub(crate) fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}
