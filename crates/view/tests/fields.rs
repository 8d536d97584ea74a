//! Which widget each schema gets: every row of the table of forms, and the limits.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::Json;
use attache_view::Value;
use attache_view::form::limits::{
    MAX_CHOICES, MAX_FIELD_DEPTH, MAX_FIELDS, MAX_LAYERS, MAX_LIST_ITEMS, MAX_VARIANTS,
};
use attache_view::form::{Choice, Field, Form, Kind, Path, Picks, Range, TextShape};

fn form(schema: &str) -> Form {
    Form::new(&Json::parse(schema).unwrap())
}

fn field(schema: &str, value: Option<&str>) -> Field {
    let value = value.map(|value| Value::parse(value).unwrap());
    form(schema).field(value.as_ref(), &Picks::default())
}

/// A field in one line.
fn sketch(field: &Field) -> String {
    let range = |range: &Range| match (range.min, range.max) {
        (None, None) => String::new(),
        (min, max) => {
            let word =
                |limit: Option<usize>| limit.map_or(String::new(), |limit| limit.to_string());
            format!("[{}..{}]", word(min), word(max))
        }
    };
    let options = |options: &[Choice]| {
        let word = |option: &Choice| match &option.title {
            Some(title) => format!("{}={title}", option.label),
            None => option.label.clone(),
        };
        options.iter().map(word).collect::<Vec<_>>().join("|")
    };
    let list = |fields: &[Field]| fields.iter().map(sketch).collect::<Vec<_>>().join(", ");
    let kind = match &field.kind {
        Kind::Text {
            shape,
            format,
            length,
            patterns,
        } => {
            let shape = match shape {
                TextShape::Line => "line",
                TextShape::Lines => "lines",
                TextShape::Masked => "masked",
            };
            let format = format
                .as_ref()
                .map_or(String::new(), |format| format!("@{format}"));
            let patterns: String = patterns
                .iter()
                .map(|pattern| format!("/{pattern}/"))
                .collect();
            format!("{shape}{format}{}{patterns}", range(length))
        }
        Kind::Number {
            whole,
            minimum,
            maximum,
            above,
            below,
            step,
        } => {
            let mut words = String::from(if *whole { "integer" } else { "number" });
            for (sign, limit) in [
                (">=", minimum),
                ("<=", maximum),
                (">", above),
                ("<", below),
                ("%", step),
            ] {
                if let Some(limit) = limit {
                    words += &format!(" {sign}{limit}");
                }
            }
            words
        }
        Kind::Boolean => "boolean".to_owned(),
        Kind::Choice { options: choices } => format!("choice({})", options(choices)),
        Kind::MultiChoice {
            options: choices,
            count,
            unique,
        } => {
            let unique = if *unique { " unique" } else { "" };
            format!("choices({}){}{unique}", options(choices), range(count))
        }
        Kind::List {
            items,
            first,
            rest,
            count,
            unique,
        } => {
            let unique = if *unique { " unique" } else { "" };
            let rest = if rest.is_some() { "+" } else { "" };
            format!(
                "list<{}{rest}>{}{unique}({})",
                first.len(),
                range(count),
                list(items)
            )
        }
        Kind::Object(members) => {
            let open = if members.others.is_some() { "+" } else { "" };
            let patterns: String = members
                .patterns
                .iter()
                .map(|one| format!("/{}/", one.pattern))
                .collect();
            let dependent: String = members
                .dependent_required
                .iter()
                .map(|(one, others)| format!(" {one}→{}", others.join(",")))
                .collect();
            format!(
                "{{{}}}{open}{patterns}{dependent}{}",
                list(&members.fields),
                range(&members.count)
            )
        }
        Kind::Variants {
            options,
            chosen,
            field,
        } => {
            let titles: Vec<&str> = options.iter().map(|option| option.title.as_str()).collect();
            let inner = field.as_ref().map_or("-".to_owned(), |field| sketch(field));
            let chosen = chosen.map_or("-".to_owned(), |chosen| chosen.to_string());
            format!("variants({})#{chosen} {inner}", titles.join("|"))
        }
        Kind::Json { reason } => format!("json({reason})"),
        Kind::Deferred => "…".to_owned(),
    };
    let name = match field.path.0.is_empty() {
        true => String::new(),
        false => format!("{}: ", field.display_name()),
    };
    let mut marks = String::new();
    for (holds, mark) in [
        (field.required, "*"),
        (field.nullable, "?"),
        (field.read_only, " readonly"),
        (field.deprecated, " deprecated"),
        (field.undescribed, " undescribed"),
    ] {
        marks += if holds { mark } else { "" };
    }
    let default = field
        .default
        .as_ref()
        .map_or(String::new(), |default| format!(" ={default}"));
    format!("{name}{kind}{marks}{default}")
}

