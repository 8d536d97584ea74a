//! `attache serve lisp` at the level of bytes: what goes in line by line, what comes out line by
//! line, and nothing else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::harness::{Folder, attache, run_on};

/// The server as a child, spoken to in bytes.
struct Served {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Served {
    fn start() -> Self {
        let mut child = attache()
            .args(["serve", "lisp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// The next line, which must be one message.
    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "a whole line: {line:?}");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(format!("{message}\n").as_bytes());
        self.line()
    }

    fn handshake(&mut self) -> Value {
        let answer = self.ask(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        }));
        self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        answer
    }

    fn evaluate(&mut self, id: u64, arguments: &Value) -> Value {
        self.ask(&call(id, arguments))["result"].take()
    }

    /// Ends the input; answers the exit code and how many lines were left.
    fn end(mut self) -> (Option<i32>, usize) {
        drop(self.stdin.take());
        // Progress of nothing, logs of nobody: no line is left.
        let left = self.stdout.lines().count();
        (self.child.wait().unwrap().code(), left)
    }
}

fn call(id: u64, arguments: &Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "evaluate-lisp", "arguments": arguments},
    })
}

/// Seed 002: malformed requests one by one, then a good handshake on the same stream.
/// A session that had to make room says so when it is asked for again.
#[test]
fn a_session_that_made_room_says_so() {
    let folder = Folder::new("lisp-evicted");
    let line = |session: usize| {
        let arguments = json!({"code": "(define x 1)", "session": format!("s{session}")});
        json!({"tool": "evaluate-lisp", "arguments": arguments}).to_string()
    };
    let lines: Vec<String> = (0..17).chain([0]).map(line).collect();
    folder.write("calls.jsonl", &lines.join("\n"));
    let words = [
        "batch",
        "calls.jsonl",
        "--concurrency",
        "1",
        "--server",
        "lisp",
    ];
    let outcome = folder.run(&words).expect(5);
    let last = outcome.stdout.lines().last().unwrap();
    assert!(last.contains("made room for newer ones"), "{last}");
    assert_eq!(
        outcome.stdout.matches("isError\":true").count(),
        1,
        "{outcome:?}"
    );
}

#[test]
fn seed_002_broken_lines_get_their_errors_and_the_handshake_still_works() {
    let mut served = Served::start();
    for (line, code, id) in [
        ("{this is not json}", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("17", -32600, Value::Null),
        ("{\"id\":2,\"method\":\"ping\"}", -32600, json!(2)),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"no/such\"}",
            -32601,
            json!(3),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\"}",
            -32600,
            json!(4),
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"1\"}}}",
            -32600,
            json!(5),
        ),
    ] {
        served.send(line.as_bytes());
        served.send(b"\n");
        let answer = served.line();
        assert_eq!(answer["jsonrpc"], "2.0", "{line}: {answer}");
        assert_eq!(answer["id"], id, "{line}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{line}: {answer}");
    }
    let pong = served.ask(&json!({"jsonrpc": "2.0", "id": 6, "method": "ping"}));
    assert_eq!(pong, json!({"jsonrpc": "2.0", "id": 6, "result": {}}));

    let answer = served.handshake();
    assert_eq!(answer["id"], 0);
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["capabilities"], json!({"tools": {}}));
    assert_eq!(result["serverInfo"]["name"], "attache-lisp");

    let unknown = served.ask(&json!({"jsonrpc": "2.0", "id": 7, "method": "no/such"}));
    assert_eq!(
        (&unknown["id"], &unknown["error"]["code"]),
        (&json!(7), &json!(-32601))
    );
    let tools = served.ask(&json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"}));
    assert_eq!(tools["id"], "list");
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(tools["result"]["tools"][0]["name"], "evaluate-lisp");
    let missing = served.ask(&json!({
        "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "nothing"},
    }));
    assert_eq!(missing["error"]["code"], -32602);
    let value = served.evaluate(9, &json!({"code": "(/ 1 3)"}));
    assert_eq!(value["content"], json!([{"type": "text", "text": "1/3"}]));
    assert_eq!(
        served.end(),
        (Some(0), 0),
        "it ends with its input and says nothing more"
    );
}

