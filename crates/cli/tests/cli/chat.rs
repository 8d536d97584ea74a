//! `attache chat`: the real binary, a scripted model and real servers.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use attache_testkit::chaos::{Action, Reply, Script, When};
use attache_testkit::http::Answer;
use attache_testkit::model::{ModelReply, ModelScript, ModelServer};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::harness::{Folder, Outcome, builtin, finish, recorded, toml_server};
use crate::harness::{Scratch, wait_until};
use crate::terminal::Terminal;

const KEY: &str = "sk-secret-of-the-user-42";

/// A scripted model, which runs beside the test.
struct Modelled {
    model: ModelServer,
    home: Folder,
    _runtime: Runtime,
}

impl Modelled {
    fn start(replies: impl IntoIterator<Item = ModelReply>, servers: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let script = replies
            .into_iter()
            .fold(ModelScript::completions(), ModelScript::then);
        let model = runtime.block_on(script.start()).unwrap();
        let home = Folder::new("chat");
        let config = format!(
            "[chat]\nendpoint = \"{}\"\nmodel = \"scripted\"\napi_key = \"${{CHAT_KEY}}\"\n{servers}",
            model.base()
        );
        home.write(".config/attache/attache.toml", &config);
        Self {
            model,
            home,
            _runtime: runtime,
        }
    }

