//! Tasks: the experimental feature of 2025-11-25, and the extension of the modern era.

use std::time::Duration;

use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, kept, not_offered, not_testable};
use crate::facts::Callable;
use crate::peer::{CAPABILITIES_KEY, Peer, TASKS_EXTENSION, Trouble};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "tasks.unknown",
        Tasks,
        Must,
        NEWEST_LEGACY,
        Any,
        ["X-TSKX-12"],
        "Is a task that does not exist answered with -32602?",
        Shared(unknown_legacy)
    ),
    check!(
        "tasks.list",
        Tasks,
        Must,
        NEWEST_LEGACY,
        Any,
        ["X-TSKX-14", "X-TSKX-07"],
        "Does tasks/list give tasks of known shape, if it is declared?",
        Shared(list_legacy)
    ),
    check!(
        "tasks.life",
        Tasks,
        Must,
        NEWEST_LEGACY,
        Any,
        ["X-TSKX-05", "X-TSKX-06", "X-TSKX-07", "X-TSKX-08"],
        "Does a call as a task give a task that begins working and ends with its result?",
        Shared(life)
    ),
    check!(
        "tasks.required",
        Tasks,
        Should,
        NEWEST_LEGACY,
        Any,
        ["C-TSKX-03"],
        "Is a tool that must be called as a task refused otherwise with -32601?",
        Shared(required)
    ),
    check!(
        "tasks.field-ignored",
        Tasks,
        Must,
        NEWEST_LEGACY,
        Any,
        ["X-TSKX-04"],
        "Is the task field ignored by a server without tasks?",
        Shared(ignored)
    ),
    check!(
        "tasks.unknown-modern",
        Tasks,
        Must,
        MODERN,
        Any,
        ["S-TSKE-14"],
        "Is a task that does not exist answered with -32602?",
        Shared(unknown_modern)
    ),
    check!(
        "tasks.undeclared",
        Tasks,
        Must,
        MODERN,
        Any,
        ["S-TSKE-04"],
        "Is tasks/get refused with -32021 if the request does not declare the extension?",
        Shared(undeclared)
    ),
    check!(
        "tasks.legacy-gone",
        Tasks,
        Must,
        MODERN,
        Any,
        ["S-TSKE-17"],
        "Is tasks/result answered with -32601, and are no legacy tasks advertised?",
        Shared(legacy_gone)
    ),
];

const NO_TASKS: &str = "tasks are not declared";

async fn unknown_legacy(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("tasks") {
        return Ok(not_offered(NO_TASKS));
    }
    let mut complaints = Vec::new();
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let params = json!({"taskId": "attache-verify-no-such-task"});
        let answer = peer.ask(method, params).await?;
        if answer.code() != Some(-32602) {
            complaints.push(format!("{method}: {}", answer.summary()));
        }
    }
    Ok(Finding::of(&complaints, "-32602"))
}

/// What is wrong with a task of 2025-11-25.
fn task_problem(task: &Value) -> Option<String> {
    let statuses = [
        "working",
        "input_required",
        "completed",
        "failed",
        "cancelled",
    ];
    for key in ["taskId", "createdAt", "lastUpdatedAt"] {
        if !task[key].is_string() {
            return Some(format!("{key} is {}", task[key]));
        }
    }
    let status = task["status"].as_str().unwrap_or_default();
    if !statuses.contains(&status) {
        return Some(format!("status is {}", task["status"]));
    }
    match task.get("ttl") {
        Some(ttl) if ttl.is_null() || ttl.is_number() => None,
        other => Some(format!("ttl is {other:?}")),
    }
}

async fn list_legacy(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("tasks.list") {
        return Ok(not_offered("tasks.list is not declared"));
    }
    let answer = peer.ask("tasks/list", json!({})).await?;
    let tasks = answer
        .result()
        .and_then(|result| result["tasks"].as_array());
    Ok(match tasks {
        None => broken(format!("answered with {}", answer.summary())),
        Some(tasks) => {
            let problems: Vec<String> = tasks.iter().filter_map(task_problem).collect();
            Finding::of(&problems, format!("{} tasks", tasks.len()))
        }
    })
}

/// A tool that may be called as a task.
async fn task_call(peer: &mut Peer, bench: &Bench) -> Result<Option<Callable>, Trouble> {
    let supports = |call: &Callable| {
        let support = call.tool["execution"]["taskSupport"].as_str();
        matches!(support, Some("optional" | "required"))
    };
    Ok(peer.callables(bench).await?.into_iter().find(supports))
}

/// How long a task may take.
const TASK_PATIENCE: Duration = Duration::from_secs(10);

