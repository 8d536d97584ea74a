//! A plan made of a specification and the look of the project.

use std::fmt::Write as _;

use attache_speckit::{Specification, markers, short_name};

use super::{Feature, Layout, TO_DECIDE};

/// The part of the code that a requirement belongs to, by its story.
pub(super) fn part_of(feature: &Feature, spec: &Specification, story: Option<u32>) -> String {
    let story = story.and_then(|it| spec.stories.iter().find(|story| story.number == it));
    match story {
        Some(story) => short_name(&story.title),
        None => {
            let digits = feature.name.bytes().take_while(u8::is_ascii_digit).count();
            let name = feature.name[digits..].trim_start_matches('-');
            short_name(name)
        }
    }
}

/// Writes a plan.
pub(in super::super) fn plan(
    feature: &Feature,
    spec_text: &str,
    layout: Layout,
    principles: &[String],
) -> String {
    let spec = Specification::parse(spec_text);
    let mut text = format!(
        "# Implementation Plan: {title}\n\n**Branch**: `{name}` | **Date**: {date} | **Spec**: \
         [spec.md](spec.md)\n\n## Summary\n\n",
        title = spec.title,
        name = feature.name,
        date = feature.date,
    );
    let _ = write!(
        text,
        "{} user stories, {} functional requirements and {} success criteria of spec.md; each is \
         traced below.\n\n",
        spec.stories.len(),
        spec.requirements.len(),
        spec.criteria.len()
    );
    technical_context(&mut text, layout);
    constitution(&mut text, principles);
    structure(&mut text, feature, &spec, layout);
    trace(&mut text, feature, &spec, layout);
    decisions(&mut text, spec_text);
    text
}

fn technical_context(text: &mut String, layout: Layout) {
    let open = "NEEDS CLARIFICATION";
    let _ = write!(
        text,
        "## Technical Context\n\n**Language/Version**: {}\n**Primary Dependencies**: \
         {open}\n**Storage**: {open}\n**Testing**: {}\n**Target Platform**: \
         {open}\n**Performance Goals**: as the success criteria of spec.md say\n\n",
        layout.language.unwrap_or(open),
        layout.testing.unwrap_or(open),
    );
}

fn constitution(text: &mut String, principles: &[String]) {
    text.push_str("## Constitution Check\n\n");
    if principles.is_empty() {
        text.push_str("The project has no .specify/memory/constitution.md to check against.\n\n");
        return;
    }
    for principle in principles {
        let _ = writeln!(text, "- [ ] {principle}");
    }
    text.push('\n');
}

fn structure(text: &mut String, feature: &Feature, spec: &Specification, layout: Layout) {
    let mut parts: Vec<String> = Vec::new();
    for requirement in &spec.requirements {
        let part = part_of(feature, spec, requirement.story);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    text.push_str("## Project Structure\n\nProposed from the stories; change it here and the tasks follow.\n\n```text\n");
    for part in &parts {
        let _ = writeln!(text, "{}", layout.source(part));
    }
    for part in &parts {
        let _ = writeln!(text, "{}", layout.tests(part));
    }
    text.push_str("```\n\n");
}

fn trace(text: &mut String, feature: &Feature, spec: &Specification, layout: Layout) {
    text.push_str(
        "## Requirements Trace\n\n| Requirement | Story | Built in | Shown by |\n|---|---|---|---|\n",
    );
    for requirement in &spec.requirements {
        let part = part_of(feature, spec, requirement.story);
        let story = requirement
            .story
            .map_or_else(|| "all".to_owned(), |it| format!("US{it}"));
        let _ = writeln!(
            text,
            "| {} | {story} | {} | {} |",
            requirement.id,
            layout.source(&part),
            layout.tests(&part)
        );
    }
    for criterion in &spec.criteria {
        let _ = writeln!(
            text,
            "| {} | all | {TO_DECIDE} | {TO_DECIDE} |",
            criterion.id
        );
    }
    text.push('\n');
}

fn decisions(text: &mut String, spec_text: &str) {
    text.push_str("## Open Decisions\n\n");
    for question in markers(spec_text) {
        let _ = writeln!(text, "- spec.md asks: {question}");
    }
    let _ = writeln!(
        text,
        "- {TO_DECIDE}: what the technical context leaves open, and the way to build each \
         requirement."
    );
}
