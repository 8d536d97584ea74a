//! Rows in our own words: about the answer as a whole, links, and what cannot be shown.

use attache_view::document::{Body, Document, Link};
use ratatui::text::Line;

use super::body::decoded_length;
use super::rows::{Flow, MadeRow, Target};
use crate::text::bytes as size;
use crate::theme::{Role, Theme};

/// What is said about the answer as a whole.
pub(super) fn of_answer(document: &Document, columns: usize, theme: &Theme) -> Vec<MadeRow> {
    let glyphs = theme.glyphs();
    let mut rows = Vec::new();
    let mut add = |text: &str, role: Role| {
        for line in crate::measure::wrapped(text, columns) {
            rows.push(MadeRow::styled(line, theme.style(role)));
        }
    };
    if document.is_error {
        add(&format!("{} tool failed", glyphs.failed), Role::Bad);
    }
    if let Some(description) = &document.description {
        add(description, Role::Text);
    }
    let report = document
        .structured
        .as_ref()
        .and_then(|it| it.report.as_ref());
    if let Some(report) = report.filter(|report| !report.problems.is_empty()) {
        let words = "the structured answer does not fit the schema that the tool promises:";
        add(&format!("{} {words}", glyphs.warning), Role::Warning);
        for problem in report.problems.iter().take(5) {
            add(&format!("  {}", problem.message), Role::Warning);
        }
        if report.problems.len() > 5 {
            add(
                &format!("  and {} more", report.problems.len() - 5),
                Role::Secondary,
            );
        }
    }
    if document.blocks.is_empty() && document.structured.is_none() {
        add("The answer is empty.", Role::Placeholder);
    }
    rows
}

/// What is known of a block that cannot be shown itself.
pub(super) fn of_block(
    body: &Body,
    number: Option<usize>,
    columns: usize,
    theme: &Theme,
) -> Vec<MadeRow> {
    let mut rows = Vec::new();
    match body {
        Body::Link(link) => return link_rows(link, number, columns, theme),
        Body::Image(media) | Body::Audio(media) | Body::Binary(media) => {
            let what = match body {
                Body::Image(_) => "An image",
                Body::Audio(_) => "A sound",
                _ => "Data",
            };
            let length = decoded_length(media);
            let words = format!("{what}, {}, {}.", media.mime_type, size(length));
            rows.push(MadeRow::styled(words, theme.style(Role::Text)));
            if !media.can_be_shown {
                let words = "It is not shown in place; it can be saved or opened.";
                rows.push(MadeRow::styled(words, theme.style(Role::Secondary)));
            }
        }
        _ => {}
    }
    rows
}

fn link_rows(link: &Link, number: Option<usize>, columns: usize, theme: &Theme) -> Vec<MadeRow> {
    let mut flow = Flow::default();
    flow.push(
        &format!("[{}] ", number.unwrap_or_default()),
        theme.style(Role::Secondary),
    );
    flow.push(&link.name, theme.style(Role::Accent));
    flow.push(&format!("  {}", link.uri), theme.style(Role::Text));
    let mut facts: Vec<String> = link.mime_type.iter().cloned().collect();
    let bytes = link.size.and_then(|bytes| usize::try_from(bytes).ok());
    facts.extend(bytes.map(|bytes| format!("{} claimed", size(bytes))));
    if !facts.is_empty() {
        flow.push(
            &format!("  ({})", facts.join(", ")),
            theme.style(Role::Secondary),
        );
    }
    let mut rows: Vec<MadeRow> = flow
        .wrapped(columns)
        .into_iter()
        .map(|spans| MadeRow::new(Line::from(spans)))
        .collect();
    if let Some(description) = &link.description {
        for line in crate::measure::wrapped(description, columns.saturating_sub(4)) {
            rows.push(MadeRow::styled(
                format!("    {line}"),
                theme.style(Role::Secondary),
            ));
        }
    }
    for row in &mut rows {
        row.target = Some(Target::Resource(link.uri.clone()));
    }
    rows
}
