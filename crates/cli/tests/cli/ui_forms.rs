//! A form with every kind of field, filled in by keys in a pseudo-terminal; the server gets exactly
//! what was typed.

use attache_testkit::chaos::{Action, Script, When};
use serde_json::{Value, json};

use crate::harness::PATIENCE;
use crate::screen::Screen;
use crate::ui::{ENTER, F2, home, open, see, table};

const DOWN: &str = "\u{1b}[B";
const RIGHT: &str = "\u{1b}[C";
const TAB: &str = "\t";

/// The line that is chosen. So narrow a screen shows the form alone.
fn chosen(rows: &str) -> String {
    let mut lines = rows.lines().filter(|line| line.contains('▌'));
    lines.next().unwrap_or_default().to_owned()
}

/// Goes to a field from the first one, so that all keys before have had their effect.
fn go_to(screen: &mut Screen, field: &str) {
    screen.type_in("g");
    screen.wait_for("the first line", |rows| chosen(rows).contains("content"));
    for _ in 0..40 {
        let before = chosen(&screen.rows());
        if before.contains(field) {
            return;
        }
        screen.type_in(DOWN);
        screen.wait_for("the next line", |rows| chosen(rows) != before);
    }
    panic!("there is no {field}:\n{}", screen.rows());
}

fn schema() -> Value {
    let shape = |kind: &str, member: &str| {
        json!({"type": "object", "title": kind, "required": ["kind", member],
               "properties": {"kind": {"const": kind}, member: {"type": "number"}}})
    };
    // In the order in which they are sent, and so shown.
    json!({"type": "object", "properties": {
        "content": {"type": "string"},
        "count": {"type": "integer", "minimum": 2},
        "days": {"type": "array", "items": {"enum": ["mo", "tu", "we"]}, "uniqueItems": true},
        "mood": {"enum": ["calm", 1, "glad"]},
        "names": {"type": "array", "items": {"type": "string"}},
        "nothing": {"type": ["string", "null"]},
        "password": {"type": "string"},
        "place": {"type": "object", "properties": {"city": {"type": "string"}}},
        "ratio": {"type": "number"},
        "shape": {"oneOf": [shape("circle", "radius"), shape("square", "side")]},
        "title": {"type": "string"},
        "urgent": {"type": "boolean"},
        "value": {},
    }})
}

#[test]
fn every_kind_of_field_is_filled_in_and_sent_as_typed() {
    let fill = json!({"name": "fill", "inputSchema": schema()});
    let launch = Script::legacy("2025-11-25")
        .tools([fill])
        .on(When::tool("fill"), [Action::text("filled in")])
        .launch()
        .unwrap();
    let home = home("ui-forms", &table("forms", &launch));
    let mut screen = open(&home, &[], 58, 50);
    see(&screen, "fill");
    screen.type_in(ENTER);
    see(&screen, "[ run ]");
    go_to(&mut screen, "content");
    // Tab goes on to the next field, also out of one with several lines.
    screen.type_in(&format!("{ENTER}a{ENTER}b{TAB}1{ENTER}"));
    // What does not fit is said where it stands, and is not sent.
    see(&screen, "must be at least 2");
    screen.type_in(F2);
    screen.wait_for("the way back", |rows| chosen(rows).contains("count"));
    screen.type_in(&format!("{ENTER}2{ENTER}"));
    for (field, keys) in [
        ("days", format!("{ENTER} {DOWN}{DOWN} {ENTER}")),
        ("mood", format!("{ENTER}gl{ENTER}")),
        ("names", format!("+ann{ENTER}")),
        ("nothing", "0".to_owned()),
        ("password", format!("{ENTER}sesame{ENTER}")),
        ("place", RIGHT.to_owned()),
        ("city", format!("{ENTER}Ulm{ENTER}")),
        ("ratio", format!("{ENTER}1.50{ENTER}")),
        ("shape", format!("{ENTER}square{ENTER}")),
        ("side", format!("{ENTER}3{ENTER}")),
        ("title", format!("{ENTER}hi{ENTER}")),
        ("urgent", " ".to_owned()),
        ("value", format!("{ENTER}{{\"a\":[1]}}")),
    ] {
        go_to(&mut screen, field);
        screen.type_in(&keys);
    }
    see(&screen, r#"{"a":[1]}"#);
    assert!(!screen.rows().contains("sesame"));
    screen.type_in(F2);
    see(&screen, "filled in");
    let calls = launch.wait_received_of("tools/call", 1, PATIENCE).unwrap();
    let expected = json!({
        "content": "a\nb", "count": 12, "days": ["mo", "we"], "mood": "glad", "names": ["ann"],
        "nothing": null, "password": "sesame", "place": {"city": "Ulm"}, "ratio": 1.5,
        "shape": {"kind": "square", "side": 3}, "title": "hi", "urgent": true,
        "value": {"a": [1]},
    });
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["params"]["arguments"], expected);
    screen.type_in("q");
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
}
