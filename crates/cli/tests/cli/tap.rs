//! `attache tap` between real clients and real servers, and its recordings in place of the servers.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use attache_testkit::real_servers::{EverythingTransport, Listening, installed};
use serde_json::{Value, json};

use crate::harness::{Folder, builtin, everything, finish, time, wait_until};
use crate::signals::signal;

#[test]
fn two_taps_at_once_do_not_keep_each_other_from_starting() {
    let home = Folder::new("tap-twice");
    let mut first = tap(&home, &["sh", "-c", "echo ready; read line"])
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    first
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    let second = finish(tap(&home, &["sh", "-c", "echo second"]).stdin(Stdio::null()));
    assert_eq!((second.code, second.stdout.as_str()), (0, "second\n"));
    assert!(
        second.stderr.contains("this one is recorded into"),
        "{second:?}"
    );
    drop(first.stdin.take());
    first.wait().unwrap();
    // Afterwards the file is continued, and begun anew only if that is said.
    finish(tap(&home, &["sh", "-c", "echo third"]).stdin(Stdio::null()));
    let lines = || recording(&home)["lines"].as_u64().unwrap();
    assert_eq!(lines(), 4);
    home.run(&["tap", "--record", "s.mcprec", "--new", "--", "true"])
        .expect(0);
    assert_eq!(lines(), 1);
}

pub(crate) fn tapped(file: &Path, server: &[String]) -> Vec<String> {
    let file = file.display().to_string();
    let own = [
        env!("CARGO_BIN_EXE_attache"),
        "tap",
        "--record",
        &file,
        "--",
    ];
    own.iter()
        .map(|word| (*word).to_owned())
        .chain(server.iter().cloned())
        .collect()
}

pub(crate) fn mocked(file: &Path, options: &[&str]) -> Vec<String> {
    let file = file.display().to_string();
    let own = [&[env!("CARGO_BIN_EXE_attache"), "mock", &file], options].concat();
    own.iter().map(|word| (*word).to_owned()).collect()
}

fn tap(home: &Folder, server: &[&str]) -> Command {
    let mut command = home.attache();
    let server = server
        .iter()
        .map(|word| (*word).to_owned())
        .collect::<Vec<_>>();
    command.args(&tapped(&home.path().join("s.mcprec"), &server)[1..]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn recording(home: &Folder) -> Value {
    home.run(&["show", "s.mcprec", "--json"])
        .expect(0)
        .document()
}

/// Bytes that are no text, in no order.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn every_byte_passes_both_ways_and_the_end_of_input_does_too() {
    let home = Folder::new("tap-bytes");
    // What comes in goes out on both streams; only the end of input ends it.
    let mut child = tap(&home, &["sh", "-c", "tee /dev/stderr"])
        .spawn()
        .unwrap();
    let sent = noise(3_000_000);
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn({
        let sent = sent.clone();
        move || input.write_all(&sent).unwrap()
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == sent, "stdout differs");
    assert!(output.stderr == sent, "stderr differs");
    let document = recording(&home);
    assert_eq!(
        (&document["whole"], &document["lost"]["bytes"]),
        (&json!(true), &json!(0))
    );
}

#[test]
fn the_tap_ends_like_the_server() {
    let home = Folder::new("tap-end");
    for code in [0, 3, 141] {
        let script = format!("exit {code}");
        let outcome = tap(&home, &["sh", "-c", &script]).output().unwrap();
        assert_eq!(outcome.status.code(), Some(code));
    }
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11)] {
        let script = format!("kill -{name} $$");
        let outcome = tap(&home, &["sh", "-c", &script]).output().unwrap();
        assert_eq!(outcome.status.signal(), Some(number), "{outcome:?}");
    }
    // What could not be started is told, and nothing else is.
    let outcome = finish(tap(&home, &["/no/such/server"]).stdin(Stdio::null()));
    assert_eq!((outcome.code, outcome.stdout.as_str()), (4, ""));
    assert!(
        outcome.stderr.contains("there is no file /no/such/server"),
        "{outcome:?}"
    );
}

