//! Servers that are kept running in the background, and commands that use them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::configured::home;
use crate::harness::{
    Folder, Outcome, Scratch, builtin, finish, recorded, toml_server, wait_until,
};

/// A home whose servers are kept running until it is dropped.
struct Kept {
    home: Folder,
    /// What the server was sent.
    requests: Scratch,
}

impl Kept {
    /// The built-in server as a configured one, with more in its table.
    fn new(name: &str, more: &str) -> Self {
        let requests = Scratch::new(name);
        let server = toml_server("demo", &recorded(&builtin(), &requests));
        Self {
            // Each start of a legacy server is one greeting.
            home: home(name, &format!("{server}era = \"legacy\"\n{more}")),
            requests,
        }
    }

    fn attache(&self) -> Command {
        let mut command = self.home.attache();
        command.env("XDG_RUNTIME_DIR", self.home.path());
        command
    }

    fn run(&self, words: &[&str]) -> Outcome {
        finish(self.attache().args(words))
    }

    fn up(&self) -> u32 {
        let outcome = self.run(&["up"]).expect(0);
        assert!(outcome.stdout.contains("kept running"), "{outcome:?}");
        self.status()["process"].as_u64().unwrap() as u32
    }

    fn status(&self) -> Value {
        self.run(&["up", "--status", "--json"]).expect(0).document()
    }

    /// How often the server was started.
    fn starts(&self) -> usize {
        self.sent("initialize")
    }

    fn sent(&self, method: &str) -> usize {
        let method = format!("\"method\":\"{method}\"");
        self.requests.text().matches(&method).count()
    }

    fn socket(&self) -> PathBuf {
        let folder = self.home.path().join("attache");
        let mut files = std::fs::read_dir(folder).unwrap();
        let socket = files.find_map(|file| {
            let path = file.unwrap().path();
            (path.extension()? == "sock").then_some(path)
        });
        socket.unwrap()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.attache().arg("down").output();
    }
}

fn is_running(process: u32) -> bool {
    // A zombie has no command line any more.
    std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|words| !words.is_empty())
}

#[test]
fn commands_use_the_servers_that_are_kept_running() {
    let kept = Kept::new("kept", "cache = { ttl = \"1m\" }\n");
    kept.run(&["up", "--status"]).expect(4);
    let process = kept.up();
    assert!(kept.run(&["up"]).expect(0).stdout.contains("already"));
    for round in 0..20 {
        let message = format!("message=round {round}");
        let outcome = kept.run(&["call", "echo", &message]).expect(0);
        assert_eq!(outcome.stdout, format!("round {round}\n"));
    }
    assert_eq!(kept.sent("tools/call"), 20);
    for _ in 0..3 {
        kept.run(&["read", "demo://welcome"]).expect(0);
        kept.run(&["tools"]).expect(0);
        kept.run(&["prompt", "introduce", "name=Ada"]).expect(0);
    }
    assert_eq!(kept.sent("resources/read"), 1, "the others are cached");
    assert_eq!(kept.sent("tools/list"), 1);
    assert_eq!(kept.starts(), 1, "{}", kept.requests.text());
    let status = kept.status();
    assert_eq!(status["process"], process);
    assert_eq!(status["servers"][0]["state"], "ready");
    // Calls of commands and of the background process are in one history.
    let history = kept.run(&["history", "--json"]).expect(0).document();
    assert_eq!(history["calls"].as_array().unwrap().len(), 26);

    let down = kept.run(&["down"]).expect(0);
    assert!(down.stdout.contains("have ended"), "{down:?}");
    assert!(!is_running(process));
    kept.run(&["up", "--status"]).expect(4);
    kept.run(&["call", "echo", "message=alone"]).expect(0);
    assert_eq!(kept.starts(), 2);
}

