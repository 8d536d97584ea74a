//! What calls of tools come to: only of tools that say they change nothing, or that the user named.

use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, kept, list, not_offered, not_testable};
use crate::facts::{Callable, NOTHING_TO_CALL};
use crate::peer::{Peer, Trouble};
use crate::schemas;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "tools.results",
        Tools,
        Must,
        ALL,
        Any,
        ["S-PRM-05", "S-TOOL-08"],
        "Do results of tools have content of known shape, with valid base64?",
        Shared(results)
    ),
    check!(
        "tools.output-holds",
        Tools,
        Must,
        STRUCTURED,
        Any,
        ["S-TOOL-11"],
        "Does structuredContent satisfy the tool's outputSchema?",
        Shared(output_holds)
    ),
    check!(
        "tools.text-copy",
        Tools,
        Should,
        STRUCTURED,
        Any,
        ["S-TOOL-11"],
        "Is structured content given as text as well?",
        Shared(text_copy)
    ),
    check!(
        "tools.arguments-validated",
        Tools,
        Must,
        ALL,
        Any,
        ["S-TOOL-16"],
        "Is a call refused that lacks a required argument?",
        Shared(arguments_validated)
    ),
    check!(
        "tools.argument-errors",
        Tools,
        Should,
        ALL,
        Any,
        ["S-TOOL-09", "S-TOOL-08"],
        "Are bad arguments a result with isError from 2025-11-25 on?",
        Shared(argument_errors)
    ),
    check!(
        "progress.rises-and-ends",
        Progress,
        Must,
        ALL,
        Any,
        ["X-PROG-01", "X-PROG-02"],
        "Does progress carry the token of its call, rise, and end with the answer?",
        Shared(progress)
    ),
];

/// How long a called tool may take.
const CALL_PATIENCE: Duration = Duration::from_secs(10);

async fn called(peer: &mut Peer, call: &Callable) -> Result<Result<Value, String>, Trouble> {
    let id = peer.request("tools/call", call.params()).await?;
    let answer = peer.answer_or_silence(&id, CALL_PATIENCE).await?;
    let Some(answer) = answer else {
        let mut cancel = json!({"requestId": id});
        cancel["reason"] = json!("it takes too long for a check");
        peer.notify("notifications/cancelled", cancel).await?;
        return Ok(Err(format!("no answer in {} s", CALL_PATIENCE.as_secs())));
    };
    Ok(match answer.result() {
        Some(result) => Ok(result.clone()),
        None => Err(answer.summary()),
    })
}

async fn results(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let calls = peer.callables(bench).await?;
    if calls.is_empty() {
        return Ok(not_testable(NOTHING_TO_CALL));
    }
    let mut complaints = Vec::new();
    let mut count = 0;
    for call in &calls {
        match called(peer, call).await? {
            Ok(result) => {
                count += 1;
                let problems = content_problems(&result);
                let problems = problems.into_iter();
                complaints.extend(problems.map(|it| format!("{}: {it}", call.name())));
            }
            Err(summary) if bench.allowed.iter().any(|it| it.tool == call.name()) => {
                complaints.push(format!("{}: {summary}", call.name()));
            }
            // The arguments were made up, so an error about them is no fault.
            Err(_) => {}
        }
    }
    Ok(match count {
        0 if complaints.is_empty() => not_testable("no call came to a result"),
        _ => Finding::of(&complaints, format!("{count} results")),
    })
}

/// What is wrong with the content of a tool's result.
fn content_problems(result: &Value) -> Vec<String> {
    // A modern server may ask back or begin a task.
    if matches!(
        result["resultType"].as_str(),
        Some("input_required" | "task")
    ) {
        return Vec::new();
    }
    let Some(blocks) = result["content"].as_array() else {
        return vec![format!("content is {}", result["content"])];
    };
    let mut problems: Vec<String> = blocks.iter().filter_map(block_problem).collect();
    let is_error = &result["isError"];
    if !(is_error.is_null() || is_error.is_boolean()) {
        problems.push(format!("isError is {is_error}"));
    }
    problems
}

/// What is wrong with a block of content.
pub(super) fn block_problem(block: &Value) -> Option<String> {
    let text = |key: &str| match block[key].is_string() {
        true => None,
        false => Some(format!("a block of type {} without {key}", block["type"])),
    };
    match block["type"].as_str() {
        Some("text") => text("text"),
        Some("image" | "audio") => text("mimeType")
            .or_else(|| text("data"))
            .or_else(|| not_base64(&block["data"])),
        Some("resource") => contents_problem(&block["resource"]),
        Some("resource_link") => text("uri").or_else(|| text("name")),
        Some(_) => None,
        None => Some(format!("a block with the type {}", block["type"])),
    }
}

/// What is wrong with the contents of a resource.
pub(super) fn contents_problem(contents: &Value) -> Option<String> {
    if !contents["uri"].is_string() {
        return Some("contents without uri".to_owned());
    }
    match (contents.get("text"), contents.get("blob")) {
        (Some(text), None) if text.is_string() => None,
        (None, Some(blob)) => not_base64(blob),
        (Some(_), Some(_)) => Some("contents with both text and blob".to_owned()),
        _ => Some("contents without text and blob".to_owned()),
    }
}

