//! Without rules the chaos server is a correct server of its revision.

use std::time::Duration;

use attache_testkit::chaos::{
    Action, BeforeInitialize, REVISIONS, Reply, RpcError, Script, TaskPlan, When,
};
use serde_json::{Value, json};

use crate::support::{PATIENCE, Peer, modern_meta};

/// Sends a request and returns its result or error, whichever there is.
fn outcome(peer: &mut Peer, method: &str, mut params: Value) -> Value {
    if params.is_null() {
        params = json!({});
    }
    if params.get("_meta").is_none() {
        params["_meta"] = modern_meta();
    }
    peer.request(1, method, params);
    let mut answer = peer.message();
    assert_eq!(answer["id"], 1);
    match answer.get_mut("result") {
        Some(result) => result.take(),
        None => answer["error"].take(),
    }
}

#[test]
fn every_revision_is_offered_as_scripted() {
    for revision in REVISIONS {
        let mut peer = Peer::start(&Script::of_revision(revision).instructions("Be kind."));
        if revision == "2026-07-28" {
            let found = outcome(&mut peer, "server/discover", Value::Null);
            assert_eq!(found["supportedVersions"], json!([revision]));
            assert_eq!(found["resultType"], "complete");
            assert_eq!(found["instructions"], "Be kind.");
        } else {
            let answer = peer.initialize();
            assert_eq!(answer["result"]["protocolVersion"], revision);
            assert_eq!(answer["result"]["instructions"], "Be kind.");
            let refused = outcome(&mut peer, "server/discover", Value::Null);
            assert_eq!(refused["code"], -32601);
        }
        let sum = outcome(
            &mut peer,
            "tools/call",
            json!({"name": "add", "arguments": {"a": 2, "b": 3}}),
        );
        assert_eq!(sum["structuredContent"], json!({"sum": 5.0}));
    }
}

#[test]
fn offers_are_listed_and_used_alike_in_both_eras() {
    for script in [
        Script::legacy("2025-11-25"),
        Script::modern(),
        Script::dual(),
    ] {
        let mut peer = Peer::start(&script);
        let mut ask = |method: &str, params: Value| outcome(&mut peer, method, params);
        assert_eq!(ask("tools/list", Value::Null)["tools"][0]["name"], "echo");
        let failed = ask("tools/call", json!({"name": "fail"}));
        assert_eq!(failed["isError"], true);
        let unknown = ask("tools/call", json!({"name": "nothing"}));
        assert_eq!(unknown["code"], -32602);
        let listed = ask("resources/list", Value::Null);
        assert_eq!(listed["resources"].as_array().map(Vec::len), Some(2));
        let read = ask("resources/read", json!({"uri": "chaos://binary"}));
        assert_eq!(read["contents"][0]["blob"], "AAECA/8=");
        let prompt = ask(
            "prompts/get",
            json!({"name": "greet", "arguments": {"name": "Ada"}}),
        );
        assert_eq!(prompt["messages"][0]["content"]["text"], "Greet Ada.");
        let completed = ask(
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "greet"},
                "argument": {"name": "name", "value": "a"},
            }),
        );
        assert_eq!(completed["completion"]["values"], json!(["ada", "alan"]));
    }
}

#[test]
fn errors_follow_the_era() {
    let mut legacy = Peer::start(&Script::legacy("2025-06-18"));
    let missing = outcome(&mut legacy, "resources/read", json!({"uri": "chaos://no"}));
    assert_eq!(missing["code"], -32002);
    assert_eq!(outcome(&mut legacy, "ping", Value::Null), json!({}));

    let mut modern = Peer::start(&Script::modern());
    let missing = outcome(&mut modern, "resources/read", json!({"uri": "chaos://no"}));
    assert_eq!(missing["code"], -32602);
    assert_eq!(missing["data"], json!({"uri": "chaos://no"}));
    assert_eq!(outcome(&mut modern, "ping", Value::Null)["code"], -32601);
    let bare = outcome(&mut modern, "tools/list", json!({"_meta": {}}));
    assert_eq!(bare["code"], -32602);
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let newer = outcome(&mut modern, "tools/list", json!({"_meta": meta}));
    assert_eq!(newer["code"], -32022);
    assert_eq!(
        newer["data"],
        json!({"supported": ["2026-07-28"], "requested": "2099-01-01"})
    );
}

