//! Forms filled in at a shell, and their problems in words.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::Json;
use attache_view::Value;
use attache_view::form::{Assignment, Form, assign};

const SCHEMA: &str = r##"{
    "type":"object",
    "properties":{
        "name":{"type":"string","minLength":2,"pattern":"^[a-z]+$"},
        "count":{"type":"integer","minimum":1},
        "big":{"type":"integer"},
        "ratio":{"type":"number"},
        "deep":{"type":"boolean"},
        "tags":{"type":"array","items":{"type":"string"},"uniqueItems":true},
        "sizes":{"type":"array","items":{"type":"integer"}},
        "maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
        "either":{"type":["string","integer"]},
        "number_or_list":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]},
        "level":{"enum":["low","high"]},
        "levels":{"type":"array","items":{"enum":["low","high"]}},
        "rank":{"enum":[1,2]},
        "place":{"$ref":"#/$defs/place"},
        "people":{"type":"array","items":{"$ref":"#/$defs/person"}},
        "grid":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
        "a.b":{"type":"integer"},
        "when":{"type":"string","format":"date"},
        "thing":{}
    },
    "required":["name"],
    "dependentRequired":{"count":["ratio"]},
    "additionalProperties":false,
    "$defs":{
        "place":{"type":"object","properties":{"x":{"type":"integer"},"inner":{"$ref":"#/$defs/place"}}},
        "person":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}}}
    }
}"##;

fn typed(base: Option<&str>, words: &[&str]) -> Result<Value, String> {
    let form = Form::new(&Json::parse(SCHEMA).unwrap());
    let given: Vec<Assignment> = words
        .iter()
        .map(|word| Assignment::parse(word).unwrap())
        .collect();
    let base = base.map(|base| Value::parse(base).unwrap());
    assign(&form, base, &given).map_err(|problem| problem.message)
}

