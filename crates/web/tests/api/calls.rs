//! Seed 001's flow by HTTP alone: tools with confirmation, progress, cancel, resources,
//! subscriptions, log levels, changed lists, and three kinds of errors told apart.

use std::time::Duration;

use attache_testkit::chaos::{Action, Reply, Script, TaskPlan, When};
use attache_testkit::guard::{PATIENCE, guarded};
use serde_json::{Value, json};

use crate::support::Rig;

/// How often a log is looked at that has no event.
const LOOK: Duration = Duration::from_millis(5);

fn legacy() -> Script {
    Script::legacy("2025-03-26")
}

#[test]
fn seed_001_use_mcp_tool_waits_for_a_confirmation_over_the_api() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let mut events = rig.events(0).await;
        let tools = rig.get("/tools?server=chaos").await.json();
        assert_eq!(tools["entries"][0]["entry"]["name"], "echo");
        assert!(tools["entries"][0]["entry"]["inputSchema"].is_object());

        let body = r#"{"server_name":"chaos","tool_name":"echo","arguments":{"message":"hi"}}"#;
        let begun = rig.post("/use_mcp_tool", body).await;
        assert_eq!(begun.status, 202, "{begun:?}");
        let call = begun.json()["call"]["call"].as_u64().unwrap();
        let asked = events.named("asked").await.data["question"].clone();
        assert_eq!(asked["request"], call);
        assert_eq!(
            asked["kind"]["approval"]["arguments"],
            json!({"message": "hi"})
        );
        assert!(
            rig.launches[0]
                .received_of("tools/call")
                .unwrap()
                .is_empty()
        );

        let question = format!("/questions/{}", asked["id"]);
        let shown = rig.get(&question).await.json();
        assert_eq!(shown["arguments_pretty"], "{\n  \"message\": \"hi\"\n}");
        let allow = r#"{"answer":{"allow":{"remember":"once","scope":"tool"}}}"#;
        assert_eq!(rig.post(&question, allow).await.status, 200);
        let again = rig.post(&question, allow).await;
        assert_eq!(
            (again.status, again.failure().0),
            (409, "closed".to_owned())
        );

        let ended = rig
            .get(&format!("/calls/{call}?wait_ms=20000"))
            .await
            .json();
        assert_eq!(ended["ending"], "result");
        assert_eq!(ended["document"]["blocks"][0]["text"], "hi");
        let result: Value = serde_json::from_str(ended["result_json"].as_str().unwrap()).unwrap();
        assert_eq!(result["content"], json!([{"type": "text", "text": "hi"}]));
        rig.close().await;
    });
}

#[test]
fn a_refusal_over_the_api_is_a_refusal_by_policy() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let mut events = rig.events(0).await;
        let body = r#"{"server_name":"chaos","tool_name":"echo","arguments":{"message":"hi"},"wait":true}"#;
        let deny = async {
            let id = events.named("asked").await.data["question"]["id"].clone();
            rig.post(&format!("/questions/{id}"), r#"{"answer":{"deny":{}}}"#)
                .await
        };
        let (refused, denied) = tokio::join!(rig.post("/use_mcp_tool", body), deny);
        assert_eq!(denied.status, 200);
        assert_eq!(refused.status, 403, "{refused:?}");
        assert_eq!(
            refused.failure(),
            ("refused".to_owned(), "policy".to_owned())
        );
        assert!(
            rig.launches[0]
                .received_of("tools/call")
                .unwrap()
                .is_empty()
        );
        rig.close().await;
    });
}

#[test]
fn seed_001_progress_comes_as_events() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let mut events = rig.events(0).await;
        let ended = rig
            .call("chaos", "sleep", r#"{"ms":40,"steps":4}"#)
            .await
            .json();
        let call = ended["call"].clone();
        assert_eq!(ended["ending"], "result");
        for step in 1..=4 {
            let progress = events.named("progress").await.data;
            assert_eq!(progress["request"], call);
            assert_eq!(progress["progress"].as_f64(), Some(f64::from(step)));
        }
        let end = events
            .until(|told| told.event == "ended" && told.data["request"] == call)
            .await;
        assert_eq!(end.data["ending"], "result");
        rig.close().await;
    });
}

