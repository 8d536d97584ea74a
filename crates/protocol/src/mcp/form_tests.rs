use super::*;

fn form(properties: &str, required: &str) -> FormSchema {
    let schema = format!(r#"{{"type":"object","properties":{properties},"required":{required}}}"#);
    FormSchema::read(&Json::parse(&schema).unwrap()).unwrap()
}

fn kind(property: &str) -> FieldKind {
    let mut form = form(&format!(r#"{{"x":{property}}}"#), "[]");
    form.fields.remove(0).kind
}

fn choice(value: &str, title: Option<&str>) -> ChoiceOption {
    ChoiceOption {
        value: value.to_owned(),
        title: title.map(str::to_owned),
    }
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
    let names: Vec<_> = form.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["zeta", "alpha", "mid", "yes"]);
    let required: Vec<_> = form.fields.iter().map(|field| field.required).collect();
    assert_eq!(required, [false, true, false, false]);
    assert_eq!(form.required_unknown, ["ghost"]);
    let zeta = &form.fields[0];
    assert_eq!(zeta.display_name(), "Z");
    assert_eq!(zeta.description.as_deref(), Some("last letter"));
    assert_eq!(
        zeta.kind,
        FieldKind::Text {
            format: Some("email".to_owned()),
            min_length: Some(3),
            max_length: Some(50),
        }
    );
    assert_eq!(
        form.fields[1].kind,
        FieldKind::Integer {
            minimum: Some(1.into()),
            maximum: Some(9.into()),
        }
    );
    assert_eq!(form.fields[3].kind, FieldKind::Boolean);
}

#[test]
fn c_elic_05_all_five_shapes_of_enums() {
    let plain = vec![choice("a", None), choice("b", None)];
    let titled = vec![choice("a", Some("A")), choice("b", Some("B"))];
    for (property, expected) in [
        (r#"{"type":"string","enum":["a","b"]}"#, plain.clone()),
        (
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#,
            titled.clone(),
        ),
        (
            r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#,
            titled.clone(),
        ),
        (
            r#"{"type":"string","enum":["a","b"],"enumNames":["A"]}"#,
            vec![choice("a", Some("A")), choice("b", None)],
        ),
    ] {
        assert_eq!(kind(property), FieldKind::Choice { options: expected });
    }
    for (items, expected) in [
        (r#"{"type":"string","enum":["a","b"]}"#, plain),
        (
            r#"{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#,
            titled,
        ),
    ] {
        let property = format!(r#"{{"type":"array","items":{items},"minItems":1,"maxItems":2}}"#);
        assert_eq!(
            kind(&property),
            FieldKind::Choices {
                options: expected,
                min_items: Some(1),
                max_items: Some(2),
            }
        );
    }
}

#[test]
fn fault_54_fields_nobody_knows_are_kept_and_take_any_answer() {
    let form = form(
        r#"{"a":{"type":"object"},"b":{"type":["string","null"]},"c":7,"d":{"type":"array","items":{"type":"number"}},"e":{"type":"boolean"}}"#,
        "[]",
    );
    for field in &form.fields[..4] {
        assert!(matches!(field.kind, FieldKind::Other(_)), "{field:?}");
    }
    let answer = Json::parse(r#"{"a":{"b":1},"b":null,"c":"x","d":[1.5],"e":true}"#).unwrap();
    assert_eq!(form.check(&answer), Ok(()));
    for schema in ["{}", r#"{"properties":[]}"#, r#"{"properties":null}"#] {
        let schema = Json::parse(schema).unwrap();
        assert_eq!(FormSchema::read(&schema).unwrap(), FormSchema::default());
    }
    assert!(FormSchema::read(&Json::parse("[]").unwrap()).is_err());
}

#[test]
fn c_elic_06_defaults_prefill_the_form() {
    let form = form(
        r#"{
            "name": {"type": "string", "default": "n"},
            "age": {"type": "integer", "default": 12345678901234567890},
            "mail": {"type": "string", "format": "email", "default": "none"},
            "colour": {"type": "string", "enum": ["red"], "default": "blue"},
            "sizes": {"type": "array", "items": {"enum": ["s", "m"]}, "default": ["m"]},
            "off": {"type": "boolean", "default": false},
            "bare": {"type": "string"}
        }"#,
        "[]",
    );
    // Defaults that do not fit their own field are left out.
    let expected = r#"{"name":"n","age":12345678901234567890,"sizes":["m"],"off":false}"#;
    assert_eq!(form.defaults().as_str(), expected);
    assert_eq!(form.check(&form.defaults()), Ok(()));
}

#[test]
fn x_elic_07_answers_are_checked() {
    let form = form(
        r#"{
            "name": {"type": "string", "minLength": 2, "maxLength": 3},
            "age": {"type": "integer", "minimum": 1, "maximum": 150},
            "share": {"type": "number", "minimum": 0.5},
            "agree": {"type": "boolean"},
            "mail": {"type": "string", "format": "email"},
            "site": {"type": "string", "format": "uri"},
            "born": {"type": "string", "format": "date"},
            "seen": {"type": "string", "format": "date-time"},
            "code": {"type": "string", "format": "unheard-of"},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "sizes": {"type": "array", "items": {"enum": ["s", "m"]}, "minItems": 1, "maxItems": 2}
        }"#,
        r#"["name", "ghost"]"#,
    );
    let check = |member: &str| {
        let rest = if member.is_empty() { "" } else { "," };
        let name = if member.starts_with("\"name\"") {
            ""
        } else {
            r#""name":"äö","#
        };
        let answer = format!(r#"{{{name}"ghost":1{rest}{member}}}"#);
        form.check(&Json::parse(&answer).unwrap())
    };
    for good in [
        "",
        r#""age":1"#,
        r#""age":150.0"#,
        r#""share":0.5"#,
        r#""agree":false"#,
        r#""mail":"a@b.c""#,
        r#""site":"https://a.b""#,
        r#""born":"2000-02-29""#,
        r#""seen":"2000-02-29T00:00:00Z""#,
        r#""code":"anything""#,
        r#""colour":"blue""#,
        r#""sizes":["s","m"]"#,
        r#""other":{"not":"in the form"}"#,
    ] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    for (bad, complaint) in [
        (
            r#""name":"a""#,
            r#""name" must have at least 2 characters, not 1"#,
        ),
        (
            r#""name":"abcd""#,
            r#""name" must have at most 3 characters, not 4"#,
        ),
        (r#""name":7"#, r#""name" must be text"#),
        (r#""name":null"#, r#""name" must be text"#),
        (r#""age":0"#, r#""age" must be at least 1, not 0"#),
        (r#""age":151"#, r#""age" must be at most 150, not 151"#),
        (r#""age":1.5"#, r#""age" must be a whole number"#),
        (r#""age":"7""#, r#""age" must be a whole number"#),
        (r#""share":0.4"#, r#""share" must be at least 0.5, not 0.4"#),
        (r#""share":"1""#, r#""share" must be a number"#),
        (r#""agree":"yes""#, r#""agree" must be true or false"#),
        (r#""mail":"a""#, r#""mail" must be an e-mail address"#),
        (r#""site":"a""#, r#""site" must be a URI"#),
        (
            r#""born":"29.2.2000""#,
            r#""born" must be a date like 2026-07-28"#,
        ),
        (
            r#""seen":"noon""#,
            r#""seen" must be a time like 2026-07-28T09:30:00Z"#,
        ),
        (
            r#""colour":"green""#,
            r#""colour" must be one of red, blue"#,
        ),
        (
            r#""sizes":[]"#,
            r#""sizes" must have at least 1 values, not 0"#,
        ),
        (
            r#""sizes":["s","m","s"]"#,
            r#""sizes" must have at most 2 values, not 3"#,
        ),
        (r#""sizes":["l"]"#, r#""sizes" must be one of s, m"#),
        (r#""sizes":"s""#, r#""sizes" must be a list"#),
    ] {
        assert_eq!(check(bad), Err(complaint.to_owned()), "{bad}");
    }
    for (answer, complaint) in [
        (r#"{"ghost":1}"#, r#"the required field "name" is missing"#),
        (
            r#"{"name":"ab"}"#,
            r#"the required field "ghost" is missing"#,
        ),
    ] {
        let answer = Json::parse(answer).unwrap();
        assert_eq!(form.check(&answer), Err(complaint.to_owned()));
    }
    assert!(form.check(&Json::parse("[]").unwrap()).is_err());
}

#[test]
fn of_two_properties_with_one_name_the_last_counts() {
    let schema = r#"{"properties":{"b":{"type":"odd","default":"y"},"a":{"type":"string"},"b":{"type":"string","enum":["x"]}}}"#;
    let form = FormSchema::read(&Json::parse(schema).unwrap()).unwrap();
    let names: Vec<_> = form.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["b", "a"]);
    assert!(matches!(form.fields[0].kind, FieldKind::Choice { .. }));
    assert_eq!(form.check(&form.defaults()), Ok(()));
}
