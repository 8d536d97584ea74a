//! Patterns match as another implementation has it.

use attache_schema::{Schema, Value, Verdict};
use proptest::prelude::*;

/// Patterns, sensible ones and others.
fn patterns() -> impl Strategy<Value = String> {
    let atoms = prop::sample::select(vec![
        "a", "b", "1", "-", " ", ".", r"\d", r"\D", r"\w", r"\W", "[ab]", "[^a]", "[a-c1]", "[a-]",
        r"\.", "^", "$", "(?:ab)", "(a|b)", "",
    ]);
    let leaf = atoms.prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 3, |inner| {
        let marks =
            prop::sample::select(vec!["", "*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "+?"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            (inner.clone(), marks).prop_map(|(part, mark)| format!("(?:{part}){mark}")),
            (inner.clone(), inner.clone()).prop_map(|(one, two)| format!("(?:{one}|{two})")),
            inner.clone().prop_map(|part| format!("(?={part})")),
            inner.prop_map(|part| format!("(?!{part})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matches_are_those_of_another_implementation(pattern in patterns(), text in "[ab1 \\-.]{0,6}") {
        let schema = serde_json::json!({ "pattern": pattern });
        let other = jsonschema::draft202012::new(&schema);
        let ours = Schema::of(Ok(Value::from(&schema))).check(&Value::String(text.clone()));
        if let (Ok(other), Verdict::Holds | Verdict::Fails) = (other, ours.verdict()) {
            let theirs = other.is_valid(&serde_json::Value::String(text));
            prop_assert_eq!(ours.verdict() == Verdict::Holds, theirs);
        }
    }

    #[test]
    fn no_text_breaks_a_pattern(pattern in any::<String>(), text in any::<String>()) {
        let schema = serde_json::json!({ "pattern": pattern });
        let schema = Schema::of(Ok(Value::from(&schema)));
        prop_assert!(Value::parse(&Value::String(text.clone()).to_string()).is_ok());
        let _ = schema.check(&Value::String(text)).verdict();
    }
}

/// The patterns that servers really use are known.
#[test]
fn usual_patterns_are_known() {
    for pattern in [
        "^[a-zA-Z0-9_-]{1,64}$",
        r"^\d{4}-\d{2}-\d{2}$",
        "^https?://",
        r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
        "^(?!\\.)[\\w.-]+$",
        r"^#[0-9a-fA-F]{6}$",
        r"^(?:[A-Z]{2}|global)$",
        "^([01]?[0-9]|2[0-3]):[0-5][0-9]$",
        r"^\/(?:[^\/\0]+\/)*[^\/\0]*$",
    ] {
        let schema = serde_json::json!({ "pattern": pattern });
        assert!(
            Schema::of(Ok(Value::from(&schema))).unknown().is_empty(),
            "{pattern}"
        );
    }
    let value = Value::parse(r#"{"pattern":"^a"}"#).unwrap();
    assert_eq!(
        Schema::of(Ok(value))
            .check(&Value::String("b".into()))
            .verdict(),
        Verdict::Fails
    );
}
