//! Rules about every message, whatever check it belongs to.
//!
//! [`Books`] knows what one connection has open; [`Watch`] collects what was broken on all of them.
//! Which rule is which check stands in `checks/watched.rs`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use attache_protocol::{Era, Revision};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::peer::{LOG_LEVEL_KEY, SUBSCRIPTION_KEY, TASKS_EXTENSION, VERSION_KEY};

/// How many cases of one broken rule are kept.
const MOST_CASES: usize = 20;

/// A rule, by the name of its check, and how it was broken.
pub(crate) type Complaint = (&'static str, String);

/// What was broken on all connections of a revision. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    messages: usize,
    broken: BTreeMap<&'static str, Vec<Case>>,
}

/// One case of a broken rule.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) message: String,
    pub(crate) reproduce: String,
}

impl Watch {
    pub(crate) fn note(
        &self,
        complaints: Vec<Complaint>,
        message: &[u8],
        reproduce: impl Fn() -> String,
    ) {
        let mut kept = self.0.lock();
        kept.messages += 1;
        for (rule, text) in complaints {
            let cases = kept.broken.entry(rule).or_default();
            if cases.len() < MOST_CASES {
                let message = String::from_utf8_lossy(&message[..message.len().min(600)]);
                let message = message.trim_end().to_owned();
                let reproduce = match cases.is_empty() {
                    true => reproduce(),
                    false => String::new(),
                };
                cases.push(Case {
                    text,
                    message,
                    reproduce,
                });
            }
        }
    }

    pub(crate) fn messages(&self) -> usize {
        self.0.lock().messages
    }

    pub(crate) fn cases(&self, rule: &str) -> Vec<Case> {
        self.0.lock().broken.get(rule).cloned().unwrap_or_default()
    }
}

/// A request that was sent.
#[derive(Clone, Debug)]
struct Asked {
    method: String,
    /// Whether it brought a version: a server of both eras may answer others by legacy rules.
    is_modern: bool,
    token: Option<Value>,
    wants_log: bool,
    declares_tasks: bool,
    /// The level that it sets once it is answered.
    sets_level: Option<usize>,
    is_answered: bool,
}

/// What one connection has open.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) revision: Revision,
    /// What the server declared.
    pub(crate) capabilities: Value,
    /// Whether `notifications/initialized` was sent.
    pub(crate) is_confirmed: bool,
    asked: HashMap<String, Asked>,
    progress: HashMap<String, f64>,
    /// The least level of log messages that was asked for, by its place.
    least_level: Option<usize>,
    listens: BTreeSet<String>,
}

const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

fn place_of(level: &Value) -> Option<usize> {
    let level = level.as_str()?;
    LEVELS.iter().position(|known| *known == level)
}

/// Methods whose results a modern client may keep.
const CACHEABLE: [&str; 6] = [
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "resources/read",
];

impl Books {
    pub(crate) fn new(revision: Revision) -> Self {
        Self {
            revision,
            capabilities: Value::Null,
            is_confirmed: false,
            asked: HashMap::new(),
            progress: HashMap::new(),
            least_level: None,
            listens: BTreeSet::new(),
        }
    }

    fn is_modern(&self) -> bool {
        self.revision.era() == Era::Modern
    }

    pub(crate) fn method_of(&self, id: &Value) -> Option<&str> {
        Some(self.asked.get(&id.to_string())?.method.as_str())
    }

    /// Remembers what a message asks for, well formed or not.
    pub(crate) fn note_sent(&mut self, message: &Value) {
        if let Value::Array(messages) = message {
            for message in messages {
                self.note_sent(message);
            }
            return;
        }
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        if method == "notifications/cancelled" {
            self.listens.remove(&params["requestId"].to_string());
        }
        let Some(id) = message.get("id") else {
            return;
        };
        if message.get("result").is_some() || message.get("error").is_some() {
            return;
        }
        if method == "subscriptions/listen" {
            self.listens.insert(id.to_string());
        }
        let capabilities = &params["_meta"][crate::peer::CAPABILITIES_KEY];
        let asked = Asked {
            method: method.to_owned(),
            is_modern: params["_meta"].get(VERSION_KEY).is_some(),
            token: params["_meta"].get("progressToken").cloned(),
            wants_log: params["_meta"].get(LOG_LEVEL_KEY).is_some(),
            declares_tasks: capabilities["extensions"].get(TASKS_EXTENSION).is_some(),
            sets_level: match method {
                "logging/setLevel" => place_of(&params["level"]),
                _ => None,
            },
            is_answered: false,
        };
        self.asked.insert(id.to_string(), asked);
    }