#[test]
fn signals_reach_the_server() {
    let home = Folder::new("tap-signals");
    for (name, code) in [("INT", 21), ("TERM", 22), ("HUP", 23), ("USR1", 24)] {
        let script = format!("trap 'exit {code}' {name}; echo ready; while :; do sleep 0.05; done");
        let mut child = tap(&home, &["sh", "-c", &script]).spawn().unwrap();
        let mut first = [0; 6];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut first)
            .unwrap();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
    }
}

#[test]
fn a_stream_that_one_side_closes_is_closed_for_the_other() {
    let home = Folder::new("tap-half");
    // The server closes its output and lives on: the client sees the end of it.
    let mut child = tap(
        &home,
        &["sh", "-c", "echo bye; exec 1>&-; read line; exit 5"],
    )
    .spawn()
    .unwrap();
    let mut said = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(said, "bye\n");
    assert!(child.try_wait().unwrap().is_none());
    child.stdin.take().unwrap().write_all(b"end\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    // The server closes its input: the client cannot write any more.
    let mut child = tap(&home, &["sh", "-c", "exec 0<&-; echo closed; sleep 1000"])
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    wait_until("the input to be closed", || {
        input.write_all(b"x\n").is_err()
    });
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    // The client reads no more: the server's next write fails, as it would without the tap.
    let mut child = tap(&home, &["sh", "-c", "while echo more; do :; done; exit 7"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    wait_until("the server to notice", || {
        child.try_wait().unwrap().is_some()
    });
}

/// What passes is shown while it passes, with nothing of it able to draw on the terminal.
#[test]
fn a_tap_is_watched_while_it_records() {
    use std::io::BufRead as _;
    let home = Folder::new("tap-live");
    // An earlier recording in the same file is not shown.
    finish(tap(&home, &["sh", "-c", "echo earlier"]).stdin(Stdio::null()));
    let plain = tap(
        &home,
        &["sh", "-c", "read line; echo \"got $line\"; read line"],
    );
    let words: Vec<_> = plain.get_args().map(ToOwned::to_owned).collect();
    let mut command = home.attache();
    command
        .args([&words[0], std::ffi::OsStr::new("--show")])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"hello \x1b[2J\n").unwrap();
    let mut live = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    // The server waits for more, so this is seen before the end.
    let shown: Vec<String> = live.by_ref().take(2).map(Result::unwrap).collect();
    assert!(
        shown[0].contains("->") && shown[0].contains("hello"),
        "{shown:?}"
    );
    assert!(
        shown[1].contains("<-") && shown[1].contains("got hello"),
        "{shown:?}"
    );
    let mut followed = home
        .attache()
        .args(["show", "s.mcprec", "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(input);
    let rest: Vec<String> = live.map(Result::unwrap).collect();
    assert!(rest.concat().contains("exited"), "{rest:?}");
    assert!(!format!("{shown:?}{rest:?}").contains("earlier"));
    assert!(!format!("{shown:?}").contains('\x1b'));
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // It ends with the recording.
    let mut beside = String::new();
    let mut output = followed.stdout.take().unwrap();
    output.read_to_string(&mut beside).unwrap();
    assert_eq!(followed.wait().unwrap().code(), Some(0));
    for expected in ["earlier", "hello", "exited"] {
        assert!(beside.contains(expected), "{expected} in {beside}");
    }
}

#[cfg(target_os = "linux")]
fn server_id(child: &mut Child) -> u32 {
    let mut line = Vec::new();
    let output = child.stdout.as_mut().unwrap();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap().trim().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_goes_with_the_tap_and_with_the_client() {
    let home = Folder::new("tap-guardian");
    let is_gone = |server: u32| !attache_testkit::processes::is_running(server).unwrap();
    // The tap is killed outright, and the server heeds neither the end of its input nor TERM.
    let stubborn = "trap '' TERM HUP; echo $$; while :; do sleep 0.05; done";
    let mut child = tap(&home, &["sh", "-c", stubborn]).spawn().unwrap();
    let server = server_id(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the server to go with the tap", || is_gone(server));
    // What was recorded until then is there.
    assert_eq!(recording(&home)["whole"], false);
    // The client is gone, and both ends of its pipes with it.
    let mut child = tap(&home, &["sh", "-c", stubborn]).spawn().unwrap();
    let server = server_id(&mut child);
    drop((child.stdin.take(), child.stdout.take()));
    wait_until("the server to go with the client", || is_gone(server));
    child.wait().unwrap();
}

/// A client that asks, over stdio or at a URL.
type ForeignClient<'a> = &'a dyn Fn(&[String]) -> Value;

fn json_of(command: &mut Command) -> Value {
    let outcome = finish(command);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn typescript(sdk: &str, mode: &str, questions: &Value, target: &[String]) -> Value {
    let mut command = Command::new(installed("conformance/node_modules/node/bin/node"));
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/clients/typescript.mjs"
        ))
        .arg(installed(sdk))
        .args([mode, &questions.to_string()])
        .args(target);
    json_of(&mut command)
}

fn python(mode: &str, questions: &Value, target: &[String]) -> Value {
    let mut command = Command::new(installed("python-modern/bin/python"));
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/clients/python.py"
        ))
        .args([mode, &questions.to_string()])
        .args(target);
    json_of(&mut command)
}

const FIRST_SDK: &str = "npm/node_modules/@modelcontextprotocol/sdk";
const SECOND_SDK: &str = "conformance/node_modules/@modelcontextprotocol/client";

fn everything_questions() -> Value {
    json!([
        ["listTools", {}],
        ["callTool", {"name": "echo", "arguments": {"message": "hi"}}],
        ["callTool", {"name": "get-sum", "arguments": {"a": 2, "b": 3}}],
        ["callTool", {"name": "get-tiny-image", "arguments": {}}],
        ["callTool", {"name": "get-structured-content", "arguments": {"location": "New York"}}],
        ["callTool", {"name": "no-such-tool", "arguments": {}}],
        ["listPrompts", {}],
        ["getPrompt", {"name": "simple-prompt"}],
        ["listResources", {}],
        ["listResourceTemplates", {}],
    ])
}

/// The same answers directly, through a tap, and from the recording.
fn same_three_times(name: &str, server: &[String], ask: impl Fn(&[String]) -> Value) {
    let home = Folder::new(name);
    let file = home.path().join("s.mcprec");
    let direct = ask(server);
    assert_eq!(ask(&tapped(&file, server)), direct, "through the tap");
    assert_eq!(ask(&mocked(&file, &[])), direct, "from the recording");
}

#[test]
fn the_typescript_client_of_the_legacy_era_notices_neither_tap_nor_mock() {
    same_three_times("tap-ts1", &everything(), |target| {
        typescript(FIRST_SDK, "legacy", &everything_questions(), target)
    });
}

#[test]
fn the_typescript_client_of_the_modern_era_notices_neither_tap_nor_mock() {
    let questions = json!([
        ["listTools", {}],
        ["callTool", {"name": "echo", "arguments": {"message": "hi"}}],
        ["callTool", {"name": "no-such-tool", "arguments": {}}],
        ["listResources", {}],
        ["listPrompts", {}],
    ]);
    let ask = |target: &[String]| typescript(SECOND_SDK, "auto", &questions, target);
    same_three_times("tap-ts2", &builtin(), ask);
}

/// The Inspector without its window, which starts the server for each request.
#[test]
fn the_inspector_notices_neither_tap_nor_mock() {
    let questions = [
        &["tools/list"][..],
        &[
            "tools/call",
            "--tool-name",
            "get-sum",
            "--tool-arg",
            "a=2",
            "b=3",
        ],
    ];
    let inspector = "inspector/node_modules/@modelcontextprotocol/inspector-cli/build/index.js";
    same_three_times("tap-inspector", &everything(), |target| {
        let answers = questions.map(|question| {
            let mut command = Command::new("node");
            // Only the first word of the server stands before its own options.
            let (program, arguments) = target.split_first().unwrap();
            command.arg(installed(inspector)).arg(program);
            command.arg("--method").args(question);
            json_of(command.arg("--").args(arguments))
        });
        json!(answers)
    });
}

#[test]
fn the_python_client_notices_neither_tap_nor_mock_in_either_era() {
    let questions = json!([
        ["list_tools", {}],
        ["call_tool", {"name": "convert_time", "arguments": {"source_timezone": "Europe/Paris", "time": "12:30", "target_timezone": "Asia/Tokyo"}}],
        ["call_tool", {"name": "convert_time", "arguments": {"source_timezone": "nowhere"}}],
    ]);
    for mode in ["auto", "legacy"] {
        same_three_times(&format!("tap-python-{mode}"), &time(), |target| {
            python(mode, &questions, target)
        });
    }
    let questions = json!([
        ["list_tools", {}],
        ["call_tool", {"name": "echo", "arguments": {"message": "hi"}}],
        ["call_tool", {"name": "get-sum", "arguments": {"a": 2, "b": 3}}],
    ]);
    same_three_times("tap-python-everything", &everything(), |target| {
        python("auto", &questions, target)
    });
}

/// Two versions of a server, each recorded between it and the Python client. The call that became
/// slow is made three times, so that one slow moment of the machine does not hide it.
#[test]
fn recordings_of_two_versions_name_the_tool_the_schema_and_the_slower_call() {
    let home = Folder::new("tap-versions");
    let count = json!(["call_tool", {"name": "count", "arguments": {"words": "one two"}}]);
    let questions = json!([
        ["list_tools", {}],
        ["call_tool", {"name": "search", "arguments": {"query": "tea"}}],
        count, count, count,
    ]);
    for era in ["auto", "legacy"] {
        let record = |version: &str| {
            let file = format!("{era}-{version}.mcprec");
            let server = [
                installed("python-modern/bin/python").display().to_string(),
                concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/versions.py").to_owned(),
                version.to_owned(),
            ];
            python(era, &questions, &tapped(&home.path().join(&file), &server));
            file
        };
        let (first, second) = (record("1"), record("2"));
        let changed = home
            .run(&["diff", &first, &second, "--exit-code"])
            .expect(5)
            .stdout;
        for expected in [
            "changed: tool search\n",
            "/inputSchema/properties/limit + ",
            "removed: tool lend\n",
            "added: tool reserve\n",
            "slower: tools/call count {\"words\":\"one two\"}: ",
            "/serverInfo/version - \"1\" + \"2\"",
        ] {
            assert!(changed.contains(expected), "{era}: {expected} in {changed}");
        }
        // What is the same is not named.
        assert!(!changed.contains("changed: tool count"), "{era}: {changed}");
        assert!(!changed.contains("answered otherwise"), "{era}: {changed}");
    }
}

/// A command that listens, and says where on stderr.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    fn start(words: &[&str], home: &Folder) -> Self {
        use std::io::BufRead as _;
        let mut child = home
            .attache()
            .args(words)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            Some(line[line.find("http://")?..].to_owned())
        });
        // It must be able to go on saying things.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            url: url.unwrap(),
        }
    }

    /// A tap before a server, which records into `s.mcprec`.
    fn tap(target: &str, home: &Folder) -> Self {
        let words = ["tap", "--record", "s.mcprec", "--http", "127.0.0.1:0"];
        Self::start(&[&words[..], &["--target", target]].concat(), home)
    }

    /// Its address without the path.
    fn address(&self) -> String {
        let address = self.url.strip_prefix("http://").unwrap();
        address.split('/').next().unwrap().to_owned()
    }

    fn stop(mut self) -> Option<i32> {
        signal(&self.child, "TERM");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn clients_over_http_notice_neither_tap_nor_mock() {
    let server = Listening::everything(EverythingTransport::StreamableHttp).unwrap();
    let fastmcp = Listening::fastmcp().unwrap();
    let add =
        json!([["list_tools", {}], ["call_tool", {"name": "add", "arguments": {"a": 2, "b": 3}}]]);
    let legacy =
        |target: &[String]| typescript(FIRST_SDK, "legacy", &everything_questions(), target);
    let modern = |target: &[String]| python("auto", &add, target);
    let cases: [(&str, &Listening, ForeignClient<'_>); 2] =
        [("legacy", &server, &legacy), ("modern", &fastmcp, &modern)];
    for (name, server, ask) in cases {
        let home = Folder::new(&format!("tap-http-{name}"));
        let direct = ask(&[server.url().to_owned()]);
        let tap = Running::tap(server.url(), &home);
        assert_eq!(
            ask(std::slice::from_ref(&tap.url)),
            direct,
            "{name}: through the tap"
        );
        assert_eq!(tap.stop(), Some(0));
        let document = recording(&home);
        assert_eq!(document["whole"], true, "{document}");
        let eras: Vec<&str> = document["exchanges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["era"].as_str().unwrap())
            .collect();
        assert!(eras.contains(&name), "{document}");
        let mock = Running::start(&["mock", "s.mcprec", "--http", "127.0.0.1:0"], &home);
        assert_eq!(
            ask(std::slice::from_ref(&mock.url)),
            direct,
            "{name}: from the recording"
        );
        assert_eq!(mock.stop(), Some(0), "{name}: nothing was missed");
    }
}

#[test]
fn s1_a_page_cannot_reach_a_server_through_the_tap() {
    use std::net::TcpStream;
    let server = Listening::fastmcp().unwrap();
    let home = Folder::new("tap-s1");
    let tap = Running::tap(server.url(), &home);
    let address = tap.address();
    let status = |host: &str, origin: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let origin = match origin {
            "" => String::new(),
            origin => format!("Origin: {origin}\r\n"),
        };
        let request =
            format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("evil.example", ""), "403");
    assert_eq!(status(&address, "http://evil.example"), "403");
    // The server's own refusal comes through.
    assert_ne!(status(&address, ""), "403");
    let far = home
        .run(&["tap", "--http", "0.0.0.0:0", "--target", server.url()])
        .expect(2);
    assert!(
        far.stderr.contains("can be reached from other machines"),
        "{far:?}"
    );
}

/// A server that answers one request: it sends an event, and the next one only when it is told to.
fn slow_server() -> (
    String,
    std::thread::JoinHandle<String>,
    std::sync::mpsc::Sender<()>,
) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
    let (go_on, told) = std::sync::mpsc::channel();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"{}") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Own: kept\r\nConnection: close, x-hop\r\nX-Hop: gone\r\n\r\ndata: {\"n\":1}\n\n")
            .unwrap();
        told.recv().unwrap();
        stream.write_all(b"data: {\"n\":2}\n\n").unwrap();
        String::from_utf8(head).unwrap()
    });
    (url, served, go_on)
}

