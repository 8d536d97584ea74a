//! What keys do to an answer, and how answers look.

use attache::protocol::{CallToolResult, GetPromptResult, Json, Payload};

use super::*;
use crate::component::Request;
use crate::testing::{ascii, colored, drawn, keys, styles, text, without_colors};

fn sent(raw: &str) -> Payload {
    Json::parse(raw).unwrap().into()
}

fn view_of(raw: &str, schema: Option<&str>) -> AnswerView {
    let result: CallToolResult = serde_json::from_str(raw).unwrap();
    let schema = schema.map(|schema| Json::parse(schema).unwrap());
    let document = Document::of_call(&result, schema.as_ref());
    AnswerView::new(Arc::new(document), sent(raw), Waker::nothing())
}

fn text_answer(words: &str) -> AnswerView {
    let words = serde_json::to_string(words).unwrap();
    view_of(
        &format!(r#"{{"content":[{{"type":"text","text":{words}}}]}}"#),
        None,
    )
}

fn screen(view: &mut AnswerView) -> String {
    text(&drawn(view, (60, 14), &colored()))
}

const MIXED: &str = r##"{"isError":true,"content":[
    {"type":"text","text":"It went wrong:\nthe disk is full\u001b]0;owned\u0007 and this line is so long that it has to be wrapped somewhere"},
    {"type":"text","text":"# Title\n\nSome **bold** text with `code`, a [link](https://example.org/x) and a list:\n\n- one\n- two\n  1. deep\n- [x] done\n\n> quoted\n\n```rust\nfn main() {}\n```\n\n| name | size |\n|---|--:|\n| a | 1 |\n| long name | 200 |\n"},
    {"type":"resource_link","uri":"notes://1","name":"one","title":"First","mimeType":"text/plain","size":1234,"description":"what it is"},
    {"type":"resource_link","uri":"notes://2","name":"two"},
    {"type":"resource","resource":{"uri":"notes://3","mimeType":"application/json","text":"{\"a\":[1,2]}"}},
    {"type":"audio","data":"AAAA","mimeType":"audio/wav"},
    {"type":"image","data":"AAAA","mimeType":"image/svg+xml"},
    {"type":"hologram","n":1}
  ],"structuredContent":{"rows":[{"name":"b","n":10},{"name":"a","n":9,"ok":true},{"name":"c"}]}}"##;

#[test]
fn answers_look_like_this() {
    let schema = r#"{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object",
        "properties":{"n":{"type":"integer","title":"Number"},"name":{"type":"string"}},"required":["n"]}}}}"#;
    let mut screens = String::new();
    for (name, size, theme) in [
        ("40×10", (40, 10), colored()),
        ("80×60", (80, 60), colored()),
        ("80×60 ascii", (80, 60), ascii()),
    ] {
        let mut view = view_of(MIXED, Some(schema));
        screens += &format!("== {name}\n{}\n", text(&drawn(&mut view, size, &theme)));
    }
    let mut view = view_of(MIXED, Some(schema));
    keys(&mut view, "G");
    screens += &format!(
        "== the end\n{}\n",
        text(&drawn(&mut view, (80, 24), &colored()))
    );
    let mut empty = view_of(r#"{"content":[]}"#, None);
    screens += &format!(
        "== empty\n{}\n",
        text(&drawn(&mut empty, (40, 10), &colored()))
    );
    insta::assert_snapshot!(screens);
}

#[test]
fn meanings_are_in_styles() {
    let mut shown = String::new();
    for (name, theme) in [("colour", colored()), ("no colour", without_colors())] {
        let mut view = view_of(MIXED, None);
        shown += &format!(
            "== {name}\n{}\n",
            styles(&drawn(&mut view, (70, 30), &theme))
        );
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn prompts_name_who_speaks() {
    let raw = r#"{"description":"Greets","messages":[{"role":"user","content":{"type":"text","text":"hi"}},
        {"role":"assistant","content":{"type":"text","text":"hello"}}]}"#;
    let result: GetPromptResult = serde_json::from_str(raw).unwrap();
    let document = Arc::new(Document::of_prompt(&result));
    let mut view = AnswerView::new(document, sent(raw), Waker::nothing());
    let shown = screen(&mut view);
    assert!(
        shown.contains("Greets") && shown.contains("user: text"),
        "{shown}"
    );
    assert!(shown.contains("assistant: text"), "{shown}");
    keys(&mut view, "] ]");
    let Outcome::Request(Request::CopyMenu(items)) = keys(&mut view, "y") else {
        panic!("no menu");
    };
    assert!(
        items
            .iter()
            .any(|item| item.label == "text" && item.text == "hello"),
        "{items:?}"
    );
}

