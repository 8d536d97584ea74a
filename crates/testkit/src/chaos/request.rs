//! A message received from the client, taken apart.
//!
//! Owns the split into request, notification and response, and where a request
//! carries its token, tool and version. Refuses to judge what it finds.

use serde_json::{Map, Value};

pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
pub(super) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
pub(super) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub(super) const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";
pub(super) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The rules a request is served by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Legacy,
    Modern,
}

/// A request, or a notification when it has no id.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) wire: Wire,
}

/// What a received JSON value is.
pub(super) enum Incoming {
    /// The wire is still to be decided by the engine.
    Request(Request),
    /// The id and the whole message.
    Response(Value, Value),
    /// Neither.
    Invalid,
}

impl Incoming {
    pub(super) fn from_message(message: Value) -> Self {
        let Value::Object(mut fields) = message else {
            return Self::Invalid;
        };
        let id = fields.remove("id");
        match (take_string(&mut fields, "method"), id) {
            (Some(method), id) => Self::Request(Request {
                id,
                method,
                params: fields.remove("params").unwrap_or(Value::Null),
                wire: Wire::Legacy,
            }),
            (None, Some(id)) if fields.contains_key("result") || fields.contains_key("error") => {
                fields.insert("id".to_owned(), id.clone());
                Self::Response(id, Value::Object(fields))
            }
            (None, _) => Self::Invalid,
        }
    }
}

fn take_string(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    match fields.remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

impl Request {
    /// A request nobody made, for the start and the end of a process.
    pub(super) fn none() -> Self {
        Self {
            id: None,
            method: String::new(),
            params: Value::Null,
            wire: Wire::Legacy,
        }
    }

    pub(super) fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(key)
    }

    pub(super) fn progress_token(&self) -> Option<&Value> {
        self.meta("progressToken")
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.meta(VERSION_KEY)?.as_str()
    }

    /// The tool of a `tools/call`.
    pub(super) fn tool(&self) -> Option<&str> {
        if self.method != "tools/call" {
            return None;
        }
        self.text("name")
    }

    /// A string of the params.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.params.get(key)?.as_str()
    }

    /// A tool argument.
    pub(super) fn argument(&self, key: &str) -> Option<&Value> {
        self.params.get("arguments")?.get(key)
    }

    /// Whether this request declares the tasks extension.
    pub(super) fn declares_tasks(&self) -> bool {
        self.meta(CAPABILITIES_KEY)
            .and_then(|capabilities| capabilities.get("extensions"))
            .is_some_and(|extensions| extensions.get(TASKS_EXTENSION).is_some())
    }
}