#[test]
fn events_pass_at_once_and_headers_end_to_end() {
    let (url, served, go_on) = slow_server();
    let home = Folder::new("tap-events");
    let tap = Running::tap(&url, &home);
    let address = tap.address();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let request = format!(
        "POST /mcp?a=b HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer s3cret-token\r\nX-Mine: yes\r\nX-Hop: no\r\nConnection: x-hop\r\nAccept-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let mut read_until = |wanted: &str| {
        while !answer.contains(wanted) {
            let mut bytes = [0; 512];
            let length = stream.read(&mut bytes).unwrap();
            assert!(length > 0, "{wanted} in {answer}");
            answer.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        }
        answer.to_lowercase()
    };
    // The second event is not even sent before the first one was read.
    let head = read_until("{\"n\":1}");
    assert!(
        head.contains("x-own: kept") && !head.contains("x-hop"),
        "{head}"
    );
    go_on.send(()).unwrap();
    read_until("{\"n\":2}");
    let asked = served.join().unwrap().to_lowercase();
    let own = url
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    for kept in [
        "post /mcp?a=b ",
        "x-mine: yes",
        "authorization: bearer s3cret-token",
        &format!("host: {own}"),
    ] {
        assert!(asked.contains(kept), "{kept} in {asked}");
    }
    assert!(
        !asked.contains("x-hop") && !asked.contains("gzip"),
        "{asked}"
    );
    drop(stream);
    assert_eq!(tap.stop(), Some(0));
    let text = std::fs::read_to_string(home.path().join("s.mcprec")).unwrap();
    assert!(
        text.contains("\"raw\":{\"n\":2}") && !text.contains("s3cret-token"),
        "{text}"
    );
}
