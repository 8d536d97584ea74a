//! P6, second half: no time counts while the user is being asked, in either era.

use std::time::Duration;

use attache_client::protocol::{ElicitResult, Revision};
use attache_client::{Client, ElicitationModes, Error, Limits, Server};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::opening::{assert_elapsed, connected, finish, seconds, start};
use crate::peer::Peer;

const HOUR: Duration = Duration::from_secs(3600);

/// A client whose user thinks that long about every question and then declines.
fn pensive(thinking: Duration) -> impl FnOnce(Server) -> Server {
    move |server| {
        server.on_elicitation(ElicitationModes::Form, move |_| async move {
            sleep(thinking).await;
            ElicitResult::decline()
        })
    }
}

fn question() -> Value {
    json!({"message": "Really?", "requestedSchema": {"type": "object", "properties": {}}})
}

async fn ask(peer: &mut Peer, id: &str) {
    peer.ask(json!(id), "elicitation/create", question()).await;
}

async fn declined(peer: &mut Peer, id: &str) {
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}});
    assert_eq!(peer.next().await, answer);
}

fn questions() -> Value {
    json!({"q": {"method": "elicitation/create", "params": question()}})
}

#[track_caller]
fn assert_timed_out<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    assert!(
        matches!(outcome, Err(Error::TimedOut { .. })),
        "{outcome:?}"
    );
}

/// When an unanswered legacy call ends if the user is asked at `asked` for `thinking`.
async fn end_of_a_legacy_call(asked: Duration, thinking: Duration) -> Duration {
    let (client, mut peer) = connected(Revision::V2025_11_25, pensive(thinking)).await;
    let begun = Instant::now();
    let call = start(client.call("slow", json!({})));
    let request = peer.request("tools/call").await;
    sleep(asked).await;
    ask(&mut peer, "q").await;
    declined(&mut peer, "q").await;
    assert_elapsed(begun, asked + thinking);
    peer.cancellation(&request).await;
    let ended = begun.elapsed();
    assert_timed_out(call.await.unwrap());
    finish(client, peer).await;
    ended
}

#[tokio::test(start_paused = true)]
async fn p6_a_legacy_call_does_not_age_while_the_user_is_asked() {
    for (asked, thinking) in [
        (seconds(10), seconds(30)),
        (seconds(50), 2 * HOUR),
        (seconds(0), 30 * HOUR),
    ] {
        let ended = end_of_a_legacy_call(asked, thinking).await;
        let expected = thinking + seconds(60);
        assert!(
            ended >= expected && ended < expected + Duration::from_millis(10),
            "asked after {asked:?} for {thinking:?}: {ended:?}"
        );
    }
}

// The maximum is the machine's time as well.
#[tokio::test(start_paused = true)]
async fn p6_the_maximum_of_a_legacy_call_does_not_pass_while_the_user_is_asked() {
    let (client, mut peer) = connected(Revision::V2025_11_25, pensive(HOUR)).await;
    let begun = Instant::now();
    let call = start(client.call("index", json!({})).on_progress(|_| ()));
    let request = peer.request("tools/call").await;
    for step in 1..=5 {
        sleep(seconds(50)).await;
        peer.progress(&request, f64::from(step)).await;
    }
    ask(&mut peer, "q").await;
    declined(&mut peer, "q").await;
    assert_elapsed(begun, seconds(250) + HOUR);
    for step in 6.. {
        match timeout(seconds(50), peer.next()).await {
            Ok(message) => {
                assert_eq!(message["method"], "notifications/cancelled");
                break;
            }
            Err(_) => peer.progress(&request, f64::from(step)).await,
        }
    }
    assert_elapsed(begun, seconds(600) + HOUR);
    assert_timed_out(call.await.unwrap());
    finish(client, peer).await;
}

// An answer is an answer, also while the user is still thinking.
#[tokio::test(start_paused = true)]
async fn p6_an_answer_does_not_wait_for_the_user() {
    let (client, mut peer) = connected(Revision::V2025_11_25, pensive(HOUR)).await;
    let begun = Instant::now();
    let call = start(client.call("slow", json!({})));
    let request = peer.request("tools/call").await;
    sleep(seconds(50)).await;
    ask(&mut peer, "q").await;
    sleep(seconds(50)).await;
    peer.answer_text(&request, "never mind").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "never mind");
    assert_elapsed(begun, seconds(100));
    declined(&mut peer, "q").await;
    finish(client, peer).await;
}

