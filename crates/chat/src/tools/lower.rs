//! JSON Schemas made plain enough for model providers.
//!
//! Providers take less than servers write: no union at the root, no references, no booleans for
//! schemas. What cannot be said is left open; the server checks arguments anyway. Nothing remote is
//! ever fetched (S14), and neither depth nor references can make the work grow without bound.

use std::collections::BTreeSet;

use attache_protocol::Json;
use serde_json::{Map, Value, json};

/// The largest schema that is sent; a larger one becomes an open object.
const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// How deep a schema is looked into.
const MAX_DEPTH: usize = 24;
/// How many schemas are made of one, references included.
const MAX_NODES: usize = 2_000;

/// Members that say nothing to a model, or that providers refuse.
const DROPPED: [&str; 12] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$vocabulary",
    "definitions",
    "title",
    "examples",
    "default",
];

/// The schema of a tool's arguments as providers take it.
pub(super) fn lowered(schema: Option<&Json>) -> Value {
    let open = || json!({"type": "object", "properties": {}});
    let Some(root) = schema.and_then(|schema| schema.to_value().ok()) else {
        return open();
    };
    let mut lowering = Lowering {
        root: &root,
        open: BTreeSet::new(),
        nodes: MAX_NODES,
    };
    let plain = lowering.schema(&root, MAX_DEPTH);
    let plain = as_object(plain);
    match plain.to_string().len() > MAX_SCHEMA_BYTES {
        true => open(),
        false => plain,
    }
}

struct Lowering<'a> {
    root: &'a Value,
    /// References that are being followed.
    open: BTreeSet<&'a str>,
    nodes: usize,
}

impl<'a> Lowering<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Value {
        let (Value::Object(members), Some(nodes), true) =
            (schema, self.nodes.checked_sub(1), depth > 0)
        else {
            return json!({});
        };
        self.nodes = nodes;
        let mut plain = Map::new();
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            plain = self.followed(reference, depth);
        }
        for (name, value) in members {
            let name = name.as_str();
            if name == "$ref" || DROPPED.contains(&name) {
                continue;
            }
            let value = match (name, value) {
                ("properties" | "patternProperties" | "dependentSchemas", Value::Object(all)) => {
                    let all = all.iter();
                    let below = all.map(|(key, it)| (key.clone(), self.schema(it, depth - 1)));
                    Value::Object(below.collect())
                }
                ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                    all.iter().map(|it| self.schema(it, depth - 1)).collect()
                }
                ("items" | "contains" | "not" | "if" | "then" | "else", Value::Object(_)) => {
                    self.schema(value, depth - 1)
                }
                ("items", Value::Bool(true)) => json!({}),
                ("additionalProperties", Value::Object(_)) => self.schema(value, depth - 1),
                ("const", value) => {
                    plain.insert("enum".to_owned(), json!([value]));
                    continue;
                }
                (_, value) => value.clone(),
            };
            plain.insert(name.to_owned(), value);
        }
        Value::Object(plain)
    }

    /// What a reference within the schema leads to; nothing if it leads elsewhere or to itself.
    fn followed(&mut self, reference: &'a str, depth: usize) -> Map<String, Value> {
        let target = reference.strip_prefix('#');
        let target = target.and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target else {
            return Map::new();
        };
        if !self.open.insert(reference) {
            return Map::new();
        }
        let found = self.schema(target, depth - 1);
        self.open.remove(reference);
        match found {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}

/// The root as one object: what it unites is laid together, so that each way to fill it in fits.
fn as_object(schema: Value) -> Value {
    let Value::Object(mut root) = schema else {
        return json!({"type": "object", "properties": {}});
    };
    let mut properties = match root.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut required: BTreeSet<String> = names(root.remove("required").as_ref());
    for (union, all_hold) in [("allOf", true), ("oneOf", false), ("anyOf", false)] {
        let Some(Value::Array(ways)) = root.remove(union) else {
            continue;
        };
        let mut common: Option<BTreeSet<String>> = None;
        for way in ways {
            let Value::Object(mut way) = as_object(way) else {
                continue;
            };
            let of_way = names(way.get("required"));
            common = Some(match common {
                None => of_way,
                Some(known) if all_hold => &known | &of_way,
                Some(known) => &known & &of_way,
            });
            if let Some(Value::Object(more)) = way.remove("properties") {
                for (name, schema) in more {
                    properties.entry(name).or_insert(schema);
                }
            }
        }
        required.extend(common.unwrap_or_default());
    }
    for gone in ["not", "if", "then", "else", "dependentSchemas", "enum"] {
        root.remove(gone);
    }
    required.retain(|name| properties.contains_key(name));
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        root.insert("required".to_owned(), json!(required));
    }
    Value::Object(root)
}

fn names(list: Option<&Value>) -> BTreeSet<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, expected: Value) {
        let json = Json::from_serialize(&schema).unwrap();
        assert_eq!(lowered(Some(&json)), expected, "{schema}");
    }

    #[test]
    fn schemas_become_plain() {
        check(json!(true), json!({"type": "object", "properties": {}}));
        check(
            json!({"$schema": "x", "type": "object", "title": "T", "properties": {
                "a": {"const": 1}, "b": {"type": "array", "items": true}, "c": true,
            }, "required": ["a", "zz"]}),
            json!({"type": "object", "properties": {
                "a": {"enum": [1]}, "b": {"type": "array", "items": {}}, "c": {},
            }, "required": ["a"]}),
        );
        check(
            json!({"oneOf": [
                {"properties": {"a": {"type": "string"}, "k": {}}, "required": ["a", "k"]},
                {"properties": {"b": {"type": "string"}, "k": {}}, "required": ["b", "k"]},
            ]}),
            json!({"type": "object", "properties": {
                "a": {"type": "string"}, "b": {"type": "string"}, "k": {},
            }, "required": ["k"]}),
        );
        check(
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {
                "next": {"$ref": "#/$defs/A"}, "far": {"$ref": "https://x.example/s"},
            }}}}),
            json!({"type": "object", "properties": {"next": {}, "far": {}}}),
        );
    }

    #[test]
    fn s14_a_schema_cannot_make_the_work_grow_without_bound() {
        // Each definition names the next one twice: without a bound, 2^40 schemas.
        let mut defs = Map::new();
        for at in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            let members = json!({"properties": {"a": next, "b": next}});
            defs.insert(format!("d{at}"), members);
        }
        let bomb = json!({"$ref": "#/$defs/d0", "$defs": defs});
        let json = Json::from_serialize(&bomb).unwrap();
        assert!(lowered(Some(&json)).to_string().len() <= MAX_SCHEMA_BYTES);
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"properties": {"x": deep}});
        }
        let json = Json::from_serialize(&deep).unwrap();
        assert!(lowered(Some(&json)).to_string().len() < 2_000);
    }
}
