//! Whatever a schema says and whichever keys are pressed: no panic, every screen can be drawn, and
//! nothing of the server reaches the terminal but text (S13, S14).

use std::sync::Arc;

use attache::protocol::Json;
use attache_view::Value;
use attache_view::form::Form;
use proptest::prelude::*;

use super::{EditorOptions, FormEditor};
use crate::component::{Component as _, Input};
use crate::testing::{ascii, colored, drawn, key, press, text};

fn schema() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "true",
        "false",
        "{}",
        "7",
        r#"{"type":"string"}"#,
        r#"{"type":"string","title":"\u001b]0;x\u0007\u202e","default":"\u202e\n","examples":["a",1]}"#,
        r#"{"type":["integer","null"],"minimum":1e400,"default":3}"#,
        r#"{"type":"boolean"}"#,
        r#"{"enum":[1,"1",null,{"a":[]}]}"#,
        r#"{"const":5}"#,
        r##"{"$ref":"#"}"##,
        r##"{"$ref":"#/nowhere"}"##,
        r#"{"type":"array","items":{"enum":["a","b"]}}"#,
        r#"{"type":"string","format":"password"}"#,
        r#"{"type":"string","maxLength":5000,"pattern":"(a*)*b"}"#,
        r#"{"type":[]}"#,
        r#"{"allOf":[{"type":"string"},{"type":"number"}]}"#,
    ]);
    let leaf = leaf.prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|parts| {
                let members: Vec<String> = parts
                    .iter()
                    .enumerate()
                    .map(|(at, part)| format!(r#""k{at}":{part}"#))
                    .collect();
                format!(
                    r#"{{"type":"object","required":["k0"],"properties":{{{}}},"additionalProperties":{{}}}}"#,
                    members.join(",")
                )
            }),
            inner.clone().prop_map(|part| format!(r#"{{"type":"array","items":{part}}}"#)),
            prop::collection::vec(inner.clone(), 1..3)
                .prop_map(|parts| format!(r#"{{"prefixItems":[{}],"items":false}}"#, parts.join(","))),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!(r#"{{"oneOf":[{}]}}"#, parts.join(","))),
            (inner.clone(), inner)
                .prop_map(|(one, other)| format!(r#"{{"if":{one},"then":{other},"type":"object"}}"#)),
        ]
    })
}

fn value() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(vec![
        "null",
        "{}",
        "[]",
        "[1,[2],{\"k0\":3}]",
        r#"{"k0":{"k0":[1]},"k1":"\u202e","z":1e999}"#,
        "\"\\u001b[2J\"",
    ]))
}

const KEYS: &[&str] = &[
    "enter",
    "enter",
    "space",
    "tab",
    "shift-tab",
    "up",
    "down",
    "down",
    "left",
    "right",
    "esc",
    "backspace",
    "delete",
    "home",
    "end",
    "pageup",
    "pagedown",
    "j",
    "k",
    "G",
    "g",
    "+",
    "-",
    "J",
    "K",
    "D",
    "u",
    "0",
    "x",
    "R",
    "e",
    "1",
    ".",
    "\"",
    "{",
    "a",
    "ctrl-t",
    "ctrl-o",
    "ctrl-n",
    "ctrl-y",
    "ctrl-x",
    "ctrl-e",
    "f2",
    "ctrl-k",
    "ctrl-w",
    "alt-up",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_keys_on_random_schemas_do_no_harm(
        schema in schema(),
        initial in value(),
        pressed in prop::collection::vec(prop::sample::select(KEYS), 0..60),
        size in prop::sample::select(vec![(1_u16, 1_u16), (3, 2), (17, 5), (80, 24)]),
    ) {
        let form = Arc::new(Form::new(&Json::parse(&schema).unwrap()));
        let initial = initial.map(|text| Value::parse(text).unwrap());
        let options = EditorOptions { has_call_options: true, can_complete: true, verb: "run" };
        let mut editor = FormEditor::new(form, initial, options);
        for (at, name) in pressed.iter().enumerate() {
            press(&mut editor, key(name));
            if at % 7 == 0 {
                editor.input(Input::Paste("p\u{202e}\n2"));
                editor.completions(at as u64, vec!["\u{1b}c".to_owned()]);
            }
            if at % 5 == 0 {
                drawn(&mut editor, size, &colored());
            }
        }
        let screen = drawn(&mut editor, (80, 24), &ascii());
        // Nothing of the server reaches the terminal as a control or reorders what is read.
        let shown = text(&screen);
        let is_hidden = |character: char| character != '\n' && attache_view::safe_text::one_line(&character.to_string()) != character.to_string();
        prop_assert!(!shown.chars().any(is_hidden), "{shown}");
        editor.submission();
        editor.keepable();
    }
}
