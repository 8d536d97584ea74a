//! When a received value matches an expected one.
//!
//! Owns the placeholders of a transcript: `"*"`, `"$name"` and the key `"..."`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The key that allows further members in an object.
const FURTHER: &str = "...";

/// Kept values by name.
pub(super) type Captures = BTreeMap<String, Value>;

/// The first place where two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A JSON pointer to the place.
    pub place: String,
    /// What was expected there, or `None` if nothing was.
    pub expected: Option<Value>,
    /// What was received there, or `None` if nothing was.
    pub received: Option<Value>,
}

/// What a string of a transcript stands for.
enum Meaning<'a> {
    Anything,
    Named(&'a str),
    Literal(&'a str),
}

fn meaning(text: &str) -> Meaning<'_> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if text == "*" {
        return Meaning::Anything;
    }
    if text == "**" {
        return Meaning::Literal("*");
    }
    match text.strip_prefix('$') {
        Some(name) if is_name(name) => Meaning::Named(name),
        Some(rest) if rest.strip_prefix('$').is_some_and(is_name) => Meaning::Literal(rest),
        _ => Meaning::Literal(text),
    }
}

/// The names that occur in a message.
pub(super) fn names(message: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_names(message, &mut found);
    found
}

fn collect_names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            if let Meaning::Named(name) = meaning(text) {
                found.insert(name.to_owned());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, found)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| collect_names(field, found)),
        _ => {}
    }
}

/// A server's message with kept values in place of their names.
pub(super) fn fill(message: &Value, captures: &Captures) -> Value {
    match message {
        Value::String(text) => match meaning(text) {
            Meaning::Named(name) => captures.get(name).cloned().unwrap_or(Value::Null),
            Meaning::Anything => message.clone(),
            Meaning::Literal(text) => Value::String(text.to_owned()),
        },
        Value::Array(items) => items.iter().map(|item| fill(item, captures)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| (key.clone(), fill(field, captures)))
            .collect(),
        other => other.clone(),
    }
}

/// Compares whole values and keeps what names stand for. What was kept before
/// a difference stays kept.
pub(super) fn compare(
    expected: &Value,
    received: &Value,
    captures: &mut Captures,
) -> Result<(), Difference> {
    compare_at("", expected, received, captures)
}

fn compare_at(
    place: &str,
    expected: &Value,
    received: &Value,
    captures: &mut Captures,
) -> Result<(), Difference> {
    let equal = match (expected, received) {
        (Value::String(text), received) => match meaning(text) {
            Meaning::Anything => true,
            Meaning::Literal(text) => received.as_str() == Some(text),
            Meaning::Named(name) => {
                let kept = captures.entry(name.to_owned());
                kept.or_insert_with(|| received.clone()) == received
            }
        },
        (Value::Array(expected), Value::Array(received)) => {
            for index in 0..expected.len().max(received.len()) {
                let place = format!("{place}/{index}");
                compare_members(&place, expected.get(index), received.get(index), captures)?;
            }
            true
        }
        (Value::Object(expected), Value::Object(received)) => {
            for (key, value) in expected.iter().filter(|(key, _)| *key != FURTHER) {
                let place = format!("{place}/{}", escaped(key));
                compare_members(&place, Some(value), received.get(key), captures)?;
            }
            let foreign = received
                .iter()
                .find(|(key, _)| !expected.contains_key(*key));
            match foreign {
                Some((key, value)) if !expected.contains_key(FURTHER) => {
                    let place = format!("{place}/{}", escaped(key));
                    compare_members(&place, None, Some(value), captures)?;
                    true
                }
                _ => true,
            }
        }
        (expected, received) => expected == received,
    };
    if equal {
        return Ok(());
    }
    Err(Difference {
        place: place.to_owned(),
        expected: Some(expected.clone()),
        received: Some(received.clone()),
    })
}

fn compare_members(
    place: &str,
    expected: Option<&Value>,
    received: Option<&Value>,
    captures: &mut Captures,
) -> Result<(), Difference> {
    match (expected, received) {
        (Some(expected), Some(received)) => compare_at(place, expected, received, captures),
        (expected, received) => Err(Difference {
            place: place.to_owned(),
            expected: expected.cloned(),
            received: received.cloned(),
        }),
    }
}

/// A key as a step of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(expected: Value, received: Value, differs_at: Option<&str>) {
        let compared = compare(&expected, &received, &mut Captures::new());
        let place = compared.as_ref().err().map(|found| found.place.as_str());
        assert_eq!(place, differs_at, "{expected} against {received}");
    }

    #[test]
    fn values_are_compared_whole() {
        check(json!({"a": 1, "b": [2]}), json!({"b": [2], "a": 1}), None);
        check(json!({"a": 1}), json!({"a": 2}), Some("/a"));
        check(json!({"a": 1}), json!({"a": 1, "b/c": 2}), Some("/b~1c"));
        check(json!({"a": 1, "b": 2}), json!({"a": 1}), Some("/b"));
        check(json!([1, 2]), json!([1]), Some("/1"));
        check(json!([1]), json!([1, 2]), Some("/1"));
        check(json!({"a": 1}), json!([1]), Some(""));
        check(json!(1), json!("1"), Some(""));
    }

    #[test]
    fn placeholders_stand_for_values() {
        check(json!({"a": "*"}), json!({"a": {"b": 1}}), None);
        check(json!({"a": "*"}), json!({}), Some("/a"));
        check(json!(["$x", "$x"]), json!([7, 7]), None);
        check(json!(["$x", "$x"]), json!([7, "7"]), Some("/1"));
        check(json!({"a": 1, "...": ""}), json!({"a": 1, "b": 2}), None);
        check(json!({"a": 1, "...": ""}), json!({"b": 2}), Some("/a"));
    }

    #[test]
    fn escapes_stand_for_themselves() {
        check(json!("**"), json!("*"), None);
        check(json!("**"), json!("x"), Some(""));
        check(json!("$$x"), json!("$x"), None);
        check(json!("$/cancelRequest"), json!("$/cancelRequest"), None);
        check(json!("$/cancelRequest"), json!("other"), Some(""));
        assert!(
            names(&json!(["$/cancelRequest", "$$x", "$", "$y"]))
                .into_iter()
                .eq(["y"])
        );
    }

    #[test]
    fn kept_values_fill_the_servers_messages() {
        let mut captures = Captures::new();
        compare(&json!({"id": "$a"}), &json!({"id": [1]}), &mut captures).unwrap();
        let filled = fill(&json!({"id": "$a", "x": ["$$a", "*"]}), &captures);
        assert_eq!(filled, json!({"id": [1], "x": ["$a", "*"]}));
    }
}
