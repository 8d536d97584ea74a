//! Tasks made of a specification and its plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use attache_speckit::{Requirement, Specification, TaskList};

use super::plan::part_of;
use super::statements::title;
use super::{Feature, Layout};

/// Numbers tasks. One that was there before keeps its number, so that ticks, edits and talk about
/// it stay true.
struct Numbers {
    former: BTreeMap<String, String>,
    next: u32,
}

impl Numbers {
    fn new(former: &str) -> Self {
        let list = TaskList::parse(former);
        let number = |id: &str| id[1..].parse::<u32>().unwrap_or(0);
        let highest = list.tasks.iter().map(|it| number(&it.id)).max();
        Self {
            former: list
                .tasks
                .into_iter()
                .map(|it| (name(it.story, &it.text), it.id))
                .collect(),
            next: highest.unwrap_or(0) + 1,
        }
    }

    fn of(&mut self, story: Option<u32>, text: &str) -> String {
        if let Some(id) = self.former.remove(&name(story, text)) {
            return id;
        }
        let id = format!("T{:03}", self.next);
        self.next += 1;
        id
    }
}

fn name(story: Option<u32>, text: &str) -> String {
    format!("{story:?} {text}")
}

/// The list while it is written, and which tasks serve which requirement.
struct List<'a> {
    text: String,
    numbers: Numbers,
    trace: BTreeMap<String, Vec<String>>,
    plan: &'a str,
}

impl List<'_> {
    fn add(&mut self, labels: &str, story: Option<u32>, what: &str, serves: &[&str]) {
        let id = self.numbers.of(story, what);
        let _ = writeln!(self.text, "- [ ] {id} {labels}{what}");
        for requirement in serves {
            let tasks = self.trace.entry((*requirement).to_owned()).or_default();
            tasks.push(id.clone());
        }
    }

    /// The paths that the plan's table names for a requirement.
    fn planned(&self, id: &str) -> Option<(String, String)> {
        let row = self.plan.lines().find_map(|line| {
            let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
            (cells.first().map(|it| it.trim()) == Some(id) && cells.len() >= 4).then_some(cells)
        })?;
        let path = |cell: &str| {
            let cell = cell.trim().trim_matches('`');
            let is_path = cell.contains(['/', '.']) && !cell.contains(' ');
            is_path.then(|| cell.to_owned())
        };
        Some((path(row[2])?, path(row[3])?))
    }
}

/// Writes the tasks. `former` is the list that lies there, if there is one.
pub(in super::super) fn tasks(
    feature: &Feature,
    spec_text: &str,
    plan: &str,
    layout: Layout,
    former: &str,
) -> String {
    let spec = Specification::parse(spec_text);
    let mut list = List {
        text: format!(
            "# Tasks: {}\n\n**Input**: spec.md and plan.md of {}\n\n",
            spec.title, feature.shown
        ),
        numbers: Numbers::new(former),
        trace: BTreeMap::new(),
        plan,
    };
    let paths = |list: &List<'_>, requirement: &Requirement| {
        list.planned(&requirement.id).unwrap_or_else(|| {
            let part = part_of(feature, &spec, requirement.story);
            (layout.source(&part), layout.tests(&part))
        })
    };
    list.text.push_str("## Phase 1: Setup\n\n");
    let what = format!("Settle the open decisions in {}/plan.md", feature.shown);
    list.add("", None, &what, &[]);

    list.text.push_str("\n## Phase 2: Foundational\n\n");
    for requirement in spec.of_story(None) {
        let (source, tests) = paths(&list, requirement);
        build(&mut list, None, requirement, &source, &tests);
    }
    let mut stories: Vec<_> = spec.stories.iter().collect();
    stories.sort_by_key(|it| (it.priority, it.number));
    for (at, story) in stories.iter().enumerate() {
        let _ = write!(
            list.text,
            "\n## Phase {}: User Story {} - {} (Priority: P{})\n\n",
            at + 3,
            story.number,
            story.title,
            story.priority
        );
        for requirement in spec.of_story(Some(story.number)) {
            let (source, tests) = paths(&list, requirement);
            build(&mut list, Some(story.number), requirement, &source, &tests);
        }
    }
    let _ = write!(list.text, "\n## Phase {}: Polish\n\n", stories.len() + 3);
    for criterion in &spec.criteria {
        let what = format!(
            "Show {}: {} in {}/quickstart.md",
            criterion.id,
            title(&criterion.text),
            feature.shown
        );
        list.add("", None, &what, &[&criterion.id]);
    }
    trace(list)
}

