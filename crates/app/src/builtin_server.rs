//! The small server inside this executable, so that the first command a newcomer types does
//! something real.
//!
//! It runs as a child process of its own over stdio, like any other server, and speaks both eras.
//! Owns its three tools, two resources and one prompt; knows nothing of the rest of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use attache::protocol::{
    DEFAULT_MAX_FRAME, Era, ErrorObject, Json, Line, LineFramer, Message, Notification, Progress,
    Prompt, PromptArgument, RequestId, Resource, ResourceUpdated, Revision, Tool, codes, frame,
    meta, parse_line,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// What the server calls itself.
pub(crate) const NAME: &str = "attache-demo";
/// The hidden command that runs it.
pub(crate) const SUBCOMMAND: &str = "__builtin-server";

const WELCOME: &str = "demo://welcome";
const CLOCK: &str = "demo://clock";
/// How often the clock changes for those who watch it.
const CLOCK_TICK: Duration = Duration::from_secs(1);
/// How far the tool `count` counts at most.
const MOST_COUNTED: u64 = 1000;
/// How many requests are worked on at once.
const MOST_RUNNING: usize = 16;

/// Serves until stdin ends.
pub(crate) fn run() -> ExitCode {
    let server = Arc::new(BuiltIn::default());
    let mut framer = LineFramer::new(DEFAULT_MAX_FRAME);
    let mut chunk = vec![0; 16 * 1024];
    let mut stdin = io::stdin().lock();
    while let Ok(length @ 1..) = stdin.read(&mut chunk) {
        framer.push(&chunk[..length]);
        loop {
            match framer.next_line() {
                Ok(Some(line)) => server.receive(&line),
                Ok(None) => break,
                Err(_) => return ExitCode::FAILURE,
            }
        }
    }
    ExitCode::SUCCESS
}

#[derive(Default)]
struct BuiltIn {
    state: Mutex<State>,
    /// Told when a request was cancelled.
    cancelled: Condvar,
}

#[derive(Default)]
struct State {
    /// A legacy session has begun.
    initialized: bool,
    /// Requests that take their time, by the text of their id.
    running: BTreeSet<String>,
    /// The legacy session watches the clock.
    watches_clock: bool,
    /// Modern requests that watch the clock, by the text of their id.
    listening: BTreeMap<String, RequestId>,
    clock_runs: bool,
}

/// What a legacy client wants of a resource.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watching {
    Begins,
    Ends,
}

/// A request in its era.
struct Asked {
    id: RequestId,
    method: String,
    params: Map<String, Value>,
    era: Era,
}

type Answer = Result<Value, ErrorObject>;

