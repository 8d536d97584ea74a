//! Twenty servers that others wrote, on a terminal: each is shown when it
//! answers, however slow or broken the others are.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use attache_testkit::real_servers::{installed, reference_server};

use crate::harness::{Folder, PATIENCE, toml_server};
use crate::screen::Screen;

const CTRL_C: &str = "\u{3}";

/// Eighteen that work, of npm and of PyPI.
fn working(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let text = |path: &Path| path.display().to_string();
    let node = |words: &[String]| [&["node".to_owned()], words].concat();
    let reference = |package: &str| text(&reference_server(package));
    let field = |file: &str| text(&installed(&format!("field/node_modules/{file}")));
    let program = |file: &str| vec![text(&installed(file))];
    let script = |file: &str| {
        let scripts = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../client/tests/real_servers/servers"
        );
        format!("{scripts}/{file}")
    };
    let python = |file: &str| vec![text(&installed("python-legacy/bin/python")), script(file)];
    let sqlite = |file: &str| {
        let mut words = program("python-legacy/bin/mcp-server-sqlite");
        words.extend(["--db-path".to_owned(), text(&folder.join(file))]);
        words
    };
    let files = |below: &str| node(&[reference("server-filesystem"), text(&folder.join(below))]);
    let legacy_time = program("python-legacy/bin/mcp-server-time");
    vec![
        ("archive", files(".config")),
        (
            "calculator",
            program("python-legacy/bin/mcp-server-calculator"),
        ),
        ("chuk", python("chuk_adder.py")),
        (
            "commands",
            node(&[field("mcp-server-commands/build/index.js")]),
        ),
        ("everything", node(&[reference("server-everything")])),
        ("fetch", program("python-modern/bin/mcp-server-fetch")),
        ("fetch-2025", program("python-1.12/bin/mcp-server-fetch")),
        ("filesystem", files("")),
        ("git", program("python-modern/bin/mcp-server-git")),
        ("kubernetes", node(&[field(".bin/kubernetes-mcp-server")])),
        ("memory", node(&[reference("server-memory")])),
        ("orders", sqlite("orders.db")),
        (
            "sequential-thinking",
            node(&[reference("server-sequential-thinking")]),
        ),
        ("sqlite", sqlite("notes.db")),
        ("time", program("python-modern/bin/mcp-server-time")),
        ("time-2025", legacy_time),
        ("tmcp", node(&[script("tmcp_answer.mjs"), field("")])),
        ("world-clock", program("python-modern/bin/mcp-server-time")),
    ]
}

#[test]
fn each_of_twenty_servers_is_shown_when_it_answers() {
    let home = Folder::new("twenty");
    let mut config = String::from("[startup]\nconcurrent = 2\n");
    let working = working(home.path());
    for (name, words) in &working {
        config += &toml_server(name, words);
    }
    config += "[servers.broken]\ncommand = 'no-such-program'\n";
    let kubernetes = "apiVersion: v1\nkind: Config\ncurrent-context: none\n\
                      clusters: [{name: none, cluster: {server: 'http://127.0.0.1:9'}}]\n\
                      contexts: [{name: none, context: {cluster: none, user: none}}]\n\
                      users: [{name: none, user: {}}]\n";
    home.write(".kube/config", kubernetes);
    config += "[servers.hangs]\ncommand = 'sleep'\nargs = ['1000']\n";
    config += "timeouts = { initialize = '10m' }\n";
    home.write(".config/attache/attache.toml", &config);

    let mut screen = Screen::start(home.path(), &["ls"], 100, 60);
    // Long before the last answer, the first are there, and who is missing is named.
    screen.wait_for("answer among those that are missing", |rows| {
        rows.contains("of 20 have answered") && rows.contains("not found in PATH")
    });
    let answered = |rows: &str| {
        let is_there = |name: &str| {
            let mut lines = rows.lines();
            lines.any(|row| row.split_whitespace().next() == Some(name) && row.contains(" tool"))
        };
        working.iter().filter(|(name, _)| is_there(name)).count()
    };
    screen.wait_for("first answer", |rows| answered(rows) >= 1);
    assert!(answered(&screen.rows()) < 18, "{}", screen.rows());
    screen.wait_for("answers of all that work", |rows| answered(rows) == 18);
    screen.wait_for("the one that hangs", |rows| {
        rows.contains("19 of 20 have answered") && rows.contains("hangs")
    });
    println!("{}\n", screen.rows());
    screen.type_in(CTRL_C);
    let (code, rows) = screen.finish();
    println!("{rows}");
    assert_eq!(code, 7, "{rows}");
    for sentence in [
        "remedy: install it, or give its full path as the command",
        "stopped after 19 of 20 servers had answered; not hangs",
    ] {
        let flat = rows.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(sentence), "{rows}");
    }
    assert!(
        !rows.contains("have answered;"),
        "the board is gone:\n{rows}"
    );
}

/// The line of a server is on the screen before a slower one has answered: never later than a second
/// after its own answer, for which the slower one waits.
#[test]
fn a_line_does_not_wait_for_other_servers() {
    let home = Folder::new("one-slow");
    let config = crate::configured::after("quick", ":")
        + &crate::configured::after("slow", "sleep 1000")
        + "timeouts = { initialize = '10m' }\n";
    home.write(".config/attache/attache.toml", &config);
    for words in [&["ls"][..], &["tools"], &["doctor"]] {
        let mut screen = Screen::start(home.path(), words, 80, 24);
        let quick = match words {
            ["tools"] => "quick/echo",
            ["doctor"] => "quick  healthy",
            _ => "quick  3 tools",
        };
        screen.wait_for("quick server", |rows| rows.contains(quick));
        screen.wait_for("slow server", |rows| rows.contains("  slow  starting"));
        screen.type_in(CTRL_C);
        let (code, rows) = screen.finish();
        assert_eq!(code, 7, "{rows}");
        assert!(rows.contains(quick) && rows.contains("not slow"), "{rows}");
    }
}

/// Who interrupts a command whose output is no terminal gets what is known as well. Nothing tells from
/// outside when the quick server has answered, so it is interrupted later and later.
#[test]
fn ctrl_c_prints_what_is_known() {
    let home = Folder::new("known-so-far");
    let config = crate::configured::after("quick", ":")
        + &crate::configured::after("slow", "sleep 1000")
        + "timeouts = { initialize = '10m' }\n";
    home.write(".config/attache/attache.toml", &config);
    for (words, known) in [
        (&["ls"][..], "quick  3 tools"),
        (&["ls", "--json"], "\"tools\":3"),
        (&["tools"], "quick/echo"),
        (&["doctor"], "quick  healthy"),
    ] {
        let mut patience = Duration::from_millis(300);
        loop {
            let (code, stdout, stderr) = interrupted_after(patience, &home, words);
            // Before it listens for signals, one ends it.
            assert!(matches!(code, None | Some(7)), "{stdout}{stderr}");
            if stdout.contains(known) {
                assert!(stderr.contains("not slow"), "{stderr}");
                break;
            }
            assert!(patience < PATIENCE, "{words:?}: {stdout}{stderr}");
            patience *= 2;
        }
    }
}

fn interrupted_after(
    time: Duration,
    home: &Folder,
    words: &[&str],
) -> (Option<i32>, String, String) {
    let mut command = home.attache();
    command.args(words).stdout(Stdio::piped());
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(time);
    let pid = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &pid]).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}
