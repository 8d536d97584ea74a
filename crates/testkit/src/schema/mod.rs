//! Messages checked against the official schema of their revision.
//!
//! Owns the choice of the one definition that a message must satisfy: by its
//! method for requests and notifications, by the method that asked for
//! results, by its code for errors. The unions of the schemas are too loose to
//! find faults (any object satisfies `ServerResult`), so they only say which
//! side may send what. Refuses to know anything about MCP that the schemas do
//! not say, apart from the extension methods listed in [`EXTENSION_REQUESTS`].

mod revision;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use revision::Revision;

/// The variable that names the folder of schemas: `<folder>/<revision>/schema.json`.
pub const SCHEMA_VARIABLE: &str = "MCP_SCHEMA_DIR";

/// Requests of the tasks extension, which the schema of 2026-07-28 does not
/// describe. They are checked as requests with modern `_meta`.
pub const EXTENSION_REQUESTS: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];
/// Notifications of the tasks extension, checked as notifications.
pub const EXTENSION_NOTIFICATIONS: [&str; 1] = ["notifications/tasks"];

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// The official schemas of all revisions, read when first needed.
#[derive(Debug)]
pub struct Schemas {
    folder: PathBuf,
    read: Mutex<HashMap<String, Arc<Revision>>>,
}

impl Schemas {
    /// The schemas in the folder that `MCP_SCHEMA_DIR` names, if it is set.
    pub fn from_env() -> Option<Self> {
        let folder = std::env::var_os(SCHEMA_VARIABLE).filter(|folder| !folder.is_empty())?;
        Some(Self::in_folder(folder))
    }

    /// The schemas in a folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            read: Mutex::default(),
        }
    }

    /// Where they are.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Checks a message that a client sent. `answering` is the method of the
    /// server's request when the message is a response.
    pub fn check_client_message(
        &self,
        revision: &str,
        message: &Value,
        answering: Option<&str>,
    ) -> Result<(), String> {
        self.check(revision, Sender::Client, message, answering)
    }

    /// Checks a message that a server sent. `answering` is the method of the
    /// client's request when the message is a response.
    pub fn check_server_message(
        &self,
        revision: &str,
        message: &Value,
        answering: Option<&str>,
    ) -> Result<(), String> {
        self.check(revision, Sender::Server, message, answering)
    }

    /// Checks a value against a definition by its name.
    pub fn check_definition(
        &self,
        revision: &str,
        definition: &str,
        value: &Value,
    ) -> Result<(), String> {
        self.revision(revision)?.validate(definition, value)
    }

    fn check(
        &self,
        revision: &str,
        sender: Sender,
        message: &Value,
        answering: Option<&str>,
    ) -> Result<(), String> {
        let schema = self.revision(revision)?;
        let checked = match message {
            Value::Array(messages) if schema.has_batches() && !messages.is_empty() => messages
                .iter()
                .try_for_each(|message| check_single(&schema, sender, message, answering)),
            single => check_single(&schema, sender, single, answering),
        };
        checked.map_err(|reason| format!("{revision}: {reason}\nin {message}"))
    }

    fn revision(&self, name: &str) -> Result<Arc<Revision>, String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(revision) = read.get(name) {
            return Ok(Arc::clone(revision));
        }
        let path = self.folder.join(name).join("schema.json");
        let revision = Arc::new(Revision::read(&path)?);
        read.insert(name.to_owned(), Arc::clone(&revision));
        Ok(revision)
    }
}

fn check_single(
    schema: &Revision,
    sender: Sender,
    message: &Value,
    answering: Option<&str>,
) -> Result<(), String> {
    let fields = message.as_object().ok_or("a message is an object")?;
    match fields.get("method") {
        Some(method) => {
            let method = method.as_str().ok_or("the method is not a string")?;
            check_call(schema, sender, method, message, fields)
        }
        None => check_response(schema, sender, message, fields, answering),
    }
}

/// A request or a notification.
fn check_call(
    schema: &Revision,
    sender: Sender,
    method: &str,
    message: &Value,
    fields: &Map<String, Value>,
) -> Result<(), String> {
    only_members(fields, &["jsonrpc", "id", "method", "params"])?;
    let is_request = fields.contains_key("id");
    let (envelope, kind) = if is_request {
        ("JSONRPCRequest", "Request")
    } else {
        ("JSONRPCNotification", "Notification")
    };
    schema.validate(envelope, message)?;
    if let Some(definition) = schema.call_definition(sender, kind, method) {
        return schema.validate(definition, message);
    }
    let extended = match (sender, is_request) {
        (Sender::Client, true) => &EXTENSION_REQUESTS[..],
        (Sender::Server, false) => &EXTENSION_NOTIFICATIONS[..],
        _ => &[],
    };
    if !schema.is_modern() || !extended.contains(&method) {
        return Err(format!("{method} is no {sender:?}{kind}"));
    }
    if is_request {
        let params = fields.get("params").unwrap_or(&Value::Null);
        schema.validate("RequestParams", params)?;
    }
    Ok(())
}

fn check_response(
    schema: &Revision,
    sender: Sender,
    message: &Value,
    fields: &Map<String, Value>,
    answering: Option<&str>,
) -> Result<(), String> {
    if schema.is_modern() && sender == Sender::Client {
        return Err("a client of this revision sends no responses".to_owned());
    }
    if let Some(error) = fields.get("error") {
        only_members(fields, &["jsonrpc", "id", "error"])?;
        schema.validate(schema.error_envelope(), message)?;
        let code = error["code"].as_i64();
        return match code.and_then(|code| schema.error_definition(code)) {
            Some(definition) => schema.validate(definition, message),
            None => Ok(()),
        };
    }
    let result = fields
        .get("result")
        .ok_or("neither method, result nor error")?;
    only_members(fields, &["jsonrpc", "id", "result"])?;
    schema.validate(schema.result_envelope(), message)?;
    let method = answering.ok_or("a result, but the method that asked is not given")?;
    let asker = match sender {
        Sender::Client => Sender::Server,
        Sender::Server => Sender::Client,
    };
    let definition = schema.result_definition(asker, method, result)?;
    schema.validate(definition, result)
}

/// The schemas allow further members in a message; a correct sender has none.
fn only_members(fields: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        Some(foreign) => Err(format!("the message has the foreign member {foreign}")),
        None => Ok(()),
    }
}
