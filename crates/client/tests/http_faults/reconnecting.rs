//! The listening stream: kept up, at a bounded pace, without holding anything else up.

use std::time::Duration;

use attache_client::protocol::SubscriptionFilter;
use attache_client::{Change, Event};
use attache_testkit::http::{Answer, HttpScript, On};
use serde_json::json;

use tokio::time::Instant;

use crate::{AT_ONCE, LONG, connected, echo, legacy};

fn changed() -> serde_json::Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
}

/// On a paused clock only what waits for a timer takes time.
#[tokio::test(start_paused = true)]
async fn fault_60_a_listening_stream_that_hangs_holds_nothing_up() {
    let begun = Instant::now();
    let (web, client) = connected(legacy().on(On::verb("GET"), Answer::stalled())).await;
    echo(&client).await.unwrap();
    web.wait_until(|web| !web.requests_by("GET").is_empty())
        .await;
    echo(&client).await.unwrap();
    client.close().await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_the_server_says_unasked_is_heard() {
    // The server waits with it for the call, and the call for this reader.
    let stream = Answer::events()
        .until("tools/call")
        .message(&changed())
        .hold();
    let (_web, client) = connected(legacy().on(On::verb("GET"), stream)).await;
    let mut events = client.events();
    echo(&client).await.unwrap();
    let event = tokio::time::timeout(LONG, events.next()).await.unwrap();
    let unasked = Event::ToolsChanged { subscription: None };
    assert_eq!(event.as_deref(), Some(&unasked));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_a_listening_stream_is_asked_once() {
    let (web, client) = connected(legacy()).await;
    for _ in 0..5 {
        echo(&client).await.unwrap();
    }
    web.wait_until(|web| !web.requests_by("GET").is_empty())
        .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let listened = web.requests_by("GET");
    assert_eq!(listened.len(), 1, "405 is an answer (S-SHL-17)");
    let accepted = listened[0].header("accept").unwrap();
    assert!(accepted.contains("text/event-stream"), "C-SHL-16");
}

#[tokio::test(start_paused = true)]
async fn fault_58_streams_that_close_at_once_are_reopened_ever_more_slowly() {
    for answer in [
        Answer::events(),
        Answer::events().raw("retry: 0\n\n"),
        Answer::events().raw("id: 1\nretry: 0\ndata:\n\n"),
        Answer::close(),
        Answer::reset(),
        Answer::status(503),
    ] {
        let described = format!("{answer:?}");
        let (web, client) = connected(legacy().on(On::verb("GET"), answer)).await;
        tokio::time::sleep(Duration::from_millis(1600)).await;
        let times: Vec<_> = web.requests_by("GET").iter().map(|it| it.at).collect();
        let pauses: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((1..=4).contains(&pauses.len()), "{described}: {pauses:?}");
        for (pause, least) in pauses.iter().zip([100, 200, 400, 800]) {
            let least = Duration::from_millis(least);
            assert!(*pause >= least, "{described}: {pauses:?}");
        }
        echo(&client).await.unwrap();
    }
}

/// A minute passes at once: with nothing to do but to wait, a paused clock goes on by itself.
#[tokio::test(start_paused = true)]
async fn promise_9_no_minute_sees_more_than_ten_connections() {
    let listen = || On::rpc("subscriptions/listen");
    let agreed = || Answer::events().message(&acknowledged());
    for answer in [
        Answer::close(),
        Answer::reset(),
        Answer::events(),
        Answer::events().raw("retry: 0\n\n"),
    ] {
        let described = format!("{answer:?}");
        let (web, client) = connected(legacy().on(On::verb("GET"), answer.clone())).await;
        let script = HttpScript::modern()
            .on(listen(), answer)
            .on(listen().nth(1), agreed());
        let (modern_web, modern_client) = connected(script).await;
        let wanted = SubscriptionFilter {
            tools_list_changed: true,
            ..SubscriptionFilter::default()
        };
        let mut watch = modern_client.watch_all(wanted).await.unwrap();
        tokio::select! {
            change = watch.next() => panic!("{change:?}"),
            () = tokio::time::sleep(Duration::from_secs(60)) => {}
        }
        for (web, streams) in [
            (&web, web.requests_by("GET").len()),
            (&modern_web, modern_web.count_of("subscriptions/listen")),
        ] {
            assert!((5..=9).contains(&streams), "{described}: {streams}");
            let connections = web.connections();
            assert!(connections <= 10, "{described}: {connections}");
        }
        drop((client, modern_client));
    }
}

#[tokio::test]
async fn promise_9_a_listener_that_closes_at_once_sees_few_connections() {
    let web = HttpScript::nothing()
        .on(On::any(), Answer::close())
        .start()
        .await
        .unwrap();
    for _ in 0..3 {
        crate::server(web.url()).connect().await.unwrap_err();
    }
    assert!(web.connections() <= 10, "{}", web.connections());
}

#[tokio::test]
async fn fault_59_a_cut_listening_stream_is_reopened_and_the_gap_reported() {
    let cut = Answer::events()
        .comment("hello")
        .pause(Duration::from_millis(100));
    let script = legacy()
        .on(On::verb("GET"), Answer::events().hold())
        .on(On::verb("GET").nth(1), cut);
    let (web, client) = connected(script).await;
    let mut events = client.events();
    let gap = tokio::time::timeout(LONG, async {
        while let Some(event) = events.next().await {
            if matches!(&*event, Event::Gap) {
                return;
            }
        }
        panic!("no gap was reported");
    });
    gap.await.unwrap();
    assert_eq!(web.requests_by("GET").len(), 2);
}

#[tokio::test]
async fn a_stream_with_ids_goes_on_where_it_was_cut() {
    let script = legacy().on(On::verb("GET"), Answer::events().hold()).on(
        On::verb("GET").nth(1),
        Answer::events().raw("id: 41\ndata:\n\n"),
    );
    let (web, _client) = connected(script).await;
    web.wait_until(|web| web.requests_by("GET").len() == 2)
        .await;
    assert_eq!(
        web.requests_by("GET")[1].header("last-event-id"),
        Some("41")
    );
}

fn acknowledged() -> serde_json::Value {
    json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
        "notifications": {"toolsListChanged": true},
        "_meta": {"io.modelcontextprotocol/subscriptionId": "$id"},
    }})
}

