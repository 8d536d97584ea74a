//! What a server says about its tools, without calling any.

use std::collections::BTreeSet;

use attache_protocol::Revision;
use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered};
use crate::facts::Listed;
use crate::peer::{Peer, Trouble};
use crate::schemas;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "tools.declared",
        Tools,
        Must,
        ALL,
        Any,
        ["S-TOOL-01", "S-TOOL-03"],
        "Does tools/list answer exactly if tools are declared?",
        Shared(declared)
    ),
    check!(
        "tools.shape",
        Tools,
        Must,
        ALL,
        Any,
        ["S-TOOL-02"],
        "Has each tool a name and an inputSchema whose root is an object?",
        Shared(shape)
    ),
    check!(
        "tools.names",
        Tools,
        Should,
        ALL,
        Any,
        ["S-TOOL-04"],
        "Are names unique, and 1 to 128 letters, digits, dashes, dots and underscores?",
        Shared(names)
    ),
    check!(
        "tools.schemas",
        Tools,
        Must,
        ALL,
        Any,
        ["X-BASE-22", "X-BASE-23", "S-TOOL-02"],
        "Is each schema valid in its dialect?",
        Shared(schemas)
    ),
    check!(
        "tools.no-foreign-references",
        Tools,
        Should,
        ALL,
        Any,
        ["X-BASE-24", "X-BASE-25"],
        "Do schemas refer to nothing outside themselves?",
        Shared(references)
    ),
    check!(
        "tools.output-schemas",
        Tools,
        Must,
        STRUCTURED,
        Any,
        ["S-TOOL-11", "X-BASE-22"],
        "Is each outputSchema valid, with an object as its root up to 2025-11-25?",
        Shared(output_schemas)
    ),
    check!(
        "tools.annotations",
        Tools,
        Should,
        ALL,
        Any,
        ["C-TOOL-14"],
        "Are annotations of their types, so that a client can use them as hints?",
        Shared(annotations)
    ),
    check!(
        "tools.mirrored-arguments",
        Tools,
        Must,
        MODERN,
        Any,
        ["X-SHM-15", "X-SHM-16", "X-SHM-17"],
        "Is each x-mcp-header annotation valid and in a place that is allowed?",
        Shared(mirrored)
    ),
    check!(
        "tools.stable-order",
        Tools,
        Should,
        ALL,
        Any,
        ["S-TOOL-03"],
        "Is the list the same when it is asked for again?",
        Shared(stable_order)
    ),
    check!(
        "tools.unknown",
        Tools,
        Should,
        ALL,
        Any,
        ["S-TOOL-07"],
        "Is a call of an unknown tool answered with -32602?",
        Shared(unknown)
    ),
];

/// The tools, or why there are none.
async fn tools(peer: &mut Peer) -> Result<Result<Listed, Finding>, Trouble> {
    if !peer.offers("tools") {
        return Ok(Err(not_offered("no tools are declared")));
    }
    let listed = peer.list("tools/list").await?;
    Ok(match &listed.refused {
        Some(refused) => Err(not_offered(format!(
            "tools/list is answered with {refused}"
        ))),
        None => Ok(listed),
    })
}

fn name(tool: &Value) -> String {
    match tool["name"].as_str() {
        Some(name) => name.to_owned(),
        None => format!("the tool {}", tool["name"]),
    }
}

async fn declared(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let listed = peer.list("tools/list").await?;
    Ok(
        match (peer.offers("tools"), listed.refused, listed.problem) {
            (true, None, None) => kept(format!("{} tools", listed.items.len())),
            (true, Some(refused), _) => broken(format!("declared, but tools/list is {refused}")),
            (true, None, Some(problem)) => broken(problem),
            (false, Some(refused), _) => kept(format!("not declared, and tools/list is {refused}")),
            (false, None, _) if listed.items.is_empty() => kept("not declared, and an empty list"),
            (false, None, _) => broken(format!(
                "{} tools are listed, but `tools` is not declared",
                listed.items.len()
            )),
        },
    )
}