/// What is drawn of 10 MB is what is in view, and no more is indexed than is needed.
#[test]
fn of_a_large_answer_only_the_window_is_made() {
    let line = format!("{}\n", "wide text ".repeat(10));
    let words = line.repeat(100_000);
    let mut view = text_answer(&words);
    let made = |view: &AnswerView| match &view.sections[0].shown {
        Shown::Text(text) => (text.take_made(), text.known().0, text.count()),
        other => panic!("{other:?}"),
    };
    drawn(&mut view, (200, 60), &colored());
    let (rows, known, _) = made(&view);
    assert!(rows <= 60, "{rows} rows were made");
    assert!(known < 300 * 1024, "{known} bytes were indexed");
    let shown = text(&drawn(&mut view, (80, 10), &colored()));
    assert!(shown.contains("of 10 MB, more on scrolling"), "{shown}");
    drawn(&mut view, (200, 60), &colored());
    made(&view);
    keys(&mut view, "pagedown pagedown ctrl-d");
    drawn(&mut view, (200, 60), &colored());
    let (rows, known, _) = made(&view);
    assert!(rows <= 60 && known < 300 * 1024, "{rows} {known}");
    keys(&mut view, "G");
    let shown = text(&drawn(&mut view, (200, 60), &colored()));
    let (rows, _, count) = made(&view);
    assert!(rows <= 60, "{rows}");
    assert!(
        shown.contains(&format!("row {count} of {count}")),
        "{shown}"
    );
    keys(&mut view, "g");
    assert!(text(&drawn(&mut view, (80, 10), &colored())).contains("row 1 "));
}

#[test]
fn text_is_found_forwards_and_backwards() {
    let mut view = text_answer("alpha\nbeta\ngamma ALPHA\ndelta");
    keys(&mut view, "/ =alpha enter");
    screen(&mut view);
    assert_eq!(view.cursor.row, 0);
    for (pressed, row) in [("n", 2), ("n", 0), ("N", 2), ("N", 0)] {
        keys(&mut view, pressed);
        assert_eq!(view.cursor.row, row, "{pressed}");
    }
    let marked = styles(&drawn(&mut view, (60, 14), &colored()));
    assert!(marked.contains("cyan bold underlined: ALPHA"), "{marked}");
    keys(&mut view, "/ =nowhere enter");
    assert!(screen(&mut view).contains("\"nowhere\" is not in the answer"));
    keys(&mut view, "/ =x esc n");
    assert!(screen(&mut view).contains("Nothing is searched for"));
    // Over several blocks of several kinds.
    let mut view = view_of(MIXED, None);
    screen(&mut view);
    keys(&mut view, "/ =first enter");
    assert_eq!(view.sections[view.cursor.section].number, Some(1));
    keys(&mut view, "/ =name enter n n n");
    assert!(view.cursor.section > 1);
}

