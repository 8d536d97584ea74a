//! How calls end when several things happen at once: exactly once, and in wire order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_client::protocol::{Ending, Revision};
use attache_client::{Client, Error};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::opening::{ERAS, assert_balanced, finish, plain, start, until};
use crate::peer::Peer;

/// How a caller gives up.
#[derive(Clone, Copy, Debug)]
enum GivingUp {
    Signalling,
    Dropping,
    TimingOut,
}

async fn yields(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// One call that is given up and answered at about the same moment.
async fn race(client: &Client, peer: &mut Peer, way: GivingUp, dice: &mut fastrand::Rng) {
    let before = client.statistics();
    let give_up_after = Duration::from_millis(1 + dice.u64(..3));
    let answer_after = Duration::from_millis(1 + dice.u64(..3));
    let (caller_yields, server_yields) = (dice.u64(..4), dice.u64(..4));
    let request = client.call("race", json!({}));
    let call = match way {
        GivingUp::Signalling => start(request.cancel_when(async move {
            sleep(give_up_after).await;
            yields(caller_yields).await;
        })),
        GivingUp::Dropping => start(request),
        GivingUp::TimingOut => start(request.timeout(give_up_after)),
    };
    if matches!(way, GivingUp::Dropping) {
        let handle = call.abort_handle();
        start(async move {
            sleep(give_up_after).await;
            yields(caller_yields).await;
            handle.abort();
        });
    }
    let request = peer.request("tools/call").await;
    sleep(answer_after).await;
    yields(server_yields).await;
    peer.answer_text(&request, "in time").await;

    let outcome = call.await.ok();
    // The answer has arrived, whatever it was worth.
    until(|| client.statistics().messages_in == before.messages_in + 1).await;
    let now = client.statistics();
    let ended = |ending| now.calls.count(ending) - before.calls.count(ending);
    let given_up = ended(Ending::Cancelled) + ended(Ending::TimedOut);
    assert_eq!(ended(Ending::Result) + given_up, 1, "exactly one ending");
    assert_eq!(now.late_answers - before.late_answers, given_up);
    match outcome {
        Some(Ok(answer)) => assert_eq!((answer.text().as_str(), given_up), ("in time", 0)),
        Some(Err(Error::Cancelled { .. } | Error::TimedOut { .. })) => assert_eq!(given_up, 1),
        Some(Err(other)) => panic!("{other:?}"),
        // A dropped call tells its caller nothing.
        None => assert!(matches!(way, GivingUp::Dropping)),
    }
    if given_up == 1 {
        peer.cancellation(&request).await;
    }
}

#[tokio::test(start_paused = true)]
async fn fault_44_giving_up_and_the_answer_race_to_exactly_one_outcome() {
    for revision in ERAS {
        for way in [
            GivingUp::Signalling,
            GivingUp::Dropping,
            GivingUp::TimingOut,
        ] {
            let (client, mut peer) = plain(revision).await;
            let handshake = client.statistics().calls.count(Ending::Result);
            for seed in 0..200 {
                race(&client, &mut peer, way, &mut fastrand::Rng::with_seed(seed)).await;
                assert_balanced(&client);
            }
            let calls = client.statistics().calls;
            let results = calls.count(Ending::Result) - handshake;
            assert!((20..180).contains(&results), "{way:?} was no race: {calls}");
            finish(client, peer).await;
        }
    }
}

// The same on two threads, where nothing decides the order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_44_the_race_on_two_threads() {
    let (client, mut peer) = plain(Revision::V2025_11_25).await;
    let serving = start(async move {
        while let Some(line) = peer.line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "tools/call" {
                peer.answer_text(&message, "in time").await;
            }
        }
        peer
    });
    let (mut results, mut cancelled) = (0, 0);
    for seed in 0..500 {
        let signal = Arc::new(Notify::new());
        let call = start(client.call("race", json!({})).cancel_when({
            let signal = signal.clone();
            async move { signal.notified().await }
        }));
        yields(fastrand::Rng::with_seed(seed).u64(..6)).await;
        signal.notify_one();
        match call.await.unwrap() {
            Ok(answer) => {
                assert_eq!(answer.text(), "in time");
                results += 1;
            }
            Err(Error::Cancelled { .. }) => cancelled += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    client.close().await;
    let peer = serving.await.unwrap();
    assert_eq!(results + cancelled, 500);
    let calls = client.statistics().calls;
    assert_eq!(calls.issued, 501);
    assert_eq!(
        calls.count(Ending::Result) + calls.count(Ending::Cancelled),
        501
    );
    // An answer may arrive in the very moment in which its caller turns away; never the reverse.
    assert!(
        calls.count(Ending::Result) > results,
        "{calls}, {results} seen"
    );
    assert_balanced(&client);
    peer.record.check_against_schema();
}

// X-PROG-02: what came before the answer is heard before it, in order, also in one write.
#[tokio::test(start_paused = true)]
async fn fault_48_progress_next_to_the_answer_is_delivered_in_wire_order() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let call = start({
            let request = client.call("index", json!({})).on_progress({
                let heard = heard.clone();
                move |note| heard.lock().unwrap().push(note.message.unwrap())
            });
            let heard = heard.clone();
            async move {
                let answer = request.await.unwrap();
                heard.lock().unwrap().push(answer.text());
            }
        });
        let request = peer.request("tools/call").await;
        let token = &request["params"]["_meta"]["progressToken"];
        let note = |progress: u32, text: &str| {
            json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": progress, "message": text},
            })
        };
        let answer = json!({
            "jsonrpc": "2.0", "id": request["id"],
            "result": {"resultType": "complete", "content": [{"type": "text", "text": "done"}]},
        });
        let after = note(4, "too late");
        let lines = [
            note(1, "one"),
            note(2, "two"),
            note(3, "three"),
            answer,
            after,
        ];
        let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
        peer.say_raw(&bytes).await;
        call.await.unwrap();
        assert_eq!(*heard.lock().unwrap(), ["one", "two", "three", "done"]);
        assert_eq!(client.statistics().ignored_progress, 1);
        finish(client, peer).await;
    }
}

// C-CANC-08, X-CANC-03: a call that has ended is not cancelled any more.
#[tokio::test(start_paused = true)]
async fn a_finished_call_is_not_cancelled() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let signal = Arc::new(Notify::new());
        let call = start(client.call("quick", json!({})).cancel_when({
            let signal = signal.clone();
            async move { signal.notified().await }
        }));
        let request = peer.request("tools/call").await;
        peer.answer_text(&request, "done").await;
        assert_eq!(call.await.unwrap().unwrap().text(), "done");
        signal.notify_one();
        peer.hears_nothing().await;
        finish(client, peer).await;
    }
}