async fn shape(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let listed = match tools(peer).await? {
        Ok(listed) => listed,
        Err(finding) => return Ok(finding),
    };
    let mut complaints = Vec::new();
    for tool in &listed.items {
        if tool["name"].as_str().is_none_or(str::is_empty) {
            complaints.push(format!("a tool with the name {}", tool["name"]));
        }
        let schema = &tool["inputSchema"];
        if !schema.is_object() {
            complaints.push(format!("{} has the inputSchema {schema}", name(tool)));
        } else if schema["type"] != "object" {
            complaints.push(format!(
                "the inputSchema of {} has the type {}",
                name(tool),
                schema["type"]
            ));
        }
        for key in ["description", "title"] {
            if !(tool[key].is_null() || tool[key].is_string()) {
                complaints.push(format!("{} has the {key} {}", name(tool), tool[key]));
            }
        }
    }
    let count = listed.items.len();
    Ok(Finding::of(&complaints, format!("{count} tools")))
}

async fn names(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let listed = match tools(peer).await? {
        Ok(listed) => listed,
        Err(finding) => return Ok(finding),
    };
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    for tool in &listed.items {
        let Some(name) = tool["name"].as_str() else {
            continue;
        };
        if !seen.insert(name) {
            complaints.push(format!("{name:?} is there twice"));
        }
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if !(1..=128).contains(&name.len()) || !name.bytes().all(is_fine) {
            complaints.push(format!("the name {name:?}"));
        }
    }
    Ok(Finding::of(&complaints, format!("{} names", seen.len())))
}

/// What is wrong with a schema.
fn schema_problem(schema: &Value) -> Option<String> {
    let named = schema["$schema"].as_str();
    if let Some(named) = named
        && !named.contains("json-schema.org/")
    {
        return Some(format!("the dialect {named:?} is not known"));
    }
    schemas::mistakes(schema).into_iter().next()
}

async fn schemas(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let listed = match tools(peer).await? {
        Ok(listed) => listed,
        Err(finding) => return Ok(finding),
    };
    let mut complaints = Vec::new();
    for tool in &listed.items {
        let schema = &tool["inputSchema"];
        if schema.is_object()
            && let Some(problem) = schema_problem(schema)
        {
            complaints.push(format!("the inputSchema of {}: {problem}", name(tool)));
        }
    }
    let count = listed.items.len();
    Ok(Finding::of(&complaints, format!("{count} schemas")))
}

async fn references(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let listed = match tools(peer).await? {
        Ok(listed) => listed,
        Err(finding) => return Ok(finding),
    };
    let mut complaints = Vec::new();
    for tool in &listed.items {
        for key in ["inputSchema", "outputSchema"] {
            let mut foreign = Vec::new();
            foreign_references(&tool[key], &mut foreign);
            let found = foreign.iter();
            complaints.extend(found.map(|it| format!("{} refers to {it}", name(tool))));
        }
    }
    Ok(Finding::of(&complaints, "none does"))
}

fn foreign_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| foreign_references(item, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str() {
                    Some(target) if key == "$ref" && target.contains("://") => {
                        found.push(target.to_owned());
                    }
                    _ => foreign_references(value, found),
                }
            }
        }
        _ => {}
    }
}

async fn output_schemas(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let needs_object = peer.revision < Revision::V2026_07_28;
    let judge = |tool: &Value, complaints: &mut Vec<String>| {
        let Some(schema) = tool.get("outputSchema") else {
            return 0;
        };
        let (name, kind) = (name(tool), &schema["type"]);
        if needs_object && kind != "object" {
            complaints.push(format!("the outputSchema of {name} has the type {kind}"));
        }
        if let Some(problem) = schema_problem(schema) {
            complaints.push(format!("the outputSchema of {name}: {problem}"));
        }
        1
    };
    judge_each(peer, "no tool has an outputSchema", "schemas", judge).await
}

