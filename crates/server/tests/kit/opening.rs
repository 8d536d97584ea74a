//! How a connection begins, in both eras and side by side.

use std::sync::Arc;

use attache_server::protocol::Revision;
use attache_server::{BeforeInitialized, EndReason, NoArguments, Resource, Tool};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Wire, call, hello, initialize, modern, text};

const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test]
async fn s_init_03_the_requested_version_if_known_else_the_newest() {
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut wire = Wire::new(&hello().build().unwrap());
        let answer = wire.ask(initialize(asked, json!({}))).await;
        assert_eq!(answer["result"]["protocolVersion"], expected);
        assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));
        assert_eq!(wire.finish().await, (vec![], EndReason::EndOfInput));
    }
}

/// Behind a bridge that shares one pipe, each client begins with a handshake of its own.
#[tokio::test]
async fn a_second_initialize_begins_the_session_anew() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let waiting = Tool::new("wait", "Waits.", move |_, _: NoArguments| {
        let gate = Arc::clone(&opened);
        async move {
            gate.acquire().await?.forget();
            Ok("done")
        }
    });
    let resource = Resource::new("a://1", "x", |_, it| async move {
        Ok(it.text("text/plain", "x"))
    });
    let builder = hello().tool(waiting).resource(resource);
    let server = builder.subscriptions().build().unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let watch = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "a://1"}});
    assert_eq!(wire.ask(watch).await["result"], json!({}));
    wire.send(&call("running", "wait", json!({}))).await;

    let again = wire.ask(initialize("2025-06-18", json!({}))).await;
    assert_eq!(again["result"]["protocolVersion"], "2025-06-18");
    // What the session before watched is forgotten, so the next message is the next answer.
    server.changes().resource_updated("a://1");
    assert_eq!(text(&wire.ask(call(2, "hello", json!({}))).await), "hello");
    // What ran before is still answered.
    gate.add_permits(1);
    let answer = wire.next().await;
    assert_eq!((&answer["id"], text(&answer)), (&json!("running"), "done"));
    assert_eq!(wire.finish().await, (vec![], EndReason::EndOfInput));
}

#[tokio::test]
async fn under_strict_initialized_a_session_begins_once() {
    let strict = hello().before_initialized(BeforeInitialized::Refuse);
    let mut wire = Wire::legacy(&strict.build().unwrap(), "2025-11-25", json!({})).await;
    let again = wire.ask(initialize("2025-06-18", json!({}))).await;
    assert_eq!(again["error"]["code"], -32600);
    assert_eq!(text(&wire.ask(call(1, "hello", json!({}))).await), "hello");
}

// S-INIT-08.
#[tokio::test]
async fn tools_wait_for_initialized_where_that_is_asked_for() {
    let strict = hello()
        .before_initialized(BeforeInitialized::Refuse)
        .build()
        .unwrap();
    let mut wire = Wire::new(&strict);
    wire.ask(initialize("2025-11-25", json!({}))).await;
    let refused = wire.ask(call(1, "hello", json!({}))).await;
    assert_eq!(refused["error"]["code"], -32600);
    let pinged = wire
        .ask(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}))
        .await;
    assert_eq!(pinged["result"], json!({}));
    wire.send_text(READY).await;
    assert_eq!(text(&wire.ask(call(3, "hello", json!({}))).await), "hello");

    let mut lenient = Wire::new(&hello().build().unwrap());
    lenient.ask(initialize("2025-11-25", json!({}))).await;
    assert_eq!(
        text(&lenient.ask(call(1, "hello", json!({}))).await),
        "hello"
    );
}

// S-BASE-17.
#[tokio::test]
async fn s_mod_17_both_eras_are_served_on_one_connection() {
    let mut wire = Wire::new(&hello().build().unwrap());
    let found = wire.ask(modern(1, "server/discover", json!({}))).await;
    let result = &found["result"];
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "test"
    );
    // A modern request needs no handshake; a legacy one still does.
    let params = json!({"name": "hello", "arguments": {}});
    let called = wire.ask(modern(2, "tools/call", params.clone())).await;
    assert_eq!(called["result"]["resultType"], "complete");
    let refused = wire.ask(call(3, "hello", json!({}))).await;
    assert_eq!(refused["error"]["code"], -32600);
    wire.ask(initialize("2025-06-18", json!({}))).await;
    let called = wire.ask(call(4, "hello", json!({}))).await;
    assert_eq!(called["result"].get("resultType"), None);
    let called = wire.ask(modern(5, "tools/call", params)).await;
    assert_eq!(called["result"]["resultType"], "complete");
}

