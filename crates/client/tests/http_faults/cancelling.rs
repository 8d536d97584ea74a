//! Giving up: the server is told in the way of its era, and nothing stays behind.

use std::time::Duration;

use attache_client::Error;
use attache_client::protocol::Ending;
use attache_testkit::http::{Answer, HttpScript, On};
use serde_json::json;

use crate::{balanced, connected, echo, endings, legacy};

#[tokio::test]
async fn a_modern_call_is_cancelled_by_closing_its_stream() {
    for answer in [
        Answer::stalled(),
        Answer::events().comment("working").hold(),
    ] {
        let (web, client) =
            connected(HttpScript::modern().on(On::tool("echo").nth(1), answer)).await;
        let call = tokio::spawn(client.call("echo", json!({})).into_future());
        web.wait_until(|web| web.count_of("tools/call") == 1).await;
        call.abort();
        web.wait_until(|web| web.abandoned() == 1).await;
        echo(&client).await.unwrap();
        assert_eq!(web.count_of("notifications/cancelled"), 0, "C-CANC-06");
        assert_eq!(endings(&client, Ending::Cancelled), 1);
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn a_legacy_call_is_cancelled_by_a_notification() {
    let answer = Answer::events().comment("working").hold();
    let (web, client) = connected(legacy().on(On::tool("echo").nth(1), answer)).await;
    let call = tokio::spawn(client.call("echo", json!({})).into_future());
    web.wait_until(|web| web.count_of("tools/call") == 1).await;
    call.abort();
    web.wait_until(|web| web.count_of("notifications/cancelled") == 1)
        .await;
    let cancelled = &web.requests_of("notifications/cancelled")[0];
    let call = &web.requests_of("tools/call")[0];
    assert_eq!(
        cancelled.message()["params"]["requestId"],
        call.message()["id"],
        "C-SHL-15"
    );
    web.wait_until(|web| web.abandoned() == 1).await;
    assert!(balanced(&client));
}

#[tokio::test]
async fn a_head_that_never_ends_times_out() {
    let (web, client) =
        connected(HttpScript::modern().on(On::tool("echo").nth(1), Answer::stalled())).await;
    let call = client
        .call("echo", json!({}))
        .timeout(Duration::from_millis(200));
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    web.wait_until(|web| web.abandoned() == 1).await;
    echo(&client).await.unwrap();
    assert!(balanced(&client));
}

#[tokio::test]
async fn closing_tells_every_open_call_the_truth() {
    let answer = Answer::events().comment("working").hold();
    let (web, client) = connected(legacy().on(On::tool("echo"), answer)).await;
    let calls: Vec<_> = (0..5)
        .map(|_| tokio::spawn(client.call("echo", json!({})).into_future()))
        .collect();
    web.wait_until(|web| web.count_of("tools/call") == 5).await;
    client.close().await;
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.ending(), Some(Ending::OutcomeUnknown), "{error}");
    }
    // X-INIT-14: the end is that the connections are closed, perhaps before the answer to DELETE
    // is read.
    web.wait_until(|web| web.abandoned() >= 5).await;
    let error = echo(&client).await.unwrap_err();
    assert_eq!(error.ending(), Some(Ending::NotSent), "{error}");
    assert_eq!(endings(&client, Ending::OutcomeUnknown), 5);
}
