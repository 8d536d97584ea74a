//! Tasks of both forms.

use std::time::Duration;

use attache_server::protocol::ElicitParams;
use attache_server::{Context, Failure, NoArguments, Server, TaskStart, TaskSupport, Tool};
use serde_json::{Value, json};

use crate::support::{Wire, call, modern_with, text};

fn server() -> Server {
    let elicit = || ElicitParams {
        message: "?".to_owned(),
        ..ElicitParams::default()
    };
    let ask = move |context: Context, _: NoArguments| async move {
        let answer = context.elicit(elicit()).await?;
        Ok(format!("{:?}", answer.action))
    };
    Server::builder("test", "1")
        .tool(Tool::new("plain", "No task.", |_, _: NoArguments| async {
            Ok("plain")
        }))
        .tool(
            Tool::new("sleep", "Sleeps.", |_, _: NoArguments| async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Ok("awake")
            })
            .tasks(TaskSupport::Optional),
        )
        .tool(
            Tool::new("fail", "Fails.", |_, _: NoArguments| async {
                Err::<String, _>(Failure::new("no"))
            })
            .tasks(TaskSupport::Required),
        )
        .tool(
            Tool::new("panic", "Panics.", |_, _: NoArguments| async {
                if true {
                    panic!("on purpose");
                }
                Ok("never")
            })
            .tasks(TaskSupport::Optional),
        )
        .tool(Tool::new("ask", "Asks.", ask).tasks(TaskSupport::Optional))
        .tool(
            Tool::new(
                "late",
                "Asks, then works.",
                move |context: Context, _: NoArguments| async move {
                    context.elicit(elicit()).await?;
                    context.detach().await;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Ok("worked")
                },
            )
            .tasks(TaskSupport::Required)
            .task_start(TaskStart::WhenDetached),
        )
        .list_changes()
        .build()
        .unwrap()
}

fn as_task(id: u64, tool: &str) -> Value {
    let mut request = call(id, tool, json!({}));
    request["params"]["task"] = json!({"ttl": 60_000});
    request
}

fn about(id: u64, method: &str, task: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": format!("tasks/{method}"), "params": {"taskId": task}})
}

// X-TSKX-13.
#[tokio::test(start_paused = true)]
async fn x_tskx_tasks_of_2025_11_25() {
    let mut wire = Wire::legacy(&server(), "2025-11-25", json!({"elicitation": {}})).await;
    // Begun, looked at, awaited (X-TSKX-05, 07, 08, 09).
    let created = wire.ask(as_task(1, "sleep")).await;
    let task = &created["result"]["task"];
    assert_eq!(
        (&task["status"], &task["ttl"]),
        (&json!("working"), &json!(60_000))
    );
    let id = task["taskId"].clone();
    assert_eq!(
        wire.ask(about(2, "get", &id)).await["result"]["status"],
        "working"
    );
    let result = wire.ask(about(3, "result", &id)).await;
    assert_eq!(text(&result), "awake");
    assert_eq!(
        result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"],
        id
    );
    assert_eq!(
        wire.ask(about(4, "get", &id)).await["result"]["status"],
        "completed"
    );
    assert_eq!(
        wire.ask(about(5, "cancel", &id)).await["error"]["code"],
        -32602
    );
    // Cancelled (X-TSKX-12).
    let created = wire.ask(as_task(6, "sleep")).await;
    let id = created["result"]["task"]["taskId"].clone();
    assert_eq!(
        wire.ask(about(7, "cancel", &id)).await["result"]["status"],
        "cancelled"
    );
    assert_eq!(
        wire.ask(about(8, "result", &id)).await["error"]["code"],
        -32603
    );
    // Failed (X-TSKX-15), also by a panic.
    for tool in ["fail", "panic"] {
        let created = wire.ask(as_task(9, tool)).await;
        let id = created["result"]["task"]["taskId"].clone();
        wire.ask(about(10, "result", &id)).await;
        assert_eq!(
            wire.ask(about(11, "get", &id)).await["result"]["status"],
            "failed",
            "{tool}"
        );
    }
    // A question names its task (X-TSKX-09).
    let created = wire.ask(as_task(12, "ask")).await;
    let id = created["result"]["task"]["taskId"].clone();
    let question = wire.next().await;
    assert_eq!(
        question["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"],
        id
    );
    assert_eq!(
        wire.ask(about(13, "get", &id)).await["result"]["status"],
        "input_required"
    );
    wire.send_text(
        &json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
            .to_string(),
    )
    .await;
    assert_eq!(text(&wire.ask(about(14, "result", &id)).await), "Decline");
    // Rules about who is a task (C-TSKX-03, X-TSKX-04).
    assert_eq!(
        wire.ask(call(15, "fail", json!({}))).await["error"]["code"],
        -32601
    );
    assert_eq!(text(&wire.ask(as_task(16, "plain")).await), "plain");
    assert_eq!(
        wire.ask(about(17, "get", &json!("unknown"))).await["error"]["code"],
        -32602
    );
    assert_eq!(
        wire.ask(about(18, "list", &id)).await["error"]["code"],
        -32601
    );
}

#[tokio::test(start_paused = true)]
async fn x_tskx_older_revisions_have_no_tasks() {
    let mut wire = Wire::legacy(&server(), "2025-06-18", json!({})).await;
    assert_eq!(text(&wire.ask(as_task(1, "sleep")).await), "awake");
    assert_eq!(
        wire.ask(about(2, "get", &json!("x"))).await["error"]["code"],
        -32601
    );
}

fn extended(id: u64, method: &str, params: Value) -> Value {
    let capabilities =
        json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    modern_with(id, method, params, capabilities)
}