#[track_caller]
fn check(schema: &str, expected: &str) {
    assert_eq!(sketch(&field(schema, None)), expected, "{schema}");
}

#[track_caller]
fn check_with(schema: &str, value: &str, expected: &str) {
    assert_eq!(
        sketch(&field(schema, Some(value))),
        expected,
        "{schema} {value}"
    );
}

#[test]
fn text() {
    check(r#"{"type":"string"}"#, "line");
    check(
        r#"{"type":"string","minLength":1,"maxLength":200,"pattern":"^a"}"#,
        "line[1..200]/^a/",
    );
    check(r#"{"type":"string","maxLength":201}"#, "lines[..201]");
    check(
        r#"{"type":"string","contentMediaType":"text/html"}"#,
        "lines",
    );
    check(r#"{"type":"string","format":"date"}"#, "line@date");
    check(
        r#"{"type":"string","format":"password"}"#,
        "masked@password",
    );
    check(
        r#"{"type":"object","properties":{"apiKey":{"type":"string"},"body":{"type":"string"},"max_tokens":{"type":"integer"}}}"#,
        "{apiKey: masked, body: lines, max_tokens: integer}+",
    );
}

#[test]
fn numbers_and_booleans() {
    check(
        r#"{"type":"integer","minimum":-9007199254740993,"exclusiveMaximum":1e400,"multipleOf":3}"#,
        "integer >=-9007199254740993 <1e400 %3",
    );
    check(
        r#"{"type":"number","exclusiveMinimum":0.1,"maximum":1}"#,
        "number <=1 >0.1",
    );
    check(r#"{"type":["integer","number"]}"#, "number");
    check(r#"{"type":"boolean"}"#, "boolean");
}

#[test]
fn choices_keep_their_type() {
    check(r#"{"enum":["a","b"]}"#, "choice(a|b)");
    check(r#"{"const":5}"#, "choice(5)");
    check(r#"{"enum":[1,"1",null,"x"]}"#, r#"choice(1|"1"|null|x)"#);
    check(
        r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#,
        "choice(a=A|b=B)",
    );
    check(
        r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b"}]}"#,
        "choice(a=A|b)",
    );
    check(
        r#"{"anyOf":[{"enum":["a"]},{"type":"null"}]}"#,
        "choice(a|null)",
    );
    check(r#"{"type":"string","enum":["a",1]}"#, "choice(a)");
    check(
        r#"{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}"#,
        "choice(b)",
    );
    check(r#"{"type":"null"}"#, "choice(null)");
    check_with(
        r#"{"enum":["a"]}"#,
        "7",
        "json(the schema asks for one of its choices, and the value is a whole number)",
    );
    let mixed = field(r#"{"enum":[1,"1"]}"#, None);
    assert_eq!(mixed.read("1").unwrap().to_string(), "1");
    assert_eq!(mixed.read("\"1\"").unwrap().to_string(), "\"1\"");
    let many: Vec<String> = (0..5_000).map(|n| n.to_string()).collect();
    let many = field(&format!(r#"{{"enum":[{}]}}"#, many.join(",")), None);
    assert!(matches!(many.kind, Kind::Choice { options } if options.len() == 5_000));
}

#[test]
fn lists() {
    check(
        r#"{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true,"minItems":1,"maxItems":2}"#,
        "choices(a|b)[1..2] unique",
    );
    check(
        r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
        "choices(a=A)",
    );
    check_with(
        r#"{"type":"array","items":{"type":"integer"}}"#,
        "[1,2]",
        "list<0+>(0: integer*, 1: integer*)",
    );
    check_with(
        r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}"#,
        r#"["a",1]"#,
        "list<2>(0: line*, 1: integer*)",
    );
    check_with(
        r#"{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"boolean"}}"#,
        r#"["a",true]"#,
        "list<1+>(0: line*, 1: boolean*)",
    );
    check(r#"{"type":"array","contains":{"const":1}}"#, "list<0+>()");
}

#[test]
fn objects() {
    check(
        r#"{"type":"object","properties":{"z":{"type":"string","title":"Zed"},"a":{"type":"object","properties":{"b":{"type":"boolean"}}}},"required":["z","other"],"additionalProperties":false}"#,
        "{Zed: line*, a: {b: boolean}+, other: json(the schema allows no value)*}",
    );
    check_with(
        r#"{"properties":{"a":{"type":"string"}},"patternProperties":{"^n":{"type":"integer"}},"additionalProperties":{"type":"boolean"},"dependentRequired":{"a":["n1"]},"maxProperties":9}"#,
        r#"{"x":true,"n1":5}"#,
        "{a: line, x: boolean, n1: integer}+/^n/ a→n1[..9]",
    );
    check_with(
        r#"{"type":"object"}"#,
        r#"{"x":1}"#,
        "{x: json(the schema allows any value) undescribed}+",
    );
}

#[test]
fn variants() {
    let shapes = r#"{"oneOf":[
        {"title":"Circle","type":"object","properties":{"r":{"type":"number"}},"required":["r"]},
        {"type":"object","properties":{"kind":{"const":"box"},"w":{"type":"integer"}},"required":["kind","w"]},
        {"type":"string"}]}"#;
    let titles = "variants(Circle|kind = box|variant 3)";
    check(shapes, &format!("{titles}#0 {{r: number*}}+"));
    check_with(
        shapes,
        r#"{"kind":"box"}"#,
        &format!("{titles}#1 {{kind: choice(box)*, w: integer*}}+"),
    );
    check_with(
        shapes,
        r#"{"kind":"box","w":1}"#,
        &format!("{titles}#1 {{kind: choice(box)*, w: integer*}}+"),
    );
    check_with(shapes, r#""x""#, &format!("{titles}#2 line"));
    check_with(shapes, "5", &format!("{titles}#- -"));
    check(
        r#"{"type":["string","integer"]}"#,
        "variants(text|a whole number)#0 line",
    );
    check_with(
        r#"{"type":["string","integer","null"]}"#,
        "5",
        "variants(text|a whole number)#1 integer?",
    );
    // Alternatives that only ask for members leave the fields as they are.
    check(
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        "{a: line, b: line}+",
    );
    for nullable in [
        r#"{"type":["string","null"]}"#,
        r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
        r#"{"oneOf":[{"type":"null"},{"type":"string"}]}"#,
    ] {
        check(nullable, "line?");
        check_with(nullable, "null", "line?");
    }
}

#[test]
fn merged_schemas() {
    check(
        r#"{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"a":{"maxLength":5},"b":{"type":"integer"}},"required":["a"]}]}"#,
        "{a: line[..5]*, b: integer}+",
    );
    let conditional = r#"{"type":"object","properties":{"kind":{"enum":["a","b"]}},"if":{"properties":{"kind":{"const":"a"}},"required":["kind"]},"then":{"properties":{"x":{"type":"integer"}}},"else":{"properties":{"y":{"type":"string"}}}}"#;
    check(conditional, "{kind: choice(a|b), y: line}+");
    check_with(
        conditional,
        r#"{"kind":"a"}"#,
        "{kind: choice(a|b), x: integer}+",
    );
    check(
        r#"{"allOf":[{"type":"string"},{"type":"integer"}]}"#,
        "json(the schema contradicts itself: no type of value fits it)",
    );
    check(r#"{"type":"integer","not":{"const":3}}"#, "integer");
}

#[test]
fn references() {
    check(
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}"##,
        "integer",
    );
    check(
        r##"{"$ref":"#/definitions/a~1%62","definitions":{"a/b":{"type":"integer"}}}"##,
        "integer",
    );
    check(
        r##"{"$ref":"#here","$defs":{"a":{"$anchor":"here","type":"boolean"}}}"##,
        "boolean",
    );
    check(
        r##"{"type":"object","properties":{"name":{"type":"string"},"next":{"$ref":"#"},"all":{"type":"array","items":{"$ref":"#"}}}}"##,
        "{name: line, next: …, all: list<0+>()}+",
    );
    check_with(
        r##"{"type":"object","properties":{"name":{"type":"string"},"next":{"$ref":"#"}}}"##,
        r#"{"next":{"name":"x"}}"#,
        "{name: line, next: {name: line, next: …}+}+",
    );
    check(r##"{"$ref":"#"}"##, "json(the schema allows any value)");
    for remote in ["https://example.org/schema", "other.json#/a", "#/nowhere"] {
        check(
            &format!(r#"{{"$ref":"{remote}"}}"#),
            &format!("json(the reference {remote} leads out of the schema or nowhere)"),
        );
    }
}

#[test]
fn what_says_nothing_is_json() {
    for schema in ["true", "{}", r#"{"description":"x"}"#] {
        check(schema, "json(the schema allows any value)");
    }
    check("false", "json(the schema allows no value)");
    check(
        "17",
        "json(the schema is neither an object nor true or false)",
    );
    check(
        r#"{"$schema":"urn:mine","type":"string"}"#,
        "json(the schema is written in the unknown dialect urn:mine)",
    );
    check(
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}"#,
        "line",
    );
}

#[test]
fn remarks() {
    check(
        r#"{"type":"object","properties":{
            "a":{"type":"integer","default":5},"b":{"type":"integer","default":"no"},
            "c":{"type":["integer","null"],"default":null},
            "d":{"type":"string","readOnly":true},"e":{"type":"string","deprecated":true}}}"#,
        "{a: integer =5, b: integer, c: integer? =null, d: line readonly, e: line deprecated}+",
    );
    let field = field(
        r#"{"type":"string","title":"T\u001b[2J","description":"D\u202e","examples":["x","y"]}"#,
        None,
    );
    assert_eq!(field.title.as_deref(), Some("T\\u{1b}[2J"));
    assert_eq!(field.description.as_deref(), Some("D\\u{202e}"));
    assert_eq!(
        field.examples,
        [Value::String("x".into()), Value::String("y".into())]
    );
}

#[test]
fn limits_hold_exactly() {
    let choices = |count: usize| format!(r#"{{"enum":[{}]}}"#, vec!["1"; count].join(","));
    assert!(matches!(
        field(&choices(MAX_CHOICES), None).kind,
        Kind::Choice { .. }
    ));
    assert!(matches!(
        field(&choices(MAX_CHOICES + 1), None).kind,
        Kind::Json { .. }
    ));

    let list = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    let integers = r#"{"type":"array","items":{"type":"integer"}}"#;
    assert!(matches!(
        field(integers, Some(&list(MAX_LIST_ITEMS))).kind,
        Kind::List { .. }
    ));
    assert!(matches!(
        field(integers, Some(&list(MAX_LIST_ITEMS + 1))).kind,
        Kind::Json { .. }
    ));

    let variants = |count: usize| {
        format!(
            r#"{{"oneOf":[{}]}}"#,
            vec![r#"{"type":"object"}"#; count].join(",")
        )
    };
    assert!(matches!(
        field(&variants(MAX_VARIANTS), None).kind,
        Kind::Variants { .. }
    ));
    assert!(matches!(
        field(&variants(MAX_VARIANTS + 1), None).kind,
        Kind::Json { .. }
    ));

    let layers = |count: usize| {
        format!(
            r#"{{"type":"string","allOf":[{}]}}"#,
            vec!["{}"; count].join(",")
        )
    };
    assert!(matches!(
        field(&layers(MAX_LAYERS - 1), None).kind,
        Kind::Text { .. }
    ));
    assert!(matches!(
        field(&layers(MAX_LAYERS), None).kind,
        Kind::Json { .. }
    ));

    let members = |count: usize| {
        let members: Vec<String> = (0..count)
            .map(|n| format!(r#""m{n}":{{"type":"boolean"}}"#))
            .collect();
        format!(
            r#"{{"type":"object","properties":{{{}}}}}"#,
            members.join(",")
        )
    };
    let deferred = |schema: &str| {
        let root = field(schema, None);
        let all = root
            .children()
            .into_iter()
            .filter(|field| field.kind == Kind::Deferred)
            .count();
        (root.total(), all)
    };
    assert_eq!(deferred(&members(MAX_FIELDS - 1)), (MAX_FIELDS, 0));
    assert_eq!(deferred(&members(MAX_FIELDS)), (MAX_FIELDS + 1, 1));

    let mut nested = r#"{"type":"string"}"#.to_owned();
    for _ in 0..MAX_FIELD_DEPTH {
        nested = format!(r#"{{"type":"object","properties":{{"a":{nested}}}}}"#);
    }
    let mut deepest = &field(&nested, None);
    while let [child] = deepest.children()[..] {
        deepest = child;
    }
    assert_eq!(
        (deepest.path.0.len(), &deepest.kind),
        (MAX_FIELD_DEPTH, &Kind::Deferred)
    );
    let opened = form(&nested).expand(&deepest.place, &deepest.path, None, &Picks::default());
    assert_eq!(sketch(&opened), "a: line");
}

#[test]
fn hostile_schemas_cost_little() {
    // Each level doubles: two thousand million fields if they were all made.
    let mut levels = String::new();
    for level in 0..31 {
        let next = level + 1;
        levels += &format!(
            r##""d{level}":{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/d{next}"}},"b":{{"$ref":"#/$defs/d{next}"}}}}}},"##
        );
    }
    let bomb =
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{levels}"d31":{{"type":"string"}}}}}}"##);
    assert!(field(&bomb, None).total() <= 2 * MAX_FIELDS + 2);
    let loops =
        r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"allOf":[{"$ref":"#"},{"not":{"$ref":"#"}}]}]}"##;
    let form = form(loops);
    let value = Value::parse(r#"{"a":[1,{"b":2}]}"#).unwrap();
    let _ = form.field(Some(&value), &Picks::default());
    let report = form.check(&value);
    assert!(!report.unchecked.is_empty(), "{report:?}");
    let slow = Form::new(&Json::parse(r#"{"pattern":"^(?=(a+)+$)(a+)+\\1b$"}"#).unwrap());
    let report = slow.check(&Value::String("a".repeat(5_000)));
    assert!(
        report.problems.len() + report.unchecked.len() == 1,
        "{report:?}"
    );
    assert_eq!(
        form.check_at(
            &form.field(None, &Picks::default()).place,
            &Path::default(),
            &value
        )
        .problems
        .len(),
        0
    );
}
