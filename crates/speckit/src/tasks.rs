//! The list of tasks: reading it, ticking off one line, and the order of the work.

use std::collections::{BTreeMap, BTreeSet};

/// A task: `- [ ] T001 [P] [US1] text with path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Like `T001`.
    pub id: String,
    /// Whether it is ticked off.
    pub is_done: bool,
    /// Whether it may run beside others.
    pub is_parallel: bool,
    /// The story it belongs to.
    pub story: Option<u32>,
    /// What is to be done.
    pub text: String,
    /// The files it names.
    pub files: Vec<String>,
    /// The tasks it names as coming first.
    pub after: Vec<String>,
    /// The heading it stands under.
    pub phase: String,
    /// The number of that heading: later ones build on earlier ones.
    pub phase_number: usize,
}

/// The tasks of a document in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    /// The tasks.
    pub tasks: Vec<Task>,
}

/// Tasks that may run at the same time.
pub type Wave = Vec<Task>;

/// Why there is no order to work in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Tasks wait for each other.
    #[error("{} wait for each other; remove one \"depends on\" from tasks.md", .0.join(", "))]
    Cycle(Vec<String>),
    /// Two tasks have one number, so that none of them can be ticked off for certain.
    #[error("{0} is the number of two tasks; give each its own in tasks.md")]
    Duplicate(String),
}

impl TaskList {
    /// Reads a list. Lines that are no tasks are passed over.
    pub fn parse(text: &str) -> Self {
        let mut tasks = Vec::new();
        let mut phase = String::new();
        let mut phase_number = 0;
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                heading.trim().clone_into(&mut phase);
                phase_number += 1;
            } else if let Some(mut task) = task(line) {
                task.phase.clone_from(&phase);
                task.phase_number = phase_number;
                tasks.push(task);
            }
        }
        Self { tasks }
    }

    /// How many are ticked off.
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|it| it.is_done).count()
    }

    /// The open ones that a filter names: numbers (`T003`), ranges (`T003-T007`), stories (`US1`),
    /// separated by commas or spaces; otherwise those whose text or heading has the words.
    pub fn open(&self, filter: Option<&str>) -> Vec<Task> {
        let open = self.tasks.iter().filter(|it| !it.is_done);
        let Some(filter) = filter.map(str::trim).filter(|it| !it.is_empty()) else {
            return open.cloned().collect();
        };
        let parts: Option<Vec<Chosen>> = filter
            .split([',', ' '])
            .filter(|it| !it.is_empty())
            .map(Chosen::parse)
            .collect();
        let words = filter.to_lowercase();
        let is_chosen = |task: &&Task| match &parts {
            Some(parts) => parts.iter().any(|it| it.has(task)),
            None => {
                task.text.to_lowercase().contains(&words)
                    || task.phase.to_lowercase().contains(&words)
            }
        };
        open.filter(is_chosen).cloned().collect()
    }

    /// The order of the work on some of the tasks: waves, one after the other. A wave has one task,
    /// or several marked `[P]` of one phase that name different files; one that names no file runs
    /// alone, because nobody knows what it touches.
    ///
    /// # Errors
    /// If tasks wait for each other, or a number is there twice.
    pub fn waves(&self, chosen: &[Task]) -> Result<Vec<Wave>, OrderError> {
        let mut seen = BTreeSet::new();
        for task in &self.tasks {
            if !seen.insert(task.id.as_str()) {
                return Err(OrderError::Duplicate(task.id.clone()));
            }
        }
        let mut waves: Vec<Wave> = Vec::new();
        for task in ordered(chosen)? {
            let fits = waves.last().is_some_and(|wave| fits(wave, &task));
            match waves.last_mut() {
                Some(wave) if fits => wave.push(task),
                _ => waves.push(vec![task]),
            }
        }
        Ok(waves)
    }

    /// The text with one task ticked off, and nothing else changed; `None` if there is no such open
    /// task in it.
    pub fn tick(text: &str, id: &str) -> Option<String> {
        let mut ticked = String::with_capacity(text.len());
        let mut is_found = false;
        for line in text.split_inclusive('\n') {
            match task(line) {
                Some(it) if it.id == id && !it.is_done && !is_found => {
                    ticked.push_str(&line.replacen("[ ]", "[X]", 1));
                    is_found = true;
                }
                _ => ticked.push_str(line),
            }
        }
        is_found.then_some(ticked)
    }
}

