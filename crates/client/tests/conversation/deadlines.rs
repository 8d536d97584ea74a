//! P6: every wait for a server has an end, and nothing a server says can lift it.
//!
//! What happens to the clock while the user is being asked is in `user_time`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_client::protocol::{Ending, Revision, SubscriptionFilter};
use attache_client::{
    Client, ConnectError, EraChoice, Error, Limits, Server, TasksExtension, Timeouts,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::opening::{ERAS, assert_elapsed, connected, finish, plain, seconds, soon, start, until};
use crate::peer::Peer;

#[test]
fn p6_the_defaults_are_what_was_promised() {
    let timeouts = Timeouts::default();
    assert_eq!(timeouts.probe, seconds(3));
    assert_eq!(timeouts.start, seconds(60));
    assert_eq!(timeouts.request, seconds(60));
    assert_eq!(timeouts.read, seconds(60));
    assert_eq!(timeouts.call, seconds(60));
    assert_eq!(timeouts.maximum, seconds(600));
}

#[track_caller]
fn assert_timed_out<T: std::fmt::Debug>(outcome: Result<T, Error>, method: &str, after: Duration) {
    match outcome {
        Err(Error::TimedOut {
            method: of,
            after: waited,
            ..
        }) => {
            assert_eq!(of, method);
            assert!(
                waited >= after && waited < after + Duration::from_millis(10),
                "{method} waited {waited:?}, not {after:?}"
            );
        }
        other => panic!("{method}: {other:?}"),
    }
}

// X-INIT-15, X-INIT-16: an unanswered call ends and is taken back; a late answer does no harm.
// X-ERR-09.
#[tokio::test(start_paused = true)]
async fn p6_an_unanswered_call_ends_after_60_seconds() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let begun = Instant::now();
        let call = start(client.call("slow", json!({})));
        let request = peer.request("tools/call").await;
        peer.cancellation(&request).await;
        assert_elapsed(begun, seconds(60));
        assert_timed_out(call.await.unwrap(), "tools/call", seconds(60));
        peer.answer_text(&request, "late").await;
        until(|| client.statistics().late_answers == 1).await;
        assert_eq!(client.statistics().calls.count(Ending::TimedOut), 1);
        finish(client, peer).await;
    }
}

// X-INIT-17: each kind of request has its own deadline, and each request may have its own.
#[tokio::test(start_paused = true)]
async fn p6_each_kind_of_request_has_its_own_deadline() {
    let timeouts = Timeouts {
        request: seconds(1),
        read: seconds(2),
        call: seconds(3),
        maximum: seconds(4),
        ..Timeouts::default()
    };
    for revision in ERAS {
        let (client, mut peer) = connected(revision, |server| server.timeouts(timeouts)).await;
        let list = start({
            let client = client.clone();
            async move { client.list_tools().await.map(drop) }
        });
        let request = peer.request("tools/list").await;
        peer.cancellation(&request).await;
        assert_timed_out(list.await.unwrap(), "tools/list", seconds(1));

        let read = start(client.read("note:1"));
        let request = peer.request("resources/read").await;
        peer.cancellation(&request).await;
        assert_timed_out(read.await.unwrap(), "resources/read", seconds(2));

        let prompt = start(client.prompt("greet", [("name", "Ada")]));
        let request = peer.request("prompts/get").await;
        peer.cancellation(&request).await;
        assert_timed_out(prompt.await.unwrap(), "prompts/get", seconds(3));

        // Who asks for more patience than the maximum means it.
        for (asked, expected) in [(2, 2), (7, 7)] {
            let call = start(client.call("slow", json!({})).timeout(seconds(asked)));
            let request = peer.request("tools/call").await;
            peer.cancellation(&request).await;
            assert_timed_out(call.await.unwrap(), "tools/call", seconds(expected));
        }
        let call = start(client.call("slow", json!({})).maximum(seconds(1)));
        let request = peer.request("tools/call").await;
        peer.cancellation(&request).await;
        assert_timed_out(call.await.unwrap(), "tools/call", seconds(1));
        finish(client, peer).await;
    }
}