#[test]
fn a_legacy_server_treats_early_messages_as_scripted() {
    let early = |choice| Script::legacy("2025-06-18").before_initialize(choice);
    let mut refusing = Peer::start(&early(BeforeInitialize::Refuse(-32000)));
    let refused = outcome(&mut refusing, "server/discover", Value::Null);
    assert_eq!(refused["code"], -32000);
    assert_eq!(
        refusing.initialize()["result"]["protocolVersion"],
        "2025-06-18"
    );

    let mut silent = Peer::start(&early(BeforeInitialize::Ignore));
    silent.request("probe", "server/discover", json!({}));
    assert_eq!(silent.initialize()["id"], "init");

    let mut leaving = Peer::start(&early(BeforeInitialize::Exit(3)));
    leaving.request("probe", "server/discover", json!({}));
    assert_eq!(leaving.line(), None);
    assert_eq!(leaving.wait().code(), Some(3));
}

#[test]
fn slow_calls_do_not_hold_up_quick_ones_and_report_progress() {
    let mut peer = Peer::start(&Script::legacy("2025-06-18"));
    let meta = json!({"progressToken": "p"});
    let arguments = json!({"ms": 40, "steps": 2});
    peer.request(
        1,
        "tools/call",
        json!({"name": "sleep", "arguments": arguments, "_meta": meta}),
    );
    peer.call(2, "echo", json!({"message": "quick"}));
    assert_eq!(peer.message()["id"], 2);
    for progress in [1.0, 2.0] {
        let expected = json!({"progressToken": "p", "progress": progress});
        assert_eq!(peer.message()["params"], expected);
    }
    assert_eq!(peer.message()["id"], 1);
}

#[test]
fn a_cancelled_call_is_not_answered() {
    let mut peer = Peer::start(&Script::legacy("2025-06-18"));
    peer.call(1, "sleep", json!({"ms": 20}));
    peer.cancel(1);
    peer.call(2, "sleep", json!({"ms": 60}));
    assert_eq!(peer.message()["id"], 2);
    let cancels = peer.launch.received_of("notifications/cancelled").unwrap();
    assert_eq!(cancels[0]["params"]["requestId"], 1);
}

#[test]
fn changes_reach_subscribers_of_the_legacy_era() {
    let mut peer = Peer::start(&Script::legacy("2025-06-18"));
    peer.call(1, "touch", json!({"uri": "chaos://text"}));
    assert_eq!(peer.message()["id"], 1);
    peer.request(2, "resources/subscribe", json!({"uri": "chaos://text"}));
    assert_eq!(peer.message()["result"], json!({}));
    peer.call(3, "touch", json!({"uri": "chaos://text"}));
    assert_eq!(peer.message()["params"], json!({"uri": "chaos://text"}));
    assert_eq!(peer.message()["id"], 3);
    peer.call(4, "change", json!({"list": "tools"}));
    assert_eq!(peer.message()["method"], "notifications/tools/list_changed");
    assert_eq!(peer.message()["id"], 4);
}

#[test]
fn changes_reach_listeners_of_the_modern_era_until_they_cancel() {
    let mut peer = Peer::start(&Script::modern());
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["chaos://text"]});
    let params = json!({"_meta": modern_meta(), "notifications": filter});
    peer.request("listen", "subscriptions/listen", params);
    let acknowledged = peer.message();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(acknowledged["params"]["notifications"], filter);
    let call = |name: &str, arguments: Value| json!({"_meta": modern_meta(), "name": name, "arguments": arguments});
    peer.request(
        1,
        "tools/call",
        call("touch", json!({"uri": "chaos://text"})),
    );
    let updated = peer.message();
    let subscription = &updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(subscription, "listen");
    assert_eq!(peer.message()["id"], 1);
    peer.request(2, "tools/call", call("change", json!({"list": "prompts"})));
    assert_eq!(peer.message()["id"], 2);
    peer.cancel("listen");
    peer.request(3, "tools/call", call("change", json!({"list": "tools"})));
    assert_eq!(peer.message()["id"], 3);
}

#[test]
fn log_levels_are_obeyed() {
    let mut peer = Peer::start(&Script::legacy("2025-06-18"));
    peer.request(1, "logging/setLevel", json!({"level": "warning"}));
    assert_eq!(peer.message()["result"], json!({}));
    peer.call(2, "log", json!({"level": "info", "message": "quiet"}));
    assert_eq!(peer.message()["id"], 2);
    peer.call(3, "log", json!({"level": "error", "message": "loud"}));
    assert_eq!(peer.message()["params"]["data"], "loud");
    assert_eq!(peer.message()["id"], 3);
}

