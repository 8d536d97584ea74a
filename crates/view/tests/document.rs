//! Answers of servers as blocks, compared whole.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_protocol::{CallToolResult, GetPromptResult, Json, ReadResourceResult};
use attache_view::document::{
    Body, Document, LooksLike, MAX_MARKDOWN_BYTES, MAX_MARKDOWN_DEPTH, Markdown,
};
use attache_view::safe_text;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Results keep raw text, so they are read from text.
fn read<T: serde::de::DeserializeOwned>(result: Value) -> T {
    serde_json::from_str(&result.to_string()).unwrap()
}

fn call(result: Value) -> Document {
    let result: CallToolResult = read(result);
    Document::of_call(&result, None)
}

#[track_caller]
fn check_block(content: Value, expected: Value) {
    let document = serde_json::to_value(call(json!({"content": [content]}))).unwrap();
    assert_eq!(document["blocks"][0], expected);
}

#[test]
fn an_answer_whose_texts_are_taken_over_looks_the_same() {
    let long = "plain\u{1b} {\"a\":1}\n".repeat(20_000);
    let clean = "plain text\n".repeat(40_000);
    let result: CallToolResult = read(json!({
        "content": [
            {"type":"text","text":long,"annotations":{"audience":["user"]}},
            {"type":"text","text":"{\"a\":1}"},
            {"type":"text","text":clean},
            {"type":"image","data":"AAAA","mimeType":"image/png"},
        ],
        "structuredContent": {"a":1},
    }));
    let copied = Document::of_call(&result, None);
    assert_eq!(Document::of_own_call(result, None), copied);
}

