//! Being told of changes by a modern server: one long request per watch (section 19 of the ledger).

use attache_client::protocol::{Ending, Revision, SubscriptionFilter};
use attache_client::{Change, Client, Error, Watch};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::opening::{finish, plain, soon, start, until};
use crate::peer::Peer;

const MODERN: Revision = Revision::V2026_07_28;
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const UPDATED: &str = "notifications/resources/updated";
const NOTE: &str = "note:1";

fn watching(client: &Client, uri: &str) -> JoinHandle<Result<Watch, Error>> {
    let (client, uri) = (client.clone(), uri.to_owned());
    start(async move { client.watch(uri).await })
}

fn resources(uris: &[&str]) -> Value {
    json!({"notifications": {"resourceSubscriptions": uris}})
}

/// A watch of one resource, and the request that holds it.
async fn watched(client: &Client, peer: &mut Peer, uri: &str) -> (Watch, Value) {
    let watch = watching(client, uri);
    let listen = peer.request("subscriptions/listen").await;
    // C-SUBM-01: what is wanted is named.
    let wanted = &listen["params"]["notifications"];
    assert_eq!(*wanted, json!({"resourceSubscriptions": [uri]}));
    peer.tell(&listen, ACKNOWLEDGED, resources(&[uri])).await;
    (watch.await.unwrap().unwrap(), listen)
}

fn change_of(uri: &str) -> Option<Change> {
    Some(Change::Resource {
        uri: uri.to_owned(),
    })
}

// C-STDIO-10, C-SUBM-09: messages are told apart by their subscription alone.
#[tokio::test(start_paused = true)]
async fn each_watch_hears_its_own_subscription() {
    let (client, mut peer) = plain(MODERN).await;
    let (mut first, one) = watched(&client, &mut peer, NOTE).await;
    let (mut second, two) = watched(&client, &mut peer, "note:2").await;
    peer.tell(&two, UPDATED, json!({"uri": "note:2"})).await;
    peer.tell(&one, UPDATED, json!({"uri": NOTE})).await;
    peer.notify(UPDATED, json!({"uri": NOTE})).await;
    peer.tell(&json!({"id": 99}), UPDATED, json!({"uri": NOTE}))
        .await;
    // A string for the number is the same subscription (fault 41).
    let text = json!({"id": one["id"].to_string()});
    peer.tell(&text, UPDATED, json!({"uri": "note:1/title"}))
        .await;
    assert_eq!(soon(first.next()).await, change_of(NOTE));
    assert_eq!(soon(first.next()).await, change_of("note:1/title"));
    assert_eq!(soon(second.next()).await, change_of("note:2"));
    drop(first);
    peer.cancellation(&one).await;
    drop(second);
    peer.cancellation(&two).await;
    finish(client, peer).await;
}

// Two watches of one resource are two subscriptions, and end apart.
#[tokio::test(start_paused = true)]
async fn two_watches_of_one_resource_are_two_subscriptions() {
    let (client, mut peer) = plain(MODERN).await;
    let (first, one) = watched(&client, &mut peer, NOTE).await;
    let (mut second, two) = watched(&client, &mut peer, NOTE).await;
    drop(first);
    peer.cancellation(&one).await;
    peer.tell(&two, UPDATED, json!({"uri": NOTE})).await;
    assert_eq!(soon(second.next()).await, change_of(NOTE));
    drop(second);
    peer.cancellation(&two).await;
    finish(client, peer).await;
}

// C-SUBM-05: the watch knows what the server agreed to.
#[tokio::test(start_paused = true)]
async fn a_watch_tells_what_was_granted() {
    let (client, mut peer) = plain(MODERN).await;
    let wanted = SubscriptionFilter {
        tools_list_changed: true,
        prompts_list_changed: true,
        resources_list_changed: true,
        resource_subscriptions: Some(vec![NOTE.to_owned(), "note:2".to_owned()]),
        ..SubscriptionFilter::default()
    };
    let watch = start({
        let client = client.clone();
        async move { client.watch_all(wanted).await }
    });
    let listen = peer.request("subscriptions/listen").await;
    assert_eq!(
        listen["params"]["notifications"],
        json!({
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": [NOTE, "note:2"],
        })
    );
    let granted = json!({"notifications": {
        "toolsListChanged": true, "resourceSubscriptions": [NOTE],
    }});
    peer.tell(&listen, ACKNOWLEDGED, granted).await;
    let mut watch = watch.await.unwrap().unwrap();
    assert!(watch.granted().tools_list_changed && !watch.granted().prompts_list_changed);
    assert_eq!(
        watch.granted().resource_subscriptions.as_deref().unwrap(),
        [NOTE]
    );
    for list in ["tools", "prompts", "resources"] {
        peer.tell(
            &listen,
            &format!("notifications/{list}/list_changed"),
            json!({}),
        )
        .await;
    }
    assert_eq!(soon(watch.next()).await, Some(Change::Tools));
    assert_eq!(soon(watch.next()).await, Some(Change::Prompts));
    assert_eq!(soon(watch.next()).await, Some(Change::Resources));
    drop(watch);
    peer.cancellation(&listen).await;
    finish(client, peer).await;
}

