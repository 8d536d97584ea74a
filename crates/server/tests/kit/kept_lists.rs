//! Lists of resources that a handler keeps, and what goes with them.

use attache_server::protocol::{ErrorObject, Resource, ResourcePage};
use attache_server::{Context, PageRequest, Server, ServerBuilder, Template};
use serde_json::json;

use crate::support::{Wire, hello, modern};

/// A thousand numbers as resources, in pages of two.
fn numbers() -> ServerBuilder {
    let list = |_: Context, page: PageRequest| async move {
        let after: usize = page.cursor.as_deref().unwrap_or("0").parse()?;
        let last = after + page.size;
        let numbers = after + 1..=last.min(1000);
        let listed: Vec<Resource> = numbers
            .map(|it| Resource::new(format!("number://{it}"), it.to_string()))
            .collect();
        Ok(ResourcePage {
            resources: listed.into(),
            next_cursor: (last < 1000).then(|| last.to_string()),
            ..ResourcePage::default()
        })
    };
    let read = |_, it: attache_server::Reading| async move {
        Ok(it.text("text/plain", it.variable("number")))
    };
    hello()
        .resource_list(list)
        .template(Template::new("number://{number}", "number", read))
        .limits(|it| it.page_size = 2)
}

fn server() -> Server {
    numbers().resource_list_changes().build().unwrap()
}

#[tokio::test]
async fn s_pag_05_a_kept_list_is_paged_by_its_handler() {
    let server = server();
    let mut legacy = Wire::legacy(&server, "2024-11-05", json!({})).await;
    let list = |cursor: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list",
            "params": {"cursor": cursor}})
    };
    let page = legacy.ask(list("998")).await;
    let names: Vec<_> = page["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    assert_eq!(names, ["999", "1000"]);
    assert_eq!(page["result"].get("nextCursor"), None);
    let bad = legacy.ask(list("none")).await;
    assert_eq!(bad["error"]["code"], -32603);
    let read = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read",
        "params": {"uri": "number://7"}});
    assert_eq!(legacy.ask(read).await["result"]["contents"][0]["text"], "7");

    let mut wire = Wire::new(&server);
    let page = wire.ask(modern("list", "resources/list", json!({}))).await;
    assert_eq!(page["result"]["nextCursor"], "2");
    assert_eq!(page["result"]["resultType"], "complete");
}

#[tokio::test]
async fn changes_of_resources_are_promised_alone() {
    let server = server();
    let mut wire = Wire::new(&server);
    let discovered = wire.ask(modern("who", "server/discover", json!({}))).await;
    assert_eq!(
        discovered["result"]["capabilities"],
        json!({"tools": {}, "resources": {"listChanged": true}})
    );
    let mut legacy = Wire::legacy(&server, "2025-06-18", json!({})).await;
    let changes = server.changes();
    changes.tools_changed();
    changes.prompts_changed();
    changes.resources_changed();
    assert_eq!(
        legacy.next().await["method"],
        "notifications/resources/list_changed"
    );
}

#[tokio::test]
async fn unknown_resources_can_be_told_in_a_dialect() {
    let server = numbers()
        .unknown_resource(|uri| ErrorObject::new(-32000, format!("no {uri}")))
        .build()
        .unwrap();
    let mut wire = Wire::legacy(&server, "2024-11-05", json!({})).await;
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": {"uri": "other://7"}});
    let error = wire.ask(read).await["error"].clone();
    assert_eq!(error, json!({"code": -32000, "message": "no other://7"}));
}
