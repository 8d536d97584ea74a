//! Values of the wire against schemas of the wire.

use attache_protocol::Json;
use attache_schema::{Schema, Value as Exact, Verdict};
use serde_json::{Value, json};

/// A schema as it came.
pub(crate) fn read(schema: &Value) -> Schema {
    Schema::of(exact(schema))
}

/// What is wrong with a schema itself: words that mean nothing, or patterns that cannot be read.
pub(crate) fn mistakes(schema: &Value) -> Vec<String> {
    read(schema).mistakes()
}

/// What is wrong with a value.
pub(crate) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let Ok(value) = exact(value) else {
        return vec!["the value cannot be read".to_owned()];
    };
    let report = read(schema).validate(&value);
    report.problems.into_iter().map(|it| it.message).collect()
}

/// Whether a value is known to satisfy a schema.
pub(crate) fn holds(schema: &Value, value: &Value) -> bool {
    exact(value).is_ok_and(|value| read(schema).validate(&value).verdict() == Verdict::Holds)
}

/// Whether a text has a part that the pattern matches; none if it is no pattern.
pub(crate) fn matches(pattern: &str, text: &str) -> Option<bool> {
    let schema = json!({ "pattern": pattern });
    let schema = read(&schema);
    attache_schema::Checker::new(&schema).matches(pattern, text)
}

fn exact(value: &Value) -> Result<Exact, serde_json::Error> {
    Exact::of_json(&Json::from_serialize(value)?)
}
