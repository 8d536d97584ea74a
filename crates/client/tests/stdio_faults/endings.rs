//! Calls that end without an answer: the server dies, or the caller gives up first.

use std::time::{Duration, Instant};

use attache_client::protocol::{Ending, Revision};
use attache_client::{Client, Error, ExitReason};
use attache_testkit::chaos::{Action, Grandchild, Reply, Script, Signal, When};
use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::support::{
    BOTH_ERAS, Peer, at_once, each, eventually, exit_of, not_sent_because, script, sent,
    unknown_because,
};

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// How long it takes from the death of a server until all its calls have failed.
async fn time_to_fail(revision: Revision) -> Duration {
    const PENDING: usize = 64;
    let script = script(revision).on(When::tool("hang"), [Action::never()]);
    let peer = Peer::start(revision, &script).await;
    let calls: Vec<_> = (0..PENDING)
        .map(|_| tokio::spawn(peer.client.call("hang", json!({})).into_future()))
        .collect();
    peer.received("tools/call", PENDING);
    kill(peer.client.process_id().unwrap());
    let died = Instant::now();
    let mut ended = Vec::new();
    for call in calls {
        ended.push(at_once("a pending call", call).await.unwrap());
    }
    let took = died.elapsed();
    for end in ended {
        let (exit, _) = exit_of(unknown_because(end));
        assert_eq!(exit, ExitReason::Signal(9));
    }
    assert_eq!(peer.ended(Ending::OutcomeUnknown), PENDING as u64);
    peer.finish().await;
    took
}

#[test]
fn fault_37_all_pending_calls_fail_within_100_ms_of_the_servers_death() {
    each(BOTH_ERAS, async |revision| {
        // A busy machine may hold any one measurement up, but not all of them.
        let mut took = Vec::new();
        while took.iter().all(|time| *time > Duration::from_millis(100)) {
            assert!(took.len() < 10, "{took:?}");
            took.push(time_to_fail(revision).await);
        }
    });
}

#[test]
fn fault_37_calls_fail_although_a_grandchild_holds_the_output_open() {
    each(BOTH_ERAS, async |revision| {
        let holder = Grandchild {
            setsid: true,
            hold_stdout: true,
            ..Grandchild::default()
        };
        let script = script(revision).on(
            When::tool("die"),
            [
                Action::spawn(holder),
                Action::line(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#),
                Action::exit(7),
            ],
        );
        let peer = Peer::start(revision, &script).await;
        let mut events = peer.client.events();
        let (exit, _) = exit_of(unknown_because(peer.text("die").await));
        assert_eq!(exit, ExitReason::Code(7));
        assert!(events.next().await.is_some(), "said before the death");
        // It left the process group, so nobody but this test can end it.
        for left in peer.launch.tag().survivors().unwrap() {
            kill(left.pid);
        }
        peer.finish().await;
    });
}

#[test]
fn fault_37_the_last_words_of_the_server_come_with_the_error() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision).on(
            When::tool("die"),
            [
                Action::stderr_line("no licence found"),
                Action::stderr_line("giving up"),
                Action::exit(3),
            ],
        );
        let peer = Peer::start(revision, &script).await;
        let error = peer.text("die").await.unwrap_err();
        assert!(error.to_string().contains("giving up"), "{error}");
        let (exit, words) = exit_of(unknown_because::<()>(Err(error)));
        assert_eq!(exit, ExitReason::Code(3));
        assert_eq!(words, ["no licence found", "giving up"]);
        peer.finish().await;
    });
}