    fn run(&self, words: &[&str], piped: Option<&str>) -> Outcome {
        let mut command = self.home.attache();
        command.args(words).env("CHAT_KEY", KEY);
        let Some(piped) = piped else {
            return finish(&mut command);
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(piped.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn terminal(&self, words: &[&str]) -> Terminal {
        Terminal::start_with(self.home.path(), words, &[("CHAT_KEY", KEY)])
    }
}

fn demo() -> String {
    format!(
        "[policy]\nallow = [\"demo/echo\"]\n{}",
        toml_server("demo", &builtin())
    )
}

fn echo() -> ModelReply {
    ModelReply::calling(&[("a", "demo__echo", r#"{"message":"hi there"}"#)])
}

#[test]
fn without_a_model_the_lines_to_write_can_be_copied() {
    let outcome = Folder::new("no-model").run(&["chat", "--once", "hello"]);
    assert_ne!(outcome.code, 0);
    let written = outcome.stderr.lines().any(|line| line == "[chat]");
    assert!(written, "{}", outcome.stderr);
}

#[test]
fn a_question_through_a_pipe_is_answered_on_stdout() {
    let modelled = Modelled::start([echo(), ModelReply::saying("It **said** hi.")], &demo());
    let outcome = modelled
        .run(&["chat", "--once"], Some("Say hi\n"))
        .expect(0);
    assert_eq!(outcome.stdout, "It **said** hi.\n");
    assert!(outcome.stderr.contains("calling demo/echo"), "{outcome:?}");
    assert!(outcome.stderr.contains("demo/echo: done"), "{outcome:?}");
    let asked = modelled.model.asked();
    assert!(asked[1].to_string().contains("hi there"), "{}", asked[1]);
    let key = modelled.model.http.requests_by("POST")[0]
        .header("authorization")
        .map(str::to_owned);
    assert_eq!(key, Some(format!("Bearer {KEY}")));
    assert!(!format!("{outcome:?}").contains(KEY), "S12");
}

/// A file that holds the model only has no servers, and those inside this executable can be named.
#[test]
fn a_server_inside_this_executable_can_be_named() {
    let modelled = Modelled::start([echo(), ModelReply::saying("It said hi.")], "");
    let words = ["chat", "--once", "--server", "demo", "--yes", "Say hi"];
    let outcome = modelled.run(&words, None).expect(0);
    assert_eq!(outcome.stdout, "It said hi.\n");
    assert!(outcome.stderr.contains("demo/echo: done"), "{outcome:?}");
}

#[test]
fn events_are_lines_of_json() {
    let modelled = Modelled::start([echo(), ModelReply::saying("ok")], &demo());
    let outcome = modelled.run(&["chat", "--json", "hello"], None).expect(0);
    let events: Vec<Value> = outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    for kind in ["calling", "called", "text", "used"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(
        events
            .iter()
            .find(|event| event["event"] == "called")
            .unwrap()["ending"],
        "done"
    );
}

#[test]
fn failures_have_the_exit_codes_of_all_verbs() {
    let refused = |status| ModelReply::http(Answer::status(status));
    for (reply, code) in [
        (refused(401), 3),
        (refused(400), 5),
        (ModelReply::http(Answer::reset()), 5),
    ] {
        let modelled = Modelled::start([reply], "");
        let outcome = modelled.run(&["chat", "--once", "--json", "hello"], None);
        assert_eq!(outcome.code, code, "{outcome:?}");
        assert!(!outcome.error()["message"].as_str().unwrap().is_empty());
    }
    let home = Folder::new("chat-nobody");
    home.write(
        ".config/attache/attache.toml",
        "[chat]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n",
    );
    let outcome = home.run(&["chat", "--once", "hello"]).expect(4);
    assert!(
        outcome.stderr.contains("cannot be reached") && outcome.stderr.contains("--offline"),
        "{outcome:?}"
    );
}

#[test]
fn without_a_model_the_lines_to_write_are_told() {
    let home = Folder::new("chat-nothing");
    let outcome = home.run(&["chat", "--once", "hello"]).expect(2);
    for part in ["[chat]", "endpoint = ", "model = ", "attache.toml"] {
        assert!(outcome.stderr.contains(part), "{outcome:?}");
    }
}

#[test]
fn a_call_that_nobody_can_approve_is_not_made() {
    let replies = [
        ModelReply::calling(&[("a", "demo__echo", r#"{"message":"x"}"#)]),
        ModelReply::saying("I could not."),
    ];
    let record = Scratch::new("chat-refused");
    let server = toml_server("demo", &recorded(&builtin(), &record));
    let modelled = Modelled::start(replies, &server);
    let outcome = modelled.run(&["chat", "--once", "call it"], None).expect(0);
    assert!(outcome.stderr.contains("demo/echo: refused"), "{outcome:?}");
    assert!(!record.text().contains("tools/call"), "{}", record.text());
    assert!(
        modelled.model.asked()[1]
            .to_string()
            .contains("nobody to ask")
    );
}

#[test]
fn a_file_that_came_with_a_folder_does_not_choose_the_model() {
    let stranger = Modelled::start([ModelReply::saying("mine")], "");
    let own = Modelled::start([ModelReply::saying("yours")], "");
    let project = own.home.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let text = format!(
        "[chat]\nendpoint = \"{}\"\nmodel = \"x\"\napi_key = \"${{CHAT_KEY}}\"\n",
        stranger.model.base()
    );
    std::fs::write(project.join("attache.toml"), text).unwrap();
    let mut trust = own.home.attache();
    finish(trust.current_dir(&project).args(["trust", "--yes"]));
    let mut command = own.home.attache();
    command
        .current_dir(&project)
        .env("CHAT_KEY", KEY)
        .args(["chat", "--once", "hello"]);
    let outcome = finish(&mut command).expect(0);
    assert_eq!(outcome.stdout, "yours\n");
    assert!(stranger.model.asked().is_empty());
}

#[test]
fn a_key_can_be_kept_and_is_private() {
    let modelled = Modelled::start([ModelReply::saying("ok")], "");
    let base = modelled.model.base();
    let config = format!("[chat]\nendpoint = \"{base}\"\nmodel = \"m\"\n");
    modelled.home.write(".config/attache/attache.toml", &config);
    modelled
        .run(&["chat", "--keep-key"], Some("sk-kept-1234567\n"))
        .expect(0);
    modelled.run(&["chat", "--once", "hello"], None).expect(0);
    let key = modelled.model.http.requests_by("POST")[0]
        .header("authorization")
        .map(str::to_owned);
    assert_eq!(key.as_deref(), Some("Bearer sk-kept-1234567"));
}

#[test]
fn conversations_are_kept_listed_and_gone_on_with() {
    let modelled = Modelled::start(
        [
            ModelReply::saying("Green."),
            ModelReply::saying("As I said."),
        ],
        "",
    );
    modelled
        .run(&["chat", "--once", "--session", "tea", "Which tea?"], None)
        .expect(0);
    modelled
        .run(&["chat", "--once", "--continue", "Sure?"], None)
        .expect(0);
    let listed = modelled
        .run(&["chat", "--list", "green", "--json"], None)
        .expect(0)
        .document();
    assert_eq!(listed["conversations"][0]["name"], "tea");
    assert_eq!(listed["conversations"][0]["messages"], 4);
    assert_eq!(listed["conversations"][0]["title"], "Which tea?");
    let second = modelled.model.asked()[1].to_string();
    assert!(
        second.contains("Which tea?") && second.contains("Green."),
        "{second}"
    );
    let kept = find(modelled.home.path(), "tea.jsonl").unwrap();
    assert!(!std::fs::read_to_string(kept).unwrap().contains(KEY));
}

fn find(folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    for entry in entries {
        let path = entry.path();
        if path.file_name().is_some_and(|found| found == name) {
            return Some(path);
        }
        if path.is_dir()
            && let Some(found) = find(&path, name)
        {
            return Some(found);
        }
    }
    None
}

#[test]
fn at_a_terminal_a_call_is_shown_approved_and_the_answer_is_drawn() {
    let server = toml_server("demo", &builtin());
    let modelled = Modelled::start(
        [echo(), ModelReply::saying("It **said** `hi`.\n\n")],
        &server,
    );
    let mut terminal = modelled.terminal(&["chat"]);
    terminal.see("scripted · 1 servers");
    terminal.see("> ");
    terminal.type_in("Say hi\r");
    terminal.see("→ ");
    terminal.see("demo/echo");
    terminal.see("message=\"hi there\"");
    terminal.see("call it?");
    terminal.type_in("y\n");
    terminal.see("← demo/echo done");
    terminal.see("It **said** `hi`.");
    // Drawn anew in its place.
    terminal.see("\u{1b}[1msaid\u{1b}[0m");
    terminal.see("7 tokens");
    terminal.see("> ");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn fault_10_ctrl_c_stops_the_answer_or_the_tool_and_twice_leaves() {
    let record = Scratch::new("chat-stop");
    let server = format!(
        "[policy]\nallow = [\"*\"]\n{}",
        toml_server("demo", &recorded(&builtin(), &record))
    );
    let replies = [
        ModelReply::saying("Well, ").hold(),
        ModelReply::calling(&[("a", "demo__count", r#"{"to":1000}"#)]),
        ModelReply::saying("back again"),
    ];
    let modelled = Modelled::start(replies, &server);
    let mut terminal = modelled.terminal(&["chat"]);
    terminal.see("> ");
    terminal.type_in("one\r");
    terminal.see("Well,");
    terminal.type_in("\u{3}");
    terminal.see("stopped; the servers were told");
    terminal.see("> ");
    terminal.type_in("two\r");
    terminal.see("demo/count");
    record.wait_for("tools/call");
    terminal.type_in("\u{3}");
    terminal.see("stopped; the servers were told");
    record.wait_for("notifications/cancelled");
    terminal.see("> ");
    terminal.type_in("three\r");
    terminal.see("back again");
    terminal.see("> ");
    terminal.type_in("\u{3}");
    terminal.see("once more");
    terminal.see("> ");
    terminal.type_in("\u{3}");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn keys_complete_commands_recall_history_and_add_lines() {
    let modelled = Modelled::start(
        [ModelReply::saying("fine"), ModelReply::saying("again")],
        "",
    );
    let mut terminal = modelled.terminal(&["chat"]);
    terminal.see("> ");
    terminal.type_in("/hel\t\r");
    terminal.see("/compact");
    terminal.see("> ");
    terminal.type_in("first line\u{1b}\rsecond line\r");
    terminal.see("fine");
    wait_until("the question", || modelled.model.asked().len() == 1);
    assert!(
        modelled.model.asked()[0]
            .to_string()
            .contains(r"first line\nsecond line")
    );
    terminal.see("> ");
    terminal.type_in("\u{1b}[A\r");
    terminal.see("again");
    wait_until("the question again", || modelled.model.asked().len() == 2);
    terminal.see("> ");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn s13_a_model_cannot_command_the_terminal() {
    let evil = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\n\n";
    let modelled = Modelled::start([ModelReply::saying(evil)], "");
    let mut terminal = modelled.terminal(&["chat"]);
    terminal.see("> ");
    terminal.type_in("hi\r");
    terminal.see("\\u{1b}]0;owned\\u{7}");
    terminal.see("> ");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn thoughts_are_shown_and_folded() {
    let piece = |name: &str, text: &str| {
        let mut delta = serde_json::Map::new();
        delta.insert(name.to_owned(), text.into());
        serde_json::json!({"choices": [{"delta": delta}]})
    };
    let events = [
        piece("reasoning_content", "Let me think about it."),
        piece("content", "Yes."),
    ];
    let modelled = Modelled::start([ModelReply::events(events)], "");
    let mut terminal = modelled.terminal(&["chat"]);
    terminal.see("> ");
    terminal.type_in("well?\r");
    terminal.see("Let me think about it.");
    terminal.see("▸ thought, 5 words");
    terminal.see("Yes.");
    terminal.see("> ");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn ctrl_e_opens_the_editor() {
    let modelled = Modelled::start([ModelReply::saying("fine")], "");
    let script = "#!/bin/sh\nprintf '%s and more' \"$(cat \"$1\")\" > \"$1\"\n";
    let editor = modelled.home.write("editor.sh", script);
    let command = format!("sh {}", editor.display());
    let variables = [("CHAT_KEY", KEY), ("EDITOR", command.as_str())];
    let mut terminal = Terminal::start_with(modelled.home.path(), &["chat"], &variables);
    terminal.see("> ");
    terminal.type_in("begun\u{5}");
    terminal.see("begun and more");
    terminal.type_in("\r");
    terminal.see("fine");
    assert!(
        modelled.model.asked()[0]
            .to_string()
            .contains("begun and more")
    );
    terminal.see("> ");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn x_samp_05_a_server_gets_the_model_only_if_the_person_lets_it() {
    let params = serde_json::json!({"maxTokens": 20, "messages": [
        {"role": "user", "content": {"type": "text", "text": "Name a colour."}}]});
    for (answer, expected) in [("y", "Blue."), ("n", "the user declined")] {
        let launch = Script::legacy("2025-06-18")
            .tools([serde_json::json!({"name": "paint", "inputSchema": {"type": "object"}})])
            .on(
                When::tool("paint"),
                [
                    Action::ask("sampling/createMessage", params.clone()),
                    Reply::client_answer().into(),
                ],
            )
            .launch()
            .unwrap();
        let mut words = vec![launch.program.display().to_string()];
        let text = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
        words.extend(launch.args.iter().map(text));
        let mut server = format!(
            "[policy]\nallow = [\"*\"]\n{}",
            toml_server("paint", &words)
        );
        for (name, value) in &launch.env {
            server.push_str(&format!("env.{} = {:?}\n", text(name), text(value)));
        }
        let replies = [
            ModelReply::calling(&[("a", "paint__paint", "{}")]),
            // The next request is the server's, if it is let; else this is the answer.
            ModelReply::saying("Blue."),
            ModelReply::saying("done"),
        ];
        let modelled = Modelled::start(replies, &server);
        let mut terminal = modelled.terminal(&["chat"]);
        terminal.see("> ");
        terminal.type_in("paint\r");
        terminal.see("Name a colour.");
        terminal.see("let scripted answer this for paint?");
        terminal.type_in(&format!("{answer}\n"));
        terminal.see("paint/paint done");
        terminal.see("> ");
        terminal.type_in("/quit\r");
        assert_eq!(terminal.exit_code(), 0);
        let told = modelled.model.asked().last().unwrap().to_string();
        assert!(told.contains(expected), "{told}");
    }
}
