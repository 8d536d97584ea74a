//! Finds members of a message that its schema does not name.
//!
//! The official schemas allow any further member nearly everywhere, so that a message with a field
//! of a later revision is valid. We send none (X-INIT-09), hence this stricter look.

use serde_json::Value;

use crate::Schema;

/// The paths of all members of `value` that `schema` does not name.
pub(crate) fn unknown_members(root: &Schema, schema: &Value, value: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let schemas = all_of(root, schema);
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let named: Vec<&Value> = schemas
                    .iter()
                    .filter_map(|schema| member_schema(schema, key))
                    .collect();
                if named.is_empty() && schemas.iter().any(|schema| is_closed(schema)) {
                    unknown.push(format!("/{key}"));
                }
                for schema in named {
                    let below = unknown_members(root, schema, member);
                    unknown.extend(below.into_iter().map(|path| format!("/{key}{path}")));
                }
            }
        }
        Value::Array(items) => {
            let item_schema = schemas.iter().find_map(|schema| schema.get("items"));
            for (item, schema) in items.iter().zip(item_schema.into_iter().cycle()) {
                let below = unknown_members(root, schema, item);
                unknown.extend(below.into_iter().map(|path| format!("/[]{path}")));
            }
        }
        _ => {}
    }
    let branches = schemas.iter().filter_map(|schema| {
        ["anyOf", "oneOf"]
            .into_iter()
            .find_map(|choice| schema.get(choice)?.as_array())
    });
    for branches in branches {
        let best = branches
            .iter()
            .map(|branch| unknown_members(root, branch, value))
            .min_by_key(Vec::len);
        unknown.extend(best.unwrap_or_default());
    }
    unknown
}

/// The schema itself with its references followed and its parts apart.
fn all_of<'s>(root: &'s Schema, schema: &'s Value) -> Vec<&'s Value> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = reference.trim_start_matches('#');
        return all_of(root, root.root.pointer(pointer).unwrap());
    }
    let mut schemas = vec![schema];
    for part in schema
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        schemas.extend(all_of(root, part));
    }
    schemas
}

fn member_schema<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    let named = schema.get("properties").and_then(|named| named.get(key));
    named.or_else(|| {
        schema
            .get("additionalProperties")
            .filter(|it| it.is_object())
    })
}

/// Whether the schema lists all members it knows.
fn is_closed(schema: &Value) -> bool {
    schema.get("properties").is_some() && schema.get("additionalProperties").is_none()
}

#[test]
fn members_of_later_revisions_are_found() {
    let schemas = Schema::all();
    let value = serde_json::json!({
        "protocolVersion": "x",
        "capabilities": {"elicitation": {"url": {}}, "tasks": {}, "extensions": {"a/b": {}}},
        "clientInfo": {"name": "n", "version": "v", "title": "t", "icons": []},
    });
    let unknown = |revision: &str| {
        let schema = schemas
            .iter()
            .find(|schema| schema.revision.as_str() == revision)
            .unwrap();
        let definition = schema.definition("InitializeRequest").unwrap();
        unknown_members(schema, &definition["properties"]["params"], &value)
    };
    assert_eq!(
        unknown("2024-11-05"),
        [
            "/capabilities/elicitation",
            "/capabilities/extensions",
            "/capabilities/tasks",
            "/clientInfo/icons",
            "/clientInfo/title",
        ]
    );
    assert_eq!(unknown("2025-11-25"), ["/capabilities/extensions"]);
}