impl BuiltIn {
    fn receive(self: &Arc<Self>, line: &[u8]) {
        match parse_line(line) {
            Line::Message(Message::Request { id, method, params }) => {
                match read_request(id.clone(), &method, params) {
                    Ok(asked) => self.asked(asked),
                    Err(error) => self.answer(&id, Err(error)),
                }
            }
            Line::Message(Message::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.cancel(&read_params(params).unwrap_or_default());
                }
            }
            // This server asks nothing, so nothing is answered to it, and what is no message
            // cannot be answered.
            Line::Message(Message::Response { .. }) | Line::Batch(_) | Line::Stray(_) => {}
        }
    }

    fn asked(self: &Arc<Self>, asked: Asked) {
        let known_before = matches!(asked.method.as_str(), "initialize" | "ping");
        if asked.era == Era::Legacy && !known_before && !self.state().initialized {
            let error = ErrorObject::new(codes::INVALID_REQUEST, "send initialize first");
            return self.answer(&asked.id, Err(error));
        }
        let name = asked.params.get("name").and_then(Value::as_str);
        match (asked.method.as_str(), name) {
            ("tools/call", Some("count")) => self.begin_count(asked),
            ("subscriptions/listen", _) if asked.era == Era::Modern => self.listen(&asked),
            _ => {
                let answer = self.work(&asked);
                self.answer(&asked.id, answer.map(|result| finish(result, asked.era)));
            }
        }
    }

    fn work(self: &Arc<Self>, asked: &Asked) -> Answer {
        let params = &asked.params;
        match (asked.method.as_str(), asked.era) {
            ("initialize", Era::Legacy) => {
                self.state().initialized = true;
                initialize(params)
            }
            ("ping", Era::Legacy) => Ok(json!({})),
            ("server/discover", Era::Modern) => Ok(json!({
                "supportedVersions": [Revision::V2026_07_28],
                "capabilities": capabilities(),
                "instructions": INSTRUCTIONS,
                "_meta": {meta::SERVER_INFO: identity()},
            })),
            ("tools/list", _) => Ok(json!({"tools": tools()})),
            ("tools/call", _) => call(params),
            ("resources/list", _) => Ok(json!({"resources": resources()})),
            ("resources/templates/list", _) => Ok(json!({"resourceTemplates": []})),
            ("resources/read", era) => read(text(params, "uri")?, era),
            ("resources/subscribe", Era::Legacy) => self.watch_clock(params, Watching::Begins),
            ("resources/unsubscribe", Era::Legacy) => self.watch_clock(params, Watching::Ends),
            ("prompts/list", _) => Ok(json!({"prompts": [prompt()]})),
            ("prompts/get", _) => get_prompt(params),
            (method, _) => Err(ErrorObject::new(
                codes::METHOD_NOT_FOUND,
                format!("there is no method {method}"),
            )),
        }
    }

    /// Counts on a thread of its own, so that it can be cancelled.
    fn begin_count(self: &Arc<Self>, asked: Asked) {
        let id = asked.id.to_string();
        {
            let mut state = self.state();
            if state.running.len() >= MOST_RUNNING {
                drop(state);
                let error = ErrorObject::new(codes::INTERNAL_ERROR, "too many requests at once");
                return self.answer(&asked.id, Err(error));
            }
            state.running.insert(id.clone());
        }
        let server = Arc::clone(self);
        std::thread::spawn(move || {
            let counted = server.count(&asked.params, &id);
            let wanted = server.state().running.remove(&id);
            // Who has cancelled a request wants no answer.
            if wanted {
                let answer = counted.map(|result| finish(result, asked.era));
                server.answer(&asked.id, answer);
            }
        });
    }

    fn count(&self, params: &Map<String, Value>, id: &str) -> Answer {
        let arguments = arguments(params)?;
        let to = arguments.get("to").and_then(Value::as_u64);
        let Some(to @ 1..=MOST_COUNTED) = to else {
            return Ok(failed(&format!("\"to\" must be from 1 to {MOST_COUNTED}")));
        };
        let pause = match arguments.get("delay_ms").map(Value::as_u64) {
            None => 100,
            Some(Some(pause @ 0..=10_000)) => pause,
            Some(_) => return Ok(failed("\"delay_ms\" must be from 0 to 10000")),
        };
        let token = params
            .get("_meta")
            .and_then(|meta| meta.get(meta::PROGRESS_TOKEN));
        for number in 1..=to {
            if self.cancelled_within(id, Duration::from_millis(pause)) {
                break;
            }
            if let Some(token) = token {
                self.notify::<Progress>(&json!({
                    "progressToken": token,
                    "progress": number,
                    "total": to,
                    "message": format!("counted to {number}"),
                }));
            }
        }
        Ok(said(&format!("counted to {to}")))
    }

    /// Pauses, and tells whether the request was cancelled meanwhile.
    fn cancelled_within(&self, id: &str, pause: Duration) -> bool {
        let state = self.state();
        let waited = self
            .cancelled
            .wait_timeout_while(state, pause, |state| state.running.contains(id));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.running.contains(id)
    }

    fn cancel(&self, params: &Map<String, Value>) {
        let id = params.get("requestId").cloned().unwrap_or_default();
        if let Ok(id) = serde_json::from_value::<RequestId>(id) {
            let mut state = self.state();
            state.running.remove(&id.to_string());
            state.listening.remove(&id.to_string());
            self.cancelled.notify_all();
        }
    }

    fn watch_clock(self: &Arc<Self>, params: &Map<String, Value>, watching: Watching) -> Answer {
        match text(params, "uri")? {
            CLOCK => {
                self.state().watches_clock = watching == Watching::Begins;
                self.run_clock();
            }
            WELCOME => {}
            uri => return Err(not_found(uri, Era::Legacy)),
        }
        Ok(json!({}))
    }

    fn listen(self: &Arc<Self>, asked: &Asked) {
        let wanted = asked.params.get("notifications");
        let uris = wanted.and_then(|wanted| wanted.get("resourceSubscriptions"));
        let uris = uris.and_then(Value::as_array).into_iter().flatten();
        let granted: Vec<&Value> = uris
            .filter(|uri| [CLOCK, WELCOME].iter().any(|known| *uri == known))
            .collect();
        self.notify_named(
            "notifications/subscriptions/acknowledged",
            &json!({
                "notifications": {"resourceSubscriptions": granted},
                "_meta": {meta::SUBSCRIPTION_ID: asked.id},
            }),
        );
        let watches_clock = granted.iter().any(|uri| **uri == CLOCK);
        if watches_clock {
            let id = asked.id.clone();
            self.state().listening.insert(id.to_string(), id);
            self.run_clock();
        }
    }

    /// Starts the thread that tells watchers about the clock, once.
    fn run_clock(self: &Arc<Self>) {
        if std::mem::replace(&mut self.state().clock_runs, true) {
            return;
        }
        let server = Arc::clone(self);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(CLOCK_TICK);
                let (legacy, modern) = {
                    let state = server.state();
                    let modern: Vec<RequestId> = state.listening.values().cloned().collect();
                    (state.watches_clock, modern)
                };
                if legacy {
                    server.notify::<ResourceUpdated>(&json!({"uri": CLOCK}));
                }
                for id in modern {
                    let tag = json!({meta::SUBSCRIPTION_ID: id});
                    server.notify::<ResourceUpdated>(&json!({"uri": CLOCK, "_meta": tag}));
                }
            }
        });
    }

    fn answer(&self, id: &RequestId, answer: Answer) {
        let line = match answer {
            Ok(result) => frame::result(id, &result),
            Err(error) => frame::error(id, &error),
        };
        self.send(line);
    }

    fn notify<N: Notification>(&self, params: &Value) {
        self.notify_named(N::NAME, params);
    }

    fn notify_named(&self, method: &str, params: &Value) {
        self.send(frame::notification(method, params, &[]));
    }

    fn send(&self, line: Result<Vec<u8>, serde_json::Error>) {
        if let Ok(line) = line {
            let mut stdout = io::stdout().lock();
            // A client that is gone closes stdin as well, which ends this server.
            let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a request; a modern one says so in its metadata.
fn read_request(
    id: RequestId,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Asked, ErrorObject> {
    let params = read_params(params)?;
    let version = params
        .get("_meta")
        .and_then(|meta| meta.get(meta::PROTOCOL_VERSION));
    let era = match version {
        None if method == "server/discover" => {
            return Err(invalid("the request does not say its protocol version"));
        }
        None => Era::Legacy,
        Some(version) if *version == Revision::V2026_07_28.as_str() => Era::Modern,
        Some(version) => {
            return Err(ErrorObject {
                data: Some(Json::from(json!({
                    "supported": [Revision::V2026_07_28],
                    "requested": version,
                }))),
                ..ErrorObject::new(codes::UNSUPPORTED_VERSION, "unsupported protocol version")
            });
        }
    };
    let method = method.to_owned();
    Ok(Asked {
        id,
        method,
        params,
        era,
    })
}

fn read_params(params: Option<&RawValue>) -> Result<Map<String, Value>, ErrorObject> {
    match params {
        None => Ok(Map::new()),
        Some(raw) => {
            serde_json::from_str(raw.get()).map_err(|_| invalid("the params are no object"))
        }
    }
}

/// Adds what every modern result has; the lists are fresh for as long as the server lives.
fn finish(mut result: Value, era: Era) -> Value {
    if era == Era::Modern {
        result["resultType"] = json!("complete");
        let is_cacheable = [
            "supportedVersions",
            "tools",
            "resources",
            "resourceTemplates",
        ]
        .into_iter()
        .chain(["prompts", "contents"])
        .any(|key| result.get(key).is_some());
        if is_cacheable {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
    }
    result
}

const INSTRUCTIONS: &str =
    "A small server to try things out: echo, add, count, two resources and a prompt.";

fn identity() -> Value {
    json!({"name": NAME, "version": env!("CARGO_PKG_VERSION")})
}

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {"subscribe": true}, "prompts": {}})
}

fn initialize(params: &Map<String, Value>) -> Answer {
    let asked: Option<Revision> = text(params, "protocolVersion")?.parse().ok();
    // Another version is offered for one that cannot be spoken with `initialize` (S-INIT-03).
    let spoken = asked
        .filter(|revision| revision.era() == Era::Legacy)
        .unwrap_or(Revision::V2025_11_25);
    Ok(json!({
        "protocolVersion": spoken,
        "capabilities": capabilities(),
        "serverInfo": identity(),
        "instructions": INSTRUCTIONS,
    }))
}

fn tools() -> [Tool; 3] {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let mut tool = Tool::new(name, Json::from(schema));
        tool.description = Some(description.to_owned());
        tool
    };
    let number = || json!({"type": "number"});
    [
        tool(
            "echo",
            "Says the message back.",
            json!({"message": {"type": "string"}}),
            &["message"],
        ),
        tool(
            "add",
            "Adds two numbers.",
            json!({"a": number(), "b": number()}),
            &["a", "b"],
        ),
        tool(
            "count",
            "Counts slowly, with progress; it can be cancelled.",
            json!({
                "to": {"type": "integer", "minimum": 1, "maximum": MOST_COUNTED},
                "delay_ms": {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 100},
            }),
            &["to"],
        ),
    ]
}