/// Reports progress on a call every `pause` until the client takes it back; how often that was.
async fn progress_until_cancelled(peer: &mut Peer, request: &Value, pause: Duration) -> u32 {
    let mut reported = 0;
    loop {
        match timeout(pause, peer.next()).await {
            Ok(message) => {
                assert_eq!(message["method"], "notifications/cancelled");
                assert_eq!(message["params"]["requestId"], request["id"]);
                return reported;
            }
            Err(_) => {
                reported += 1;
                peer.progress(request, f64::from(reported)).await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fault_47_progress_puts_the_time_out_off_but_never_the_maximum() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let notes = Arc::new(Mutex::new(0));
        let begun = Instant::now();
        let call = start(client.call("index", json!({})).on_progress({
            let notes = notes.clone();
            move |_| *notes.lock().unwrap() += 1
        }));
        let request = peer.request("tools/call").await;
        let reported = progress_until_cancelled(&mut peer, &request, seconds(45)).await;
        assert_elapsed(begun, seconds(600));
        assert_eq!(reported, 13);
        assert_eq!(*notes.lock().unwrap(), 13);
        assert_timed_out(call.await.unwrap(), "tools/call", seconds(600));

        // Progress that stops is as good as none.
        let begun = Instant::now();
        let call = start(client.call("index", json!({})).on_progress(|_| ()));
        let request = peer.request("tools/call").await;
        sleep(seconds(50)).await;
        peer.progress(&request, 1.0).await;
        peer.cancellation(&request).await;
        assert_elapsed(begun, seconds(110));
        assert_timed_out(call.await.unwrap(), "tools/call", seconds(110));
        finish(client, peer).await;
    }
}

// Progress that nobody asked for is none (fault 46), whatever token it names.
#[tokio::test(start_paused = true)]
async fn fault_47_progress_without_a_listener_extends_nothing() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let begun = Instant::now();
        let call = start(client.call("index", json!({})));
        let request = peer.request("tools/call").await;
        assert!(request["params"]["_meta"].get("progressToken").is_none());
        sleep(seconds(50)).await;
        let params = json!({"progressToken": request["id"], "progress": 1});
        peer.notify("notifications/progress", params).await;
        peer.cancellation(&request).await;
        assert_elapsed(begun, seconds(60));
        assert_timed_out(call.await.unwrap(), "tools/call", seconds(60));
        assert_eq!(client.statistics().ignored_progress, 1);
        finish(client, peer).await;
    }
}

/// Sends a burst of notes and the answer in one write, and tells which notes were heard.
async fn heard_of_a_burst(limit: usize, burst: u32) -> Vec<f64> {
    let limits = Limits {
        progress: limit,
        ..Limits::default()
    };
    let (client, mut peer) = connected(Revision::V2025_11_25, |server| server.limits(limits)).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let call = start(client.call("index", json!({})).on_progress({
        let heard = heard.clone();
        move |note| heard.lock().unwrap().push(note.progress)
    }));
    let request = peer.request("tools/call").await;
    let mut bytes = String::new();
    for progress in 1..=burst {
        let params = json!({"progressToken": request["id"], "progress": progress});
        let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        bytes.push_str(&format!("{note}\n"));
    }
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}});
    bytes.push_str(&format!("{answer}\n"));
    peer.say_raw(&bytes).await;
    call.await.unwrap().unwrap();
    finish(client, peer).await;
    std::mem::take(&mut *heard.lock().unwrap())
}

// X-PROG-04.
#[tokio::test(start_paused = true)]
async fn fault_47_a_flood_of_progress_is_bounded_and_the_newest_is_kept() {
    assert_eq!(heard_of_a_burst(3, 3).await, [1.0, 2.0, 3.0]);
    assert_eq!(heard_of_a_burst(3, 4).await, [2.0, 3.0, 4.0]);
    assert_eq!(heard_of_a_burst(3, 100).await, [98.0, 99.0, 100.0]);
}