#[test]
fn a_command_says_the_same_whether_or_not_its_servers_are_kept_running() {
    let rules = "policy = { deny = [\"add\"], ask = [\"count\"] }\n";
    let kept = Kept::new("same", rules);
    let calls = kept.home.path().join("calls.jsonl");
    let lines = [
        r#"{"tool":"echo","arguments":{"message":"one"}}"#,
        r#"{"tool":"demo/echo","arguments":{"message":"two"}}"#,
        r#"{"tool":"ecco"}"#,
        r#"{"tool":"nobody/echo"}"#,
        r#"{"tool":"add","arguments":{"a":1,"b":2}}"#,
        r#"{"tool":"count","arguments":{"to":1}}"#,
        "no call",
    ];
    std::fs::write(&calls, lines.join("\n")).unwrap();
    let calls = calls.to_str().unwrap();
    let commands: &[&[&str]] = &[
        &["batch", calls],
        &["batch", calls, "--yes"],
        &["ls"],
        &["ls", "--json"],
        &["ls", "demo"],
        &["call", "echo", "message=hi", "--jq", ".content[].text"],
        &[
            "call",
            "echo",
            "message=hi",
            "--jq",
            ".content[].text",
            "--raw",
        ],
        &["call", "echo", "message=hi", "--raw"],
        &["tools"],
        &["tools", "--json"],
        &["resources", "demo"],
        &["prompts", "--json"],
        &["call", "echo", "message=hi"],
        &["call", "echo", "message=hi", "--json"],
        &["call", "demo/echo", "message=hi", "--no-list"],
        &["call", "echo"],
        &["call", "ecco", "message=hi"],
        &["call", "ecco", "message=hi", "--json"],
        &["call", "demo/ecco", "--no-list", "--json"],
        &["call", "add", "a=1", "b=2"],
        &["call", "add", "a=1", "b=2", "--json"],
        &["call", "count", "to=1"],
        &["call", "count", "to=2", "--yes", "--progress", "always"],
        &["call", "count", "to=50", "--yes", "--timeout", "100ms"],
        &[
            "call",
            "count",
            "to=50",
            "--yes",
            "--timeout",
            "100ms",
            "--json",
        ],
        &["call", "nobody/echo", "message=hi"],
        &["read", "demo://welcome"],
        &["read", "demo://nothing"],
        &["read", "demo://nothing", "--json"],
        &["prompt", "introduce", "name=Ada"],
        &["prompt", "introduce"],
        &["prompt", "nothing", "--json"],
    ];
    let said = |words: &[&str]| {
        let Outcome {
            code,
            stdout,
            stderr,
        } = kept.run(words);
        (code, stdout, stderr)
    };
    let alone: Vec<_> = commands.iter().map(|words| said(words)).collect();
    kept.up();
    for (words, alone) in commands.iter().zip(alone) {
        assert_eq!(said(words), alone, "{words:?}");
    }
}

#[test]
fn the_same_call_again_and_again_is_made_there() {
    let kept = Kept::new("repeated", "");
    kept.up();
    let words = ["call", "echo", "message=hi", "--repeat", "100", "--json"];
    let words = [&words[..], &["--concurrency", "80"]].concat();
    let document = kept.run(&words).expect(0).document();
    assert_eq!(document["calls"], 100);
    assert_eq!(document["endings"], json!({"result": 100}));
    assert_eq!(kept.sent("tools/call"), 100);
    assert_eq!(kept.starts(), 1);
}

#[test]
fn a_batch_is_made_there() {
    let kept = Kept::new("batch-kept", "");
    kept.up();
    let calls = kept.home.path().join("calls.jsonl");
    let line = |number: usize| format!(r#"{{"tool":"echo","arguments":{{"message":"{number}"}}}}"#);
    let lines: Vec<_> = (1..=300).map(line).collect();
    std::fs::write(&calls, lines.join("\n")).unwrap();
    let batch = ["batch", calls.to_str().unwrap(), "--concurrency", "100"];
    let made = kept.run(&batch).expect(0).stdout;
    for (at, line) in made.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let number = (at + 1).to_string();
        assert_eq!(line["result"]["content"][0]["text"], number, "{line}");
    }
    assert_eq!(made.lines().count(), 300);
    assert_eq!(kept.sent("tools/call"), 300);
    assert_eq!(kept.starts(), 1);
}

