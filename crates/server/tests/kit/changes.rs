//! Who is told of a change, and who is not.

use std::time::Duration;

use attache_server::{NoArguments, Resource, Server, Tool};
use serde_json::{Value, json};
use tokio::time::Instant;

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

// S-TOOL-06.
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

// S-TOOL-06, S-RES-08.
#[tokio::test]
async fn s_subm_02_to_04_a_subscription_gets_what_it_named_and_its_id() {
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

// S-TOOL-06, S-RES-08.
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

fn clock() -> Server {
    let clock = Resource::new("clock://", "clock", |_, it| async move {
        Ok(it.text("text/plain", "now"))
    });
    let still = Resource::new("still://", "still", |_, it| async move {
        Ok(it.text("text/plain", "always"))
    });
    hello()
        .subscriptions()
        .resource(clock.changes_every(Duration::from_secs(1)))
        .resource(still)
        .build()
        .unwrap()
}

fn watch(id: u64, method: &str, uri: &str) -> Value {
    let method = format!("resources/{method}");
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": uri}})
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_changes_by_itself_ticks_while_it_is_watched() {
    let server = clock();
    let mut legacy = Wire::legacy(&server, "2025-11-25", json!({})).await;
    legacy.ask(watch(1, "subscribe", "clock://")).await;
    legacy.ask(watch(2, "subscribe", "still://")).await;
    let started = Instant::now();
    for seconds in 1..=3 {
        let news = legacy.next().await;
        assert_eq!(news["method"], "notifications/resources/updated");
        assert_eq!(news["params"]["uri"], "clock://");
        assert_eq!(started.elapsed().as_secs(), seconds);
    }
    // A second watcher is told by the same clock, and makes it tick no faster for the first.
    let mut modern_wire = Wire::new(&server);
    let filter = json!({"notifications": {"resourceSubscriptions": ["clock://", "still://"]}});
    modern_wire
        .send(&modern("sub", "subscriptions/listen", filter))
        .await;
    modern_wire.next().await;
    for seconds in 4..=5 {
        for wire in [&mut modern_wire, &mut legacy] {
            assert_eq!(wire.next().await["params"]["uri"], "clock://");
            assert_eq!(started.elapsed().as_secs(), seconds);
        }
    }
    // Who has unsubscribed is told nothing more; the other still is.
    legacy.ask(watch(3, "unsubscribe", "clock://")).await;
    assert_eq!(modern_wire.next().await["params"]["uri"], "clock://");
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "sub"}});
    modern_wire.send(&cancelled).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    // Nobody watches, so it stands still; whoever comes next makes it tick again.
    legacy.ask(watch(4, "subscribe", "clock://")).await;
    let started = Instant::now();
    legacy.next().await;
    assert_eq!(started.elapsed().as_secs(), 1);
    let (rest, _) = modern_wire.finish().await;
    assert_eq!(rest, Vec::<Value>::new());
}
