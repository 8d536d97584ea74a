//! Being told of changes by a legacy server: subscriptions to resources, list changes unasked.

use attache_client::protocol::{Revision, SubscriptionFilter};
use attache_client::{Change, Client, Error, Limits, Watch};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::opening::{LEGACY, connected, connected_to, finish, plain, soon, start};
use crate::peer::Peer;

const REVISION: Revision = Revision::V2025_11_25;
const NOTE: &str = "note:1";

fn watching(client: &Client, uri: &str) -> JoinHandle<Result<Watch, Error>> {
    let (client, uri) = (client.clone(), uri.to_owned());
    start(async move { client.watch(uri).await })
}

/// The next request, which is about the resource `uri`.
async fn asked(peer: &mut Peer, method: &str, uri: &str) -> Value {
    let request = peer.request(method).await;
    assert_eq!(request["params"], json!({"uri": uri}));
    request
}

async fn grant(peer: &mut Peer, method: &str, uri: &str) {
    let request = asked(peer, method, uri).await;
    peer.answer(&request, json!({})).await;
}

async fn watched(client: &Client, peer: &mut Peer, uri: &str) -> Watch {
    let watch = watching(client, uri);
    grant(peer, "resources/subscribe", uri).await;
    watch.await.unwrap().unwrap()
}

async fn updated(peer: &mut Peer, uri: &str) {
    peer.notify("notifications/resources/updated", json!({"uri": uri}))
        .await;
}

fn change_of(uri: &str) -> Option<Change> {
    Some(Change::Resource {
        uri: uri.to_owned(),
    })
}

