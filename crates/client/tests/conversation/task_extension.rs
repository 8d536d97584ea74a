//! The tasks extension of 2026-07-28 (section 24 of the ledger): the server makes a task of a call,
//! and the caller need not know.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_client::protocol::{CallToolResult, ElicitResult, Revision, TaskStatus};
use attache_client::{Client, ElicitationModes, Error, Server, TaskStart, TasksExtension};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::opening::{assert_elapsed, connected, finish, plain, start};
use crate::peer::Peer;

const MODERN: Revision = Revision::V2026_07_28;

fn with_tasks(server: Server) -> Server {
    server.tasks_extension(TasksExtension::On)
}

fn task(status: &str) -> Value {
    json!({
        "resultType": "complete", "taskId": "t-1", "status": status, "ttlMs": null,
        "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z",
        "pollIntervalMs": 4000,
    })
}

type Call = JoinHandle<Result<CallToolResult, Error>>;

/// A call that the server makes a task of.
async fn begin(client: &Client, peer: &mut Peer) -> Call {
    let call = start(client.call("dig", json!({})));
    let request = peer.request("tools/call").await;
    let capabilities = &request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    // C-TSKE-01: declared with every request.
    let declared = json!({"io.modelcontextprotocol/tasks": {}});
    assert_eq!(capabilities["extensions"], declared);
    let mut created = task("working");
    created["resultType"] = json!("task");
    peer.answer(&request, created).await;
    call
}

async fn look(peer: &mut Peer) -> Value {
    let request = peer.request("tasks/get").await;
    assert_eq!(request["params"]["taskId"], "t-1");
    request
}

async fn tell_state(peer: &mut Peer, state: Value) {
    let request = look(peer).await;
    peer.answer(&request, state).await;
}

async fn complete(peer: &mut Peer, text: &str) {
    let mut done = task("completed");
    done["result"] = json!({
        "resultType": "complete", "content": [{"type": "text", "text": text}],
    });
    tell_state(peer, done).await;
}

// C-TSKE-08: asked for at the server's pace until it is done.
// C-TSKE-01.
#[tokio::test(start_paused = true)]
async fn a_call_follows_its_task_to_the_end() {
    let (client, mut peer) = connected(MODERN, with_tasks).await;
    let begun = Instant::now();
    let call = begin(&client, &mut peer).await;
    tell_state(&mut peer, task("working")).await;
    let mut slower = task("working");
    slower["pollIntervalMs"] = json!(10_000);
    tell_state(&mut peer, slower).await;
    complete(&mut peer, "gold").await;
    assert_elapsed(begun, Duration::from_secs(14));
    assert_eq!(call.await.unwrap().unwrap().text(), "gold");
    finish(client, peer).await;
}

// Whatever pace a server wishes, it is looked after neither in a loop nor hardly ever.
#[tokio::test(start_paused = true)]
async fn the_pace_of_looking_has_bounds() {
    for (wish, expected) in [
        (json!(0), Duration::from_millis(20)),
        (json!(-5), Duration::from_secs(1)),
        (json!("fast"), Duration::from_secs(1)),
        (json!(86_400_000), Duration::from_secs(60)),
    ] {
        let (client, mut peer) = connected(MODERN, with_tasks).await;
        let call = begin(&client, &mut peer).await;
        let mut state = task("working");
        state["pollIntervalMs"] = wish;
        tell_state(&mut peer, state).await;
        let begun = Instant::now();
        complete(&mut peer, "gold").await;
        assert_elapsed(begun, expected);
        call.await.unwrap().unwrap();
        finish(client, peer).await;
    }
}

/// A client whose user takes an hour for each answer.
fn thoughtful(asked: &Arc<AtomicUsize>) -> impl FnOnce(Server) -> Server {
    let asked = asked.clone();
    move |server| {
        with_tasks(server).on_elicitation(ElicitationModes::Form, move |params| {
            asked.fetch_add(1, Ordering::Relaxed);
            async move {
                sleep(Duration::from_secs(3600)).await;
                ElicitResult::accept(json!({"heard": params.message}).into())
            }
        })
    }
}