#[test]
fn seed_001_a_call_is_cancelled() {
    guarded(async || {
        let script = legacy().on(When::tool("stuck"), [Action::never()]);
        let rig = Rig::new(&[("chaos", script)]).await;
        let body = r#"{"server_name":"chaos","tool_name":"stuck","origin":"person"}"#;
        let call = rig.post("/use_mcp_tool", body).await.json()["call"]["call"].clone();
        rig.launches[0]
            .wait_received_of("tools/call", 1, PATIENCE)
            .unwrap();
        let running = rig.get(&format!("/calls/{call}")).await.json();
        assert_eq!(running["state"], "running");

        let cancelled = rig.delete(&format!("/calls/{call}")).await;
        assert_eq!(cancelled.status, 200);
        assert_eq!(cancelled.json()["call"]["ending"], "cancelled");
        let told = rig.launches[0].wait_received_of("notifications/cancelled", 1, PATIENCE);
        assert_eq!(told.unwrap().len(), 1);
        let shown = rig.get(&format!("/calls/{call}")).await.json();
        assert_eq!(shown["error"]["kind"], "cancelled");
        assert_eq!(shown["error"]["origin"], "transport");
        assert_eq!(rig.delete("/calls/4711").await.status, 404);
        rig.close().await;
    });
}

#[test]
fn leaving_a_request_that_waits_cancels_its_call() {
    guarded(async || {
        let script = legacy().on(When::tool("stuck"), [Action::never()]);
        let rig = Rig::new(&[("chaos", script)]).await;
        let waiting = rig.call("chaos", "stuck", "{}");
        let sent = async {
            let launch = &rig.launches[0];
            while launch.received_of("tools/call").unwrap().is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            answer = waiting => panic!("{answer:?}"),
            () = sent => {}
        }
        let told = rig.launches[0].wait_received_of("notifications/cancelled", 1, PATIENCE);
        assert_eq!(told.unwrap().len(), 1);
        rig.close().await;
    });
}

#[test]
fn seed_001_three_kinds_of_errors_are_told_apart() {
    guarded(async || {
        let script = legacy().on(When::tool("die"), [Action::exit(1)]);
        let rig = Rig::new(&[("chaos", script)]).await;
        let protocol = rig.call("chaos", "nonesuch", "{}").await;
        assert_eq!(protocol.status, 502);
        assert_eq!(
            protocol.failure(),
            ("server_error".to_owned(), "protocol".to_owned())
        );
        assert_eq!(protocol.json()["error"]["code"], -32602);

        let tool = rig
            .call("chaos", "fail", r#"{"message":"no\u001b[31m luck"}"#)
            .await;
        assert_eq!(tool.status, 200);
        assert_eq!(
            tool.failure(),
            ("tool_failed".to_owned(), "tool".to_owned())
        );
        let tool = tool.json();
        assert_eq!(
            (&tool["is_error"], &tool["ending"]),
            (&json!(true), &json!("tool_failed"))
        );
        // S13: what a server says is shown without its control characters.
        assert!(
            !tool["error"]["message"]
                .as_str()
                .unwrap()
                .contains('\u{1b}')
        );

        let transport = rig.call("chaos", "die", "{}").await;
        assert_eq!(transport.status, 502);
        assert_eq!(
            transport.failure(),
            ("outcome_unknown".to_owned(), "transport".to_owned())
        );

        let console = rig.call("nobody", "echo", "{}").await;
        assert_eq!(console.status, 404);
        assert_eq!(
            console.failure(),
            ("unknown_server".to_owned(), "console".to_owned())
        );
        rig.close().await;
    });
}

#[test]
fn seed_001_access_mcp_resource_reads_text_and_bytes_and_tells_what_is_missing() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let read = |uri: &str| format!(r#"{{"server_name":"chaos","uri":"{uri}"}}"#);
        let listed = rig.get("/resources?server=chaos").await.json();
        assert_eq!(listed["entries"][0]["entry"]["uri"], "chaos://text");
        let text = rig
            .post("/access_mcp_resource", &read("chaos://text"))
            .await
            .json();
        assert_eq!(text["document"]["blocks"][0]["kind"], "resource");
        assert_eq!(text["freshness"], "fresh");
        let contents: Value =
            serde_json::from_str(text["contents_json"].as_str().unwrap()).unwrap();
        assert!(contents["contents"][0]["text"].is_string());
        let binary = rig
            .post("/access_mcp_resource", &read("chaos://binary"))
            .await
            .json();
        assert!(
            binary["document"]["blocks"][0]["body"]["data"].is_string(),
            "{binary}"
        );

        let missing = rig
            .post("/access_mcp_resource", &read("chaos://none"))
            .await;
        assert_eq!(
            missing.failure(),
            ("server_error".to_owned(), "protocol".to_owned())
        );
        let error = &missing.json()["error"];
        assert_eq!(error["code"], -32002);
        assert_eq!(error["data_json"], r#"{"uri":"chaos://none"}"#);
        rig.close().await;
    });
}

