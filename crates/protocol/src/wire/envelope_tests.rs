use super::*;

/// What a line is, written short.
fn sorted(line: &[u8]) -> String {
    match parse_line(line) {
        Line::Stray(reason) => format!("stray: {reason}"),
        Line::Batch(items) => format!("batch of {}", items.len()),
        Line::Message(Message::Request { id, method, params }) => {
            format!(
                "request {id} {method} {}",
                params.map_or("-", RawValue::get)
            )
        }
        Line::Message(Message::Notification { method, params }) => {
            format!(
                "notification {method} {}",
                params.map_or("-", RawValue::get)
            )
        }
        Line::Message(Message::Response { id, outcome }) => {
            let id = id.map_or("-".to_owned(), |id| id.to_string());
            match outcome {
                Outcome::Result(text) => format!("result {id} {text}"),
                Outcome::Error(error) => format!("error {id} {error}"),
                Outcome::Malformed(reason) => format!("malformed {id}: {reason}"),
            }
        }
    }
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let actual = sorted(line.as_bytes());
    assert!(
        actual.starts_with(expected),
        "{line}\n  gave      {actual}\n  expected  {expected}"
    );
}

#[test]
fn messages_are_told_apart() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "request 1 ping -",
    );
    check(
        r#"{"method":"a\/b","params":{"x":1},"id":"s-1","jsonrpc":"2.0"}"#,
        r#"request "s-1" a/b {"x":1}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":null}"#,
        "notification notifications/x -",
    );
    check(
        r#"{"result":{"big":123456789012345678901},"jsonrpc":"2.0","id":7}"#,
        r#"result 7 {"big":123456789012345678901}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":7.0,"result":null}"#,
        "result 7 null",
    );
    check(
        r#"{"jsonrpc":"2.0","id":"7","error":{"code":-32601,"message":"no"}}"#,
        r#"error "7" no (code -32601)"#,
    );
    check(
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"},"id":null}"#,
        "error - bad",
    );
}

#[test]
fn fault_18_logs_and_banners_are_stray() {
    check("Server running on stdio", "stray:");
    check(
        r#"{"level":"info","id":3,"msg":"started"}"#,
        "stray: a JSON object",
    );
    check(
        r#"{"level":"info","message":"ready"}"#,
        "stray: a JSON object",
    );
    check(
        r#"{"level":"error","error":"connection refused"}"#,
        "stray: a JSON object",
    );
    check(r#"{"result":"ok","took":3}"#, "stray: a JSON object");
    check("42", "stray:");
    check("\"text\"", "stray:");
}

#[test]
fn fault_43_a_broken_answer_names_its_call() {
    for (line, reason) in [
        (
            r#"{"jsonrpc":"2.0","id":5}"#,
            "malformed 5: neither result nor error",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":"x"}}"#,
            "malformed 5: both result and error",
        ),
        (
            r#"{"id":5,"result":{}}"#,
            "malformed 5: \"jsonrpc\" is missing",
        ),
        (
            r#"{"jsonrpc":"1.0","id":5,"result":{}}"#,
            "malformed 5: \"jsonrpc\" is \"1.0\"",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"error":"boom"}"#,
            "malformed 5: the error is malformed",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":"x","message":"m"}}"#,
            "malformed 5: the error is malformed",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"result":[1]}"#,
            "malformed 5: the result is not an object",
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"result":"yes"}"#,
            "malformed 5: the result is not an object",
        ),
    ] {
        check(line, reason);
    }
}

