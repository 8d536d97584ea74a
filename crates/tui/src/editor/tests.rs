//! What keys make of a form.

use std::sync::Arc;

use attache::protocol::Json;
use attache_view::Value;
use attache_view::form::Form;

use super::*;
use crate::testing::{ascii, colored, drawn, keys, styles, text, without_colors};

fn form(schema: &str) -> Arc<Form> {
    Arc::new(Form::new(&Json::parse(schema).unwrap()))
}

fn editor(schema: &str, initial: Option<&str>) -> FormEditor {
    let initial = initial.map(|text| Value::parse(text).unwrap());
    let options = EditorOptions {
        has_call_options: true,
        can_complete: false,
        verb: "run",
    };
    FormEditor::new(form(schema), initial, options)
}

fn object(properties: &str) -> String {
    format!(r#"{{"type":"object","properties":{{{properties}}}}}"#)
}

fn value(editor: &FormEditor) -> String {
    let value = editor.submission().value;
    value.map_or("unset".to_owned(), |json| json.as_str().to_owned())
}

/// Begins with nothing, presses keys, and compares the value.
fn check(properties: &str, cases: &[(&str, &str)]) {
    for (typed, expected) in cases {
        let mut editor = editor(&object(properties), None);
        keys(&mut editor, typed);
        assert_eq!(value(&editor), *expected, "{properties} after {typed}");
        // Whatever the keys did, it can be drawn.
        drawn(&mut editor, (30, 8), &colored());
    }
}

#[test]
fn texts() {
    check(
        r#""a":{"type":"string"},"b":{"type":"string"}"#,
        &[
            ("enter =hi enter", r#"{"a":"hi"}"#),
            ("enter =hi tab =there f2", r#"{"a":"hi","b":"there"}"#),
            ("enter =hi esc down enter =x esc", r#"{"a":"hi","b":"x"}"#),
            // An emptied field is left out; the space bar enters the empty text.
            ("enter =h backspace esc", "{}"),
            ("space", r#"{"a":""}"#),
            ("enter =hi esc u", "{}"),
            ("enter =q esc enter =r ctrl-y esc", r#"{"a":"q"}"#),
            ("enter =qrs_t esc", r#"{"a":"qrs t"}"#),
        ],
    );
    check(
        r#""content":{"type":"string"}"#,
        &[("enter =a enter =b esc", r#"{"content":"a\nb"}"#)],
    );
}

#[test]
fn secrets_are_neither_drawn_nor_kept() {
    let schema = object(r#""password":{"type":"string"},"a":{"type":"string"}"#);
    let mut editor = editor(&schema, None);
    keys(&mut editor, "enter =hunter2");
    assert!(!text(&drawn(&mut editor, (60, 12), &colored())).contains("hunter"));
    keys(&mut editor, "tab =x esc");
    assert!(!text(&drawn(&mut editor, (60, 12), &colored())).contains("hunter"));
    assert_eq!(value(&editor), r#"{"password":"hunter2","a":"x"}"#);
    assert_eq!(editor.keepable().unwrap().to_string(), r#"{"a":"x"}"#);
    // Nor does the JSON of the same value show it, and it survives there.
    keys(&mut editor, "e");
    let shown = text(&drawn(&mut editor, (60, 12), &colored()));
    assert!(shown.contains(r#""password": "********""#), "{shown}");
    keys(&mut editor, "down down end backspace =y\" esc");
    assert_eq!(value(&editor), r#"{"password":"hunter2","a":"xy"}"#);
}

#[test]
fn numbers_are_kept_as_typed_and_half_a_number_is_not_dropped() {
    check(
        r#""n":{"type":"number"}"#,
        &[
            ("enter =1e5 esc", r#"{"n":1e5}"#),
            (
                "enter =123456789012345678901234567890.10 esc",
                r#"{"n":123456789012345678901234567890.10}"#,
            ),
            ("enter =-0.5 enter", r#"{"n":-0.5}"#),
        ],
    );
    let mut editor = editor(&object(r#""n":{"type":"integer","minimum":3}"#), None);
    keys(&mut editor, "enter =1.");
    assert_eq!(editor.problems().problems.len(), 1);
    let shown = text(&drawn(&mut editor, (60, 10), &colored()));
    assert!(
        shown.contains("1.") && shown.contains("must be a whole number"),
        "{shown}"
    );
    assert!(matches!(keys(&mut editor, "f2"), Outcome::Used));
    keys(&mut editor, "down up");
    assert!(text(&drawn(&mut editor, (60, 10), &colored())).contains("1."));
    keys(&mut editor, "enter backspace =2");
    assert_eq!(value(&editor), r#"{"n":12}"#);
    assert!(matches!(keys(&mut editor, "f2"), Outcome::Submit));
}

#[test]
fn sending_what_does_not_fit_is_possible_on_purpose_only() {
    let mut editor = editor(
        r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
        None,
    );
    assert!(matches!(keys(&mut editor, "f2"), Outcome::Used));
    assert!(matches!(keys(&mut editor, "ctrl-x"), Outcome::Submit));
    keys(&mut editor, "g enter =x");
    assert!(matches!(keys(&mut editor, "f2"), Outcome::Used));
    assert!(matches!(keys(&mut editor, "ctrl-x"), Outcome::Submit));
    assert_eq!(value(&editor), r#"{"n":"x"}"#);
}

#[test]
fn booleans_have_three_states_where_they_are_optional() {
    check(
        r#""b":{"type":"boolean"}"#,
        &[
            ("space", r#"{"b":true}"#),
            ("space space", r#"{"b":false}"#),
            ("space space enter", "{}"),
            ("left", r#"{"b":false}"#),
        ],
    );
    check(
        r#""b":{"type":["boolean","null"]}"#,
        &[
            ("space space space", r#"{"b":null}"#),
            ("0", r#"{"b":null}"#),
        ],
    );
    let required = r#"{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}"#;
    let mut editor = editor(required, None);
    keys(&mut editor, "space space space");
    assert_eq!(value(&editor), r#"{"b":true}"#);
}

#[test]
fn choices_keep_their_type_and_are_found_by_typing() {
    let many: Vec<String> = (0..5_000).map(|n| format!("\"item{n}\"")).collect();
    check(
        &format!(r#""c":{{"enum":[{}]}}"#, many.join(",")),
        &[
            ("enter =item4711 enter", r#"{"c":"item4711"}"#),
            ("enter end enter", r#"{"c":"item4999"}"#),
            ("enter pagedown esc", "unset"),
            ("enter =nothing_like_it enter esc", "unset"),
        ],
    );
    check(
        r#""c":{"enum":[1,"1",null,true]}"#,
        &[
            ("right", r#"{"c":1}"#),
            ("right right", r#"{"c":"1"}"#),
            ("enter down down down enter", r#"{"c":null}"#),
            ("right right left left", "{}"),
            ("left", r#"{"c":true}"#),
        ],
    );
    check(
        r#""c":{"oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}"#,
        &[("enter =gre enter", r#"{"c":"g"}"#)],
    );
    check(
        r#""c":{"type":"array","items":{"enum":["mo","tu","we"]},"uniqueItems":true}"#,
        &[
            ("enter space down down space enter", r#"{"c":["mo","we"]}"#),
            ("enter space space esc", r#"{"c":[]}"#),
            ("enter =tu space enter", r#"{"c":["tu"]}"#),
        ],
    );
}

#[test]
fn only_the_choices_in_view_are_drawn() {
    let many: Vec<String> = (0..5_000).map(|n| format!("\"item{n}\"")).collect();
    let schema = object(&format!(r#""c":{{"enum":[{}]}}"#, many.join(",")));
    let mut editor = editor(&schema, None);
    keys(&mut editor, "enter =item_49");
    let shown = text(&drawn(&mut editor, (60, 12), &colored()));
    assert!(shown.contains("item49 ") || shown.contains("item49\n") || shown.contains("item49│"));
    assert!(shown.contains("of 5001"), "{shown}");
}

#[test]
fn lists_grow_shrink_move_and_nest() {
    check(
        r#""l":{"type":"array","items":{"type":"string"}}"#,
        &[
            ("+ =a enter", r#"{"l":["a"]}"#),
            ("+ =a esc + =b esc", r#"{"l":["a","b"]}"#),
            ("+ =a esc + =b esc K", r#"{"l":["b","a"]}"#),
            ("+ =a esc + =b esc K J", r#"{"l":["a","b"]}"#),
            ("+ =a esc + =b esc D", r#"{"l":["a","b","b"]}"#),
            ("+ =a esc + =b esc -", r#"{"l":["a"]}"#),
            ("+ =a esc + =b esc up delete", r#"{"l":["b"]}"#),
            ("+ =a esc u u", r#"{"l":[]}"#),
            ("+ =a esc g u", "{}"),
            ("space", r#"{"l":[]}"#),
        ],
    );
    check(
        r#""l":{"type":"array","items":{"type":"integer","minimum":2}}"#,
        &[("+ =7 esc + esc", r#"{"l":[7,2]}"#)],
    );
    check(
        r#""l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}"#,
        &[
            ("+ down enter =1 esc", r#"{"l":[{"x":"1"}]}"#),
            (
                "+ down enter =1 esc D down enter =2 esc",
                r#"{"l":[{"x":"1"},{"x":"12"}]}"#,
            ),
        ],
    );
    check(
        r#""t":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}"#,
        &[
            ("space down enter =a tab =5 esc", r#"{"t":["a",5]}"#),
            ("space + =x", r#"{"t":["",0]}"#),
        ],
    );
}

#[test]
fn objects_are_sections_and_take_further_members() {
    check(
        r#""o":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":{"type":"integer"}}"#,
        &[
            ("right down enter =v esc", r#"{"o":{"x":"v"}}"#),
            ("space", r#"{"o":{}}"#),
            ("space u", "{}"),
            ("space + =more enter =12 esc", r#"{"o":{"more":12}}"#),
            ("space + =more enter esc u", r#"{"o":{}}"#),
            (
                "space + =more enter esc + =more enter",
                r#"{"o":{"more":0}}"#,
            ),
            ("space + esc", r#"{"o":{}}"#),
            // Closed again, its fields are not reached.
            ("right left down u", "unset"),
        ],
    );
    check(
        r#""o":{"type":"object","patternProperties":{"^n":{"type":"integer"}},"additionalProperties":false}"#,
        &[("space + =n1 enter =3 esc", r#"{"o":{"n1":3}}"#)],
    );
}

const SHAPES: &str = r#"{"oneOf":[
    {"type":"object","title":"Circle","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
    {"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}]}"#;

#[test]
fn variants_keep_their_values_also_at_the_root() {
    let inner = format!(r#""s":{SHAPES}"#);
    check(
        &inner,
        &[
            ("enter =circ enter", r#"{"s":{"kind":"circle"}}"#),
            (
                "enter =circ enter down down enter =5 esc",
                r#"{"s":{"kind":"circle","r":5}}"#,
            ),
            (
                "enter =circ enter down down enter =5 esc g enter =square enter",
                r#"{"s":{"kind":"square"}}"#,
            ),
            (
                "enter =circ enter down down enter =5 esc g enter =square enter g enter =circ enter",
                r#"{"s":{"kind":"circle","r":5}}"#,
            ),
            ("enter =circ enter enter =not_set enter", "{}"),
        ],
    );
    let mut root = editor(SHAPES, None);
    keys(&mut root, "enter =square enter down down enter =2 esc");
    assert_eq!(value(&root), r#"{"kind":"square","side":2}"#);
    assert!(matches!(keys(&mut root, "f2"), Outcome::Submit));
    check(
        r#""l":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object","properties":{"x":{"type":"integer"}}}]}}"#,
        &[
            ("+ =a esc", r#"{"l":["a"]}"#),
            (
                "+ esc up enter down enter down enter =4 esc",
                r#"{"l":[{"x":4}]}"#,
            ),
        ],
    );
}

#[test]
fn null_is_a_value_of_its_own() {
    check(
        r#""n":{"type":["string","null"]},"m":{"type":"string"}"#,
        &[
            ("0", r#"{"n":null}"#),
            ("0 enter =x esc", r#"{"n":"x"}"#),
            ("0 enter esc", r#"{"n":null}"#),
            ("0 u", "{}"),
            ("down 0", "unset"),
        ],
    );
}

#[test]
fn what_has_no_form_is_edited_as_json() {
    check(
        r#""any":{}"#,
        &[
            (r#"enter ={"a":[1e400]} esc"#, r#"{"any":{"a":[1e400]}}"#),
            ("enter =7 esc", r#"{"any":7}"#),
            ("0", r#"{"any":null}"#),
            ("enter ={ esc", "unset"),
        ],
    );
    let mut editor = editor("true", None);
    keys(&mut editor, "enter =[1, esc");
    assert!(matches!(keys(&mut editor, "f2"), Outcome::Used));
    keys(&mut editor, "g enter =2] esc");
    assert_eq!(value(&editor), "[1,2]");
}

#[test]
fn recursion_opens_on_demand() {
    let schema = r##"{"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}"##;
    let mut editor = editor(schema, None);
    keys(
        &mut editor,
        "down enter down enter =1 esc down enter down enter =2 esc",
    );
    assert_eq!(value(&editor), r#"{"next":{"v":1,"next":{"v":2}}}"#);
}

#[test]
fn defaults_are_filled_in_and_examples_follow() {
    let schema =
        object(r#""a":{"type":"integer","default":5,"examples":[6,7]},"b":{"type":"string"}"#);
    let mut editor = editor(&schema, None);
    assert_eq!(value(&editor), r#"{"a":5}"#);
    for expected in ["6", "7", "5"] {
        keys(&mut editor, "x");
        assert_eq!(value(&editor), format!(r#"{{"a":{expected}}}"#));
    }
    // Left out is not the default.
    keys(&mut editor, "u");
    assert_eq!(value(&editor), "{}");
    keys(&mut editor, "ctrl-y");
    assert_eq!(value(&editor), r#"{"a":5}"#);
    keys(&mut editor, "u R");
    assert_eq!(value(&editor), r#"{"a":5}"#);
}

#[test]
fn read_only_fields_are_shown_and_not_typed() {
    let schema =
        object(r#""a":{"type":"string","readOnly":true},"b":{"type":"string","deprecated":true}"#);
    let mut editor = editor(&schema, Some(r#"{"a":"set"}"#));
    keys(&mut editor, "enter =x");
    assert_eq!(value(&editor), r#"{"a":"set"}"#);
    let shown = text(&drawn(&mut editor, (70, 12), &colored()));
    assert!(
        shown.contains("read-only") && shown.contains("deprecated"),
        "{shown}"
    );
}

#[test]
fn json_and_form_edit_one_value() {
    let schema = object(r#""a":{"type":"integer"},"b":{"type":"string"}"#);
    let mut editor = editor(&schema, Some(r#"{"b":"x","z":1.50}"#));
    keys(&mut editor, "e down end =, enter =\"a\":3");
    assert_eq!(
        value(&editor),
        r#"{"b":"x","z":1.50}"#,
        "two commas are no JSON"
    );
    let shown = text(&drawn(&mut editor, (60, 12), &colored()));
    assert!(shown.contains("not JSON"), "{shown}");
    // Text that is not JSON is kept until the person has been told.
    assert!(matches!(keys(&mut editor, "esc"), Outcome::Used));
    assert!(text(&drawn(&mut editor, (60, 12), &colored())).contains("\"a\":3"));
    keys(&mut editor, "=,");
    assert_eq!(value(&editor), r#"{"b":"x","z":1.50}"#);
    keys(&mut editor, "up end backspace esc");
    assert_eq!(value(&editor), r#"{"b":"x","a":3,"z":1.50}"#);
    keys(&mut editor, "g enter backspace =4 esc ctrl-t");
    let shown = text(&drawn(&mut editor, (60, 12), &colored()));
    assert!(shown.contains("\"a\": 4"), "{shown}");
}

#[test]
fn an_outside_editor_gives_its_text_back() {
    let schema = object(r#""body":{"type":"string"},"n":{"type":"integer"}"#);
    let mut editor = editor(&schema, Some(r#"{"n":1}"#));
    let Outcome::Request(Request::Edit { text, extension }) = keys(&mut editor, "ctrl-e") else {
        panic!("no request");
    };
    assert_eq!((text.as_str(), extension), ("{\n  \"n\": 1\n}", "json"));
    editor.input(Input::Edited("{\"n\":2}\n"));
    assert_eq!(value(&editor), r#"{"n":2}"#);
    // Text that is not JSON comes back to be mended.
    editor.input(Input::Edited("{\"n\":"));
    assert!(text_of(&mut editor).contains("not JSON"));
    keys(&mut editor, "end =3}");
    assert_eq!(value(&editor), r#"{"n":3}"#);
    keys(&mut editor, "esc g enter =draft");
    let Outcome::Request(Request::Edit { text, extension }) = keys(&mut editor, "ctrl-e") else {
        panic!("no request");
    };
    assert_eq!((text.as_str(), extension), ("draft", "txt"));
    editor.input(Input::Edited("long\ntext\n"));
    assert_eq!(value(&editor), r#"{"n":3,"body":"long\ntext"}"#);
}

fn text_of(editor: &mut FormEditor) -> String {
    text(&drawn(editor, (80, 24), &colored()))
}

#[test]
fn a_paste_is_text_and_never_keys() {
    let schema = object(r#""a":{"type":"string"},"b":{"type":"boolean"}"#);
    let mut editor = editor(&schema, None);
    editor.input(Input::Paste("one\ntwo u u u"));
    assert_eq!(value(&editor), r#"{"a":"one\ntwo u u u"}"#);
    keys(&mut editor, "esc down");
    editor.input(Input::Paste("yes"));
    assert_eq!(value(&editor), r#"{"a":"one\ntwo u u u"}"#);
}

#[test]
fn completions_are_asked_for_and_taken() {
    let schema = object(r#""city":{"type":"string"},"land":{"type":"string"}"#);
    let options = EditorOptions {
        can_complete: true,
        ..EditorOptions::default()
    };
    let initial = Value::parse(r#"{"land":"fr"}"#).unwrap();
    let mut editor = FormEditor::new(form(&schema), Some(initial), options);
    let Outcome::Request(Request::Complete(asked)) = keys(&mut editor, "enter =pa") else {
        panic!("no question");
    };
    assert_eq!(
        (asked.argument.as_str(), asked.value.as_str()),
        ("city", "pa")
    );
    assert_eq!(asked.others, [("land".to_owned(), "fr".to_owned())]);
    editor.completions(asked.serial - 1, vec!["old".to_owned()]);
    assert!(!text_of(&mut editor).contains("old"));
    editor.completions(
        asked.serial,
        vec!["paris".to_owned(), "pau\u{1b}".to_owned()],
    );
    assert!(text_of(&mut editor).contains("pau\\u{1b}"));
    keys(&mut editor, "down enter");
    assert_eq!(value(&editor), r#"{"land":"fr","city":"paris"}"#);
    // Escape closes the list first, then the field.
    let Outcome::Request(Request::Complete(asked)) = keys(&mut editor, "=x") else {
        panic!("no question");
    };
    editor.completions(asked.serial, vec!["parisx".to_owned()]);
    keys(&mut editor, "esc");
    assert!(editor.contexts().contains(&Context::Text));
    keys(&mut editor, "esc");
    assert!(!editor.contexts().contains(&Context::Text));
}

#[test]
fn the_call_has_options_of_its_own() {
    let mut editor = editor(&object(r#""a":{"type":"string"}"#), None);
    keys(&mut editor, "ctrl-o down enter =2.5 esc down space");
    keys(&mut editor, "down space + =trace enter =\"x\" esc");
    let submission = editor.submission();
    assert_eq!(submission.timeout, Some(Duration::from_millis(2_500)));
    assert!(submission.as_task);
    assert_eq!(submission.meta.unwrap().as_str(), r#"{"trace":"x"}"#);
    assert!(matches!(keys(&mut editor, "f2"), Outcome::Submit));
    keys(&mut editor, "ctrl-o ctrl-o down enter =x f2");
    assert!(text_of(&mut editor).contains("in the call options"));
}

#[test]
fn escape_goes_back_and_closes_last() {
    let mut editor = editor(&object(r#""a":{"enum":["x"]},"b":{"type":"string"}"#), None);
    assert!(matches!(keys(&mut editor, "enter esc"), Outcome::Used));
    assert!(matches!(keys(&mut editor, "down enter esc"), Outcome::Used));
    assert!(matches!(keys(&mut editor, "esc"), Outcome::Close));
}

const EVERYTHING: &str = r##"{"type":"object","title":"Everything","required":["name","count"],"properties":{
    "name":{"type":"string","description":"Who it is for. A line that is long enough to be wrapped in a small terminal.","minLength":2},
    "body":{"type":"string"},
    "api_key":{"type":"string"},
    "count":{"type":"integer","minimum":1,"maximum":10,"examples":[3,4]},
    "sure":{"type":"boolean","default":true},
    "size":{"enum":["small","large"],"default":"small"},
    "days":{"type":"array","items":{"enum":["mo","tu","we"]}},
    "tags":{"type":"array","items":{"type":"string"},"maxItems":3},
    "place":{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"zip":{"type":"string","pattern":"^[0-9]+$"}}},
    "shape":{"oneOf":[{"title":"Circle","type":"object","properties":{"r":{"type":"number"}}},{"title":"Square","type":"object","properties":{"side":{"type":"number"}}}]},
    "extra":{"type":"object","additionalProperties":{"type":"integer"}},
    "anything":{},
    "maybe":{"type":["string","null"]},
    "old":{"type":"string","deprecated":true},
    "id":{"type":"string","readOnly":true}
}}"##;

const FILLED: &str = r#"{"name":"A","body":"one\ntwo","api_key":"k","count":12345678901234567890,"sure":false,"size":"large",
    "days":["mo","we"],"tags":["a","b"],"place":{"zip":"x"},"shape":{"r":1},"anything":{"deep":[1]},"maybe":null,"id":"7","unknown":1}"#;

#[test]
fn a_form_looks_like_this() {
    let mut screens = String::new();
    for (name, size, theme) in [
        ("40×10", (40, 10), colored()),
        ("80×24", (80, 24), colored()),
        ("40×10 ascii", (40, 10), ascii()),
        ("120×40", (120, 40), without_colors()),
    ] {
        let mut fresh = editor(EVERYTHING, None);
        let mut filled = editor(EVERYTHING, Some(FILLED));
        for (state, editor) in [("fresh", &mut fresh), ("filled", &mut filled)] {
            let screen = text(&drawn(editor, size, &theme));
            screens += &format!("== {state}, {name}\n{screen}\n");
        }
    }
    insta::assert_snapshot!(screens);
}

#[test]
fn what_is_open_looks_like_this() {
    let mut screens = String::new();
    for (name, pressed, size, theme) in [
        ("typing", "enter =x", (80, 20), colored()),
        (
            "several lines",
            "down enter =first enter =second",
            (80, 20),
            colored(),
        ),
        (
            "choosing",
            "down down down down down enter",
            (80, 20),
            colored(),
        ),
        (
            "ticking",
            "down down down down down down enter space",
            (60, 16),
            ascii(),
        ),
        ("JSON", "ctrl-t", (60, 16), colored()),
        ("broken JSON", "ctrl-t end =x", (60, 16), without_colors()),
        ("refused", "f2", (80, 24), colored()),
        ("options", "ctrl-o", (80, 20), ascii()),
    ] {
        let mut editor = editor(EVERYTHING, None);
        keys(&mut editor, pressed);
        let buffer = drawn(&mut editor, size, &theme);
        screens += &format!("== {name}\n{}\n", text(&buffer));
    }
    insta::assert_snapshot!(screens);
}

#[test]
fn meanings_are_in_styles_with_and_without_colours() {
    let mut shown = String::new();
    for (name, theme) in [("colour", colored()), ("no colour", without_colors())] {
        let mut editor = editor(EVERYTHING, Some(FILLED));
        keys(&mut editor, "down");
        shown += &format!(
            "== {name}\n{}\n",
            styles(&drawn(&mut editor, (70, 20), &theme))
        );
    }
    insta::assert_snapshot!(shown);
}
