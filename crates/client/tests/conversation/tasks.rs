//! The experimental tasks of 2025-11-25 (section 23 of the ledger): the client asks for them.

use std::time::Duration;

use attache_client::protocol::{ElicitResult, Json, Revision, TaskStatus};
use attache_client::{Client, ElicitationModes, Error, Server, TaskHandle, TaskStart};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::opening::{LEGACY, assert_elapsed, connected, connected_to, finish, plain, start};
use crate::peer::Peer;

const REVISION: Revision = Revision::V2025_11_25;
const RELATED: &str = "io.modelcontextprotocol/related-task";
const HOUR: Duration = Duration::from_secs(3600);

fn task(status: &str) -> Value {
    json!({
        "taskId": "t-1", "status": status, "createdAt": "2025-11-25T00:00:00Z",
        "lastUpdatedAt": "2025-11-25T00:00:00Z", "ttl": 60_000, "pollInterval": 5000,
    })
}

/// Calls a tool as a task, which the server grants.
async fn begin(client: &Client, peer: &mut Peer) -> TaskHandle {
    let started = start({
        let client = client.clone();
        async move {
            client
                .call_as_task("dig", json!({"deep": true}), Some(HOUR))
                .await
        }
    });
    let request = peer.request("tools/call").await;
    let params = json!({
        "name": "dig", "arguments": {"deep": true}, "task": {"ttl": 3_600_000},
    });
    assert_eq!(request["params"], params);
    peer.answer(&request, json!({"task": task("working")}))
        .await;
    match started.await.unwrap().unwrap() {
        TaskStart::Running(handle) => handle,
        TaskStart::Finished(result) => panic!("{result:?}"),
    }
}

/// Answers the next `tasks/get`.
async fn tell_state(peer: &mut Peer, status: &str) {
    let request = peer.request("tasks/get").await;
    assert_eq!(request["params"], json!({"taskId": "t-1"}));
    peer.answer(&request, task(status)).await;
}

// X-TSKX-05, X-TSKX-07, X-TSKX-08: state at the server's pace, then the result.
// X-TSKX-11.
#[tokio::test(start_paused = true)]
async fn a_task_is_asked_for_until_it_is_done() {
    let (client, mut peer) = plain(REVISION).await;
    let handle = begin(&client, &mut peer).await;
    assert_eq!(handle.id(), "t-1");
    let state = start({
        let handle = handle.clone();
        async move { handle.state().await }
    });
    tell_state(&mut peer, "working").await;
    let state = state.await.unwrap().unwrap();
    assert_eq!(state.status, TaskStatus::Working);
    assert_eq!(state.poll_interval, Duration::from_secs(5));

    let begun = Instant::now();
    let result = start(async move { handle.result(HOUR).await });
    for _ in 0..3 {
        tell_state(&mut peer, "working").await;
    }
    tell_state(&mut peer, "completed").await;
    assert_elapsed(begun, Duration::from_secs(15));
    let request = peer.request("tasks/result").await;
    let mut answer = json!({"content": [{"type": "text", "text": "gold"}]});
    answer["_meta"] = json!({RELATED: {"taskId": "t-1"}});
    peer.answer(&request, answer).await;
    assert_eq!(result.await.unwrap().unwrap().text(), "gold");
    finish(client, peer).await;
}

// C-TSKX-10, X-TSKX-09: the questions of a task come as requests, and their answers name the task.
#[tokio::test(start_paused = true)]
async fn a_task_that_needs_input_asks_during_the_result() {
    let (client, mut peer) = connected(REVISION, |server: Server| {
        server.on_elicitation(ElicitationModes::Form, |_| async {
            sleep(HOUR).await;
            ElicitResult::accept(json!({"deeper": true}).into())
        })
    })
    .await;
    let handle = begin(&client, &mut peer).await;
    let result = start(async move { handle.result(Duration::from_secs(60)).await });
    tell_state(&mut peer, "input_required").await;
    let request = peer.request("tasks/result").await;
    let mut question = json!({"message": "Deeper?", "requestedSchema": {
        "type": "object", "properties": {"deeper": {"type": "boolean"}},
    }});
    question["_meta"] = json!({RELATED: {"taskId": "t-1"}});
    peer.ask(json!("q"), "elicitation/create", question).await;
    let answer = peer.next().await;
    assert_eq!(
        answer["result"],
        json!({
            "action": "accept", "content": {"deeper": true},
            "_meta": {RELATED: {"taskId": "t-1"}},
        })
    );
    // P6: the hour of the user does not count.
    peer.answer_text(&request, "gold").await;
    assert_eq!(result.await.unwrap().unwrap().text(), "gold");
    finish(client, peer).await;
}

