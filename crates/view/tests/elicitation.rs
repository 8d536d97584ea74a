//! Forms of elicitation, which are small schemas: what the protocol says of them holds.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::Json;
use attache_view::form::{Field, Form, Kind, Picks};

fn form(properties: &str, required: &str) -> Form {
    let schema = format!(r#"{{"type":"object","properties":{properties},"required":{required}}}"#);
    Form::new(&Json::parse(&schema).unwrap())
}

fn fields(form: &Form) -> Vec<Field> {
    let root = form.field(None, &Picks::default());
    root.members().unwrap().fields.clone()
}

#[test]
fn s_elic_04_fields_are_read_in_order() {
    let form = form(
        r#"{
            "zeta": {"type": "string", "title": "Z", "description": "last letter", "format": "email", "minLength": 3, "maxLength": 50},
            "alpha": {"type": "integer", "minimum": 1, "maximum": 9},
            "mid": {"type": "number", "minimum": 0.5},
            "yes": {"type": "boolean", "default": true}
        }"#,
        r#"["alpha", "ghost"]"#,
    );
    let told: Vec<(String, bool, String)> = fields(&form)
        .iter()
        .map(|field| (field.name.clone(), field.required, form.describe(field)))
        .collect();
    let expected = [
        ("zeta", false, "string"),
        ("alpha", true, "integer"),
        ("mid", false, "number"),
        ("yes", false, "boolean"),
        // What is required without a description is a field all the same.
        ("ghost", true, "any"),
    ];
    let expected = expected.map(|(name, required, kind)| (name.into(), required, kind.into()));
    assert_eq!(told, expected);
    let zeta = &fields(&form)[0];
    assert_eq!(zeta.display_name(), "Z");
    assert_eq!(zeta.description.as_deref(), Some("last letter"));
    let Kind::Text { format, length, .. } = &zeta.kind else {
        panic!("{zeta:?}");
    };
    assert_eq!(format.as_deref(), Some("email"));
    assert_eq!((length.min, length.max), (Some(3), Some(50)));
}

#[test]
fn c_elic_05_all_five_shapes_of_enums() {
    let options = |property: &str| {
        let form = form(&format!(r#"{{"x":{property}}}"#), "[]");
        match &fields(&form)[0].kind {
            Kind::Choice { options } => options
                .iter()
                .map(|option| (option.label.clone(), option.title.clone()))
                .collect::<Vec<_>>(),
            Kind::MultiChoice { options, count, .. } => {
                assert_eq!((count.min, count.max), (Some(1), Some(2)));
                let of = |option: &attache_view::form::Choice| {
                    (option.label.clone(), option.title.clone())
                };
                options.iter().map(of).collect()
            }
            other => panic!("{property}: {other:?}"),
        }
    };
    let plain = [("a".to_owned(), None), ("b".to_owned(), None)];
    let titled = [
        ("a".to_owned(), Some("A".to_owned())),
        ("b".to_owned(), Some("B".to_owned())),
    ];
    let list =
        |items: &str| format!(r#"{{"type":"array","items":{items},"minItems":1,"maxItems":2}}"#);
    assert_eq!(options(r#"{"type":"string","enum":["a","b"]}"#), plain);
    assert_eq!(
        options(
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#
        ),
        titled
    );
    assert_eq!(
        options(r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#),
        titled
    );
    assert_eq!(
        options(&list(r#"{"type":"string","enum":["a","b"]}"#)),
        plain
    );
    assert_eq!(
        options(&list(
            r#"{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#
        )),
        titled
    );
}

#[test]
fn c_elic_06_defaults_prefill_the_form() {
    let form = form(
        r#"{
            "name": {"type": "string", "default": "n"},
            "age": {"type": "integer", "default": 12345678901234567890123},
            "mail": {"type": "string", "format": "email", "default": "none"},
            "colour": {"type": "string", "enum": ["red"], "default": "blue"},
            "sizes": {"type": "array", "items": {"enum": ["s", "m"]}, "default": ["m"]},
            "off": {"type": "boolean", "default": false},
            "bare": {"type": "string"}
        }"#,
        "[]",
    );
    // Defaults that do not fit their own field are left out.
    let expected = r#"{"name":"n","age":12345678901234567890123,"sizes":["m"],"off":false}"#;
    assert_eq!(form.defaults().as_str(), expected);
    assert_eq!(Form::empty().defaults().as_str(), "{}");
}

#[test]
fn fault_54_fields_nobody_knows_take_any_answer() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"object"},"b":{"type":["string","null"]},"c":7,"d":{"type":"odd"}}}"#;
    let answer = r#"{"a":{"b":1},"b":null,"c":"x","d":[1.5],"more":true}"#;
    let schema = Json::parse(schema).unwrap();
    assert_eq!(
        attache_schema::check_answer(&schema, &Json::parse(answer).unwrap()),
        Ok(())
    );
    assert!(attache_schema::check_answer(&schema, &Json::parse("[]").unwrap()).is_err());
}
