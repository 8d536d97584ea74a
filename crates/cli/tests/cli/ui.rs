//! The terminal UI in a pseudo-terminal: what a person sees and does, against real servers.

use std::time::Duration;

use attache_testkit::chaos::{Action, Launch, Script, When};
use serde_json::json;

use crate::harness::{Folder, PATIENCE, builtin, hostile, toml_server};
use crate::screen::Screen;

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESC: &str = "\u{1b}";
pub(crate) const F2: &str = "\u{1b}OQ";
const F12: &str = "\u{1b}[24~";
const CTRL_C: &str = "\u{3}";

/// The words of a chaos server; it lives as long as its launch.
fn words_of(launch: &Launch) -> Vec<String> {
    let text = |word: &std::ffi::OsStr| word.to_str().unwrap().to_owned();
    let mut words = vec![text(launch.program.as_os_str())];
    words.extend(launch.args.iter().map(|word| text(word)));
    words
}

/// A home whose configuration has these servers.
pub(crate) fn home(name: &str, servers: &str) -> Folder {
    let home = Folder::new(name);
    std::fs::create_dir_all(home.path().join(".config/attache")).unwrap();
    home.write(".config/attache/attache.toml", servers);
    home
}

/// A server of a launch in the configuration, with the tag by which its processes are known.
pub(crate) fn table(name: &str, launch: &Launch) -> String {
    let (key, value) = &launch.env[0];
    let env = format!(
        "env = {{ {} = {:?} }}\n",
        key.to_str().unwrap(),
        value.to_str().unwrap()
    );
    toml_server(name, &words_of(launch)) + &env
}

pub(crate) fn open(home: &Folder, words: &[&str], columns: u16, rows: u16) -> Screen {
    let words: Vec<&str> = ["ui"].iter().chain(words).copied().collect();
    Screen::start(home.path(), &words, columns, rows)
}

/// Waits until the screen shows a text.
pub(crate) fn see(screen: &Screen, text: &str) {
    screen.wait_for(text, |rows| rows.contains(text));
}

pub(crate) fn gone(screen: &Screen, text: &str) {
    screen.wait_for(&format!("end of {text}"), |rows| !rows.contains(text));
}

/// Ten thousand tools, two calls at once, a bar that moves, a cancel that the server hears, and
/// nothing left at the end.
#[test]
fn tools_are_found_run_watched_and_cancelled() {
    let names = (0..10_000).map(
        |number| json!({"name": format!("tool_{number:05}"), "inputSchema": {"type": "object"}}),
    );
    let slow = json!({"name": "slow_one", "inputSchema": {"type": "object"}});
    let launch = Script::legacy("2025-11-25")
        .tools(names.chain([slow]))
        .on(
            When::tool("slow_one"),
            [
                Action::progress([25.0]),
                Action::wait_gate("go on"),
                Action::progress([50.0]),
                Action::wait_cancelled(),
            ],
        )
        .launch()
        .unwrap();
    let home = home("ui-many", &table("many", &launch));
    let mut screen = open(&home, &[], 120, 36);
    see(&screen, "10001 tools");
    assert!(screen.is_full_screen());
    screen.type_in("/slow");
    see(&screen, "1 of 10001");
    screen.type_in(ENTER);
    screen.type_in(ENTER);
    see(&screen, "[ run ]");
    screen.type_in(F2);
    see(&screen, "Running 1");
    screen.type_in(ESC);
    see(&screen, "[ run ]");
    screen.type_in(F2);
    see(&screen, "Running 2");
    see(&screen, "25");
    launch.open_gate("go on").unwrap();
    see(&screen, "50");
    // The second one is open; its cancel reaches the server.
    screen.type_in("x");
    launch
        .wait_received_of("notifications/cancelled", 1, PATIENCE)
        .unwrap();
    see(&screen, "Running 1");
    screen.type_in(CTRL_C);
    launch
        .wait_received_of("notifications/cancelled", 2, PATIENCE)
        .unwrap();
    gone(&screen, "Running 1");
    screen.type_in("4");
    see(&screen, "cancelled");
    screen.type_in("q");
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
    let gone = launch.tag().wait_until_gone(Duration::from_secs(10));
    assert!(gone.is_ok(), "{gone:?}");
}