// C-SUBL-01, S-SUBL-02.
#[tokio::test(start_paused = true)]
async fn a_watch_hears_of_its_resource_only() {
    for revision in LEGACY {
        let (client, mut peer) = plain(revision).await;
        let mut watch = watched(&client, &mut peer, NOTE).await;
        updated(&mut peer, "other:1").await;
        peer.notify("notifications/tools/list_changed", json!({}))
            .await;
        updated(&mut peer, NOTE).await;
        // A part of what was subscribed to may be named.
        updated(&mut peer, "note:1/title").await;
        assert_eq!(soon(watch.next()).await, change_of(NOTE));
        assert_eq!(soon(watch.next()).await, change_of("note:1/title"));
        drop(watch);
        grant(&mut peer, "resources/unsubscribe", NOTE).await;
        finish(client, peer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_watches_of_one_resource_subscribe_once() {
    let (client, mut peer) = plain(REVISION).await;
    let mut first = watched(&client, &mut peer, NOTE).await;
    let mut second = client.watch(NOTE).await.unwrap();
    peer.hears_nothing().await;
    updated(&mut peer, NOTE).await;
    assert_eq!(soon(first.next()).await, change_of(NOTE));
    assert_eq!(soon(second.next()).await, change_of(NOTE));
    drop(first);
    peer.hears_nothing().await;
    updated(&mut peer, NOTE).await;
    assert_eq!(soon(second.next()).await, change_of(NOTE));
    drop(second);
    grant(&mut peer, "resources/unsubscribe", NOTE).await;
    finish(client, peer).await;
}

// Two that begin at once wait for the same answer, and neither is told more than is true.
#[tokio::test(start_paused = true)]
async fn watches_that_begin_at_once_share_a_subscription_or_try_in_turn() {
    let (client, mut peer) = plain(REVISION).await;
    let (first, second) = (watching(&client, NOTE), watching(&client, NOTE));
    let request = asked(&mut peer, "resources/subscribe", NOTE).await;
    peer.hears_nothing().await;
    assert!(!first.is_finished() && !second.is_finished());
    peer.refuse(&request, -32603, Value::Null).await;
    // The other one has to find out for itself.
    grant(&mut peer, "resources/subscribe", NOTE).await;
    let outcomes = [first.await.unwrap(), second.await.unwrap()];
    let granted = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(granted, 1);
    drop(outcomes);
    grant(&mut peer, "resources/unsubscribe", NOTE).await;
    finish(client, peer).await;
}

// What is said last is what is meant: a watch that ends before another begins does not silence it.
#[tokio::test(start_paused = true)]
async fn a_watch_may_begin_right_after_another_has_ended() {
    let (client, mut peer) = plain(REVISION).await;
    let first = watched(&client, &mut peer, NOTE).await;
    let second = start({
        let client = client.clone();
        async move {
            drop(first);
            client.watch(NOTE).await
        }
    });
    grant(&mut peer, "resources/unsubscribe", NOTE).await;
    grant(&mut peer, "resources/subscribe", NOTE).await;
    let mut second = second.await.unwrap().unwrap();
    updated(&mut peer, NOTE).await;
    assert_eq!(soon(second.next()).await, change_of(NOTE));
    drop(second);
    grant(&mut peer, "resources/unsubscribe", NOTE).await;
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_subscription_is_no_watch() {
    let (client, mut peer) = plain(REVISION).await;
    let watch = watching(&client, NOTE);
    let request = asked(&mut peer, "resources/subscribe", NOTE).await;
    peer.refuse(&request, -32002, json!({"uri": NOTE})).await;
    assert!(matches!(watch.await.unwrap(), Err(Error::Server(_))));
    // Nothing is left behind: the next one asks again.
    let watch = watched(&client, &mut peer, NOTE).await;
    drop(watch);
    grant(&mut peer, "resources/unsubscribe", NOTE).await;
    finish(client, peer).await;
}

// C-SUBL-01: no subscription without the server's word for it.
#[tokio::test(start_paused = true)]
async fn a_server_without_subscriptions_is_not_asked_for_one() {
    for resources in [Value::Null, json!({}), json!({"subscribe": false})] {
        let mut capabilities = json!({});
        if !resources.is_null() {
            capabilities["resources"] = resources;
        }
        let (client, peer) = connected_to(REVISION, capabilities, |server| server).await;
        let error = client.watch(NOTE).await.unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
        finish(client, peer).await;
    }
}

// S-SUBL-03: lists come unasked; what was not wanted is kept away.
#[tokio::test(start_paused = true)]
async fn lists_are_watched_without_asking() {
    let (client, mut peer) = plain(REVISION).await;
    let wanted = SubscriptionFilter {
        tools_list_changed: true,
        resources_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let mut watch = client.watch_all(wanted.clone()).await.unwrap();
    assert_eq!(*watch.granted(), wanted);
    for list in ["tools", "prompts", "resources"] {
        let method = format!("notifications/{list}/list_changed");
        peer.say(json!({"jsonrpc": "2.0", "method": method})).await;
    }
    assert_eq!(soon(watch.next()).await, Some(Change::Tools));
    assert_eq!(soon(watch.next()).await, Some(Change::Resources));
    drop(watch);
    finish(client, peer).await;
}

// Fault 49: a slow watcher is told that it missed something.
#[tokio::test(start_paused = true)]
async fn a_slow_watcher_is_told_of_what_it_missed() {
    let limits = Limits {
        notifications: 4,
        ..Limits::default()
    };
    for (changes, missed) in [(4, false), (5, true)] {
        let (client, mut peer) = connected(REVISION, |server| server.limits(limits)).await;
        let mut watch = watched(&client, &mut peer, NOTE).await;
        for _ in 0..changes {
            updated(&mut peer, NOTE).await;
        }
        // The answer to a later request shows that all of them have arrived.
        let ping = start({
            let client = client.clone();
            async move { client.ping().await }
        });
        let request = peer.request("ping").await;
        peer.answer(&request, json!({})).await;
        ping.await.unwrap().unwrap();
        if missed {
            assert_eq!(soon(watch.next()).await, Some(Change::Missed));
        }
        for _ in 0..4 {
            assert_eq!(soon(watch.next()).await, change_of(NOTE));
        }
        drop(watch);
        grant(&mut peer, "resources/unsubscribe", NOTE).await;
        finish(client, peer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_its_connection() {
    let (client, mut peer) = plain(REVISION).await;
    let mut watch = watched(&client, &mut peer, NOTE).await;
    updated(&mut peer, NOTE).await;
    peer.close_output().await;
    assert_eq!(soon(watch.next()).await, change_of(NOTE));
    assert_eq!(soon(watch.next()).await, None);
    assert_eq!(soon(watch.next()).await, None);
    drop(watch);
    finish(client, peer).await;
}
