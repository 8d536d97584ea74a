//! Recordings served, compared, asked again, and made by other tools' configurations.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::harness::{Folder, attache, builtin, finish, old_time, time, toml_server};
use crate::tap::{mocked, tapped};

#[test]
fn a_recording_of_both_eras_is_served_in_both_or_in_one() {
    let home = Folder::new("mock-eras");
    let file = home.path().join("s.mcprec");
    let tools = |server: &[String], era: &str| {
        let mut command = attache();
        command
            .args(["tools", "--json", "--era", era, "--"])
            .args(server);
        finish(&mut command)
    };
    for era in ["legacy", "modern"] {
        tools(&tapped(&file, &builtin()), era).expect(0);
    }
    for era in ["legacy", "modern"] {
        let listed = tools(&mocked(&file, &[]), era).expect(0).document();
        let direct = tools(&builtin(), era).expect(0).document();
        assert_eq!(listed["tools"], direct["tools"], "{era}");
    }
    tools(&mocked(&file, &["--era", "legacy"]), "legacy").expect(0);
    tools(&mocked(&file, &["--era", "legacy"]), "modern").expect(4);
    tools(&mocked(&file, &["--era", "modern"]), "legacy").expect(4);
}

#[test]
fn misses_are_told_and_make_the_exit_code() {
    let home = Folder::new("mock-miss");
    let file = home.path().join("s.mcprec");
    let ask = |server: &[String], message: &str| {
        let mut command = attache();
        command
            .args(["call", "echo", &format!("message={message}"), "--"])
            .args(server);
        finish(&mut command)
    };
    ask(&tapped(&file, &builtin()), "hi").expect(0);
    assert_eq!(ask(&mocked(&file, &[]), "hi").expect(0).stdout, "hi\n");
    let missed = ask(&mocked(&file, &[]), "ho").expect(5);
    assert!(missed.stderr.contains("it was not recorded"), "{missed:?}");
    let nearest = ask(&mocked(&file, &["--on-miss", "nearest"]), "ho").expect(0);
    assert_eq!(nearest.stdout, "hi\n");
    // By itself it says what it missed.
    let mut mock = home.attache();
    mock.args(["mock", "s.mcprec"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = mock.spawn().unwrap();
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"no\\u001b[2J\"}}\n";
    child.stdin.take().unwrap().write_all(line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("1 request has no answer of its own") && !stderr.contains('\u{1b}'),
        "{stderr}"
    );
    // The real server is asked if it is named.
    let upstream = |options: &[&str]| {
        let options = [&["--on-miss", "ask-upstream"], options, &["--"]].concat();
        [&mocked(&file, &options)[..], &builtin()].concat()
    };
    assert_eq!(ask(&upstream(&["--yes"]), "ho").expect(0).stdout, "ho\n");
    // The policy holds for calls that a client makes through the mock.
    let refused = ask(&upstream(&[]), "ho").expect(5);
    assert!(
        refused.stderr.contains("there is nobody to ask"),
        "{refused:?}"
    );
    let unnamed = home
        .run(&["mock", "s.mcprec", "--on-miss", "ask-upstream"])
        .expect(2);
    assert!(
        unnamed.stderr.contains("needs a server to ask"),
        "{unnamed:?}"
    );
}

#[test]
fn a_redacted_recording_is_served_only_if_that_is_said() {
    let home = Folder::new("mock-redacted");
    let mut words = tapped(&home.path().join("s.mcprec"), &builtin());
    words.insert(4, "--redact".to_owned());
    let mut command = attache();
    command
        .args(["call", "echo", "message=password=correct-horse", "--"])
        .args(&words);
    finish(&mut command).expect(0);
    let text = std::fs::read_to_string(home.path().join("s.mcprec")).unwrap();
    assert!(!text.contains("correct-horse"), "{text}");
    let refused = home.run(&["mock", "s.mcprec"]).expect(2);
    assert!(refused.stderr.contains("--allow-redacted"), "{refused:?}");
    home.run(&["mock", "s.mcprec", "--allow-redacted"])
        .expect(0);
    let shown = home.run(&["show", "s.mcprec"]).expect(0).stdout;
    assert!(shown.contains("secrets were replaced"), "{shown}");
}

#[test]
fn any_command_records_what_passes_and_the_recording_is_served() {
    let home = Folder::new("record");
    for era in ["legacy", "modern"] {
        let file = format!("{era}.mcprec");
        let call = |server: &[String], more: &[&str]| {
            let mut command = home.attache();
            command
                .args(["call", "echo", "message=hi", "--era", era])
                .args(more);
            finish(command.arg("--").args(server))
        };
        let direct = call(&builtin(), &["--json", "--record", &file]).expect(0);
        let shown = home.run(&["show", &file]).expect(0).stdout;
        assert!(
            shown.contains("tools/call echo {\"message\":\"hi\"}  result"),
            "{shown}"
        );
        let served = mocked(&home.path().join(&file), &[]);
        assert_eq!(
            call(&served, &["--json"]).expect(0).document(),
            direct.document()
        );
    }
    // Secrets of a command are not written down.
    let words = [
        "call",
        "echo",
        "message=api_key=abcdefgh12345678",
        "--record",
        "s.mcprec",
    ];
    home.run(
        &[
            &words[..],
            &["--", env!("CARGO_BIN_EXE_attache"), "serve", "demo"],
        ]
        .concat(),
    )
    .expect(0);
    let text = std::fs::read_to_string(home.path().join("s.mcprec")).unwrap();
    assert!(!text.contains("abcdefgh12345678"), "{text}");
    home.run(&["mock", "s.mcprec"]).expect(2);
}

#[test]
fn two_versions_of_a_server_are_told_apart() {
    let home = Folder::new("diff");
    let header =
        r#"{"format":1,"tool":"t","started_ms":1,"server":"s","target":"x","transport":"stdio"}"#;
    let write = |file: &str, kind: &str, took: u64, more: &str| {
        let lines = [
            header.to_owned(),
            r#"{"seq":1,"t_us":0,"dir":"c2s","conn":1,"raw":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}"#.to_owned(),
            format!(r#"{{"seq":2,"t_us":5,"dir":"s2c","conn":1,"raw":{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"add","inputSchema":{{"type":"object","properties":{{"a":{{"type":"{kind}"}}}}}}}}{more}]}}}}}}"#),
            r#"{"seq":3,"t_us":10,"dir":"c2s","conn":1,"raw":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}}"#.to_owned(),
            format!(r#"{{"seq":4,"t_us":{},"dir":"s2c","conn":1,"raw":{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":"at 2026-11-17T10:00:{}Z"}}]}}}}}}"#, 10 + took, took % 60),
        ];
        home.write(file, &(lines.join("\n") + "\n"));
    };
    let one = r#"{"seq":1,"t_us":0,"dir":"stderr","conn":1,"text":"hello"}"#;
    home.write("one.mcprec", &format!("{header}\n{one}\n"));
    let shown = home.run(&["show", "one.mcprec"]).expect(0).stdout;
    assert!(shown.contains(", 1 line in "), "{shown}");
    write("a.mcprec", "integer", 1_010, "");
    write("b.mcprec", "number", 90_020, r#",{"name":"sub"}"#);
    let same = home
        .run(&["diff", "a.mcprec", "a.mcprec", "--exit-code"])
        .expect(0);
    assert!(same.stdout.contains("nothing changed"), "{same:?}");
    let changed = home.run(&["diff", "a.mcprec", "b.mcprec"]).expect(0).stdout;
    for expected in [
        "changed: tool add",
        "/inputSchema/properties/a/type - \"integer\" + \"number\"",
        "added: tool sub",
        "slower: tools/call add {\"a\":1}: 1.0 ms, now 90.0 ms",
    ] {
        assert!(changed.contains(expected), "{expected} in {changed}");
    }
    assert!(!changed.contains("answered otherwise"), "{changed}");
    let document = home
        .run(&["diff", "a.mcprec", "b.mcprec", "--json"])
        .expect(0)
        .document();
    assert_eq!(document["offers"][0]["differences"][0]["after"], "number");
    home.run(&["diff", "a.mcprec", "b.mcprec", "--exit-code"])
        .expect(5);
}

/// The same with a real server, recorded twice, and with another version of it.
#[test]
fn a_server_is_recorded_by_asking_it_and_compared_with_another_version() {
    let home = Folder::new("record-verb");
    let record = |file: &str, server: &[String], call: &str| {
        let mut command = home.attache();
        command.args(["record", "--out", file, "--call", call, "--json", "--"]);
        let document = finish(command.args(server)).expect(0).document();
        assert_eq!(document["calls"], 1, "{document}");
    };
    let echo = r#"echo={"message":"hi"}"#;
    record("a.mcprec", &builtin(), echo);
    record("b.mcprec", &builtin(), echo);
    let shown = home.run(&["show", "a.mcprec"]).expect(0).stdout;
    for expected in ["tools/list", "prompts/list", "tools/call echo"] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    // How long it took is the machine's affair.
    let words = ["diff", "a.mcprec", "b.mcprec", "--exit-code"];
    let same = home.run(&[&words[..], &["--slower-ms", "600000"]].concat());
    assert!(same.expect(0).stdout.contains("nothing changed"));
    let mut mock = attache();
    mock.args(["call", "echo", "message=hi", "--"]);
    let mock = finish(mock.args(mocked(&home.path().join("a.mcprec"), &[])));
    assert_eq!(mock.expect(0).stdout, "hi\n");

    let now = r#"get_current_time={"timezone":"Europe/Paris"}"#;
    record("old.mcprec", &old_time(), now);
    record("new.mcprec", &time(), now);
    let changed = home
        .run(&["diff", "old.mcprec", "new.mcprec"])
        .expect(0)
        .stdout;
    assert!(changed.contains("changed: tool convert_time"), "{changed}");
    home.run(&["record", "--out", "n.mcprec", "--call", "echo=no JSON"])
        .expect(2);
}

#[test]
fn a_recording_is_asked_again_as_far_as_the_policy_allows() {
    let home = Folder::new("replay");
    let file = home.path().join("s.mcprec");
    let mut command = attache();
    command
        .args(["call", "echo", "message=hi", "--"])
        .args(tapped(&file, &builtin()));
    finish(&mut command).expect(0);
    home.write(
        "attache.toml",
        &format!(
            "{}[servers.demo.policy]\nallow = [\"echo\"]\n",
            toml_server("demo", &builtin())
        ),
    );
    let config = ["--config", "attache.toml"];
    let replay = |more: &[&str]| {
        home.run(&[&["replay", "s.mcprec", "--to", "demo"], &config[..], more].concat())
    };
    let same = replay(&[]).expect(0).stdout;
    assert!(same.contains("same      tools/call echo"), "{same}");
    // What opens the session is counted, and not sent.
    assert!(
        same.contains(" the same, 0 different, 0 left out; "),
        "{same}"
    );
    // Without a terminal there is no person to ask, so it is left out.
    home.write("attache.toml", &toml_server("demo", &builtin()));
    let left_out = replay(&[]).expect(0).stdout;
    assert!(left_out.contains("left out  tools/call echo"), "{left_out}");
    let yes = replay(&["--yes", "--only", "echo", "--json"])
        .expect(0)
        .document();
    assert_eq!(yes["requests"][0]["verdict"], "same", "{yes}");
    // A server that answers otherwise is found out.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"text\":\"hi\"", "\"text\":\"ho\"")).unwrap();
    let differs = replay(&["--yes"]).expect(5);
    assert!(
        differs.stdout.contains("differs   tools/call echo"),
        "{differs:?}"
    );
}

#[test]
fn a_tap_is_put_before_a_server_of_another_tool_and_taken_away() {
    let home = Folder::new("tap-install");
    let words: Vec<String> = builtin()
        .iter()
        .map(|word| json!(word).to_string())
        .collect();
    let text = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"demo\": {{\"command\": {}, \"args\": [{}]}},\n  }},\n}}\n",
        words[0],
        words[1..].join(", ")
    );
    let file = home.write(".cursor/mcp.json", &text);
    let read = || std::fs::read_to_string(&file).unwrap();
    let install = |verb: &str| home.run(&["tap", verb, "demo", "--client", "cursor"]);
    install("install").expect(0);
    assert!(
        read().contains("\"tap\", \"--name\", \"demo\", \"--\""),
        "{}",
        read()
    );
    assert!(read().contains("// mine"));
    let again = install("install").expect(2);
    assert!(again.stderr.contains("tapped already"), "{again:?}");
    // What the tool would start works, and is recorded.
    let imported = home.run(&["config", "import", "demo", "--yes"]);
    assert_eq!(imported.code, 0, "{imported:?}");
    let called = home.run(&["call", "demo/echo", "message=hi"]).expect(0);
    assert_eq!(called.stdout, "hi\n");
    let kept = home.run(&["show", "--json"]).expect(0).document();
    let kept = kept["recordings"][0].as_str().unwrap().to_owned();
    assert!(kept.contains("-demo-"), "{kept}");
    let shown = home.run(&["show", &kept]).expect(0).stdout;
    assert!(shown.contains("tools/call echo"), "{shown}");
    install("uninstall").expect(0);
    assert_eq!(read(), text, "byte for byte");
    install("uninstall").expect(2);
    // What was changed since stays.
    install("install").expect(0);
    std::fs::write(&file, read().replace("// mine", "// changed")).unwrap();
    let restored = install("uninstall").expect(0).stdout;
    assert!(restored.contains("keeps those changes"), "{restored}");
    assert_eq!(read(), text.replace("// mine", "// changed"));
    let unknown = home
        .run(&["tap", "install", "dmo", "--client", "cursor"])
        .expect(2);
    assert!(unknown.stderr.contains("demo"), "{unknown:?}");
    home.run(&["tap", "install", "demo", "--client", "nobody"])
        .expect(2);
}