// fault 33: whatever a server says before it answers, connecting ends after a minute.
#[tokio::test(start_paused = true)]
async fn p6_connecting_ends_after_60_seconds() {
    for (era, chatty) in [
        (EraChoice::Auto, false),
        (EraChoice::Auto, true),
        (EraChoice::Legacy, false),
        (EraChoice::Legacy, true),
    ] {
        let (server, stream) = Server::memory();
        let server = server.era(era);
        let begun = Instant::now();
        let connecting = start(async move { server.connect().await });
        let mut peer = Peer::new(stream, Revision::V2025_11_25);
        while chatty && !connecting.is_finished() {
            sleep(Duration::from_millis(700)).await;
            let params = json!({"level": "info", "data": "soon"});
            peer.notify("notifications/message", params.clone()).await;
            let params = json!({"progressToken": 1, "progress": 1});
            peer.notify("notifications/progress", params).await;
            if begun.elapsed() > seconds(59) {
                break;
            }
        }
        match connecting.await.unwrap() {
            Err(Error::Connect(ConnectError::TimedOut { after, .. })) => {
                assert_eq!(after, seconds(60));
            }
            other => panic!("{other:?}"),
        }
        assert_elapsed(begun, seconds(60));
    }
}

// Who never wants to give up may say so, in every way there is.
#[tokio::test(start_paused = true)]
async fn p6_for_ever_is_a_time_like_any_other() {
    let for_ever = Timeouts {
        probe: Duration::MAX,
        start_grace: Duration::MAX,
        start: Duration::MAX,
        request: Duration::MAX,
        read: Duration::MAX,
        call: Duration::MAX,
        maximum: Duration::MAX,
        write_stall: Duration::MAX,
        close_grace: Duration::MAX,
        close_terminate: Duration::MAX,
    };
    for revision in ERAS {
        let (client, mut peer) = connected(revision, |server| server.timeouts(for_ever)).await;
        let call = start(
            client
                .call("slow", json!({}))
                .timeout(Duration::MAX)
                .maximum(Duration::MAX)
                .on_progress(|_| ()),
        );
        let request = peer.request("tools/call").await;
        sleep(seconds(3600)).await;
        peer.progress(&request, 1.0).await;
        sleep(seconds(3600)).await;
        peer.answer_text(&request, "done").await;
        assert_eq!(call.await.unwrap().unwrap().text(), "done");

        let task = client.task("t-1");
        let result = start(async move { task.result(Duration::MAX).await });
        let request = peer.request("tasks/get").await;
        peer.refuse(&request, -32602, Value::Null).await;
        assert!(matches!(result.await.unwrap(), Err(Error::Server(_))));
        finish(client, peer).await;
    }
}

/// Whether the tools of a client are known, beside other work.
fn listing(client: &Client) -> tokio::task::JoinHandle<Result<(), Error>> {
    let client = client.clone();
    start(async move { client.list_tools().await.map(drop) })
}

// Waiting for room to write is part of waiting for the answer, not in addition to it.
#[tokio::test(start_paused = true)]
async fn p6_a_full_pipe_does_not_double_the_deadline() {
    let limits = Limits {
        write_queue: 1024,
        ..Limits::default()
    };
    let timeouts = Timeouts {
        write_stall: seconds(3600),
        ..Timeouts::default()
    };
    let (client, mut peer) = connected(Revision::V2025_11_25, |server| {
        server.limits(limits).timeouts(timeouts)
    })
    .await;
    let large = "x".repeat(200_000);
    let begun = Instant::now();
    let first = start(client.call("store", json!({"text": large})));
    sleep(seconds(1)).await;
    let second = listing(&client);
    sleep(seconds(49)).await;
    let stored = peer.request("tools/call").await;
    let list = peer.request("tools/list").await;
    assert_elapsed(begun, seconds(50));
    peer.cancellation(&stored).await;
    assert_elapsed(begun, seconds(60));
    assert_timed_out(first.await.unwrap(), "tools/call", seconds(60));
    peer.cancellation(&list).await;
    assert_elapsed(begun, seconds(61));
    assert_timed_out(second.await.unwrap(), "tools/list", seconds(60));
    finish(client, peer).await;
}

