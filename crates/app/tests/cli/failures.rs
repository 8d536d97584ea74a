//! How failures look and which exit code they have.

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
        ["code", "data", "hint", "kind", "message", "server"]
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
        json!({"kind": "server_error", "code": -32602}),
    );
}

#[test]
fn a_tool_that_fails_prints_its_result_and_exits_5() {
    let outcome = run(&["call", "count", "to=0", "--json"]).expect(5);
    assert_eq!(outcome.document()["isError"], true);
    assert_eq!(outcome.error()["kind"], "server_error");
    let outcome = run(&["call", "count", "to=0"]).expect(5);
    assert_eq!(
        outcome.stdout,
        "the arguments of \"count\" do not satisfy its schema: /to: 0 is less than the minimum of 1\n"
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
        json!({"message": "argument \"to\": expected a whole number, got \"ten\""}),
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
    error: sh: no session: the server exited with code 3; its last words: broken
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
