//! What a small correct server says, in every revision.
//!
//! Owns the answers to all methods and the making of scripted bodies that need
//! the request. Refuses to know rules, ids and how an answer leaves.

use std::time::Duration;

use serde_json::{Value, json};

use super::action::{Action, Until};
use super::catalog;
use super::emit::Emit;
use super::engine::Engine;
use super::play::Step;
use super::reply::{Body, Cursors, InputRounds, Pages, Reply, RpcError, TaskEnding, TaskPlan};
use super::request::{
    CAPABILITIES_KEY, LOG_LEVEL_KEY, Request, SERVER_INFO_KEY, SUBSCRIPTION_KEY, VERSION_KEY, Wire,
};
use super::script::Era;
use super::session::LEVELS;
use super::{tools, usual_tasks};

/// What there is to say about a request.
pub(super) enum Usual {
    Result(Value),
    Error(RpcError),
    /// Something that takes several steps.
    Steps(Vec<Step>),
    /// Nothing, now or ever.
    Silence,
}

/// How long a modern client may keep a list or a resource.
const TTL_MS: u64 = 1000;

/// The answer of a correct server.
pub(super) fn answer(engine: &Engine, request: &Request) -> Usual {
    let answered = match request.wire {
        Wire::Legacy => legacy(engine, request),
        Wire::Modern => modern(engine, request),
    };
    answered.unwrap_or_else(Usual::Error)
}

/// What a scripted body says about this request.
pub(super) fn evaluate(
    engine: &Engine,
    body: &Body,
    request: &Request,
    client_answer: Option<&Value>,
) -> Usual {
    match body {
        Body::Usual => answer(engine, request),
        Body::Result(result) => Usual::Result(result.clone()),
        Body::Text(text) => complete(engine, request, tool_text(text)),
        Body::Error(error) => Usual::Error(error.clone()),
        // The engine pads the text when it knows the rest of the frame.
        Body::FrameOf(_) => complete(engine, request, tool_text("")),
        Body::Page(pages) => page(engine, request, pages).unwrap_or_else(Usual::Error),
        Body::ClientAnswer => {
            let answer = client_answer.cloned().unwrap_or(Value::Null);
            let mut result = tool_text(&answer.to_string());
            result["structuredContent"] = json!({"answer": answer});
            complete(engine, request, result)
        }
        Body::InputRequired(rounds) => input_round(engine, request, rounds),
        Body::Task(plan) => usual_tasks::create(engine, request, plan),
    }
}

/// A tool result of one text block.
pub(super) fn tool_text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Gives a result the fields that the era demands of every result.
pub(super) fn complete(engine: &Engine, request: &Request, mut result: Value) -> Usual {
    if request.wire == Wire::Modern {
        result["resultType"] = json!("complete");
        result["_meta"][SERVER_INFO_KEY] = engine.script.identity.server_info.clone();
    }
    Usual::Result(result)
}

/// Like [`complete`], for results that a modern client may keep.
fn cacheable(engine: &Engine, request: &Request, mut result: Value) -> Usual {
    if request.wire == Wire::Modern {
        result["ttlMs"] = json!(TTL_MS);
        result["cacheScope"] = json!("private");
    }
    complete(engine, request, result)
}

fn legacy(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    match request.method.as_str() {
        "initialize" => Ok(Usual::Result(initialize_result(engine))),
        "ping" => Ok(Usual::Result(json!({}))),
        "logging/setLevel" => {
            let level = level_of(request.text("level"))?;
            engine.session(|session| session.log_level = level);
            Ok(Usual::Result(json!({})))
        }
        "resources/subscribe" => {
            let uri = known_resource(request)?;
            engine.session(|session| session.subscribed.insert(uri));
            Ok(Usual::Result(json!({})))
        }
        "resources/unsubscribe" => {
            let uri = required_text(request, "uri")?;
            engine.session(|session| session.subscribed.remove(uri));
            Ok(Usual::Result(json!({})))
        }
        method if method.starts_with("tasks/") => usual_tasks::legacy(engine, request),
        _ => common(engine, request),
    }
}

fn initialize_result(engine: &Engine) -> Value {
    let identity = &engine.script.identity;
    let mut result = json!({
        "protocolVersion": catalog::legacy_revision(&engine.script),
        "capabilities": catalog::capabilities(engine, Wire::Legacy),
        "serverInfo": identity.server_info,
    });
    if let Some(text) = &identity.instructions {
        result["instructions"] = json!(text);
    }
    result
}