/// The same at once, from a file into a file, as a shell would redirect it.
#[test]
fn seed_002_what_is_piped_in_at_once_comes_out_line_by_line() {
    let folder = crate::harness::Folder::new("piped-lisp");
    let sent = [
        "{this is not json}".to_owned(),
        json!({"jsonrpc": "2.0", "id": 1, "method": "no/such"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "printf", "version": "1"},
        }})
        .to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}).to_string(),
        call(5, &json!({"code": "(expt 2 200)"})).to_string(),
    ];
    let input = folder.write("input", &(sent.join("\n") + "\n"));
    let output = folder.path().join("output");
    let status = attache()
        .args(["serve", "lisp"])
        .stdin(std::fs::File::open(input).unwrap())
        .stdout(std::fs::File::create(&output).unwrap())
        .stderr(Stdio::inherit())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    let bytes = std::fs::read(output).unwrap();
    assert_eq!(bytes.last(), Some(&b'\n'), "the last line is a whole one");
    let lines: Vec<Value> = String::from_utf8(bytes)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seen: Vec<(&Value, &Value)> = lines
        .iter()
        .map(|line| (&line["id"], &line["error"]["code"]))
        .collect();
    assert_eq!(
        seen,
        [
            (&Value::Null, &json!(-32700)),
            (&json!(1), &json!(-32601)),
            (&json!(2), &json!(-32600)),
            (&json!(3), &Value::Null),
            (&json!(4), &Value::Null),
            (&json!(5), &Value::Null),
        ]
    );
    assert_eq!(lines[3]["result"]["protocolVersion"], "2025-06-18");
    let value = "1606938044258990275541962092341162602522202993782792835301376";
    assert_eq!(lines[5]["result"]["content"][0]["text"], value);
}

#[test]
fn answers_have_text_and_structure() {
    let mut served = Served::start();
    served.handshake();
    let answer = served.evaluate(1, &json!({"code": "(display \"hi\") (expt 2 200)"}));
    let value = "1606938044258990275541962092341162602522202993782792835301376";
    assert_eq!(answer["content"][0]["text"], format!("hi\n{value}"));
    assert_eq!(answer["structuredContent"]["value"], value);
    assert_eq!(answer["structuredContent"]["output"], "hi");
    assert!(answer["structuredContent"]["steps"].as_u64().unwrap() > 0);
    assert_ne!(answer["isError"], true);

    let answer = served.evaluate(2, &json!({"code": "(+ 1\n  (car 5))"}));
    assert_eq!(answer["isError"], true);
    assert_eq!(
        answer["structuredContent"],
        json!({
            "output": "",
            "error": {
                "kind": "type",
                "message": "car: expected a pair, got 5",
                "position": {"line": 2, "column": 3},
            },
        })
    );
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "type error at 2:3: car: expected a pair, got 5");

    for (id, code, value, state) in [
        (3, "(define x 1)", "", "new"),
        (4, "(+ x 1)", "2", "continued"),
    ] {
        let answer = served.evaluate(id, &json!({"code": code, "session": "s"}));
        let structured = &answer["structuredContent"];
        assert_eq!(structured["value"], value);
        assert_eq!(structured["session"], json!({"name": "s", "state": state}));
    }
    // An endless loop ends at its limit, and the next call works.
    let answer = served.evaluate(5, &json!({"code": "(let loop () (loop))"}));
    assert_eq!(answer["structuredContent"]["error"]["kind"], "steps");
    let answer = served.evaluate(
        6,
        &json!({"code": "(let loop () (loop))", "limits": {"steps": 5}}),
    );
    assert_eq!(
        answer["structuredContent"]["error"]["message"],
        "more than 5 steps"
    );
    let answer = served.evaluate(
        7,
        &json!({"code": "(let loop ((i 0)) (if (< i 1000000) (loop (+ i 1)) i))"}),
    );
    assert_eq!(answer["content"][0]["text"], "1000000");
    assert_eq!(served.end(), (Some(0), 0));
}

#[test]
fn bad_arguments_are_refused_before_anything_runs() {
    let mut served = Served::start();
    served.handshake();
    for (id, arguments) in [
        (1, json!({})),
        (2, json!({"code": 5})),
        (3, json!({"code": "1", "session": ""})),
        (4, json!({"code": "1", "limits": {"steps": 10_000_001}})),
        (5, json!({"code": "1", "limits": {"stepz": 1}})),
        (6, json!({"code": "1", "sesion": "s"})),
    ] {
        // The model that asked can do better, so it is told as a result (S-TOOL-08).
        let answer = served.evaluate(id, &arguments);
        assert_eq!(answer["isError"], true, "{arguments}: {answer}");
    }
    assert_eq!(served.end(), (Some(0), 0));
}

