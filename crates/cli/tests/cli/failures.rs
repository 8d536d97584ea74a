//! How failures look and which exit code they have.

use attache_testkit::chaos::{Action, Launch, Script};
use serde_json::{Value, json};

use crate::harness::{Folder, Scratch, builtin, finish, recorded, run, run_on};

#[track_caller]
fn check(words: &[&str], code: i32, expected: Value) {
    let outcome = run(&[words, &["--json"]].concat()).expect(code);
    assert_eq!(outcome.stdout, "", "{outcome:?}");
    let error = outcome.error();
    let members: Vec<_> = error.as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        members,
        [
            "code", "data", "hint", "kind", "meaning", "message", "server"
        ]
    );
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(&error[member], value, "{member} of {error}");
    }
}

#[test]
fn an_unknown_tool_is_not_called() {
    check(
        &["call", "eco", "message=x"],
        5,
        json!({
            "kind": "server_error",
            "message": "there is no tool \"eco\"",
            "server": "attache-demo",
            "hint": "did you mean \"echo\"?",
        }),
    );
    let record = Scratch::new("unknown-tool");
    let server = recorded(&builtin(), &record);
    run_on(&server, &["call", "eco"]).expect(5);
    assert!(!record.text().contains("tools/call"), "{}", record.text());
    // Who does not want to look is answered by the server.
    check(
        &["call", "eco", "--no-list"],
        5,
        json!({"kind": "server_error", "code": -32602, "meaning": "invalid_params"}),
    );
}

#[test]
fn a_tool_that_fails_prints_its_result_and_exits_5() {
    let outcome = run(&["call", "count", "to=0", "--no-validate", "--json"]).expect(5);
    assert_eq!(outcome.document()["isError"], true);
    let error = outcome.error();
    assert_eq!(error["kind"], "tool_failed");
    assert_eq!([&error["code"], &error["meaning"]], [&Value::Null; 2]);
    let outcome = run(&["call", "count", "to=0", "--no-validate"]).expect(5);
    assert_eq!(
        outcome.stdout,
        "the arguments of \"count\" do not satisfy its schema: \"to\" must be at least 1, not 0\n"
    );
    assert_eq!(
        outcome.stderr,
        "error: attache-demo: the tool count failed\n"
    );
}

#[test]
fn resources_and_prompts_that_do_not_exist() {
    for (era, code) in [("modern", -32602), ("legacy", -32002)] {
        check(
            &["read", "demo://nothing", "--era", era],
            5,
            json!({
                "kind": "server_error",
                "message": "the resource does not exist: there is no resource demo://nothing",
                "code": code,
                "meaning": "resource_not_found",
                "data": {"uri": "demo://nothing"},
            }),
        );
    }
    check(
        &["prompt", "intro"],
        5,
        json!({"message": "there is no prompt \"intro\"", "hint": "there are: introduce"}),
    );
}

#[test]
fn mistakes_in_arguments() {
    check(
        &["call", "echo", "mesage=x"],
        2,
        json!({
            "kind": "usage",
            "message": "echo has no argument \"mesage\"",
            "hint": "did you mean \"message\"?",
        }),
    );
    check(
        &["call", "count", "to=ten"],
        2,
        json!({"message": "argument \"to\" must be a whole number, like 12, not \"ten\""}),
    );
    check(
        &["prompt", "introduce"],
        2,
        json!({
            "message": "introduce needs the argument \"name\"",
            "hint": "it takes: name=<string> [style=<string>]",
        }),
    );
    check(
        &["call"],
        2,
        json!({"kind": "usage", "hint": "see `attache --help`"}),
    );
    check(
        &["tools", "--era", "stone-age"],
        2,
        json!({"kind": "usage"}),
    );
    check(
        &["tools", "echo"],
        2,
        json!({
            "kind": "usage",
            "message": "no server is named \"echo\"",
            "hint": "`attache ls` shows the servers there are",
        }),
    );
}

