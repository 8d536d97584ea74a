//! How conversations of tests begin and end.

use std::future::IntoFuture;
use std::time::Duration;

use attache_client::protocol::{Features, Revision};
use attache_client::{Client, Server};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::peer::{PATIENCE, Peer};

/// The newest revision of each era.
pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// The revisions with a handshake, oldest first.
pub(crate) const LEGACY: [Revision; 4] = [
    Revision::V2024_11_05,
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
];

/// The revisions that have a feature.
pub(crate) fn with(feature: impl Fn(&Features) -> bool) -> impl Iterator<Item = Revision> {
    let mut revisions = Revision::NEWEST_FIRST.to_vec();
    revisions.retain(|revision| feature(revision.features()));
    revisions.into_iter()
}

/// A connection to a hand-driven server that has everything.
pub(crate) async fn connected(
    revision: Revision,
    configure: impl FnOnce(Server) -> Server,
) -> (Client, Peer) {
    connected_to(revision, everything(revision), configure).await
}

/// A connection to a hand-driven server with these capabilities.
pub(crate) async fn connected_to(
    revision: Revision,
    capabilities: Value,
    configure: impl FnOnce(Server) -> Server,
) -> (Client, Peer) {
    let (server, stream) = Server::memory();
    let server = configure(server.protocol(revision));
    let mut peer = Peer::new(stream, revision);
    let connecting = start(async move { server.connect().await });
    peer.shake_hands(capabilities).await;
    (connecting.await.unwrap().unwrap(), peer)
}

/// A connection with nothing set.
pub(crate) async fn plain(revision: Revision) -> (Client, Peer) {
    connected(revision, |server| server).await
}

pub(crate) fn everything(revision: Revision) -> Value {
    let features = revision.features();
    let mut capabilities = json!({
        "tools": {"listChanged": true},
        "prompts": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "logging": {},
    });
    if features.completion_capability {
        capabilities["completions"] = json!({});
    }
    if features.experimental_tasks {
        capabilities["tasks"] = json!({
            "list": {}, "cancel": {}, "requests": {"tools": {"call": {}}},
        });
    }
    capabilities
}

impl Peer {
    /// The server's side of the handshake of its revision.
    pub(crate) async fn shake_hands(&mut self, capabilities: Value) {
        if self.is_modern() {
            let probe = self.request("server/discover").await;
            self.answer(&probe, discovered(&[self.revision.as_str()], capabilities))
                .await;
        } else {
            let request = self.request("initialize").await;
            let result = initialized(self.revision.as_str(), capabilities);
            self.answer(&request, result).await;
            self.notification("notifications/initialized").await;
        }
    }
}

/// The result of `server/discover`.
pub(crate) fn discovered(versions: &[&str], capabilities: Value) -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// The result of `initialize`.
pub(crate) fn initialized(version: &str, capabilities: Value) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": "peer", "version": "1"},
    })
}

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Lets work go on beside the test. Work that would wait for ever fails.
pub(crate) fn start<F>(work: F) -> JoinHandle<F::Output>
where
    F: IntoFuture,
    F::IntoFuture: Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(soon(work.into_future()))
}

/// Waits for what must happen; the clock is paused, so failing costs no time.
pub(crate) async fn soon<F: IntoFuture>(happening: F) -> F::Output {
    let happening = timeout(PATIENCE, happening.into_future());
    happening.await.expect("this never happens")
}

/// Waits for a condition.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap();
}

/// Checks how much time has passed, to the resolution of the clock.
#[track_caller]
pub(crate) fn assert_elapsed(since: Instant, expected: Duration) {
    let elapsed = since.elapsed();
    let resolution = Duration::from_millis(10);
    assert!(
        elapsed >= expected && elapsed < expected + resolution,
        "{elapsed:?} have passed, not {expected:?}"
    );
}

/// Every call that was issued is open or has ended (invariant 2).
#[track_caller]
pub(crate) fn assert_balanced(client: &Client) {
    let calls = client.statistics().calls;
    assert_eq!(calls.issued, calls.open + calls.ended(), "{calls}");
}

/// Ends a conversation in order: the client has nothing more to say, every call has ended, and all
/// that was said was legal.
pub(crate) async fn finish(client: Client, peer: Peer) {
    let record = peer.record.clone();
    finish_with_liberties(client, peer).await;
    record.check_against_schema();
}

/// As [`finish`], for a client that was told to deviate from the protocol.
pub(crate) async fn finish_with_liberties(client: Client, mut peer: Peer) {
    let ending = start(async move {
        let rest = peer.rest().await;
        assert_eq!(rest, [""; 0], "the client said more than was expected");
    });
    client.close().await;
    ending.await.unwrap();
    assert_balanced(&client);
    assert_eq!(client.statistics().calls.open, 0);
}