// The end of the connection is the end of its calls, whoever is thinking.
#[tokio::test(start_paused = true)]
async fn p6_a_lost_connection_does_not_wait_for_the_user() {
    let (client, mut peer) = connected(Revision::V2025_11_25, pensive(HOUR)).await;
    let begun = Instant::now();
    let call = start(client.call("slow", json!({})));
    peer.request("tools/call").await;
    ask(&mut peer, "q").await;
    sleep(seconds(100)).await;
    peer.close_output().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
    assert_elapsed(begun, seconds(100));
    finish(client, peer).await;
}

// A question that is withdrawn is asked no more, so the clock goes on.
#[tokio::test(start_paused = true)]
async fn p6_the_clock_goes_on_when_the_question_is_withdrawn() {
    let (client, mut peer) = connected(Revision::V2025_11_25, pensive(HOUR)).await;
    let begun = Instant::now();
    let call = start(client.call("slow", json!({})));
    let request = peer.request("tools/call").await;
    sleep(seconds(50)).await;
    ask(&mut peer, "q").await;
    sleep(seconds(100)).await;
    peer.notify("notifications/cancelled", json!({"requestId": "q"}))
        .await;
    peer.cancellation(&request).await;
    assert_elapsed(begun, seconds(160));
    assert_timed_out(call.await.unwrap());
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn p6_a_modern_call_does_not_age_while_the_user_is_asked() {
    let (client, mut peer) = connected(Revision::V2026_07_28, pensive(2 * HOUR)).await;
    let begun = Instant::now();
    let call = start(client.call("slow", json!({})));
    let request = peer.request("tools/call").await;
    sleep(seconds(50)).await;
    peer.ask_back(&request, questions(), Value::Null).await;
    let again = peer.request("tools/call").await;
    assert_elapsed(begun, seconds(50) + 2 * HOUR);
    peer.cancellation(&again).await;
    assert_elapsed(begun, seconds(110) + 2 * HOUR);
    assert_timed_out(call.await.unwrap());
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn p6_the_maximum_of_a_modern_call_does_not_pass_while_the_user_is_asked() {
    let limits = Limits {
        rounds: 100,
        ..Limits::default()
    };
    let (client, mut peer) = connected(Revision::V2026_07_28, |server| {
        pensive(HOUR)(server.limits(limits))
    })
    .await;
    let begun = Instant::now();
    let call = start(client.call("slow", json!({})));
    let mut rounds = 0;
    loop {
        let request = peer.request("tools/call").await;
        match timeout(seconds(45), peer.next()).await {
            Ok(message) => {
                assert_eq!(message["method"], "notifications/cancelled");
                break;
            }
            Err(_) => peer.ask_back(&request, questions(), Value::Null).await,
        }
        rounds += 1;
    }
    assert_eq!(rounds, 13);
    assert_elapsed(begun, seconds(600) + 13 * HOUR);
    assert_timed_out(call.await.unwrap());
    finish(client, peer).await;
}

/// Two calls at once, the first of which has a question for the user; when the second ends.
async fn end_of_the_other_call(client: Client, peer: &mut Peer) -> Duration {
    let begun = Instant::now();
    let asking = start(client.call("asking", json!({})));
    let first = peer.request("tools/call").await;
    let silent = start(client.call("silent", json!({})));
    let second = peer.request("tools/call").await;
    if peer.is_modern() {
        peer.ask_back(&first, questions(), Value::Null).await;
    } else {
        ask(peer, "q").await;
    }
    let mut ended = None;
    let mut answered = false;
    while ended.is_none() || !answered {
        let message = peer.next().await;
        if message["params"]["requestId"] == second["id"] {
            ended = Some(begun.elapsed());
        } else if message["method"] == "tools/call" {
            peer.answer_text(&message, "done").await;
            answered = true;
        } else {
            assert_eq!(message["id"], "q", "{message}");
            peer.answer_text(&first, "done").await;
            answered = true;
        }
    }
    assert_timed_out(silent.await.unwrap());
    assert_eq!(asking.await.unwrap().unwrap().text(), "done");
    ended.unwrap()
}

// A modern question belongs to its call, so only that call waits. A legacy one may belong to any.
#[tokio::test(start_paused = true)]
async fn p6_a_question_stops_only_the_clocks_it_may_concern() {
    for (revision, expected) in [
        (Revision::V2026_07_28, seconds(60)),
        (Revision::V2025_11_25, seconds(60) + HOUR),
    ] {
        let (client, mut peer) = connected(revision, pensive(HOUR)).await;
        let ended = end_of_the_other_call(client.clone(), &mut peer).await;
        assert!(
            ended >= expected && ended < expected + Duration::from_millis(10),
            "{revision}: {ended:?}"
        );
        finish(client, peer).await;
    }
}