fn call(params: &Map<String, Value>) -> Answer {
    let arguments = arguments(params)?;
    match text(params, "name")? {
        "echo" => Ok(match arguments.get("message").and_then(Value::as_str) {
            Some(message) => said(message),
            None => failed("\"message\" must be text"),
        }),
        "add" => {
            let number = |name: &str| arguments.get(name).filter(|value| value.is_number());
            Ok(match (number("a"), number("b")) {
                (Some(a), Some(b)) => {
                    let sum = add(a, b);
                    let mut result = said(&sum.to_string());
                    result["structuredContent"] = json!({"sum": sum});
                    result
                }
                _ => failed("\"a\" and \"b\" must be numbers"),
            })
        }
        name => Err(invalid(&format!("there is no tool {name}"))),
    }
}

fn add(a: &Value, b: &Value) -> Value {
    let whole = a.as_i64().zip(b.as_i64());
    match whole.and_then(|(a, b)| a.checked_add(b)) {
        Some(sum) => json!(sum),
        None => json!(a.as_f64().unwrap_or(f64::NAN) + b.as_f64().unwrap_or(f64::NAN)),
    }
}

fn resources() -> [Resource; 2] {
    let resource = |uri, name, description: &str| {
        let mut resource = Resource::new(uri, name);
        resource.description = Some(description.to_owned());
        resource.mime_type = Some("text/plain".to_owned());
        resource
    };
    [
        resource(WELCOME, "welcome", "What this server is."),
        resource(CLOCK, "clock", "Seconds since 1970; changes every second."),
    ]
}