fn needing(keys: &[&str]) -> Value {
    let mut state = task("input_required");
    for key in keys {
        state["inputRequests"][key] = json!({
            "method": "elicitation/create",
            "params": {"message": key, "requestedSchema": {"type": "object", "properties": {}}},
        });
    }
    state
}

async fn update(peer: &mut Peer, keys: &[&str]) {
    let request = peer.request("tasks/update").await;
    assert_eq!(request["params"]["taskId"], "t-1");
    let mut expected = json!({});
    for key in keys {
        expected[key] = json!({"action": "accept", "content": {"heard": key}});
    }
    assert_eq!(request["params"]["inputResponses"], expected);
    peer.answer(&request, json!({})).await;
}

// C-TSKE-10, X-TSKE-11, S-TSKE-09: each key is shown and answered once, however often it comes.
#[tokio::test(start_paused = true)]
async fn questions_of_a_task_are_answered_once_by_update() {
    let asked = Arc::default();
    let (client, mut peer) = connected(MODERN, thoughtful(&asked)).await;
    let call = begin(&client, &mut peer).await;
    tell_state(&mut peer, needing(&["a", "b"])).await;
    update(&mut peer, &["a", "b"]).await;
    // The answers take effect eventually.
    tell_state(&mut peer, needing(&["a", "b"])).await;
    tell_state(&mut peer, needing(&["b", "c"])).await;
    update(&mut peer, &["c"]).await;
    // P6: the user took longer than any maximum, which does not count.
    complete(&mut peer, "gold").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "gold");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    finish(client, peer).await;
}

// C-MRTR-17: a question that cannot be answered ends the call, and the task with it.
#[tokio::test(start_paused = true)]
async fn a_refused_question_gives_the_task_up() {
    let (client, mut peer) = connected(MODERN, with_tasks).await;
    let call = begin(&client, &mut peer).await;
    tell_state(&mut peer, needing(&["a"])).await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    let request = peer.request("tasks/cancel").await;
    peer.answer(&request, json!({})).await;
    finish(client, peer).await;
}

// C-TSKE-12: who drops the call gives up its task, by the task's own method.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_cancels_its_task() {
    let (client, mut peer) = connected(MODERN, with_tasks).await;
    let call = begin(&client, &mut peer).await;
    tell_state(&mut peer, task("working")).await;
    peer.hears_nothing().await;
    call.abort();
    let request = peer.request("tasks/cancel").await;
    assert_eq!(request["params"]["taskId"], "t-1");
    peer.answer(&request, json!({})).await;
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_cancels_its_task() {
    let (client, mut peer) = connected(MODERN, with_tasks).await;
    let call = start(
        client
            .call("dig", json!({}))
            .cancel_when(sleep(Duration::from_secs(30))),
    );
    let request = peer.request("tools/call").await;
    let mut created = task("working");
    created["resultType"] = json!("task");
    peer.answer(&request, created).await;
    let asked = look(&mut peer).await;
    // The look that is under way is taken back like any request.
    peer.cancellation(&asked).await;
    let request = peer.request("tasks/cancel").await;
    peer.answer(&request, json!({})).await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error:?}");
    finish(client, peer).await;
}

// Dropping needs no runtime.
#[test]
fn a_call_may_be_dropped_outside_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let (client, mut peer) = runtime.block_on(connected(MODERN, with_tasks));
    let mut call = client.call("dig", json!({})).into_future();
    runtime.block_on(async {
        let serving = async {
            let request = peer.request("tools/call").await;
            let mut created = task("working");
            created["resultType"] = json!("task");
            peer.answer(&request, created).await;
            tell_state(&mut peer, task("working")).await;
        };
        tokio::select! {
            _ = &mut call => panic!("the task is not done"),
            () = serving => {}
        }
        // The call has to learn of the answer before it is dropped.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut call).await;
    });
    drop(call);
    runtime.block_on(finish(client, peer));
}

