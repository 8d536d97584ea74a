//! Servers that take nothing more from their stdin, or have closed it.

use std::time::Duration;

use attache_client::protocol::Ending;
use attache_client::{CloseReason, Limits, Timeouts};
use attache_testkit::chaos::{Action, When};
use serde_json::json;

use crate::support::{
    BOTH_ERAS, Peer, at_once, each, exit_of, not_sent_because, script, sent, unknown_because,
};

/// More than any pipe holds.
const TOO_MUCH: usize = 4 * 1024 * 1024;

#[test]
fn fault_27_a_server_that_stops_reading_is_stopped_and_others_go_on() {
    each(BOTH_ERAS, async |revision| {
        let stall = Duration::from_millis(300);
        let deaf = script(revision)
            .on(When::tool("hang"), [Action::never()])
            .on(
                When::tool("deafen"),
                [Action::text("deaf"), Action::stop_reading()],
            );
        let deaf = Peer::start_with(revision, &deaf, |server| {
            let timeouts = Timeouts {
                write_stall: stall,
                ..Timeouts::default()
            };
            let limits = Limits {
                write_queue: TOO_MUCH / 2,
                ..Limits::default()
            };
            server.timeouts(timeouts).limits(limits)
        })
        .await;
        let healthy = Peer::start(revision, &script(revision)).await;

        let mut pending = deaf.client.call("hang", json!({})).into_future();
        sent(&mut pending).await;
        deaf.received("tools/call", 1);
        assert_eq!(deaf.text("deafen").await.unwrap(), "deaf");
        let message = json!({"message": "x".repeat(TOO_MUCH)});
        let mut stuck = deaf.client.call("echo", message).into_future();
        sent(&mut stuck).await;
        // The queue is over its limit, so this one does not even get that far.
        let mut waiting = deaf.client.call("hang", json!({})).into_future();
        sent(&mut waiting).await;
        assert_eq!(deaf.client.statistics().calls.open, 2);
        for _ in 0..20 {
            healthy.echoes().await;
        }

        let reason = CloseReason::WriteStalled { after: stall };
        assert_eq!(not_sent_because(at_once("stuck", stuck).await), reason);
        assert_eq!(not_sent_because(at_once("waiting", waiting).await), reason);
        assert_eq!(unknown_because(at_once("pending", pending).await), reason);
        assert_eq!(deaf.ended(Ending::NotSent), 1, "the last was never issued");
        deaf.is_gone();
        healthy.echoes().await;
        deaf.finish().await;
        healthy.finish().await;
    });
}

#[test]
fn fault_28_writing_to_a_closed_stdin_is_a_typed_error() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision).on(
            When::tool("deafen"),
            [Action::text("deaf"), Action::close_stdin()],
        );
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("deafen").await.unwrap(), "deaf");
        let reason = not_sent_because(peer.text("deafen").await);
        let CloseReason::WriteFailed(error) = &reason else {
            panic!("{reason:?}");
        };
        assert!(error.to_lowercase().contains("broken pipe"), "{error}");
        assert_eq!(peer.client.closed().await, reason);
        assert_eq!(peer.ended(Ending::NotSent), 1);
        peer.is_gone();
        peer.finish().await;
    });
}

#[test]
fn fault_28_a_call_to_a_server_that_has_exited_was_not_sent() {
    each(BOTH_ERAS, async |revision| {
        let script =
            script(revision).on(When::tool("leave"), [Action::text("bye"), Action::exit(3)]);
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("leave").await.unwrap(), "bye");
        let ended = at_once("the end", peer.client.closed()).await;
        assert_eq!(not_sent_because(peer.text("leave").await), ended);
        let (exit, _) = exit_of(ended);
        assert_eq!(exit, attache_client::ExitReason::Code(3));
        assert_eq!(peer.launch.starts().unwrap().len(), 1);
        peer.finish().await;
    });
}