// X-TSKX-08, X-TSKX-15: the outcome of a task is the outcome of its request.
#[tokio::test(start_paused = true)]
async fn a_failed_task_fails_like_its_request() {
    let (client, mut peer) = plain(REVISION).await;
    let handle = begin(&client, &mut peer).await;
    let result = start({
        let handle = handle.clone();
        async move { handle.result(HOUR).await }
    });
    tell_state(&mut peer, "failed").await;
    let request = peer.request("tasks/result").await;
    peer.answer(&request, json!({"content": [], "isError": true}))
        .await;
    assert!(result.await.unwrap().unwrap().is_error);

    let result = start(async move { handle.result(HOUR).await });
    tell_state(&mut peer, "failed").await;
    let request = peer.request("tasks/result").await;
    peer.refuse(&request, -32603, json!("collapsed")).await;
    match result.await.unwrap() {
        Err(Error::Server(error)) => assert_eq!(error.code, -32603),
        other => panic!("{other:?}"),
    }
    finish(client, peer).await;
}

// X-CANC-05, X-TSKX-12: a task is cancelled by its own method.
#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_by_request() {
    let (client, mut peer) = plain(REVISION).await;
    let handle = begin(&client, &mut peer).await;
    let cancelled = start(async move { handle.cancel().await });
    let request = peer.request("tasks/cancel").await;
    assert_eq!(request["params"], json!({"taskId": "t-1"}));
    peer.answer(&request, task("cancelled")).await;
    cancelled.await.unwrap().unwrap();

    // A task of an earlier connection is known by its id.
    let handle = client.task("t-0");
    let cancelled = start(async move { handle.cancel().await });
    let request = peer.request("tasks/cancel").await;
    assert_eq!(request["params"], json!({"taskId": "t-0"}));
    peer.refuse(&request, -32602, Value::Null).await;
    assert!(matches!(cancelled.await.unwrap(), Err(Error::Server(_))));
    finish(client, peer).await;
}

// P6: waiting for a task ends in time, and says how long it was.
#[tokio::test(start_paused = true)]
async fn a_task_that_never_ends_is_not_waited_for() {
    let (client, mut peer) = plain(REVISION).await;
    let handle = begin(&client, &mut peer).await;
    let begun = Instant::now();
    let patience = Duration::from_secs(12);
    let result = start(async move { handle.result(patience).await });
    for _ in 0..3 {
        tell_state(&mut peer, "working").await;
    }
    match result.await.unwrap() {
        Err(Error::TimedOut { after, .. }) => assert_eq!(after, patience),
        other => panic!("{other:?}"),
    }
    assert_elapsed(begun, patience);
    finish(client, peer).await;
}

// X-TSKX-04: a server may ignore the wish and answer at once.
#[tokio::test(start_paused = true)]
async fn a_server_may_answer_at_once() {
    let (client, mut peer) = plain(REVISION).await;
    let started = start({
        let client = client.clone();
        async move { client.call_as_task("dig", json!({}), None).await }
    });
    let request = peer.request("tools/call").await;
    assert_eq!(request["params"]["task"], json!({}));
    peer.answer_text(&request, "gold").await;
    match started.await.unwrap().unwrap() {
        TaskStart::Finished(result) => assert_eq!(result.text(), "gold"),
        TaskStart::Running(handle) => panic!("{handle:?}"),
    }
    finish(client, peer).await;
}

// X-TSKX-01, C-TSKX-02: no task without the server's word for it.
#[tokio::test(start_paused = true)]
async fn a_server_without_tasks_is_not_asked_for_one() {
    for revision in LEGACY {
        for tasks in [
            Value::Null,
            json!({}),
            json!({"list": {}, "requests": {"tools": {}}}),
        ] {
            let mut capabilities = json!({"tools": {}});
            if !tasks.is_null() {
                capabilities["tasks"] = tasks;
            }
            let (client, peer) = connected_to(revision, capabilities, |server| server).await;
            let error = client
                .call_as_task("dig", json!({}), None)
                .await
                .unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
            finish(client, peer).await;
        }
    }
}

// X-TSKX-14: tasks are listed over pages.
#[tokio::test(start_paused = true)]
async fn tasks_are_listed() {
    let (client, mut peer) = plain(REVISION).await;
    let listed = start({
        let client = client.clone();
        async move { client.list_tasks().await }
    });
    let request = peer.request("tasks/list").await;
    peer.answer(
        &request,
        json!({"tasks": [task("working")], "nextCursor": "more"}),
    )
    .await;
    let request = peer.request("tasks/list").await;
    assert_eq!(request["params"], json!({"cursor": "more"}));
    peer.answer(&request, json!({"tasks": [task("completed")]}))
        .await;
    let statuses: Vec<_> = listed
        .await
        .unwrap()
        .unwrap()
        .into_iter()
        .map(|task| task.status)
        .collect();
    assert_eq!(statuses, [TaskStatus::Working, TaskStatus::Completed]);
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn arguments_of_a_task_are_sent_as_they_are() {
    let (client, mut peer) = plain(REVISION).await;
    let text = r#"{"n":123456789012345678901234567890}"#;
    let started = start({
        let client = client.clone();
        let arguments = Json::parse(text).unwrap();
        async move { client.call_as_task("count", arguments, None).await }
    });
    let line = peer.line().await.unwrap();
    assert!(line.contains(&format!(r#""arguments":{text}"#)), "{line}");
    started.abort();
    peer.notification("notifications/cancelled").await;
    finish(client, peer).await;
}
