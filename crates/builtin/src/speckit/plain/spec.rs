//! A specification made of a description.

use std::fmt::Write as _;

use attache_speckit::{MAX_MARKERS, Specification, markers};

use super::statements::{has_actor, has_modal, is_measurable, statements, title, vague_word};
use super::{Feature, TO_DECIDE};

/// The most stories; further statements are requirements only.
const MOST_STORIES: usize = 5;
/// The lowest priority that is given.
const LOWEST_PRIORITY: usize = 3;
/// The most questions that are asked at a time.
pub(in super::super) const MOST_QUESTIONS: usize = 5;

/// The questions that a specification still may mark.
struct Markers {
    left: usize,
}

impl Markers {
    fn mark(&mut self, question: &str) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        Some(format!("[NEEDS CLARIFICATION: {question}]"))
    }
}

/// Writes a specification.
pub(in super::super) fn specification(feature: &Feature, description: &str) -> String {
    let said = statements(description);
    let name = said.first().map_or("Feature", String::as_str);
    let mut open = Markers { left: MAX_MARKERS };
    let mut text = head(feature, &title(name), description);
    text.push_str("## User Scenarios & Testing *(mandatory)*\n\n");
    for (at, statement) in said.iter().take(MOST_STORIES).enumerate() {
        story(&mut text, at, statement);
    }
    let _ = write!(
        text,
        "### Edge Cases\n\n- {TO_DECIDE}: what happens when there is nothing, too much, no right to \
         it, or a failure in the middle.\n\n"
    );
    requirements(&mut text, &said, &mut open);
    criteria(&mut text, &said, &mut open);
    let _ = write!(
        text,
        "## Assumptions\n\n- Everything above comes from the description; nothing was added to \
         it.\n- Lines with \"{TO_DECIDE}\" wait for a person or a model.\n"
    );
    text
}

fn head(feature: &Feature, title: &str, description: &str) -> String {
    let input = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let input = input.replace('"', "'");
    format!(
        "# Feature Specification: {title}\n\n**Feature Branch**: `{name}`\n**Created**: \
         {date}\n**Status**: Draft\n**Input**: User description: \"{input}\"\n\n",
        name = feature.name,
        date = feature.date,
    )
}

fn story(text: &mut String, at: usize, statement: &str) {
    let number = at + 1;
    let priority = number.min(LOWEST_PRIORITY);
    let (when, then) = scenario(statement);
    let _ = write!(
        text,
        "### User Story {number} - {title} (Priority: P{priority})\n\n{statement}.\n\n**Why this \
         priority**: It stands at place {number} of the description.\n\n**Independent Test**: \
         {TO_DECIDE}: how a person sees that this works without the other \
         stories.\n\n**Acceptance Scenarios**:\n\n1. **Given** {TO_DECIDE}, **When** {when}, \
         **Then** {then}\n\n",
        title = title(statement),
    );
}

/// "When A, B" says what happens; anything else says what is wanted.
fn scenario(statement: &str) -> (String, String) {
    let rest = statement.strip_prefix("When ");
    match rest.and_then(|it| it.split_once(", ")) {
        Some((when, then)) => (when.to_owned(), then.to_owned()),
        None => (TO_DECIDE.to_owned(), format!("this holds: {statement}")),
    }
}

fn requirements(text: &mut String, said: &[String], open: &mut Markers) {
    text.push_str("## Requirements *(mandatory)*\n\n### Functional Requirements\n\n");
    if said.is_empty() {
        let question = open.mark("what shall this feature do?").unwrap_or_default();
        let _ = writeln!(text, "- **FR-001**: The system MUST {question}");
    }
    for (at, statement) in said.iter().enumerate() {
        let number = at + 1;
        let _ = match has_modal(statement) {
            true => write!(text, "- **FR-{number:03}**: {statement}"),
            false => write!(
                text,
                "- **FR-{number:03}**: The system MUST fulfil: {statement}"
            ),
        };
        if at < MOST_STORIES {
            let _ = write!(text, " (US{number})");
        }
        if let Some(word) = vague_word(statement)
            && let Some(mark) = open.mark(&format!("what does \"{word}\" mean here, as a number?"))
        {
            let _ = write!(text, " {mark}");
        }
        text.push('\n');
    }
    if !said.is_empty()
        && !said.iter().any(|it| has_actor(it))
        && let Some(mark) = open.mark("who uses this, and with which rights?")
    {
        let number = said.len() + 1;
        let _ = writeln!(
            text,
            "- **FR-{number:03}**: The system MUST know its users: {mark}"
        );
    }
    text.push('\n');
}

fn criteria(text: &mut String, said: &[String], open: &mut Markers) {
    text.push_str("## Success Criteria *(mandatory)*\n\n### Measurable Outcomes\n\n");
    let measured = said.iter().filter(|it| is_measurable(it));
    let mut count = 0;
    for statement in measured {
        count += 1;
        let _ = writeln!(text, "- **SC-{count:03}**: {statement}");
    }
    if count == 0 {
        let question = open.mark("which number shows that this is a success?");
        let _ = match question {
            Some(mark) => writeln!(text, "- **SC-001**: {mark}"),
            None => writeln!(
                text,
                "- **SC-001**: {TO_DECIDE}: the number that shows success."
            ),
        };
    }
    text.push('\n');
}

