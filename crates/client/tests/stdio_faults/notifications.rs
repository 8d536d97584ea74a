//! Notifications nobody asked for or nobody reads.

use std::sync::mpsc;

use attache_client::Event;
use attache_client::protocol::Revision;
use attache_testkit::chaos::{Action, When};
use serde_json::{Value, json};

use crate::support::{BOTH_ERAS, Peer, at_once, each, eventually, script};

/// Notifications that wait for a reader (P4).
const QUEUE: u64 = 1024;

fn progress(params: Value) -> Action {
    Action::notify("notifications/progress", params)
}

#[test]
fn fault_46_progress_for_finished_and_unknown_tokens_is_ignored() {
    each(BOTH_ERAS, async |revision| {
        let foreign = [
            json!({"progressToken": 999_999, "progress": 1}),
            json!({"progressToken": "unknown", "progress": 1}),
            json!({"progressToken": null, "progress": 1}),
            json!({"progressToken": {}, "progress": 1}),
            json!({"progress": 1}),
            json!({"progressToken": "$token"}),
            json!({"progressToken": "$token", "progress": "half"}),
            Value::Null,
        ];
        let ignored = foreign.len() as u64;
        let mut actions = vec![Action::progress([1.0])];
        actions.extend(foreign.map(progress));
        actions.extend([
            Action::progress([2.0]),
            Action::text("done"),
            Action::progress([3.0]),
        ]);
        let unasked = [
            progress(json!({"progressToken": "$id", "progress": 1})),
            Action::text("done"),
        ];
        let script = script(revision)
            .on(When::tool("work"), actions)
            .on(When::tool("unasked"), unasked);
        let peer = Peer::start(revision, &script).await;
        let (heard, notes) = mpsc::channel();
        let call = peer
            .client
            .call("work", json!({}))
            .on_progress(move |note| {
                heard.send(note.progress).unwrap();
            });
        assert_eq!(at_once("work", call).await.unwrap().text(), "done");
        assert_eq!(notes.iter().collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(peer.text("unasked").await.unwrap(), "done");
        let counted = peer.client.statistics();
        // All the foreign ones, the one after the end, and the one nobody asked for.
        assert_eq!(counted.ignored_progress, ignored + 2);
        assert_eq!(counted.violations, 0);
        peer.finish().await;
    });
}

/// A reader's view of `count` notifications that came while it did not read.
async fn unread(revision: Revision, count: u64) -> (Vec<Event>, u64) {
    let flood = Action::flood(count, "notifications/x", json!({"n": "$n"}));
    let script = script(revision).on(When::tool("flood"), [flood, Action::text("done")]);
    let peer = Peer::start(revision, &script).await;
    let mut events = peer.client.events();
    assert_eq!(peer.text("flood").await.unwrap(), "done");
    peer.echoes().await;
    // Counted when they are dropped, not when somebody notices.
    let missed = peer.client.statistics().missed_events;
    let mut seen = Vec::new();
    let queued = count.min(QUEUE) + u64::from(count > QUEUE);
    for _ in 0..queued {
        let event = at_once("an event", events.next()).await.unwrap();
        seen.push(Event::clone(&event));
    }
    assert_eq!(peer.client.statistics().missed_events, missed);
    peer.finish().await;
    assert!(events.next().await.is_none(), "that was all");
    (seen, missed)
}

fn numbered(numbers: std::ops::Range<u64>) -> impl Iterator<Item = Event> {
    numbers.map(|number| Event::Other {
        method: "notifications/x".to_owned(),
        params: Some(json!({"n": number}).into()),
    })
}

#[test]
fn fault_49_ten_thousand_unread_notifications_do_not_hold_answers_up() {
    each(BOTH_ERAS, async |revision| {
        let (seen, missed) = unread(revision, 10_000).await;
        let lost = 10_000 - QUEUE;
        let mut expected = vec![Event::Missed(lost)];
        expected.extend(numbered(lost..10_000));
        assert_eq!(seen, expected);
        assert_eq!(missed, lost);
    });
}

#[test]
fn p4_1024_notifications_wait_for_their_reader_and_no_more() {
    each(BOTH_ERAS, async |revision| {
        let (seen, missed) = unread(revision, QUEUE).await;
        assert_eq!((seen, missed), (numbered(0..QUEUE).collect(), 0));
        let (seen, missed) = unread(revision, QUEUE + 1).await;
        assert_eq!(seen[0], Event::Missed(1));
        assert_eq!(seen[1..], numbered(1..QUEUE + 1).collect::<Vec<_>>());
        assert_eq!(missed, 1);
    });
}

#[test]
fn fault_49_nobody_listening_costs_nothing() {
    each(BOTH_ERAS, async |revision| {
        let flood = Action::flood(10_000, "notifications/x", json!({}));
        let script = script(revision).on(When::tool("flood"), [flood, Action::text("done")]);
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("flood").await.unwrap(), "done");
        let counted = eventually(
            || peer.client.statistics(),
            |counted| counted.messages_in > 10_000,
        )
        .await;
        assert_eq!(counted.missed_events, 0);
        peer.finish().await;
    });
}
