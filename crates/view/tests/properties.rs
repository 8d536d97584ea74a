//! Any value survives any form, and no schema breaks one.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::Json;
use attache_view::form::{Assignment, Form, Picks, assign};
use attache_view::{Number, Value};
use proptest::prelude::*;

mod common;

use common::retyped;

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "kind", "a.b", "l[0]", ""]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn numbers() -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec![
        "0",
        "-0",
        "1",
        "1.0",
        "0.10",
        "1e400",
        "-1E-400",
        "123456789012345678901234567890",
        "3",
    ]);
    texts.prop_map(|text| Value::Number(Number::parse(text).unwrap()))
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        numbers(),
        names().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((names(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Schemas, sensible ones and others.
fn schemas() -> impl Strategy<Value = Value> {
    let text = |text: &str| Value::String(text.to_owned());
    let types = prop::sample::select(vec![
        "string", "integer", "number", "boolean", "null", "array", "object", "odd",
    ]);
    let kind = types.prop_map(move |name| vec![("type".to_owned(), text(name))]);
    let reference = prop::sample::select(vec![
        "#",
        "#/$defs/a",
        "#/properties/a",
        "#a",
        "http://x",
        "#/allOf/0",
    ]);
    let reference = reference.prop_map(move |target| vec![("$ref".to_owned(), text(target))]);
    let listed = prop::collection::vec(values(), 0..4)
        .prop_map(|values| vec![("enum".to_owned(), Value::Array(values))]);
    let object =
        |members: Vec<Vec<(String, Value)>>| Value::Object(members.into_iter().flatten().collect());
    let leaf = prop_oneof![
        Just(Value::Bool(true)),
        Just(Value::Bool(false)),
        prop::collection::vec(prop_oneof![kind, reference, listed], 0..3).prop_map(object),
    ];
    leaf.prop_recursive(4, 40, 4, move |inner| {
        let words = prop::sample::select(vec![
            "items",
            "additionalProperties",
            "not",
            "if",
            "then",
            "else",
            "contains",
            "propertyNames",
            "const",
            "default",
            "minimum",
            "maxLength",
        ]);
        let one = (words, inner.clone()).prop_map(|(word, schema)| vec![(word.to_owned(), schema)]);
        let words = prop::sample::select(vec![
            "anyOf",
            "oneOf",
            "allOf",
            "prefixItems",
            "items",
            "required",
            "type",
            "examples",
        ]);
        let list = (words, prop::collection::vec(inner.clone(), 0..4))
            .prop_map(|(word, list)| vec![(word.to_owned(), Value::Array(list))]);
        let words = prop::sample::select(vec![
            "properties",
            "patternProperties",
            "$defs",
            "dependentSchemas",
            "dependentRequired",
        ]);
        let map = (words, prop::collection::vec((names(), inner.clone()), 0..4)).prop_map(
            |(word, map)| vec![(word.to_owned(), Value::Object(map.into_iter().collect()))],
        );
        let again = inner.prop_map(|schema| match schema {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect(),
            _ => Vec::new(),
        });
        prop::collection::vec(prop_oneof![one, list, map, again], 1..4).prop_map(object)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_value_survives_any_form(schema in schemas(), value in values()) {
        let form = Form::new(&schema.to_json());
        prop_assert_eq!(retyped(&form, &value).to_string(), value.to_string());
    }

    #[test]
    fn no_schema_breaks_a_form(schema in schemas(), value in values(), key in names(), text in any::<String>()) {
        let form = Form::new(&schema.to_json());
        let empty = form.field(None, &Picks::default());
        serde_json::to_string(&empty).unwrap();
        let _ = empty.read(&text);
        let report = form.check(&value);
        serde_json::to_string(&report).unwrap();
        let given = Assignment::parse(&format!("{key}={text}"));
        if let Some(Ok(assigned)) = given.map(|given| assign(&form, Some(value), &[given])) {
            let _ = form.check(&assigned);
        }
    }

    #[test]
    fn no_text_breaks_a_form(schema in any::<String>(), value in values()) {
        let schema = Json::from(serde_json::Value::String(schema));
        prop_assert!(Form::new(&schema).check(&value).problems.is_empty());
    }

    #[test]
    fn values_are_read_as_they_are_written(value in values()) {
        prop_assert_eq!(Value::parse(&value.to_string()).unwrap().to_string(), value.to_string());
    }
}
