//! The driver under a paused clock, with servers that are streams in this process (P3).

use std::sync::Mutex;
use std::time::Duration;

use attache_client::Server;
use tokio::time::Instant;

use super::*;
use crate::config::{ServerName, Source, Transport};
use crate::questions::{NobodyToAsk, Questions};
use crate::supervisor::{Patience, ServerMaker, Supervised};

/// Writes down states and their times.
#[derive(Default)]
struct Notebook(Mutex<Vec<(ServerState, Instant)>>);

impl Witness for Notebook {
    fn state(&self, state: ServerState, _failure: Option<&Failure>) {
        self.0.lock().unwrap().push((state, Instant::now()));
    }

    fn connected(&self, _client: &Client) {}

    fn disconnected(&self) {}

    fn clean(&self, line: &str) -> String {
        line.to_owned()
    }
}

impl Notebook {
    fn times_of(&self, wanted: ServerState) -> Vec<Instant> {
        let noted = self.0.lock().unwrap();
        let times = noted.iter().filter(|(state, _)| *state == wanted);
        times.map(|(_, time)| *time).collect()
    }
}

/// A server whose every start fails: its stream has ended before it begins.
fn broken() -> Server {
    let (server, theirs) = Server::memory();
    drop(theirs);
    server
}

/// A server that never says a word.
fn silent() -> Server {
    let (server, theirs) = Server::memory();
    // It lives for as long as the process, which is what silence needs.
    std::mem::forget(theirs);
    server
}

fn supervised(maker: fn() -> Server, notebook: &Arc<Notebook>) -> Supervised {
    let transport = Transport::Stdio {
        command: String::new(),
        args: Vec::new(),
        env: Default::default(),
        cwd: None,
    };
    let name = ServerName::new("s").unwrap();
    let config = ServerConfig::new(name, transport, Source::program());
    let questions: Arc<dyn Questions> = Arc::new(NobodyToAsk);
    let maker: ServerMaker = Arc::new(maker);
    let target = Target::made_by(maker, &config, &questions);
    Supervised::new(&config, target, notebook.clone())
}

#[tokio::test(start_paused = true)]
async fn promise_3_five_starts_with_growing_pauses_then_parked() {
    let notebook = Arc::<Notebook>::default();
    let server = supervised(broken, &notebook);
    let failed = server.ready_after(0, Patience::Persistent).await;
    assert!(matches!(failed, Err(crate::Error::Parked { .. })));
    let starts = notebook.times_of(ServerState::Starting);
    assert_eq!(starts.len(), 5);
    let mut bound = Duration::from_millis(100);
    for pair in starts.windows(2) {
        // The timer's grain is a millisecond.
        assert!(pair[1] - pair[0] <= bound + Duration::from_millis(2));
        bound *= 2;
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(notebook.times_of(ServerState::Starting).len(), 5);
    // A person's wish un-parks it, and forgets what was.
    server.restart().await;
    let failed = server.ready_after(0, Patience::Persistent).await;
    assert!(matches!(failed, Err(crate::Error::Parked { .. })));
    assert_eq!(notebook.times_of(ServerState::Starting).len(), 10);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_insist_is_told_of_the_first_failure() {
    let notebook = Arc::<Notebook>::default();
    let server = supervised(broken, &notebook);
    let failed = server.ready_after(0, Patience::FirstFailure).await;
    assert!(matches!(failed, Err(crate::Error::Unreachable { .. })));
    assert_eq!(notebook.times_of(ServerState::Parked).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn fault_33_a_silent_server_keeps_nobody_longer_than_its_start_may_take() {
    let notebook = Arc::<Notebook>::default();
    let server = supervised(silent, &notebook);
    let began = Instant::now();
    let failed = server.ready_after(0, Patience::Persistent).await;
    assert!(failed.is_err());
    let took = began.elapsed();
    assert!(took <= Duration::from_secs(61), "{took:?}");
    // An order to stop ends a start at once (fault 7).
    server.restart().await;
    let before = Instant::now();
    server.stop().await;
    assert!(before.elapsed() < Duration::from_secs(1));
    assert_eq!(notebook.times_of(ServerState::Stopped).len(), 1);
}
