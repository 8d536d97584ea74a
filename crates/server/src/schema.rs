//! Schemas of tools: compiled once, then asked about every call.
//!
//! Owns what may be registered as a schema, the check of arguments against it, and the arguments a
//! schema mirrors into HTTP headers. No reference ever leaves the schema (X-BASE-24, S14).

use attache_protocol::Json;
use attache_schema::Schema;
use serde_json::{Map, Value};

/// How many complaints about one set of arguments are told.
const MOST_COMPLAINTS: usize = 5;
/// How deep a schema may nest (S14).
const MOST_DEPTH: usize = 64;

/// A schema ready for use.
#[derive(Debug)]
pub(crate) struct Compiled {
    schema: Schema,
}

impl Compiled {
    /// Compiles the schema of a tool's arguments, whose root must describe an object (S-TOOL-02).
    pub(crate) fn of_arguments(schema: &Json) -> Result<Self, String> {
        let value = schema.to_value().map_err(|error| error.to_string())?;
        match value.get("type").and_then(Value::as_str) {
            Some("object") => Self::compile(schema, &value),
            _ => Err("its root must have \"type\": \"object\"".to_owned()),
        }
    }

    /// Compiles the schema of a tool's structured result.
    pub(crate) fn of_result(schema: &Json) -> Result<Self, String> {
        let value = schema.to_value().map_err(|error| error.to_string())?;
        Self::compile(schema, &value)
    }

    /// Refuses what could not be checked when it is called: dialects, references and patterns that
    /// are not known (X-BASE-23).
    fn compile(schema: &Json, value: &Value) -> Result<Self, String> {
        if depth(value) > MOST_DEPTH {
            return Err(format!("it nests deeper than {MOST_DEPTH} levels"));
        }
        let schema = Schema::new(schema);
        let mut refused = schema.mistakes().into_iter().chain(schema.unknown());
        match refused.next() {
            Some(reason) => Err(reason),
            None => Ok(Self { schema }),
        }
    }

    /// Checks a value. The error names each place and what is wrong there.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let report = self.schema.validate(&attache_schema::Value::from(value));
        let problems = report.problems.into_iter().map(|problem| problem.message);
        let unchecked = report.unchecked.into_iter();
        let unchecked = unchecked.map(|what| format!("this could not be checked: {what}"));
        let complaints: Vec<String> = problems.chain(unchecked).take(MOST_COMPLAINTS).collect();
        match complaints.is_empty() {
            true => Ok(()),
            false => Err(complaints.join("; ")),
        }
    }
}

fn depth(value: &Value) -> usize {
    // Recursion is bounded: the parser refuses deeper texts than it can take itself.
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// An argument that modern HTTP clients mirror into a header (C-SHM-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirroredArgument {
    /// The header is `Mcp-Param-` and this.
    pub header: String,
    /// Where the argument stands: names of members from the root of the arguments.
    pub path: Vec<String>,
}

const ANNOTATION: &str = "x-mcp-header";

impl MirroredArgument {
    /// The mirrored arguments of a tool's schema, or why one of its annotations is invalid
    /// (X-SHM-15 to 17). A service that stands before other servers has their schemas only.
    pub fn of_schema(schema: &Json) -> Result<Vec<Self>, String> {
        mirrored_arguments(schema)
    }
}

fn mirrored_arguments(schema: &Json) -> Result<Vec<MirroredArgument>, String> {
    let schema = schema.to_value().map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let mut reachable = 0;
    collect(&schema, &mut Vec::new(), &mut found, &mut reachable)?;
    if count_annotations(&schema) > reachable {
        return Err(format!(
            "\"{ANNOTATION}\" may only stand on properties that are reached through \"properties\" alone"
        ));
    }
    for (index, one) in found.iter().enumerate() {
        let same = |other: &&MirroredArgument| other.header.eq_ignore_ascii_case(&one.header);
        if found[..index].iter().find(same).is_some() {
            return Err(format!("the header \"{}\" is used twice", one.header));
        }
    }
    Ok(found)
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<MirroredArgument>,
    reachable: &mut usize,
) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(annotation) = property.get(ANNOTATION) {
            *reachable += 1;
            found.push(MirroredArgument {
                header: header_name(annotation, property)?,
                path: path.clone(),
            });
        }
        collect(property, path, found, reachable)?;
        path.pop();
    }
    Ok(())
}

fn header_name(annotation: &Value, property: &Value) -> Result<String, String> {
    let is_token = |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(it);
    let name = annotation.as_str().unwrap_or_default();
    if name.is_empty() || !name.chars().all(is_token) {
        return Err(format!("{annotation} is no name for a header"));
    }
    match property.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(name.to_owned()),
        _ => Err(format!(
            "the header \"{name}\" needs a property of type string, integer or boolean"
        )),
    }
}

