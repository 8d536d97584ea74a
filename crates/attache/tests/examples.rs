//! The examples do what they say, against a real server process.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::path::PathBuf;
use std::process::Command;

use attache_testkit::chaos::Script;

/// Runs an example against the chaos server at its best behaviour and gives what it printed.
fn run(example: &str) -> String {
    let server = Script::legacy("2025-11-25").launch().unwrap();
    let command = server.command();
    let program = examples().join(example);
    assert!(
        program.exists(),
        "{} is missing; run `cargo build --examples -p attache` first",
        program.display()
    );
    let output = Command::new(program)
        .arg(command.get_program())
        .args(command.get_args())
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {printed}{complaint}");
    printed
}

/// Cargo builds examples beside the folder of this test.
fn examples() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples")
}

#[track_caller]
fn check(example: &str, expected: &[&str]) {
    let printed = run(example);
    for text in expected {
        assert!(
            printed.contains(text),
            "{example} did not print {text:?}: {printed}"
        );
    }
}

#[test]
fn a_server_is_started_and_closed() {
    check(
        "start_and_close",
        &["speaks 2025-11-25", "it exited with code 0"],
    );
}

#[test]
fn tools_are_listed_and_found_by_name() {
    check("list_tools", &["echo: ", "arguments of"]);
}

#[test]
fn a_tool_is_called() {
    check("call_a_tool", &["Grüße", "issued"]);
}

#[test]
fn many_calls_are_answered() {
    check("many_calls", &["100 answers"]);
}

#[test]
fn many_servers_are_one_host() {
    check(
        "many_servers",
        &["one/echo", "two/echo", "missing: parked", "hello from two"],
    );
}

#[test]
fn a_host_is_followed() {
    check(
        "follow",
        &[
            r#""event":"sent""#,
            r#""kind":{"received":{"#,
            r#""state":"stopped""#,
            "tools/call echo took",
        ],
    );
}