async fn annotations(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let hints = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    ];
    let judge = |tool: &Value, complaints: &mut Vec<String>| {
        let Some(annotations) = tool.get("annotations").filter(|it| !it.is_null()) else {
            return 0;
        };
        for hint in hints {
            let value = &annotations[hint];
            if !(value.is_null() || value.is_boolean()) {
                complaints.push(format!("{}.{hint} is {value}", name(tool)));
            }
        }
        1
    };
    let what = "tools with annotations";
    judge_each(peer, "no tool has annotations", what, judge).await
}

async fn mirrored(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let judge = |tool: &Value, complaints: &mut Vec<String>| {
        let mut headers = Vec::new();
        walk_annotations(&tool["inputSchema"], Place::Reached, &mut headers);
        let count = headers.len();
        let mut seen = BTreeSet::new();
        for (header, problem) in headers {
            let again = !seen.insert(header.to_ascii_lowercase());
            let problem = problem.or(again.then(|| "is used twice".to_owned()));
            if let Some(problem) = problem {
                complaints.push(format!("{}: the header {header:?} {problem}", name(tool)));
            }
        }
        count
    };
    judge_each(peer, "no argument is mirrored", "annotations", judge).await
}

/// Judges each tool. `judge` says how many such things the tool has, and complains.
async fn judge_each(
    peer: &mut Peer,
    none: &str,
    what: &str,
    judge: impl Fn(&Value, &mut Vec<String>) -> usize,
) -> Result<Finding, Trouble> {
    let listed = match tools(peer).await? {
        Ok(listed) => listed,
        Err(finding) => return Ok(finding),
    };
    let mut complaints = Vec::new();
    let tools = listed.items.iter();
    let count: usize = tools.map(|tool| judge(tool, &mut complaints)).sum();
    Ok(match count {
        0 => not_offered(none),
        count => Finding::of(&complaints, format!("{count} {what}")),
    })
}

/// Whether a part of a schema is reached through `properties` alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Reached,
    Elsewhere,
}

fn walk_annotations(schema: &Value, place: Place, found: &mut Vec<(String, Option<String>)>) {
    let Value::Object(fields) = schema else {
        if let Value::Array(items) = schema {
            for item in items {
                walk_annotations(item, Place::Elsewhere, found);
            }
        }
        return;
    };
    if let Some(annotation) = fields.get("x-mcp-header") {
        let header = annotation.as_str().unwrap_or_default();
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let kind = fields.get("type").and_then(Value::as_str);
        let problem = if header.is_empty() || !header.bytes().all(is_token) {
            Some("is no token".to_owned())
        } else if !matches!(kind, Some("string" | "integer" | "boolean")) {
            Some(format!("stands on the type {}", kind.unwrap_or("none")))
        } else if place == Place::Elsewhere {
            Some("is not reached through properties alone".to_owned())
        } else {
            None
        };
        found.push((header.to_owned(), problem));
    }
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for property in properties.values() {
                    walk_annotations(property, place, found);
                }
            }
            ("const" | "default" | "enum" | "examples", _) => {}
            _ => walk_annotations(value, Place::Elsewhere, found),
        }
    }
}

async fn stable_order(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let first = match tools(peer).await? {
        Ok(listed) => listed,
        Err(finding) => return Ok(finding),
    };
    let second = peer.fetch("tools/list").await?;
    let names = |listed: &Listed| listed.items.iter().map(name).collect::<Vec<_>>();
    let (first, second) = (names(&first), names(&second));
    Ok(match first == second {
        true => kept("the same list twice"),
        false if first.len() == second.len() => broken("the order differs"),
        false => doubtful(format!("{} tools, then {}", first.len(), second.len())),
    })
}

async fn unknown(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("tools") {
        return Ok(not_offered("no tools are declared"));
    }
    let params = json!({"name": "attache-verify-no-such-tool", "arguments": {}});
    let answer = peer.ask("tools/call", params).await?;
    Ok(match answer.code() {
        Some(-32602) => kept("-32602"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}
