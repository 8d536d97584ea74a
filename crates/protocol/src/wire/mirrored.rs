//! What a modern request says twice: in its body and in HTTP headers (section 7 of the ledger).
//!
//! Owns which parts are mirrored, under which names and in which encoding. Knows nothing of HTTP
//! beyond the alphabet of a header.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::wire::frame::Params;
use crate::wire::peek::{peek, peek_string};
use crate::{
    CallTool, ExtCancelTask, ExtGetTask, ExtUpdateTask, GetPrompt, Json, Method as _, ReadResource,
    shortened,
};

/// The key of a schema that asks for a header.
const ANNOTATION: &str = "x-mcp-header";
/// What the names of headers for arguments begin with.
const PARAM_PREFIX: &str = "Mcp-Param-";
/// How a value begins and ends that is not written as it is.
const ENCODED: (&str, &str) = ("=?base64?", "?=");
/// The largest integer that every reader of JSON agrees on.
const LARGEST_SAFE: f64 = 9_007_199_254_740_991.0;

/// The value for `Mcp-Name`: what a request is about (C-SHM-06, C-TSKE-15). Not encoded yet.
pub fn mirrored_name<'a>(method: &str, params: &'a Params) -> Option<Cow<'a, str>> {
    let member = match method {
        CallTool::NAME | GetPrompt::NAME => "name",
        ReadResource::NAME => "uri",
        ExtGetTask::NAME | ExtUpdateTask::NAME | ExtCancelTask::NAME => "taskId",
        _ => return None,
    };
    peek_string(params.as_str().as_bytes(), member)
}

/// A value as it may stand in a header: as it is if it is plain ASCII that nobody trims and nobody
/// takes for an encoded one, otherwise encoded (C-SHM-07).
pub fn header_text(value: &str) -> Cow<'_, str> {
    let plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let trimmed = value.trim_matches(' ').len() == value.len();
    let (start, end) = ENCODED;
    let looks_encoded = value
        .get(..start.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(start))
        && value.ends_with(end);
    if plain && trimmed && !looks_encoded {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(format!("{start}{}{end}", STANDARD.encode(value)))
    }
}

/// The arguments of one tool that are mirrored in headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirroredParams(Vec<Mirrored>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mirrored {
    header: String,
    /// The names of the properties that lead to the value.
    path: Vec<String>,
}

/// An annotation that breaks the rules, which makes its tool unusable over HTTP (C-SHM-14).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its {annotation} {0}", annotation = ANNOTATION)]
pub struct InvalidAnnotation(String);

impl MirroredParams {
    /// Reads the annotations of an input schema.
    pub fn of_schema(schema: &Json) -> Result<Self, InvalidAnnotation> {
        let mut found = Self::default();
        // Most schemas have none, and are not taken apart.
        if !schema.as_str().contains(ANNOTATION) {
            return Ok(found);
        }
        if let Ok(Value::Object(schema)) = schema.to_value() {
            found.visit(&schema, &mut Vec::new(), Reach::Properties)?;
        }
        Ok(found)
    }

    /// Whether nothing is mirrored.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values of the headers for a call with these params, encoded. An argument that is
    /// absent or null has none (C-SHM-18).
    pub fn headers(&self, params: &Params) -> Vec<(&str, String)> {
        let Some(arguments) = peek(params.as_str().as_bytes(), "arguments") else {
            return Vec::new();
        };
        let headers = self.0.iter().filter_map(|mirrored| {
            let value = value_at(arguments.get(), &mirrored.path)?;
            Some((mirrored.header.as_str(), header_text(&value).into_owned()))
        });
        headers.collect()
    }

