//! What modern requests say twice, and what becomes of tools that ask for the impossible.

use attache_testkit::http::{Answer, HttpScript, On};
use serde_json::json;

use crate::{balanced, connected, fails_at_once};

fn tools(header: &str) -> Answer {
    Answer::json(&json!({"jsonrpc": "2.0", "id": "$id", "result": {
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "tools": [
            {"name": "run", "inputSchema": {"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": header},
            }}},
            {"name": "bad", "inputSchema": {"type": "object", "properties": {
                "score": {"type": "number", "x-mcp-header": "Score"},
            }}},
        ],
    }}))
}

#[tokio::test]
async fn a_tool_with_an_invalid_annotation_is_left_out_and_reported() {
    let (_web, client) =
        connected(HttpScript::modern().on(On::rpc("tools/list"), tools("R"))).await;
    let listed = client.list_tools().await.unwrap();
    let names: Vec<_> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["run"], "C-SHM-14");
    let [rejected] = listed.rejected.as_slice() else {
        panic!("{:?}", listed.rejected);
    };
    assert!(rejected.reason.contains("\"bad\"") && rejected.reason.contains("Score"));

    let legacy = HttpScript::legacy("2025-11-25").on(On::rpc("tools/list"), tools("R"));
    let (_web, client) = connected(legacy).await;
    assert_eq!(
        client.list_tools().await.unwrap().len(),
        2,
        "legacy servers mean nothing by it"
    );
}

#[tokio::test]
async fn arguments_are_mirrored_once_the_tools_are_known() {
    let script = HttpScript::modern().on(On::rpc("tools/list"), tools("Region"));
    let (web, client) = connected(script).await;
    let call = || client.call("run", json!({"region": "Zürich"}));
    call().await.unwrap();
    client.list_tools().await.unwrap();
    call().await.unwrap();
    let calls = web.requests_of("tools/call");
    assert_eq!(calls[0].header("mcp-param-region"), None, "C-SHM-21");
    assert_eq!(
        calls[1].header("mcp-param-region"),
        Some("=?base64?WsO8cmljaA==?="),
        "C-SHM-07"
    );
    for request in &web.requests() {
        assert_eq!(
            request.header("mcp-protocol-version"),
            Some("2026-07-28"),
            "C-SHM-04"
        );
        assert_eq!(
            request.header("mcp-method"),
            Some(request.method().as_str()),
            "C-SHM-05"
        );
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(request.verb, "POST", "S-SHM-30");
        let accepted = request.header("accept").unwrap();
        assert!(accepted.contains("application/json"), "C-SHM-02");
        assert!(accepted.contains("text/event-stream"), "C-SHM-02");
        assert!(request.message()["method"].is_string(), "C-SHM-02");
    }
    assert_eq!(calls[1].header("mcp-name"), Some("run"), "C-SHM-06");
}

#[tokio::test]
async fn a_call_with_outdated_headers_is_repeated_with_new_ones() {
    let mismatch = || {
        Answer::json(&json!({"jsonrpc": "2.0", "id": "$id", "error": {
            "code": -32020, "message": "headers do not match",
        }}))
        .with_status(400)
    };
    let script = HttpScript::modern()
        .on(On::rpc("tools/list"), tools("New"))
        .on(On::rpc("tools/list").nth(1), tools("Old"))
        .on(On::tool("run").nth(1), mismatch());
    let (web, client) = connected(script).await;
    client.list_tools().await.unwrap();
    client.call("run", json!({"region": "eu"})).await.unwrap();
    let calls = web.requests_of("tools/call");
    assert_eq!(calls[0].header("mcp-param-old"), Some("eu"));
    assert_eq!(calls[1].header("mcp-param-new"), Some("eu"), "C-SHM-20");
    assert_ne!(calls[0].message()["id"], calls[1].message()["id"]);

    let script = HttpScript::modern().on(On::tool("run"), mismatch());
    let (web, client) = connected(script).await;
    fails_at_once(client.call("run", json!({}))).await;
    assert_eq!(web.count_of("tools/call"), 2, "once and not again");
    assert!(balanced(&client));
}