// S-LOG-05.
#[tokio::test]
async fn s_mod_04_and_09_modern_metadata_is_checked() {
    let mut wire = Wire::new(&hello().build().unwrap());
    let mut request = modern(1, "tools/list", json!({}));
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let answer = wire.ask(request).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["requested"], "2030-01-01");
    assert_eq!(answer["error"]["data"]["supported"][0], "2026-07-28");

    let mut request = modern(2, "tools/list", json!({}));
    request["params"]["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(wire.ask(request).await["error"]["code"], -32602);

    let mut request = modern(3, "tools/list", json!({}));
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud");
    assert_eq!(wire.ask(request).await["error"]["code"], -32602);
}

// S-TSKE-17.
#[tokio::test]
async fn x_ping_03_removed_methods_are_unknown_to_the_modern_era() {
    let mut wire = Wire::new(&hello().logging().subscriptions().build().unwrap());
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/result",
        "tasks/list",
        "shutdown",
    ] {
        let answer = wire.ask(modern(1, method, json!({}))).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn s_init_20_a_server_can_speak_fewer_revisions() {
    let modern_only = hello().revisions([Revision::V2026_07_28]).build().unwrap();
    let mut wire = Wire::new(&modern_only);
    let answer = wire.ask(initialize("2025-11-25", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));

    let legacy_only = hello().revisions([Revision::V2024_11_05, Revision::V2025_03_26]);
    let mut wire = Wire::new(&legacy_only.build().unwrap());
    let answer = wire.ask(initialize("2025-11-25", json!({}))).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-03-26");
    let answer = wire.ask(modern(1, "server/discover", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32022);
    let answer = wire.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "server/discover"}));
    assert_eq!(answer.await["error"]["code"], -32601);
}

/// An unknown method would mark the server as a legacy one.
#[tokio::test]
async fn s_mod_11_a_discover_without_metadata_is_told_what_it_lacks() {
    let mut wire = Wire::new(&hello().build().unwrap());
    for params in [json!({}), json!({"_meta": {"progressToken": 1}})] {
        let discover =
            json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params});
        let answer = wire.ask(discover).await;
        assert_eq!(answer["error"]["code"], -32602);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("protocolVersion"), "{message}");
    }
}

// X-BATCH-05.
#[tokio::test]
async fn x_batch_01_batches_are_answered_together_in_one_revision() {
    let mut wire = Wire::legacy(&hello().build().unwrap(), "2025-03-26", json!({})).await;
    let batch = json!([
        call(1, "hello", json!({})),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "ping"},
        {"jsonrpc": "2.0", "id": 3},
        initialize("2025-03-26", json!({})),
    ]);
    wire.send_text(&batch.to_string()).await;
    let answers = wire.next_batch().await;
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!("two"), json!(3), json!("open")]);
    assert_eq!(answers[2]["error"]["code"], -32600);
    assert_eq!(answers[3]["error"]["code"], -32600);
    // Notifications alone get no answer at all.
    wire.send_text(&format!("[{READY}]")).await;
    assert_eq!(wire.ask(call(4, "hello", json!({}))).await["id"], 4);
}

#[tokio::test]
async fn x_batch_04_batches_are_refused_elsewhere() {
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut wire = Wire::legacy(&hello().build().unwrap(), revision, json!({})).await;
        wire.send_text(&json!([call(1, "hello", json!({}))]).to_string())
            .await;
        let answer = wire.next_unjudged().await;
        assert_eq!(answer["error"]["code"], -32600, "{revision}");
        assert_eq!(wire.ask(call(2, "hello", json!({}))).await["id"], 2);
    }
}
