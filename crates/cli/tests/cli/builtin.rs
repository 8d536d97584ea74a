//! Every command on the built-in server, as people and as scripts see it.

use std::process::Stdio;

use serde_json::json;

use crate::harness::{Scratch, attache, builtin, finish, run, toml_server};

fn shown(words: &[&str]) -> String {
    let outcome = run(words).expect(0);
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

#[test]
fn without_a_command_the_server_and_its_tools_are_shown() {
    insta::assert_snapshot!(shown(&[]), @"
    demo     3 tools, 2 resources, 1 prompt · attache-demo 0.1.0 · modern 2026-07-28
    lisp     built in; try: attache call lisp/evaluate-lisp code='(expt 2 200)'
    notes    built in; try: attache call notes/search_notes query=morning
    speckit  built in; try: attache tools speckit

    echo   Says the message back.
           message=<string>
    add    Adds two numbers.
           a=<number> b=<number>
    count  Counts slowly, with progress; it can be cancelled.
           to=<integer> [delay_ms=<integer>]

    Try: attache call echo message=hi
         attache --help
    ");
    insta::assert_snapshot!(shown(&["ls", "--era", "legacy"]), @"
    demo     3 tools, 2 resources, 1 prompt · attache-demo 0.1.0 · legacy 2025-11-25
    lisp     built in; try: attache call lisp/evaluate-lisp code='(expt 2 200)'
    notes    built in; try: attache call notes/search_notes query=morning
    speckit  built in; try: attache tools speckit
    ");
    assert_eq!(shown(&["--json"]), shown(&["ls", "--json"]));
}

#[test]
fn ls_as_json() {
    let document = run(&["ls", "--json"]).expect(0).document();
    assert_eq!(
        document,
        json!({"servers": [{
            "name": "demo",
            "state": "ready",
            "era": "modern",
            "revision": "2026-07-28",
            "serverInfo": {"name": "attache-demo", "version": env!("CARGO_PKG_VERSION")},
            "counts": {"tools": 3, "resources": 2, "resourceTemplates": 0, "prompts": 1},
            "remembered": null, "lastError": null,
        }, {
            "name": "lisp",
            "state": "built_in",
            "era": null,
            "revision": null,
            "serverInfo": null,
            "counts": null,
            "remembered": null, "lastError": null,
        }, {
            "name": "notes",
            "state": "built_in",
            "era": null,
            "revision": null,
            "serverInfo": null,
            "counts": null,
            "remembered": null, "lastError": null,
        }, {
            "name": "speckit",
            "state": "built_in",
            "era": null,
            "revision": null,
            "serverInfo": null,
            "counts": null,
            "remembered": null, "lastError": null,
        }]})
    );
}

/// Whoever names a server inside the program has it, also beside configured ones, which come first
/// under their own names.
#[test]
fn servers_inside_the_program_are_there_by_name() {
    insta::assert_snapshot!(shown(&["ls", "lisp"]), @"
    lisp  1 tool · Attaché Lisp 0.1.0 · modern 2026-07-28
    ");
    assert!(shown(&["tools", "lisp"]).starts_with("evaluate-lisp  "));
    let typo = run(&["tools", "lips"]).expect(2);
    assert!(typo.stderr.contains("did you mean \"lisp\"?"), "{typo:?}");

    let home = crate::configured::home("inside", &toml_server("lisp", &builtin()));
    let listed = home.run(&["ls"]).expect(0);
    insta::assert_snapshot!(listed.stdout, @"
    lisp  3 tools, 2 resources, 1 prompt · attache-demo 0.1.0 · modern 2026-07-28
    ");
    let called = home.run(&["call", "demo/echo", "message=hi"]).expect(0);
    assert_eq!(called.stdout, "hi\n");
    let called = home.run(&["call", "lisp/echo", "message=hi"]).expect(0);
    assert_eq!(called.stdout, "hi\n");
}

#[test]
fn lists() {
    insta::assert_snapshot!(shown(&["tools"]), @"
    echo   Says the message back.
           message=<string>
    add    Adds two numbers.
           a=<number> b=<number>
    count  Counts slowly, with progress; it can be cancelled.
           to=<integer> [delay_ms=<integer>]
    ");
    insta::assert_snapshot!(shown(&["resources"]), @"
    demo://welcome  welcome [text/plain] – What this server is.
    demo://clock    clock [text/plain] – Seconds since 1970; changes every second.
    ");
    insta::assert_snapshot!(shown(&["prompts"]), @"
    introduce  Asks for an introduction of somebody.
               name=<string> [style=<string>]
    ");
}

#[test]
fn lists_as_json_are_in_the_protocols_shapes() {
    for (command, key, count) in [
        ("tools", "tools", 3),
        ("resources", "resources", 2),
        ("prompts", "prompts", 1),
    ] {
        for era in ["modern", "legacy"] {
            let document = run(&[command, "--json", "--era", era]).expect(0).document();
            let entries = document[key].as_array().unwrap();
            assert_eq!(entries.len(), count);
            assert!(entries.iter().all(|entry| entry["server"] == "demo"));
            assert_eq!(
                document["servers"],
                json!([{"name": "demo", "outcome": "ok"}])
            );
        }
    }
    let document = run(&["tools", "--json"]).document();
    assert_eq!(
        document["tools"][0],
        json!({
            "name": "echo",
            "description": "Says the message back.",
            "inputSchema": {
                "type": "object",
                "properties": {"message": {"type": "string"}},
                "required": ["message"],
                "additionalProperties": false,
            },
            "server": "demo",
        })
    );
    assert_eq!(
        run(&["resources", "--json"]).document()["resourceTemplates"],
        json!([])
    );
}

#[test]
fn calls() {
    assert_eq!(shown(&["call", "echo", "message=hi"]), "hi\n");
    assert_eq!(shown(&["call", "demo/echo", "message=hi"]), "hi\n");
    assert_eq!(shown(&["call", "add", "a=1", "b=2.5"]), "3.5\n");
    assert_eq!(
        shown(&["call", "echo", "--args", r#"{"message":"hi"}"#]),
        "hi\n"
    );
    assert_eq!(
        shown(&["call", "echo", "message:=\"hi\"", "--no-list"]),
        "hi\n"
    );
    for era in ["modern", "legacy"] {
        let document = run(&["call", "add", "a=1", "b=2", "--json", "--era", era])
            .expect(0)
            .document();
        assert_eq!(document["structuredContent"], json!({"sum": 3}));
    }
}

#[test]
fn arguments_come_from_files_and_stdin_too() {
    let file = Scratch::new("argument");
    std::fs::write(file.path(), "from a file").unwrap();
    let word = format!("message=@{}", file.path().display());
    assert_eq!(shown(&["call", "echo", &word]), "from a file\n");
    std::fs::write(file.path(), r#"{"message":"whole"}"#).unwrap();
    let word = format!("@{}", file.path().display());
    assert_eq!(shown(&["call", "echo", "--args", &word]), "whole\n");
    let stdin = std::fs::File::open(file.path()).unwrap();
    let mut command = attache();
    command.args(["call", "echo", "--args", "-"]);
    let outcome = finish(command.stdin(Stdio::from(stdin))).expect(0);
    assert_eq!(outcome.stdout, "whole\n");
}

#[test]
fn progress_is_shown_when_asked_for() {
    let words = ["call", "count", "to=3", "delay_ms=0", "--progress"];
    let outcome = run(&[&words[..], &["always"]].concat()).expect(0);
    insta::assert_snapshot!(outcome.stderr, @"
    count: 1 of 3, counted to 1
    count: 2 of 3, counted to 2
    count: 3 of 3, counted to 3
    ");
    for quiet in ["auto", "never"] {
        let outcome = run(&[&words[..], &[quiet]].concat()).expect(0);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str()),
            ("counted to 3\n", "")
        );
    }
}

#[test]
fn reading_and_prompting() {
    insta::assert_snapshot!(shown(&["read", "demo://welcome"]), @"
    A small server to try things out: echo, add, count, two resources and a prompt.
    ");
    insta::assert_snapshot!(shown(&["prompt", "introduce", "name=Ada", "style=briefly"]), @"
    user: 
    Introduce Ada briefly.
    ");
    let read = run(&["read", "demo://welcome", "--json"])
        .expect(0)
        .document();
    assert_eq!(read["contents"][0]["uri"], "demo://welcome");
    let prompt = run(&["prompt", "introduce", "name=Ada", "--json"]).expect(0);
    assert_eq!(prompt.document()["messages"][0]["role"], "user");
}

#[test]
fn contents_are_saved_where_the_user_says() {
    let file = Scratch::new("saved");
    let path = file.path().display().to_string();
    let outcome = run(&["read", "demo://welcome", "--out", &path]).expect(0);
    assert_eq!(outcome.stdout, "");
    assert!(file.text().starts_with("A small server"));
    let outcome = run(&["call", "echo", "message=x", "--out", &path]).expect(5);
    assert!(
        outcome.stderr.contains("no binary content to save"),
        "{outcome:?}"
    );
}

#[test]
fn colours_are_for_terminals_and_those_who_insist() {
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = attache();
        command.arg("ls").envs(variables.iter().copied());
        finish(&mut command).stdout.contains('\u{1b}')
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = attache()
        .arg("tools")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stderr, b"");
}

// X-STDIO-07.
#[test]
fn the_server_takes_an_environment_a_folder_and_a_revision() {
    let script = r#"echo "$GREETING in $PWD" >&2; exec "$0" serve demo"#;
    let outcome = run(&[
        "ls",
        "--verbose",
        "--env",
        "GREETING=hello",
        "--cwd",
        "/",
        "--protocol",
        "2025-03-26",
        "--",
        "sh",
        "-c",
        script,
        env!("CARGO_BIN_EXE_attache"),
    ])
    .expect(0);
    assert_eq!(outcome.stderr, "sh stderr: hello in /\n");
    assert!(outcome.stdout.contains("legacy 2025-03-26"), "{outcome:?}");
}