#[test]
fn an_unknown_verb_suggests_the_nearest_one() {
    for (words, verb, hint) in [
        (&["tool"][..], "tool", "did you mean \"tools\"?"),
        (
            &["--timeout", "1s", "cal", "echo"],
            "cal",
            "did you mean \"call\"?",
        ),
        (&["lst", "--", "sh"], "lst", "did you mean \"ls\"?"),
    ] {
        let message = format!("there is no verb \"{verb}\"");
        let json = [&["--json"], words].concat();
        let error = run(&json).expect(2).error();
        assert_eq!(error["kind"], "usage");
        assert_eq!(error["message"], message);
        assert_eq!(error["hint"], hint);
        let outcome = run(words).expect(2);
        assert_eq!(outcome.stderr, format!("error: {message}\nhint: {hint}\n"));
    }
    let outcome = run(&["frobnicate"]).expect(2);
    assert!(
        outcome.stderr.contains("there are: ls, tools, "),
        "{outcome:?}"
    );
    // A word too many is not a verb.
    let outcome = run(&["tools", "one", "tool"]).expect(2);
    assert!(
        outcome.stderr.contains("unexpected argument"),
        "{outcome:?}"
    );
}

#[test]
fn nobody_at_an_address_is_told_so() {
    let url = "http://127.0.0.1:9/mcp";
    for words in [
        &["tools", url][..],
        &["tools", "--", url],
        &["call", "--server", url, "x"],
    ] {
        let words = [&["--json"], words].concat();
        let error = run(&words).expect(4).error();
        assert_eq!(error["kind"], "connect");
        assert_eq!(error["server"], "127.0.0.1-9");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("Connection refused"), "{message}");
        assert!(message.contains("check that it runs"), "{message}");
        assert_eq!(error["hint"], serde_json::Value::Null);
    }
}

#[test]
fn fault_13_a_missing_command_is_named() {
    let outcome = run(&["tools", "--json", "--", "no-such-command-anywhere"]).expect(4);
    assert_eq!(outcome.stdout, "");
    let error = outcome.error();
    assert_eq!(error["kind"], "spawn");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`no-such-command-anywhere`"), "{message}");
    let outcome = run(&["tools", "--", "/no/such/file"]).expect(4);
    assert_eq!(
        outcome.stderr,
        "error: file: cannot start `/no/such/file`: there is no file /no/such/file; check the path\n"
    );
    // A state is shown even so.
    let outcome = run(&["ls", "--json", "--", "/no/such/file"]).expect(4);
    assert_eq!(outcome.document()["servers"][0]["state"], "parked");
    assert_eq!(
        outcome.document()["servers"][0]["lastError"],
        outcome.error()
    );
}

#[test]
fn a_command_that_is_no_server() {
    let outcome = run(&["ls", "--", "sh", "-c", "echo broken >&2; exit 3"]).expect(4);
    insta::assert_snapshot!(outcome.stderr, @"
    error: sh: no session came about: the server exited with code 3; its last words: broken
    hint: run the command by itself to see why it leaves
    ");
    let outcome = run(&[
        "tools",
        "--json",
        "--start-timeout",
        "200ms",
        "--",
        "sh",
        "-c",
        "exec sleep 1000",
    ])
    .expect(4);
    assert_eq!(outcome.error()["kind"], "connect");
}

/// A legacy server that is silent on what it does not know.
fn silent() -> Vec<String> {
    let script = r#"
        while read -r line; do
            case $line in
                *'"initialize"'*) id=${line#*'"id":'}; id=${id%%,*}
                    echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
                *'"tools/list"'*) id=${line#*'"id":'}; id=${id%%,*}
                    echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[]}}' ;;
            esac
        done"#;
    ["bash", "-c", script].map(str::to_owned).to_vec()
}

// Fault 67: what was learnt is remembered for a server typed after `--`.
#[test]
fn fault_67_a_typed_server_that_is_silent_is_probed_once() {
    let home = Folder::new("silent");
    let record = Scratch::new("silent-record");
    let server = recorded(&silent(), &record);
    for _ in 0..2 {
        let mut command = home.attache();
        finish(command.args(["tools", "--json", "--"]).args(&server)).expect(0);
    }
    let text = record.text();
    assert_eq!(text.matches("server/discover").count(), 1, "{text}");
    assert_eq!(text.matches("\"initialize\"").count(), 2, "{text}");
}

#[test]
fn a_server_of_another_era_only_is_incompatible() {
    let outcome = run_on(&refusing(), &["tools", "--json", "--era", "modern"]).expect(4);
    assert_eq!(outcome.error()["kind"], "incompatible");
}