/// How a server ends a subscription.
#[derive(Clone, Copy, Debug)]
enum EndedBy {
    Result,
    Cancellation,
    Error,
    EndOfStream,
}

// S-SUBM-07, S-CANC-07, C-SUBM-08: however it ends, what came before is heard first.
#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_the_server_ends_it() {
    for way in [
        EndedBy::Result,
        EndedBy::Cancellation,
        EndedBy::Error,
        EndedBy::EndOfStream,
    ] {
        let (client, mut peer) = plain(MODERN).await;
        let (mut watch, listen) = watched(&client, &mut peer, NOTE).await;
        peer.tell(&listen, UPDATED, json!({"uri": NOTE})).await;
        match way {
            EndedBy::Result => peer.answer(&listen, json!({})).await,
            EndedBy::Cancellation => {
                let params = json!({"requestId": listen["id"]});
                peer.notify("notifications/cancelled", params).await;
            }
            EndedBy::Error => peer.refuse(&listen, -32603, Value::Null).await,
            EndedBy::EndOfStream => peer.close_output().await,
        }
        assert_eq!(soon(watch.next()).await, change_of(NOTE), "{way:?}");
        assert_eq!(soon(watch.next()).await, None, "{way:?}");
        assert_eq!(soon(watch.next()).await, None, "{way:?}");
        drop(watch);
        finish(client, peer).await;
    }
}

// S-SUBM-03: it begins with the acknowledgement, and with nothing else.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_does_not_begin_is_no_watch() {
    let (client, mut peer) = plain(MODERN).await;
    let watch = watching(&client, NOTE);
    let listen = peer.request("subscriptions/listen").await;
    peer.answer(&listen, json!({})).await;
    let error = watch.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");

    let watch = watching(&client, NOTE);
    let listen = peer.request("subscriptions/listen").await;
    peer.refuse(&listen, -32601, Value::Null).await;
    let error = watch.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Server(_)), "{error:?}");
    finish(client, peer).await;
}

// The acknowledgement comes first on the wire, so it comes first here, also in one write.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_ends_at_once_has_begun() {
    for _ in 0..50 {
        let (client, mut peer) = plain(MODERN).await;
        let watch = watching(&client, NOTE);
        let listen = peer.request("subscriptions/listen").await;
        let id = &listen["id"];
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        let acknowledged = json!({
            "jsonrpc": "2.0", "method": ACKNOWLEDGED,
            "params": {"notifications": {}, "_meta": meta},
        });
        let ended = json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}});
        peer.say_raw(&format!("{acknowledged}\n{ended}\n")).await;
        let mut watch = watch.await.unwrap().unwrap();
        assert_eq!(soon(watch.next()).await, None);
        drop(watch);
        finish(client, peer).await;
    }
}

// S-CANC-07: a server may take back a subscription, nothing else. A call that it takes back has
// not succeeded.
#[tokio::test(start_paused = true)]
async fn a_server_cannot_cancel_a_call() {
    let (client, mut peer) = plain(MODERN).await;
    let call = start(client.call("pay", json!({})));
    let request = peer.request("tools/call").await;
    let params = json!({"requestId": request["id"]});
    peer.notify("notifications/cancelled", params).await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    // Unknown and finished ones are ignored (X-CANC-04).
    for id in [request["id"].clone(), json!(99), json!("x")] {
        peer.notify("notifications/cancelled", json!({"requestId": id}))
            .await;
    }
    peer.answer_text(&request, "paid after all").await;
    until(|| client.statistics().late_answers == 1).await;
    assert_eq!(client.statistics().calls.count(Ending::ProtocolError), 1);
    finish(client, peer).await;
}

// A lost reader of one watch is no concern of another.
#[tokio::test(start_paused = true)]
async fn an_abandoned_watch_takes_its_request_back() {
    let (client, mut peer) = plain(MODERN).await;
    let watch = watching(&client, NOTE);
    let listen = peer.request("subscriptions/listen").await;
    watch.abort();
    peer.cancellation(&listen).await;
    // An acknowledgement that comes too late begins nothing.
    peer.tell(&listen, ACKNOWLEDGED, resources(&[NOTE])).await;
    finish(client, peer).await;
}
