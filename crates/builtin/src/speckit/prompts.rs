//! What an agent or a model is told to write.

use attache_speckit::{MAX_MARKERS, Task};

use super::plain::Feature;

/// What every document is asked for with.
const ANSWER: &str = "Answer with the whole document in Markdown, beginning with its first line, \
                      and with nothing else. Do not change any files.";

/// What the client's model is told first. Some clients have a person answer in its place, and in the
/// modern era one who declines ends the whole call; a dash is an answer, and no document.
pub(super) const SYSTEM: &str = "You write documents of a software project in Markdown. If you are \
                                 a person who is asked in place of a model, answer with a dash: the \
                                 document is then written without a model.";

/// A document that is to be written.
pub(super) struct Assignment<'a> {
    pub(super) feature: &'a Feature,
    /// What is asked for.
    pub(super) work: &'a str,
    /// A draft in the wanted form.
    pub(super) draft: &'a str,
    /// What it is made from, with names.
    pub(super) sources: Vec<(&'static str, &'a str)>,
}

impl Assignment<'_> {
    pub(super) fn prompt(&self) -> String {
        let mut text = format!(
            "You work on the feature {} in {}.\n\n{}\n\n",
            self.feature.name, self.feature.shown, self.work
        );
        for (name, source) in &self.sources {
            text.push_str(&format!("<{name}>\n{}\n</{name}>\n\n", source.trim()));
        }
        text.push_str(&format!(
            "Keep the headings, numbers and marks of this draft, and replace what it leaves to \
             decide:\n\n<draft>\n{}\n</draft>\n\n{ANSWER}\n",
            self.draft.trim()
        ));
        text
    }
}

/// How a specification is asked for.
pub(super) fn specify() -> String {
    format!(
        "Write its specification: what users need and why, nothing about how it is built. Stories \
         have priorities P1, P2, P3 and can each be tested alone; requirements are numbered \
         FR-001 and name their story as (US1); success criteria are numbered SC-001 and can be \
         measured. Mark at most {MAX_MARKERS} questions as [NEEDS CLARIFICATION: question]; \
         for everything else choose what is usual and say so under Assumptions."
    )
}

/// How a plan is asked for.
pub(super) const PLAN: &str = "Write its implementation plan for this project: technical context, structure with real \
     paths, and the table that traces every requirement and success criterion of the \
     specification to where it is built and how it is shown.";

/// How tasks are asked for.
pub(super) const TASKS: &str = "Write its tasks in the order of the work, one line each in the form `- [ ] T001 [P] [US1] \
     text with path`: [P] only where a task touches no file of its neighbours and waits for none \
     of them, [US1] for its story, `(depends on T001)` where the order does not say it. Phases are \
     setup, foundation, one for each story by priority, polish. Keep the table that traces every \
     requirement to its tasks.";

/// How one task is given to an agent.
pub(super) fn task(feature: &Feature, task: &Task) -> String {
    let story = task
        .story
        .map_or_else(String::new, |it| format!(" of user story {it}"));
    format!(
        "You work on the feature {name} in this folder. Its specification is {shown}/spec.md, its \
         plan {shown}/plan.md, its tasks are {shown}/tasks.md.\n\nDo this one task{story} and no \
         other:\n\n{id} {text}\n\nChange the files it needs. Do not tick it off in tasks.md: that \
         is done when you exit with code 0. If it cannot be done, say why and exit with another \
         code.\n",
        name = feature.name,
        shown = feature.shown,
        id = task.id,
        text = task.text,
    )
}
