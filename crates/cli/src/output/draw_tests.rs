use attache::protocol::{CallToolResult, Json, ReadResourceResult};

use super::super::text::Colour;
use super::*;

fn call(result: &str, schema: Option<&str>, columns: usize) -> String {
    let result: CallToolResult = serde_json::from_str(result).unwrap();
    let schema = schema.map(|schema| Json::parse(schema).unwrap());
    let drawn = Document::of_call(&result, schema.as_ref());
    document(&drawn, columns).render(Colour::Off)
}

fn markdown(text: &str, columns: usize, colour: Colour) -> String {
    let contents = serde_json::json!({
        "contents": [{"uri": "a:b", "mimeType": "text/markdown", "text": text}],
    });
    let result: ReadResourceResult = serde_json::from_str(&contents.to_string()).unwrap();
    document(&Document::of_resource(&result), columns).render(colour)
}

#[test]
fn lists_of_flat_objects_are_tables_by_the_schema() {
    let result = r#"{"content":[{"type":"text","text":"{\"rows\":[{\"size\":5,\"name\":\"日本語\"},{\"size\":12.50,\"name\":\"a\",\"x\":null}]}"}],
        "structuredContent":{"rows":[{"size":5,"name":"日本語"},{"size":12.50,"name":"a","x":null}]}}"#;
    let schema = r#"{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object",
        "properties":{"name":{"type":"string","title":"Name"},"size":{"type":"number"}}}}}}"#;
    insta::assert_snapshot!(call(result, Some(schema), 80), @"
    rows:
    Name     size     x
    ──────  ─────  ────
    日本語      5
    a       12.50  null
    ");
    // Too narrow for a table, the rows stand one below the other.
    insta::assert_snapshot!(call(result, Some(schema), 16), @"
    rows:
    Name  日本語
    size  5

    Name  a
    size  12.50
    x     null
    ");
}

#[test]
fn other_values_are_trees() {
    let result = r#"{"content":[],"structuredContent":
        {"id":123456789012345678901234567890,"tags":["a","1"],"place":{"x":0.10,"note":"two\nlines"},"none":null,"empty":{},"odd":"\u001b[2J"}}"#;
    insta::assert_snapshot!(call(result, None, 80), @r#"
    id: 123456789012345678901234567890
    tags:
      - a
      - "1"
    place:
      x: 0.10
      note:
        two
        lines
    none: null
    empty: {}
    odd: \u{1b}[2J
    "#);
}

#[test]
fn words_come_before_values_and_are_not_said_twice() {
    let both =
        r#"{"content":[{"type":"text","text":"The sum is 3."}],"structuredContent":{"sum":3}}"#;
    assert_eq!(call(both, None, 80), "The sum is 3.\n");
    let repeated =
        r#"{"content":[{"type":"text","text":"{\"sum\": 3}"}],"structuredContent":{"sum":3}}"#;
    assert_eq!(call(repeated, None, 80), "sum: 3\n");
}

#[test]
fn every_kind_of_block_is_shown() {
    let result = r#"{"content":[
        {"type":"text","text":"hello\nworld"},
        {"type":"image","data":"AAAA","mimeType":"image/png"},
        {"type":"audio","data":"AA==","mimeType":"audio/wav"},
        {"type":"image","data":"!","mimeType":"image/png"},
        {"type":"resource_link","uri":"demo://a","name":"a","mimeType":"text/plain"},
        {"type":"resource","resource":{"uri":"demo://b","text":"inside"}},
        {"type":"resource","resource":{"uri":"demo://c","blob":"AAAA"}},
        {"type":"hologram","n":1}]}"#;
    insta::assert_snapshot!(call(result, None, 80), @r#"
    hello
    world
    [image/png, 3 bytes]
    [audio/wav, 1 bytes]
    [not base64] {"type":"image","data":"!","mimeType":"image/png"}
    a demo://a [text/plain]
    inside
    [application/octet-stream, 3 bytes] demo://c
    [hologram] {"type":"hologram","n":1}
    "#);
}

#[test]
fn markdown_is_rendered_and_wrapped() {
    let text = "# Title\n\nSome *stressed* and **strong** words with `code` and \
        [a link](https://example.org/).\n\n\
        - one\n  - inner\n- [x] done\n\n2. two\n3. three\n\n> quoted words that are long\n\n\
        ```sh\nls  -l\n```\n\n| a | b |\n|---|--:|\n| x | 10 |\n\n---\n";
    insta::assert_snapshot!(markdown(text, 30, Colour::Off), @"
    Title

    Some stressed and strong words
    with code and a link
    (https://example.org/).

    • one
      • inner
    [x] done

    2. two
    3. three

    │ quoted words that are long

        ls  -l

    a   b
    ─  ──
    x  10

    ──────────────────────────────
    ");
}

#[test]
fn s13_markdown_brings_no_sequences_of_its_own() {
    let shown = markdown("# a&#27;[2J\n\n`\u{9b}`", 80, Colour::On);
    assert_eq!(
        shown,
        "\u{1b}[1;4ma\\u{1b}[2J\u{1b}[0m\n\n\u{1b}[36m\\u{9b}\u{1b}[0m\n"
    );
}
