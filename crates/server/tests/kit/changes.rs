//! Who is told of a change, and who is not.

use attache_server::{NoArguments, Resource, Server, Tool};
use serde_json::{Value, json};

use crate::support::{Wire, hello, modern};

fn watched() -> Server {
    let resource = |uri: &str| {
        Resource::new(
            uri,
            "x",
            |_, it| async move { Ok(it.text("text/plain", "x")) },
        )
    };
    hello()
        .list_changes()
        .subscriptions()
        .resource(resource("a://1"))
        .resource(resource("a://2"))
        .build()
        .unwrap()
}

fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[tokio::test]
async fn s_subl_02_and_03_a_legacy_session_hears_what_it_subscribed_to() {
    let server = watched();
    let mut wire = Wire::legacy(&server, "2025-06-18", json!({})).await;
    wire.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "a://1"}})).await;
    let changes = server.changes();
    changes.resource_updated("a://2");
    changes.resource_updated("a://1");
    changes.tools_changed();
    assert_eq!(wire.next().await["params"]["uri"], "a://1");
    assert_eq!(
        wire.next().await["method"],
        "notifications/tools/list_changed"
    );
    wire.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "resources/unsubscribe", "params": {"uri": "a://1"}})).await;
    changes.resource_updated("a://1");
    assert_eq!(wire.ask(ping(3)).await["id"], 3);
    // What is not there cannot be watched.
    let answer = wire.ask(json!({"jsonrpc": "2.0", "id": 4, "method": "resources/subscribe", "params": {"uri": "b://"}})).await;
    assert_eq!(answer["error"]["code"], -32002);
}

#[tokio::test]
async fn s_subm_02_to_07_a_subscription_gets_what_it_named_and_its_id() {
    let server = watched();
    let mut wire = Wire::new(&server);
    let wanted =
        json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["a://1"]}});
    wire.send(&modern("sub", "subscriptions/listen", wanted.clone()))
        .await;
    let acknowledged = wire.next().await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        acknowledged["params"]["notifications"],
        wanted["notifications"]
    );
    let changes = server.changes();
    changes.prompts_changed();
    changes.resource_updated("a://2");
    changes.resource_updated("a://1");
    changes.tools_changed();
    for expected in [
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ] {
        let news = wire.next().await;
        assert_eq!(news["method"], expected);
        assert_eq!(
            news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            "sub"
        );
    }
    // After the client's cancel nothing more is sent for it (S-SUBM-10).
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "sub"}})).await;
    wire.ask(modern(1, "tools/list", json!({}))).await;
    tokio::task::yield_now().await;
    changes.tools_changed();
    let (rest, _) = wire.finish().await;
    assert_eq!(rest, Vec::<Value>::new());
}

#[tokio::test]
async fn s_subm_03_only_what_the_server_offers_is_granted() {
    let server = hello().list_changes().build().unwrap();
    let mut wire = Wire::new(&server);
    let wanted =
        json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["a://1"]}});
    wire.send(&modern(1, "subscriptions/listen", wanted)).await;
    assert_eq!(
        wire.next().await["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    // A server that announces nothing has no such method (S-MOD-19).
    let mut wire = Wire::new(&hello().build().unwrap());
    let answer = wire
        .ask(modern(
            1,
            "subscriptions/listen",
            json!({"notifications": {}}),
        ))
        .await;
    assert_eq!(answer["error"]["code"], -32601);
}

#[tokio::test]
async fn a_change_announces_the_lists_it_changed() {
    let server = watched();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let tool = Tool::new("second", "x", |_, _: NoArguments| async { Ok("x") });
    let changes = server.changes();
    changes
        .change(|registry| {
            registry.add_tool(tool.clone()).remove_resource("a://2");
        })
        .unwrap();
    assert_eq!(
        wire.next().await["method"],
        "notifications/tools/list_changed"
    );
    assert_eq!(
        wire.next().await["method"],
        "notifications/resources/list_changed"
    );
    // What cannot be served changes nothing.
    assert!(
        changes
            .change(|registry| {
                registry.add_tool(tool.clone());
            })
            .is_err()
    );
    let list = wire
        .ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        .await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 2);
}
