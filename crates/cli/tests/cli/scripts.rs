//! What scripts use: batches, filters, bare results, loads.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Folder, Outcome, attache, everything, finish, run};

fn fed(command: &mut Command, input: &str) -> Outcome {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A command that ends early leaves the rest unread.
    let _ = writer.join().unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn batch(words: &[&str], input: &str) -> (i32, Vec<Value>) {
    let outcome = fed(attache().arg("batch").args(words), input);
    let lines = outcome.stdout.lines();
    let lines = lines.map(|line| serde_json::from_str(line).unwrap());
    (outcome.code, lines.collect())
}

#[test]
fn a_batch_answers_in_order_and_a_bad_line_spoils_itself_only() {
    let input = "{\"tool\":\"demo/count\",\"arguments\":{\"to\":3,\"delay_ms\":30}}\n\
                 \n\
                 no json\n\
                 {\"tool\":\"echo\",\"arguments\":{\"message\":\"hi\"}}\n\
                 {\"tool\":\"no-such-tool\"}\n\
                 {\"tool\":\"echo\",\"argumnets\":{}}\n\
                 {\"tool\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}";
    let (code, lines) = batch(&[], input);
    assert_eq!(code, 5);
    let places: Vec<_> = lines
        .iter()
        .map(|line| line["line"].as_u64().unwrap())
        .collect();
    assert_eq!(places, [1, 3, 4, 5, 6, 7], "{lines:?}");
    assert_eq!(lines[1]["error"]["kind"], "usage");
    assert_eq!(lines[2]["result"]["content"][0]["text"], "hi");
    assert_eq!(lines[2]["tool"], "echo");
    assert!(lines[3]["error"]["message"].is_string(), "{lines:?}");
    assert_eq!(lines[4]["error"]["kind"], "usage");
    assert_eq!(lines[5]["result"]["content"][0]["text"], "3");

    let (code, lines) = batch(&["--unordered"], input);
    assert_eq!(code, 5);
    assert_eq!(lines.len(), 6);
    assert_eq!(lines.last().unwrap()["line"], 1, "the slowest comes last");
    assert_eq!(batch(&[], "").0, 0);
}

// Another server is never asked for a tool by that whole name.
#[test]
fn a_built_in_server_that_is_left_out_is_named() {
    let (code, lines) = batch(&["--server", "lisp"], "{\"tool\":\"demo/echo\"}\n");
    assert_eq!(code, 5);
    let message = lines[0]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("demo is built in"), "{lines:?}");
}

#[test]
fn a_batch_of_thousands_needs_one_start_and_loses_nothing() {
    let count = 3000;
    let calls = (0..count).map(|number| {
        format!("{{\"tool\":\"echo\",\"arguments\":{{\"message\":\"number {number}\"}}}}\n")
    });
    let (code, lines) = batch(&["--concurrency", "64"], &calls.collect::<String>());
    assert_eq!(code, 0);
    assert_eq!(lines.len(), count);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(
            line["result"]["content"][0]["text"],
            format!("number {number}")
        );
    }
    let folder = Folder::new("batch-file");
    let file = folder.write(
        "calls",
        "{\"tool\":\"echo\",\"arguments\":{\"message\":\"x\"}}\n",
    );
    let outcome = finish(attache().arg("batch").arg(file)).expect(0);
    assert_eq!(outcome.document()["line"], 1);
    assert!(
        finish(attache().args(["batch", "/no/such"]))
            .expect(2)
            .stderr
            .contains("cannot read")
    );
}

#[test]
fn a_batch_answers_each_line_before_the_next_is_written() {
    use std::io::{BufRead as _, BufReader};
    let mut child = attache()
        .arg("batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for word in ["one", "two"] {
        writeln!(
            stdin,
            "{{\"tool\":\"echo\",\"arguments\":{{\"message\":\"{word}\"}}}}"
        )
        .unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains(word), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_filter_takes_a_part_of_the_result() {
    let call = ["call", "echo", "message=a \"b\""];
    let with = |words: &[&str]| run(&[&call[..], words].concat());
    assert_eq!(
        with(&["--jq", ".content[0].text"]).expect(0).stdout,
        "\"a \\\"b\\\"\"\n"
    );
    assert_eq!(
        with(&["--jq", ".content[].text", "--raw"]).expect(0).stdout,
        "a \"b\"\n"
    );
    assert_eq!(
        with(&["--jq", ".content | length, 1e400"]).expect(0).stdout,
        "1\n1e400\n"
    );
    assert_eq!(with(&["--raw"]).expect(0).stdout, "a \"b\"");
    let outcome = with(&["--jq", ".content["]).expect(2);
    assert!(outcome.stderr.contains("is no filter"), "{outcome:?}");
    let outcome = with(&["--jq", ".content + 1"]).expect(1);
    assert!(outcome.stderr.contains("the filter fails"), "{outcome:?}");
    with(&["--raw", "--json"]).expect(2);
    // A lone object is all arguments.
    let outcome = run(&["call", "add", "{\"a\": 1, \"b\": 2}"]).expect(0);
    assert_eq!(outcome.stdout, "3\n");
}

#[test]
fn bytes_come_out_as_they_are() {
    let mut command = attache();
    command.args(["call", "get-tiny-image", "--jq", ".content[1].data", "--"]);
    let outcome = finish(command.args(everything())).expect(0);
    assert!(outcome.stdout.starts_with("\"iVBOR"), "{outcome:?}");
}

#[test]
fn a_load_tells_how_long_calls_take() {
    let words = [
        "call",
        "echo",
        "message=hi",
        "--repeat",
        "50",
        "--concurrency",
        "4",
    ];
    let text = run(&words).expect(0).stdout;
    for part in [
        "demo/echo: 50 calls, 4 at a time",
        "50 result",
        "median",
        "99 %",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let document = run(&[&words[..], &["--json"]].concat())
        .expect(0)
        .document();
    assert_eq!(document["endings"]["result"], 50);
    let latency = &document["latencyMs"];
    assert!(
        latency["p50"].as_f64() <= latency["p99"].as_f64(),
        "{document}"
    );
    let failing = [
        "call",
        "add",
        "--no-list",
        "a:=\"x\"",
        "b=1",
        "--repeat",
        "3",
    ];
    assert!(
        run(&failing)
            .expect(5)
            .stderr
            .contains("3 of 3 calls failed")
    );
    run(&["call", "echo", "message=hi", "--concurrency", "4"]).expect(2);
}
