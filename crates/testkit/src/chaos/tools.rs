//! What calling a tool of the small correct server does.
//!
//! Owns the tools' behaviour. Refuses to know their descriptions (`catalog`).

use std::time::Duration;

use serde_json::{Value, json};

use super::action::{Action, notification};
use super::catalog;
use super::engine::Engine;
use super::reply::{Reply, RpcError};
use super::request::{Request, Wire};
use super::usual::{
    Usual, complete, invalid_params, level_of, messages_then, steps, tool_text, wanted_level,
};

/// The most bytes the tool `big` makes.
const BIG_LIMIT: u64 = 256 * 1024 * 1024;

/// The outcome of a `tools/call`.
pub(super) fn call(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    let name = request
        .tool()
        .ok_or_else(|| invalid_params("Missing parameter: name"))?;
    let result = match name {
        "echo" => tool_text(text(request, "message")?),
        "add" => {
            let sum = number(request, "a")? + number(request, "b")?;
            let mut result = tool_text(&sum.to_string());
            result["structuredContent"] = json!({"sum": sum});
            result
        }
        "big" => {
            let bytes = whole(request, "bytes")?;
            if bytes > BIG_LIMIT {
                return Err(invalid_params("bytes is too large"));
            }
            tool_text(&"x".repeat(usize::try_from(bytes).unwrap_or(0)))
        }
        "fail" => {
            let mut result = tool_text(text(request, "message").unwrap_or("failed as asked"));
            result["isError"] = json!(true);
            result
        }
        "sleep" => return sleep(request),
        "side_effect" => return Ok(steps([Action::effect(), Action::text("done")])),
        "touch" => {
            let uri = text(request, "uri")?;
            let owed = engine.session(|session| session.resource_updated(uri));
            return Ok(messages_then(owed, Reply::text("touched")));
        }
        "change" => return change(engine, request),
        "log" => return log(engine, request),
        name if catalog::is_scripted_tool(&engine.script, name) => tool_text("done"),
        name => return Err(invalid_params(format!("Unknown tool: {name}"))),
    };
    Ok(complete(engine, request, result))
}

/// Sleeps in equal steps, with progress after each if the client wants it.
fn sleep(request: &Request) -> Result<Usual, RpcError> {
    let time = Duration::from_millis(whole(request, "ms")?);
    let count = match request.argument("steps") {
        Some(_) => u32::try_from(whole(request, "steps")?.clamp(1, 1000)).unwrap_or(1),
        None => 1,
    };
    let mut actions = Vec::new();
    for step in 1..=count {
        actions.push(Action::wait(time / count));
        if count > 1 {
            actions.push(Action::progress([f64::from(step)]));
        }
    }
    actions.push(Action::text("slept"));
    Ok(steps(actions))
}

fn change(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    let list = text(request, "list")?;
    if !["tools", "prompts", "resources"].contains(&list) {
        return Err(invalid_params("Unknown list"));
    }
    let owed = match request.wire {
        Wire::Legacy => {
            let method = format!("notifications/{list}/list_changed");
            vec![notification(&method, Value::Null)]
        }
        Wire::Modern => engine.session(|session| session.list_changed(list)),
    };
    Ok(messages_then(owed, Reply::text("changed")))
}

fn log(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    let level = text(request, "level")?;
    let place = level_of(Some(level))?;
    let wanted = wanted_level(engine, request)?;
    let mut owed = Vec::new();
    if wanted.is_some_and(|least| place >= least) {
        let data = text(request, "message")?;
        let params = json!({"level": level, "logger": "chaos", "data": data});
        owed.push(notification("notifications/message", params));
    }
    Ok(messages_then(owed, Reply::text("logged")))
}

fn text<'a>(request: &'a Request, key: &str) -> Result<&'a str, RpcError> {
    request
        .argument(key)
        .and_then(Value::as_str)
        .ok_or_else(|| bad_argument(key))
}

fn number(request: &Request, key: &str) -> Result<f64, RpcError> {
    request
        .argument(key)
        .and_then(Value::as_f64)
        .ok_or_else(|| bad_argument(key))
}

fn whole(request: &Request, key: &str) -> Result<u64, RpcError> {
    request
        .argument(key)
        .and_then(Value::as_u64)
        .ok_or_else(|| bad_argument(key))
}

fn bad_argument(key: &str) -> RpcError {
    invalid_params(format!("Missing or malformed argument: {key}"))
}