/// Whether a task may run with those of a wave.
fn fits(wave: &[Task], task: &Task) -> bool {
    let can = |it: &Task| it.is_parallel && !it.files.is_empty();
    can(task)
        && wave.iter().all(|other| {
            can(other)
                && other.phase_number == task.phase_number
                && !task.after.contains(&other.id)
                && !other.files.iter().any(|file| task.files.contains(file))
        })
}

/// In the order of the list, except that a task comes behind those it waits for.
fn ordered(chosen: &[Task]) -> Result<Vec<Task>, OrderError> {
    let ids: BTreeSet<&str> = chosen.iter().map(|it| it.id.as_str()).collect();
    let mut waiting: BTreeMap<usize, &Task> = chosen.iter().enumerate().collect();
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    let mut order = Vec::with_capacity(chosen.len());
    while !waiting.is_empty() {
        let is_free = |task: &Task| {
            let mut first = task.after.iter().map(String::as_str);
            first.all(|it| !ids.contains(it) || placed.contains(it))
        };
        let next = waiting.iter().find(|(_, task)| is_free(task));
        let Some((&at, &task)) = next else {
            let stuck = waiting.values().map(|it| it.id.clone()).collect();
            return Err(OrderError::Cycle(stuck));
        };
        waiting.remove(&at);
        placed.insert(&task.id);
        order.push(task.clone());
    }
    Ok(order)
}

/// One part of a filter.
enum Chosen {
    Ids(u32, u32),
    Story(u32),
}

impl Chosen {
    fn parse(part: &str) -> Option<Self> {
        let upper = part.to_uppercase();
        if let Some(story) = upper.strip_prefix("US") {
            return story.parse().ok().map(Self::Story);
        }
        let (from, to) = upper.split_once('-').unwrap_or((&upper, &upper));
        let number = |it: &str| it.strip_prefix('T')?.parse().ok();
        Some(Self::Ids(number(from)?, number(to)?))
    }

    fn has(&self, task: &Task) -> bool {
        match self {
            Self::Story(story) => task.story == Some(*story),
            Self::Ids(from, to) => {
                let number = task.id[1..].parse::<u32>();
                number.is_ok_and(|it| (*from..=*to).contains(&it))
            }
        }
    }
}

/// A line as a task.
fn task(line: &str) -> Option<Task> {
    let rest = line.trim();
    let rest = rest
        .strip_prefix("- [")
        .or_else(|| rest.strip_prefix("* ["))?;
    let (is_done, rest) = match rest.split_once(']')? {
        (" ", rest) => (false, rest),
        ("x" | "X", rest) => (true, rest),
        _ => return None,
    };
    let rest = rest.trim_start();
    let (id, mut rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let digits = id.strip_prefix('T')?;
    if digits.is_empty() || digits.len() > 6 || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let (mut is_parallel, mut story) = (false, None);
    while let Some((label, behind)) = rest
        .trim_start()
        .strip_prefix('[')
        .and_then(|it| it.split_once(']'))
    {
        match label.strip_prefix("US").map(str::parse) {
            Some(Ok(number)) => story = Some(number),
            _ if label == "P" => is_parallel = true,
            // Any other bracket belongs to the text.
            _ => break,
        }
        rest = behind;
    }
    let text = rest.trim();
    Some(Task {
        id: id.to_owned(),
        is_done,
        is_parallel,
        story,
        files: files(text),
        after: after(text),
        text: text.to_owned(),
        phase: String::new(),
        phase_number: 0,
    })
}

/// The words that look like paths.
fn files(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|it: char| "`'\"(),;:*".contains(it));
        let word = word.trim_end_matches('.').trim_start_matches("./");
        let has_extension = word.rsplit_once('.').is_some_and(|(name, ending)| {
            !name.is_empty()
                && (1..=10).contains(&ending.len())
                && ending.bytes().all(|it| it.is_ascii_alphanumeric())
                && ending.bytes().any(|it| it.is_ascii_alphabetic())
        });
        let is_path = (word.contains('/') && word.len() > 1) || has_extension;
        if is_path && !word.contains("://") && !found.iter().any(|it| it == word) {
            found.push(word.to_owned());
        }
    }
    found
}

