//! The table of keys as a JSON Schema, with which editors complete and check the file.

use serde_json::{Map, Value, json};

use super::keys::FILE;
use super::{Key, Kind, Table};

/// The schema. It is of draft 7, which the TOML plug-ins of editors know.
pub fn schema() -> Value {
    let mut schema = of_table(&FILE);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("attache.toml");
    schema
}

fn of_table(table: &Table) -> Value {
    let properties: Map<String, Value> = table
        .keys()
        .map(|key| (key.name.to_owned(), of_key(key)))
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of_key(key: &Key) -> Value {
    let mut schema = of_kind(&key.kind);
    schema["description"] = json!(key.summary);
    if let Some(default) = key.default {
        schema["default"] = super::json(default);
    }
    if let Some(example) = key.example {
        schema["examples"] = json!([super::json(example)]);
    }
    schema
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::Path => json!({ "type": "string" }),
        Kind::Plain => json!({ "type": ["string", "integer", "boolean"] }),
        Kind::Truth => json!({ "type": "boolean" }),
        Kind::Number(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Decimal(least, most) => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        Kind::Time => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": 86_400_000 },
            { "type": "string", "pattern": "^\\s*[0-9.]+\\s*(ms|s|m|min|h)\\s*$" },
        ] }),
        Kind::Texts | Kind::Names => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Choices(words) => json!({ "type": "array", "items": { "enum": words } }),
        Kind::Table(table) => of_table(table),
        Kind::ChoiceOrTable(words, table) => {
            json!({ "anyOf": [{ "enum": words }, of_table(table)] })
        }
        Kind::ByName(names, kind) => json!({
            "type": "object",
            "propertyNames": { "pattern": names },
            "additionalProperties": of_kind(kind),
        }),
    }
}
