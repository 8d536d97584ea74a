//! The error −32042 of 2025-11-25: the user has to visit pages before a request can succeed.

use std::sync::{Arc, Mutex};

use attache_client::protocol::{ElicitResult, Revision};
use attache_client::{Client, ElicitationModes, Error, Event, Limits, Meaning, Server};
use serde_json::{Value, json};

use crate::opening::{connected, finish, plain, soon, start};
use crate::peer::Peer;

const REVISION: Revision = Revision::V2025_11_25;

fn page(id: &str) -> Value {
    json!({
        "mode": "url", "message": "Sign in", "url": format!("https://pay.example/{id}"),
        "elicitationId": id,
    })
}

/// Which pages the user was sent to.
type Visited = Arc<Mutex<Vec<String>>>;

/// A client whose user visits every page but those that end in `refused`.
async fn visitor(rounds: usize) -> (Client, Peer, Visited) {
    let visited = Visited::default();
    let limits = Limits {
        rounds,
        ..Limits::default()
    };
    let configure = {
        let visited = visited.clone();
        move |server: Server| {
            server
                .limits(limits)
                .on_elicitation(ElicitationModes::FormAndUrl, move |params| {
                    let url = params.url.unwrap();
                    visited.lock().unwrap().push(url.clone());
                    async move {
                        if url.ends_with("refused") {
                            ElicitResult::decline()
                        } else {
                            ElicitResult::accept_url()
                        }
                    }
                })
        }
    };
    let (client, peer) = connected(REVISION, configure).await;
    (client, peer, visited)
}

async fn send_away(peer: &mut Peer, request: &Value, pages: &[&str]) {
    let pages: Vec<_> = pages.iter().map(|id| page(id)).collect();
    peer.refuse(request, -32042, json!({"elicitations": pages}))
        .await;
}

#[track_caller]
fn assert_sent_away<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    match outcome {
        Err(Error::Server(error)) => {
            assert_eq!(error.code, -32042);
            assert_eq!(error.meaning, Meaning::UrlElicitationRequired);
        }
        other => panic!("{other:?}"),
    }
}

// S-ELIC-16, C-ELIC-15: every page is offered, and the request repeated with a new id.
// X-ERR-03.
#[tokio::test(start_paused = true)]
async fn the_request_is_repeated_when_the_user_has_agreed_to_every_page() {
    let (client, mut peer, visited) = visitor(16).await;
    let call = start(client.call("pay", json!({"sum": 7})));
    let first = peer.request("tools/call").await;
    send_away(&mut peer, &first, &["one", "two"]).await;
    let second = peer.request("tools/call").await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["params"], first["params"]);
    peer.answer_text(&second, "paid").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "paid");
    let urls = ["https://pay.example/one", "https://pay.example/two"];
    assert_eq!(*visited.lock().unwrap(), urls);
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_page_ends_the_call_with_the_servers_error() {
    let (client, mut peer, visited) = visitor(16).await;
    let call = start(client.call("pay", json!({})));
    let request = peer.request("tools/call").await;
    send_away(&mut peer, &request, &["refused", "two"]).await;
    assert_sent_away(call.await.unwrap());
    assert_eq!(*visited.lock().unwrap(), ["https://pay.example/refused"]);
    finish(client, peer).await;
}

// C-ELIC-12: without a user who can be asked nothing is visited.
#[tokio::test(start_paused = true)]
async fn a_client_without_that_mode_gets_the_error_as_it_came() {
    for data in [
        json!({"elicitations": [page("one")]}),
        json!({"elicitations": []}),
        Value::Null,
    ] {
        let (client, mut peer) = plain(REVISION).await;
        let call = start(client.call("pay", json!({})));
        let request = peer.request("tools/call").await;
        peer.refuse(&request, -32042, data).await;
        assert_sent_away(call.await.unwrap());
        finish(client, peer).await;
    }
}

// C-MRTR-18: the cap of rounds is the same, and the user is not sent away in vain.
#[tokio::test(start_paused = true)]
async fn fault_52_visits_are_capped_exactly() {
    let (client, mut peer, visited) = visitor(2).await;
    let call = start(client.call("pay", json!({})));
    for _ in 0..2 {
        let request = peer.request("tools/call").await;
        send_away(&mut peer, &request, &["one"]).await;
    }
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    assert_eq!(visited.lock().unwrap().len(), 1);
    finish(client, peer).await;
}

// X-ELIC-17: the end of a visit is told to whoever listens; malformed ones are reported.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_visit_is_an_event() {
    let (client, mut peer, _) = visitor(16).await;
    let mut events = client.events();
    peer.notify(
        "notifications/elicitation/complete",
        json!({"elicitationId": "one"}),
    )
    .await;
    let expected = Event::ElicitationComplete {
        id: "one".to_owned(),
    };
    assert_eq!(*soon(events.next()).await.unwrap(), expected);
    peer.notify("notifications/elicitation/complete", json!({}))
        .await;
    assert!(matches!(
        *soon(events.next()).await.unwrap(),
        Event::Violation(_)
    ));
    finish(client, peer).await;
}