// X-MOD-21, S-TSKE-05, S-TSKE-06, S-TSKE-14.
#[tokio::test(start_paused = true)]
async fn s_tske_tasks_of_the_extension() {
    let server = server();
    let mut wire = Wire::new(&server);
    let begin =
        |id: u64, tool: &str| extended(id, "tools/call", json!({"name": tool, "arguments": {}}));
    let created = wire.ask(begin(1, "ask")).await;
    assert_eq!(created["result"]["resultType"], "task");
    let id = created["result"]["taskId"].clone();
    let about = |number: u64, method: &str| {
        extended(number, &format!("tasks/{method}"), json!({"taskId": id}))
    };
    // Another connection sees the same task; a subscription is told of its changes (S-TSKE-16).
    let mut listening = Wire::new(&server);
    let filter = json!({"notifications": {"taskIds": [id]}});
    listening
        .send(&extended(7, "subscriptions/listen", filter))
        .await;
    assert_eq!(
        listening.next().await["params"]["notifications"]["taskIds"][0],
        id
    );
    let looked = wire.ask(about(2, "get")).await;
    assert_eq!(looked["result"]["status"], "input_required");
    let key = looked["result"]["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    let answers =
        json!({"taskId": id, "inputResponses": {key: {"action": "cancel"}, "unknown": {}}});
    let updated = wire.ask(extended(3, "tasks/update", answers)).await;
    assert_eq!(updated["result"]["resultType"], "complete");
    loop {
        let news = listening.next().await;
        assert_eq!(news["method"], "notifications/tasks");
        if news["params"]["status"] == "completed" {
            break;
        }
    }
    let done = wire.ask(about(4, "get")).await;
    assert_eq!(done["result"]["result"]["content"][0]["text"], "Cancel");
    assert_eq!(
        wire.ask(about(5, "cancel")).await["result"]["resultType"],
        "complete"
    );
    // A failure of the tool completes the task, a panic fails it (S-TSKE-13).
    for (tool, status) in [("fail", "completed"), ("panic", "failed")] {
        let created = wire.ask(begin(6, tool)).await;
        let id = &created["result"]["taskId"];
        let state = wire
            .ask(extended(7, "tasks/get", json!({"taskId": id})))
            .await;
        assert_eq!(state["result"]["status"], status, "{state}");
    }
    // Without the extension (S-TSKE-02, S-TSKE-04).
    let params = json!({"name": "sleep", "arguments": {}});
    let answer = wire
        .ask(modern_with(8, "tools/call", params, json!({})))
        .await;
    assert_eq!(text(&answer), "awake");
    let params = json!({"name": "fail", "arguments": {}});
    let answer = wire
        .ask(modern_with(9, "tools/call", params, json!({})))
        .await;
    assert_eq!(answer["error"]["code"], -32021);
    let answer = wire
        .ask(modern_with(
            10,
            "tasks/get",
            json!({"taskId": id}),
            json!({}),
        ))
        .await;
    assert_eq!(answer["error"]["code"], -32021);
    let answer = wire
        .ask(extended(11, "tasks/get", json!({"taskId": "unknown"})))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn s_tske_19_questions_before_a_task_are_settled_first() {
    let mut wire = Wire::new(&server());
    let mut params = json!({"name": "late", "arguments": {}});
    let first = wire.ask(extended(1, "tools/call", params.clone())).await;
    assert_eq!(first["result"]["resultType"], "input_required");
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({"input-1": {"action": "decline"}});
    let second = wire.ask(extended(2, "tools/call", params)).await;
    assert_eq!(second["result"]["resultType"], "task");
    let id = second["result"]["taskId"].clone();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let done = wire
        .ask(extended(3, "tasks/get", json!({"taskId": id})))
        .await;
    assert_eq!(done["result"]["result"]["content"][0]["text"], "worked");
}

#[tokio::test(start_paused = true)]
async fn x_tskx_16_tasks_expire() {
    let mut wire = Wire::legacy(&server(), "2025-11-25", json!({})).await;
    let created = wire.ask(as_task(1, "sleep")).await;
    let id = created["result"]["task"]["taskId"].clone();
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(
        wire.ask(about(2, "get", &id)).await["result"]["status"],
        "completed"
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        wire.ask(about(3, "get", &id)).await["error"]["code"],
        -32602
    );
}

/// The token of the request that began the task is good until the task has ended.
#[tokio::test(start_paused = true)]
async fn x_prog_05_a_task_tells_its_progress_until_it_ends() {
    let steps = Tool::new(
        "steps",
        "x",
        |context: Context, _: NoArguments| async move {
            for step in 1..=2_u32 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                context.progress(step.into(), None);
            }
            Ok("arrived")
        },
    );
    let server = Server::builder("test", "1").tool(steps.tasks(TaskSupport::Optional));
    let mut wire = Wire::legacy(&server.build().unwrap(), "2025-11-25", json!({})).await;
    let mut request = as_task(1, "steps");
    request["params"]["_meta"] = json!({"progressToken": "t"});
    let created = wire.ask(request).await;
    let id = created["result"]["task"]["taskId"].clone();
    for step in [1.0, 2.0] {
        let news = wire.next().await;
        assert_eq!(news["method"], "notifications/progress", "{news}");
        assert_eq!(news["params"]["progressToken"], "t");
        assert_eq!(news["params"]["progress"], step);
    }
    assert_eq!(text(&wire.ask(about(2, "result", &id)).await), "arrived");
    let (rest, _) = wire.finish().await;
    assert_eq!(rest, Vec::<Value>::new());
}
