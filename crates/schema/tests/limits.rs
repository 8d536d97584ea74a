//! What a check costs at the most, and that what lies beyond is told and not guessed.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::Json;
use attache_schema::limits::{
    MAX_CHECK_DEPTH, MAX_CHECK_STEPS, MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_PROBLEMS,
};
use attache_schema::{Report, Schema, Value};

fn check(schema: &str, value: &str) -> Report {
    let schema = Schema::new(&Json::parse(schema).unwrap());
    schema.check(&Value::parse(value).unwrap())
}

/// Whether all was checked, and nothing was wrong; or else, that something was left.
#[track_caller]
fn holds(schema: &str, value: &str) -> bool {
    let report = check(schema, value);
    assert!(report.problems.is_empty(), "{report:?}");
    report.unchecked.is_empty()
}

fn list(count: usize, item: &str) -> String {
    format!("[{}]", vec![item; count].join(","))
}

#[test]
fn depth() {
    let schema = r##"{"type":"array","items":{"$ref":"#"}}"##;
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    // The first list is one step deep, each further one two: its schema, and what that refers to.
    let deepest = MAX_CHECK_DEPTH.div_ceil(2);
    assert!(holds(schema, &nested(deepest)));
    assert!(!holds(schema, &nested(deepest + 1)));
}

#[test]
fn steps() {
    let schema = r#"{"items":{"type":"integer"}}"#;
    assert!(holds(schema, &list(MAX_CHECK_STEPS - 1, "1")));
    assert!(!holds(schema, &list(MAX_CHECK_STEPS, "1")));
}

#[test]
fn problems() {
    let schema = r#"{"items":{"type":"integer"}}"#;
    assert_eq!(
        check(schema, &list(MAX_PROBLEMS, "null")).problems.len(),
        MAX_PROBLEMS
    );
    assert_eq!(
        check(schema, &list(MAX_PROBLEMS + 1, "null"))
            .problems
            .len(),
        MAX_PROBLEMS
    );
}

#[test]
fn patterns() {
    let long = |length: usize| format!(r#"{{"pattern":"{}"}}"#, "a?".repeat(length / 2));
    assert!(holds(&long(MAX_PATTERN_BYTES), r#""x""#));
    assert!(!holds(&long(MAX_PATTERN_BYTES + 2), r#""x""#));
    let many = |count: usize| {
        let parts: Vec<String> = (0..count)
            .map(|n| format!(r#"{{"pattern":"x{{0,{}}}"}}"#, n + 1))
            .collect();
        format!(r#"{{"allOf":[{}]}}"#, parts.join(","))
    };
    assert!(holds(&many(MAX_PATTERNS), r#""x""#));
    assert!(!holds(&many(MAX_PATTERNS + 1), r#""x""#));
}

#[test]
fn what_is_left_to_the_server_is_never_a_problem() {
    for schema in [
        r#"{"$ref":"https://example.org/x"}"#,
        r#"{"not":{"$ref":"https://example.org/x"}}"#,
        r#"{"oneOf":[{"type":"integer"},{"$ref":"https://example.org/x"}]}"#,
        r#"{"anyOf":[{"type":"string"},{"$ref":"https://example.org/x"}]}"#,
        r#"{"if":{"$ref":"https://example.org/x"},"then":false,"else":false}"#,
        r#"{"multipleOf":1234567890123456789012}"#,
        r#"{"$schema":"urn:mine","type":"string"}"#,
    ] {
        assert!(!holds(schema, "1"), "{schema}");
    }
    assert!(!holds(r#"{"pattern":"("}"#, r#""x""#));
    assert!(!holds(r#"{"not":{"pattern":"("}}"#, r#""x""#));
}
