use super::*;

const OPEN: &str = r##"{
    "type":"object",
    "properties":{
        "name":{"type":"string"},
        "count":{"type":"integer","maximum":9},
        "level":{"enum":["low","high"]},
        "place":{"type":"object","properties":{"width":{"type":"integer"}},"additionalProperties":false}
    },
    "required":["name"]
}"##;

fn assembled(
    schema: &str,
    whole: Option<&str>,
    words: &[&str],
    validation: Validation,
) -> Result<Assembled, Failure> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let form = Form::new(&Json::parse(schema).unwrap());
    let whole = whole.map(read_whole).transpose()?;
    assemble(whole, &parse(&words)?, &form, "t", validation)
}

#[test]
fn words_files_and_the_whole_object_combine() {
    let both = assembled(
        OPEN,
        Some(r#"{"name":"n","place":{"width":123456789012345678901234567890}}"#),
        &["count=3", "level=high"],
        Validation::Required,
    );
    assert_eq!(
        both.unwrap().arguments.as_str(),
        r#"{"name":"n","place":{"width":123456789012345678901234567890},"count":3,"level":"high"}"#
    );
}

#[track_caller]
fn check_failure(schema: &str, words: &[&str], message: &str, hint: &str) -> Failure {
    let failure = assembled(schema, None, words, Validation::Required).unwrap_err();
    assert_eq!(failure.message, message);
    assert_eq!(failure.hint.as_deref().unwrap_or_default(), hint);
    assert_eq!(failure.exit as u8, 2);
    failure
}

#[test]
fn mistakes_name_the_argument_the_rule_and_the_remedy() {
    let takes = |field: &str, kind: &str| {
        format!("\"{field}\" takes {kind}; --no-validate sends the arguments as they are")
    };
    for (words, message, hint) in [
        (
            &["name=n", "count=x"][..],
            "argument \"count\" must be a whole number, like 12, not \"x\"",
            takes("count", "integer"),
        ),
        (
            &["name=n", "count=10"],
            "argument \"count\" must be at most 9, not 10 (rule \"maximum\")",
            takes("count", "integer"),
        ),
        (
            &["name=n", "level=medium"],
            "argument \"level\" must be one of low, high, not \"medium\"",
            takes("level", "low|high"),
        ),
        (
            &["name=n", "place.width=a"],
            "argument \"place.width\" must be a whole number, like 12, not \"a\"",
            takes("place.width", "integer"),
        ),
        (
            &["name:=1"],
            "argument \"name\" must be text, not a whole number (rule \"type\")",
            takes("name", "string"),
        ),
        (
            &["name=n", "place.widht=1"],
            "t has no argument \"place.widht\"",
            "did you mean \"place.width\"?".to_owned(),
        ),
        (
            &[],
            "t needs the argument \"name\" (string)",
            "it takes: name=<string> [count=<integer>] [level=<low|high>] [place=<object>]"
                .to_owned(),
        ),
        (
            &["nam=n"],
            "t needs the argument \"name\" (string)",
            "did you mean \"name\" by \"nam\"?".to_owned(),
        ),
    ] {
        check_failure(OPEN, words, message, &hint);
    }
}

#[test]
fn all_mistakes_are_told_and_a_misspelt_name_first() {
    let closed = r#"{"properties":{"message":{"type":"string"},"n":{"type":"integer"}},
        "required":["message"],"additionalProperties":false}"#;
    let failure = check_failure(
        closed,
        &["mesage=x", "n:=1.5"],
        "t has no argument \"mesage\"",
        "did you mean \"message\"?",
    );
    assert_eq!(
        failure.details,
        [
            "argument \"n\" must be a whole number, not a number with a fraction (rule \"type\")",
            "t needs the argument \"message\" (string)",
        ]
    );
    let data = failure.data.unwrap().to_value().unwrap();
    assert_eq!(data["problems"][0]["rule"], "additionalProperties");
    assert_eq!(data["problems"][1]["path"], serde_json::json!(["n"]));
    let nothing = r#"{"type":"object","additionalProperties":false}"#;
    check_failure(
        nothing,
        &["x=1"],
        "t has no argument \"x\"",
        "it takes no arguments",
    );
}

#[test]
fn names_that_an_open_schema_lacks_are_mentioned() {
    let open = assembled(OPEN, None, &["name=n", "cuont=1"], Validation::Required).unwrap();
    assert_eq!(
        open.notes,
        [
            "the schema of t does not mention \"cuont\"; it is sent all the same; \
          did you mean \"count\"?"
        ]
    );
    assert_eq!(open.arguments.as_str(), r#"{"name":"n","cuont":"1"}"#);
    // Where it says that it takes others, or nothing at all, there is nothing to mention.
    for schema in [
        r#"{"properties":{"a":{}},"additionalProperties":{"type":"string"}}"#,
        "{}",
    ] {
        let open = assembled(schema, None, &["x=1"], Validation::Required).unwrap();
        assert_eq!(open.notes, [""; 0], "{schema}");
    }
}

#[test]
fn what_does_not_fit_is_sent_on_purpose_only() {
    let words = ["count=many", "level=9", "place.width=1", "zzz:=[1]"];
    let sent = assembled(OPEN, None, &words, Validation::Skipped).unwrap();
    assert_eq!(
        sent.arguments.as_str(),
        r#"{"count":"many","level":"9","place":{"width":1},"zzz":[1]}"#
    );
}

#[test]
fn words_that_are_no_arguments_are_refused() {
    for (word, message) in [
        ("x", "\"x\" is not an argument"),
        ("=x", "\"=x\" has no name before its `=`"),
        (":=x", "\":=x\" has no name before its `=`"),
    ] {
        assert_eq!(parse_one(word).unwrap_err().message, message);
    }
    for (whole, message) in [
        ("[1]", "--args: not a JSON object"),
        (
            "{",
            "--args: not JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            "@/nowhere/at/all",
            "--args: cannot read /nowhere/at/all: No such file or directory (os error 2)",
        ),
    ] {
        assert_eq!(read_whole(whole).unwrap_err().message, message);
    }
}

#[test]
fn files_are_read_up_to_the_limit() {
    let folder = attache_testkit::scratch::Scratch::new("arguments").unwrap();
    let file = folder.path().join("value");
    let word = format!("name=@{}", file.display());
    let read = || parse_one(&word).map(|given| given.text);
    std::fs::write(&file, "hi\n").unwrap();
    assert_eq!(read().unwrap(), "hi\n");
    std::fs::write(&file, b"\xff").unwrap();
    assert!(read().unwrap_err().message.ends_with("is not UTF-8 text"));
    std::fs::write(&file, vec![b'x'; MOST_BYTES as usize]).unwrap();
    assert_eq!(read().unwrap().len() as u64, MOST_BYTES);
    std::fs::write(&file, vec![b'x'; MOST_BYTES as usize + 1]).unwrap();
    assert!(
        read()
            .unwrap_err()
            .message
            .ends_with("more than 16777216 bytes")
    );
}
