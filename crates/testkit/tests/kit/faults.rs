//! Scripted faults on the wire arrive as scripted.

use std::io::Read;
use std::time::Duration;

use attache_testkit::chaos::{Action, Cursors, Emit, Reply, ReplyId, Script, When, Writing};
use serde_json::{Value, json};

use crate::support::{PATIENCE, Peer, modern_meta};

fn legacy() -> Script {
    Script::legacy("2025-06-18")
}

/// What a server says in answer to one call, as lines, when the call of
/// `trouble` is scripted so. A further call marks the end.
fn said(script: Script, actions: impl IntoIterator<Item = Action>) -> Vec<Vec<u8>> {
    let mut peer = Peer::start(&script.on(When::tool("trouble"), actions));
    peer.call(7, "trouble", json!({"key": "k"}));
    peer.call("end", "echo", json!({"message": "end"}));
    let mut lines = Vec::new();
    loop {
        let line = peer.line().expect("the output ended");
        let is_end = serde_json::from_slice::<Value>(&line).is_ok_and(|end| end["id"] == "end");
        if is_end {
            return lines;
        }
        lines.push(line);
    }
}

fn check(actions: impl IntoIterator<Item = Action>, expected: &[&str]) {
    let lines = said(legacy(), actions);
    let lines: Vec<_> = lines
        .iter()
        .map(|line| String::from_utf8_lossy(line))
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn replies_take_every_shape() {
    let result = || Reply::result(json!({"ok": true}));
    check(
        [result().into()],
        &["{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true}}\n"],
    );
    check(
        [result().with_id(ReplyId::AsString).into()],
        &["{\"id\":\"7\",\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true}}\n"],
    );
    check(
        [result().with_id(ReplyId::Null).into()],
        &["{\"id\":null,\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true}}\n"],
    );
    check(
        [result().with_id(ReplyId::Fixed(json!(99))).into()],
        &["{\"id\":99,\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true}}\n"],
    );
    check(
        [result().with_id(ReplyId::Missing).into()],
        &["{\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true}}\n"],
    );
    let line = "{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true}}\n";
    check([result().twice().into()], &[line, line]);
    let error =
        "{\"error\":{\"code\":-1,\"data\":[1],\"message\":\"no\"},\"id\":7,\"jsonrpc\":\"2.0\"}\n";
    check([Reply::error_with(-1, "no", json!([1])).into()], &[error]);
    check([Action::never()], &[]);
}

#[test]
fn raw_lines_carry_the_id() {
    check(
        [Action::line(r#"{"id":"$id","result":{},"error":{}}"#)],
        &["{\"id\":7,\"result\":{},\"error\":{}}\n"],
    );
    check(
        [
            Action::line("starting up"),
            Action::line(""),
            Action::raw("\u{feff}"),
            Action::text("after"),
        ],
        &[
            "starting up\n",
            "\n",
            "\u{feff}{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"text\":\"after\",\"type\":\"text\"}]}}\n",
        ],
    );
    check(
        [Action::batch([
            json!({"jsonrpc": "2.0", "method": "n"}),
            json!({"jsonrpc": "2.0", "id": "$id", "result": {}}),
        ])],
        &[
            "[{\"jsonrpc\":\"2.0\",\"method\":\"n\"},{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{}}]\n",
        ],
    );
}

#[test]
fn bytes_that_are_not_text_leave_as_they_are() {
    let lines = said(
        legacy(),
        [Action::raw_bytes(*b"{\"id\":\"$id\",\"x\":\"\xff\xfe\"}\n")],
    );
    assert_eq!(lines, [b"{\"id\":7,\"x\":\"\xff\xfe\"}\n".to_vec()]);
}

#[test]
fn line_ends_and_chunks_are_set_for_the_server() {
    let lines = said(legacy().writing(Writing::crlf()), [Action::text("x")]);
    assert!(lines[0].ends_with(b"}\r\n"));
    let lines = said(legacy().writing(Writing::chunks(1)), [Action::text("☃")]);
    let message: Value = serde_json::from_slice(&lines[0]).unwrap();
    assert_eq!(message["result"]["content"][0]["text"], "☃");
}

#[test]
fn frames_have_the_exact_size() {
    for bytes in [200, 5_000_000] {
        let lines = said(legacy(), [Reply::frame_of(bytes).into()]);
        assert_eq!(lines[0].len(), bytes + 1);
        let message: Value = serde_json::from_slice(&lines[0]).unwrap();
        assert_eq!(message["id"], 7);
    }
}

#[test]
fn floods_are_complete_numbered_and_before_the_answer() {
    let flood = Action::flood(10_000, "notifications/x", json!({"n": "$n"}));
    let script = legacy().on(When::tool("trouble"), [flood, Action::text("done")]);
    let mut peer = Peer::start(&script);
    peer.call(7, "trouble", json!({}));
    for number in 0..10_000 {
        assert_eq!(peer.message()["params"], json!({"n": number}));
    }
    assert_eq!(peer.message()["id"], 7);
}

#[test]
fn repeated_bytes_add_up() {
    let actions = [
        Emit::text("ab").times(100_000).into(),
        Action::line(""),
        Action::text("done"),
    ];
    let mut peer = Peer::start(&legacy().on(When::tool("trouble"), actions));
    peer.call(1, "trouble", json!({}));
    let line = peer.line().unwrap();
    assert_eq!(line.len(), 200_001);
    assert!(line.starts_with(b"abab") && line.ends_with(b"ab\n"));
    assert_eq!(peer.message()["id"], 1);
}

#[test]
fn an_endless_line_does_not_stop_the_server_from_listening() {
    let script = legacy().on(When::tool("trouble"), [Action::endless_line()]);
    let launch = script.launch().unwrap();
    let mut server = launch
        .command()
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let call = json!({"id": 1, "method": "tools/call", "params": {"name": "trouble"}});
    std::io::Write::write_all(&mut stdin, format!("{call}\n").as_bytes()).unwrap();
    let mut megabytes = vec![0; 4 << 20];
    let mut stdout = server.stdout.take().unwrap();
    stdout.read_exact(&mut megabytes).unwrap();
    assert!(megabytes.iter().all(|byte| *byte == b'x'));
    std::io::Write::write_all(&mut stdin, b"{\"method\":\"heard\"}\n").unwrap();
    launch.wait_received_of("heard", 1, PATIENCE).unwrap();
    drop(stdin);
    assert!(server.wait().unwrap().success());
}

#[test]
fn progress_comes_before_the_answer_and_only_with_a_token() {
    let script = legacy().on(
        When::tool("trouble"),
        [Action::progress([0.5, 1.0]), Action::text("done")],
    );
    let mut peer = Peer::start(&script);
    let params = json!({"name": "trouble", "_meta": {"progressToken": 3}});
    peer.request(1, "tools/call", params);
    for value in [0.5, 1.0] {
        let expected = json!({"progressToken": 3, "progress": value});
        assert_eq!(peer.message()["params"], expected);
    }
    assert_eq!(peer.message()["id"], 1);
    peer.call(2, "trouble", json!({}));
    assert_eq!(peer.message()["id"], 2);
}

#[test]
fn deep_results_are_deep() {
    let lines = said(legacy(), [Action::deep_result(100_000)]);
    let depth = lines[0].iter().filter(|byte| **byte == b'[').count();
    assert_eq!(depth, 100_000 + 1);
    assert!(lines[0].starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":7,"));
}

#[test]
fn rules_count_their_matches() {
    let script = legacy()
        .on(When::tool("echo").nth(2), [Action::error(-5, "second")])
        .on(When::tool("echo").from_nth(4), [Action::error(-6, "late")]);
    let mut peer = Peer::start(&script);
    let mut codes = Vec::new();
    for id in 1..=5 {
        peer.call(id, "echo", json!({"message": "m"}));
        codes.push(peer.message()["error"]["code"].take());
    }
    assert_eq!(json!(codes), json!([null, -5, null, -6, -6]));
}

#[test]
fn an_answer_can_wait_for_the_cancel_or_for_a_gate() {
    let script = legacy()
        .on(
            When::tool("late"),
            [Action::wait_cancelled(), Action::text("late")],
        )
        .on(
            When::tool("gated"),
            [Action::wait_gate("go"), Action::text("gated")],
        );
    let mut peer = Peer::start(&script);
    peer.call(1, "late", json!({}));
    peer.call(2, "gated", json!({}));
    peer.call(3, "echo", json!({"message": "m"}));
    assert_eq!(peer.message()["id"], 3);
    peer.cancel(1);
    assert_eq!(peer.message()["id"], 1);
    assert!(peer.is_silent());
    peer.launch.open_gate("go").unwrap();
    assert_eq!(peer.message()["id"], 2);
}

#[test]
fn the_client_can_be_asked() {
    let script = legacy().on(
        When::tool("curious"),
        [
            Action::ask("roots/list", Value::Null),
            Reply::client_answer().into(),
        ],
    );
    let mut peer = Peer::start(&script);
    peer.call(1, "curious", json!({}));
    let asked = peer.message();
    assert_eq!(
        asked,
        json!({"jsonrpc": "2.0", "id": "chaos-1", "method": "roots/list"})
    );
    let refusal = json!({"code": -32601, "message": "no"});
    peer.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": refusal}));
    let answer = peer.message();
    assert_eq!(
        answer["result"]["structuredContent"]["answer"]["error"],
        refusal
    );
}

#[test]
fn pages_end_repeat_or_use_an_empty_cursor() {
    let check = |cursors, asked: &[Option<&str>], expected: Value| {
        let script = legacy().on("tools/list", [Reply::pages(3, 2, cursors).into()]);
        let mut peer = Peer::start(&script);
        let mut next = Vec::new();
        for cursor in asked {
            let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
            peer.request(1, "tools/list", params);
            let page = peer.message();
            assert_eq!(page["result"]["tools"].as_array().map(Vec::len), Some(2));
            next.push(page["result"]["nextCursor"].clone());
        }
        assert_eq!(json!(next), expected);
    };
    let second = Some("page-2");
    let third = Some("page-3");
    check(
        Cursors::Distinct,
        &[None, second, third],
        json!(["page-2", "page-3", null]),
    );
    check(
        Cursors::EmptyString,
        &[None, Some(""), third],
        json!(["", "page-3", null]),
    );
    check(
        Cursors::Repeating,
        &[None, Some("again")],
        json!(["again", "again"]),
    );
}

#[test]
fn input_rounds_need_the_state_verbatim() {
    let requests = json!({"q": {"method": "roots/list"}});
    let reply = Reply::input_required(requests.clone(), "sealed \"state\"", 2);
    let mut peer = Peer::start(&Script::modern().on(When::tool("ask"), [reply.into()]));
    let mut params = json!({"name": "ask", "_meta": modern_meta()});
    for round in 1..=2 {
        peer.request(round, "tools/call", params.clone());
        let result = peer.message()["result"].take();
        assert_eq!(result["resultType"], "input_required");
        assert_eq!(result["inputRequests"], requests);
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({"q": {"roots": [round]}});
    }
    peer.request(3, "tools/call", params.clone());
    let result = peer.message()["result"].take();
    assert_eq!(
        result["structuredContent"],
        json!({"inputResponses": {"q": {"roots": [2]}}, "rounds": 2})
    );
    params["requestState"] = json!("sealed state#1");
    peer.request(4, "tools/call", params);
    assert_eq!(peer.message()["error"]["code"], -32602);
}

#[test]
fn standard_error_takes_floods_too() {
    let script = legacy().on(
        When::start(),
        [
            Action::stderr_line("hello"),
            Emit::bytes(*b"\xff\x1b[31m").times(1000).on_stderr().into(),
        ],
    );
    let mut peer = Peer::start(&script);
    peer.initialize();
    peer.close_stdin();
    peer.wait();
    let said = peer.read_stderr();
    assert!(said.starts_with(b"hello\n\xff\x1b[31m\xff"));
    assert_eq!(said.len(), 6 + 6000);
}

#[test]
fn a_large_script_arrives_whole() {
    let text = "x".repeat(300_000);
    let lines = said(legacy(), [Action::text(text.clone())]);
    let message: Value = serde_json::from_slice(&lines[0]).unwrap();
    assert_eq!(message["result"]["content"][0]["text"], text);
}

#[test]
fn nothing_is_read_before_a_slow_start_is_over() {
    let start = [Action::wait_gate("up"), Action::line("banner")];
    let mut peer = Peer::start(&legacy().on(When::start(), start));
    peer.request(1, "ping", json!({}));
    let tag = peer.launch.tag().clone();
    tag.wait(PATIENCE, |found| found.len() == 1).unwrap();
    assert!(peer.launch.received().unwrap().is_empty());
    peer.launch.open_gate("up").unwrap();
    assert_eq!(peer.line().unwrap(), b"banner\n");
    assert_eq!(peer.message()["id"], 1);
}

#[test]
fn an_endless_flood_from_the_start_lets_the_server_serve() {
    let tick = Emit::message(&json!({"method": "tick"}))
        .forever()
        .every(Duration::from_millis(1));
    let mut peer = Peer::start(&legacy().on(When::start(), [tick.into()]));
    peer.request(1, "ping", json!({}));
    let mut ticks = 0;
    while peer.message()["id"] != 1 {
        ticks += 1;
    }
    assert_eq!(peer.message()["method"], "tick", "after {ticks} ticks");
}

#[test]
fn as_many_floods_as_are_allowed_leave_the_server_able_to_answer() {
    let quiet = Emit::text("").forever().every(Duration::from_millis(20));
    let script = legacy().on(When::tool("flood"), [quiet.into()]);
    let mut peer = Peer::start(&script);
    for id in 0..64 {
        peer.call(id, "flood", json!({}));
    }
    peer.request("end", "ping", json!({}));
    assert_eq!(peer.message()["id"], "end");
    let usage = attache_testkit::processes::usage(peer.pid()).unwrap();
    assert_eq!(usage.threads, 2 + 64);
    // One more occupies the thread that reads.
    peer.call(64, "flood", json!({}));
    peer.launch
        .wait_received_of("tools/call", 65, PATIENCE)
        .unwrap();
    let usage = attache_testkit::processes::usage(peer.pid()).unwrap();
    assert_eq!(usage.threads, 2 + 64);
}

#[test]
fn a_flood_after_a_wait_does_not_stop_the_clock() {
    let script = legacy()
        .on(
            When::tool("flood"),
            [
                Action::wait_ms(1),
                Emit::text("")
                    .forever()
                    .every(Duration::from_millis(1))
                    .into(),
            ],
        )
        .on(
            When::tool("twice"),
            [
                Emit::line("a").times(2).into(),
                Action::wait_ms(30),
                Emit::line("b").times(2).into(),
                Action::text("done"),
            ],
        );
    let mut peer = Peer::start(&script);
    peer.call(1, "flood", json!({}));
    peer.call(2, "twice", json!({}));
    for expected in ["a\n", "a\n", "b\n", "b\n"] {
        assert_eq!(peer.line().unwrap(), expected.as_bytes());
    }
    assert_eq!(peer.message()["id"], 2);
}
