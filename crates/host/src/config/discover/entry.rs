//! One entry of a tool's file as a server, with notes about what could not be carried over.
//!
//! The tools agree on most keys, so one reader knows the union of them; where they disagree the
//! entry's dialect decides.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use attache_client::EraChoice;
use attache_client::process::Launch;
use attache_client::protocol::Implementation;
use serde_json::Value;

use super::references::translate;
use super::shapes::{Dialect, Entry};
use crate::config::{Draft, HttpFlavor, HttpServer, Profile, Secret, Transport, choices};

/// An entry that was read.
pub(super) struct Read {
    pub(super) draft: Draft,
    pub(super) notes: Vec<String>,
}

/// How the client of seed 003 names itself.
const SPEC_TUI: (&str, &str) = ("spec-tui", "0.1.0");

/// Keys that say nothing about how to reach or treat a server.
const SILENT: &[&str] = &[
    "name",
    "description",
    "display_name",
    "title",
    "source",
    "bundled",
    "gallery",
    "version",
    "id",
    "timeout_ms",
    "metadata",
];

/// Reads an entry, translating its references. An error is the reason why it is no server for us.
pub(super) fn read(entry: &Entry<'_>, project: Option<&Path>) -> Result<Read, String> {
    Keys::new(entry, Some(project)).read()
}

/// Reads an entry whose references are ours already.
pub(super) fn read_as_written(entry: &Entry<'_>) -> Result<Read, String> {
    Keys::new(entry, None).read()
}

struct Keys<'a> {
    entry: &'a Entry<'a>,
    /// Whether references are translated, and the project they may mean.
    translated: Option<Option<&'a Path>>,
    asked: RefCell<Vec<&'static str>>,
    notes: RefCell<Vec<String>>,
}

impl<'a> Keys<'a> {
    fn new(entry: &'a Entry<'a>, translated: Option<Option<&'a Path>>) -> Self {
        Self {
            entry,
            translated,
            asked: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    fn read(self) -> Result<Read, String> {
        let transport = self.transport()?;
        let mut draft = Draft::new(transport);
        let disabled = self.truth("disabled").unwrap_or(false);
        draft.enabled = self.truth("enabled").unwrap_or(!disabled);
        self.timeouts(&mut draft);
        self.filters(&mut draft);
        draft.era = match self.word(&["protocolEra", "era"]).as_deref() {
            Some("modern") => Some(EraChoice::Modern),
            Some("legacy") => Some(EraChoice::Legacy),
            Some("auto") => Some(EraChoice::Auto),
            Some(other) => {
                self.note(format!("the era \"{other}\" is not known"));
                None
            }
            None => None,
        };
        self.note_the_rest();
        self.manners(&mut draft);
        let mut notes = self.notes.into_inner();
        notes.extend(self.entry.beside.iter().cloned());
        notes.dedup();
        Ok(Read { draft, notes })
    }

    fn transport(&self) -> Result<Transport, String> {
        let kind = self.word(&["type", "transport"]);
        let command = self.command()?;
        let http_url = self.word(&["httpUrl"]);
        let url = self.word(&["url", "serverUrl", "uri", "endpoint"]);
        let flavor = match kind.as_deref() {
            Some("http" | "streamable-http" | "streamable_http" | "streamableHttp") => {
                HttpFlavor::Streamable
            }
            Some("sse") => HttpFlavor::Sse,
            // Gemini CLI tells the two apart by the key. Its `url` meant HTTP+SSE at first and means
            // either since it has a `type`, so it counts as the older only if it looks like it.
            _ if http_url.is_some() => HttpFlavor::Streamable,
            _ if self.entry.dialect == Dialect::Gemini
                && url.as_ref().is_some_and(|url| url.ends_with("/sse")) =>
            {
                HttpFlavor::Sse
            }
            _ => HttpFlavor::Detect,
        };
        match (kind.as_deref(), command, http_url.or(url)) {
            (Some("builtin" | "platform" | "frontend" | "inline_python"), _, _) => {
                Err("it is part of that tool itself".to_owned())
            }
            (
                Some(
                    "http" | "streamable-http" | "streamable_http" | "streamableHttp" | "sse"
                    | "remote",
                ),
                _,
                Some(url),
            )
            | (_, None, Some(url)) => Ok(Transport::Http(HttpServer {
                flavor,
                headers: self.headers(),
                ..HttpServer::new(self.text(&url))
            })),
            (_, Some((command, mut args)), _) => {
                args.extend(self.list(&["args"]));
                let mut launch = Launch::new(command).args(args);
                for (name, value) in self.env() {
                    launch = launch.var(name, value.expose());
                }
                if let Some(cwd) = self.word(&["cwd", "workingDirectory"]) {
                    launch = launch.cwd(self.text(&cwd));
                }
                Ok(Transport::Stdio(launch))
            }
            (_, None, None) if self.entry.members.contains_key("settings") => {
                Err("it is an extension of that tool, not a server with a command".to_owned())
            }
            (_, None, None) => Err("it has neither a command nor a URL".to_owned()),
        }
    }

    /// The command and the arguments that come with it: a word, a list (OpenCode), or an object
    /// with `path` (older Zed).
    fn command(&self) -> Result<Option<(String, Vec<String>)>, String> {
        match self.get("command").or_else(|| self.get("cmd")) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(command)) if command.trim().is_empty() => {
                Err("its command is empty".to_owned())
            }
            Some(Value::String(command)) => Ok(Some((self.text(command), Vec::new()))),
            Some(Value::Array(words)) => {
                let mut words = words.iter().map(|word| self.scalar(word));
                match words.next() {
                    Some(Some(command)) => Ok(Some((command, words.flatten().collect()))),
                    _ => Err("its command is empty".to_owned()),
                }
            }
            Some(Value::Object(parts)) => match parts.get("path").and_then(Value::as_str) {
                Some(path) => {
                    let args = parts.get("args").and_then(Value::as_array);
                    let args = args.into_iter().flatten();
                    let args = args.filter_map(|word| self.scalar(word)).collect();
                    Ok(Some((self.text(path), args)))
                }
                None => Err("its command has no \"path\"".to_owned()),
            },
            Some(_) => Err("its command is neither a text nor a list".to_owned()),
        }
    }