async fn life(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("tasks.requests.tools.call") {
        return Ok(not_offered("tasks.requests.tools.call is not declared"));
    }
    let Some(call) = task_call(peer, bench).await? else {
        return Ok(not_testable(
            "no tool that may be called can be called as a task",
        ));
    };
    let mut params = call.params();
    params["task"] = json!({"ttl": 60_000});
    let answer = peer.ask("tools/call", params).await?;
    let Some(task) = answer.result().map(|result| result["task"].clone()) else {
        return Ok(broken(format!("answered with {}", answer.summary())));
    };
    if let Some(problem) = task_problem(&task) {
        return Ok(broken(format!("the task that was created: {problem}")));
    }
    let mut complaints = Vec::new();
    if task["status"] != "working" {
        complaints.push(format!("it begins as {}", task["status"]));
    }
    let id = json!({"taskId": task["taskId"]});
    let answer = peer.ask("tasks/get", id.clone()).await?;
    if let Some(problem) = answer.result().and_then(task_problem) {
        complaints.push(format!("tasks/get: {problem}"));
    }
    let request = peer.request("tasks/result", id.clone()).await?;
    match peer.answer_or_silence(&request, TASK_PATIENCE).await? {
        None => return Ok(not_testable("the task takes longer than a check may")),
        Some(answer) if answer.result().is_some_and(|it| it["content"].is_array()) => {}
        Some(answer) if answer.is_error() => {}
        Some(answer) => complaints.push(format!("tasks/result: {}", answer.summary())),
    }
    let answer = peer.ask("tasks/get", id.clone()).await?;
    let status = answer
        .result()
        .map(|it| it["status"].clone())
        .unwrap_or_default();
    if !matches!(status.as_str(), Some("completed" | "failed" | "cancelled")) {
        complaints.push(format!("after its result the task is {status}"));
    }
    if peer.offers("tasks.cancel") {
        let answer = peer.ask("tasks/cancel", id).await?;
        if answer.code() != Some(-32602) {
            complaints.push(format!(
                "cancelling a task that is over: {}",
                answer.summary()
            ));
        }
    }
    Ok(Finding::of(
        &complaints,
        format!("{} as a task", call.name()),
    ))
}

async fn required(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !peer.offers("tasks.requests.tools.call") {
        return Ok(not_offered("tasks.requests.tools.call is not declared"));
    }
    let tools = peer.list("tools/list").await?.items;
    let tool = tools
        .iter()
        .find(|tool| tool["execution"]["taskSupport"] == "required");
    let Some(tool) = tool else {
        return Ok(not_offered("no tool requires a task"));
    };
    // A server that keeps the duty refuses before it looks at anything else.
    if tool["annotations"]["readOnlyHint"] != true {
        return Ok(not_testable(
            "the tool that requires a task is not read-only",
        ));
    }
    let params = json!({"name": tool["name"], "arguments": {}});
    let answer = peer.ask("tools/call", params).await?;
    Ok(match answer.code() {
        Some(-32601) => kept("-32601"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}

async fn ignored(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    if peer.offers("tasks") {
        return Ok(not_offered("the server has tasks"));
    }
    let Some(call) = peer.callables(bench).await?.into_iter().next() else {
        return Ok(not_testable(crate::facts::NOTHING_TO_CALL));
    };
    let mut params = call.params();
    params["task"] = json!({"ttl": 60_000});
    let id = peer.request("tools/call", params).await?;
    let Some(answer) = peer.answer_or_silence(&id, TASK_PATIENCE).await? else {
        return Ok(not_testable("the call takes longer than a check may"));
    };
    Ok(match answer.result() {
        Some(result) if result["content"].is_array() => kept("an ordinary result"),
        _ => broken(format!("{}: {}", call.name(), answer.summary())),
    })
}

/// Whether the server has the extension.
fn has_extension(peer: &Peer) -> bool {
    let extensions = &peer.books.capabilities["extensions"];
    extensions.get(TASKS_EXTENSION).is_some()
}

async fn unknown_modern(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !has_extension(peer) {
        return Ok(not_offered("it has no tasks"));
    }
    let params = json!({
        "taskId": "attache-verify-no-such-task",
        "_meta": {CAPABILITIES_KEY: {"extensions": {TASKS_EXTENSION: {}}}},
    });
    let answer = peer.ask("tasks/get", params).await?;
    Ok(match answer.code() {
        Some(-32602) => kept("-32602"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}

async fn undeclared(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    if !has_extension(peer) {
        return Ok(not_offered("it has no tasks"));
    }
    let params = json!({"taskId": "attache-verify-no-such-task"});
    let answer = peer.ask("tasks/get", params).await?;
    Ok(match answer.code() {
        Some(-32021) => kept("-32021"),
        _ => broken(format!("answered with {}", answer.summary())),
    })
}

async fn legacy_gone(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let mut complaints = Vec::new();
    if peer.offers("tasks") {
        complaints.push("the legacy capability `tasks` is declared".to_owned());
    }
    let answer = peer.ask("tasks/result", json!({"taskId": "x"})).await?;
    if answer.code() != Some(-32601) {
        complaints.push(format!("tasks/result: {}", answer.summary()));
    }
    Ok(Finding::of(&complaints, "-32601"))
}