#[tokio::test]
async fn fault_59_a_cut_subscription_is_opened_again_and_the_gap_reported() {
    let listen = || On::rpc("subscriptions/listen");
    let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {
        "_meta": {"io.modelcontextprotocol/subscriptionId": "$id"},
    }});
    let script = HttpScript::modern()
        .on(
            listen(),
            Answer::events()
                .message(&acknowledged())
                .message(&change)
                .hold(),
        )
        .on(listen().nth(1), Answer::events().message(&acknowledged()))
        .on(listen().nth(2), Answer::status(503))
        .on(listen().nth(3), Answer::close());
    let (web, client) = connected(script).await;
    let wanted = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let mut watch = client.watch_all(wanted).await.unwrap();
    assert_eq!(watch.next().await, Some(Change::Missed));
    assert_eq!(watch.next().await, Some(Change::Tools));
    let listens = web.requests_of("subscriptions/listen");
    assert_eq!(listens.len(), 4);
    let ids: Vec<_> = listens
        .iter()
        .map(|it| it.message()["id"].clone())
        .collect();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "C-SHM-29");
}

#[tokio::test]
async fn fault_59_a_followed_list_is_fetched_again_after_a_gap() {
    use attache_client::protocol::ListTools;
    let listen = || On::rpc("subscriptions/listen");
    let script = HttpScript::modern()
        .on(listen(), Answer::events().message(&acknowledged()).hold())
        .on(listen().nth(1), Answer::events().message(&acknowledged()));
    let (_web, client) = connected(script).await;
    let mut follow = client.follow::<ListTools>().await.unwrap();
    let fetched = tokio::time::timeout(LONG, follow.next()).await.unwrap();
    assert_eq!(fetched.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn a_subscription_that_the_server_ends_stays_ended() {
    let end = json!({"jsonrpc": "2.0", "id": "$id", "result": {"resultType": "complete"}});
    let stream = Answer::events().message(&acknowledged()).message(&end);
    let script = HttpScript::modern().on(On::rpc("subscriptions/listen"), stream);
    let (web, client) = connected(script).await;
    let wanted = SubscriptionFilter {
        tools_list_changed: true,
        ..SubscriptionFilter::default()
    };
    let mut watch = client.watch_all(wanted).await.unwrap();
    assert_eq!(watch.next().await, None, "S-SUBM-07");
    assert_eq!(web.count_of("subscriptions/listen"), 1);
}
