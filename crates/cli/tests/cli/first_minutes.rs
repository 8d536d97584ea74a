//! A person's first ten minutes: the commands of the README, slips, a server that is broken, an
//! address without a path, Ctrl-C; as the screen shows them at three widths. Every visible change
//! shows here.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};

use attache_testkit::real_servers::installed;

use crate::harness::{Folder, run, wait_until};
use crate::screen::Screen;

const CTRL_C: &str = "\u{3}";

/// A new user's home, with one program in the path.
fn new_home(name: &str) -> Folder {
    let home = Folder::new(name);
    std::fs::create_dir(home.path().join("bin")).unwrap();
    let program = installed("python-modern/bin/mcp-server-time");
    symlink(program, home.path().join("bin/mcp-server-time")).unwrap();
    home
}

/// The demo server at a port of its own; the port's digits never change in number.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn start() -> Self {
        let port = loop {
            let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let port = free.local_addr().unwrap().port();
            if port >= 10_000 {
                break port;
            }
        };
        let child = Command::new(env!("CARGO_BIN_EXE_attache"))
            .args(["serve", "demo", "--http", &port.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the server", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { child, port }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is typed, and the screen after it.
struct Transcript<'a> {
    home: &'a Folder,
    columns: u16,
    text: String,
}

impl Transcript<'_> {
    fn types(&mut self, words: &[&str]) {
        self.types_and(words, |_| {});
    }

    /// The same; `meanwhile` does something while it runs.
    fn types_and(&mut self, words: &[&str], meanwhile: impl FnOnce(&mut Screen)) {
        let mut screen = Screen::start(self.home.path(), words, self.columns, 120);
        meanwhile(&mut screen);
        let (code, rows) = screen.finish();
        let quoted = words
            .iter()
            .map(|word| match word.contains([' ', '(', '|']) {
                true => format!("'{word}'"),
                false => (*word).to_owned(),
            });
        let typed = quoted.collect::<Vec<_>>().join(" ");
        writeln!(self.text, "$ attache {typed}\n{rows}").unwrap();
        if code != 0 {
            writeln!(self.text, "[exit code {code}]").unwrap();
        }
        self.text.push('\n');
    }
}

fn transcript(columns: u16) -> String {
    let home = new_home(&format!("first-minutes-{columns}"));
    let served = Served::start();
    let mut person = Transcript {
        home: &home,
        columns,
        text: String::new(),
    };
    person.types(&[]);
    person.types(&["call", "echo", "message=hi"]);
    for slip in ["tool", "cal", "list", "version"] {
        person.types(&[slip]);
    }
    person.types(&["help", "arguments"]);
    person.types(&["config", "add", "time", "--", "mcp-server-time"]);
    person.types(&["tools"]);
    person.types(&["tools", "time/convert_time"]);
    let arguments = [
        "source_timezone=Asia/Tokyo",
        "target_timezone=Asia/Kolkata",
        "time=12:30",
    ];
    let filter = ".content[0].text | fromjson | .time_difference";
    person.types(&[&["call", "convert_time"], &arguments[..], &["--jq", filter]].concat());
    person.types(&["call", "convert_tiem"]);
    person.types(&["call", "convert_time", "time=12:30"]);
    person.types(&["config", "add", "broken", "--", "no-such-program"]);
    person.types(&["ls"]);
    person.types(&["doctor"]);
    person.types(&["config", "remove", "broken"]);
    person.types(&["config", "add", "slow", "--", "sleep", "1000"]);
    person.types_and(&["ls"], |screen| {
        screen.wait_for("answer and who is missing", |rows| {
            rows.contains("2 tools") && rows.contains("slow") && rows.contains("starting")
        });
        screen.type_in(CTRL_C);
    });
    person.types(&["tools", &format!("127.0.0.1:{}", served.port)]);
    person.types(&["tools", "127.0.0.1:9/mcp"]);
    person.types(&["call", "lisp/evaluate-lisp", "code=(expt 2 100)"]);
    person.types(&["read", "demo://welcome", "--server", "demo"]);
    person.text.replace(&served.port.to_string(), "40000")
}

#[test]
fn at_40_columns() {
    insta::assert_snapshot!(transcript(40));
}

#[test]
fn at_80_columns() {
    insta::assert_snapshot!(transcript(80));
}

#[test]
fn at_120_columns() {
    insta::assert_snapshot!(transcript(120));
}

/// Three commands from nothing to a result, and no file opened by hand.
#[test]
fn three_commands_lead_to_a_result() {
    let home = new_home("three-commands");
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let run = |words: &[&str]| {
        let mut command = home.attache();
        crate::harness::finish(command.env("PATH", &path).args(words))
    };
    run(&["config", "add", "time", "--", "mcp-server-time"]).expect(0);
    let shown = run(&["tools", "time/convert_time"]).expect(0).stdout;
    for word in [
        "source_timezone",
        "required",
        "Europe/London",
        "attache call",
    ] {
        assert!(shown.contains(word), "{shown}");
    }
    let called = run(&[
        "call",
        "convert_time",
        "source_timezone=Asia/Tokyo",
        "target_timezone=Asia/Kolkata",
        "time=12:30",
    ]);
    assert!(called.expect(0).stdout.contains("-3.5h"));
}

#[test]
fn words_of_other_tools_lead_to_ours() {
    for (typed, hint) in [
        ("tool", "did you mean \"tools\"?"),
        ("cal", "did you mean \"call\"?"),
        ("list", "here it is `attache ls`"),
        ("version", "here it is `attache --version`"),
        ("login", "here it is `attache auth login`"),
    ] {
        let outcome = run(&[typed]).expect(2);
        assert!(outcome.stderr.contains(hint), "{outcome:?}");
    }
    run(&["help"]).expect(0);
    let verb = run(&["help", "config", "add"]).expect(0);
    assert!(
        verb.stdout.contains("Usage: attache config add"),
        "{verb:?}"
    );
    let unknown = run(&["help", "arugments"]).expect(2);
    assert!(
        unknown.stderr.contains("did you mean \"arguments\"?"),
        "{unknown:?}"
    );
}