fn read(uri: &str, era: Era) -> Answer {
    let text = match uri {
        WELCOME => INSTRUCTIONS.to_owned(),
        CLOCK => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.unwrap_or_default().as_secs().to_string()
        }
        _ => return Err(not_found(uri, era)),
    };
    Ok(json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}))
}

fn prompt() -> Prompt {
    let argument = |name: &str, description: &str, required| PromptArgument {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        required,
        ..PromptArgument::default()
    };
    Prompt {
        name: "introduce".to_owned(),
        description: Some("Asks for an introduction of somebody.".to_owned()),
        arguments: Some(vec![
            argument("name", "Who is introduced.", true),
            argument("style", "How, for example briefly.", false),
        ]),
        ..Prompt::default()
    }
}

fn get_prompt(params: &Map<String, Value>) -> Answer {
    if text(params, "name")? != "introduce" {
        return Err(invalid("there is no such prompt"));
    }
    let arguments = arguments(params)?;
    let Some(name) = arguments.get("name").and_then(Value::as_str) else {
        return Err(invalid("the argument \"name\" is missing"));
    };
    let style = arguments.get("style").and_then(Value::as_str);
    let words = format!("Introduce {name} {}.", style.unwrap_or("in one sentence"));
    Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}))
}

fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn failed(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

fn text<'a>(params: &'a Map<String, Value>, name: &str) -> Result<&'a str, ErrorObject> {
    let value = params.get(name).and_then(Value::as_str);
    value.ok_or_else(|| invalid(&format!("\"{name}\" must be text")))
}

fn arguments(params: &Map<String, Value>) -> Result<Map<String, Value>, ErrorObject> {
    match params.get("arguments") {
        None => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        Some(_) => Err(invalid("the arguments are no object")),
    }
}

fn invalid(problem: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_PARAMS, problem)
}

fn not_found(uri: &str, era: Era) -> ErrorObject {
    let code = match era {
        Era::Legacy => codes::RESOURCE_NOT_FOUND,
        Era::Modern => codes::INVALID_PARAMS,
    };
    ErrorObject {
        data: Some(Json::from(json!({"uri": uri}))),
        ..ErrorObject::new(code, format!("there is no resource {uri}"))
    }
}