fn not_base64(value: &Value) -> Option<String> {
    let text = value.as_str().unwrap_or("*");
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.err().map(|error| format!("no base64: {error}"))
}

async fn output_holds(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let mut calls = peer.callables(bench).await?;
    calls.retain(|call| call.tool.get("outputSchema").is_some());
    if calls.is_empty() {
        return Ok(not_testable(
            "no tool that may be called has an outputSchema",
        ));
    }
    let mut complaints = Vec::new();
    let mut count = 0;
    for call in &calls {
        let Ok(result) = called(peer, call).await? else {
            continue;
        };
        if result["isError"] == true || result["resultType"] == "input_required" {
            continue;
        }
        count += 1;
        let Some(value) = result.get("structuredContent") else {
            complaints.push(format!("{}: there is no structuredContent", call.name()));
            continue;
        };
        let problems = schemas::problems(&call.tool["outputSchema"], value);
        let problems = problems.into_iter().take(2);
        complaints.extend(problems.map(|problem| format!("{}: {problem}", call.name())));
    }
    Ok(match count {
        0 => not_testable("no call came to a result"),
        count => Finding::of(&complaints, format!("{count} results")),
    })
}

async fn text_copy(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let calls = peer.callables(bench).await?;
    let mut complaints = Vec::new();
    let mut count = 0;
    for call in &calls {
        let Ok(result) = called(peer, call).await? else {
            continue;
        };
        if result.get("structuredContent").is_none_or(Value::is_null) {
            continue;
        }
        count += 1;
        let blocks = result["content"].as_array();
        let has_text = blocks.is_some_and(|blocks| blocks.iter().any(|it| it["type"] == "text"));
        if !has_text {
            complaints.push(format!("{} has no text beside it", call.name()));
        }
    }
    Ok(match count {
        0 => not_offered("no call came to structured content"),
        count => Finding::of(&complaints, format!("{count} results")),
    })
}

/// A call that lacks a required argument.
async fn lacking(peer: &mut Peer, bench: &Bench) -> Result<Option<Callable>, Trouble> {
    for mut call in peer.callables(bench).await? {
        let required = call.tool["inputSchema"]["required"].as_array();
        let name = required
            .and_then(|names| names.first())
            .and_then(Value::as_str);
        if let Some(name) = name.map(str::to_owned)
            && let Value::Object(arguments) = &mut call.arguments
        {
            arguments.remove(&name);
            return Ok(Some(call));
        }
    }
    Ok(None)
}

async fn arguments_validated(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let Some(call) = lacking(peer, bench).await? else {
        return Ok(not_testable(
            "no tool that may be called requires an argument",
        ));
    };
    let id = peer.request("tools/call", call.params()).await?;
    let answer = peer.answer(&id).await?;
    let is_refused = answer.is_error()
        || answer
            .result()
            .is_some_and(|result| result["isError"] == true);
    Ok(match is_refused {
        true => kept(format!("{}: {}", call.name(), answer.summary())),
        false => broken(format!(
            "{} was answered with {}",
            call.name(),
            answer.summary()
        )),
    })
}

async fn argument_errors(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    if !peer.revision.features().argument_errors_are_results {
        return Ok(not_offered("older revisions take a protocol error"));
    }
    let Some(call) = lacking(peer, bench).await? else {
        return Ok(not_testable(
            "no tool that may be called requires an argument",
        ));
    };
    let id = peer.request("tools/call", call.params()).await?;
    let answer = peer.answer(&id).await?;
    let is_result = answer
        .result()
        .is_some_and(|result| result["isError"] == true);
    Ok(match is_result {
        true => kept("a result with isError"),
        false => broken(format!("answered with {}", answer.summary())),
    })
}

async fn progress(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let calls = peer.callables(bench).await?;
    if calls.is_empty() {
        return Ok(not_testable(NOTHING_TO_CALL));
    }
    let mut complaints = Vec::new();
    let mut count = 0;
    for (number, call) in calls.iter().enumerate() {
        let token = json!(format!("token-{number}"));
        let mut params = call.params();
        params["_meta"] = json!({"progressToken": token});
        peer.leftovers();
        let id = peer.request("tools/call", params).await?;
        peer.answer_or_silence(&id, CALL_PATIENCE).await?;
        let notes = peer.leftovers();
        let of_call = |value: &Value| {
            value["method"] == "notifications/progress" && value["params"]["progressToken"] == token
        };
        let values = notes.iter().filter(|note| of_call(&note.value));
        let values: Vec<f64> = values
            .map(|note| {
                note.value["params"]["progress"]
                    .as_f64()
                    .unwrap_or(f64::NAN)
            })
            .collect();
        count += values.len();
        if !values.is_sorted_by(|one, other| one < other) {
            complaints.push(format!("{}: progress went {values:?}", call.name()));
        }
        let late = peer.listen(Duration::from_millis(60)).await?;
        if late.iter().any(|note| of_call(&note.value)) {
            complaints.push(format!("{}: progress after the answer", call.name()));
        }
    }
    Ok(match (count, complaints.as_slice()) {
        (0, []) => not_offered("no tool that was called reports progress"),
        (count, []) => kept(format!("{count} notifications")),
        (_, some) => broken(list(some)),
    })
}
