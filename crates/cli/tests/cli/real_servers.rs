//! The commands on servers that others wrote.

use serde_json::json;

use crate::configured::home;
use crate::harness::{Scratch, everything, finish, recorded, run_on, time, toml_server};

#[test]
fn everything_lists_its_tools() {
    let outcome = run_on(&everything(), &["tools", "--json"]).expect(0);
    let document = outcome.document();
    let tools = document["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|tool| tool["name"] == "echo"),
        "{document}"
    );
    assert!(tools.iter().all(|tool| tool["server"] == "node"));
    assert_eq!(
        document["servers"],
        json!([{"name": "node", "outcome": "ok"}])
    );
    // Nobody can be asked here, so it does not offer tools that ask.
    assert!(
        !tools
            .iter()
            .any(|tool| tool["name"] == "trigger-elicitation-request")
    );
}

#[test]
fn everything_answers_as_it_answers() {
    let outcome = run_on(&everything(), &["call", "echo", "message=hi", "--json"]).expect(0);
    assert_eq!(
        outcome.stdout,
        "{\"content\":[{\"type\":\"text\",\"text\":\"Echo: hi\"}]}\n"
    );
    let outcome = run_on(&everything(), &["call", "get-sum", "a=1", "b=2"]).expect(0);
    assert_eq!(outcome.stdout, "The sum of 1 and 2 is 3.\n");
    run_on(&everything(), &["call", "no-such-tool", "--json"]).expect(5);
    run_on(&everything(), &["read", "demo://nowhere", "--json"]).expect(5);
}

#[test]
fn everything_is_told_when_a_call_timed_out() {
    let record = Scratch::new("everything-timeout");
    let server = recorded(&everything(), &record);
    let words = [
        "call",
        "trigger-long-running-operation",
        "duration=20",
        "steps=20",
        "--timeout",
        "1s",
        "--json",
    ];
    let outcome = run_on(&server, &words).expect(6);
    assert_eq!(outcome.error()["kind"], "timed_out");
    record.wait_for("notifications/cancelled");
}

#[test]
fn everything_sends_pictures_links_and_logs() {
    let file = Scratch::new("picture");
    let path = file.path().display().to_string();
    let outcome = run_on(&everything(), &["call", "get-tiny-image", "--out", &path]).expect(0);
    assert!(outcome.stdout.contains("[image/png, "), "{outcome:?}");
    assert_eq!(&std::fs::read(file.path()).unwrap()[1..4], b"PNG");
    // Into a folder each goes under a name of our own, over none that is there.
    let folder = crate::harness::Folder::new("pictures");
    let place = format!("{}/", folder.path().join("new").display());
    for number in 1..=2 {
        run_on(&everything(), &["call", "get-tiny-image", "--save", &place]).expect(0);
        let file = folder
            .path()
            .join(format!("new/get-tiny-image-{number}.png"));
        assert_eq!(&std::fs::read(file).unwrap()[1..4], b"PNG");
    }
    let outcome = run_on(&everything(), &["call", "get-resource-links", "count=2"]).expect(0);
    assert!(
        outcome.stdout.contains("demo://resource/dynamic/"),
        "{outcome:?}"
    );
    let outcome = run_on(
        &everything(),
        &["call", "toggle-simulated-logging", "--log-level", "debug"],
    )
    .expect(0);
    assert!(outcome.stdout.contains("Started simulated"), "{outcome:?}");
}

// C-TSKX-03.
#[test]
fn everything_runs_a_tool_that_must_be_a_task() {
    let words = ["call", "simulate-research-query", "topic=tea", "--json"];
    let document = run_on(&everything(), &words).expect(0).document();
    let text = document["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Research Report: tea"), "{text}");
    let record = Scratch::new("everything-task");
    let server = recorded(&everything(), &record);
    let words = [
        "call",
        "simulate-research-query",
        "topic=tea",
        "--timeout",
        "1s",
    ];
    run_on(&server, &words).expect(6);
    record.wait_for("tasks/cancel");
}

/// The same by the process that keeps it running.
#[test]
fn everything_runs_such_a_tool_in_the_background() {
    let record = Scratch::new("everything-kept-task");
    let server = toml_server("everything", &recorded(&everything(), &record));
    let home = home("everything-kept", &server);
    let kept = |words: &[&str]| {
        let mut command = home.attache();
        finish(command.env("XDG_RUNTIME_DIR", home.path()).args(words))
    };
    kept(&["up"]).expect(0);
    let words = ["call", "simulate-research-query", "topic=tea", "--json"];
    let document = kept(&words).expect(0).document();
    let text = document["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Research Report: tea"), "{text}");
    let words = [
        "call",
        "simulate-research-query",
        "topic=tea",
        "--timeout",
        "1s",
    ];
    kept(&words).expect(6);
    record.wait_for("tasks/cancel");
    assert_eq!(record.text().matches("\"initialize\"").count(), 1);
    kept(&["down"]).expect(0);
}

#[test]
fn the_time_server_speaks_both_eras() {
    for era in ["modern", "legacy"] {
        let document = run_on(&time(), &["ls", "--json", "--era", era])
            .expect(0)
            .document();
        assert_eq!(document["servers"][0]["era"], era);
        let outcome = run_on(&time(), &["resources", "--era", era]).expect(0);
        assert_eq!(outcome.stdout, "mcp-server-time has no resources\n");
        let words = [
            "call",
            "get_current_time",
            "timezone=Europe/Paris",
            "--json",
            "--era",
            era,
        ];
        let document = run_on(&time(), &words).expect(0).document();
        let text = document["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Europe/Paris"), "{text}");
    }
}