// S-TSKE-13: a task fails with an error of the protocol, and completes with an error of the tool.
#[tokio::test(start_paused = true)]
async fn a_task_ends_as_its_call_would() {
    let (client, mut peer) = connected(MODERN, with_tasks).await;
    let call = begin(&client, &mut peer).await;
    let mut failed = task("failed");
    failed["error"] = json!({"code": -32603, "message": "collapsed", "data": {"depth": 7}});
    tell_state(&mut peer, failed).await;
    match call.await.unwrap() {
        Err(Error::Server(error)) => {
            assert_eq!((error.method.as_str(), error.code), ("tools/call", -32603));
            assert_eq!(error.data.unwrap().as_str(), r#"{"depth":7}"#);
        }
        other => panic!("{other:?}"),
    }

    let call = begin(&client, &mut peer).await;
    let mut completed = task("completed");
    completed["result"] = json!({"resultType": "complete", "content": [], "isError": true});
    tell_state(&mut peer, completed).await;
    assert!(call.await.unwrap().unwrap().is_error);

    let call = begin(&client, &mut peer).await;
    tell_state(&mut peer, task("cancelled")).await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error:?}");

    for status in ["completed", "failed"] {
        let call = begin(&client, &mut peer).await;
        tell_state(&mut peer, task(status)).await;
        let error = call.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    }
    finish(client, peer).await;
}

// S-TSKE-02, C-TSKE-03: only where it was declared, and only for tool calls.
// X-MOD-22.
#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_asked_for_is_invalid() {
    let mut created = task("working");
    created["resultType"] = json!("task");
    let (client, mut peer) = plain(MODERN).await;
    let call = start(client.call("dig", json!({})));
    let request = peer.request("tools/call").await;
    peer.answer(&request, created.clone()).await;
    assert!(matches!(call.await.unwrap(), Err(Error::Protocol { .. })));
    finish(client, peer).await;

    let (client, mut peer) = connected(MODERN, with_tasks).await;
    let read = start(client.read("note:1"));
    let request = peer.request("resources/read").await;
    peer.answer(&request, created).await;
    assert!(matches!(read.await.unwrap(), Err(Error::Protocol { .. })));
    finish(client, peer).await;
}

// Who wants to see the task gets it in hand; questions before it are answered all the same
// (S-TSKE-19).
#[tokio::test(start_paused = true)]
async fn a_task_can_be_taken_in_hand() {
    let asked = Arc::default();
    let (client, mut peer) = connected(MODERN, thoughtful(&asked)).await;
    let started = start({
        let client = client.clone();
        async move { client.call_as_task("dig", json!({}), None).await }
    });
    let request = peer.request("tools/call").await;
    assert!(request["params"].get("task").is_none());
    let question = needing(&["sure"])["inputRequests"].clone();
    peer.ask_back(&request, question, json!("state")).await;
    let request = peer.request("tools/call").await;
    assert_eq!(request["params"]["requestState"], "state");
    let mut created = task("working");
    created["resultType"] = json!("task");
    peer.answer(&request, created).await;
    let TaskStart::Running(handle) = started.await.unwrap().unwrap() else {
        panic!("the task was not noticed");
    };
    let state = start({
        let handle = handle.clone();
        async move { handle.state().await }
    });
    tell_state(&mut peer, task("working")).await;
    assert_eq!(state.await.unwrap().unwrap().status, TaskStatus::Working);
    let result = start(async move { handle.result(Duration::from_secs(60)).await });
    complete(&mut peer, "gold").await;
    assert_eq!(result.await.unwrap().unwrap().text(), "gold");
    finish(client, peer).await;
}