    /// Looks at a message that came.
    pub(crate) fn note_received(&mut self, bytes: &[u8]) -> Vec<Complaint> {
        let mut found = Vec::new();
        if bytes.iter().all(u8::is_ascii_whitespace) {
            found.push(("envelope.pure", "an empty line".to_owned()));
            return found;
        }
        if std::str::from_utf8(bytes).is_err() {
            found.push(("envelope.utf8", "a message is not UTF-8".to_owned()));
        }
        let message: Value = match serde_json::from_slice(bytes) {
            Ok(message) => message,
            Err(error) => {
                let what = format!("a line is no JSON: {error}");
                found.push(("envelope.pure", what));
                return found;
            }
        };
        if let Value::Array(messages) = &message {
            if self.revision != Revision::V2025_03_26 {
                let what = format!("a batch, which {} does not have", self.revision);
                found.push(("envelope.batch", what));
            }
            for message in messages {
                self.look_at(message, &mut found);
            }
        } else {
            self.look_at(&message, &mut found);
        }
        found
    }

    fn look_at(&mut self, message: &Value, found: &mut Vec<Complaint>) {
        let Value::Object(fields) = message else {
            found.push(("envelope.jsonrpc", "a message is no object".to_owned()));
            return;
        };
        if fields.get("jsonrpc") != Some(&Value::from("2.0")) {
            let what = "a message without \"jsonrpc\":\"2.0\"".to_owned();
            found.push(("envelope.jsonrpc", what));
        }
        match fields.get("method").and_then(Value::as_str) {
            Some(method) if fields.contains_key("id") => self.request(method, fields, found),
            Some(method) => self.notification(method, &message["params"], found),
            None => self.response(message, fields, found),
        }
    }

    fn request(&self, method: &str, fields: &Map<String, Value>, found: &mut Vec<Complaint>) {
        let id = &fields["id"];
        if !(id.is_string() || id.is_i64() || id.is_u64()) {
            found.push(("envelope.ids", format!("a request with the id {id}")));
        }
        if self.is_modern() {
            let what = format!("the server sent the request {method}");
            found.push(("discover.no-requests", what));
        } else if method != "ping" {
            // Nothing was declared.
            let what = format!("{method} was asked of a client that did not declare it");
            found.push(("start.negotiated", what));
            if !self.is_confirmed {
                let what = format!("{method} came before notifications/initialized was sent");
                found.push(("start.quiet", what));
            }
        }
    }

    fn notification(&mut self, method: &str, params: &Value, found: &mut Vec<Complaint>) {
        match method {
            "notifications/progress" => self.progress(params, found),
            "notifications/message" => self.log(params, found),
            "notifications/cancelled" if self.is_modern() => {
                let id = params["requestId"].to_string();
                let is_listen =
                    self.method_of(&params["requestId"]) == Some("subscriptions/listen");
                if !is_listen {
                    let what = format!("the server cancelled {id}, which is no listen request");
                    found.push(("cancel.by-server", what));
                }
            }
            _ => {}
        }
        let list = method
            .strip_prefix("notifications/")
            .and_then(|rest| rest.strip_suffix("/list_changed"));
        if let Some(list) = list {
            let is_declared = self.capabilities[list]["listChanged"] == true;
            if !is_declared && !self.capabilities.is_null() {
                let what = format!("{method} though {list}.listChanged is not declared");
                found.push(("list-changed.declared", what));
            }
        }
        let is_subscribed = list.is_some() || method == "notifications/resources/updated";
        if self.is_modern() && is_subscribed {
            let id = &params["_meta"][SUBSCRIPTION_KEY];
            if !self.listens.contains(&id.to_string()) {
                let what = format!("{method} for the subscription {id}, which is not open");
                found.push(("subscriptions.only-asked", what));
            }
        }
    }

    fn progress(&mut self, params: &Value, found: &mut Vec<Complaint>) {
        let token = &params["progressToken"];
        let is_open = self
            .asked
            .values()
            .any(|asked| asked.token.as_ref() == Some(token) && !asked.is_answered);
        if !is_open {
            let what = format!("progress for the token {token}, which no open request has");
            found.push(("progress.tokens", what));
        }
        let Some(progress) = params["progress"].as_f64() else {
            let what = "progress without a number".to_owned();
            found.push(("progress.rises", what));
            return;
        };
        let last = self.progress.insert(token.to_string(), progress);
        if let Some(last) = last.filter(|last| *last >= progress) {
            let what = format!("progress went from {last} to {progress}");
            found.push(("progress.rises", what));
        }
    }