    fn env(&self) -> BTreeMap<String, Secret> {
        let mut env = self.map(&["env", "envs", "environment"]);
        if let Some(Value::Object(parts)) = self.get("command")
            && let Some(Value::Object(older)) = parts.get("env")
        {
            env.extend(older.iter().filter_map(|(name, value)| {
                Some((name.clone(), Secret::new(self.scalar(value)?)))
            }));
        }
        // Codex and Goose name variables to pass on, or to take from a keychain.
        for name in self.list(&["env_vars", "env_keys"]) {
            if env.contains_key(&name) {
                continue;
            }
            if self.entry.dialect == Dialect::Goose {
                self.note(format!(
                    "{name} is not taken from a keychain: set the variable"
                ));
            }
            let reference = Secret::new(format!("${{{name}}}"));
            env.insert(name, reference);
        }
        env
    }

    fn headers(&self) -> BTreeMap<String, Secret> {
        let mut headers = self.map(&["headers", "http_headers"]);
        if let Some(Value::Object(options)) = self.get("requestOptions")
            && let Some(Value::Object(more)) = options.get("headers")
        {
            headers.extend(more.iter().filter_map(|(name, value)| {
                Some((name.clone(), Secret::new(self.scalar(value)?)))
            }));
        }
        for (name, variable) in self.map(&["env_http_headers"]) {
            headers.insert(name, Secret::new(format!("${{{}}}", variable.expose())));
        }
        if let Some(variable) = self.word(&["bearer_token_env_var"]) {
            let value = Secret::new(format!("Bearer ${{{variable}}}"));
            headers.insert("Authorization".to_owned(), value);
        }
        headers
    }