fn modern(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    if request.id.is_none() {
        return Ok(Usual::Silence);
    }
    let (Era::Modern { supported } | Era::Dual { supported, .. }) = &engine.script.era else {
        return Err(unknown_method(request));
    };
    let version = request
        .version()
        .ok_or_else(|| invalid_params(format!("_meta lacks {VERSION_KEY}")))?;
    if !supported.iter().any(|known| known == version) {
        return Err(RpcError::new(
            -32022,
            "Unsupported protocol version",
            json!({"supported": supported, "requested": version}),
        ));
    }
    if request.meta(CAPABILITIES_KEY).is_none() {
        return Err(invalid_params(format!("_meta lacks {CAPABILITIES_KEY}")));
    }
    match request.method.as_str() {
        "server/discover" => Ok(discover(engine, request, supported)),
        "subscriptions/listen" => Ok(listen(engine, request)),
        method if method.starts_with("tasks/") => usual_tasks::modern(engine, request),
        _ => common(engine, request),
    }
}

fn discover(engine: &Engine, request: &Request, supported: &[String]) -> Usual {
    let mut versions = supported.to_vec();
    if let Era::Dual { revision, .. } = &engine.script.era {
        versions.push(revision.clone());
    }
    let mut result = json!({
        "supportedVersions": versions,
        "capabilities": catalog::capabilities(engine, Wire::Modern),
    });
    if let Some(text) = &engine.script.identity.instructions {
        result["instructions"] = json!(text);
    }
    cacheable(engine, request, result)
}

/// Acknowledges a listen and leaves it open: its result would end it.
fn listen(engine: &Engine, request: &Request) -> Usual {
    let id = request.id.clone().unwrap_or(Value::Null);
    let filter = request.params["notifications"].clone();
    engine.session(|session| session.open_listen(id.clone(), filter.clone()));
    let acknowledged = Action::notify(
        "notifications/subscriptions/acknowledged",
        json!({"_meta": {SUBSCRIPTION_KEY: id}, "notifications": filter}),
    );
    Usual::Steps(vec![Step::Act(acknowledged)])
}

fn common(engine: &Engine, request: &Request) -> Result<Usual, RpcError> {
    let result = match request.method.as_str() {
        "tools/call" => return tools::call(engine, request),
        "tools/list" => json!({"tools": catalog::tools(&engine.script, request.wire)}),
        "resources/list" => json!({"resources": catalog::resources()}),
        "resources/templates/list" => {
            json!({"resourceTemplates": catalog::resource_templates()})
        }
        "prompts/list" => json!({"prompts": catalog::prompts()}),
        "resources/read" => {
            let uri = required_text(request, "uri")?;
            json!({"contents": catalog::contents(uri).ok_or_else(|| not_found(request, uri))?})
        }
        "prompts/get" => return prompt(request).map(|result| complete(engine, request, result)),
        "completion/complete" => return Ok(complete(engine, request, completion(request))),
        _ if request.id.is_none() => return Ok(Usual::Silence),
        _ => return Err(unknown_method(request)),
    };
    // The usual lists have one page, so no cursor of theirs can come back.
    if request.text("cursor").is_some() {
        return Err(invalid_params("Unknown cursor"));
    }
    Ok(cacheable(engine, request, result))
}