    fn log(&self, params: &Value, found: &mut Vec<Complaint>) {
        if self.capabilities.is_object() && self.capabilities.get("logging").is_none() {
            let what = "a log message though `logging` is not declared".to_owned();
            found.push(("logging.declared", what));
        }
        let level = &params["level"];
        match place_of(level) {
            None => found.push(("logging.shape", format!("a log message of level {level}"))),
            Some(_) if params.get("data").is_none() => {
                found.push(("logging.shape", "a log message without data".to_owned()));
            }
            Some(place) => {
                if let Some(least) = self.least_level.filter(|least| place < *least) {
                    let what = format!("a message of level {level} after {}", LEVELS[least]);
                    found.push(("logging.level", what));
                }
            }
        }
        let wanted = |asked: &Asked| asked.wants_log && !asked.is_answered;
        if self.is_modern() && !self.asked.values().any(wanted) {
            let what = "a log message that no open request asked for".to_owned();
            found.push(("logging.only-asked", what));
        }
    }

    fn response(
        &mut self,
        message: &Value,
        fields: &Map<String, Value>,
        found: &mut Vec<Complaint>,
    ) {
        match (fields.get("result"), fields.get("error")) {
            (Some(result), None) if !result.is_object() => {
                let what = "a result that is no object".to_owned();
                found.push(("envelope.result-or-error", what));
            }
            (Some(_), None) => {}
            (None, Some(error)) => self.error(error, found),
            (Some(_), Some(_)) => {
                let what = "a response with both result and error".to_owned();
                found.push(("envelope.result-or-error", what));
            }
            (None, None) => {
                let what = "a message that is no request, notification or response".to_owned();
                found.push(("envelope.result-or-error", what));
                return;
            }
        }
        let id = message.get("id").unwrap_or(&Value::Null);
        if id.is_null() {
            // Who was asked with null may answer with it.
            if fields.contains_key("result") && !self.asked.contains_key("null") {
                let what = "a result without an id".to_owned();
                found.push(("envelope.answers-open", what));
            }
            return;
        }
        let key = id.to_string();
        match self.asked.get_mut(&key) {
            None => {
                let what = format!("a response to the id {id}, which was not sent");
                found.push(("envelope.answers-open", what));
                return;
            }
            Some(asked) if asked.is_answered => {
                let what = format!("{} (id {id}) was answered twice", asked.method);
                found.push(("envelope.answers-open", what));
                return;
            }
            Some(asked) => asked.is_answered = true,
        }
        self.listens.remove(&key);
        if let (Some(asked), Some(result)) = (self.asked.get(&key).cloned(), fields.get("result")) {
            self.least_level = asked.sets_level.or(self.least_level);
            meta_keys(result, found);
            if self.is_modern() && asked.is_modern {
                modern_result(&asked, result, found);
            }
        }
    }

    fn error(&self, error: &Value, found: &mut Vec<Complaint>) {
        let code = error["code"].as_i64();
        if code.is_none() || !error["message"].is_string() {
            let what = "an error without an integer code and a message".to_owned();
            found.push(("envelope.error-shape", what));
        }
        let Some(code) = code.filter(|_| self.is_modern()) else {
            return;
        };
        match code {
            -32002 | -32042 => {
                let what = format!("the code {code}, which this revision does not emit");
                found.push(("errors.reserved", what));
            }
            -32020..=-32000 if code != -32020 => {
                let what = format!("the code {code}, which has no agreed meaning");
                found.push(("errors.without-meaning", what));
            }
            -32099..=-32023 => {
                let what = format!("the code {code}, which is reserved and undefined");
                found.push(("errors.reserved", what));
            }
            -32021 if !error["data"]["requiredCapabilities"].is_object() => {
                let what = "-32021 without data.requiredCapabilities".to_owned();
                found.push(("errors.data", what));
            }
            -32022 if !error["data"]["supported"].is_array() => {
                found.push(("errors.data", "-32022 without data.supported".to_owned()));
            }
            _ => {}
        }
    }
}