    fn visit(
        &mut self,
        schema: &Map<String, Value>,
        path: &mut Vec<String>,
        reach: Reach,
    ) -> Result<(), InvalidAnnotation> {
        if let Some(annotation) = schema.get(ANNOTATION) {
            self.annotated(annotation, schema, path, reach)?;
        }
        for (keyword, value) in schema {
            match (keyword.as_str(), value) {
                // Their contents are values, not schemas.
                ("const" | "default" | "enum" | "examples", _) => {}
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        path.push(name.clone());
                        self.visit_value(property, path, reach)?;
                        path.pop();
                    }
                }
                // Maps from names to schemas.
                (
                    "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                    Value::Object(schemas),
                ) => {
                    for schema in schemas.values() {
                        self.visit_value(schema, path, Reach::Elsewhere)?;
                    }
                }
                (_, value) => self.visit_value(value, path, Reach::Elsewhere)?,
            }
        }
        Ok(())
    }

    fn visit_value(
        &mut self,
        value: &Value,
        path: &mut Vec<String>,
        reach: Reach,
    ) -> Result<(), InvalidAnnotation> {
        match value {
            Value::Object(schema) => self.visit(schema, path, reach),
            Value::Array(schemas) => schemas
                .iter()
                .try_for_each(|schema| self.visit_value(schema, path, Reach::Elsewhere)),
            _ => Ok(()),
        }
    }

    fn annotated(
        &mut self,
        annotation: &Value,
        schema: &Map<String, Value>,
        path: &[String],
        reach: Reach,
    ) -> Result<(), InvalidAnnotation> {
        let invalid = |problem: String| Err(InvalidAnnotation(problem));
        let Value::String(name) = annotation else {
            return invalid(format!("is no string: {}", shortened(annotation)));
        };
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            return invalid(format!("{:?} is no header name", shortened(name)));
        }
        if reach == Reach::Elsewhere || path.is_empty() {
            return invalid(format!("{name:?} is not on a property of the arguments"));
        }
        if !may_be_mirrored(schema.get("type")) {
            return invalid(format!(
                "{name:?} is on a property that is no string, integer or boolean"
            ));
        }
        let header = format!("{PARAM_PREFIX}{name}");
        let taken = |other: &Mirrored| other.header.eq_ignore_ascii_case(&header);
        if self.0.iter().any(taken) {
            return invalid(format!("{name:?} is given twice"));
        }
        self.0.push(Mirrored {
            header,
            path: path.to_vec(),
        });
        Ok(())
    }
}

/// How a place in a schema is reached (X-SHM-17).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Through `properties` alone, so that one value belongs to it.
    Properties,
    /// Through anything else.
    Elsewhere,
}

/// A type that a header can show (X-SHM-16). It may be nullable, since null is simply not shown.
fn may_be_mirrored(declared: Option<&Value>) -> bool {
    let shown = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        matches!(name, "string" | "integer" | "boolean")
    };
    match declared {
        Some(Value::Array(names)) => {
            let mut others = names.iter().filter(|name| *name != "null").peekable();
            others.peek().is_some() && others.all(shown)
        }
        Some(name) => shown(name),
        None => false,
    }
}

/// A character of a token (RFC 9110, section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The value at the end of a path, as text; `None` if there is none to show.
fn value_at(arguments: &str, path: &[String]) -> Option<String> {
    let mut text = arguments;
    for name in path {
        text = peek(text.as_bytes(), name)?.get();
    }
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok(),
        b't' | b'f' => Some(text.to_owned()),
        b'n' | b'{' | b'[' => None,
        _ => Some(decimal(text)),
    }
}

