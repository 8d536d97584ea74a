//! The driver under a paused clock, with servers that are streams in this process (P3).

use std::time::Duration;

use attache_client::Server;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::*;
use crate::config::{ServerName, Source};
use crate::journal::Journal;
use crate::questions::{Askable, Questions, ServerQuestions};
use crate::supervisor::{Patience, ServerMaker, StartPlaces, Supervised};

/// Writes down states and their times.
#[derive(Default)]
struct Notebook(Mutex<Vec<(ServerState, Instant)>>);

impl Observer for Notebook {
    fn state(&self, state: ServerState, _now: Circumstances<'_>) {
        self.0.lock().push((state, Instant::now()));
    }

    fn connected(&self, _client: &Client) {}

    fn disconnected(&self) {}

    fn clean(&self, line: &str) -> String {
        line.to_owned()
    }
}

impl Notebook {
    fn times_of(&self, wanted: ServerState) -> Vec<Instant> {
        let noted = self.0.lock();
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
    supervised_in(None, Arc::new(maker), notebook)
}

/// A server that starts in one of these places.
fn supervised_in(
    places: Option<StartPlaces>,
    maker: ServerMaker,
    notebook: &Arc<Notebook>,
) -> Supervised {
    let name = ServerName::new("s").unwrap();
    let config = ServerConfig::new(name, Server::stdio("", [""; 0]), Source::program());
    let questions = ServerQuestions {
        server: config.name.clone(),
        askable: Askable::default(),
        queue: Questions::new(Journal::new(None).core.clone()),
    };
    let target = Target::made_by(maker, &config, &questions);
    Supervised::new(&config, target, notebook.clone(), places)
}

/// Servers that never say a word, and when each of them was really started.
#[derive(Clone, Default)]
struct Begun(Arc<Mutex<Vec<(usize, Duration)>>>);

impl Begun {
    fn servers(&self, count: usize, places: &StartPlaces) -> Vec<Arc<Supervised>> {
        let epoch = Instant::now();
        let servers = (0..count).map(|number| {
            let begun = self.clone();
            let maker = move || {
                begun.0.lock().push((number, epoch.elapsed()));
                silent()
            };
            let notebook = Arc::default();
            let places = Some(places.clone());
            Arc::new(supervised_in(places, Arc::new(maker), &notebook))
        });
        servers.collect()
    }

    /// The first start of each, in seconds.
    fn seconds(&self) -> Vec<(usize, u64)> {
        let begun = self.0.lock();
        let mut seen = std::collections::BTreeSet::new();
        let first = begun.iter().filter(|(number, _)| seen.insert(*number));
        first.map(|(number, at)| (*number, at.as_secs())).collect()
    }
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

#[tokio::test(start_paused = true)]
async fn programs_wait_for_a_place_but_not_for_one_that_hangs() {
    let (begun, places) = (Begun::default(), StartPlaces::new(Semaphore::new(2)));
    let servers = begun.servers(5, &places);
    let waiting = servers.iter().map(|server| {
        let server = server.clone();
        tokio::spawn(async move { server.ready_after(0, Patience::FirstFailure).await })
    });
    let waiting: Vec<_> = waiting.collect();
    // Long enough for all to begin and to give up their places, and for none to end.
    tokio::time::sleep(PLACE_KEPT * 4).await;
    let kept = PLACE_KEPT.as_secs();
    let expected = [(0, 0), (1, 0), (2, kept), (3, kept), (4, 2 * kept)];
    assert_eq!(begun.seconds(), expected);
    assert_eq!(places.available_permits(), 2);
    for waiting in waiting {
        assert!(waiting.await.unwrap().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_a_request_waits_for_needs_no_place() {
    let (begun, places) = (Begun::default(), StartPlaces::new(Semaphore::new(1)));
    let servers = begun.servers(3, &places);
    let mut waiting = Vec::new();
    // The last one is queued first, and then needed.
    for (number, patience) in [
        (0, Patience::FirstFailure),
        (1, Patience::FirstFailure),
        (2, Patience::FirstFailure),
        (2, Patience::Persistent),
    ] {
        let server = servers[number].clone();
        waiting.push(tokio::spawn(async move {
            server.ready_after(0, patience).await.map(drop)
        }));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(begun.seconds(), [(0, 0), (2, 0)]);
    // An order to stop also ends the wait for a place.
    servers[1].stop().await;
    assert_eq!(begun.seconds(), [(0, 0), (2, 0)]);
    for waiting in waiting {
        assert!(waiting.await.unwrap().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_to_start_begins_with_the_start() {
    let (begun, places) = (Begun::default(), StartPlaces::new(Semaphore::new(1)));
    // The last of them begins after its time would be over if waiting for a place counted.
    let servers = begun.servers(20, &places);
    let began = Instant::now();
    let mut waiting = tokio::task::JoinSet::new();
    for (number, server) in servers.into_iter().enumerate() {
        waiting.spawn(async move {
            let failed = server.ready_after(0, Patience::FirstFailure).await;
            assert!(failed.is_err());
            (number, began.elapsed().as_secs())
        });
    }
    let ended = waiting.join_all().await;
    let last = ended.iter().find(|(number, _)| *number == 19).unwrap();
    assert_eq!(last.1, 19 * PLACE_KEPT.as_secs() + 60);
}