/// Esc goes back and never leaves; leaving while a call runs asks first.
#[test]
fn leaving_asks_while_a_call_runs_and_esc_never_leaves() {
    let launch = Script::legacy("2025-11-25")
        .on(When::tool("hang"), [Action::wait_cancelled()])
        .launch()
        .unwrap();
    let home = home("ui-leaving", &table("chaos", &launch));
    let mut screen = open(&home, &[], 80, 24);
    see(&screen, "hang");
    screen.type_in("/hang");
    screen.type_in(ENTER);
    screen.type_in(ENTER);
    screen.type_in(F2);
    see(&screen, "Running 1");
    for _ in 0..6 {
        screen.type_in(ESC);
    }
    screen.type_in("q");
    see(&screen, "leaving cancels it");
    screen.type_in("leave");
    screen.type_in(ENTER);
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
    assert!(
        launch
            .tag()
            .wait_until_gone(Duration::from_secs(10))
            .is_ok()
    );
}

/// S13: names, descriptions, causes and answers of a hostile server reach the terminal as text,
/// whatever its size; and the terminal is as it was afterwards.
#[test]
fn hostile_text_and_a_storm_of_sizes_do_no_harm() {
    let home = home("ui-hostile", &toml_server("evil", &hostile()));
    let mut screen = open(&home, &[], 100, 30);
    see(&screen, "attack");
    for step in 0..40_u16 {
        screen.resize(30 + step * 7 % 170, 5 + step * 5 % 50);
        screen.type_in(["2", "3", "6", "1", "5", "4"][usize::from(step) % 6]);
    }
    // Smaller and back at once, so that the UI sees no other size than before.
    for _ in 0..20 {
        screen.resize(30, 5);
        screen.resize(100, 30);
    }
    screen.type_in("1");
    see(&screen, "attack");
    screen.type_in(ENTER);
    screen.type_in(F2);
    see(&screen, "tool failed");
    screen.type_in("q");
    let bytes = screen.bytes();
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
    let text = String::from_utf8_lossy(&bytes);
    for attack in ["]0;owned", "]0;x", "]52;c;aGk=", "\u{9b}2J", "\u{202e}"] {
        let is_raw = text.contains(&format!("\u{1b}{attack}"))
            || attack.starts_with(['\u{9b}', '\u{202e}']) && text.contains(attack);
        assert!(!is_raw, "{attack:?}");
    }
    assert!(!rows.contains("attack"), "{rows}");
}

/// Whatever happens to the UI, the terminal is given back and the cause is printed on it.
#[test]
fn a_panic_gives_the_terminal_back_and_says_why() {
    let home = home("ui-panic", &toml_server("demo", &builtin()));
    let mut screen = open(&home, &["--panic-key"], 120, 30);
    see(&screen, "echo");
    screen.type_in(F12);
    let (code, rows) = screen.finish();
    assert_eq!(code, 1, "{rows}");
    assert!(rows.contains("asked to fall over"), "{rows}");
    assert!(!rows.contains("Servers"), "{rows}");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let home = home("ui-signal", &toml_server("demo", &builtin()));
    let screen = open(&home, &[], 80, 24);
    see(&screen, "echo");
    let process = i32::try_from(screen.process()).unwrap();
    let process = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    let (_, rows) = screen.finish();
    assert!(!rows.contains("Servers"), "{rows}");
}

/// Ctrl-Z gives the terminal back first, and after any stop the UI takes it and draws itself again.
/// No shell is there to stop for, so the signal that stops comes from outside.
#[test]
#[cfg(target_os = "linux")]
fn suspending_and_continuing_draws_again() {
    let home = home("ui-suspend", &toml_server("demo", &builtin()));
    let mut screen = open(&home, &[], 80, 24);
    see(&screen, "echo");
    let times_taken = |screen: &Screen| {
        let bytes = screen.bytes();
        let taken = b"\x1b[?1049h";
        bytes
            .windows(taken.len())
            .filter(|window| window == taken)
            .count()
    };
    screen.type_in("\u{1a}");
    crate::harness::wait_until("the terminal being taken again", || {
        times_taken(&screen) == 2
    });
    see(&screen, "echo");
    let process = screen.process();
    let id = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        state.unwrap_or('?')
    };
    crate::harness::wait_until("the stop", || state() == 'T');
    rustix::process::kill_process(id, rustix::process::Signal::CONT).unwrap();
    crate::harness::wait_until("the terminal being taken again", || {
        times_taken(&screen) == 3
    });
    see(&screen, "echo");
    screen.type_in("q");
    assert_eq!(screen.finish().0, 0);
}

/// A server that cannot be started is told with its cause, and the others work.
#[test]
fn a_server_that_fails_is_told_with_its_cause() {
    let missing = toml_server("git", &["no-such-program-here".to_owned()]);
    let servers = format!("{missing}\n{}", toml_server("demo", &builtin()));
    let home = home("ui-failing", &servers);
    let mut screen = open(&home, &[], 120, 30);
    see(&screen, "parked");
    see(&screen, "echo");
    screen.type_in("0jj");
    screen.type_in(ENTER);
    see(&screen, "no-such-program-here");
    see(&screen, "attache doctor git");
    screen.type_in(ESC);
    gone(&screen, "attache doctor git");
    screen.type_in("q");
    assert_eq!(screen.finish().0, 0);
}