// Rounds of a call share its maximum: asking back gains a server no machine time.
#[tokio::test(start_paused = true)]
async fn p6_rounds_do_not_lift_the_maximum() {
    let limits = Limits {
        rounds: 1000,
        ..Limits::default()
    };
    let (client, mut peer) = connected(Revision::V2026_07_28, |server| server.limits(limits)).await;
    let begun = Instant::now();
    let call = start(client.call("dig", json!({})));
    let mut rounds = 0;
    let last = loop {
        let request = peer.request("tools/call").await;
        match timeout(seconds(45), peer.next()).await {
            Ok(message) => {
                assert_eq!(message["method"], "notifications/cancelled");
                assert_eq!(message["params"]["requestId"], request["id"]);
                break request;
            }
            Err(_) => {
                rounds += 1;
                peer.ask_back(&request, Value::Null, json!(format!("deeper {rounds}")))
                    .await;
            }
        }
    };
    // Repeats without a user take a pause in between, which counts as well.
    assert_elapsed(begun, seconds(600));
    assert_eq!(last["params"]["requestState"], format!("deeper {rounds}"));
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
    finish(client, peer).await;
}

// A task has the maximum of the call that made it; no interval or lifetime it names matters.
#[tokio::test(start_paused = true)]
async fn p6_a_task_does_not_lift_the_maximum() {
    let (client, mut peer) = connected(Revision::V2026_07_28, |server| {
        server.tasks_extension(TasksExtension::On)
    })
    .await;
    let begun = Instant::now();
    let call = start(client.call("dig", json!({})));
    let request = peer.request("tools/call").await;
    sleep(seconds(30)).await;
    let mut task = json!({
        "resultType": "task", "taskId": "t-1", "status": "working",
        "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "ttlMs": 31_536_000_000_u64, "pollIntervalMs": 31_536_000_000_u64,
    });
    peer.answer(&request, task.clone()).await;
    task["resultType"] = json!("complete");
    let mut looks = 0;
    loop {
        let message = peer.next().await;
        match message["method"].as_str() {
            Some("tasks/get") => {
                looks += 1;
                peer.answer(&message, task.clone()).await;
            }
            Some("tasks/cancel") => {
                peer.answer(&message, json!({})).await;
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_elapsed(begun, seconds(600));
    // At once, and then every minute, which is the longest interval there is.
    assert_eq!(looks, 10);
    assert_timed_out(call.await.unwrap(), "tools/call", seconds(600));
    finish(client, peer).await;
}

// C-SUBM-11: waiting for the acknowledgement has an end, listening has none.
#[tokio::test(start_paused = true)]
async fn p6_a_subscription_must_begin_in_time_and_may_last() {
    let (client, mut peer) = plain(Revision::V2026_07_28).await;
    let tools = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let watch_tools = |client: &Client| {
        let (client, tools) = (client.clone(), tools.clone());
        start(async move { client.watch_all(tools).await })
    };
    let begun = Instant::now();
    let failed = watch_tools(&client);
    let listen = peer.request("subscriptions/listen").await;
    peer.cancellation(&listen).await;
    assert_elapsed(begun, seconds(60));
    assert_timed_out(failed.await.unwrap(), "subscriptions/listen", seconds(60));

    let watching = watch_tools(&client);
    let listen = peer.request("subscriptions/listen").await;
    let granted = json!({"notifications": {"toolsListChanged": true}});
    peer.tell(&listen, "notifications/subscriptions/acknowledged", granted)
        .await;
    let mut watch = watching.await.unwrap().unwrap();
    sleep(seconds(24 * 3600)).await;
    peer.tell(&listen, "notifications/tools/list_changed", json!({}))
        .await;
    assert!(soon(watch.next()).await.is_some());
    drop(watch);
    peer.cancellation(&listen).await;
    finish(client, peer).await;
}
