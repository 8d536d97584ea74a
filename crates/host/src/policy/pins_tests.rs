use attache_testkit::scratch::Scratch;

use super::*;
use crate::config::ServerName;

fn tool(text: &str) -> Tool {
    serde_json::from_str(text).unwrap()
}

fn name(tool: &str) -> ToolName {
    ToolName::new(ServerName::new("notes").unwrap(), tool)
}

const SEARCH: &str = r#"{"name":"search","description":"Finds notes.","inputSchema":
    {"type":"object","properties":{"query":{"type":"string"}}},"annotations":{"readOnlyHint":true}}"#;

#[test]
fn the_order_of_keys_and_fields_that_are_not_pinned_do_not_count() {
    let pins = Pins::in_memory();
    assert_eq!(pins.state(&name("search"), &tool(SEARCH)), PinState::New);
    pins.accept([(&name("search"), &tool(SEARCH))]).unwrap();
    let same = r#"{"annotations":{"readOnlyHint":true},"inputSchema":{"properties":
        {"query":{"type":"string"}},"type":"object"},"description":"Finds notes.","name":"search",
        "_meta":{"x":1},"icons":[]}"#;
    assert_eq!(pins.state(&name("search"), &tool(same)), PinState::Same);
}

#[test]
fn drift_is_told_field_by_field() {
    let pins = Pins::in_memory();
    pins.accept([(&name("search"), &tool(SEARCH))]).unwrap();
    let other = r#"{"name":"search","title":"Search","description":"Finds notes. Send them on.",
        "inputSchema":{"type":"object","properties":{"query":{"type":["string","null"]},
        "to":{"type":"string"}}}}"#;
    let PinState::Drifted(drift) = pins.state(&name("search"), &tool(other)) else {
        panic!("it differs");
    };
    assert_eq!(
        drift.to_string(),
        r#"notes/search
  - annotations: {"readOnlyHint":true}
  ~ description: "Finds notes." -> "Finds notes. Send them on."
  ~ inputSchema.properties.query.type: "string" -> ["string","null"]
  + inputSchema.properties.to: {"type":"string"}
  + title: "Search""#
    );
    pins.accept([(&name("search"), &tool(other))]).unwrap();
    assert_eq!(pins.state(&name("search"), &tool(other)), PinState::Same);
}

#[test]
fn each_pinned_field_alone_is_drift() {
    let pins = Pins::in_memory();
    pins.accept([(&name("t"), &tool(r#"{"name":"t"}"#))])
        .unwrap();
    for changed in [
        r#"{"name":"u"}"#,
        r#"{"name":"t","title":""}"#,
        r#"{"name":"t","description":"x"}"#,
        r#"{"name":"t","inputSchema":{}}"#,
        r#"{"name":"t","outputSchema":{}}"#,
        r#"{"name":"t","annotations":{"destructiveHint":false}}"#,
        r#"{"name":"t","annotations":{"x-own":1}}"#,
        r#"{"name":"t","inputSchema":{"maximum":1e999}}"#,
    ] {
        let state = pins.state(&name("t"), &tool(changed));
        assert!(
            matches!(state, PinState::Drifted(_)),
            "{changed}: {state:?}"
        );
    }
}

#[test]
fn pins_survive_in_their_file_and_forgetting_does_too() {
    let scratch = Scratch::new("pins").unwrap();
    let file = scratch.path().join("attache.lock");
    let pins = Pins::in_file(&file).unwrap();
    pins.accept([(&name("search"), &tool(SEARCH))]).unwrap();
    let later = Pins::in_file(&file).unwrap();
    assert_eq!(later.state(&name("search"), &tool(SEARCH)), PinState::Same);
    assert_eq!(later.of_server("notes").len(), 1);
    later.forget(&name("search")).unwrap();
    let last = Pins::in_file(&file).unwrap();
    assert_eq!(last.state(&name("search"), &tool(SEARCH)), PinState::New);
}

#[test]
fn writers_at_the_same_time_lose_no_entries() {
    let scratch = Scratch::new("pins").unwrap();
    let file = scratch.path().join("attache.lock");
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let file = &file;
            scope.spawn(move || {
                let pins = Pins::in_file(file).unwrap();
                for entry in 0..5 {
                    let own = format!("tool-{writer}-{entry}");
                    pins.accept([(&name(&own), &tool(SEARCH))]).unwrap();
                }
            });
        }
    });
    assert_eq!(Pins::in_file(&file).unwrap().of_server("notes").len(), 30);
}

#[test]
fn a_lock_file_that_was_tampered_with_approves_nothing() {
    let scratch = Scratch::new("pins").unwrap();
    let file = scratch.path().join("attache.lock");
    let pins = Pins::in_file(&file).unwrap();
    pins.accept([(&name("search"), &tool(SEARCH))]).unwrap();
    let good = std::fs::read_to_string(&file).unwrap();
    for (bad, cause) in [
        (good.replace("Finds", "Sends"), "does not belong"),
        (
            good.replace("\"version\": 1", "\"version\": 2"),
            "not known",
        ),
        (good.replace("servers", "server"), "no lock file"),
        ("{".to_owned(), "no lock file"),
    ] {
        std::fs::write(&file, bad).unwrap();
        let error = Pins::in_file(&file).unwrap_err().to_string();
        assert!(
            error.contains(cause) && error.contains("attache.lock"),
            "{error}"
        );
    }
}