#[test]
fn fault_37_the_line_that_says_it_is_quoted_also_on_time_outs() {
    each(BOTH_ERAS, async |revision| {
        let crash = "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\n\
                     Error: Cannot find module 'notes'\n    at Module._load (node:x:1:2)\n\n\
                     Node.js v22.23.3";
        let script = script(revision)
            .on(
                When::tool("hang"),
                [Action::stderr_line(crash), Action::never()],
            )
            .on(
                When::tool("die"),
                [Action::stderr_line(crash), Action::exit(1)],
            );
        let peer = Peer::start(revision, &script).await;
        let hang = peer.client.call("hang", serde_json::json!({}));
        let error = hang.timeout(Duration::from_millis(500)).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
        let said = "its stderr says: Error: Cannot find module 'notes'";
        assert!(error.to_string().ends_with(said), "{error}");
        let error = peer.text("die").await.unwrap_err().to_string();
        assert!(
            error.contains(": Error: Cannot find module 'notes'"),
            "{error}"
        );
        assert!(!error.contains("Node.js"), "{error}");
        peer.finish().await;
    });
}

/// Calls `side_effect` once on a server that does `actions` then, and asserts how often the
/// effect took place and that nobody tried again.
async fn assert_not_replayed(revision: Revision, actions: [Action; 2], effects: &[&str]) {
    let script = script(revision).on(When::tool("side_effect"), actions);
    let peer = Peer::start(revision, &script).await;
    let called = peer.client.call("side_effect", json!({"key": "once"}));
    let reason = unknown_because(at_once("side_effect", called).await);
    exit_of(reason.clone());
    assert_eq!(peer.launch.effects().unwrap(), effects);
    assert_eq!(peer.ended(Ending::OutcomeUnknown), 1);
    // A connection that is lost stays lost, and says so before anything is sent.
    assert_eq!(not_sent_because(peer.text("side_effect").await), reason);
    assert_eq!(peer.launch.starts().unwrap().len(), 1);
    assert_eq!(peer.received("tools/call", 1).len(), 1);
    assert_eq!(peer.launch.effects().unwrap(), effects);
    peer.finish().await;
}

#[test]
fn fault_38_a_death_after_the_side_effect_is_an_unknown_outcome_and_not_replayed() {
    each(BOTH_ERAS, async |revision| {
        for death in [
            Action::exit(9),
            Action::abort(),
            Action::signal(Signal::Kill),
        ] {
            assert_not_replayed(revision, [Action::effect(), death], &["once"]).await;
        }
    });
}

#[test]
fn fault_38_a_death_before_the_side_effect_is_the_same_to_the_client() {
    each(BOTH_ERAS, async |revision| {
        assert_not_replayed(revision, [Action::exit(9), Action::effect()], &[]).await;
    });
}

/// A server whose tool `late` answers with `answer` once it was told not to.
fn late(revision: Revision, answer: Action) -> Script {
    let late = [Action::wait_cancelled(), answer];
    script(revision).on(When::tool("late"), late)
}

/// A way to lose interest in a call.
type GiveUp = fn(Client) -> std::pin::Pin<Box<dyn Future<Output = Ending>>>;

async fn by_time_out(client: Client) -> Ending {
    let call = client.call("late", json!({}));
    let error = call.timeout(Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
    error.ending().unwrap()
}

async fn by_cancelling(client: Client) -> Ending {
    let (cancel, cancelled) = oneshot::channel::<()>();
    let call = client.call("late", json!({})).cancel_when(async {
        cancelled.await.unwrap();
    });
    let mut call = call.into_future();
    sent(&mut call).await;
    cancel.send(()).unwrap();
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error:?}");
    error.ending().unwrap()
}

async fn by_dropping(client: Client) -> Ending {
    let mut call = client.call("late", json!({})).into_future();
    sent(&mut call).await;
    drop(call);
    Ending::Cancelled
}

const WAYS_TO_GIVE_UP: [GiveUp; 3] = [
    |client| Box::pin(by_time_out(client)),
    |client| Box::pin(by_cancelling(client)),
    |client| Box::pin(by_dropping(client)),
];

