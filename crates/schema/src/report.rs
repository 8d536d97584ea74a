//! What a check finds.

use std::collections::BTreeSet;

use attache_protocol::{safe_text, shortened};
use serde::Serialize;

use crate::evaluated::Evaluated;
use crate::limits::MAX_PROBLEMS;
use crate::path::{Here, Path};

/// Something that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where.
    pub path: Path,
    /// The rule that it breaks: a word of JSON Schema, or `syntax` for text that says no value.
    pub rule: String,
    /// A sentence that names the field and the rule; safe to show.
    pub message: String,
}

impl Problem {
    /// A problem of what is at `path`; `complaint` continues a sentence that begins with its name.
    pub fn new(path: &Path, rule: &str, complaint: &str) -> Self {
        let complaint = shortened(safe_text::one_line(complaint));
        Self {
            path: path.clone(),
            rule: rule.to_owned(),
            message: format!("{} {complaint}", path.subject()),
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What is wrong, in the order of the schema.
    pub problems: Vec<Problem>,
    /// What could not be checked here, in words; the other side remains the judge of it.
    pub unchecked: BTreeSet<String>,
    /// Which parts of the value were looked at by rules that hold.
    #[serde(skip)]
    pub(crate) evaluated: Evaluated,
}

/// What is known of a value after a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits.
    Holds,
    /// It does not.
    Fails,
    /// Nothing speaks against it, and not all was checked.
    Unknown,
}

impl Report {
    /// What is known of the value.
    pub fn verdict(&self) -> Verdict {
        match (self.problems.is_empty(), self.unchecked.is_empty()) {
            (false, _) => Verdict::Fails,
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Unknown,
        }
    }

    /// Adds what another check found of the same value.
    pub fn merge(&mut self, other: Self) {
        let room = MAX_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(other.problems.into_iter().take(room));
        self.unchecked.extend(other.unchecked);
    }

    pub(crate) fn add(&mut self, here: &Here<'_>, rule: &str, complaint: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems
                .push(Problem::new(&here.path(), rule, complaint));
        }
    }

    pub(crate) fn leave(&mut self, what: impl Into<String>) {
        self.unchecked
            .insert(shortened(safe_text::one_line(&what.into())));
    }

    /// Adds what a rule about the same value found, with what it looked at.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.evaluated.merge(&other.evaluated);
        self.merge(other);
    }
}
