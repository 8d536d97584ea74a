//! P1: every call ends exactly once, and its ending is the truth.
//!
//! A hundred thousand calls with a side effect each, many at once, some given up by their callers,
//! against a server that is killed at random moments. What the client says of each call is held
//! against the server's own synced log of effects.
//!
//! `ATTACHE_P1_CALLS`, `ATTACHE_P1_CALLERS`, `ATTACHE_P1_KILLS` and `ATTACHE_P1_SEED` make it larger
//! or other than usual; `scripts/soak` does that. Everything it complains about names the seed.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use attache_client::protocol::Ending;
use attache_client::{Client, Server};
use attache_testkit::chaos::{Launch, Script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

/// About one call in so many is dropped before its answer.
const DROPPED: u64 = 50;

/// How much is done, and with which random numbers.
#[derive(Clone, Copy)]
struct Plan {
    calls: u64,
    callers: u64,
    /// How often the server is killed, about.
    kills: u64,
    seed: u64,
}

impl Plan {
    fn from_environment() -> Self {
        Self {
            calls: number("ATTACHE_P1_CALLS", 100_000),
            callers: number("ATTACHE_P1_CALLERS", 64),
            kills: number("ATTACHE_P1_KILLS", 66),
            seed: number("ATTACHE_P1_SEED", 0x5eed_2026),
        }
    }

    /// The server is killed after so many answers, give or take.
    fn between_kills(&self) -> u64 {
        (self.calls / self.kills).max(2)
    }
}

/// So that a run can be repeated from what it says.
impl fmt::Display for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            calls,
            callers,
            kills,
            seed,
        } = self;
        write!(
            formatter,
            "seed {seed:#x}, {calls} calls of {callers} callers, about {kills} kills"
        )
    }
}

/// A positive number from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(name) else {
        return otherwise;
    };
    let read = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    match read {
        Ok(number @ 1..) => number,
        _ => panic!("{name} is no positive number: {text}"),
    }
}

/// The connection of the moment, made anew when it is lost.
struct Line {
    plan: Plan,
    server: Server,
    /// The connection and its number. Process ids do not tell connections apart: they come again.
    current: Mutex<(u64, Client)>,
    issued: AtomicU64,
    ended: AtomicU64,
}

impl Line {
    async fn open(plan: Plan, launch: &Launch) -> Self {
        let mut server = Server::stdio(&launch.program, &launch.args);
        for (name, value) in &launch.env {
            server = server.env(name, value);
        }
        let current = Mutex::new((0, server.connect().await.unwrap()));
        Self {
            plan,
            server,
            current,
            issued: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }

    async fn client(&self) -> (u64, Client) {
        self.current.lock().await.clone()
    }

    /// Replaces a connection that was lost, once for all callers that noticed.
    async fn replace(&self, lost: u64) {
        let mut current = self.current.lock().await;
        if current.0 == lost {
            self.settle(&current.1).await;
            match self.server.connect().await {
                Ok(client) => *current = (lost + 1, client),
                Err(error) => panic!("{}: connection {} failed: {error}", self.plan, lost + 1),
            }
        }
    }

    /// Adds a connection that has ended to the books.
    async fn settle(&self, client: &Client) {
        client.close().await;
        let (plan, calls) = (self.plan, client.statistics().calls);
        assert_eq!(calls.open, 0, "{plan}: {calls}");
        assert_eq!(calls.issued, calls.ended(), "{plan}: {calls}");
        self.issued.fetch_add(calls.issued, Ordering::Relaxed);
        self.ended.fetch_add(calls.ended(), Ordering::Relaxed);
    }
}

async fn caller(line: Arc<Line>, number: u64, log: mpsc::UnboundedSender<(u64, Ending)>) {
    let Plan { seed, .. } = line.plan;
    let mut random = fastrand::Rng::with_seed(seed ^ (number << 32));
    for key in (number..line.plan.calls).step_by(line.plan.callers as usize) {
        let (connection, client) = line.client().await;
        let call = client.call("side_effect", json!({ "key": key.to_string() }));
        let answer = if random.u64(..DROPPED) == 0 {
            let patience = Duration::from_micros(random.u64(..300));
            call.cancel_when(tokio::time::sleep(patience)).await
        } else {
            call.await
        };
        let ending = match answer {
            Ok(_) => Ending::Result,
            Err(error) => match error.ending() {
                Some(ending) => ending,
                None => panic!("{}: call {key} was never issued: {error}", line.plan),
            },
        };
        log.send((key, ending)).unwrap();
        if matches!(ending, Ending::NotSent | Ending::OutcomeUnknown) {
            line.replace(connection).await;
        }
    }
}

/// Kills the server of the moment whenever enough calls have ended since the last time.
async fn killer(line: Arc<Line>, answered: Arc<AtomicU64>, done: Arc<AtomicBool>) -> u64 {
    let mut random = fastrand::Rng::with_seed(line.plan.seed);
    let between_kills = line.plan.between_kills();
    let mut kills = 0;
    let mut next = between_kills;
    while !done.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_micros(200)).await;
        if answered.load(Ordering::Relaxed) < next {
            continue;
        }
        next = answered.load(Ordering::Relaxed) + between_kills / 2 + random.u64(..between_kills);
        let process = line.client().await.1.process_id().unwrap();
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
    let plan = Plan::from_environment();
    let launch = Script::legacy("2025-11-25").launch().unwrap();
    let line = Arc::new(Line::open(plan, &launch).await);
    let (answered, done) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let killer = tokio::spawn(killer(line.clone(), answered.clone(), done.clone()));
    let (log, mut endings) = mpsc::unbounded_channel();
    let mut callers = JoinSet::new();
    for number in 0..plan.callers {
        callers.spawn(caller(line.clone(), number, log.clone()));
    }
    drop(log);

