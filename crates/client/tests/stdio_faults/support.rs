//! A chaos server and a client of it.
//!
//! Owns what every test asserts at its end: no call is open, the books balance, no process is left.
//! Refuses to know any particular fault.

use std::fmt::Debug;
use std::future::Future;

use attache_client::protocol::{Ending, Revision};
use attache_client::{Client, CloseReason, Error, ExitReason, Server};
use attache_testkit::chaos::{Launch, Script};
pub(crate) use attache_testkit::guard::{PATIENCE, at_once, eventually, guarded};
use serde_json::{Value, json};

/// The newest revision of each era.
pub(crate) const BOTH_ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Runs a test once per revision, each time with the guard of [`guarded`].
pub(crate) fn each(
    revisions: impl IntoIterator<Item = Revision>,
    test: impl AsyncFn(Revision) + Send + 'static,
) {
    let revisions: Vec<_> = revisions.into_iter().collect();
    guarded(async move || {
        for revision in revisions {
            let report = Report(revision);
            test(revision).await;
            std::mem::forget(report);
        }
    });
}

/// Says which revision a test failed with: its destructor runs on the way out of a panic.
struct Report(Revision);

impl Drop for Report {
    #[expect(clippy::print_stderr, reason = "the harness shows it with the failure")]
    fn drop(&mut self) {
        eprintln!("this was with revision {}", self.0);
    }
}

/// The small correct server of a revision, to which a test adds its faults.
pub(crate) fn script(revision: Revision) -> Script {
    Script::of_revision(revision.as_str())
}

/// A connected client and the server it is connected to.
pub(crate) struct Peer {
    pub(crate) client: Client,
    pub(crate) launch: Launch,
}

impl Peer {
    /// Starts the server and connects with everything as it is by default.
    pub(crate) async fn start(revision: Revision, script: &Script) -> Self {
        Self::start_with(revision, script, |server| server).await
    }

    /// Starts the server and connects as `configured`.
    pub(crate) async fn start_with(
        revision: Revision,
        script: &Script,
        configured: impl FnOnce(Server) -> Server,
    ) -> Self {
        let launch = script.launch().unwrap();
        let server = configured(server(&launch).protocol(revision));
        let client = server.connect().await.unwrap();
        assert_eq!(client.revision(), revision);
        Self { client, launch }
    }

    /// Calls a tool without arguments and waits for its text.
    pub(crate) async fn text(&self, tool: &str) -> Result<String, Error> {
        let called = at_once(tool, self.client.call(tool, json!({}))).await;
        called.map(|result| result.text())
    }

    /// The connection works: a call gets its own answer.
    pub(crate) async fn echoes(&self) {
        let message = json!({"message": "still here"});
        let said = at_once("echo", self.client.call("echo", message)).await;
        assert_eq!(said.unwrap().text(), "still here");
    }

    /// How many calls have ended this way.
    pub(crate) fn ended(&self, ending: Ending) -> u64 {
        self.client.statistics().calls.count(ending)
    }

    /// Waits until the server has received so many messages of a method.
    pub(crate) fn received(&self, method: &str, count: usize) -> Vec<Value> {
        self.launch
            .wait_received_of(method, count, PATIENCE)
            .unwrap()
    }

    /// What every test asserts at its end. Closing comes after the books are checked,
    /// since it would end what is still open.
    pub(crate) async fn finish(self) {
        assert_balanced(&self.client);
        at_once("close", self.client.close()).await;
        assert_balanced(&self.client);
        self.is_gone();
    }

    /// Nothing of the server is left, without a word from this side.
    pub(crate) fn is_gone(&self) {
        self.launch.tag().wait_until_gone(PATIENCE).unwrap();
    }
}

/// The server of a launch, not yet connected to.
pub(crate) fn server(launch: &Launch) -> Server {
    let server = Server::stdio(&launch.program, &launch.args);
    launch
        .env
        .iter()
        .fold(server, |server, (name, value)| server.env(name, value))
}

/// Issued = open + ended, and nothing is open.
#[track_caller]
pub(crate) fn assert_balanced(client: &Client) {
    let calls = client.statistics().calls;
    assert_eq!(calls.issued, calls.open + calls.ended(), "{calls}");
    assert_eq!(calls.open, 0, "{calls}");
}

/// Sends a request and leaves it open, in the hands of the caller.
pub(crate) async fn sent<T: Debug>(call: &mut (impl Future<Output = T> + Unpin)) {
    tokio::select! {
        biased;
        answer = call => panic!("it was answered with {answer:?}"),
        () = std::future::ready(()) => {}
    }
}

/// The problem of a call that ended because its answer broke the protocol.
#[track_caller]
pub(crate) fn problem_of<T: Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Err(Error::Protocol { problem, .. }) => problem,
        other => panic!("expected a protocol error, got {other:?}"),
    }
}

/// Why the connection of a call ended that may have had its effect.
#[track_caller]
pub(crate) fn unknown_because<T: Debug>(answer: Result<T, Error>) -> CloseReason {
    match answer {
        Err(Error::OutcomeUnknown { reason, .. }) => reason,
        other => panic!("expected an unknown outcome, got {other:?}"),
    }
}

/// Why the connection of a call ended that was not sent.
#[track_caller]
pub(crate) fn not_sent_because<T: Debug>(answer: Result<T, Error>) -> CloseReason {
    match answer {
        Err(Error::NotSent { reason, .. }) => reason,
        other => panic!("expected a call that was not sent, got {other:?}"),
    }
}

/// How the server's process ended, and its last words.
#[track_caller]
pub(crate) fn exit_of(reason: CloseReason) -> (ExitReason, Vec<String>) {
    match reason {
        CloseReason::Exited { exit, stderr } => (exit, stderr),
        other => panic!("expected an exit, got {other:?}"),
    }
}