#[test]
fn tasks_of_2025_11_25_ask_for_input_and_complete() {
    let plan = TaskPlan::completing(Duration::from_millis(20), json!({"content": []}))
        .needing(json!({"who": {"method": "roots/list"}}));
    let script = Script::legacy("2025-11-25").on(When::tool("slow"), [Reply::task(plan).into()]);
    let mut peer = Peer::start(&script);
    let declared = peer.initialize()["result"]["capabilities"]["tasks"].take();
    assert_eq!(declared["requests"]["tools"]["call"], json!({}));
    peer.request(
        1,
        "tools/call",
        json!({"name": "slow", "task": {"ttl": 9000}}),
    );
    let task = peer.message()["result"]["task"].take();
    assert_eq!(task["status"], "working");
    assert_eq!(task["ttl"], 9000);
    peer.request(2, "tasks/result", json!({"taskId": task["taskId"]}));
    let asked = peer.message();
    assert_eq!(asked["method"], "roots/list");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}});
    peer.send(&answer);
    let ended = peer.message();
    assert_eq!(ended["id"], 2);
    let given = &ended["result"]["structuredContent"]["inputResponses"]["who"];
    assert_eq!(given, &json!({"roots": []}));
    peer.request(3, "tasks/cancel", json!({"taskId": task["taskId"]}));
    assert_eq!(peer.message()["error"]["code"], -32602);
}

#[test]
fn tasks_of_the_extension_are_polled_updated_and_fail() {
    let error = RpcError::new(-32603, "broke", Value::Null);
    let plan =
        TaskPlan::failing(Duration::ZERO, error).needing(json!({"who": {"method": "roots/list"}}));
    let script = Script::modern().on(When::tool("slow"), [Reply::task(plan).into()]);
    let mut peer = Peer::start(&script);
    let mut meta = modern_meta();
    let extension = json!({"io.modelcontextprotocol/tasks": {}});
    meta["io.modelcontextprotocol/clientCapabilities"]["extensions"] = extension;
    let mut ask = |method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        outcome(&mut peer, method, params)
    };
    let created = ask("tools/call", json!({"name": "slow"}));
    assert_eq!(created["resultType"], "task");
    let id = created["taskId"].clone();
    let got = ask("tasks/get", json!({"taskId": id}));
    assert_eq!(got["inputRequests"]["who"]["method"], "roots/list");
    let responses = json!({"who": {"roots": []}});
    let updated = ask(
        "tasks/update",
        json!({"taskId": id, "inputResponses": responses}),
    );
    assert_eq!(updated["resultType"], "complete");
    let got = ask("tasks/get", json!({"taskId": id}));
    assert_eq!(got["status"], "failed");
    assert_eq!(got["error"]["code"], -32603);
    assert_eq!(ask("tasks/get", json!({"taskId": "none"}))["code"], -32602);
}

#[test]
fn a_task_tool_called_plainly_answers_plainly() {
    let result = json!({"content": [{"type": "text", "text": "made"}]});
    let plan = TaskPlan::completing(Duration::from_millis(5), result);
    let script = Script::legacy("2025-11-25").on(When::tool("slow"), [Reply::task(plan).into()]);
    let mut peer = Peer::start(&script);
    peer.call(1, "slow", json!({}));
    assert_eq!(peer.message()["result"]["content"][0]["text"], "made");
}

#[test]
fn the_end_of_input_ends_the_server() {
    let mut peer = Peer::start(&Script::dual());
    peer.initialize();
    peer.close_stdin();
    assert_eq!(peer.line(), None);
    assert_eq!(peer.wait().code(), Some(0));
    let received = peer.launch.received().unwrap();
    assert_eq!(received.len(), 2);
    assert_eq!(received[1]["method"], "notifications/initialized");
    peer.launch.tag().wait_until_gone(PATIENCE).unwrap();
}

#[test]
fn the_usual_answer_can_be_kept_and_delayed() {
    let script = Script::legacy("2025-06-18").on(
        "tools/list",
        [Action::wait_received("ping"), Action::usual()],
    );
    let mut peer = Peer::start(&script);
    peer.request(1, "tools/list", json!({}));
    peer.request(2, "ping", json!({}));
    let mut ids = [peer.message(), peer.message()].map(|answer| answer["id"].clone());
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, [json!(1), json!(2)]);
}
