//! Requests that a server sends by itself (fault 53): always answered, in the modern era with a
//! refusal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_client::protocol::{ElicitResult, Revision, Root};
use attache_client::{ElicitationModes, Error, Event, Limits, Server};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::opening::{LEGACY, connected, finish, finish_with_liberties, plain, soon, until};
use crate::peer::Peer;

fn question() -> Value {
    json!({"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}})
}

async fn elicit(peer: &mut Peer, id: impl Into<Value>) {
    peer.ask(id.into(), "elicitation/create", question()).await;
}

/// The error code of the next answer, which is to the request `id`.
async fn refusal_of(peer: &mut Peer, id: impl Into<Value>) -> i64 {
    let answer = peer.next().await;
    assert_eq!(answer["id"], id.into(), "{answer}");
    answer["error"]["code"].as_i64().unwrap()
}

async fn declined(peer: &mut Peer, id: impl Into<Value>) {
    let answer = json!({"jsonrpc": "2.0", "id": id.into(), "result": {"action": "decline"}});
    assert_eq!(peer.next().await, answer);
}

// X-PING-01, S4's row 21: every request gets an answer, in the type of its id.
// C-ERR-10.
#[tokio::test(start_paused = true)]
async fn fault_53_a_legacy_server_is_always_answered() {
    for revision in LEGACY {
        let (client, mut peer) = plain(revision).await;
        for (id, method) in [
            (json!(0), "ping"),
            (json!(-3), "what/ever"),
            (json!("a"), "ping"),
            (json!(""), "what/ever"),
            (json!(9_007_199_254_740_993_u64), "ping"),
        ] {
            peer.say(json!({"jsonrpc": "2.0", "id": id, "method": method}))
                .await;
            if method == "ping" {
                let pong = json!({"jsonrpc": "2.0", "id": id, "result": {}});
                assert_eq!(peer.next().await, pong);
            } else {
                assert_eq!(refusal_of(&mut peer, id).await, -32601);
            }
        }
        finish(client, peer).await;
    }
}

// A modern server may not ask. One that does is told so, and not left to wait.
#[tokio::test(start_paused = true)]
async fn fault_53_a_modern_server_that_asks_is_refused_and_counted() {
    let (client, mut peer) = connected(Revision::V2026_07_28, |server| {
        server.roots([Root::new("file:///work")])
    })
    .await;
    let mut events = client.events();
    for (count, method) in ["ping", "roots/list", "what/ever"].into_iter().enumerate() {
        peer.ask(json!(method), method, json!({})).await;
        let event = soon(events.next()).await.unwrap();
        let expected =
            format!("the server sent a request ({method}), which revision 2026-07-28 forbids");
        assert_eq!(*event, Event::Violation(expected));
        assert_eq!(client.statistics().violations, count as u64 + 1);
        assert_eq!(refusal_of(&mut peer, method).await, -32600);
    }
    finish_with_liberties(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_still_answers() {
    let (client, mut peer) = connected(Revision::V2025_11_25, |server| {
        server.on_elicitation(ElicitationModes::Form, |params| async move {
            assert_ne!(params.message, "Go on?", "this handler fails");
            ElicitResult::decline()
        })
    })
    .await;
    elicit(&mut peer, 1).await;
    assert_eq!(refusal_of(&mut peer, 1).await, -32603);
    // The connection is none the worse for it.
    let mut other = question();
    other["message"] = json!("And now?");
    peer.ask(json!(2), "elicitation/create", other).await;
    declined(&mut peer, 2).await;
    finish(client, peer).await;
}

/// A client whose user declines each question when a permit is given, and how many are open.
async fn gated(
    limit: usize,
) -> (
    attache_client::Client,
    Peer,
    Arc<Semaphore>,
    Arc<AtomicUsize>,
) {
    let gate = Arc::new(Semaphore::new(0));
    let open = Arc::new(AtomicUsize::new(0));
    let limits = Limits {
        server_requests: limit,
        ..Limits::default()
    };
    let configure = {
        let (gate, open) = (gate.clone(), open.clone());
        move |server: Server| {
            server
                .limits(limits)
                .on_elicitation(ElicitationModes::Form, move |_| {
                    let question = Open::new(&open);
                    let gate = gate.clone();
                    async move {
                        gate.acquire().await.unwrap().forget();
                        drop(question);
                        ElicitResult::decline()
                    }
                })
        }
    };
    let (client, peer) = connected(Revision::V2025_11_25, configure).await;
    (client, peer, gate, open)
}

/// A question that is being looked at.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

// X-SAMP-11.
#[tokio::test(start_paused = true)]
async fn questions_beyond_the_limit_are_refused_at_once() {
    let (client, mut peer, gate, open) = gated(2).await;
    elicit(&mut peer, 1).await;
    elicit(&mut peer, 2).await;
    until(|| open.load(Ordering::Relaxed) == 2).await;
    elicit(&mut peer, 3).await;
    assert_eq!(refusal_of(&mut peer, 3).await, -32603);
    // A ping costs nothing and is answered all the same.
    peer.say(json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}))
        .await;
    assert_eq!(peer.next().await["id"], 4);
    // One answer makes room for one question.
    gate.add_permits(1);
    declined(&mut peer, 1).await;
    elicit(&mut peer, 5).await;
    until(|| open.load(Ordering::Relaxed) == 2).await;
    elicit(&mut peer, 6).await;
    assert_eq!(refusal_of(&mut peer, 6).await, -32603);
    gate.add_permits(2);
    declined(&mut peer, 2).await;
    declined(&mut peer, 5).await;
    finish(client, peer).await;
}

// X-BASE-03: an id that is being answered cannot be used again.
#[tokio::test(start_paused = true)]
async fn a_question_with_an_id_in_use_is_refused() {
    let (client, mut peer, gate, open) = gated(8).await;
    elicit(&mut peer, "same").await;
    elicit(&mut peer, "same").await;
    assert_eq!(refusal_of(&mut peer, "same").await, -32600);
    until(|| open.load(Ordering::Relaxed) == 1).await;
    gate.add_permits(1);
    declined(&mut peer, "same").await;
    finish(client, peer).await;
}

// X-CANC-02, X-CANC-04: who takes a question back gets no answer, and the user is left in peace.
#[tokio::test(start_paused = true)]
async fn a_withdrawn_question_is_not_answered() {
    let (client, mut peer, gate, open) = gated(8).await;
    elicit(&mut peer, 1).await;
    elicit(&mut peer, "1").await;
    until(|| open.load(Ordering::Relaxed) == 2).await;
    for params in [
        json!({"requestId": 99}),
        json!({}),
        json!({"requestId": {}}),
        Value::Null,
    ] {
        peer.notify("notifications/cancelled", params).await;
    }
    peer.notify(
        "notifications/cancelled",
        json!({"requestId": 1, "reason": "moot"}),
    )
    .await;
    until(|| open.load(Ordering::Relaxed) == 1).await;
    gate.add_permits(2);
    declined(&mut peer, "1").await;
    peer.hears_nothing().await;
    finish(client, peer).await;
}

// Nobody is left to answer when the connection ends.
#[tokio::test(start_paused = true)]
async fn open_questions_end_with_the_connection() {
    let (client, mut peer, _gate, open) = gated(8).await;
    elicit(&mut peer, 1).await;
    until(|| open.load(Ordering::Relaxed) == 1).await;
    finish(client, peer).await;
    until(|| open.load(Ordering::Relaxed) == 0).await;
}

// C-ROOT-03: changed roots are announced to a legacy server, and told when asked for.
#[tokio::test(start_paused = true)]
async fn changed_roots_are_announced() {
    for revision in Revision::NEWEST_FIRST {
        let (client, mut peer) = connected(revision, |server| server.roots([])).await;
        client.set_roots([Root::new("file:///new")]).unwrap();
        if peer.is_modern() {
            peer.hears_nothing().await;
        } else {
            let params = peer.notification("notifications/roots/list_changed").await;
            assert_eq!(params, Value::Null);
            peer.ask(json!(1), "roots/list", json!({})).await;
            let roots = json!({"roots": [{"uri": "file:///new"}]});
            assert_eq!(peer.next().await["result"], roots);
        }
        finish(client, peer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn roots_that_were_not_declared_cannot_be_changed() {
    let (client, peer) = plain(Revision::V2025_11_25).await;
    let error = client.set_roots([Root::new("file:///new")]).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
    finish(client, peer).await;
}

// An answer that takes its time does not hold up those after it.
#[tokio::test(start_paused = true)]
async fn questions_are_answered_beside_each_other() {
    let (client, mut peer) = connected(Revision::V2025_11_25, |server| {
        server.on_elicitation(ElicitationModes::Form, |params| async move {
            let pause = params.message.parse().unwrap();
            sleep(Duration::from_secs(pause)).await;
            ElicitResult::decline()
        })
    })
    .await;
    for (id, seconds) in [(1, "30"), (2, "10"), (3, "20")] {
        let mut params = question();
        params["message"] = json!(seconds);
        peer.ask(json!(id), "elicitation/create", params).await;
    }
    for id in [2, 3, 1] {
        declined(&mut peer, id).await;
    }
    finish(client, peer).await;
}