    let mut told = HashMap::new();
    while let Some((key, ending)) = endings.recv().await {
        answered.fetch_add(1, Ordering::Relaxed);
        let twice = told.insert(key, ending).is_some();
        assert!(!twice, "{plan}: call {key} ended twice");
    }
    // A caller that panicked fails the test with its own message.
    callers.join_all().await;
    done.store(true, Ordering::Relaxed);
    let kills = killer.await.unwrap();
    line.settle(&line.client().await.1).await;

    let mut happened: HashMap<u64, u64> = HashMap::new();
    for effect in launch.effects().unwrap() {
        match effect.parse() {
            Ok(key) => *happened.entry(key).or_default() += 1,
            Err(_) => panic!("{plan}: the log has an effect {effect:?}"),
        }
    }
    let mut counts: HashMap<Ending, u64> = HashMap::new();
    let mut untrue = Vec::new();
    for (key, ending) in &told {
        *counts.entry(*ending).or_default() += 1;
        let effects = happened.remove(key).unwrap_or(0);
        let possible = match ending {
            Ending::Result => effects == 1,
            Ending::NotSent => effects == 0,
            Ending::OutcomeUnknown | Ending::Cancelled => effects <= 1,
            _ => false,
        };
        if !possible {
            untrue.push(format!("call {key}: {ending:?}, {effects} effects"));
        }
    }
    let sum: u64 = counts.values().sum();
    let (issued, ended) = (
        line.issued.load(Ordering::Relaxed),
        line.ended.load(Ordering::Relaxed),
    );
    report(&format!(
        "P1: {plan}; {kills} kills, endings {counts:?} = {sum}\n\
         P1: the clients issued {issued} requests and ended {ended}, handshakes included"
    ));
    assert!(untrue.is_empty(), "{plan}: {untrue:?}");
    assert!(happened.is_empty(), "{plan}: nobody asked for {happened:?}");
    assert_eq!(sum, plan.calls, "{plan}");
    assert_eq!(issued, ended, "{plan}");
    assert!(kills >= plan.kills * 3 / 10, "{plan}: {kills} kills");
    let count = |ending| counts.get(&ending).copied().unwrap_or(0);
    assert!(count(Ending::Result) > plan.calls / 2, "{plan}");
    assert!(count(Ending::Cancelled) > 0, "{plan}");
}