/// An integer in decimal, however it was written.
fn decimal(number: &str) -> String {
    let written_plainly = number.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    match number.parse::<f64>() {
        Ok(value) if !written_plainly && value.fract() == 0.0 && value.abs() <= LARGEST_SAFE => {
            format!("{value:.0}")
        }
        _ => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_encoded_when_a_header_would_change_them() {
        for (value, expected) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("a b", "a b"),
            (" a", "=?base64?IGE=?="),
            ("a ", "=?base64?YSA=?="),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("\t", "=?base64?CQ==?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
            ("=?BASE64?x?=", "=?base64?PT9CQVNFNjQ/eD89?="),
            ("=?base64?x", "=?base64?x"),
        ] {
            assert_eq!(header_text(value), expected, "{value:?} (C-SHM-07)");
        }
    }

    // C-TSKE-15.
    #[test]
    fn names_come_from_the_params() {
        let params = json!({"uri": "a:b", "taskId": "t", "name": "n"});
        let params = Params::write(&params).unwrap();
        for (method, expected) in [
            ("tools/call", Some("n")),
            ("prompts/get", Some("n")),
            ("resources/read", Some("a:b")),
            ("tasks/get", Some("t")),
            ("tasks/update", Some("t")),
            ("tasks/cancel", Some("t")),
            ("tools/list", None),
        ] {
            assert_eq!(
                mirrored_name(method, &params).as_deref(),
                expected,
                "{method}"
            );
        }
    }

    #[track_caller]
    fn check(properties: Value, arguments: Value, expected: &[(&str, &str)]) {
        let schema = Json::from(json!({"type": "object", "properties": properties}));
        let mirrored = MirroredParams::of_schema(&schema).unwrap();
        let params = json!({"name": "t", "arguments": arguments});
        let headers = mirrored.headers(&Params::write(&params).unwrap());

        let mut headers: Vec<_> = headers.iter().map(|(name, it)| (*name, &**it)).collect();
        headers.sort_unstable();
        assert_eq!(headers, expected);
    }

    // C-SHM-13, C-SHM-18.
    #[test]
    fn annotated_arguments_become_headers() {
        let properties = json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "dry": {"type": ["boolean", "null"], "x-mcp-header": "Dry"},
            "plain": {"type": "string"},
            "inner": {"type": "object", "properties": {
                "deep": {"type": "string", "x-mcp-header": "Deep"},
            }},
        });
        check(
            properties.clone(),
            json!({"region": "eu", "count": 3, "dry": false, "plain": "x", "inner": {"deep": "d"}}),
            &[
                ("Mcp-Param-Count", "3"),
                ("Mcp-Param-Deep", "d"),
                ("Mcp-Param-Dry", "false"),
                ("Mcp-Param-Region", "eu"),
            ],
        );
        check(
            properties.clone(),
            json!({"region": null, "dry": null}),
            &[],
        );
        check(
            properties,
            json!({"count": 42.0}),
            &[("Mcp-Param-Count", "42")],
        );
    }

    #[test]
    fn schemas_without_annotations_ask_for_nothing() {
        check(
            json!({"x-mcp-header": {"type": "string"}}),
            json!({"x-mcp-header": "v"}),
            &[],
        );
        check(
            json!({"a": {"type": "string", "default": {"x-mcp-header": ""}}}),
            json!({"a": "v"}),
            &[],
        );
    }

    #[test]
    fn annotations_that_break_the_rules_are_named() {
        let string = |name: Value| json!({"type": "string", "x-mcp-header": name});
        let good = string(json!("Good"));
        for (schema, expected) in [
            (
                json!({"properties": {"a": string(json!(""))}}),
                "no header name",
            ),
            (
                json!({"properties": {"a": string(json!("My Region"))}}),
                "no header name",
            ),
            (
                json!({"properties": {"a": string(json!("Zürich"))}}),
                "no header name",
            ),
            (
                json!({"properties": {"a": string(json!("a\nb"))}}),
                "no header name",
            ),
            (json!({"properties": {"a": string(json!(5))}}), "no string"),
            (
                json!({"properties": {"a": string(json!("X")), "b": string(json!("x"))}}),
                "given twice",
            ),
            (
                json!({"properties": {"a": {"type": "number", "x-mcp-header": "N"}}}),
                "no string, integer or boolean",
            ),
            (
                json!({"properties": {"a": {"type": "object", "x-mcp-header": "N"}}}),
                "no string, integer or boolean",
            ),
            (
                json!({"properties": {"a": {"x-mcp-header": "N"}}}),
                "no string, integer or boolean",
            ),
            (
                json!({"properties": {"a": {"items": good}}}),
                "not on a property",
            ),
            (
                json!({"oneOf": [{"properties": {"a": good}}]}),
                "not on a property",
            ),
            (json!({"$defs": {"a": good}}), "not on a property"),
            (
                json!({"if": {"properties": {"a": good}}}),
                "not on a property",
            ),
            (string(json!("Root")), "not on a property"),
        ] {
            let error = MirroredParams::of_schema(&schema.clone().into()).unwrap_err();
            assert!(
                error.to_string().contains(expected),
                "{schema}: {error} (X-SHM-15)"
            );
        }
    }
}