fn modern_result(asked: &Asked, result: &Value, found: &mut Vec<Complaint>) {
    let method = asked.method.as_str();
    let kind = result["resultType"].as_str();
    match kind {
        None => {
            let what = format!("the result of {method} has no resultType");
            found.push(("discover.result-type", what));
        }
        Some("complete") => {
            let keeps = CACHEABLE.contains(&method);
            let ttl = result["ttlMs"].as_f64();
            let scope = result["cacheScope"].as_str();
            let is_hinted =
                ttl.is_some_and(|ttl| ttl >= 0.0) && matches!(scope, Some("public" | "private"));
            if keeps && !is_hinted {
                let what = format!(
                    "the result of {method} has ttlMs {} and cacheScope {}",
                    result["ttlMs"], result["cacheScope"]
                );
                found.push(("caching.hints", what));
            }
        }
        Some("input_required") => input_required(method, result, found),
        Some("task") if !asked.declares_tasks => {
            let what = format!("{method} was answered with a task that nobody declared");
            found.push(("tasks.only-declared", what));
        }
        Some("task") => {}
        Some(other) => {
            let what = format!("the result of {method} has resultType {other:?}");
            found.push(("discover.result-type", what));
        }
    }
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    if !(info["name"].is_string() && info["version"].is_string()) {
        let what = format!("the result of {method} does not name the server in _meta");
        found.push(("discover.server-info", what));
    }
}

fn input_required(method: &str, result: &Value, found: &mut Vec<Complaint>) {
    if !matches!(method, "tools/call" | "prompts/get" | "resources/read") {
        let what = format!("{method} was answered with input_required");
        found.push(("discover.input-required", what));
    }
    let requests = result["inputRequests"].as_object();
    if requests.is_none() && result.get("requestState").is_none() {
        let what = "input_required without inputRequests and requestState".to_owned();
        found.push(("discover.input-required", what));
    }
    for (key, request) in requests.into_iter().flatten() {
        // The checks declare nothing, so nothing may be asked for.
        let what = format!(
            "{key} asks for {} of a client that declared no capability",
            request["method"]
        );
        found.push(("discover.input-required", what));
    }
}

/// The grammar of `_meta` keys: labels joined by dots and a slash, then a name.
fn meta_keys(result: &Value, found: &mut Vec<Complaint>) {
    let Some(meta) = result["_meta"].as_object() else {
        return;
    };
    for key in meta.keys() {
        if !is_meta_key(key) {
            found.push(("envelope.meta-keys", format!("the _meta key {key:?}")));
        }
    }
}

pub(crate) fn is_meta_key(key: &str) -> bool {
    let (prefix, name) = match key.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        bytes.first().is_some_and(u8::is_ascii_alphabetic)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.iter().all(inner)
    };
    let is_name = |name: &str| {
        let bytes = name.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        bytes.is_empty()
            || (bytes[0].is_ascii_alphanumeric()
                && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
                && bytes.iter().all(inner))
    };
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label)) && is_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complaints(revision: Revision, sent: &[Value], came: Value) -> Vec<&'static str> {
        let mut books = Books::new(revision);
        books.capabilities = json!({"tools": {}});
        for message in sent {
            books.note_sent(message);
        }
        let found = books.note_received(came.to_string().as_bytes());
        found.into_iter().map(|(rule, _)| rule).collect()
    }

    #[test]
    fn messages_are_judged_by_what_is_open() {
        let legacy = Revision::V2025_11_25;
        let modern = Revision::V2026_07_28;
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {
            "_meta": {VERSION_KEY: "2026-07-28"},
        }});
        let result = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {}});
        for (revision, sent, came, expected) in [
            (legacy, &ping, result(json!(1)), vec![]),
            (
                legacy,
                &ping,
                result(json!("1")),
                vec!["envelope.answers-open"],
            ),
            (
                legacy,
                &ping,
                json!({"id": 1, "result": {}}),
                vec!["envelope.jsonrpc"],
            ),
            (
                legacy,
                &ping,
                json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}),
                vec!["envelope.result-or-error"],
            ),
            (
                legacy,
                &ping,
                json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "info", "data": 1}}),
                vec!["logging.declared"],
            ),
            (
                modern,
                &list,
                result(json!(1)),
                vec!["discover.result-type", "discover.server-info"],
            ),
            (
                modern,
                &list,
                json!({"jsonrpc": "2.0", "id": "x", "method": "roots/list"}),
                vec!["discover.no-requests"],
            ),
            (
                modern,
                &list,
                json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "m"}}),
                vec!["errors.reserved"],
            ),
        ] {
            let sent = std::slice::from_ref(sent);
            assert_eq!(complaints(revision, sent, came.clone()), expected, "{came}");
        }
    }

    #[test]
    fn meta_keys_follow_their_grammar() {
        for (key, is_good) in [
            ("name", true),
            ("com.example/name", true),
            ("com.example/", true),
            ("1com.example/name", false),
            ("com..example/name", false),
            ("-name", false),
            ("a b", false),
        ] {
            assert_eq!(is_meta_key(key), is_good, "{key}");
        }
    }
}