/// The tasks that a text names behind "depends on" or "after".
fn after(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let Some(at) = ["depends on ", "(after "]
        .iter()
        .filter_map(|it| lower.find(it))
        .min()
    else {
        return Vec::new();
    };
    // Lower case may have another length outside of ASCII; then the place is not certain.
    let Some(rest) = text.get(at..) else {
        return Vec::new();
    };
    let rest = rest.split(')').next().unwrap_or(rest);
    rest.split(|it: char| !it.is_ascii_alphanumeric())
        .filter(|word| {
            let digits = word.strip_prefix('T');
            digits.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
        })
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
# Tasks
## Phase 1: Setup
- [x] T001 Create src/ per plan
- [ ] T002 [P] Configure `rustfmt.toml`
- [ ] T003 [P] Configure clippy.toml
- [ ] T004 [P] Also write clippy.toml again
- [ ] T005 [P] Something without a path
## Phase 2: Story
  - [ ] T006 [P] [US1] Test in tests/a.rs
- [ ] T007 [US1] Build src/a.rs (depends on T008, T006)
- [ ] T008 [US1] [weird] Model in src/b.rs
* [X] T009 done
- [ ] no number
- [-] T010 odd
";

    fn ids(tasks: &[Task]) -> Vec<&str> {
        tasks.iter().map(|it| it.id.as_str()).collect()
    }

    #[test]
    fn a_list_is_read() {
        let list = TaskList::parse(LIST);
        assert_eq!((list.done(), list.tasks.len()), (2, 9));
        let t7 = &list.tasks[6];
        assert_eq!((t7.story, t7.is_parallel), (Some(1), false));
        assert_eq!(t7.files, ["src/a.rs"]);
        assert_eq!(t7.after, ["T008", "T006"]);
        assert_eq!(list.tasks[7].text, "[weird] Model in src/b.rs");
        assert_eq!(list.tasks[1].files, ["rustfmt.toml"]);
    }

    /// Tasks that touch one file never run together, and a sequential one runs alone.
    #[test]
    fn waves_keep_files_and_dependencies_apart() {
        let list = TaskList::parse(LIST);
        let waves = list.waves(&list.open(None)).unwrap();
        let waves: Vec<Vec<&str>> = waves.iter().map(|it| ids(it)).collect();
        assert_eq!(
            waves,
            [
                vec!["T002", "T003"],
                vec!["T004"],
                vec!["T005"],
                vec!["T006"],
                vec!["T008"],
                vec!["T007"],
            ]
        );
        let circle =
            TaskList::parse("- [ ] T001 a (depends on T002)\n- [ ] T002 b (depends on T001)\n");
        let error = circle.waves(&circle.open(None)).unwrap_err();
        assert_eq!(error, OrderError::Cycle(vec!["T001".into(), "T002".into()]));
        let twice = TaskList::parse("- [ ] T001 a\n- [ ] T001 b\n");
        assert_eq!(
            twice.waves(&twice.open(None)).unwrap_err(),
            OrderError::Duplicate("T001".into())
        );
    }

    #[test]
    fn filters_name_tasks() {
        let list = TaskList::parse(LIST);
        for (filter, expected) in [
            ("T002", &["T002"][..]),
            ("t002-T004, T008", &["T002", "T003", "T004", "T008"]),
            ("US1", &["T006", "T007", "T008"]),
            ("clippy", &["T003", "T004"]),
            ("phase 2", &["T006", "T007", "T008"]),
            ("T001", &[]),
            (
                "  ",
                &["T002", "T003", "T004", "T005", "T006", "T007", "T008"],
            ),
        ] {
            assert_eq!(ids(&list.open(Some(filter))), expected, "{filter}");
        }
    }

    #[test]
    fn one_line_is_ticked_and_nothing_else_changes() {
        let ticked = TaskList::tick(LIST, "T006").unwrap();
        let changed: Vec<(&str, &str)> = LIST
            .lines()
            .zip(ticked.lines())
            .filter(|(before, after)| before != after)
            .collect();
        assert_eq!(
            changed,
            [(
                "  - [ ] T006 [P] [US1] Test in tests/a.rs",
                "  - [X] T006 [P] [US1] Test in tests/a.rs"
            )]
        );
        assert_eq!(TaskList::tick(LIST, "T001"), None);
        assert_eq!(TaskList::tick(LIST, "T099"), None);
        let odd = "- [ ] T001 a\r\n- [ ] T002 b";
        assert_eq!(
            TaskList::tick(odd, "T002").unwrap(),
            "- [ ] T001 a\r\n- [X] T002 b"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "(?s)(- \\[.\\] T[0-9]{1,3} .{0,30}\n){0,6}.{0,100}") {
            let list = TaskList::parse(&text);
            let open = list.open(None);
            if let Ok(waves) = list.waves(&open) {
                proptest::prop_assert_eq!(waves.concat().len(), open.len());
            }
        }
    }
}