/// What is to be asked about a specification: the questions it marks, then what it lacks.
pub(in super::super) fn questions(text: &str) -> Vec<String> {
    let spec = Specification::parse(text);
    let mut questions = markers(text);
    for requirement in &spec.requirements {
        if let Some(word) = vague_word(&requirement.text)
            && !requirement.text.contains("NEEDS CLARIFICATION")
        {
            let id = &requirement.id;
            questions.push(format!(
                "{id}: what does \"{word}\" mean here, as a number?"
            ));
        }
    }
    for criterion in &spec.criteria {
        if !is_measurable(&criterion.text) && !criterion.text.contains("NEEDS CLARIFICATION") {
            let id = &criterion.id;
            questions.push(format!("{id}: which number shows that it is reached?"));
        }
    }
    for story in &spec.stories {
        let is_open = !story.text.contains("**Given**") || story.text.contains(TO_DECIDE);
        if is_open {
            let number = story.number;
            let title = &story.title;
            questions.push(format!(
                "US{number} ({title}): how does a person see that it works?"
            ));
        }
    }
    if spec.criteria.is_empty() {
        questions.push("Which number shows that this is a success?".to_owned());
    }
    questions.dedup();
    questions.truncate(MOST_QUESTIONS);
    questions
}

/// The checklist of a specification, ticked off as far as can be counted.
pub(in super::super) fn checklist(feature: &Feature, text: &str) -> String {
    let spec = Specification::parse(text);
    let count = markers(text).len();
    let checks = [
        (
            count == 0,
            "No [NEEDS CLARIFICATION] marks are left".to_owned(),
        ),
        (
            count <= MAX_MARKERS,
            format!("At most {MAX_MARKERS} questions are marked"),
        ),
        (
            !spec.stories.is_empty(),
            "There are user stories with priorities".to_owned(),
        ),
        (
            !spec.requirements.is_empty(),
            "Functional requirements are numbered".to_owned(),
        ),
        (
            spec.requirements
                .iter()
                .all(|it| vague_word(&it.text).is_none()),
            "No requirement promises without saying how much".to_owned(),
        ),
        (
            !spec.criteria.is_empty() && spec.criteria.iter().all(|it| is_measurable(&it.text)),
            "Every success criterion can be measured".to_owned(),
        ),
        (
            !text.contains(TO_DECIDE),
            "Nothing is left to decide".to_owned(),
        ),
    ];
    let mut list = format!(
        "# Specification Quality Checklist: {}\n\n**Created**: {}\n**Feature**: \
         [spec.md](../spec.md)\n\n",
        spec.title, feature.date
    );
    for (is_met, check) in checks {
        let mark = if is_met { 'x' } else { ' ' };
        let _ = writeln!(list, "- [{mark}] {check}");
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature() -> Feature {
        Feature {
            name: "001-search".to_owned(),
            shown: "specs/001-search".to_owned(),
            date: "2026-01-02".to_owned(),
        }
    }

    #[test]
    fn a_description_becomes_numbered_items() {
        let text = specification(
            &feature(),
            "Readers can search notes by tag. The search is fast. When nothing is found, a hint is \
             shown.",
        );
        let spec = Specification::parse(&text);
        assert_eq!(spec.title, "Readers can search notes by tag");
        assert_eq!(spec.stories.len(), 3);
        let ids: Vec<_> = spec
            .requirements
            .iter()
            .map(|it| (it.id.as_str(), it.story))
            .collect();
        assert_eq!(
            ids,
            [
                ("FR-001", Some(1)),
                ("FR-002", Some(2)),
                ("FR-003", Some(3))
            ]
        );
        assert_eq!(
            markers(&text),
            [
                "what does \"fast\" mean here, as a number?",
                "which number shows that this is a success?"
            ]
        );
        assert!(
            text.contains("**When** nothing is found, **Then** a hint is shown"),
            "{text}"
        );
        assert!(text.contains("**Feature Branch**: `001-search`"), "{text}");
    }

    /// spec-kit allows three marks, whatever is open.
    #[test]
    fn at_most_three_questions_are_marked() {
        for description in ["", "fast", "Fast. Easy. Simple. Secure. Robust. Modern."] {
            let text = specification(&feature(), description);
            assert!(markers(&text).len() <= MAX_MARKERS, "{text}");
            assert!(
                !Specification::parse(&text).requirements.is_empty(),
                "{text}"
            );
            assert!(questions(&text).len() <= MOST_QUESTIONS);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_description_becomes_a_document(text in "(?s).{0,300}") {
            let written = specification(&feature(), &text);
            proptest::prop_assert!(markers(&written).len() <= MAX_MARKERS + text.matches("NEEDS").count());
            let _ = checklist(&feature(), &written);
        }
    }
}
