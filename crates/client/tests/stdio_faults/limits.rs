//! The limit on the length of a message: exact, and the end of a server that ignores it.

use attache_client::protocol::{DEFAULT_MAX_FRAME, Ending, Revision};
use attache_client::{CloseReason, Error, Limits};
use attache_testkit::chaos::{Action, Reply, When};
use serde_json::json;

use crate::support::{
    BOTH_ERAS, Peer, at_once, each, not_sent_because, script, sent, unknown_because,
};

/// A limit that is reached quickly.
const SMALL: usize = 256 * 1024;

async fn start(revision: Revision, frame: usize, actions: Vec<Action>) -> Peer {
    let script = script(revision)
        .on(When::tool("hang"), [Action::never()])
        .on(When::tool("long"), actions);
    Peer::start_with(revision, &script, |server| {
        server.limits(Limits {
            frame,
            ..Limits::default()
        })
    })
    .await
}

/// Calls the tool whose answer is as long as the limit, or longer. An unoptimised build takes
/// its time for the longest ones, so only the guard of the test limits it.
async fn long(peer: &Peer) -> Result<String, Error> {
    let called = peer.client.call("long", json!({})).await;
    called.map(|result| result.text())
}

/// Calls a tool that breaks the limit, and asserts what becomes of everything then.
async fn assert_stopped(peer: Peer, limit: usize) {
    let mut hang = peer.client.call("hang", json!({})).into_future();
    sent(&mut hang).await;
    let stopped = CloseReason::FrameTooLong { limit };
    assert_eq!(unknown_because(long(&peer).await), stopped);
    assert_eq!(unknown_because(at_once("hang", hang).await), stopped);
    assert_eq!(at_once("the end", peer.client.closed()).await, stopped);
    peer.is_gone();
    assert_eq!(not_sent_because(peer.text("hang").await), stopped);
    assert_eq!(peer.ended(Ending::OutcomeUnknown), 2);
    peer.finish().await;
}

#[test]
fn fault_23_an_endless_line_ends_the_server_and_the_calls_that_wait_for_it() {
    each(BOTH_ERAS, async |revision| {
        let peer = start(revision, SMALL, vec![Action::endless_line()]).await;
        assert_stopped(peer, SMALL).await;
    });
}

async fn assert_limit_is_exact(revision: Revision, limit: usize) {
    let peer = start(revision, limit, vec![Reply::frame_of(limit).into()]).await;
    let text = long(&peer).await.unwrap();
    assert!(text.len() > limit - 1000 && text.len() < limit);
    peer.echoes().await;
    peer.finish().await;

    let peer = start(revision, limit, vec![Reply::frame_of(limit + 1).into()]).await;
    assert_stopped(peer, limit).await;
}

#[test]
fn p4_a_frame_at_the_limit_is_delivered_and_one_byte_more_is_refused() {
    each(BOTH_ERAS, async |revision| {
        assert_limit_is_exact(revision, SMALL).await;
    });
}

#[test]
fn p4_the_limit_is_sixteen_mebibytes_unless_set() {
    assert_eq!(DEFAULT_MAX_FRAME, 16 * 1024 * 1024);
    each([Revision::V2026_07_28], async |revision| {
        assert_limit_is_exact(revision, DEFAULT_MAX_FRAME).await;
    });
}