/// What was not sent is not told as something that may have happened.
#[test]
fn calls_of_a_batch_that_come_after_the_end_of_the_process_are_not_sent() {
    let kept = Kept::new("batch-killed", "");
    let process = kept.up();
    let mut batch = kept.attache();
    batch
        .arg("batch")
        .stdin(Stdio::piped())
        .stderr(Stdio::null());
    let mut batch = batch.stdout(Stdio::piped()).spawn().unwrap();
    let mut input = batch.stdin.take().unwrap();
    let mut endings = BufReader::new(batch.stdout.take().unwrap()).lines();
    let mut call = || -> Value {
        writeln!(input, r#"{{"tool":"echo","arguments":{{"message":"hi"}}}}"#).unwrap();
        serde_json::from_str(&endings.next().unwrap().unwrap()).unwrap()
    };
    assert_eq!(call()["result"]["content"][0]["text"], "hi");
    kill(process);
    wait_until("a call is not sent", || {
        let ending = call();
        let kind = ending["error"]["kind"].as_str().unwrap();
        // The end may come while a call is on its way.
        assert!(["outcome_unknown", "not_sent"].contains(&kind), "{ending}");
        kind == "not_sent"
    });
    drop(input);
    assert_eq!(batch.wait().unwrap().code(), Some(5));
    assert_eq!(kept.sent("tools/call"), 1);
}

#[test]
fn what_is_watched_is_watched_there() {
    let kept = Kept::new("watched", "");
    kept.up();
    let mut watch = kept.attache();
    watch.args(["watch", "demo://clock", "--read", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(watch.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    let change: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(change["method"], "notifications/resources/updated");
    assert!(
        change["result"]["contents"][0]["text"].is_string(),
        "{change}"
    );
    assert_eq!(kept.starts(), 1);
    // The end of the background process is the end of the watch.
    kept.run(&["down"]).expect(0);
    assert_eq!(watch.wait().unwrap().code(), Some(4));
}

/// A recording, and a server that the configuration has not, are the command's own affair.
#[test]
fn what_has_to_happen_in_the_command_happens_there() {
    let kept = Kept::new("own-affair", "");
    kept.up();
    let file = kept.home.path().join("s.mcprec");
    let record = ["--record", file.to_str().unwrap()];
    let words = [&["call", "echo", "message=hi"][..], &record].concat();
    kept.run(&words).expect(0);
    let recorded = std::fs::read_to_string(&file).unwrap();
    assert!(recorded.contains("tools/call"), "{recorded}");
    assert_eq!(kept.starts(), 2);
    let lisp = ["call", "lisp/evaluate-lisp", "code=(+ 1 2)"];
    assert_eq!(kept.run(&lisp).expect(0).stdout, "3\n");
}

#[test]
fn a_doctor_says_that_it_looks_at_other_servers() {
    let kept = Kept::new("examined", "");
    let process = kept.up();
    kept.run(&["ls"]).expect(0);
    assert_eq!(kept.starts(), 1);
    let doctor = kept.run(&["doctor"]).expect(0);
    let said = format!("process {process} keeps these servers running");
    assert!(doctor.stderr.contains(&said), "{doctor:?}");
    assert_eq!(kept.starts(), 2);
}

/// P2.
#[test]
fn fault_2_a_background_process_that_is_killed_leaves_nothing_in_the_way() {
    let kept = Kept::new("killed-up", "");
    let process = kept.up();
    kept.run(&["call", "echo", "message=hi"]).expect(0);
    let server = kept.status()["servers"][0]["process_id"].as_u64();
    let server = u32::try_from(server.unwrap()).unwrap();
    assert!(is_running(server));
    kill(process);
    wait_until("the server is gone", || !is_running(server));
    assert!(kept.socket().exists(), "a socket was left behind");
    kept.run(&["call", "echo", "message=alone"]).expect(0);
    kept.run(&["up", "--status"]).expect(4);
    kept.run(&["down"]).expect(0);
    assert_ne!(kept.up(), process);
    kept.run(&["call", "echo", "message=again"]).expect(0);
    assert_eq!(kept.starts(), 3);
}

/// A process that hangs is neither waited for nor told as absent.
#[test]
fn fault_2_a_background_process_that_does_not_answer_is_named() {
    let kept = Kept::new("stopped-up", "");
    let process = kept.up();
    let stopped = Stopped::new(process);
    kept.run(&["call", "echo", "message=alone"]).expect(0);
    for words in [&["up"][..], &["up", "--status"], &["down"]] {
        let failed = kept.run(words).expect(4);
        let named = format!("process {process}, which keeps the servers, does not answer");
        assert!(failed.stderr.contains(&named), "{failed:?}");
    }
    drop(stopped);
    kept.run(&["down"]).expect(0);
    assert_ne!(kept.up(), process);
}

/// A process that does nothing until it is killed, also by a test that fails.
struct Stopped(u32);

impl Stopped {
    fn new(process: u32) -> Self {
        signal(process, "STOP");
        Self(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill(self.0);
    }
}

fn kill(process: u32) {
    signal(process, "KILL");
}

fn signal(process: u32, signal: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn servers_that_would_be_started_differently_are_not_shared() {
    let kept = Kept::new(
        "differently",
        "env = { GREETING = \"${GREETING:-hello}\" }\n",
    );
    let first = kept.up();
    kept.run(&["call", "echo", "message=hi"]).expect(0);
    assert_eq!(kept.starts(), 1);
    // Another value of a variable that the file names, an option, and a look at stderr.
    let mut other = kept.attache();
    other.env("GREETING", "good day");
    finish(other.args(["call", "echo", "message=hi"])).expect(0);
    assert_eq!(kept.starts(), 2);
    kept.run(&["call", "echo", "message=hi", "--env", "X=1"])
        .expect(0);
    assert_eq!(kept.starts(), 3);
    kept.run(&["call", "echo", "message=hi", "-v"]).expect(0);
    assert_eq!(kept.starts(), 4);
    // Another text of the file.
    let file = kept.home.path().join(".config/attache/attache.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}# changed\n")).unwrap();
    kept.run(&["call", "echo", "message=hi"]).expect(0);
    assert_eq!(kept.starts(), 5);
    let status = kept.run(&["up", "--status"]).expect(0).stdout;
    assert!(status.contains("do not use it"), "{status}");
    let second = kept.up();
    assert_ne!(first, second);
    assert!(!is_running(first));
    kept.run(&["call", "echo", "message=hi"]).expect(0);
    assert_eq!(kept.starts(), 6);
}

#[test]
fn what_the_user_revokes_counts_at_once() {
    let kept = Kept::new("revoked", "policy = \"ask\"\n");
    let answers = kept.home.path().join(".local/state/attache/answers.json");
    std::fs::create_dir_all(answers.parent().unwrap()).unwrap();
    std::fs::write(&answers, r#"{"allow":["demo"],"deny":[]}"#).unwrap();
    kept.up();
    kept.run(&["call", "echo", "message=hi"]).expect(0);
    kept.run(&["trust", "forget", "demo"]).expect(0);
    let refused = kept.run(&["call", "echo", "message=hi"]).expect(7);
    assert!(refused.stderr.contains("nobody to ask"), "{refused:?}");
    // A yes beforehand is for one call.
    kept.run(&["call", "echo", "message=hi", "--yes"]).expect(0);
    kept.run(&["call", "echo", "message=hi"]).expect(7);
    assert_eq!(kept.starts(), 1);
}

#[test]
fn nobody_but_the_user_can_reach_the_socket() {
    let kept = Kept::new("private", "");
    kept.up();
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(kept.home.path().join("attache")), 0o700);
    assert_eq!(mode(kept.socket()), 0o600);
    kept.run(&["down"]).expect(0);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(kept.home.path().join("attache"), open).unwrap();
    let refused = kept.run(&["up"]).expect(1);
    assert!(refused.stderr.contains("not yours alone"), "{refused:?}");
    kept.run(&["call", "echo", "message=hi"]).expect(0);
}

/// Fault 70's cousin: clients that connect and say nothing, too much, or nonsense.
#[test]
fn fault_70_clients_that_misbehave_hold_up_no_other() {
    let kept = Kept::new("misbehave", "");
    kept.up();
    let socket = kept.socket();
    let idle: Vec<UnixStream> = (0..1000)
        .filter_map(|_| UnixStream::connect(&socket).ok())
        .collect();
    // With no room left a command starts its server itself.
    kept.run(&["call", "echo", "message=hi"]).expect(0);
    drop(idle);
    // While the crowd leaves, a newcomer may still be sent away unheard.
    wait_until("an end without a word for nonsense", || {
        let mut nonsense = UnixStream::connect(&socket).unwrap();
        let mut said = String::new();
        let ended = nonsense
            .write_all(b"what\n")
            .and_then(|()| nonsense.read_to_string(&mut said));
        ended.is_ok() && said.is_empty()
    });
    let mut endless = UnixStream::connect(&socket).unwrap();
    endless
        .set_write_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let block = vec![b'x'; 1024 * 1024];
    let sent = (0..64).take_while(|_| endless.write_all(&block).is_ok());
    assert!(sent.count() < 64, "an endless line is cut off");
    kept.run(&["call", "echo", "message=hi"]).expect(0);
    assert!(kept.starts() <= 2);
}

/// The protocol as other programs speak it.
#[test]
fn two_programs_follow_one_host_and_the_first_answer_counts() {
    let kept = Kept::new("followed", "policy = \"ask\"\n");
    kept.up();
    let status = kept.status();
    // Without the right key a program may look, and no more.
    let mut stranger = Program::attach(&status, "wrong");
    assert_eq!(stranger.welcome["refused"], "key");
    stranger.say(&json!({"id": 1, "do": "snapshot"}));
    assert_eq!(stranger.hear()["result"]["servers"][0]["name"], "demo");
    stranger.say(&json!({"id": 2, "do": "call", "with": {"server": "demo", "tool": "echo"}}));
    assert_eq!(stranger.hear()["error"]["kind"], "refused");

    let key = status["key"].as_str().unwrap();
    let follow = |after: Option<u64>| {
        let mut program = Program::attach(&status, key);
        let with = json!({"after": after, "questions": ["approval"]});
        program.say(&json!({"id": 1, "do": "follow", "with": with}));
        program
    };
    let mut early = follow(None);
    let begun = early.hear()["event"]["snapshot"]["seq"].as_u64().unwrap();
    let mut caller = Program::attach(&status, key);
    let call = json!({"server": "demo", "tool": "echo", "arguments": {"message": "hi"}});
    caller.say(&json!({"id": 1, "do": "call", "with": call}));
    let question = early.hear_until(|line| line["question"].is_object());
    let id = question["question"]["id"].clone();
    let approval = &question["question"]["kind"]["approval"];
    assert_eq!(approval["arguments"]["message"], "hi", "{question}");
    // One that comes late sees the same events, and the same question.
    let mut late = follow(Some(begun));
    let asked = late.hear_until(|line| line["event"]["event"] == "asked");
    assert!(asked["event"]["seq"].as_u64().unwrap() > begun);
    late.hear_until(|line| line["question"]["id"] == id);
    let answer = json!({"question": id, "answer": {"allow": {}}});
    late.say(&json!({"id": 2, "do": "answer", "with": answer}));
    assert!(late.hear_until(|line| line["id"] == 2)["error"].is_null());
    let answer = caller.hear_until(|line| line["result"].is_object());
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    early.hear_until(|line| line["event"]["event"] == "answered");
    early.say(&json!({"id": 2, "do": "answer", "with": answer}));
    let second = early.hear_until(|line| line["id"] == 2);
    assert_eq!(second["error"]["kind"], "usage", "{second}");
    // A client that leaves takes its call with it.
    let slow =
        json!({"server": "demo", "tool": "count", "arguments": {"to": 1000}, "approved": true});
    caller.say(&json!({"id": 2, "do": "call", "with": slow}));
    early.hear_until(|line| line["event"]["event"] == "sent" && line["event"]["about"] == "count");
    drop(caller);
    let ended = early.hear_until(|line| line["event"]["event"] == "ended");
    assert_eq!(ended["event"]["ending"], "cancelled");
}

#[test]
fn a_background_process_ends_when_nobody_needs_it() {
    let kept = Kept::new("idle", "");
    let outcome = kept.run(&["up", "--idle", "300ms"]).expect(0);
    assert!(outcome.stdout.contains("kept running"), "{outcome:?}");
    let folder = kept.home.path().join("attache");
    wait_until("it has ended", || {
        let files = std::fs::read_dir(&folder).unwrap().flatten();
        !files
            .into_iter()
            .any(|file| file.path().extension().is_some_and(|it| it == "sock"))
    });
    kept.run(&["up", "--status"]).expect(4);
}

struct Program {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
    welcome: Value,
}

impl Program {
    fn attach(status: &Value, key: &str) -> Self {
        let stream = UnixStream::connect(status["socket"].as_str().unwrap()).unwrap();
        let patience = Some(Duration::from_secs(50));
        stream.set_read_timeout(patience).unwrap();
        let mut program = Self {
            lines: BufReader::new(stream.try_clone().unwrap()),
            stream,
            welcome: Value::Null,
        };
        let version = env!("CARGO_PKG_VERSION");
        program.say(&json!({"attach": 1, "version": version, "key": key}));
        program.welcome = program.hear();
        program
    }

    fn hear_until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.hear();
            if is_it(&line) {
                return line;
            }
        }
    }

    fn say(&mut self, what: &Value) {
        self.stream
            .write_all(format!("{what}\n").as_bytes())
            .unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}