    fn timeouts(&self, draft: &mut Draft) {
        if self.entry.dialect == Dialect::Own {
            if let Some(Value::Object(timeouts)) = self.get("timeouts") {
                let time = |key: &str| {
                    let milliseconds = timeouts.get(key)?.as_u64()?;
                    Some(Duration::from_millis(milliseconds))
                };
                draft.start_timeout = time("initialize");
                draft.call_timeout = time("call");
            }
            return;
        }
        let in_unit = |key: &'static str, unit: f64| {
            let seconds = self.get(key)?.as_f64()? * unit;
            let time = Duration::try_from_secs_f64(seconds).ok()?;
            (!time.is_zero()).then_some(time)
        };
        draft.start_timeout =
            in_unit("startup_timeout_sec", 1.0).or_else(|| in_unit("startup_timeout_ms", 0.001));
        draft.call_timeout = in_unit("tool_timeout_sec", 1.0);
        match self.entry.dialect {
            Dialect::Goose | Dialect::Codex => {
                draft.call_timeout = draft.call_timeout.or_else(|| in_unit("timeout", 1.0));
            }
            Dialect::Gemini => draft.call_timeout = in_unit("timeout", 0.001),
            Dialect::SpecTui => draft.call_timeout = in_unit("timeout_seconds", 1.0),
            // Others disagree about the unit, or about what it is for; guessing would be worse.
            Dialect::Common | Dialect::Own => {}
        }
    }

    fn filters(&self, draft: &mut Draft) {
        if self.entry.dialect == Dialect::Own {
            if let Some(Value::Object(tools)) = self.get("tools") {
                let words = |key: &str| -> Vec<String> {
                    let words = tools.get(key).and_then(Value::as_array).into_iter();
                    let words = words.flatten().filter_map(Value::as_str);
                    words.map(str::to_owned).collect()
                };
                draft.include = words("include");
                draft.exclude = words("exclude");
            }
            return;
        }
        let include = ["includeTools", "enabled_tools", "available_tools", "tools"];
        let exclude = ["excludeTools", "disabled_tools", "disabledTools"];
        for key in include {
            draft.include.extend(self.list(&[key]));
        }
        for key in exclude {
            draft.exclude.extend(self.list(&[key]));
        }
        if draft.include.iter().any(|name| name == "*") {
            draft.include.clear();
        }
    }

    /// How the server is spoken to, where a file says it or its tool implies it.
    fn manners(&self, draft: &mut Draft) {
        match self.entry.dialect {
            Dialect::SpecTui => {
                draft.profile = Some(Profile::Workflow);
                draft.client = Some(Implementation::new(SPEC_TUI.0, SPEC_TUI.1));
            }
            Dialect::Own => {
                let profile = self.word(&["profile"]);
                let known = choices::PROFILES.iter();
                draft.profile = known
                    .filter(|(name, _)| profile.as_deref() == Some(*name))
                    .map(|(_, profile)| *profile)
                    .next();
                if let Some(Value::Object(client)) = self.get("client")
                    && let Some(name) = client.get("name").and_then(Value::as_str)
                {
                    let version = client.get("version").and_then(Value::as_str);
                    draft.client = Some(Implementation::new(name, version.unwrap_or("0")));
                }
            }
            Dialect::Common | Dialect::Gemini | Dialect::Codex | Dialect::Goose => {}
        }
    }

    /// What nobody asked for and is not nothing, could not be carried over.
    fn note_the_rest(&self) {
        if self.entry.dialect == Dialect::Own {
            return;
        }
        let asked = self.asked.borrow();
        for (key, value) in self.entry.members {
            let empty = match value {
                Value::Null | Value::Bool(false) => true,
                Value::Array(items) => items.is_empty(),
                Value::Object(members) => members.is_empty(),
                _ => false,
            };
            if !empty && !asked.contains(&key.as_str()) && !SILENT.contains(&key.as_str()) {
                self.note(format!("\"{key}\" is not carried over"));
            }
        }
    }

    fn get(&self, key: &'static str) -> Option<&'a Value> {
        self.asked.borrow_mut().push(key);
        self.entry.members.get(key)
    }

    /// The first of several keys that holds a text.
    fn word(&self, keys: &[&'static str]) -> Option<String> {
        let words = keys.iter().map(|key| self.get(key)?.as_str());
        // All keys are asked for, so that none counts as unknown.
        let words: Vec<Option<&str>> = words.collect();
        words.into_iter().flatten().next().map(str::to_owned)
    }

    fn truth(&self, key: &'static str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    fn list(&self, keys: &[&'static str]) -> Vec<String> {
        let lists = keys.iter().filter_map(|key| self.get(key)?.as_array());
        let lists: Vec<_> = lists.collect();
        let words = lists.into_iter().flatten();
        words.filter_map(|word| self.scalar(word)).collect()
    }

    fn map(&self, keys: &[&'static str]) -> BTreeMap<String, Secret> {
        let maps = keys.iter().filter_map(|key| self.get(key)?.as_object());
        let maps: Vec<_> = maps.collect();
        let members = maps.into_iter().flatten();
        members
            .filter_map(|(name, value)| Some((name.clone(), Secret::new(self.scalar(value)?))))
            .collect()
    }

    /// A text, or a number or truth value as a text.
    fn scalar(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(self.text(text)),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn text(&self, text: &str) -> String {
        match self.translated {
            Some(project) => translate(text, project, &mut self.notes.borrow_mut()),
            None => text.to_owned(),
        }
    }

    fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }
}
