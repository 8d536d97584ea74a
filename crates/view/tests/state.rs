//! A form being filled in: one value, nothing dropped.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::Json;
use attache_view::Value;
use attache_view::form::{Form, Path, State};

fn form(schema: &str) -> Form {
    Form::new(&Json::parse(schema).unwrap())
}

fn state(value: &str) -> State {
    State::new(Some(Value::parse(value).unwrap()))
}

fn json(state: &State) -> String {
    state
        .to_json()
        .map_or("unset".to_owned(), |json| json.as_str().to_owned())
}

fn at(text: &str) -> Path {
    let steps = text.split('/').filter(|step| !step.is_empty());
    steps.fold(Path::default(), |path, step| match step.parse() {
        Ok(index) => path.index(index),
        Err(_) => path.key(step),
    })
}

#[test]
fn unset_null_and_default_are_three_things() {
    let form = form(
        r#"{"type":"object","properties":{"a":{"type":["integer","null"],"default":5},"b":{"type":"boolean"}}}"#,
    );
    let mut state = State::default();
    assert_eq!(json(&state), "unset");
    state.use_defaults(&form);
    assert_eq!(json(&state), r#"{"a":5}"#);
    state.set(&at("a"), Value::Null).unwrap();
    assert_eq!(json(&state), r#"{"a":null}"#);
    state.use_defaults(&form);
    assert_eq!(json(&state), r#"{"a":null}"#);
    state.unset(&at("a"));
    assert_eq!(json(&state), "{}");
    state.unset(&at(""));
    assert_eq!(json(&state), "unset");
}

#[test]
fn a_form_that_is_not_begun_tells_what_it_needs() {
    let form = form(r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#);
    let report = State::default().check(&form);
    assert_eq!(report.problems[0].message, "\"a\" is required and missing");
}

#[test]
fn text_that_says_no_value_is_kept_and_told() {
    let form = form(r#"{"type":"object","properties":{"n":{"type":"number"}}}"#);
    let mut state = state(r#"{"n":1.50,"x":1e400}"#);
    let typing = |state: &mut State, text: &str| {
        let fields = state.field(&form);
        state.enter(fields.find(&at("n")).unwrap(), text).is_ok()
    };
    for unfinished in ["-", "1.", "1e", ""] {
        assert!(!typing(&mut state, unfinished));
        assert_eq!(
            (state.draft(&at("n")), json(&state)),
            (Some(unfinished), r#"{"n":1.50,"x":1e400}"#.to_owned())
        );
        let report = state.check(&form);
        assert_eq!(report.problems.len(), 1, "{report:?}");
        assert_eq!(report.problems[0].rule, "syntax");
    }
    assert!(typing(&mut state, "1e5"));
    assert_eq!(
        (state.draft(&at("n")), json(&state)),
        (None, r#"{"n":1e5,"x":1e400}"#.to_owned())
    );
    assert!(state.check(&form).problems.is_empty());
}

#[test]
fn items_are_added_moved_and_taken_out_with_their_drafts() {
    let form =
        form(r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}}}"#);
    let mut state = State::default();
    for (at_index, item) in [(0, "1"), (9, "2"), (0, "3")] {
        state
            .insert_item(&at("l"), at_index, Value::parse(item).unwrap())
            .unwrap();
    }
    assert_eq!(json(&state), r#"{"l":[3,1,2]}"#);
    let fields = state.field(&form);
    assert!(state.enter(fields.find(&at("l/2")).unwrap(), "x").is_err());
    state.move_item(&at("l"), 2, 0);
    assert_eq!(
        (json(&state), state.draft(&at("l/0"))),
        (r#"{"l":[2,3,1]}"#.to_owned(), Some("x"))
    );
    state.duplicate_item(&at("l"), 1).unwrap();
    assert_eq!(json(&state), r#"{"l":[2,3,3,1]}"#);
    state.insert_item(&at("l"), 0, Value::Null).unwrap();
    assert_eq!(state.draft(&at("l/1")), Some("x"));
    state.unset(&at("l/0"));
    assert_eq!(
        (json(&state), state.draft(&at("l/0"))),
        (r#"{"l":[2,3,3,1]}"#.to_owned(), Some("x"))
    );
    state.unset(&at("l/0"));
    assert_eq!(
        (json(&state), state.draft(&at("l/0"))),
        (r#"{"l":[3,3,1]}"#.to_owned(), None)
    );
    assert!(state.duplicate_item(&at("l"), 7).is_err());
    assert!(state.insert_item(&at("l/0"), 0, Value::Null).is_err());
}

#[test]
fn a_variant_gets_back_what_it_held() {
    let form = form(
        r#"{"type":"object","properties":{"s":{"oneOf":[
            {"type":"object","properties":{"r":{"type":"number"}},"required":["r"]},
            {"type":"string"}]}}}"#,
    );
    let mut state = state(r#"{"s":{"r":1.0,"more":[]},"t":1}"#);
    let pick = |state: &mut State, variant| {
        let fields = state.field(&form);
        let root = fields
            .children()
            .into_iter()
            .find(|field| field.name == "s")
            .cloned()
            .unwrap();
        state.pick(&root, variant);
    };
    pick(&mut state, 1);
    assert_eq!(json(&state), r#"{"t":1}"#);
    let fields = state.field(&form);
    state
        .enter(fields.find(&at("s")).unwrap(), "round")
        .unwrap();
    assert_eq!(json(&state), r#"{"t":1,"s":"round"}"#);
    pick(&mut state, 0);
    assert_eq!(json(&state), r#"{"t":1,"s":{"r":1.0,"more":[]}}"#);
    pick(&mut state, 1);
    assert_eq!(json(&state), r#"{"t":1,"s":"round"}"#);
}

#[test]
fn what_is_added_begins_as_its_kind() {
    let form = form(
        r##"{"type":"object","properties":{
            "texts":{"type":"array","items":{"type":"string"}},
            "numbers":{"type":"array","items":{"type":"integer","minimum":3}},
            "flags":{"type":"array","items":{"type":"boolean"}},
            "pairs":{"type":"array","prefixItems":[{"type":"string","default":"x"},{"type":"number"}],"items":false},
            "shapes":{"type":"array","items":{"oneOf":[
                {"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind"]},
                {"type":"object","properties":{"kind":{"const":"square"}},"required":["kind"]}]}},
            "any":{"type":"array"}
        },"patternProperties":{"^n_":{"type":"number"}},"additionalProperties":{"type":"string"}}"##,
    );
    let mut state = State::default();
    for name in ["texts", "numbers", "flags", "shapes", "any"] {
        let fields = state.field(&form);
        let list = fields.find(&at(name)).unwrap();
        assert_eq!(state.add_item(&form, list).unwrap(), 0, "{name}");
    }
    let fields = state.field(&form);
    let pairs = fields.find(&at("pairs")).unwrap();
    state.begin(&form, pairs).unwrap();
    let fields = state.field(&form);
    let full = state.add_item(&form, fields.find(&at("pairs")).unwrap());
    assert_eq!(full.unwrap_err().message, "\"pairs\" takes no more items");
    for name in ["n_1", "other"] {
        state.add_member(&form, &fields, name).unwrap();
    }
    assert!(state.add_member(&form, &fields, "n_1").is_err());
    assert_eq!(
        json(&state),
        concat!(
            r#"{"texts":[""],"numbers":[3],"flags":[false],"shapes":[{"kind":"circle"}],"any":[null],"#,
            r#""pairs":["x",0],"n_1":0,"other":""}"#
        )
    );
    assert_eq!(state.check(&form).problems, []);
}

#[test]
fn drafts_are_sent_on_purpose_only_and_secrets_are_not_kept() {
    let form = form(
        r#"{"type":"object","properties":{"n":{"type":"integer"},"password":{"type":"string"},
            "all":{"type":"array","items":{"type":"object","properties":{"token":{"type":"string"}}}}}}"#,
    );
    let mut state = state(r#"{"n":1,"password":"p","all":[{"token":"t","a":2}]}"#);
    let fields = state.field(&form);
    state
        .enter(fields.find(&at("n")).unwrap(), "1.")
        .unwrap_err();
    let typed = state.as_typed().unwrap().to_string();
    assert_eq!(
        typed,
        r#"{"n":"1.","password":"p","all":[{"token":"t","a":2}]}"#
    );
    let kept = state.without_secrets(&form).unwrap().to_string();
    assert_eq!(kept, r#"{"n":1,"all":[{"a":2}]}"#);
}
