//! The specs of a project, with their phase as the files tell it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::document::markers;
use crate::folder::{FolderError, Project, SpecFolder};
use crate::tasks::TaskList;
use crate::{PLAN, SPEC, TASKS};

/// The documents of a spec in the order they are read.
pub const DOCUMENTS: [&str; 6] = [
    SPEC,
    PLAN,
    TASKS,
    "research.md",
    "data-model.md",
    "quickstart.md",
];

/// The most specs that are listed.
const MOST_SPECS: usize = 2000;
/// The longest short name, in characters and in words.
const LONGEST_NAME: usize = 40;
const MOST_WORDS: usize = 4;

/// Words that say nothing about a feature.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "for", "from", "i", "in",
    "into", "is", "it", "its", "me", "must", "my", "need", "needs", "of", "on", "or", "our",
    "shall", "should", "so", "some", "that", "the", "their", "them", "then", "they", "this", "to",
    "us", "users", "user", "want", "wants", "we", "when", "which", "who", "will", "with", "would",
    "you", "your",
];

/// What comes next for a spec, as its files tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// There is no specification.
    Specify,
    /// There is one; it can be clarified and planned.
    Plan,
    /// There is a plan.
    Tasks,
    /// There are tasks, some of them open.
    Implement,
    /// Every task is ticked off.
    Done,
}

impl Phase {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Specify => "specify",
            Self::Plan => "clarify or plan",
            Self::Tasks => "tasks",
            Self::Implement => "implement",
            Self::Done => "done",
        }
    }
}

/// One spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its number, if its folder begins with one.
    pub number: Option<u32>,
    /// The name of its folder.
    pub name: String,
    /// Its path from the project on.
    pub shown: String,
    /// Where it is.
    pub folder: PathBuf,
    /// The branch its specification names; otherwise the name of the folder.
    pub branch: String,
    /// What comes next.
    pub phase: Phase,
    /// Whether there is a specification.
    pub has_spec: bool,
    /// Whether there is a plan.
    pub has_plan: bool,
    /// How many questions are marked in the specification.
    pub questions: usize,
    /// Ticked and all tasks, if there is a list.
    pub tasks: Option<(usize, usize)>,
    /// What is older than what it was made from, in words.
    pub stale: Vec<&'static str>,
    /// Why a document cannot be read.
    pub problem: Option<String>,
}

/// The specs of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecList {
    /// By name, so that numbers rise.
    pub specs: Vec<Spec>,
    /// More were there than are listed.
    pub is_cut: bool,
}

/// Lists the specs below a folder of the project. A folder that is not there has none.
///
/// # Errors
/// If the folder cannot be looked into.
pub fn list(project: &Project, specs_folder: &str) -> Result<SpecList, FolderError> {
    let folder = project.spec(specs_folder)?;
    let entries = match fs::read_dir(folder.path()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(SpecList::default());
        }
        Err(source) => {
            return Err(FolderError::Io {
                doing: "look into",
                path: folder.path(),
                source,
            });
        }
    };
    let is_spec = |entry: &fs::DirEntry| {
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        is_folder && !entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    let entries = entries.filter_map(Result::ok).filter(is_spec);
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let is_cut = names.len() > MOST_SPECS;
    names.truncate(MOST_SPECS);
    let below = folder.shown();
    let specs = names
        .iter()
        .filter_map(|name| project.spec(&format!("{below}/{name}")).ok())
        .map(|folder| spec_at(&folder))
        .collect();
    Ok(SpecList { specs, is_cut })
}

/// What the files of one spec tell.
pub fn spec_at(folder: &SpecFolder) -> Spec {
    let path = folder.path();
    let name = folder.name();
    let mut problem = None;
    let mut read = |file: &str| match folder.read(file) {
        Ok(text) => text,
        Err(error) => {
            problem.get_or_insert(error.to_string());
            None
        }
    };
    let spec = read(SPEC);
    let tasks = read(TASKS);
    let has_plan = path.join(PLAN).is_file();
    let counted = tasks.map(|text| {
        let list = TaskList::parse(&text);
        (list.done(), list.tasks.len())
    });
    let phase = match (&spec, has_plan, counted) {
        (None, _, _) => Phase::Specify,
        (_, _, Some((done, all))) if all > 0 && done == all => Phase::Done,
        (_, _, Some(_)) => Phase::Implement,
        (_, true, None) => Phase::Tasks,
        (_, false, None) => Phase::Plan,
    };
    Spec {
        number: number_of(&name),
        shown: folder.shown(),
        branch: spec
            .as_deref()
            .and_then(branch_of)
            .unwrap_or_else(|| name.clone()),
        name,
        phase,
        has_spec: spec.is_some(),
        has_plan,
        questions: spec.as_deref().map_or(0, |text| markers(text).len()),
        tasks: counted,
        stale: stale(&path),
        folder: path,
        problem,
    }
}

/// The branch that a specification names.
pub fn branch_of(spec: &str) -> Option<String> {
    let line = spec
        .lines()
        .take(20)
        .find_map(|line| line.trim().strip_prefix("**Feature Branch**:"))?;
    let branch = line.trim().trim_matches('`').trim();
    (!branch.is_empty()).then(|| branch.to_owned())
}