#[test]
fn views_go_around() {
    let mut view = text_answer(r#"[{"a":1,"b":"x"},{"a":2,"b":"y"}]"#);
    let mut seen = Vec::new();
    for _ in 0..5 {
        screen(&mut view);
        seen.push(view.sections[0].view_as().name());
        keys(&mut view, "v");
    }
    assert_eq!(seen, ["text", "JSON tree", "table", "hex", "text"]);
    let mut view = text_answer("# h\n\ntext");
    assert!(screen(&mut view).contains("h\n"));
    keys(&mut view, "v v");
    let shown = screen(&mut view);
    assert!(shown.contains("23 20 68 0a"), "{shown}");
}

#[test]
fn trees_open_and_close() {
    let raw = r#"{"content":[],"structuredContent":{"a":{"b":[1,{"c":"long\ntext"}]},"z":null}}"#;
    let mut view = view_of(raw, None);
    let shown = screen(&mut view);
    assert!(shown.contains("c: \"long\\ntext\""), "{shown}");
    keys(&mut view, "down down enter");
    let shown = screen(&mut view);
    assert!(
        shown.contains("▸ a: {1}") && !shown.contains("c:"),
        "{shown}"
    );
    keys(&mut view, "right down down down");
    let Outcome::Request(Request::CopyMenu(items)) = keys(&mut view, "y") else {
        panic!("no menu");
    };
    let item = |label: &str| {
        items
            .iter()
            .find(|item| item.label == label)
            .map(|item| item.text.as_str())
    };
    assert_eq!(item("path"), Some("a.b[1]"));
    assert_eq!(item("value"), Some(r#"{"c":"long\ntext"}"#));
    keys(&mut view, "down enter");
    let shown = screen(&mut view);
    assert!(
        shown.contains("          long\n") && shown.contains("          text\n"),
        "{shown}"
    );
    keys(&mut view, "left left left");
    assert!(screen(&mut view).contains("▸ b: [2]") || screen(&mut view).contains("▾ b: [2]"));
}

#[test]
fn tables_are_sorted_and_columns_copied() {
    let mut view = view_of(MIXED, None);
    screen(&mut view);
    keys(&mut view, "G");
    let order = |view: &mut AnswerView| {
        let shown = text(&drawn(view, (60, 9), &ascii()));
        let rows = shown
            .lines()
            .skip_while(|line| !line.trim().starts_with("---"));
        rows.skip(1)
            .take(3)
            .filter_map(|line| line.trim_start_matches("> ").trim().chars().next())
            .collect::<String>()
    };
    assert_eq!(order(&mut view), "bac");
    keys(&mut view, "S");
    assert_eq!(order(&mut view), "abc");
    keys(&mut view, "S");
    assert_eq!(order(&mut view), "cba");
    keys(&mut view, "S right S");
    assert_eq!(
        order(&mut view),
        "abc",
        "numbers are numbers and what is missing comes last"
    );
    let Outcome::Request(Request::CopyMenu(items)) = keys(&mut view, "y") else {
        panic!("no menu");
    };
    let column = items.iter().find(|item| item.label == "column n").unwrap();
    assert_eq!(column.text, "9\n10\n");
}

#[test]
fn links_are_read_and_pages_opened_only_on_enter() {
    let mut view = view_of(MIXED, None);
    screen(&mut view);
    keys(&mut view, "/ =notes://2 enter");
    let Outcome::Request(Request::Read { uri }) = keys(&mut view, "enter") else {
        panic!("no read");
    };
    assert_eq!(uri, "notes://2");
    keys(&mut view, "/ =https://example.org/x enter");
    let Outcome::Request(Request::OpenUrl(url)) = keys(&mut view, "enter") else {
        panic!("nothing to open");
    };
    assert_eq!(url, "https://example.org/x");
}

#[test]
fn blocks_are_saved_and_opened_as_what_they_are() {
    let mut view = view_of(MIXED, None);
    screen(&mut view);
    keys(&mut view, "]");
    let Outcome::Request(Request::Save { name, bytes }) = keys(&mut view, "s") else {
        panic!("nothing to save");
    };
    assert_eq!(name, "answer.txt");
    assert!(
        bytes.windows(4).any(|part| part == b"\x1b]0;"),
        "saved as it came"
    );
    let Outcome::Request(Request::Page { text }) = keys(&mut view, "o") else {
        panic!("no page");
    };
    assert!(text.contains("\\u{1b}]0;owned"), "shown as it is safe");
    keys(&mut view, "] ] ] ] ]");
    let Outcome::Request(Request::OpenBytes { extension, bytes }) = keys(&mut view, "o") else {
        panic!("nothing to open");
    };
    assert_eq!((extension.as_str(), bytes.len()), ("wav", 3));
}

#[test]
fn what_repeats_the_structured_answer_is_folded() {
    let raw = r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#;
    let mut view = view_of(raw, None);
    let shown = screen(&mut view);
    assert!(
        shown.contains("says what the structured answer says"),
        "{shown}"
    );
    keys(&mut view, "g enter");
    assert!(screen(&mut view).contains("{\"a\":1}"));
}

#[test]
fn long_lines_are_wrapped_or_scrolled() {
    let mut view = text_answer(&format!("{} end", "word ".repeat(40)));
    assert!(screen(&mut view).contains(" end"));
    keys(&mut view, "W");
    assert!(!screen(&mut view).contains(" end"));
    keys(&mut view, &"l ".repeat(19));
    assert!(screen(&mut view).contains(" end"), "{}", screen(&mut view));
}

#[test]
fn the_cursor_stays_at_its_text_when_the_width_changes() {
    let mut view = text_answer(&"some words that wrap\n".repeat(300));
    drawn(&mut view, (60, 14), &colored());
    keys(
        &mut view,
        "/ =wrap enter n n n n n n n n n n n n n n n n n n n n",
    );
    drawn(&mut view, (60, 14), &colored());
    assert_eq!(view.cursor.row, 20);
    drawn(&mut view, (12, 14), &colored());
    let Shown::Text(rows) = &view.sections[0].shown else {
        panic!("no text");
    };
    assert_eq!(rows.position(view.cursor.row), 20 * 21);
    keys(&mut view, "W");
    drawn(&mut view, (12, 14), &colored());
    assert_eq!(view.cursor.row, 20, "one row for each line");
}

#[cfg(feature = "images")]
#[test]
fn images_are_decoded_off_the_loop_and_drawn_in_half_blocks() {
    use base64::Engine as _;
    let mut png = Vec::new();
    let pixels =
        ::image::RgbImage::from_fn(4, 4, |x, y| ::image::Rgb([x as u8 * 80, y as u8 * 80, 0]));
    pixels
        .write_to(
            &mut std::io::Cursor::new(&mut png),
            ::image::ImageFormat::Png,
        )
        .unwrap();
    let data = base64::engine::general_purpose::STANDARD.encode(&png);
    let raw =
        format!(r#"{{"content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}"#);
    let result: CallToolResult = serde_json::from_str(&raw).unwrap();
    let document = Arc::new(Document::of_call(&result, None));
    let (sender, woken) = std::sync::mpsc::channel();
    let sender = parking_lot::Mutex::new(sender);
    let waker = Waker::new(move || {
        let _ = sender.lock().send(());
    });
    let mut view = AnswerView::new(document, sent(&raw), waker);
    assert!(screen(&mut view).contains("decoding"));
    woken
        .recv_timeout(std::time::Duration::from_secs(60))
        .unwrap();
    assert!(matches!(view.poll(), Outcome::Used));
    let shown = screen(&mut view);
    assert!(
        shown.contains("▀▀▀▀") && shown.contains("4×4 pixels"),
        "{shown}"
    );
    let plain = text(&drawn(&mut view, (60, 14), &ascii()));
    assert!(!plain.contains('▀'), "{plain}");
}

#[test]
fn any_size_can_be_drawn() {
    for size in [(1, 1), (2, 1), (3, 3), (7, 4), (40, 10)] {
        let mut view = view_of(MIXED, None);
        for pressed in [
            "", "down", "G", "v", "pageup", "/", "=x", "enter", "] ]", "v v v", "g",
        ] {
            keys(&mut view, pressed);
            drawn(&mut view, size, &colored());
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 24, ..Default::default() })]

    #[test]
    fn random_keys_do_no_harm(
        pressed in proptest::collection::vec(proptest::sample::select(vec![
            "up", "down", "pageup", "pagedown", "g", "G", "v", "enter", "left", "right", "]", "[",
            "/", "a", "n", "N", "W", "S", "y", "s", "o", "esc", "ctrl-d", "ctrl-u",
        ]), 0..80),
        sizes in proptest::collection::vec((1_u16..90, 1_u16..30), 1..5),
    ) {
        let mut view = view_of(MIXED, None);
        for (at, name) in pressed.iter().enumerate() {
            keys(&mut view, name);
            drawn(&mut view, sizes[at % sizes.len()], &colored());
        }
        let shown = screen(&mut view);
        let is_safe = !shown.contains(char::from(0x1b));
        proptest::prop_assert!(is_safe);
    }
}
