//! The command on a real pseudo-terminal.

use std::io::{Read as _, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use attache_testkit::chaos::{Action, Launch, Script};
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use serde_json::json;

use crate::harness::{PATIENCE, Scratch, builtin, everything, hostile, recorded, wait_until};

/// The command on a terminal that is read and typed on.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    fn start(words: &[&str], server: &[String]) -> Self {
        Self::start_in(crate::harness::empty_home(), words, server)
    }

    /// The same with a folder as home and working folder.
    fn start_in(folder: &std::path::Path, words: &[&str], server: &[String]) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_attache"));
        command.args(words);
        if !server.is_empty() {
            command.arg("--");
            command.args(server);
        }
        Self::run(command, folder)
    }

    /// The same with variables.
    #[cfg(feature = "chat")]
    pub(crate) fn start_with(
        folder: &std::path::Path,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_attache"));
        command.args(words);
        for (name, value) in variables {
            command.env(name, value);
        }
        Self::run(command, folder)
    }

    /// Another program, which finds ours.
    pub(crate) fn start_shell(folder: &std::path::Path, shell: &str, words: &[&str]) -> Self {
        let mut command = CommandBuilder::new(shell);
        command.args(words);
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_attache"));
        let ours = binary.parent().unwrap().display();
        let path = format!("{ours}:{}", std::env::var("PATH").unwrap());
        command.env("PATH", path);
        Self::run(command, folder)
    }

    fn run(mut command: CommandBuilder, folder: &std::path::Path) -> Self {
        let size = PtySize {
            rows: 24,
            cols: 80,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        command.env_remove("NO_COLOR");
        command.env("HOME", folder);
        command.cwd(folder);
        command.env("TERM", "xterm");
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let seen = screen.clone();
        std::thread::spawn(move || {
            let _master = pair.master;
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut chunk) {
                let text = String::from_utf8_lossy(&chunk[..length]).into_owned();
                seen.lock().unwrap().push_str(&text);
            }
        });
        Self {
            child,
            keyboard,
            screen,
        }
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Waits until the screen shows `text`, and forgets everything up to it.
    #[track_caller]
    pub(crate) fn see(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            {
                let mut screen = self.screen.lock().unwrap();
                if let Some(at) = screen.find(text) {
                    screen.drain(..at + text.len());
                    return;
                }
            }
            let screen = self.screen();
            assert!(Instant::now() < deadline, "no {text:?} in {screen:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    #[track_caller]
    pub(crate) fn exit_code(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(
                Instant::now() < deadline,
                "it does not end: {}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

#[test]
fn fault_10_ctrl_c_cancels_the_call_and_the_server_is_told() {
    let record = Scratch::new("ctrl-c");
    let server = recorded(&builtin(), &record);
    let mut terminal = Terminal::start(&["call", "count", "to=1000"], &server);
    terminal.see("count: counted to");
    terminal.type_in(CTRL_C);
    terminal.see("cancelled; the server was told");
    assert_eq!(terminal.exit_code(), 7);
    record.wait_for("notifications/cancelled");
}

#[test]
fn fault_10_a_second_ctrl_c_forces() {
    // This server never answers `shutdown`, which this dialect waits for.
    let mut terminal = Terminal::start(
        &["call", "hang\u{7}", "--dialect", "lsp", "--era", "legacy"],
        &hostile(),
    );
    terminal.see("hang");
    terminal.type_in(CTRL_C);
    terminal.see("cancelled; the server was told");
    assert!(
        terminal.child.try_wait().unwrap().is_none(),
        "it waits for the server"
    );
    let forced = Instant::now();
    terminal.type_in(CTRL_C);
    assert_eq!(terminal.exit_code(), 7);
    assert!(
        forced.elapsed() < Duration::from_secs(1),
        "{:?}",
        forced.elapsed()
    );
}

/// A server whose answer to this method waits for the test, after a note about its progress.
fn slow_at(method: &str) -> Launch {
    let params = json!({
        "progressToken": "$token", "progress": 1, "total": 4, "message": "turning pages",
    });
    Script::legacy("2025-11-25")
        .on(
            method,
            [
                Action::notify("notifications/progress", params),
                Action::wait_gate("answer"),
                Action::usual(),
            ],
        )
        .launch()
        .unwrap()
}

// X-PROG-03.
#[test]
fn whatever_takes_long_shows_its_progress() {
    for (method, words, shown, said) in [
        (
            "tools/call",
            &["call", "echo", "message=good morning"][..],
            "25% echo: turning pages",
            "good morning",
        ),
        (
            "resources/read",
            &["read", "chaos://text"],
            "25% chaos://text: turning pages",
            "plain text",
        ),
        (
            "prompts/get",
            &["prompt", "greet", "name=Ada"],
            "25% greet: turning pages",
            "Ada",
        ),
    ] {
        let launch = slow_at(method);
        let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
        let mut server = vec![text(launch.program.as_os_str())];
        server.extend(launch.args.iter().map(|word| text(word)));
        let mut terminal = Terminal::start(words, &server);
        terminal.see(shown);
        launch.open_gate("answer").unwrap();
        terminal.see(said);
        assert_eq!(terminal.exit_code(), 0, "{words:?}");
    }
}

#[test]
fn on_a_terminal_the_tools_are_shown_in_colour() {
    let mut terminal = Terminal::start(&[], &[]);
    assert_eq!(terminal.exit_code(), 0);
    terminal.see("\u{1b}[1mecho\u{1b}[0m   Says the message back.");
}

// C-ELIC-09.
#[test]
fn a_form_is_answered_on_the_terminal() {
    let words = ["call", "trigger-elicitation-request"];
    let mut terminal = Terminal::start(&words, &everything());
    terminal.see("(required)");
    terminal.type_in("\n");
    terminal.see("it is required");
    terminal.see("(required)");
    terminal.type_in("Ada\n");
    terminal.see("(true or false)");
    for _ in 0..20 {
        terminal.type_in("\n");
    }
    terminal.see("send this to node?");
    terminal.see("answer y, n or c");
    terminal.type_in("y\n");
    terminal.see("Name: Ada");
    assert_eq!(terminal.exit_code(), 0);
}

/// The command of a chaos server; it lives as long as its launch.
fn command_of(launch: &Launch) -> Vec<String> {
    let text = |word: &std::ffi::OsStr| word.to_str().unwrap().to_owned();
    let mut server = vec![text(launch.program.as_os_str())];
    server.extend(launch.args.iter().map(|word| text(word)));
    server
}

#[test]
fn secrets_are_hidden_while_they_are_typed_and_afterwards() {
    let form = json!({
        "message": "sign in",
        "requestedSchema": {
            "type": "object", "required": ["api_key"],
            "properties": {"api_key": {"type": "string", "minLength": 3}},
        },
    });
    let ask = Action::ask("elicitation/create", form);
    let launch = Script::legacy("2025-11-25")
        .on("tools/call", [ask, Action::text("signed in")])
        .launch()
        .unwrap();
    let words = ["call", "echo", "message=x"];
    let mut terminal = Terminal::start(&words, &command_of(&launch));
    terminal.see("what you type is hidden");
    terminal.see("(required)");
    for (keys, answered) in [
        ("x1\n", "at least 3 characters"),
        ("hunter2\n", "send this to"),
    ] {
        terminal.type_in(keys);
        wait_until(answered, || terminal.screen().contains(answered));
        let screen = terminal.screen();
        assert!(!screen.contains(keys.trim()), "{screen:?}");
    }
    terminal.see("••••••");
    terminal.type_in("y\n");
    terminal.see("signed in");
    assert_eq!(terminal.exit_code(), 0);
    let received = launch.received().unwrap();
    assert!(
        received
            .iter()
            .any(|it| it["result"]["content"]["api_key"] == "hunter2"),
        "{received:?}"
    );
}

#[test]
fn answers_are_drawn_on_a_terminal_and_plain_in_a_pipe() {
    let rows = json!([{"name": "日本語", "size": 5}, {"name": "a", "size": 1200}]);
    let launch = Script::legacy("2025-11-25")
        .on(
            "tools/call",
            [Action::result(
                json!({"content": [], "structuredContent": {"rows": rows}}),
            )],
        )
        .launch()
        .unwrap();
    let server = command_of(&launch);
    let words = ["call", "echo", "message=x"];
    let mut terminal = Terminal::start(&words, &server);
    terminal.see("──────  ────");
    terminal.see("日本語     5");
    terminal.see("a       1200");
    assert_eq!(terminal.exit_code(), 0);
    let piped = crate::harness::run_on(&server, &words).expect(0);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&piped.stdout).unwrap(),
        json!({"rows": rows})
    );

    let text = "# Title\n\nSome **strong** words\n\n- one\n- two";
    let launch = Script::legacy("2025-11-25")
        .on("tools/call", [Action::text(text)])
        .launch()
        .unwrap();
    let server = command_of(&launch);
    let mut terminal = Terminal::start(&words, &server);
    terminal.see("\u{1b}[1;4mTitle\u{1b}[0m");
    terminal.see("\u{1b}[1mstrong\u{1b}[0m");
    assert_eq!(terminal.exit_code(), 0);
    let piped = crate::harness::run_on(&server, &words).expect(0);
    assert_eq!(piped.stdout, format!("{text}\n"));
}

#[test]
fn a_form_can_be_declined_and_left() {
    for (keys, said) in [("/decline\n", "declined"), (CTRL_D, "cancelled")] {
        let words = ["call", "trigger-elicitation-request"];
        let mut terminal = Terminal::start(&words, &everything());
        terminal.see("(required)");
        terminal.type_in(keys);
        terminal.see(said);
        assert_eq!(terminal.exit_code(), 0);
    }
}

// H-SAMP-02.
#[test]
fn a_person_answers_in_place_of_a_model() {
    for (keys, said, code) in [
        ("hello from here\n", "hello from here", 0),
        ("/decline\n", "declined", 5),
    ] {
        let words = ["call", "trigger-sampling-request", "prompt=greet"];
        let mut terminal = Terminal::start(&words, &everything());
        terminal.see("wants a model to go on with this");
        terminal.see("greet");
        terminal.see("answer: ");
        terminal.type_in(keys);
        if keys != "/decline\n" {
            terminal.see("send this to node?");
            terminal.type_in("y\n");
        }
        terminal.see(said);
        assert_eq!(terminal.exit_code(), code, "{keys:?}");
    }
}

#[test]
fn a_project_is_trusted_on_the_terminal() {
    let project = crate::harness::Folder::new("terminal-trust");
    let server = crate::harness::toml_server("theirs", &builtin());
    project.write("attache.toml", &server);
    for (key, code, said) in [
        ("n\n", 7, "nothing was approved"),
        ("y\n", 0, "is approved"),
    ] {
        let mut terminal = Terminal::start_in(project.path(), &["trust"], &[]);
        terminal.see("It says:");
        terminal.see("\"serve\" \"demo\"");
        terminal.see("approve this file?");
        terminal.type_in(key);
        terminal.see(said);
        assert_eq!(terminal.exit_code(), code);
    }
}

#[test]
fn s22_each_import_is_agreed_to_on_the_terminal() {
    let home = crate::harness::Folder::new("terminal-import");
    home.write(
        ".cursor/mcp.json",
        r#"{"mcpServers":{"one":{"command":"run-one"},"two":{"command":"run-two"}}}"#,
    );
    for (keys, code, said) in [
        (["n\n", "n\n"], 7, "nothing was imported"),
        (["n\n", "y\n"], 0, "added    "),
    ] {
        let mut terminal = Terminal::start_in(home.path(), &["config", "import"], &[]);
        for (key, server) in keys.iter().zip(["one", "two"]) {
            terminal.see(&format!("\"run-{server}\""));
            terminal.see(&format!("import {server}?"));
            terminal.type_in(key);
        }
        terminal.see(said);
        assert_eq!(terminal.exit_code(), code);
    }
    let file = home.path().join(".config/attache/attache.toml");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(
        text.contains("run-two") && !text.contains("run-one"),
        "{text}"
    );
}

// H-TOOL-15.
#[test]
fn where_a_rule_says_ask_a_typed_call_is_asked_about() {
    let server = crate::harness::toml_server("mine", &builtin());
    let config = format!("{server}policy = {{ ask = ['echo'] }}\n");
    let home = crate::configured::home("terminal-ask", &config);
    let words = ["call", "mine/echo", "message=good morning"];
    for (key, code, said) in [
        ("n\n", 7, "echo was not called: the user said no"),
        ("y\n", 0, "good morning"),
        ("a\n", 0, "good morning"),
    ] {
        let mut terminal = Terminal::start_in(home.path(), &words, &[]);
        terminal.see("the server's policy says to ask first, by \"echo\"");
        terminal.see("\"message\": \"good morning\"");
        terminal.see("call it?");
        terminal.type_in(key);
        terminal.see(said);
        assert_eq!(terminal.exit_code(), code, "{key}");
    }
    // Always was the answer, also for those who have no terminal.
    home.run(&words).expect(0);
    let mut other = Terminal::start_in(home.path(), &["call", "mine/add", "a=1", "b=2"], &[]);
    other.see("3");
    assert_eq!(other.exit_code(), 0);
}

#[test]
fn ctrl_c_during_a_question_ends_the_command() {
    let words = ["call", "trigger-elicitation-request"];
    let mut terminal = Terminal::start(&words, &everything());
    terminal.see("(required)");
    terminal.type_in(CTRL_C);
    assert_eq!(terminal.exit_code(), 7);
}

#[test]
fn s13_json_on_a_terminal_is_escaped() {
    let mut terminal = Terminal::start(&["tools", "--json"], &hostile());
    assert_eq!(terminal.exit_code(), 0);
    wait_until("the document", || terminal.screen().contains("\"servers\""));
    let screen = terminal.screen();
    assert!(screen.contains("\\u202eit"), "{screen:?}");
    assert!(
        !screen.contains('\u{9b}') && !screen.contains('\u{202e}'),
        "{screen:?}"
    );
}