#[test]
fn every_kind_of_block() {
    check_block(
        json!({"type":"text","text":"a\r\nb\u{1b}[2J\u{202e}","annotations":{"audience":["user"]}}),
        json!({"kind":"text","text":"a\nb\\u{1b}[2J\\u{202e}","looks_like":"plain","repeats_structured":false,"bytes":11,"audience":["user"]}),
    );
    check_block(
        json!({"type":"image","data":"AAAA\nAA==","mimeType":"image/png"}),
        json!({"kind":"image","mime_type":"image/png","data":"AAAAAA==","can_be_shown":true,"bytes":4}),
    );
    check_block(
        json!({"type":"image","data":"AAA","mimeType":"image/svg+xml"}),
        json!({"kind":"image","mime_type":"image/svg+xml","data":"AAA","can_be_shown":false,"bytes":2}),
    );
    check_block(
        json!({"type":"audio","data":"AA==","mimeType":"audio/wav"}),
        json!({"kind":"audio","mime_type":"audio/wav","data":"AA==","can_be_shown":true,"bytes":1}),
    );
    check_block(
        json!({"type":"audio","data":"<b>","mimeType":"audio/wav"}),
        json!({"kind":"unknown","label":"not base64","raw":r#"{"type":"audio","data":"<b>","mimeType":"audio/wav"}"#,"bytes":52}),
    );
    check_block(
        json!({"type":"resource_link","uri":"demo://a","name":"a","title":"A\u{7}","size":7,"mimeType":"text/plain"}),
        json!({"kind":"link","uri":"demo://a","name":"A\\u{7}","description":null,"mime_type":"text/plain","size":7,"bytes":8}),
    );
    check_block(
        json!({"type":"resource","resource":{"uri":"demo://b","text":"[{\"a\":1}]","mimeType":"application/json; charset=utf-8"}}),
        json!({"kind":"resource","uri":"demo://b","bytes":9,"body":{"kind":"table","name":null,"columns":[{"name":"a","title":null}],"rows":[[{"node":"number","text":"1"}]],"more":0}}),
    );
    check_block(
        json!({"type":"resource","resource":{"uri":"demo://c","blob":"AAAA"}}),
        json!({"kind":"resource","uri":"demo://c","bytes":3,"body":{"kind":"binary","mime_type":"application/octet-stream","data":"AAAA","can_be_shown":false}}),
    );
    check_block(
        json!({"type":"hologram","n":"\u{9b}"}),
        json!({"kind":"unknown","label":"hologram","raw":r#"{"n":"\u009b","type":"hologram"}"#,"bytes":28}),
    );
}

#[test]
fn texts_tell_what_they_look_like() {
    for (text, expected) in [
        ("plain", LooksLike::Plain),
        ("- one thing", LooksLike::Plain),
        ("{not json}", LooksLike::Plain),
        (" [1]", LooksLike::Json),
        ("# Title\ntext", LooksLike::Markdown),
        ("- a\n- b", LooksLike::Markdown),
        ("a|b\n---|---\n1|2", LooksLike::Markdown),
        ("#hashtag", LooksLike::Plain),
    ] {
        let document = call(json!({"content": [{"type":"text","text":text}]}));
        assert!(
            matches!(document.blocks[0].body, Body::Text { looks_like, .. } if looks_like == expected),
            "{text}"
        );
    }
}

#[test]
fn structured_answers_are_checked_against_their_schema() {
    let schema =
        Json::parse(r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#)
            .unwrap();
    let answer = |structured: Value, text: &str| {
        let result = json!({"content":[{"type":"text","text":text}],"structuredContent":structured,"isError":true});
        let result: CallToolResult = read(result);
        Document::of_call(&result, Some(&schema))
    };
    let repeats = |document: &Document| {
        matches!(
            document.blocks[0].body,
            Body::Text {
                repeats_structured: true,
                ..
            }
        )
    };

    let good = answer(json!({"n": 1}), r#"{ "n": 1.0 }"#);
    let structured = good.structured.as_ref().unwrap();
    assert!(structured.report.as_ref().unwrap().problems.is_empty());
    assert!(repeats(&good) && good.is_error);
    assert_eq!((structured.bytes, good.bytes), (7, 19));

    let bad = answer(json!({"n": "x"}), r#"{"n":1}"#);
    let report = bad.structured.as_ref().unwrap().report.clone().unwrap();
    assert_eq!(
        report.problems[0].message,
        "\"n\" must be a whole number, not text"
    );
    assert!(!repeats(&bad));

    let without = call(json!({"content":[],"structuredContent":{"n":"x"}}));
    assert_eq!(without.structured.unwrap().report, None);
}

#[test]
fn resources_and_prompts() {
    let contents: ReadResourceResult = read(json!({"contents":[
        {"uri":"a:b","mimeType":"text/markdown","text":"*x*"},
        {"uri":"a:c"},
        7,
    ]}));
    let document = serde_json::to_value(Document::of_resource(&contents)).unwrap();
    assert_eq!(
        document["blocks"][0],
        json!({"kind":"resource","uri":"a:b","bytes":3,"body":{"kind":"markdown","text":"*x*","parts":[
            {"part":"paragraph","words":[{"inline":"emphasis","words":[{"inline":"text","text":"x"}]}]}]}})
    );
    assert_eq!(document["blocks"][1]["body"]["text"], "");
    assert_eq!(
        (
            &document["blocks"][2]["kind"],
            &document["blocks"][2]["raw"]
        ),
        (&json!("unknown"), &json!("7"))
    );

    let prompt: GetPromptResult = read(json!({"description":"d\u{1b}","messages":[
        {"role":"user","content":{"type":"text","text":"x"}}]}));
    let document = serde_json::to_value(Document::of_prompt(&prompt)).unwrap();
    assert_eq!(document["description"], "d\\u{1b}");
    assert_eq!(document["blocks"][0]["role"], "user");
}

fn parts(text: &str) -> Value {
    serde_json::to_value(Markdown::parse(text).unwrap().parts).unwrap()
}

#[test]
fn markdown_is_a_tree() {
    let text = |text: &str| json!({"inline":"text","text":text});
    let paragraph = |words: Value| json!({"part":"paragraph","words":words});
    assert_eq!(
        parts("## A `b`\n\nc\nd **e** ~~f~~  \ng\n\n***\n"),
        json!([
            {"part":"heading","level":2,"words":[text("A "),{"inline":"code","text":"b"}]},
            paragraph(json!([text("c\nd "),{"inline":"strong","words":[text("e")]},text(" "),{"inline":"strikethrough","words":[text("f")]},{"inline":"break"},text("g")])),
            {"part":"rule"},
        ])
    );
    assert_eq!(
        parts("3. a\n   - [x] b\n4. c\n\n> q\n\n```rust x\nlet a;\n```\n"),
        json!([
            {"part":"list","start":3,"items":[
                {"done":null,"parts":[paragraph(json!([text("a")])),{"part":"list","start":null,"items":[{"done":true,"parts":[paragraph(json!([text("b")]))]}]}]},
                {"done":null,"parts":[paragraph(json!([text("c")]))]}]},
            {"part":"quote","parts":[paragraph(json!([text("q")]))]},
            {"part":"code","language":"rust","text":"let a;\n"},
        ])
    );
    assert_eq!(
        parts("|a|b|\n|:-|-:|\n|1|*2*|\n"),
        json!([{"part":"table","alignments":["left","right"],"rows":[
            [[text("a")],[text("b")]],
            [[text("1")],[{"inline":"emphasis","words":[text("2")]}]]]}])
    );
}

#[test]
fn markdown_cannot_reach_out_or_hide() {
    let link = |url: &str, can_be_opened: bool, is_image: bool| json!([{"part":"paragraph","words":[{"inline":"link","url":url,"can_be_opened":can_be_opened,"is_image":is_image,"words":[{"inline":"text","text":"x"}]}]}]);
    assert_eq!(parts("[x](https://a.b)"), link("https://a.b", true, false));
    assert_eq!(
        parts("[x](JavaScript:alert)"),
        link("JavaScript:alert", false, false)
    );
    assert_eq!(parts("[x](file:///etc)"), link("file:///etc", false, false));
    assert_eq!(
        parts("![x](http://spy/p.png)"),
        link("http://spy/p.png", true, true)
    );
    let text = |text: &str| json!([{"part":"paragraph","words":[{"inline":"text","text":text}]}]);
    assert_eq!(parts("a <b onclick=x>c</b>"), text("a <b onclick=x>c</b>"));
    assert_eq!(
        parts("<script>\nx\n</script>\n"),
        json!([{"part":"code","language":"html","text":"<script>\nx\n</script>\n"}])
    );
    // An entity, and a sequence whose parts come as events of their own.
    assert_eq!(parts("&#27;[2J&#x202e;"), text("\\u{1b}[2J\\u{202e}"));
    assert_eq!(
        parts("- &#27;]0;t&#7;\n  - x"),
        json!([{"part":"list","start":null,"items":[{"done":null,"parts":[
            text("\\u{1b}]0;t\\u{7}")[0],
            {"part":"list","start":null,"items":[{"done":null,"parts":[text("x")[0]]}]}]}]}])
    );
}

#[test]
fn markdown_is_limited_exactly() {
    assert!(Markdown::parse(&"x".repeat(MAX_MARKDOWN_BYTES)).is_some());
    assert!(Markdown::parse(&"x".repeat(MAX_MARKDOWN_BYTES + 1)).is_none());
    let depth = |levels: usize| {
        let mut depth = 0;
        let mut part = parts(&format!("{}deep", ">".repeat(levels)))[0].clone();
        while part["part"] == "quote" {
            depth += 1;
            part = part["parts"][0].clone();
        }
        assert!(part.to_string().contains("deep"), "{part}");
        depth
    };
    assert_eq!(depth(MAX_MARKDOWN_DEPTH - 1), MAX_MARKDOWN_DEPTH - 1);
    assert_eq!(depth(MAX_MARKDOWN_DEPTH + 5), MAX_MARKDOWN_DEPTH - 1);
    assert_eq!(depth(5_000), MAX_MARKDOWN_DEPTH - 1);
}

/// Whether every text in a JSON value is safe to show.
fn is_safe(value: &Value) -> bool {
    match value {
        Value::String(text) => safe_text::block(text) == *text,
        Value::Array(items) => items.iter().all(is_safe),
        Value::Object(members) => members.values().all(is_safe),
        _ => true,
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\u{1b}", "\u{9b}", "[31m", "]0;", "&#27;", "&#x202e;", "\u{202e}", "# ", "- ", "> ",
            "`", "```\n", "|", "---", "\n", "**", "[a](", ")", "<b>", "![", "\\", "1. ", "{", "\"",
            "\r",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_unsafe_gets_through(one in hostile_text(), two in hostile_text()) {
        let document = call(json!({
            "content": [
                {"type":"text","text":one},
                {"type":"image","data":one,"mimeType":two},
                {"type":"resource_link","uri":one,"name":two,"description":one},
                {"type":"resource","resource":{"uri":two,"text":one,"mimeType":"text/markdown"}},
                {"type":"resource","resource":{"uri":two,"blob":one,"mimeType":two}},
                {"type":one,"x":two},
            ],
            "structuredContent": {two.clone(): [{one.clone(): two}, {"a": one}]},
        }));
        let document = serde_json::to_value(document).unwrap();
        prop_assert!(is_safe(&document), "{}", document);
    }
}