/// How many subschemas carry the annotation, wherever they stand.
fn count_annotations(schema: &Value) -> usize {
    let here = |fields: &Map<String, Value>| usize::from(fields.contains_key(ANNOTATION));
    match schema {
        Value::Array(items) => items.iter().map(count_annotations).sum(),
        Value::Object(fields) => {
            here(fields) + fields.values().map(count_annotations).sum::<usize>()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(value: Value) -> Json {
        Json::from(value)
    }

    #[test]
    fn s_tool_02_a_schema_of_arguments_describes_an_object() {
        for refused in [
            json!({}),
            json!(true),
            json!({"type": "string"}),
            json!(null),
        ] {
            assert!(Compiled::of_arguments(&schema(refused)).is_err());
        }
        assert!(Compiled::of_arguments(&schema(json!({"type": "object"}))).is_ok());
    }

    // X-BASE-24.
    #[test]
    fn x_base_25_references_to_elsewhere_are_refused() {
        let remote = json!({"type": "object", "$ref": "https://example.org/schema.json"});
        assert!(Compiled::of_arguments(&schema(remote)).is_err());
        let local = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"type": "integer"}},
        });
        let compiled = Compiled::of_arguments(&schema(local)).unwrap();
        assert!(compiled.check(&json!({"a": 1})).is_ok());
        assert!(compiled.check(&json!({"a": "1"})).is_err());
    }

    #[test]
    fn x_base_22_and_23_each_schema_is_read_by_its_own_dialect() {
        // What an array's first items are is written differently in these two.
        let pair = |dialect: Option<&str>, keyword: &str| {
            let mut it = json!({"type": "object", "properties": {
                "pair": {"type": "array", (keyword): [{"type": "integer"}]},
            }});
            if let Some(dialect) = dialect {
                it["$schema"] = json!(dialect);
            }
            schema(it)
        };
        let draft_7 = "http://json-schema.org/draft-07/schema#";
        let latest = "https://json-schema.org/draft/2020-12/schema";
        for (dialect, keyword) in [
            (None, "prefixItems"),
            (Some(latest), "prefixItems"),
            (Some(draft_7), "items"),
        ] {
            let compiled = Compiled::of_arguments(&pair(dialect, keyword)).unwrap();
            assert!(compiled.check(&json!({"pair": [1]})).is_ok(), "{dialect:?}");
            assert!(
                compiled.check(&json!({"pair": ["x"]})).is_err(),
                "{dialect:?}"
            );
        }
        let unknown = pair(Some("https://example.org/own-dialect"), "prefixItems");
        let error = Compiled::of_arguments(&unknown).unwrap_err();
        assert!(error.contains("own-dialect"), "{error}");
    }

    // X-BASE-26.
    #[test]
    fn s14_a_schema_may_nest_so_deep_and_no_deeper() {
        let nested = |levels: usize| {
            let mut value = json!({"type": "object"});
            for _ in 1..levels {
                value = json!({"not": value});
            }
            schema(value)
        };
        assert!(Compiled::of_result(&nested(MOST_DEPTH)).is_ok());
        let error = Compiled::of_result(&nested(MOST_DEPTH + 1)).unwrap_err();
        assert!(error.contains("nests deeper"), "{error}");
    }

    #[test]
    fn complaints_name_the_place() {
        let compiled = Compiled::of_arguments(&schema(json!({
            "type": "object",
            "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}}},
            "required": ["a"],
        })))
        .unwrap();
        let wrong = compiled.check(&json!({"a": {"b": "x"}})).unwrap_err();
        assert!(
            wrong.starts_with("\"a.b\" must be a whole number"),
            "{wrong}"
        );
        let missing = compiled.check(&json!({})).unwrap_err();
        assert!(missing.contains("\"a\""), "{missing}");
    }

    #[test]
    fn so_many_complaints_are_told() {
        let list = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let compiled = Compiled::of_arguments(&schema(list)).unwrap();
        let wrong: Value = (0..MOST_COMPLAINTS + 1)
            .map(|it| (it.to_string(), json!("x")))
            .collect::<Map<_, _>>()
            .into();
        let complaints = compiled.check(&wrong).unwrap_err();
        assert_eq!(complaints.split("; ").count(), MOST_COMPLAINTS);
    }

    #[test]
    fn x_shm_15_to_17_annotations_are_read_or_refused() {
        let found = mirrored_arguments(&schema(json!({
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "deep": {"type": "object", "properties": {
                    "flag": {"type": "boolean", "x-mcp-header": "Flag"},
                }},
            },
        })))
        .unwrap();
        let paths: Vec<_> = found
            .iter()
            .map(|it| (it.header.as_str(), it.path.join("/")))
            .collect();
        assert!(paths.contains(&("Region", "region".to_owned())));
        assert!(paths.contains(&("Flag", "deep/flag".to_owned())));

        let on = |property: Value| json!({"type": "object", "properties": {"a": property}});
        for refused in [
            on(json!({"type": "string", "x-mcp-header": ""})),
            on(json!({"type": "string", "x-mcp-header": "a b"})),
            on(json!({"type": "number", "x-mcp-header": "A"})),
            on(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
            on(json!({"oneOf": [{"type": "string", "x-mcp-header": "A"}]})),
            json!({"type": "object", "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }}),
        ] {
            assert!(
                mirrored_arguments(&schema(refused.clone())).is_err(),
                "{refused}"
            );
        }
    }
}
