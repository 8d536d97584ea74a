//! Arguments typed at the shell, for a tool with sixty fields of every kind: typed by the schema,
//! checked before anything is sent, and refused by field and rule.

use attache_testkit::chaos::{Action, Launch, Script};
use serde_json::{Value, json};

use crate::harness::{Outcome, Scratch, run_on};

/// The schema of a field, the word that follows its name, what becomes of it, a word that does not
/// fit, and what is said about that.
type Kind = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const KINDS: [Kind; 15] = [
    (
        r#"{"type":"string","maxLength":3,"pattern":"^[a-z]+$"}"#,
        "=abc",
        r#""abc""#,
        "=abcd",
        "must have at most 3 characters, not 4 (rule \"maxLength\")",
    ),
    (
        r#"{"type":"string","format":"date"}"#,
        "=2026-02-28",
        r#""2026-02-28""#,
        "=2026-02-30",
        "must be a date like 2026-07-28 (rule \"format\")",
    ),
    (
        r#"{"type":"string","format":"password","minLength":2}"#,
        "=pw",
        r#""pw""#,
        "=p",
        "must have at least 2 characters, not 1 (rule \"minLength\")",
    ),
    (
        r#"{"type":"number","maximum":0.3}"#,
        "=0.30",
        "0.30",
        "=0.31",
        "must be at most 0.3, not 0.31 (rule \"maximum\")",
    ),
    (
        r#"{"type":"integer","multipleOf":3}"#,
        "=9007199254740993000000000000000000",
        "9007199254740993000000000000000000",
        "=9007199254740993000000000000000001",
        "must be a multiple of 3, not 9007199254740993000000000000000001 (rule \"multipleOf\")",
    ),
    (
        r#"{"type":"boolean"}"#,
        "=yes",
        "true",
        "=perhaps",
        "must be true or false, not \"perhaps\"",
    ),
    (
        r#"{"enum":["a",2,null]}"#,
        "=2",
        "2",
        "=b",
        "must be one of a, 2, null, not \"b\"",
    ),
    (
        r#"{"oneOf":[{"const":1,"title":"One"},{"const":2,"title":"Two"}]}"#,
        "=Two",
        "2",
        ":=3",
        "fits none of the 2 variants (rule \"oneOf\")",
    ),
    (
        r#"{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}"#,
        "=b",
        r#"["b"]"#,
        r#":=["a","a"]"#,
        "is in the list already (rule \"uniqueItems\")",
    ),
    (
        r#"{"type":"array","items":{"type":"integer"}}"#,
        "[0]=5",
        "[5]",
        "=five",
        "must be a whole number, like 12, not \"five\"",
    ),
    (
        r#"{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}"#,
        r#":=["a",1]"#,
        r#"["a",1]"#,
        r#":=["a",1,2]"#,
        "is not allowed (rule \"false\")",
    ),
    (
        r#"{"type":"object","properties":{"width":{"type":"integer"}},"additionalProperties":false}"#,
        ".width=5",
        r#"{"width":5}"#,
        r#":={"width":1.5}"#,
        "must be a whole number, not a number with a fraction (rule \"type\")",
    ),
    (
        r#"{"oneOf":[{"type":"integer"},{"type":"object","properties":{"k":{"const":"v"}}}]}"#,
        ".k=v",
        r#"{"k":"v"}"#,
        r#":="x""#,
        "fits none of the 2 variants (rule \"oneOf\")",
    ),
    (
        r#"{"anyOf":[{"type":"integer","minimum":5},{"type":"null"}]}"#,
        "=null",
        "null",
        "=4",
        "must be at least 5, not 4 (rule \"minimum\")",
    ),
    (
        r#"{"not":{"type":"null"}}"#,
        ":=[1e300]",
        "[1e300]",
        ":=null",
        "is of a kind that is excluded (rule \"not\")",
    ),
];

/// Sixty fields, four of each kind; the first and the last are required.
fn fields() -> Vec<(String, Kind)> {
    let of_kind = |number: usize| (format!("f{number}"), KINDS[number % KINDS.len()]);
    (0..60).map(of_kind).collect()
}