#[test]
fn fault_39_a_late_answer_is_dropped_and_counted_and_the_connection_survives() {
    each(BOTH_ERAS, async |revision| {
        let malformed = r#"{"jsonrpc":"2.0","id":"$id","result":{},"error":{}}"#;
        for (answer, count) in [
            (Action::text("late"), 1),
            (Action::error(-7, "late"), 1),
            (Action::line(malformed), 1),
            (Reply::text("late").twice().into(), 2),
        ] {
            let peer = Peer::start(revision, &late(revision, answer)).await;
            for (number, give_up) in (1..).zip(WAYS_TO_GIVE_UP) {
                let before = peer.client.statistics().calls;
                let ending = give_up(peer.client.clone()).await;
                let after = peer.client.statistics().calls;
                assert_eq!((after.open, after.issued), (0, before.issued + 1));
                assert_eq!(after.count(ending), before.count(ending) + 1);
                // The cancel went ahead of this, so the late answer does too.
                peer.echoes().await;
                let counted = peer.client.statistics();
                assert_eq!(counted.late_answers, number * count);
                assert_eq!((counted.unknown_answers, counted.violations), (0, 0));
            }
            assert_eq!(peer.received("notifications/cancelled", 3).len(), 3);
            peer.finish().await;
        }
    });
}

/// The ids of the calls of `tool` that the server has received.
fn ids_of(received: &[Value], tool: &str) -> Vec<Value> {
    let calls = received
        .iter()
        .filter(|message| message["params"]["name"] == tool);
    calls.map(|message| message["id"].clone()).collect()
}

// C-STDIO-11, X-CANC-01.
#[test]
fn fault_45_a_dropped_call_is_freed_at_once_and_the_server_is_told() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision).on(When::tool("hang"), [Action::never()]);
        let peer = Peer::start(revision, &script).await;
        let mut call = peer.client.call("hang", json!({})).into_future();
        sent(&mut call).await;
        let ids = ids_of(&peer.received("tools/call", 1), "hang");
        assert_eq!(peer.client.statistics().calls.open, 1);
        drop(call);
        assert_eq!(peer.client.statistics().calls.open, 0);
        assert_eq!(peer.ended(Ending::Cancelled), 1);
        let told = peer.received("notifications/cancelled", 1);
        assert_eq!(told[0]["params"]["requestId"], ids[0]);
        peer.echoes().await;
        peer.finish().await;
    });
}

#[test]
fn fault_45_a_thousand_dropped_calls_leave_nothing() {
    each(BOTH_ERAS, async |revision| {
        const CALLS: usize = 1000;
        let script = script(revision).on(When::tool("hang"), [Action::never()]);
        let peer = Peer::start(revision, &script).await;
        let calls: Vec<_> = (0..CALLS)
            .map(|_| tokio::spawn(peer.client.call("hang", json!({})).into_future()))
            .collect();
        let ids = ids_of(&peer.received("tools/call", CALLS), "hang");
        for call in &calls {
            call.abort();
        }
        let open = || peer.client.statistics().calls.open;
        eventually(open, |open| *open == 0).await;
        assert_eq!(peer.ended(Ending::Cancelled), CALLS as u64);
        let told = peer.received("notifications/cancelled", CALLS);
        let told = told.iter().map(|told| &told["params"]["requestId"]);
        let mut told: Vec<_> = told.map(|id| id.as_u64().unwrap()).collect();
        told.sort_unstable();
        let mut ids: Vec<_> = ids.iter().map(|id| id.as_u64().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(told, ids);
        peer.echoes().await;
        peer.finish().await;
    });
}

#[test]
fn fault_45_a_call_that_was_never_awaited_was_never_sent() {
    each(BOTH_ERAS, async |revision| {
        let peer = Peer::start(revision, &script(revision)).await;
        let before = peer.client.statistics().calls.issued;
        drop(peer.client.call("side_effect", json!({"key": "k"})));
        drop(
            peer.client
                .call("side_effect", json!({"key": "k"}))
                .into_future(),
        );
        assert_eq!(peer.client.statistics().calls.issued, before);
        peer.echoes().await;
        assert!(peer.launch.effects().unwrap().is_empty());
        let told = peer.launch.received_of("notifications/cancelled").unwrap();
        assert!(told.is_empty(), "{told:?}");
        peer.finish().await;
    });
}
