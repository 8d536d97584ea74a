use attache_client::Server;
use attache_testkit::scratch::Scratch;

use super::super::definition::whole;
use super::*;
use crate::config::Source;

fn tool(text: &str) -> Tool {
    serde_json::from_str(text).unwrap()
}

fn server() -> PinnedServer {
    started_by("notes-server")
}

fn started_by(command: &str) -> PinnedServer {
    let name = ServerName::new("notes").unwrap();
    let server = Server::stdio(command, [""; 0]);
    PinnedServer::of(&ServerConfig::new(name, server, Source::program()))
}

const SEARCH: &str = r#"{"name":"search","description":"Finds notes.","inputSchema":
    {"type":"object","properties":{"query":{"type":"string"}}},"annotations":{"readOnlyHint":true}}"#;
const OTHER: &str = r#"{"name":"search","title":"Search","description":"Finds notes.\nSend them on.",
    "inputSchema":{"type":"object","properties":{"query":{"type":["string","null"]},
    "to":{"type":"string"}}}}"#;

fn state(pins: &Pins, tool: &Tool) -> PinState {
    pins.state(&server(), tool).unwrap()
}

#[track_caller]
fn drift_of(pins: &Pins, tool: &Tool) -> Drift {
    match state(pins, tool) {
        PinState::Drifted(drift) => drift,
        other => panic!("expected drift, got {other:?}"),
    }
}

/// How a face would print it.
fn printed(lines: &[DiffLine]) -> String {
    let line = |line: &DiffLine| match line {
        DiffLine::Kept(text) => format!("  {text}\n"),
        DiffLine::Removed(text) => format!("- {text}\n"),
        DiffLine::Added(text) => format!("+ {text}\n"),
        DiffLine::Gap => "...\n".to_owned(),
    };
    lines.iter().map(line).collect()
}

#[test]
fn the_order_of_keys_and_fields_that_are_not_pinned_do_not_count() {
    let pins = Pins::in_memory();
    assert_eq!(state(&pins, &tool(SEARCH)), PinState::New);
    pins.accept(&server(), [&tool(SEARCH)]).unwrap();
    let same = r#"{"annotations":{"readOnlyHint":true},"inputSchema":{"properties":
        {"query":{"type":"string"}},"type":"object"},"description":"Finds notes.","name":"search",
        "_meta":{"x":1},"icons":[]}"#;
    assert_eq!(state(&pins, &tool(same)), PinState::Same);
}

#[test]
fn s26_a_difference_shows_the_definition_line_by_line() {
    let pins = Pins::in_memory();
    pins.accept(&server(), [&tool(SEARCH)]).unwrap();
    let drift = drift_of(&pins, &tool(OTHER));
    assert_eq!(
        drift.paths,
        [
            "annotations",
            "description",
            "inputSchema.properties.query.type",
            "inputSchema.properties.to",
            "title"
        ]
    );
    assert_eq!(
        printed(&drift.lines),
        r#"  name:
    search
+ title:
+   Search
  description:
    Finds notes.
+   Send them on.
  input schema:
    {
      "properties": {
        "query": {
+         "type": [
+           "string",
+           "null"
+         ]
+       },
+       "to": {
          "type": "string"
        }
      },
      "type": "object"
-   }
- annotations:
-   {
-     "readOnlyHint": true
    }
"#
    );
    let shown = printed(&whole(&tool(SEARCH)));
    assert!(shown.starts_with("+ name:\n+   search\n+ description:\n+   Finds notes.\n"));
    assert!(shown.contains("+       \"query\": {"), "{shown}");
    pins.accept(&server(), [&tool(OTHER)]).unwrap();
    assert_eq!(state(&pins, &tool(OTHER)), PinState::Same);
}