#[test]
fn fault_43_unparsable_answers_still_end_their_call() {
    // The id stands before the defect, and behind it.
    check(
        r#"{"jsonrpc":"2.0","id":5,"result":{"a":1,}}"#,
        "malformed 5:",
    );
    check(
        r#"{"jsonrpc":"2.0","result":{"a":nope},"id":5}"#,
        "malformed 5:",
    );
    check(r#"{"jsonrpc":"2.0","id":5,"result":{"a":"#, "malformed 5:");
    // A broken line that does not look like JSON-RPC concerns nobody.
    check(r#"{"id":5,"result":"#, "stray:");
    check(r#"{"jsonrpc":"2.0","result":{"a":nope}}"#, "stray:");
}

#[test]
fn fault_19_invalid_utf8_ends_the_call_it_answers() {
    let line = b"{\"jsonrpc\":\"2.0\",\"result\":{\"t\":\"\xff\xfe\"},\"id\":9}";
    assert!(sorted(line).starts_with("malformed 9: not UTF-8"));
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"t\":\"\xff\xfe\"}}";
    assert!(sorted(line).starts_with("malformed 9: not UTF-8"));
    assert!(sorted(b"\xff\xfe log").starts_with("stray: not UTF-8"));
}

#[test]
fn fault_26_doubled_protocol_keys_are_refused_and_case_variants_ignored() {
    check(
        r#"{"jsonrpc":"2.0","id":5,"result":{},"result":{"evil":1}}"#,
        "malformed 5: the member \"result\" appears twice",
    );
    check(
        r#"{"jsonrpc":"2.0","id":5,"id":6,"result":{}}"#,
        "malformed 5: the member \"id\" appears twice",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"a","method":"b"}"#,
        "stray: the member \"method\" appears twice",
    );
    check(
        r#"{"jsonrpc":"2.0","id":5,"Result":{"evil":1},"result":{"good":1}}"#,
        r#"result 5 {"good":1}"#,
    );
}

#[test]
fn fault_26_depth_surrogates_and_nul_do_not_crash() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"d":{}{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(sorted(deep.as_bytes()).starts_with("result 1 "));
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"s":"\ud800","n":1e999999,"z":"\u0000"}}"#,
        "result 1 ",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"\ud800"}"#,
        "stray: the method",
    );
}

#[test]
fn batches_are_recognised() {
    check(r#"[{"jsonrpc":"2.0","id":1,"result":{}},1]"#, "batch of 2");
    check("[]", "stray: an empty batch");
    check("[1,", "stray: not JSON");
}

// X-BASE-02.
#[test]
fn ids_that_are_no_ids() {
    check(
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        "stray: a request whose id",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        "stray: a request whose id",
    );
    check(
        r#"{"jsonrpc":"2.0","id":{"a":1},"result":{}}"#,
        "result - {}",
    );
}

#[test]
fn the_short_way_for_answers_is_no_way_around_the_checks() {
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1]}}"#,
            r#"result 7 {"a":[1]}"#,
        ),
        (
            r#"{"result":{"a":[1]},"jsonrpc":"2.0","id":7}"#,
            r#"result 7 {"a":[1]}"#,
        ),
        (r#"{"jsonrpc":"2.0","id":007,"result":{}}"#, "stray"),
        (r#"{"jsonrpc":"2.0","id":,"result":{}}"#, "stray"),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":{},"result":{"evil":1}}"#,
            "malformed 7: the member \"result\" appears twice",
        ),
        (
            r#"{"result":{},"result":{"evil":1},"jsonrpc":"2.0","id":7}"#,
            "malformed 7: the member \"result\" appears twice",
        ),
        (
            r#"{"result":{},"jsonrpc":"2.0","id":6,"jsonrpc":"2.0","id":7}"#,
            "malformed 6: the member",
        ),
        (
            r#"{"result":{"a":1},"error":{},"jsonrpc":"2.0","id":7}"#,
            "malformed 7",
        ),
        (
            r#"{"result":{"t":",\"jsonrpc\":\"2.0\",\"id\":9}"},"jsonrpc":"2.0","id":7}"#,
            "result 7 ",
        ),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}}"#, "malformed 7"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}"#, "malformed 7"),
    ] {
        check(line, expected);
    }
}

#[test]
fn foreign_text_is_shortened_to_the_limit_exactly() {
    let text = "ä".repeat(200);
    assert_eq!(shortened(&text), text);
    assert_eq!(shortened(format_args!("{text}x")), format!("{text}…"));
    assert_eq!(
        shortened(format_args!("{}{text}", "y")).chars().count(),
        201
    );
}

#[test]
fn fault_43_reasons_do_not_quote_whole_frames() {
    let long = "x".repeat(10_000);
    for line in [
        format!("\"{long}\""),
        format!(r#"{{"jsonrpc":"2.0","id":5,"error":"{long}"}}"#),
        format!(r#"{{"jsonrpc":"{long}","id":5,"result":{{}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":5,"{long}":{{}}}}"#),
    ] {
        assert!(sorted(line.as_bytes()).len() < 1000);
    }
}