#[test]
fn seed_001_a_subscription_tells_of_updates_in_both_eras() {
    guarded(async || {
        let rig = Rig::new(&[("old", legacy()), ("new", Script::modern())]).await;
        for server in ["old", "new"] {
            let mut events = rig.events(0).await;
            let body = format!(r#"{{"server_name":"{server}","uri":"chaos://text"}}"#);
            let made = rig.post("/subscriptions", &body).await;
            assert_eq!(made.status, 201, "{made:?}");
            assert_eq!(rig.post("/subscriptions", &body).await.status, 200);
            rig.call(server, "touch", r#"{"uri":"chaos://text"}"#).await;
            let updated = events
                .until(|told| told.event == "resource_updated" && told.data["server"] == server);
            assert_eq!(updated.await.data["uri"], "chaos://text");
            assert_eq!(rig.post("/access_mcp_resource", &body).await.status, 200);
            let id = made.json()["id"].as_str().unwrap().to_owned();
            assert_eq!(
                rig.delete(&format!("/subscriptions/{id}")).await.status,
                204
            );
            assert_eq!(
                rig.delete(&format!("/subscriptions/{id}")).await.status,
                404
            );
        }
        let told = rig.launches[0].wait_received_of("resources/unsubscribe", 1, PATIENCE);
        assert_eq!(told.unwrap().len(), 1);
        rig.close().await;
    });
}

#[test]
fn seed_001_log_levels_and_changed_lists_come_as_events() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let mut events = rig.events(0).await;
        let set = rig
            .send("PUT", "/servers/chaos/log_level", r#"{"level":"warning"}"#)
            .await;
        assert_eq!((set.status, set.json()), (200, json!({"level": "warning"})));
        assert_eq!(
            rig.get("/servers/chaos").await.json()["log_level"],
            "warning"
        );
        rig.call("chaos", "log", r#"{"level":"info","message":"quiet"}"#)
            .await;
        rig.call("chaos", "log", r#"{"level":"error","message":"loud"}"#)
            .await;
        let log = events.named("log").await.data;
        assert_eq!(
            (&log["level"], &log["data"]),
            (&json!("error"), &json!("loud"))
        );
        rig.call("chaos", "change", r#"{"list":"tools"}"#).await;
        assert_eq!(events.named("list_changed").await.data["list"], "tools");
        let odd = rig
            .send("PUT", "/servers/chaos/log_level", r#"{"level":"loud"}"#)
            .await;
        assert_eq!(odd.status, 400);
        rig.close().await;
    });
}

#[test]
fn prompts_completion_and_templates() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let prompt = rig
            .post("/prompts/chaos/greet", r#"{"arguments":{"name":"Ada"}}"#)
            .await
            .json();
        assert_eq!(prompt["document"]["blocks"][0]["text"], "Greet Ada.");
        assert_eq!(prompt["document"]["blocks"][0]["role"], "user");
        let body = r#"{"server_name":"chaos","ref":{"type":"ref/prompt","name":"greet"},
            "argument":{"name":"name","value":""}}"#;
        let found = rig.post("/completion", body).await.json();
        assert!(!found["values"].as_array().unwrap().is_empty(), "{found}");
        let body = r#"{"uri_template":"n://{a}/{b}","values":{"a":"x y"}}"#;
        let uri = rig.post("/expand", body).await.json();
        assert_eq!(uri, json!({"uri": "n://x%20y/", "missing": ["b"]}));
        rig.close().await;
    });
}

#[test]
fn a_server_asks_the_user_over_the_api() {
    guarded(async || {
        let schema = json!({"type": "object", "properties": {"age": {"type": "integer", "minimum": 18}},
            "required": ["age"]});
        let ask = json!({"message": "How old?", "requestedSchema": schema});
        let actions = [
            Action::ask("elicitation/create", ask),
            Reply::client_answer().into(),
        ];
        let script = Script::legacy("2025-06-18").on(When::tool("ask"), actions);
        let rig = Rig::new(&[("chaos", script)]).await;
        let mut events = rig.events(0).await;
        let answering = async {
            let id = events.named("asked").await.data["question"]["id"].clone();
            let body = format!(
                r#"{{"of":{{"question":{id}}},"edits":[{{"do":"enter","path":["age"],"text":"7"}}]}}"#
            );
            let form = rig.post("/form", &body).await.json();
            assert_eq!(form["problems"][0]["rule"], "minimum", "{form}");
            let path = format!("/questions/{id}");
            let young = rig
                .post(&path, r#"{"answer":{"accept":{"content":{"age":7}}}}"#)
                .await;
            assert_eq!(
                (young.status, young.failure().0),
                (400, "misfit".to_owned())
            );
            let roots = rig
                .post(&path, r#"{"answer":{"roots":[{"uri":"file:///etc"}]}}"#)
                .await;
            assert_eq!(roots.status, 403, "S2: {roots:?}");
            rig.post(&path, r#"{"answer":{"accept":{"content":{"age":42}}}}"#)
                .await
        };
        let (called, answered) = tokio::join!(rig.call("chaos", "ask", "{}"), answering);
        assert_eq!(answered.status, 200, "{answered:?}");
        let called = called.json();
        assert!(
            called["result_json"].as_str().unwrap().contains("42"),
            "{called}"
        );
        rig.close().await;
    });
}

#[test]
fn a_tool_runs_as_a_task_and_a_task_is_cancelled() {
    guarded(async || {
        let done = json!({"content": [{"type": "text", "text": "done"}]});
        let quick = Reply::task(TaskPlan::completing(Duration::ZERO, done));
        let script = Script::legacy("2025-11-25")
            .on(When::tool("quick"), [quick.into()])
            .on(
                When::tool("endless"),
                [Reply::task(TaskPlan::endless()).into()],
            );
        let rig = Rig::new(&[("chaos", script)]).await;
        let task = |tool: &str, wait: bool| {
            format!(
                r#"{{"server_name":"chaos","tool_name":"{tool}","as_task":true,"wait":{wait},"origin":"person"}}"#
            )
        };
        let ended = rig.post("/use_mcp_tool", &task("quick", true)).await.json();
        assert_eq!(ended["as_task"], true);
        assert_eq!(ended["document"]["blocks"][0]["text"], "done", "{ended}");

        let begun = rig
            .post("/use_mcp_tool", &task("endless", false))
            .await
            .json();
        let call = begun["call"]["call"].clone();
        rig.launches[0]
            .wait_received_of("tasks/get", 2, PATIENCE)
            .unwrap();
        let cancelled = rig.delete(&format!("/calls/{call}")).await.json();
        assert_eq!(cancelled["call"]["ending"], "cancelled");
        let told = rig.launches[0].wait_received_of("tasks/cancel", 1, PATIENCE);
        assert_eq!(told.unwrap().len(), 1);
        rig.close().await;
    });
}
