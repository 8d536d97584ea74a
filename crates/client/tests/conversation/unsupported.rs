//! What a server did not offer is not asked of it: the caller is told instead.

use std::collections::BTreeMap;

use attache_client::protocol::{CompletionReference, ListTools, LogLevel, Method as _, Revision};
use attache_client::{Error, Settings, UndeclaredRequests};
use serde_json::json;

use crate::opening::{LEGACY, connected_to, finish, plain, soon, start};

#[track_caller]
fn assert_unsupported<T: std::fmt::Debug>(outcome: Result<T, Error>, expected: &str) {
    match outcome {
        Err(Error::Unsupported { method, .. }) => assert_eq!(method, expected),
        other => panic!("{expected}: {other:?}"),
    }
}

// X-INIT-09: what a server does not declare is not listed; what the caller names is tried.
#[tokio::test(start_paused = true)]
async fn lists_that_a_server_does_not_declare_are_empty_and_not_asked_for() {
    for revision in Revision::NEWEST_FIRST {
        let (client, mut peer) = connected_to(revision, json!({}), |server| server).await;
        assert!(!client.offers(ListTools::NAME));
        assert_eq!(soon(client.list_tools()).await.unwrap().len(), 0);
        assert_eq!(soon(client.list_prompts()).await.unwrap().len(), 0);
        assert_eq!(soon(client.list_resources()).await.unwrap().len(), 0);
        assert_eq!(soon(client.list_templates()).await.unwrap().len(), 0);
        assert_eq!(client.statistics().calls.open, 0);
        let call = start(client.call("undeclared", json!({})));
        let request = peer.request("tools/call").await;
        peer.answer_text(&request, "there").await;
        assert_eq!(call.await.unwrap().unwrap().text(), "there");
        finish(client, peer).await;
    }
}

// X-INIT-09, to the letter.
#[tokio::test(start_paused = true)]
async fn strict_capabilities_refuse_what_is_not_declared() {
    for revision in Revision::NEWEST_FIRST {
        let strict = Settings {
            protocol: Some(revision),
            capabilities: UndeclaredRequests::Refuse,
            ..Settings::default()
        };
        let declared = json!({"tools": {}});
        let configure = |server: attache_client::Server| server.settings(strict);
        let (client, mut peer) = connected_to(revision, declared, configure).await;
        assert_unsupported(soon(client.read("note:1")).await, "resources/read");
        let prompt = client.prompt("greet", [("name", "Ada")]);
        assert_unsupported(soon(prompt).await, "prompts/get");
        let call = start(client.call("declared", json!({})));
        let request = peer.request("tools/call").await;
        peer.answer_text(&request, "there").await;
        assert_eq!(call.await.unwrap().unwrap().text(), "there");
        finish(client, peer).await;
    }
}

// S-LOG-01, X-INIT-09.
#[tokio::test(start_paused = true)]
async fn a_server_without_logging_is_not_given_a_level() {
    for revision in Revision::NEWEST_FIRST {
        let (client, peer) = connected_to(revision, json!({}), |server| server).await;
        let outcome = client.set_log_level(LogLevel::Debug).await;
        assert_unsupported(outcome, "logging/setLevel");
        finish(client, peer).await;
    }
}

// S-CMP-01: the first revision has no capability for it, so there one just tries.
#[tokio::test(start_paused = true)]
async fn a_server_without_completion_is_not_asked_to_complete() {
    for revision in Revision::NEWEST_FIRST {
        let (client, mut peer) = connected_to(revision, json!({}), |server| server).await;
        let completing = start({
            let client = client.clone();
            async move {
                let greet = CompletionReference::prompt("greet");
                client.complete(greet, "name", "A", BTreeMap::new()).await
            }
        });
        if revision.features().completion_capability {
            assert_unsupported(completing.await.unwrap(), "completion/complete");
        } else {
            let request = peer.request("completion/complete").await;
            peer.refuse(&request, -32601, json!(null)).await;
            assert!(matches!(completing.await.unwrap(), Err(Error::Server(_))));
        }
        finish(client, peer).await;
    }
}

// X-PING-01, X-PING-03.
#[tokio::test(start_paused = true)]
async fn only_legacy_servers_are_pinged() {
    for revision in Revision::NEWEST_FIRST {
        let (client, mut peer) = plain(revision).await;
        let pinging = start({
            let client = client.clone();
            async move { client.ping().await }
        });
        if LEGACY.contains(&revision) {
            let request = peer.request("ping").await;
            peer.answer(&request, json!({})).await;
            pinging.await.unwrap().unwrap();
        } else {
            assert_unsupported(pinging.await.unwrap(), "ping");
        }
        finish(client, peer).await;
    }
}
