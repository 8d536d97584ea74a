//! What a shell completes, from files alone.

use std::process::Command;

use crate::configured::{after, home};
use crate::harness::{Folder, run};

fn complete(home: &Folder, words: &[&str]) -> Vec<String> {
    let words = [&["__complete", "--"], words].concat();
    let outcome = home.run(&words).expect(0);
    assert_eq!(outcome.stderr, "");
    outcome.stdout.lines().map(str::to_owned).collect()
}

/// Two servers that were listed before, and that would be noticed if they were started again.
fn prepared(name: &str) -> Folder {
    let home = home(name, "");
    let ran = home.path().join("ran");
    let script = format!("echo x >> {}", ran.display());
    let config = after("notes", &script) + &after("other", &script);
    home.write(".config/attache/attache.toml", &config);
    for list in ["tools", "resources", "prompts"] {
        home.run(&[list]).expect(0);
    }
    std::fs::remove_file(ran).unwrap();
    home
}

#[test]
fn names_and_arguments_come_from_the_manifest() {
    let home = prepared("completion");
    for (words, expected) in [
        (&["lo"][..], &["logs"][..]),
        (&["config", "ex"], &["export"]),
        (&["tools", ""], &["notes", "other"]),
        (&["tools", "n"], &["notes"]),
        (
            &["call", "notes/"],
            &["notes/echo", "notes/add", "notes/count"],
        ),
        // A plain name is offered only if it suffices.
        (&["call", "ec"], &[]),
        (&["call", "--server", "notes", "ec"], &["echo"]),
        (&["call", "--server", "o"], &["other"]),
        (&["call", "notes/count", ""], &["delay_ms=", "to="]),
        (&["call", "notes/count", "to=3", ""], &["delay_ms="]),
        (&["call", "notes/count", "de"], &["delay_ms="]),
        (&["call", "--prog"], &["--progress"]),
        (&["call", "--progress", "a"], &["auto", "always"]),
        (&["ls", "--era", "m"], &["modern"]),
        (&["read", "demo://w"], &["demo://welcome", "demo://welcome"]),
        (&["prompt", "notes/introduce", "n"], &["name="]),
        (&["completions", ""], &["bash", "zsh", "fish"]),
        (&["tools", "--", "no"], &[]),
        (&["call", "nothing/here", ""], &[]),
    ] {
        assert_eq!(complete(&home, words), expected, "{words:?}");
    }
    assert!(!home.path().join("ran").exists(), "no server was started");
}

#[test]
fn servers_inside_the_program_are_completed() {
    let home = Folder::new("unconfigured");
    for server in ["demo", "lisp", "notes", "speckit"] {
        home.run(&["tools", server]).expect(0);
    }
    for (words, expected) in [
        (
            &["tools", ""][..],
            &["demo", "lisp", "notes", "speckit"][..],
        ),
        (&["serve", ""], &["demo", "lisp", "notes", "speckit"]),
        (&["call", "ec"], &["echo"]),
        (&["call", "lisp/"], &["lisp/evaluate-lisp"]),
        (&["call", "lisp/evaluate-lisp", "co"], &["code="]),
        (&["call", "--server", "lisp", "ev"], &["evaluate-lisp"]),
        // A tool of a server that takes part only by name is not found without it.
        (&["call", "ev"], &[]),
    ] {
        assert_eq!(complete(&home, words), expected, "{words:?}");
    }
    // Beside configured servers they are offered to who begins to type their names.
    let home = prepared("beside");
    for (words, expected) in [
        (&["tools", ""][..], &["notes", "other"][..]),
        (&["tools", "l"], &["lisp"]),
        (&["call", "l"], &["lisp/"]),
        (&["auth", "log"], &["login", "logout"]),
        (&["auth", "login", "n"], &["notes"]),
        (&["call", "--server", "d"], &["demo"]),
    ] {
        assert_eq!(complete(&home, words), expected, "{words:?}");
    }
}

#[test]
fn enums_and_booleans_are_completed_as_values() {
    let server = r#"while read -r line; do
        id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        case $line in
          *'"method":"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
          *'"method":"tools/list"'*) answer='{"tools":[{"name":"paint","inputSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","green"]},"wet":{"type":"boolean"}}}},{"name":"evil\u001b[2J","inputSchema":{"type":"object"}}]}' ;;
          *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
    done"#;
    let words = ["sh", "-c", server].map(str::to_owned);
    let config = crate::harness::toml_server("art", &words) + "era = 'legacy'\n";
    let home = home("enums", &config);
    home.run(&["tools"]).expect(0);
    for (words, expected) in [
        (
            &["call", "paint", "colour="][..],
            &["colour=red", "colour=green"][..],
        ),
        (&["call", "paint", "colour=g"], &["colour=green"]),
        (&["call", "paint", "wet=t"], &["wet=true"]),
        // S13: what would do something to a terminal is not offered.
        (&["call", ""], &["paint", "art/paint"]),
    ] {
        assert_eq!(complete(&home, words), expected, "{words:?}");
    }
}