#[test]
fn words_become_values_by_the_types_of_the_schema() {
    for (words, expected) in [
        (&["count=3"][..], r#"{"count":3}"#),
        (&["count=-3.0"], r#"{"count":-3.0}"#),
        (
            &["big=123456789012345678901234567890"],
            r#"{"big":123456789012345678901234567890}"#,
        ),
        (&["ratio=0.10"], r#"{"ratio":0.10}"#),
        (&["ratio=1e400"], r#"{"ratio":1e400}"#),
        (&["deep=true"], r#"{"deep":true}"#),
        (&["maybe=5"], r#"{"maybe":5}"#),
        (&["maybe=null"], r#"{"maybe":null}"#),
        (&["either=5"], r#"{"either":"5"}"#),
        (&["either:=5"], r#"{"either":5}"#),
        (&["number_or_list=5"], r#"{"number_or_list":5}"#),
        (
            &["number_or_list=5", "number_or_list=6"],
            r#"{"number_or_list":[5,6]}"#,
        ),
        (&["level=high"], r#"{"level":"high"}"#),
        (&["levels=high"], r#"{"levels":["high"]}"#),
        (
            &["levels=high", "levels=low"],
            r#"{"levels":["high","low"]}"#,
        ),
        (&["rank=2"], r#"{"rank":2}"#),
        (&["thing=5"], r#"{"thing":"5"}"#),
        (&["thing.x=5"], r#"{"thing":{"x":"5"}}"#),
        (&["unknown=x=y"], r#"{"unknown":"x=y"}"#),
        (&["un.known[0]=x"], r#"{"un.known[0]":"x"}"#),
        (&["tags=a"], r#"{"tags":["a"]}"#),
        (&["tags=a", "tags=b"], r#"{"tags":["a","b"]}"#),
        (&["sizes=[1,2]"], r#"{"sizes":[1,2]}"#),
        (&["sizes=1", "sizes:=2"], r#"{"sizes":[1,2]}"#),
        (&[r#"place={"x":1}"#], r#"{"place":{"x":1}}"#),
        (
            &["place.x=1", "place.inner.inner.x=2"],
            r#"{"place":{"x":1,"inner":{"inner":{"x":2}}}}"#,
        ),
        (
            &["people[0].name=5", "people[0].age=5", "people[1].age=6"],
            r#"{"people":[{"name":"5","age":5},{"age":6}]}"#,
        ),
        (
            &["grid[0][0]=1", "grid[0][1]=2", "grid[1]:=[]"],
            r#"{"grid":[[1,2],[]]}"#,
        ),
        (&["a.b=1"], r#"{"a.b":1}"#),
        (&[], "{}"),
    ] {
        assert_eq!(
            typed(None, words).map(|value| value.to_string()),
            Ok(expected.to_owned()),
            "{words:?}"
        );
    }
    let base = Some(r#"{"z":1.50,"place":{"y":null}}"#);
    assert_eq!(
        typed(base, &["place.x=1"]).unwrap().to_string(),
        r#"{"z":1.50,"place":{"y":null,"x":1}}"#
    );
}

#[test]
fn words_that_say_no_value_are_refused_by_name() {
    for (words, message) in [
        (
            &["count=many"][..],
            "\"count\" must be a whole number, like 12, not \"many\"",
        ),
        (
            &["count=1.5"],
            "\"count\" must be a whole number, like 12, not \"1.5\"",
        ),
        (
            &["deep=perhaps"],
            "\"deep\" must be true or false, not \"perhaps\"",
        ),
        (
            &["level=middle"],
            "\"level\" must be one of low, high, not \"middle\"",
        ),
        (
            &["maybe=x"],
            "\"maybe\" must be a whole number, like 12, or null, not \"x\"",
        ),
        (
            &["place.x=y"],
            "\"place.x\" must be a whole number, like 12, not \"y\"",
        ),
        (&["place=y"], "\"place\" must be a JSON object, not \"y\""),
        (
            &["sizes=x"],
            "\"sizes[0]\" must be a whole number, like 12, not \"x\"",
        ),
        (
            &["people[1].age=5"],
            "\"people[1]\" skips items: the indices of a list go in order from 0",
        ),
        (
            &["deep=true", "deep=false"],
            "\"deep\" is given more than once and takes one value",
        ),
        (&["place:=[1]", "place.x=1"], "\"place\" is not an object"),
    ] {
        assert_eq!(typed(None, words), Err(message.to_owned()), "{words:?}");
    }
    let problem = typed(None, &["count:=x"]).unwrap_err();
    assert!(
        problem.starts_with("\"count\" must be JSON: ")
            && problem.ends_with("for text write count=…"),
        "{problem}"
    );
    assert_eq!(Assignment::parse("word"), None);
    assert_eq!(Assignment::parse(":=1"), None);
}

#[test]
fn problems_name_the_field_and_the_rule() {
    for (value, expected) in [
        (r#"{"name":"ab"}"#, &[][..]),
        ("{}", &["required: \"name\" is required and missing"][..]),
        (
            r#"{"name":"A"}"#,
            &[
                "minLength: \"name\" must have at least 2 characters, not 1",
                "pattern: \"name\" must match the pattern ^[a-z]+$",
            ],
        ),
        (
            r#"{"name":"ab","count":0,"ratio":1}"#,
            &["minimum: \"count\" must be at least 1, not 0"],
        ),
        (
            r#"{"name":"ab","count":1}"#,
            &["dependentRequired: \"ratio\" is required together with \"count\" and missing"],
        ),
        (
            r#"{"name":"ab","tags":["a","a"]}"#,
            &["uniqueItems: \"tags[1]\" is in the list already"],
        ),
        (
            r#"{"name":"ab","people":[{"age":1.5}]}"#,
            &["type: \"people[0].age\" must be a whole number, not a number with a fraction"],
        ),
        (
            r#"{"name":"ab","level":"x"}"#,
            &["enum: \"level\" must be one of low, high"],
        ),
        (
            r#"{"name":"ab","when":"2026-02-30"}"#,
            &["format: \"when\" must be a date like 2026-07-28"],
        ),
        (
            r#"{"name":"ab","maybe":"x"}"#,
            &["anyOf: \"maybe\" fits none of the 2 variants"],
        ),
        (
            r#"{"name":"ab","no":1}"#,
            &["additionalProperties: \"no\" is not a field that is taken here"],
        ),
        ("[]", &["type: the value must be an object, not a list"]),
    ] {
        let report = Form::new(&Json::parse(SCHEMA).unwrap()).check(&Value::parse(value).unwrap());
        let told: Vec<String> = report
            .problems
            .iter()
            .map(|problem| format!("{}: {}", problem.rule, problem.message))
            .collect();
        assert_eq!(told, expected, "{value}");
        assert!(report.unchecked.is_empty());
    }
}

/// Sixty fields with every kind of widget, each typed in words and checked before anything is sent.
#[test]
fn a_form_of_sixty_fields_is_typed_and_checked() {
    // The schema of a field, the word that follows its name, what becomes of it, and a value that
    // is not allowed, with the complaint.
    let kinds = [
        (
            r#"{"type":"string","maxLength":3}"#,
            "=abc",
            r#""abc""#,
            r#""abcd""#,
            "must have at most 3 characters, not 4",
        ),
        (
            r#"{"type":"string","contentMediaType":"text/html"}"#,
            "=<b>",
            r#""<b>""#,
            "1",
            "must be text, not a whole number",
        ),
        (
            r#"{"type":"string","format":"password","minLength":2}"#,
            "=pw",
            r#""pw""#,
            r#""p""#,
            "must have at least 2 characters, not 1",
        ),
        (
            r#"{"type":"number","maximum":0.3}"#,
            "=0.30",
            "0.30",
            "0.31",
            "must be at most 0.3, not 0.31",
        ),
        (
            r#"{"type":"integer","multipleOf":3}"#,
            "=9007199254740993",
            "9007199254740993",
            "9007199254740994",
            "must be a multiple of 3, not 9007199254740994",
        ),
        (
            r#"{"type":"boolean"}"#,
            "=yes",
            r#"true"#,
            r#""yes""#,
            "must be true or false, not text",
        ),
        (
            r#"{"enum":["a",2]}"#,
            "=2",
            "2",
            r#""2""#,
            "must be one of a, 2",
        ),
        (
            r#"{"type":"array","items":{"enum":["a","b"]},"maxItems":1}"#,
            "=a",
            r#"["a"]"#,
            r#"["a","b"]"#,
            "must have at most 1 items, not 2",
        ),
        (
            r#"{"type":"array","items":{"type":"integer"}}"#,
            "[0]=5",
            "[5]",
            r#"{}"#,
            "must be a list, not an object",
        ),
        (
            r#"{"type":"object","properties":{"x":{"type":"integer"}}}"#,
            ".x=5",
            r#"{"x":5}"#,
            "[]",
            "must be an object, not a list",
        ),
        (
            r#"{"oneOf":[{"type":"integer"},{"type":"object","properties":{"k":{"const":"v"}}}]}"#,
            ".k=v",
            r#"{"k":"v"}"#,
            r#""x""#,
            "fits none of the 2 variants",
        ),
        (
            r#"{"not":{"type":"null"}}"#,
            ":=[1e400]",
            "[1e400]",
            "null",
            "is of a kind that is excluded",
        ),
    ];
    let sixty: Vec<_> = (0..60)
        .map(|number| (format!("f{number}"), kinds[number % kinds.len()]))
        .collect();
    let members: Vec<String> = sixty
        .iter()
        .map(|(name, (schema, ..))| format!("\"{name}\":{schema}"))
        .collect();
    let schema = format!(
        r#"{{"type":"object","properties":{{{}}},"required":["f0","f59"]}}"#,
        members.join(",")
    );
    let form = Form::new(&Json::parse(&schema).unwrap());
    let words = sixty
        .iter()
        .map(|(name, (_, word, ..))| Assignment::parse(&format!("{name}{word}")).unwrap());
    let value = assign(&form, None, &words.collect::<Vec<_>>()).unwrap();
    let expected: Vec<String> = sixty
        .iter()
        .map(|(name, (_, _, json, ..))| format!("\"{name}\":{json}"))
        .collect();
    assert_eq!(value.to_string(), format!("{{{}}}", expected.join(",")));
    assert_eq!(form.check(&value), attache_view::form::Report::default());

    let wrong: Vec<String> = sixty
        .iter()
        .map(|(name, (_, _, _, wrong, _))| format!("\"{name}\":{wrong}"))
        .collect();
    let report = form.check(&Value::parse(&format!("{{{}}}", wrong.join(","))).unwrap());
    let told: Vec<&str> = report
        .problems
        .iter()
        .map(|problem| problem.message.as_str())
        .collect();
    let complaints: Vec<String> = sixty
        .iter()
        .map(|(name, (.., complaint))| format!("\"{name}\" {complaint}"))
        .collect();
    assert_eq!(told, complaints);
}
