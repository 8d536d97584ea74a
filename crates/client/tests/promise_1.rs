//! P1: every call ends exactly once, and its ending is the truth.
//!
//! A hundred thousand calls with a side effect each, many at once, some given up by their callers,
//! against a server that is killed at random moments. What the client says of each call is held
//! against the server's own synced log of effects.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "everything here is a test"
)]

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use attache_client::protocol::Ending;
use attache_client::{Client, Error, Server};
use attache_testkit::chaos::{Launch, Script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::sync::{Mutex, mpsc};

const CALLS: u64 = 100_000;
const CALLERS: u64 = 64;
/// About one call in so many is dropped before its answer.
const DROPPED: u64 = 50;
/// The server is killed after so many answers, give or take.
const BETWEEN_KILLS: u64 = 1_500;

/// A small reproducible generator; the seed is printed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The connection of the moment, made anew when it is lost.
struct Line {
    server: Server,
    current: Mutex<Client>,
    issued: AtomicU64,
    ended: AtomicU64,
}

impl Line {
    async fn open(launch: &Launch) -> Self {
        let mut server = Server::stdio(&launch.program, &launch.args);
        for (name, value) in &launch.env {
            server = server.env(name, value);
        }
        let current = Mutex::new(server.connect().await.unwrap());
        Self {
            server,
            current,
            issued: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }

    async fn client(&self) -> Client {
        self.current.lock().await.clone()
    }

    /// Replaces a connection that was lost, once for all callers that noticed.
    async fn replace(&self, lost: u32) {
        let mut current = self.current.lock().await;
        if current.process_id() == Some(lost) {
            self.settle(&current).await;
            *current = self.server.connect().await.unwrap();
        }
    }

    /// Adds a connection that has ended to the books.
    async fn settle(&self, client: &Client) {
        client.close().await;
        let calls = client.statistics().calls;
        assert_eq!(calls.open, 0, "{calls}");
        assert_eq!(calls.issued, calls.ended(), "{calls}");
        self.issued.fetch_add(calls.issued, Ordering::Relaxed);
        self.ended.fetch_add(calls.ended(), Ordering::Relaxed);
    }
}

/// How a call ended for its caller.
fn ending(answer: &Result<(), Error>) -> Ending {
    match answer {
        Ok(()) => Ending::Result,
        Err(error) => error.ending().expect("a call that was issued"),
    }
}

async fn caller(
    line: Arc<Line>,
    number: u64,
    seed: u64,
    log: mpsc::UnboundedSender<(u64, Ending)>,
) {
    let mut random = Random(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for key in (number..CALLS).step_by(CALLERS as usize) {
        let client = line.client().await;
        let process = client.process_id().unwrap();
        let call = client.call("side_effect", json!({ "key": key.to_string() }));
        let answer = if random.below(DROPPED) == 0 {
            let patience = Duration::from_micros(random.below(300));
            call.cancel_when(tokio::time::sleep(patience)).await
        } else {
            call.await
        };
        let ending = ending(&answer.map(drop));
        log.send((key, ending)).unwrap();
        if matches!(ending, Ending::NotSent | Ending::OutcomeUnknown) {
            line.replace(process).await;
        }
    }
}

/// Kills the server of the moment whenever enough calls have ended since the last time.
async fn killer(
    line: Arc<Line>,
    answered: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
    seed: u64,
) -> u64 {
    let mut random = Random(seed);
    let mut kills = 0;
    let mut next = BETWEEN_KILLS;
    while !done.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_micros(200)).await;
        if answered.load(Ordering::Relaxed) < next {
            continue;
        }
        next = answered.load(Ordering::Relaxed) + BETWEEN_KILLS / 2 + random.below(BETWEEN_KILLS);
        let process = line.client().await.process_id().unwrap();
        let pid = Pid::from_raw(process.cast_signed()).unwrap();
        if kill_process(pid, Signal::KILL).is_ok() {
            kills += 1;
        }
    }
    kills
}

/// Prints past the harness, which shows the output of failing tests only.
fn report(lines: &str) {
    let mut stdout = std::io::stdout();
    stdout.write_all(lines.as_bytes()).unwrap();
    stdout.write_all(b"\n").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p1_every_call_ends_exactly_once_and_truthfully() {
    let seed = 0x5eed_2026_u64;
    let launch = Script::legacy("2025-11-25").launch().unwrap();
    let line = Arc::new(Line::open(&launch).await);
    let (answered, done) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let killer = tokio::spawn(killer(line.clone(), answered.clone(), done.clone(), seed));
    let (log, mut endings) = mpsc::unbounded_channel();
    for number in 0..CALLERS {
        tokio::spawn(caller(line.clone(), number, seed, log.clone()));
    }
    drop(log);

    let mut told = HashMap::new();
    while let Some((key, ending)) = endings.recv().await {
        answered.fetch_add(1, Ordering::Relaxed);
        assert!(told.insert(key, ending).is_none(), "call {key} ended twice");
    }
    done.store(true, Ordering::Relaxed);
    let kills = killer.await.unwrap();
    line.settle(&line.client().await).await;

    let mut happened: HashMap<u64, u64> = HashMap::new();
    for effect in launch.effects().unwrap() {
        *happened.entry(effect.parse().unwrap()).or_default() += 1;
    }
    let mut counts: HashMap<Ending, u64> = HashMap::new();
    for (key, ending) in &told {
        *counts.entry(*ending).or_default() += 1;
        let effects = happened.get(key).copied().unwrap_or(0);
        let possible = match ending {
            Ending::Result => effects == 1,
            Ending::NotSent => effects == 0,
            Ending::OutcomeUnknown | Ending::Cancelled => effects <= 1,
            _ => false,
        };
        assert!(
            possible,
            "call {key} ended as {ending:?} with {effects} effects"
        );
    }
    let sum: u64 = counts.values().sum();
    let (issued, ended) = (
        line.issued.load(Ordering::Relaxed),
        line.ended.load(Ordering::Relaxed),
    );
    report(&format!(
        "P1: seed {seed:#x}, {kills} kills, {CALLS} calls, endings {counts:?} = {sum}\n\
         P1: the clients issued {issued} requests and ended {ended}, handshakes included"
    ));
    assert_eq!(sum, CALLS);
    assert_eq!(issued, ended);
    assert!(kills >= 20, "the server was killed {kills} times");
    assert!(counts[&Ending::Result] > CALLS / 2 && counts[&Ending::Cancelled] > 0);
}