/// With a host in the background the UI uses its servers, and leaves them running.
#[test]
#[cfg(target_os = "linux")]
fn a_host_in_the_background_is_used() {
    let launch = Script::legacy("2025-11-25").launch().unwrap();
    let home = home("ui-attached", &table("chaos", &launch));
    let up = Screen::start(home.path(), &["up", "--idle", "2m"], 80, 24);
    assert_eq!(up.finish().0, 0);
    let mut screen = open(&home, &[], 120, 30);
    see(&screen, "Background host");
    screen.type_in("/echo");
    screen.type_in(ENTER);
    see(&screen, "echo");
    screen.type_in("q");
    let left = screen.finish().0;
    let running = launch.tag().survivors().unwrap().len();
    let down = Screen::start(home.path(), &["down"], 80, 24);
    assert_eq!(down.finish().0, 0);
    assert_eq!(left, 0);
    assert!(running > 0, "the servers of the background host have ended");
    assert!(
        launch
            .tag()
            .wait_until_gone(Duration::from_secs(20))
            .is_ok()
    );
}

/// A question that belongs to the call a person looks at opens by itself, and its answer reaches
/// the server.
#[test]
fn questions_of_a_server_are_answered_where_they_arise() {
    let form = json!({
        "message": "who are you?",
        "requestedSchema": {
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}},
        },
    });
    let sample = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "say a colour"}}],
        "maxTokens": 10,
    });
    let launch = Script::legacy("2025-11-25")
        .on(
            When::tool("ask_me"),
            [
                Action::ask("elicitation/create", form),
                Action::ask("sampling/createMessage", sample),
                Action::text("thank you"),
            ],
        )
        .launch()
        .unwrap();
    let home = home("ui-questions", &table("chaos", &launch));
    let mut screen = open(&home, &[], 120, 36);
    see(&screen, "ask_me");
    screen.type_in("/ask_me");
    see(&screen, "1 of");
    screen.type_in(ENTER);
    screen.type_in(ENTER);
    screen.type_in(F2);
    see(&screen, "who are you?");
    screen.type_in(ENTER);
    screen.type_in("Ada");
    see(&screen, "Ada");
    screen.type_in(F2);
    see(&screen, "say a colour");
    let answers = |text: &str| {
        let received = launch.received().unwrap();
        let lines = received.iter().map(ToString::to_string);
        lines.filter(|line| line.contains(text)).count()
    };
    assert_eq!(answers(r#""content":{"name":"Ada"}"#), 1);
    screen.type_in("e");
    see(&screen, "stop writing");
    screen.type_in("mauve");
    see(&screen, "mauve");
    screen.type_in(F2);
    see(&screen, "thank you");
    assert_eq!(answers("mauve"), 1);
    screen.type_in("q");
    assert_eq!(screen.finish().0, 0);
}

/// S4: a tool that is not what was approved is marked, its difference shown, and approved from it.
#[test]
fn a_drifted_tool_is_approved_from_its_difference() {
    let with = |description: &str| {
        let tool = json!({"name": "pay", "description": description,
                          "inputSchema": {"type": "object"}});
        Script::legacy("2025-11-25").tools([tool]).launch().unwrap()
    };
    let (before, after) = (with("pays a little"), with("pays everything"));
    let program = |launch: &Launch| {
        let words: Vec<String> = words_of(launch)
            .iter()
            .map(|word| format!("'{word}'"))
            .collect();
        format!("#!/bin/sh\nexec {}\n", words.join(" "))
    };
    let home = Folder::new("ui-drift");
    let server = home.write("server.sh", &program(&before));
    std::fs::create_dir_all(home.path().join(".config/attache")).unwrap();
    let words = ["sh".to_owned(), server.display().to_string()];
    home.write(".config/attache/attache.toml", &toml_server("bank", &words));
    let mut screen = open(&home, &[], 120, 30);
    see(&screen, "pays a little");
    screen.type_in("q");
    assert_eq!(screen.finish().0, 0);
    home.write("server.sh", &program(&after));
    let mut screen = open(&home, &[], 120, 30);
    see(&screen, "drifted");
    screen.type_in("/pay");
    screen.type_in(ENTER);
    screen.type_in("p");
    see(&screen, "approves it as it is now");
    see(&screen, "pays everything");
    screen.type_in(ENTER);
    gone(&screen, "drifted");
    screen.type_in("q");
    assert_eq!(screen.finish().0, 0);
}
