//! The scenarios of seed 002 as bytes on a real pipe.

use crate::support::Process;

/// Sends a line and expects exactly one line back.
#[track_caller]
fn check(server: &mut Process, sent: &str, expected: &str) {
    server.send(sent);
    assert_eq!(server.line(), format!("{expected}\n"), "{sent}");
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"claude","version":"1"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"calculator","version":"1.0.0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

// S-INIT-04, X-STDIO-01.
#[test]
fn the_full_handshake_then_tools() {
    let mut server = Process::start("calculator");
    check(&mut server, INITIALIZE, OPENED);
    server.send(INITIALIZED);
    server.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let list = server.line();
    assert!(
        list.starts_with(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"divide","#),
        "{list}"
    );
    assert_eq!(list.matches('\n').count(), 1);
    check(
        &mut server,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"divide","arguments":{"dividend":1,"divisor":8}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"0.125"}]}}"#,
    );
    check(
        &mut server,
        r#"{"jsonrpc":"2.0","id":"four","method":"tools/call","params":{"name":"divide","arguments":{"dividend":1,"divisor":0}}}"#,
        r#"{"jsonrpc":"2.0","id":"four","result":{"content":[{"type":"text","text":"nothing can be divided by zero"}],"isError":true}}"#,
    );
    assert_eq!(server.finish(), (vec![], Some(0)));
}

// X-BASE-01, X-BASE-05, S-TOOL-07, X-BATCH-05.
#[test]
fn malformed_requests_one_by_one() {
    let mut server = Process::start("calculator");
    for (sent, expected) in [
        ("{", r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#),
        (
            "not json",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#,
        ),
        (
            "{}",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#,
        ),
        (
            "[]",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"#,
        ),
        (
            r#"{"id":"8","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":"8","error":{"code":-32600,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":10,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":10,"error":{"code":-32600,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":11,"method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":11,"error":{"code":-32602,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":12,"method":"initialize","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":12,"error":{"code":-32602,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":13,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":13,"result":{}}"#,
        ),
    ] {
        server.send(sent);
        let line = server.line();
        assert!(line.starts_with(expected), "{sent}\n{line}");
    }
    // After all that a good handshake works.
    check(&mut server, INITIALIZE, OPENED);
    for (sent, code) in [
        (r#"{"jsonrpc":"2.0","id":20,"method":"tools/call"}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":7}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"nobody"}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"divide","arguments":[1,2]}}"#,
            -32602,
        ),
        // In 2025-03-26 bad values are an error of the protocol (S-TOOL-09).
        (
            r#"{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"divide","arguments":{"dividend":"x","divisor":1}}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":25,"method":"tools/list","params":{"cursor":"nowhere"}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":26,"method":"resources/list"}"#,
            -32601,
        ),
    ] {
        server.send(sent);
        let line = server.line();
        assert!(
            line.contains(&format!(r#""error":{{"code":{code},"#)),
            "{sent}\n{line}"
        );
    }
    check(
        &mut server,
        r#"{"jsonrpc":"2.0","id":30,"method":"tools/call","params":{"name":"divide","arguments":{"dividend":3,"divisor":2}}}"#,
        r#"{"jsonrpc":"2.0","id":30,"result":{"content":[{"type":"text","text":"1.5"}]}}"#,
    );
    assert_eq!(server.finish(), (vec![], Some(0)));
}

#[test]
fn what_is_piped_in_at_once_is_answered_in_order() {
    let mut server = Process::start("calculator");
    for line in [
        "{broken",
        r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#,
        INITIALIZE,
        INITIALIZED,
    ] {
        server.send(line);
    }
    let last = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"divide","arguments":{"dividend":1,"divisor":2}}}"#;
    server.send(last);
    let (lines, code) = server.finish();
    assert_eq!(code, Some(0));
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].contains("-32700") && lines[1].contains("-32601"));
    assert_eq!(lines[2], format!("{OPENED}\n"));
    assert!(lines[3].contains(r#""text":"0.5""#));
}

#[test]
fn fault_20_and_21_odd_bytes_are_tolerated() {
    let mut server = Process::start("calculator");
    server.send("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r");
    assert_eq!(
        server.line(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
    );
    server.send("");
    server.send("   ");
    server.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":null}"#);
    assert_eq!(
        server.line(),
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"
    );
}

#[test]
fn shutdown_and_exit_end_a_legacy_session() {
    let mut server = Process::start("calculator");
    check(&mut server, INITIALIZE, OPENED);
    check(
        &mut server,
        r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
    );
    server.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    // It leaves while stdin is still open.
    assert_eq!(server.line(), "");
    assert_eq!(server.finish(), (vec![], Some(0)));
}