fn prompt(request: &Request) -> Result<Value, RpcError> {
    if request.text("name") != Some("greet") {
        return Err(invalid_params("Unknown prompt"));
    }
    let name = request
        .argument("name")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid_params("Missing argument: name"))?;
    let text = format!("Greet {name}.");
    Ok(json!({
        "description": "A greeting.",
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}

fn completion(request: &Request) -> Value {
    let typed = request.params["argument"]["value"].as_str().unwrap_or("");
    let values: Vec<_> = catalog::COMPLETIONS
        .into_iter()
        .filter(|name| name.starts_with(typed))
        .collect();
    json!({"completion": {"values": values, "total": values.len(), "hasMore": false}})
}

fn page(engine: &Engine, request: &Request, pages: &Pages) -> Result<Usual, RpcError> {
    let cursor = request.text("cursor");
    let number = match (cursor, pages.cursors) {
        (None, _) | (Some("again"), Cursors::Repeating) => 1,
        (Some(""), Cursors::EmptyString) => 2,
        (Some(cursor), _) => cursor
            .strip_prefix("page-")
            .and_then(|number| number.parse().ok())
            .filter(|number| (2..=pages.pages).contains(number))
            .ok_or_else(|| invalid_params("Unknown cursor"))?,
    };
    let first = (number - 1) * pages.per_page + 1;
    let mut entries = Vec::new();
    let mut list = "";
    for entry in first..first + pages.per_page {
        let (key, entry) = catalog::made_up_entry(&request.method, entry)
            .ok_or_else(|| unknown_method(request))?;
        list = key;
        entries.push(entry);
    }
    let mut result = json!({});
    result[list] = entries.into();
    match pages.cursors {
        Cursors::Repeating => result["nextCursor"] = json!("again"),
        _ if number >= pages.pages => {}
        Cursors::EmptyString if number == 1 => result["nextCursor"] = json!(""),
        Cursors::Distinct | Cursors::EmptyString => {
            result["nextCursor"] = json!(format!("page-{}", number + 1));
        }
    }
    Ok(cacheable(engine, request, result))
}

fn input_round(engine: &Engine, request: &Request, plan: &InputRounds) -> Usual {
    let done = match request.text("requestState") {
        None => 0,
        Some(state) => {
            let round = state
                .strip_prefix(&plan.state)
                .and_then(|rest| rest.strip_prefix('#'))
                .and_then(|round| round.parse::<u32>().ok());
            match round {
                Some(round) => round,
                None => return Usual::Error(invalid_params("requestState was altered")),
            }
        }
    };
    if plan.rounds.is_some_and(|rounds| done >= rounds) {
        if request.tool().is_none() {
            return answer(engine, request);
        }
        let responses = request.params["inputResponses"].clone();
        let mut result = tool_text(&responses.to_string());
        result["structuredContent"] = json!({"inputResponses": responses, "rounds": done});
        return complete(engine, request, result);
    }
    let mut result = json!({
        "resultType": "input_required",
        "requestState": format!("{}#{}", plan.state, done + 1),
    });
    if !plan.requests.is_null() {
        result["inputRequests"] = plan.requests.clone();
    }
    Usual::Result(result)
}

/// The steps of a task that its client cannot see: wait, then the outcome.
pub(super) fn unseen_task(engine: &Engine, request: &Request, plan: &TaskPlan) -> Usual {
    let outcome = match &plan.ending {
        TaskEnding::Completed(result) => match complete(engine, request, result.clone()) {
            Usual::Result(result) => Reply::result(result),
            _ => Reply::usual(),
        },
        TaskEnding::Failed(error) => {
            Reply::error_with(error.code, error.message.clone(), error.data.clone())
        }
        TaskEnding::Never => return Usual::Silence,
    };
    steps([Action::wait(plan.working), outcome.into()])
}

pub(super) fn steps(actions: impl IntoIterator<Item = Action>) -> Usual {
    Usual::Steps(actions.into_iter().map(Step::Act).collect())
}

/// Messages, then an answer.
pub(super) fn messages_then(messages: Vec<Value>, reply: Reply) -> Usual {
    let messages = messages.iter().map(|message| Emit::message(message).into());
    steps(messages.chain([reply.into()]))
}

/// The least level this client wants to hear about, if any.
pub(super) fn wanted_level(engine: &Engine, request: &Request) -> Result<Option<usize>, RpcError> {
    match request.wire {
        Wire::Legacy => Ok(Some(engine.session(|session| session.log_level))),
        Wire::Modern => request
            .meta(LOG_LEVEL_KEY)
            .map(|level| level_of(level.as_str()))
            .transpose(),
    }
}

pub(super) fn level_of(name: Option<&str>) -> Result<usize, RpcError> {
    LEVELS
        .iter()
        .position(|level| Some(*level) == name)
        .ok_or_else(|| invalid_params("Unknown log level"))
}

fn known_resource(request: &Request) -> Result<String, RpcError> {
    let uri = required_text(request, "uri")?;
    match catalog::contents(uri) {
        Some(_) => Ok(uri.to_owned()),
        None => Err(not_found(request, uri)),
    }
}

pub(super) fn required_text<'a>(request: &'a Request, key: &str) -> Result<&'a str, RpcError> {
    request
        .text(key)
        .ok_or_else(|| invalid_params(format!("Missing parameter: {key}")))
}

fn not_found(request: &Request, uri: &str) -> RpcError {
    let code = match request.wire {
        Wire::Legacy => -32002,
        Wire::Modern => -32602,
    };
    RpcError::new(code, "Resource not found", json!({"uri": uri}))
}

pub(super) fn invalid_params(message: impl Into<String>) -> RpcError {
    RpcError::new(-32602, message, Value::Null)
}

pub(super) fn unknown_method(request: &Request) -> RpcError {
    RpcError::new(
        -32601,
        format!("Method not found: {}", request.method),
        Value::Null,
    )
}

/// Waits before the usual answer is worked out anew.
pub(super) fn ask_again_after(time: Duration) -> Usual {
    steps([Action::Wait(Until::Elapsed(time)), Action::usual()])
}
