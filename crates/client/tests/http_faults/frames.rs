//! An observer sees every message of the oldest transport too, and each HTTP exchange whole.

use attache_client::HttpFlavor;
use attache_client::frames::FrameKind;
use attache_testkit::http::{Answer, HttpScript, On};
use serde_json::{Value, json};

use super::server;

#[tokio::test]
async fn http_with_sse_is_seen_from_its_first_request() {
    let agreed = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "serverInfo": {"name": "older", "version": "1"},
    }});
    let stream = Answer::events()
        .raw("event: endpoint\ndata: /messages\n\n")
        .until("initialize")
        .message(&agreed)
        .hold();
    let script = HttpScript::nothing()
        .on(On::verb("GET"), stream)
        .on(On::verb("POST"), Answer::status(202));
    let web = script.start().await.unwrap();
    let older = server(web.url()).http_flavor(HttpFlavor::Sse);
    let mut frames = older.frames();
    let client = older.connect().await.unwrap();
    web.wait_until(|web| web.count_of("notifications/initialized") == 1)
        .await;
    client.close().await;
    drop((client, older));

    let mut seen = Vec::new();
    let mut open = 0;
    while let Some(frame) = frames.next().await {
        assert_eq!(frame.connection, 1);
        let (arrow, payload, http) = match &frame.kind {
            FrameKind::Sent { payload, http } => (">", payload, http),
            FrameKind::Received { payload, http } => ("<", payload, http),
            _ => continue,
        };
        let message: Value = serde_json::from_slice(payload).unwrap_or_default();
        let what = message["method"].as_str().unwrap_or_default();
        let status = http.as_ref().and_then(|http| http.status);
        if let Some(http) = http {
            open += if status.is_some() { -1 } else { 1 };
            let status = status.unwrap_or_default();
            seen.push(format!("{arrow} {} {status} {what}", http.method));
        } else {
            seen.push(format!("{arrow} {}", message["result"]["protocolVersion"]));
        }
    }
    // Closing may come before the answer to the last notice.
    assert!((0..=1).contains(&open), "{seen:?}");
    for expected in [
        "> GET 0 ",
        "< GET 200 ",
        "> POST 0 initialize",
        "< POST 202 ",
        "< \"2024-11-05\"",
        "> POST 0 notifications/initialized",
    ] {
        assert!(seen.iter().any(|it| it == expected), "{expected}: {seen:?}");
    }
}