#[test]
fn bash_completes_servers_tools_and_arguments() {
    let home = prepared("bash");
    let script = home.write(
        "attache.bash",
        &run(&["completions", "bash"]).expect(0).stdout,
    );
    let in_bash = |line: &str| {
        let driver = r#"
            source "$1"
            compopt() { :; }
            COMP_LINE=$2 COMP_POINT=${#2}
            _attache
            printf '%s\n' "${COMPREPLY[@]}"
        "#;
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_attache"));
        let path = format!(
            "{}:{}",
            binary.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let output = Command::new("bash")
            .args(["-c", driver, "bash"])
            .arg(&script)
            .arg(line)
            .env("PATH", path)
            .env("HOME", home.path())
            .current_dir(home.path())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        let answers = String::from_utf8(output.stdout).unwrap();
        answers
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for (line, expected) in [
        ("attache lo", &["logs"][..]),
        ("attache tools ", &["notes", "other"]),
        ("attache call notes/e", &["notes/echo"]),
        ("attache call notes/count to=3 ", &["delay_ms="]),
        // Bash takes what stands before `:` for another word.
        ("attache read demo://c", &["//clock", "//clock"]),
    ] {
        assert_eq!(in_bash(line), expected, "{line}");
    }
}

#[test]
fn every_shell_has_a_script_and_there_is_a_manual_page() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("__complete --"), "{script}");
    }
    run(&["completions", "cmd"]).expect(2);
    let page = run(&["man"]).expect(0).stdout;
    assert!(page.starts_with(".TH ATTACHE 1"), "{page}");
}

/// A word that runs something wherever it is not quoted, without a space.
const EVIL: &str = "$(>pwned)`>pwned`;>pwned;'\"";

/// A home folder whose one server has a tool with one argument, which can only be [`EVIL`]. What it
/// is sent is recorded in the file `record`.
fn with_evil_enum(name: &str) -> Folder {
    let server = r#"while read -r line; do
        printf '%s\n' "$line" >> RECORD
        id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        case $line in
          *'"method":"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
          *'"method":"tools/list"'*) answer="$1" ;;
          *'"method":"tools/call"'*) answer='{"content":[]}' ;;
          *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
    done"#;
    let folder = Folder::new(name);
    let record = folder.path().join("record").display().to_string();
    let tools = serde_json::json!({"tools": [
        {"name": "paint", "inputSchema": {"type": "object",
            "properties": {"colour": {"type": "string", "enum": [EVIL]}}}},
        {"name": "--config=evil.toml", "inputSchema": {"type": "object"}},
    ]});
    let server = server.replace("RECORD", &record);
    let words = ["sh", "-c", &server, "sh", &tools.to_string()].map(str::to_owned);
    let config = crate::harness::toml_server("art", &words) + "era = 'legacy'\n";
    folder.write(".config/attache/attache.toml", &config);
    folder.run(&["tools"]).expect(0);
    folder
}

#[test]
fn s25_no_name_passes_for_an_option() {
    let home = with_evil_enum("option");
    let offered = complete(&home, &["call", ""]);
    assert_eq!(offered, ["paint", "art/paint", "art/--config=evil.toml"]);
    // Inside quotes of the user's own nothing is offered.
    for word in ["colour=$", "colour='", "colour=\"", "colour=\\"] {
        assert_eq!(complete(&home, &["call", "paint", word]), [""; 0], "{word}");
    }
}

/// What is quoted comes back as it was, in the shells that are here.
#[cfg(unix)]
#[test]
fn s25_real_shells_insert_a_servers_text_and_do_not_run_it() {
    for (shell, setup, words) in [
        (
            "bash",
            "PS1='ready> '\nsource ./script\n",
            &["--norc", "--noprofile", "-i"][..],
        ),
        (
            "zsh",
            "PS1='ready> '\nautoload -U compinit; compinit -D -u\nsource ./script\n",
            &["-f", "-i"],
        ),
        (
            "fish",
            "function fish_prompt; echo 'ready> '; end\nsource ./script\n",
            &["--no-config", "-i"],
        ),
    ] {
        if Command::new(shell).arg("--version").output().is_err() {
            eprintln!("NOT TRIED: {shell} is not installed, so its completion was not tried in it");
            continue;
        }
        let home = with_evil_enum(shell);
        home.write("script", &run(&["completions", shell]).expect(0).stdout);
        let setup = home.write("setup", setup);
        let mut terminal = crate::terminal::Terminal::start_shell(home.path(), shell, words);
        terminal.type_in(&format!("source {}\n", setup.display()));
        terminal.see("ready> ");
        terminal.type_in("attache call paint colour=\t");
        // The inserted text ends with the quote that is the last character of the word.
        terminal.see("pwned");
        terminal.type_in("\n");
        let record = home.path().join("record");
        crate::harness::wait_until(&format!("the call from {shell}"), || {
            std::fs::read_to_string(&record).is_ok_and(|it| it.contains("tools/call"))
        });
        let record = std::fs::read_to_string(&record).unwrap();
        let call = record.lines().find(|it| it.contains("tools/call")).unwrap();
        let call: serde_json::Value = serde_json::from_str(call).unwrap();
        assert_eq!(call["params"]["arguments"]["colour"], EVIL, "{shell}");
        assert!(
            !home.path().join("pwned").exists(),
            "{shell} ran a server's text"
        );
        terminal.type_in("exit\n");
        terminal.exit_code();
    }
}
