//! Batches: part of one revision, and a typed refusal in every other.

use attache_client::Event;
use attache_client::protocol::{Ending, Revision};
use attache_testkit::chaos::{Action, When};
use serde_json::json;

use crate::support::{Peer, at_once, each, problem_of, script};

fn batched() -> Action {
    Action::batch([
        json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": 1}}),
        json!({"jsonrpc": "2.0", "id": "$id", "result": {
            "content": [{"type": "text", "text": "in a batch"}],
        }}),
    ])
}

#[test]
fn fault_29_batches_are_accepted_under_2025_03_26() {
    each([Revision::V2025_03_26], async |revision| {
        let spoiled = Action::batch([
            json!(1),
            json!([]),
            json!({"level": "info"}),
            json!({"jsonrpc": "2.0", "id": "$id", "error": {"code": -7, "message": "no"}}),
        ]);
        let script = script(revision)
            .on(When::tool("batched"), [batched()])
            .on(When::tool("spoiled"), [spoiled]);
        let peer = Peer::start(revision, &script).await;
        let mut events = peer.client.events();
        assert_eq!(peer.text("batched").await.unwrap(), "in a batch");
        let event = at_once("the notification", events.next()).await.unwrap();
        assert!(matches!(&*event, Event::Other { method, .. } if method == "notifications/x"));
        let refused = peer.text("spoiled").await.unwrap_err();
        assert_eq!(refused.ending(), Some(Ending::ServerError));
        let counted = peer.client.statistics();
        assert_eq!((counted.stray_lines, counted.violations), (3, 0));
        peer.echoes().await;
        peer.finish().await;
    });
}

#[test]
fn fault_29_batches_are_refused_at_once_everywhere_else() {
    let others = Revision::NEWEST_FIRST
        .into_iter()
        .filter(|revision| *revision != Revision::V2025_03_26);
    each(others, async |revision| {
        let script = script(revision).on(When::tool("batched"), [batched()]);
        let peer = Peer::start(revision, &script).await;
        let mut events = peer.client.events();
        let problem = problem_of(peer.text("batched").await);
        assert!(
            problem.contains("batch") && problem.contains(revision.as_str()),
            "{problem}"
        );
        let event = at_once("the violation", events.next()).await.unwrap();
        assert!(matches!(&*event, Event::Violation(_)), "{event:?}");
        let counted = peer.client.statistics();
        assert_eq!((counted.violations, counted.stray_lines), (1, 0));
        assert_eq!(peer.ended(Ending::ProtocolError), 1);
        peer.echoes().await;
        peer.finish().await;
    });
}

// X-BATCH-05.
#[test]
fn fault_29_an_empty_batch_answers_nobody() {
    each(Revision::NEWEST_FIRST, async |revision| {
        let script = script(revision).on(
            When::tool("empty"),
            [Action::line("[]"), Action::text("answered")],
        );
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("empty").await.unwrap(), "answered");
        assert_eq!(peer.client.statistics().stray_lines, 1);
        peer.finish().await;
    });
}