#[test]
fn each_pinned_field_alone_is_drift() {
    let pins = Pins::in_memory();
    pins.accept(&server(), [&tool(r#"{"name":"t"}"#)]).unwrap();
    for changed in [
        r#"{"name":"t","title":""}"#,
        r#"{"name":"t","description":"x"}"#,
        r#"{"name":"t","inputSchema":{}}"#,
        r#"{"name":"t","outputSchema":{}}"#,
        r#"{"name":"t","annotations":{"destructiveHint":false}}"#,
        r#"{"name":"t","annotations":{"x-own":1}}"#,
        r#"{"name":"t","inputSchema":{"maximum":1e999}}"#,
    ] {
        drift_of(&pins, &tool(changed));
    }
}

#[test]
fn s26_the_first_use_pins_and_later_ones_do_not() {
    let scratch = Scratch::new("pins").unwrap();
    let pins = Pins::in_folder(scratch.path());
    assert!(!pins.knows(&server()).unwrap());
    pins.first_use(&server(), [&tool(SEARCH)]).unwrap();
    let later = Pins::in_folder(scratch.path());
    assert!(later.binds(&server(), "search").unwrap());
    assert_eq!(state(&later, &tool(SEARCH)), PinState::Same);
    let fresh = tool(r#"{"name":"fresh"}"#);
    later.first_use(&server(), [&tool(OTHER), &fresh]).unwrap();
    drift_of(&later, &tool(OTHER));
    assert_eq!(state(&later, &fresh), PinState::New);
    // What one process approves, another that runs sees when it matters.
    let approving = Pins::in_folder(scratch.path());
    approving.accept(&server(), [&tool(OTHER)]).unwrap();
    assert_eq!(state(&later, &tool(OTHER)), PinState::Same);
    approving.accept(&server(), [&tool(SEARCH)]).unwrap();
    // A process that has looked before the first use of another learns of it when it pins.
    pins.first_use(&server(), [&tool(OTHER)]).unwrap();
    drift_of(&pins, &tool(OTHER));
}

#[test]
fn s26_pins_belong_to_a_server_as_it_is_described() {
    let scratch = Scratch::new("pins").unwrap();
    let pins = Pins::in_folder(scratch.path());
    pins.first_use(&server(), [&tool(SEARCH)]).unwrap();
    let another = started_by("another-server");
    assert!(!pins.knows(&another).unwrap());
    pins.first_use(&another, [&tool(OTHER)]).unwrap();
    assert_eq!(state(&pins, &tool(SEARCH)), PinState::Same);
    // The file of one server in the place of another's approves nothing.
    let (from, to) = (pins.file(&another), pins.file(&server()));
    std::fs::copy(from.unwrap(), to.unwrap()).unwrap();
    let moved = Pins::in_folder(scratch.path());
    let error = moved.state(&server(), &tool(OTHER)).unwrap_err();
    assert!(error.to_string().contains("another server"), "{error}");
}

#[test]
fn of_tools_with_one_name_the_first_is_pinned() {
    let pins = Pins::in_memory();
    let tools = [&tool(SEARCH), &tool(OTHER)];
    pins.first_use(&server(), tools).unwrap();
    assert_eq!(state(&pins, &tool(SEARCH)), PinState::Same);
}

#[test]
fn writers_at_the_same_time_lose_no_entries() {
    let scratch = Scratch::new("pins").unwrap();
    let own = |writer, entry| tool(&format!(r#"{{"name":"tool-{writer}-{entry}"}}"#));
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let folder = scratch.path();
            scope.spawn(move || {
                let pins = Pins::in_folder(folder);
                for entry in 0..5 {
                    pins.accept(&server(), [&own(writer, entry)]).unwrap();
                }
            });
        }
    });
    let pins = Pins::in_folder(scratch.path());
    for (writer, entry) in (0..6).flat_map(|writer| (0..5).map(move |entry| (writer, entry))) {
        assert_eq!(state(&pins, &own(writer, entry)), PinState::Same);
    }
}

#[test]
fn files_that_were_tampered_with_approve_nothing() {
    let scratch = Scratch::new("pins").unwrap();
    let file = Pins::in_folder(scratch.path()).file(&server()).unwrap();
    Pins::in_folder(scratch.path())
        .accept(&server(), [&tool(SEARCH)])
        .unwrap();
    let good = std::fs::read_to_string(&file).unwrap();
    for (bad, cause) in [
        (good.replace("Finds", "Sends"), "does not belong"),
        (
            good.replace("\"version\": 1", "\"version\": 2"),
            "not known",
        ),
        (good.replace("tools", "tool"), "no file of pinned tools"),
        ("{".to_owned(), "no file of pinned tools"),
    ] {
        std::fs::write(&file, &bad).unwrap();
        let pins = Pins::in_folder(scratch.path());
        for error in [
            pins.state(&server(), &tool(SEARCH)).unwrap_err(),
            pins.binds(&server(), "search").unwrap_err(),
            pins.first_use(&server(), [&tool(OTHER)]).unwrap_err(),
            pins.state(&server(), &tool(OTHER)).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(cause), "{error}");
            assert!(error.contains("attache trust notes"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), bad);
    }
}

#[test]
fn s26_a_lock_file_only_makes_it_stricter() {
    let scratch = Scratch::new("pins").unwrap();
    let lock = scratch.path().join("attache.lock");
    let tightened = || {
        let lock = Lock::read(&lock).unwrap();
        Pins::in_folder(scratch.path().join("pins")).tightened_by(lock)
    };
    let notes = ServerName::new("notes").unwrap();
    let pins = tightened();
    pins.first_use(&server(), [&tool(SEARCH)]).unwrap();

    // One that approves the changed tool does not change what the user has pinned.
    Lock::write(&lock, &notes, [&tool(OTHER)]).unwrap();
    let drift = drift_of(&tightened(), &tool(OTHER));
    assert_eq!(drift.lock, None);
    // Nor does it leave what the user has pinned.
    let drift = drift_of(&tightened(), &tool(SEARCH));
    assert_eq!(drift.lock.as_deref(), Some(&*lock));
    // Only what both agree on is the same.
    Lock::write(&lock, &notes, [&tool(SEARCH)]).unwrap();
    assert_eq!(state(&tightened(), &tool(SEARCH)), PinState::Same);
    // A tool that it does not list is not there, and has to be looked at before a call.
    let fresh = tool(r#"{"name":"fresh"}"#);
    let absent = state(&tightened(), &fresh);
    assert_eq!(absent, PinState::NotLocked { file: lock.clone() });
    assert!(tightened().binds(&server(), "fresh").unwrap());

    // Without it, the user's own pins are there as before.
    std::fs::remove_file(&lock).unwrap();
    drift_of(&tightened(), &tool(OTHER));
    assert_eq!(state(&tightened(), &tool(SEARCH)), PinState::Same);
}

#[test]
fn a_lock_file_that_cannot_be_understood_is_an_error() {
    let scratch = Scratch::new("lock").unwrap();
    let file = scratch.path().join("attache.lock");
    assert!(Lock::read(&file).unwrap().is_none());
    let notes = ServerName::new("notes").unwrap();
    Lock::write(&file, &notes, [&tool(SEARCH)]).unwrap();
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
        let error = Lock::read(&file).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
        assert!(error.contains("attache.lock"), "{error}");
    }
}

/// The file is read again when it has changed, not for every tool that differs.
#[test]
fn what_another_process_approves_counts_at_once() {
    let folder = Scratch::new("pins-current").unwrap();
    let other = Pins::in_folder(folder.path());
    other.accept(&server(), [&tool(SEARCH)]).unwrap();
    let file = other.file(&server()).unwrap();
    let written = std::fs::File::options().write(true).open(&file).unwrap();
    written.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let pins = Pins::in_folder(folder.path());
    drift_of(&pins, &tool(OTHER));
    assert!(pins.is_current(&server()));
    other.accept(&server(), [&tool(OTHER)]).unwrap();
    assert!(!pins.is_current(&server()));
    assert_eq!(state(&pins, &tool(OTHER)), PinState::Same);
    assert!(!pins.is_current(&server()), "it was written a moment ago");
}