fn server() -> Launch {
    let properties: serde_json::Map<String, Value> = fields()
        .into_iter()
        .map(|(name, (schema, ..))| (name, serde_json::from_str(schema).unwrap()))
        .collect();
    let schema = json!({
        "type": "object", "properties": properties, "required": ["f0", "f59"],
        "additionalProperties": false,
    });
    Script::legacy("2025-11-25")
        .tools([json!({"name": "sixty", "inputSchema": schema})])
        .on("tools/call", [Action::text("taken")])
        .launch()
        .unwrap()
}

fn call(launch: &Launch, words: &[&str]) -> Outcome {
    let text = |word: &std::ffi::OsStr| word.to_str().unwrap().to_owned();
    let mut server = vec![text(launch.program.as_os_str())];
    server.extend(launch.args.iter().map(|word| text(word)));
    run_on(&server, &[&["call", "sixty"], words].concat())
}

/// The arguments as they were sent.
fn sent(launch: &Launch) -> Value {
    let calls = launch.received_of("tools/call").unwrap();
    assert_eq!(calls.len(), 1, "{calls:?}");
    calls[0]["params"]["arguments"].clone()
}

#[test]
fn sixty_fields_of_every_kind_are_typed_by_their_schema() {
    let launch = server();
    // A third comes as one object from a file, the rest as words.
    let file = Scratch::new("sixty");
    let (whole, single): (Vec<_>, Vec<_>) = fields()
        .into_iter()
        .partition(|(name, _)| name[1..].parse::<usize>().unwrap() % 3 == 0);
    let members: Vec<String> = whole
        .iter()
        .map(|(name, (_, _, value, ..))| format!("\"{name}\":{value}"))
        .collect();
    std::fs::write(file.path(), format!("{{{}}}", members.join(","))).unwrap();
    let whole = format!("@{}", file.path().display());
    let words: Vec<String> = single
        .iter()
        .map(|(name, (_, word, ..))| format!("{name}{word}"))
        .collect();
    let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
    all.extend(["--args", &whole, "--verbose"]);
    let outcome = call(&launch, &all).expect(0);
    assert_eq!(outcome.stdout, "taken\n");
    let sent = sent(&launch);
    for (name, (_, _, value, ..)) in fields() {
        let value: Value = serde_json::from_str(value).unwrap();
        assert_eq!(sent[&name], value, "{name}");
    }
}

#[test]
fn each_field_that_does_not_fit_is_refused_by_field_and_rule_and_nothing_is_sent() {
    let launch = server();
    for (name, (_, _, _, wrong, complaint)) in fields().into_iter().skip(1).take(KINDS.len()) {
        let outcome = call(&launch, &["f0=a", "f59:=1", &format!("{name}{wrong}")]).expect(2);
        let says = |text: &str| outcome.stderr.contains(text);
        assert!(says(&format!("argument \"{name}")), "{outcome:?}");
        assert!(says(complaint), "{name}: {outcome:?}");
        assert!(says("--no-validate"), "{outcome:?}");
        assert_eq!(outcome.stdout, "");
    }
    let missing = call(&launch, &["f59:=1"]).expect(2);
    assert!(
        missing
            .stderr
            .contains("sixty needs the argument \"f0\" (string)"),
        "{missing:?}"
    );
    let misspelt = call(&launch, &["f0=a", "f59:=1", "f11.widht=1"]).expect(2);
    assert!(
        misspelt
            .stderr
            .contains("sixty has no argument \"f11.widht\"")
            && misspelt.stderr.contains("did you mean \"f11.width\"?"),
        "{misspelt:?}"
    );
    assert_eq!(launch.received_of("tools/call").unwrap(), [json!(null); 0]);

    // On purpose it goes out all the same.
    let words = ["f4=many", "zzz=1", "--no-validate"];
    call(&launch, &words).expect(0);
    assert_eq!(sent(&launch), json!({"f4": "many", "zzz": "1"}));
}

#[test]
fn all_mistakes_are_told_at_once_also_to_scripts() {
    let launch = server();
    let words = ["f0=a", "f59:=1", "f3=1", "f4=2", "f15=ABC", "--json"];
    let error = call(&launch, &words).expect(2).error();
    let problems = error["data"]["problems"].as_array().unwrap();
    let told: Vec<(&Value, &str)> = problems
        .iter()
        .map(|problem| (&problem["path"][0], problem["rule"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("f3"), "maximum"),
            (&json!("f4"), "multipleOf"),
            (&json!("f15"), "pattern"),
        ]
    );
    assert_eq!(launch.received_of("tools/call").unwrap().len(), 0);
}