/// What is older than what it was made from.
fn stale(folder: &Path) -> Vec<&'static str> {
    let time = |file: &str| -> Option<SystemTime> {
        let found = folder.join(file).symlink_metadata().ok()?;
        found.modified().ok()
    };
    let (spec, plan, tasks) = (time(SPEC), time(PLAN), time(TASKS));
    let older = |made: Option<SystemTime>, from: Option<SystemTime>| {
        made.zip(from).is_some_and(|(made, from)| made < from)
    };
    let mut stale = Vec::new();
    if older(plan, spec) {
        stale.push("plan.md is older than spec.md");
    }
    if older(tasks, plan) {
        stale.push("tasks.md is older than plan.md");
    } else if older(tasks, spec) {
        stale.push("tasks.md is older than spec.md");
    }
    stale
}

fn number_of(name: &str) -> Option<u32> {
    let digits = name.split('-').next()?;
    let is_number = digits.len() >= 3 && digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// The number of the next spec.
pub fn next_number(specs: &[Spec]) -> u32 {
    let highest = specs.iter().filter_map(|it| it.number).max();
    highest.unwrap_or(0).saturating_add(1)
}

/// A short name for a description: its first words that say something.
pub fn short_name(description: &str) -> String {
    let words = description
        .split(|it: char| !it.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| word.is_ascii() && !word.is_empty())
        .filter(|word| !STOP_WORDS.contains(&word.as_str()));
    let mut name = String::new();
    for word in words.take(MOST_WORDS) {
        if name.len() + word.len() + 1 > LONGEST_NAME {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word);
    }
    match name.is_empty() {
        true => "feature".to_owned(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use attache_testkit::scratch::Scratch;

    use super::*;
    use crate::Command;

    #[test]
    fn names_are_short() {
        for (description, name) in [
            ("Users can search their notes by tag", "search-notes-tag"),
            (
                "A \"dark mode\" for the settings page!",
                "dark-mode-settings-page",
            ),
            ("über", "feature"),
            ("", "feature"),
            ("../../etc/passwd", "etc-passwd"),
            (&"long".repeat(30), "feature"),
        ] {
            assert_eq!(short_name(description), name, "{description}");
        }
    }

    /// FR-001, FR-002 and FR-015 of the wider specification: phases and prerequisites by files.
    #[test]
    fn the_phase_is_what_the_files_say() {
        let scratch = Scratch::new("speckit-listing").unwrap();
        let project = Project::open(scratch.path()).unwrap();
        let write = |file: &str, text: &str| scratch.write(&format!("specs/{file}"), text).unwrap();
        write("001-empty/notes.txt", "");
        write(
            "002-spec/spec.md",
            "# X\n**Feature Branch**: `feat/x`\n[NEEDS CLARIFICATION: who?]\n",
        );
        write("003-plan/spec.md", "");
        write("003-plan/plan.md", "");
        write("004-tasks/spec.md", "");
        write("004-tasks/plan.md", "");
        write("004-tasks/tasks.md", "- [x] T001 a\n- [ ] T002 b\n");
        write("005-done/spec.md", "");
        write("005-done/tasks.md", "- [X] T001 a\n");
        write(".hidden/spec.md", "");
        write("file", "");
        let list = list(&project, "specs").unwrap();
        let seen: Vec<_> = list
            .specs
            .iter()
            .map(|it| (it.number, it.phase, it.questions, it.tasks))
            .collect();
        assert_eq!(
            seen,
            [
                (Some(1), Phase::Specify, 0, None),
                (Some(2), Phase::Plan, 1, None),
                (Some(3), Phase::Tasks, 0, None),
                (Some(4), Phase::Implement, 0, Some((1, 2))),
                (Some(5), Phase::Done, 0, Some((1, 1))),
            ]
        );
        assert_eq!(list.specs[1].branch, "feat/x");
        assert_eq!(list.specs[2].branch, "003-plan");
        assert_eq!(next_number(&list.specs), 6);
        let refused = Command::Tasks.check(&list.specs[1]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "there is no plan.md yet; run plan first"
        );
        Command::Clarify.check(&list.specs[1]).unwrap();
        Command::Implement.check(&list.specs[1]).unwrap_err();
        assert_eq!(super::list(&project, "none").unwrap(), SpecList::default());
    }

    #[test]
    fn what_is_older_than_its_source_is_stale() {
        let scratch = Scratch::new("speckit-stale").unwrap();
        let project = Project::open(scratch.path()).unwrap();
        let now = SystemTime::now();
        for (file, age) in [("spec.md", 10), ("plan.md", 30), ("tasks.md", 20)] {
            let path = scratch.write(&format!("specs/001-a/{file}"), "x").unwrap();
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        let spec = spec_at(&project.spec("specs/001-a").unwrap());
        assert_eq!(
            spec.stale,
            [
                "plan.md is older than spec.md",
                "tasks.md is older than spec.md"
            ]
        );
    }
}
