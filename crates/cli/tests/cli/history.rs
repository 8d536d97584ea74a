//! Calls that were written down: listed, shown, made again.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::configured::home;
use crate::harness::{Folder, Scratch, builtin, finish, recorded, toml_server};

fn demo(name: &str) -> Folder {
    home(name, &toml_server("demo", &builtin()))
}

fn calls(home: &Folder, words: &[&str]) -> Vec<Value> {
    let mut all = vec!["history", "--json"];
    all.extend(words);
    let document = home.run(&all).expect(0).document();
    document["calls"].as_array().unwrap().clone()
}

fn everything_below(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => text.push_str(&everything_below(&path)),
            false => text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap())),
        }
    }
    text
}

/// FR-014 of seed 003.
#[test]
fn twenty_mixed_calls_are_shown_with_their_endings() {
    let home = demo("history");
    let mut expected = Vec::new();
    for round in 0..4 {
        let n = format!("n:={round}");
        for (words, code, ending, name) in [
            (&["call", "echo", "message=hi"][..], 0, "result", "echo"),
            (&["read", "demo://welcome"], 0, "result", "demo://welcome"),
            (
                &["prompt", "introduce", "name=Ada"],
                0,
                "result",
                "introduce",
            ),
            (
                &["call", "demo/nothing", "--no-list", &n],
                5,
                "server_error",
                "nothing",
            ),
            (
                &["call", "count", "to=50", "--timeout", "150ms"],
                6,
                "timed_out",
                "count",
            ),
        ] {
            home.run(words).expect(code);
            expected.push((ending, name));
        }
    }
    let calls = calls(&home, &[]);
    let seen: Vec<_> = calls
        .iter()
        .map(|call| {
            let ending = call["ended"]["ending"].as_str().unwrap();
            (ending, call["began"]["name"].as_str().unwrap())
        })
        .collect();
    assert_eq!(seen, expected);
    let numbers: Vec<_> = calls
        .iter()
        .map(|call| call["n"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<u64>>());
    assert_eq!(self::calls(&home, &["--tool", "echo", "-n", "2"]).len(), 2);
    assert_eq!(self::calls(&home, &["--tool", "demo/echo"]).len(), 4);
    assert_eq!(self::calls(&home, &["--server", "other"]).len(), 0);
    assert_eq!(self::calls(&home, &["--since", "1h"]).len(), 20);
    assert_eq!(self::calls(&home, &["--since", "0s"]).len(), 0);

    let text = home.run(&["history"]).expect(0).stdout;
    assert_eq!(text.lines().count(), 20, "{text}");
    assert!(text.contains("demo/echo"), "{text}");
    assert!(text.contains("timed out"), "{text}");
    let shown = home.run(&["history", "show", "5"]).expect(0).stdout;
    for part in ["call 5: demo/count", "ending: timed out", "\"to\": 50"] {
        assert!(shown.contains(part), "{shown}");
    }
    let missing = home.run(&["history", "show", "99"]).expect(2);
    assert!(missing.stderr.contains("no call 99"), "{missing:?}");
}

#[test]
fn a_read_is_made_again_and_what_may_have_had_an_effect_is_asked_about() {
    let requests = Scratch::new("rerun");
    let home = home(
        "rerun",
        &toml_server("demo", &recorded(&builtin(), &requests)),
    );
    home.run(&["read", "demo://welcome"]).expect(0);
    home.run(&["call", "echo", "message=it's me"]).expect(0);
    let reads = || requests.text().matches("\"resources/read\"").count();
    let calls = || requests.text().matches("\"tools/call\"").count();
    let again = home.run(&["history", "rerun", "1"]).expect(0);
    assert!(again.stdout.contains("A small server"), "{again:?}");
    assert_eq!(reads(), 2);

    let refused = home.run(&["history", "rerun", "2"]).expect(7);
    assert!(
        refused.stderr.contains("may have had an effect"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert_eq!(calls(), 1);
    let again = home.run(&["history", "rerun", "2", "--yes"]).expect(0);
    assert_eq!(again.stdout, "it's me\n");
    let again = home.run(&["history", "rerun", "2", "message=you", "--yes"]);
    assert_eq!(again.expect(0).stdout, "you\n");
    assert_eq!(calls(), 3);
    assert_eq!(self::calls(&home, &[]).len(), 5);
}

/// What is printed is what a shell has to be given.
#[cfg(unix)]
#[test]
fn s25_a_copied_command_makes_the_same_call() {
    let home = demo("copied");
    let nasty = r#"it's "$(touch hit)" `x` \ \\ !! ; é"#;
    let word = format!("message={nasty}");
    home.run(&["call", "echo", &word]).expect(0);
    let command = home.run(&["history", "show", "--command"]).expect(0).stdout;
    let binary = Path::new(env!("CARGO_BIN_EXE_attache"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    for shell in ["sh", "bash"] {
        let mut shell = Command::new(shell);
        shell
            .args(["-c", &command])
            .env("PATH", &path)
            .env("HOME", home.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(home.path());
        assert_eq!(finish(&mut shell).expect(0).stdout, format!("{nasty}\n"));
    }
    assert!(!home.path().join("hit").exists());
}

#[test]
fn s12_a_secret_in_an_argument_is_masked_on_disk_and_has_to_be_given_anew() {
    let config = format!(
        "{}env = {{ API_KEY = \"correct-horse\" }}\n",
        toml_server("demo", &builtin())
    );
    let home = home("masked", &config);
    let shape = "message=use ghp_0123456789abcdefghij and correct-horse";
    home.run(&["call", "echo", shape]).expect(0);
    home.run(&["call", "echo", "message=hi", "token=swordfish", "--no-list"]);
    let log = home.path().join(".local/state/attache/logs/calls");
    let on_disk = everything_below(&log);
    for secret in ["swordfish", "correct-horse", "ghp_0123"] {
        assert!(!on_disk.contains(secret), "{secret} in {on_disk}");
    }
    assert!(on_disk.contains("use *** and ***"), "{on_disk}");
    let masked = home.run(&["history", "rerun", "2", "--yes"]).expect(2);
    assert!(masked.stderr.contains("token"), "{masked:?}");
    assert!(masked.stderr.contains("rerun 2 token="), "{masked:?}");
    let command = home.run(&["history", "show", "2", "--command"]).expect(0);
    assert!(!command.stdout.contains("token"), "{command:?}");
    assert!(command.stderr.contains("token was masked"), "{command:?}");
    // Given anew it goes on to the tool, which has no such argument.
    let given = home.run(&["history", "rerun", "2", "token=swordfish", "--yes"]);
    assert!(!given.stderr.contains("masked"), "{given:?}");
}

#[cfg(unix)]
#[test]
fn the_log_is_the_users_alone_goes_where_it_is_told_and_can_be_off() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = toml_server("demo", &builtin());
    let home = home(
        "log-folder",
        &format!("[log]\ndirectory = \"~/mine\"\n{server}"),
    );
    home.run(&["call", "echo", "message=hi"]).expect(0);
    home.run(&["logs"]).expect(0);
    let calls = home.path().join("mine/calls");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&calls), 0o700);
    for entry in std::fs::read_dir(&calls).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    assert!(home.path().join("mine/demo.log").exists());
    assert_eq!(self::calls(&home, &[]).len(), 1);

    let off = format!("[log]\ncalls = \"off\"\n{server}");
    home.write(".config/attache/attache.toml", &off);
    home.run(&["call", "echo", "message=hi"]).expect(0);
    let typed = builtin();
    let mut words = vec!["call", "echo", "message=hi", "--"];
    words.extend(typed.iter().map(String::as_str));
    home.run(&words).expect(0);
    let none = home.run(&["history"]).expect(0);
    assert!(none.stderr.contains("calls = \"off\""), "{none:?}");
    assert!(!home.path().join(".local/state/attache/logs/calls").exists());
}

/// A folder that cannot be made stands for a full disk and for rights that are missing: the writer
/// meets an error either way.
#[test]
fn a_log_that_cannot_be_written_fails_no_call_and_is_told_once() {
    let server = toml_server("demo", &builtin());
    let home = home(
        "unwritable",
        &format!("[log]\ndirectory = \"~/file\"\n{server}"),
    );
    home.write("file", "in the way");
    let outcome = home.run(&["call", "echo", "message=hi"]).expect(0);
    assert_eq!(outcome.stdout, "hi\n");
    let told = outcome.stderr.matches("call log").count();
    assert_eq!(told, 1, "{outcome:?}");
}

#[test]
fn a_call_of_a_typed_server_is_made_again_with_its_command() {
    let home = home("typed", "");
    let server = builtin();
    let mut words = vec!["call", "echo", "message=hi", "--"];
    words.extend(server.iter().map(String::as_str));
    home.run(&words).expect(0);
    let again = home.run(&["history", "rerun", "1", "--yes"]).expect(0);
    assert_eq!(again.stdout, "hi\n");
    let command = home.run(&["history", "show", "1", "--command"]).expect(0);
    assert!(command.stdout.contains("-- "), "{command:?}");
}

#[test]
fn a_call_is_not_made_again_with_another_configuration() {
    let home = demo("elsewhere");
    home.run(&["call", "echo", "message=hi"]).expect(0);
    home.write("project/attache.toml", &toml_server("demo", &builtin()));
    let project = home.path().join("project");
    let mut command = home.attache();
    command.current_dir(&project);
    let refused = finish(command.args(["history", "rerun", "1", "--yes"])).expect(2);
    assert!(refused.stderr.contains("was made with"), "{refused:?}");
}

/// P2's cousin: what was under way when the program was killed is known.
#[cfg(unix)]
#[test]
fn a_call_whose_program_was_killed_has_no_end() {
    let home = demo("killed");
    let mut child = home
        .attache()
        .args(["call", "count", "to=1000"])
        .spawn()
        .unwrap();
    let log = home.path().join(".local/state/attache/logs/calls");
    crate::harness::wait_until("the beginning is written", || {
        log.exists() && everything_below(&log).contains("\"began\"")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let calls = calls(&home, &[]);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["ended"], Value::Null);
    let shown = home.run(&["history"]).expect(0).stdout;
    assert!(shown.contains("no end"), "{shown}");
}