/// First the test of a requirement, then its code.
fn build(
    list: &mut List<'_>,
    story: Option<u32>,
    requirement: &Requirement,
    source: &str,
    tests: &str,
) {
    let label = story.map_or_else(String::new, |it| format!("[US{it}] "));
    let id = &requirement.id;
    let says = says(&requirement.text);
    let what = format!("Write a failing test for {id} in {tests}");
    list.add(&format!("[P] {label}"), story, &what, &[id]);
    list.add(
        &label,
        story,
        &format!("Implement {id} ({says}) in {source}"),
        &[id],
    );
}

/// A requirement in few words, without what would be read as a path or a label.
fn says(text: &str) -> String {
    let text = text.split(" (US").next().unwrap_or(text);
    let text = text.split(" [NEEDS").next().unwrap_or(text);
    let words = text
        .split_whitespace()
        .filter(|it| !it.contains(['/', '(', ')']));
    let text = words.collect::<Vec<_>>().join(" ");
    title(text.trim_start_matches("The system MUST fulfil: ")).replace(". ", " ")
}

fn trace(list: List<'_>) -> String {
    let mut text = list.text;
    text.push_str("\n## Requirements Trace\n\n| Requirement | Tasks |\n|---|---|\n");
    for (requirement, tasks) in list.trace {
        let _ = writeln!(text, "| {requirement} | {} |", tasks.join(", "));
    }
    text.push_str(
        "\n## Order\n\nA phase begins when the one before it is done. Within a phase tasks run in \
         this order; those with [P] may run at the same time if they name different files.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speckit::plain::{plan, specification};

    fn feature() -> Feature {
        Feature {
            name: "001-search".to_owned(),
            shown: "specs/001-search".to_owned(),
            date: "2026-01-02".to_owned(),
        }
    }

    #[test]
    fn every_requirement_and_criterion_has_tasks() {
        let folder = attache_testkit::scratch::Scratch::new("speckit-plain").unwrap();
        folder.write("Cargo.toml", "").unwrap();
        let layout = Layout::of(folder.path());
        let spec = specification(
            &feature(),
            "Readers can search by tag. Export to csv in 2 s.",
        );
        let plan = plan(&feature(), &spec, layout, &["Tests first".to_owned()]);
        assert!(plan.contains("- [ ] Tests first"), "{plan}");
        assert!(plan.contains("**Language/Version**: Rust"), "{plan}");
        let text = tasks(&feature(), &spec, &plan, layout, "");
        let list = TaskList::parse(&text);
        let read = Specification::parse(&spec);
        let ids = read.requirements.iter().map(|it| &it.id);
        for id in ids.chain(read.criteria.iter().map(|it| &it.id)) {
            assert!(plan.contains(&format!("| {id} |")), "{id} in {plan}");
            let tasks = list.tasks.iter().filter(|it| it.text.contains(id.as_str()));
            assert!(tasks.count() >= 1, "{id} in {text}");
        }
        assert!(
            list.tasks.iter().all(|it| it.files.len() == 1),
            "{:#?}",
            list.tasks
        );
        list.waves(&list.open(None)).unwrap();
    }

    #[test]
    fn numbers_stay_when_the_list_is_made_again() {
        let layout = Layout::of(std::path::Path::new("/nonexistent"));
        let first = specification(&feature(), "Readers can search.");
        let list = tasks(&feature(), &first, "", layout, "");
        let more = specification(&feature(), "Readers can search. Readers can export.");
        let again = tasks(&feature(), &more, "", layout, &list);
        let number = |text: &str, what: &str| {
            let list = TaskList::parse(text);
            let found = list.tasks.iter().find(|it| it.text.contains(what));
            found.map(|it| it.id.clone()).unwrap()
        };
        for what in ["test for FR-001", "Implement FR-001"] {
            assert_eq!(number(&again, what), number(&list, what), "{again}");
        }
        let ids = TaskList::parse(&again);
        ids.waves(&ids.tasks).unwrap();
    }

    #[test]
    fn paths_come_from_the_plan() {
        let layout = Layout::of(std::path::Path::new("/nonexistent"));
        let spec = specification(&feature(), "Readers can search.");
        let plan = "| FR-001 | US1 | lib/find.ml | spec/find.ml |";
        let text = tasks(&feature(), &spec, plan, layout, "");
        assert!(text.contains("in lib/find.ml"), "{text}");
        assert!(text.contains("in spec/find.ml"), "{text}");
    }
}