/// A legacy server that refuses what it does not know.
fn refusing() -> Vec<String> {
    let script = r#"
        while read -r line; do
            id=${line#*'"id":'}; id=${id%%,*}
            echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"no"}}'
        done"#;
    ["bash", "-c", script].map(str::to_owned).to_vec()
}

#[test]
fn a_tool_that_takes_too_long_is_told_to_stop() {
    for era in ["modern", "legacy"] {
        let record = Scratch::new(&format!("timeout-{era}"));
        let server = recorded(&builtin(), &record);
        // Progress does not put off a time that was asked for.
        let words = [
            "call",
            "count",
            "to=1000",
            "delay_ms=10",
            "--timeout",
            "300ms",
            "--era",
            era,
        ];
        let outcome = run_on(&server, &words).expect(6);
        assert!(
            outcome.stderr.contains("the server was told to stop"),
            "{outcome:?}"
        );
        record.wait_for("notifications/cancelled");
    }
}

#[test]
fn fault_38_a_server_that_dies_during_a_call_leaves_the_outcome_unknown() {
    // It takes everything down with it when the call arrives.
    let script = r#"
        { while read -r line; do
            printf '%s\n' "$line"
            case $line in *tools/call*) kill -9 $$; exit;; esac
          done; } | "$0" serve demo"#;
    let outcome = run(&[
        "call",
        "count",
        "to=100",
        "--json",
        "--",
        "sh",
        "-c",
        script,
        env!("CARGO_BIN_EXE_attache"),
    ])
    .expect(8);
    assert_eq!(outcome.error()["kind"], "outcome_unknown");
    let message = outcome.error()["message"].to_string();
    let expected = "tools/call was sent and may have had its effect, but no answer came: the server \
                    was killed by signal 9 (SIGKILL)";
    assert!(message.contains(expected), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_reported() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = crate::harness::attache();
    command.args(["tools", "--json"]).stdout(full);
    let outcome = crate::harness::finish(&mut command).expect(1);
    assert_eq!(outcome.error()["kind"], "unexpected");
}

/// The command of a chaos server; it lives as long as its launch.
fn command_of(launch: &Launch) -> Vec<String> {
    let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
    let mut server = vec![text(launch.program.as_os_str())];
    server.extend(launch.args.iter().map(|word| text(word)));
    server
}

/// Seeds rows 26 to 28: codes that mean something in the dialect only are shown by name.
#[test]
fn fault_73_the_codes_of_the_dialect_are_told_by_name() {
    for (code, dialect, exit, kind, name) in [
        (-32001, "lsp", 6, "timed_out", "(code -32001, timeout)"),
        (
            -32000,
            "lsp",
            5,
            "tool_failed",
            "(code -32000, tool failed)",
        ),
        (-32002, "lsp", 7, "cancelled", "(code -32002, cancelled)"),
        (-32001, "standard", 5, "server_error", "(code -32001)"),
        (-32002, "standard", 5, "server_error", "(code -32002)"),
    ] {
        let script = Script::legacy("2025-11-25");
        let launch = script
            .on("tools/call", [Action::error(code, "no")])
            .launch();
        let launch = launch.unwrap();
        let words = ["call", "echo", "message=x", "--json", "--dialect", dialect];
        let outcome = run_on(&command_of(&launch), &words).expect(exit);
        let error = outcome.error();
        assert_eq!(
            (&error["kind"], &error["code"]),
            (&json!(kind), &json!(code))
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.ends_with(name), "{message}");
    }
}

/// X-PROG-01: a token is sent where a person can see the progress.
#[test]
fn progress_is_asked_for_only_if_it_can_be_seen() {
    for (more, asked) in [(&[][..], false), (&["--progress", "always"], true)] {
        let launch = Script::legacy("2025-11-25").launch().unwrap();
        let words = [&["call", "echo", "message=x"], more].concat();
        run_on(&command_of(&launch), &words).expect(0);
        let calls = launch.received_of("tools/call").unwrap();
        let token = &calls[0]["params"]["_meta"]["progressToken"];
        assert_eq!(!token.is_null(), asked, "{more:?}: {}", calls[0]);
    }
}
