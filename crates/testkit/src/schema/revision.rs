//! One official schema: its definitions, found by method or code.
//!
//! Owns reading a schema file, the two layouts (`definitions` of draft-07,
//! `$defs` of 2020-12) and compiled validators. Refuses to know messages.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::{EXTENSION_REQUESTS, Sender};

/// A schema document and what was compiled of it so far.
#[derive(Debug)]
pub(super) struct Revision {
    dialect: Value,
    /// `definitions` or `$defs`.
    section: &'static str,
    definitions: Map<String, Value>,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Revision {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let at_path = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
        let bytes = std::fs::read(path).map_err(|error| at_path(&error))?;
        let mut document: Value =
            serde_json::from_slice(&bytes).map_err(|error| at_path(&error))?;
        for section in ["$defs", "definitions"] {
            if let Some(Value::Object(definitions)) = document.get_mut(section).map(Value::take) {
                return Ok(Self {
                    dialect: document["$schema"].take(),
                    section,
                    definitions,
                    compiled: Mutex::default(),
                });
            }
        }
        Err(at_path(&"no definitions"))
    }

    /// Only 2025-03-26 describes batches.
    pub(super) fn has_batches(&self) -> bool {
        self.definitions.contains_key("JSONRPCBatchRequest")
    }

    /// Whether only the client sends requests.
    pub(super) fn is_modern(&self) -> bool {
        !self.definitions.contains_key("ServerRequest")
    }

    pub(super) fn result_envelope(&self) -> &'static str {
        self.first_of(["JSONRPCResultResponse", "JSONRPCResponse"])
    }

    pub(super) fn error_envelope(&self) -> &'static str {
        self.first_of(["JSONRPCErrorResponse", "JSONRPCError"])
    }

    fn first_of(&self, [newer, older]: [&'static str; 2]) -> &'static str {
        if self.definitions.contains_key(newer) {
            newer
        } else {
            older
        }
    }

    /// The definition of a method that this sender may use, where `kind` is
    /// `Request` or `Notification`.
    pub(super) fn call_definition(&self, sender: Sender, kind: &str, method: &str) -> Option<&str> {
        let (union, definition) = self
            .definitions
            .get_key_value(&format!("{sender:?}{kind}"))?;
        // A union of one is the definition itself.
        if method_of(definition) == Some(method) {
            return Some(union);
        }
        let members = definition["anyOf"].as_array()?;
        members
            .iter()
            .filter_map(referenced)
            .find(|name| self.definitions.get(*name).and_then(method_of) == Some(method))
    }

    /// The definition of an error response with a meaning of its own.
    pub(super) fn error_definition(&self, code: i64) -> Option<&str> {
        let found = self.definitions.iter().find(|(_, definition)| {
            let parts = definition.pointer("/properties/error/allOf");
            let parts = parts.and_then(Value::as_array).into_iter().flatten();
            let mut codes = parts.filter_map(|part| part.pointer("/properties/code/const"));
            codes.any(|value| value.as_i64() == Some(code))
        });
        found.map(|(name, _)| name.as_str())
    }

    /// The definition of this result of `method`, which `asker` sent.
    pub(super) fn result_definition(
        &self,
        asker: Sender,
        method: &str,
        result: &Value,
    ) -> Result<&str, String> {
        let request = self.call_definition(asker, "Request", method);
        let complete = match request.and_then(|request| request.strip_suffix("Request")) {
            Some(stem) => self
                .existing(&format!("{stem}Result"))
                .unwrap_or("EmptyResult"),
            None if self.is_modern() && EXTENSION_REQUESTS.contains(&method) => "Result",
            None => return Err(format!("{method} is no request of the {asker:?}")),
        };
        if self.is_modern() {
            return match result["resultType"].as_str() {
                Some("complete") => Ok(complete),
                Some("input_required") if self.may_need_input(complete) => {
                    Ok("InputRequiredResult")
                }
                Some("task") if method == "tools/call" => Ok("Result"),
                other => Err(format!("{method} has the result type {other:?}")),
            };
        }
        // A request made as a task is answered with the task.
        let made_task = result.get("task").is_some() && result.get("content").is_none();
        match self.existing("CreateTaskResult") {
            Some(created) if made_task && complete != "EmptyResult" => Ok(created),
            _ => Ok(complete),
        }
    }

    fn may_need_input(&self, complete: &str) -> bool {
        let response = self.definitions.get(&format!("{complete}Response"));
        let either = response.and_then(|response| response.pointer("/properties/result/anyOf"));
        let either = either.and_then(Value::as_array).into_iter().flatten();
        either
            .filter_map(referenced)
            .any(|name| name == "InputRequiredResult")
    }

    fn existing(&self, name: &str) -> Option<&str> {
        let (name, _) = self.definitions.get_key_value(name)?;
        Some(name)
    }

    /// Checks a value against a definition; the error names every difference.
    pub(super) fn validate(&self, definition: &str, value: &Value) -> Result<(), String> {
        let validator = self.validator(definition)?;
        let mut differences = validator.iter_errors(value).map(|error| {
            let place = error.instance_path().as_str().to_owned();
            let place = if place.is_empty() { "/" } else { &place };
            format!("{place}: {error}")
        });
        let Some(first) = differences.next() else {
            return Ok(());
        };
        let all = differences.fold(first, |all, next| format!("{all}; {next}"));
        Err(format!("not a {definition}: {all}"))
    }

    /// A definition and all that it refers to: compiling the whole schema for
    /// each definition takes ten times as long.
    fn reachable_from(&self, definition: &str) -> Map<String, Value> {
        let mut reached = Map::new();
        let mut waiting = vec![definition.to_owned()];
        while let Some(name) = waiting.pop() {
            if let Some(found) = self.definitions.get(&name)
                && reached.insert(name, found.clone()).is_none()
            {
                collect_references(found, &mut waiting);
            }
        }
        reached
    }

    fn validator(&self, definition: &str) -> Result<Arc<Validator>, String> {
        if !self.definitions.contains_key(definition) {
            return Err(format!("there is no definition {definition}"));
        }
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = compiled.get(definition) {
            return Ok(Arc::clone(validator));
        }
        let mut schema = json!({
            "$schema": self.dialect,
            "allOf": [{"$ref": format!("#/{}/{definition}", self.section)}],
        });
        schema[self.section] = self.reachable_from(definition).into();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .build(&schema)
            .map_err(|error| format!("the schema of {definition} is faulty: {error}"))?;
        let validator = Arc::new(validator);
        compiled.insert(definition.to_owned(), Arc::clone(&validator));
        Ok(validator)
    }
}

fn method_of(definition: &Value) -> Option<&str> {
    definition.pointer("/properties/method/const")?.as_str()
}

/// The name a `$ref` points to.
fn referenced(member: &Value) -> Option<&str> {
    member["$ref"].as_str()?.rsplit('/').next()
}

fn collect_references(value: &Value, names: &mut Vec<String>) {
    names.extend(referenced(value).map(str::to_owned));
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, names)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| collect_references(field, names)),
        _ => {}
    }
}
