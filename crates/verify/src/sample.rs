//! Values that satisfy a schema, made without chance.

use serde_json::{Map, Value, json};

use crate::schemas;

/// How deep a schema is followed.
const MOST_DEPTH: usize = 12;

/// The least arguments that a tool's schema accepts, if that is found.
pub(crate) fn arguments(schema: &Value) -> Option<Value> {
    let value = instance(schema, schema, 0)?;
    let value = match value {
        Value::Object(_) => value,
        _ => return None,
    };
    schemas::holds(schema, &value).then_some(value)
}

fn instance(schema: &Value, root: &Value, depth: usize) -> Option<Value> {
    if depth > MOST_DEPTH || schema == &Value::Bool(false) {
        return None;
    }
    for key in ["const", "default"] {
        if let Some(value) = schema.get(key) {
            return Some(value.clone());
        }
    }
    for key in ["enum", "examples"] {
        if let Some(value) = schema[key].as_array().and_then(|values| values.first()) {
            return Some(value.clone());
        }
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#')?;
        return instance(root.pointer(pointer)?, root, depth + 1);
    }
    let kind = match &schema["type"] {
        Value::String(kind) => Some(kind.as_str()),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|it| *it != "null"),
        _ => None,
    };
    let kind = kind.or_else(|| schema.get("properties").map(|_| "object"));
    match kind {
        Some("object") => object(schema, root, depth),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0).min(16);
            let item = match least {
                0 => Value::Null,
                _ => instance(&schema["items"], root, depth + 1)?,
            };
            Some(json!(vec![item; usize::try_from(least).unwrap_or(0)]))
        }
        Some("string") => Some(json!(text(schema))),
        Some("integer") => Some(json!(number(schema).ceil() as i64)),
        Some("number") => Some(json!(number(schema))),
        Some("boolean") => Some(json!(false)),
        Some(_) => Some(Value::Null),
        None => {
            let choices = ["anyOf", "oneOf", "allOf"];
            let choice = choices.iter().find_map(|key| schema[*key].as_array());
            match choice {
                Some(options) => options
                    .iter()
                    .find_map(|option| instance(option, root, depth + 1)),
                None => Some(json!("text")),
            }
        }
    }
}

fn object(schema: &Value, root: &Value, depth: usize) -> Option<Value> {
    let mut fields = Map::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str()?;
        let property = schema["properties"].get(name).unwrap_or(&Value::Bool(true));
        fields.insert(name.to_owned(), instance(property, root, depth + 1)?);
    }
    Some(Value::Object(fields))
}

fn text(schema: &Value) -> String {
    let text = match schema["format"].as_str() {
        Some("date") => "2026-01-02",
        Some("date-time") => "2026-01-02T03:04:05Z",
        Some("time") => "03:04:05Z",
        Some("email") => "nobody@example.org",
        Some("uri" | "url") => "https://example.org/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("ipv4") => "127.0.0.1",
        _ => "text",
    };
    let mut text = text.to_owned();
    let least = schema["minLength"].as_u64().unwrap_or(0).min(4096);
    while (text.chars().count() as u64) < least {
        text.push('x');
    }
    match schema["maxLength"].as_u64() {
        Some(most) => text
            .chars()
            .take(usize::try_from(most).unwrap_or(4))
            .collect(),
        None => text,
    }
}

fn number(schema: &Value) -> f64 {
    let least = schema["minimum"].as_f64();
    let above = schema["exclusiveMinimum"].as_f64().map(|least| least + 1.0);
    let most = schema["maximum"].as_f64();
    let below = schema["exclusiveMaximum"].as_f64().map(|most| most - 1.0);
    let wanted = least.or(above).unwrap_or(1.0);
    let wanted = most.or(below).map_or(wanted, |most| wanted.min(most));
    match schema["multipleOf"].as_f64() {
        Some(step) if step > 0.0 => (wanted / step).ceil() * step,
        _ => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_satisfy_their_schema() {
        for (schema, expected) in [
            (json!({"type": "object"}), Some(json!({}))),
            (
                json!({"type": "object", "required": ["a", "b"], "properties": {
                    "a": {"type": "string", "minLength": 6},
                    "b": {"type": "integer", "minimum": 3},
                    "c": {"type": "string"},
                }}),
                Some(json!({"a": "textxx", "b": 3})),
            ),
            (
                json!({"type": "object", "required": ["a"], "properties": {
                    "a": {"$ref": "#/$defs/x"},
                }, "$defs": {"x": {"enum": ["one", "two"]}}}),
                Some(json!({"a": "one"})),
            ),
            (
                json!({"type": "object", "required": ["a"], "properties": {
                    "a": {"type": "string", "pattern": "^[0-9]+$"},
                }}),
                None,
            ),
        ] {
            assert_eq!(arguments(&schema), expected, "{schema}");
        }
    }
}
