//! The tool `search_notes`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use attache_server::Tool;
use attache_server::protocol::{Json, Resource, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Notes;
use crate::calendar;
use crate::identity::{one_line, uri};
use crate::vault::{Freshness, Results};

const NAME: &str = "search_notes";
const USUAL_LIMIT: i64 = 10;
const MOST: i64 = 100;

const ABOUT: &str = "Search notes. Words must all occur, in any form; \"a phrase\", prefix*, -not, \
    tag:x, title:x, path:x, after:2024-12-01, before:2025 narrow it down. Without a query, the \
    latest notes.";

#[derive(Deserialize)]
struct Search {
    query: Option<String>,
    limit: Option<i64>,
}

pub(super) fn tool(notes: &Arc<Notes>) -> Tool {
    let (about, schema) = match notes.is_seed() {
        true => ("Search meditation notes", seed_arguments()),
        false => (ABOUT, arguments()),
    };
    let searching = Arc::clone(notes);
    let tool = Tool::raw(NAME, about, Json::from(schema), move |_, given| {
        let notes = Arc::clone(&searching);
        async move {
            let Search { query, limit } = given.decode()?;
            let begun = Instant::now();
            let query = query.unwrap_or_default();
            let limit = limit.unwrap_or(USUAL_LIMIT).clamp(1, MOST);
            let limit = usize::try_from(limit).unwrap_or(1);
            let results = notes.vault.search(&query, limit).await;
            let took = begun.elapsed().as_secs_f64() * 1000.0;
            let text = text(&query, &results);
            let links = links(&notes, &results);
            let data = data(&notes, &query, &results, took);
            Ok(notes.answer(text, links, Json::from(data)))
        }
    });
    if notes.is_seed() {
        return tool;
    }
    tool.annotations(ToolAnnotations {
        read_only: Some(true),
        open_world: Some(false),
        ..ToolAnnotations::default()
    })
    .output_schema(Json::from(structure()))
}

fn seed_arguments() -> Value {
    json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    })
}

fn arguments() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for"},
            "limit": {
                "type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL_LIMIT,
                "description": "How many notes to show",
            },
        },
        "additionalProperties": false,
    })
}

fn structure() -> Value {
    let text = json!({"type": "string"});
    let count = json!({"type": "integer"});
    json!({
        "type": "object",
        "properties": {
            "query": text,
            "total": count,
            "took_ms": {"type": "number"},
            "index": {
                "type": "object",
                "properties": {
                    "notes": count, "pending": count, "as_of": text,
                    "commit": {"type": ["string", "null"]},
                    "trouble": {"type": ["string", "null"]},
                },
                "required": ["notes", "pending", "as_of"],
            },
            "results": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "uri": text, "title": text, "score": {"type": ["number", "null"]},
                        "snippet": text, "tags": {"type": "array", "items": text},
                        "modified": text,
                    },
                    "required": ["uri", "title"],
                },
            },
        },
        "required": ["query", "total", "index", "results"],
    })
}

/// The answer in words, in the form of seed 000.
fn text(query: &str, results: &Results) -> String {
    let total = results.total;
    let query = one_line(query);
    let mut text = match (query.is_empty(), results.notes.is_empty()) {
        (true, true) => "Found 0 notes.".to_owned(),
        (true, false) => format!("Found {total} notes, latest first:\n"),
        (false, true) => format!("Found {total} notes matching '{query}'."),
        (false, false) => format!("Found {total} notes matching '{query}':\n"),
    };
    // Writing to a string cannot fail.
    for (number, note) in (1..).zip(&results.notes) {
        let _ = write!(text, "\n{number}. {}", note.title);
    }
    if !results.notes.is_empty() && results.notes.len() < total {
        text.push_str("\n...");
    }
    if let Some(remark) = remark(&results.freshness) {
        let _ = write!(text, "\n\n{remark}");
    }
    text
}

/// How the answer may be wrong, if it may.
fn remark(freshness: &Freshness) -> Option<String> {
    let Freshness { pending, notes, .. } = *freshness;
    if pending == 0 {
        return None;
    }
    let mut remark = match pending {
        1 => format!("1 of {notes} notes has changed and is not searchable yet."),
        _ => format!("{pending} of {notes} notes have changed and are not searchable yet."),
    };
    if let Some(trouble) = &freshness.trouble {
        let _ = write!(remark, " This stays so for now: {}.", one_line(trouble));
    }
    Some(remark)
}

fn links(notes: &Notes, results: &Results) -> Vec<Resource> {
    let link = |it: &crate::vault::FoundNote| notes.resource(&it.slug, it.title.clone(), it.stamp);
    results.notes.iter().map(link).collect()
}

fn data(notes: &Notes, query: &str, results: &Results, took: f64) -> Value {
    let freshness = &results.freshness;
    let found: Vec<Value> = results
        .notes
        .iter()
        .map(|it| {
            json!({
                "uri": uri(&notes.settings.scheme, &it.slug),
                "title": it.title,
                "score": it.score,
                "snippet": it.snippet,
                "tags": it.tags,
                "modified": calendar::moment(it.stamp.modified),
            })
        })
        .collect();
    json!({
        "query": query,
        "total": results.total,
        "took_ms": (took * 1000.0).round() / 1000.0,
        "index": {
            "notes": freshness.notes,
            "pending": freshness.pending,
            "as_of": calendar::moment(freshness.as_of),
            "commit": freshness.commit,
            "trouble": freshness.trouble,
        },
        "results": found,
    })
}