/// INV-001, fault 68: what was accepted when the input ended is finished and answered. On two cores
/// two run at once, so most of them still wait then.
#[test]
fn fault_68_sixteen_slow_requests_piped_in_get_sixteen_answers() {
    let mut served = Served::start();
    served.handshake();
    let slow = json!({
        // Ten million steps of long multiplication take seconds.
        "code": "(let loop ((n 1)) (loop (* 1 (modulo (* n 12345678901234567890) 98765432109876543210))))",
        "limits": {"wallMs": 1_000},
    });
    for id in 1..=16 {
        served.send(format!("{}\n", call(id, &slow)).as_bytes());
    }
    drop(served.stdin.take());
    let mut answered = Vec::new();
    for line in (&mut served.stdout).lines() {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let kind = &answer["result"]["structuredContent"]["error"]["kind"];
        assert!(kind == "time" || kind == "steps", "{answer}");
        answered.push(answer["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=16).collect::<Vec<_>>());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

/// A long run tells its progress; cancelled, it is never answered, and the next call works.
#[test]
fn progress_is_told_and_cancellation_stops_the_worker() {
    let mut served = Served::start();
    served.handshake();
    let mut long = call(
        1,
        &json!({
            // Ten million steps of long multiplication take seconds.
            "code": "(let loop ((n 1)) (loop (* 1 (modulo (* n 12345678901234567890) 98765432109876543210))))",
            "session": "s",
        }),
    );
    long["params"]["_meta"] = json!({"progressToken": "p"});
    served.send(format!("{long}\n").as_bytes());
    let mut last = 0.0;
    for _ in 0..2 {
        let progress = served.line();
        assert_eq!(progress["method"], "notifications/progress");
        assert_eq!(progress["params"]["progressToken"], "p");
        assert_eq!(progress["params"]["total"], 10_000_000.0);
        let steps = progress["params"]["progress"].as_f64().unwrap();
        assert!(steps > last, "{steps} after {last}");
        last = steps;
    }
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1},
    });
    served.send(format!("{cancel}\n").as_bytes());
    served.send(format!("{}\n", call(2, &json!({"code": "'next", "session": "s"}))).as_bytes());
    // Progress that was on its way may still come; the next answer is that of the next call.
    let answer = loop {
        let line = served.line();
        if line.get("method").is_none() {
            break line;
        }
    };
    assert_eq!(answer["id"], 2);
    assert_eq!(answer["result"]["content"][0]["text"], "next");
    assert_eq!(served.end(), (Some(0), 0));
}

/// The product's own client finds the tool and calls it.
#[test]
fn the_command_line_calls_it() {
    let server = [env!("CARGO_BIN_EXE_attache"), "serve", "lisp"].map(str::to_owned);
    let outcome = run_on(&server, &["call", "evaluate-lisp", "code=(/ 1 3)"]).expect(0);
    assert!(outcome.stdout.contains("1/3"), "{outcome:?}");
    let outcome = run_on(&server, &["call", "evaluate-lisp", "code=(car 1)"]);
    assert_eq!(outcome.code, 5, "{outcome:?}");
    for era in ["modern", "legacy"] {
        let words = [
            "call",
            "--json",
            "--era",
            era,
            "evaluate-lisp",
            "code=(* 6 7)",
        ];
        let document = run_on(&server, &words).expect(0).document();
        assert_eq!(document["structuredContent"]["value"], "42");
    }
}

/// Over HTTP at a loopback address: a modern request is answered, a signal ends it.
/// S-SHL-04.
#[cfg(unix)]
#[test]
fn it_serves_http_on_loopback_only() {
    use std::io::Read as _;
    use std::net::TcpStream;

    let refused = crate::harness::run(&["serve", "lisp", "--http", "0.0.0.0:0"]).expect(2);
    assert!(refused.stderr.contains("loopback"), "{refused:?}");

    let mut child = attache()
        .args(["serve", "lisp", "--http", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    let (_, url) = line.trim().split_once("http://").unwrap();
    let (address, path) = url.split_once('/').unwrap();
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": "evaluate-lisp", "arguments": {"code": "(* 6 7)"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    })
    .to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: evaluate-lisp\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"value\":\"42\""), "{answer}");

    crate::signals::signal(&child, "INT");
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "a signal is how it is ended");
    let mut printed = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut printed)
        .unwrap();
    assert_eq!(printed, "", "stdout stays empty");
}
