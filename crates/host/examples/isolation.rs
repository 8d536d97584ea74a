//! Measures promise 5: how much a faulty server adds to the 99th percentile of 49 healthy ones.
//! `cargo run --release -p attache-host --example isolation [CLASS…]`
//!
//! For each class of fault it makes the same calls of the healthy servers in turns, while a
//! fiftieth server is called beside them: a healthy one in one turn, the faulty one in the next. It
//! prints the median percentile of both kinds of turns and the median ratio of neighbouring turns,
//! which a machine busy with something else disturbs least; the class `none` shows the noise. In
//! the last class every frame is followed by one who takes a hundred a second of ten thousand.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::cmp::Ordering;
use std::error::Error;
use std::time::{Duration, Instant};

use attache_host::Host;
use attache_host::client::Server;
use attache_host::client::process::guardian;
use attache_host::config::{Config, ServerConfig, ServerName, Source};
use attache_host::frames::{Frame, FrameKind};
use attache_host::policy::CallOrigin;
use attache_host::snapshot::ServerState;
use attache_testkit::chaos::{Action, Emit, Launch, Script, When};
use serde_json::{Value, json};

const HEALTHY: usize = 49;
/// Turns of each kind, alternating, so that a busy machine hits both alike.
const TURNS: usize = 20;
/// Calls of one turn, over all healthy servers.
const CALLS: usize = 1000;
/// How often the fiftieth server is called: as by a program that keeps trying.
const NEIGHBOUR_PAUSE: Duration = Duration::from_millis(20);

/// The class whose frames are followed.
const SEEN_SLOWLY: &str = "floods, seen slowly";
/// How long the slow follower takes for a frame.
const LOOK: Duration = Duration::from_millis(10);

/// Who follows the frames of all servers.
#[derive(Clone, Copy)]
enum Follower {
    None,
    Slow,
}

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    guardian::enable();
    tokio::runtime::Runtime::new()?.block_on(async {
        println!(
            "{:24} {:>10} {:>10} {:>7}",
            "fault", "healthy", "faulty", "ratio"
        );
        let wanted: Vec<String> = std::env::args().skip(1).collect();
        for (class, script) in fault_classes() {
            if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == class) {
                continue;
            }
            let follower = match class {
                SEEN_SLOWLY => Follower::Slow,
                _ => Follower::None,
            };
            let (healthy, faulty, ratio) = measure(&script, follower).await?;
            println!("{class:24} {healthy:>10.1?} {faulty:>10.1?} {ratio:>7.2}");
        }
        Ok(())
    })
}

fn script() -> Script {
    Script::legacy("2025-11-25")
}

fn fault_classes() -> Vec<(&'static str, Script)> {
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let on_call = |actions: Vec<Action>| script().on(When::tool("echo"), actions);
    let at_start = |action: Action| script().on(When::start(), [action]);
    let stderr = Emit::line("x".repeat(999)).times(100).on_stderr();
    let floods = || {
        let flood = Emit::message(&notice).times(200).into();
        on_call(vec![flood, Action::usual()])
    };
    vec![
        ("none", script()),
        ("crashes at start", at_start(Action::exit(1))),
        ("never gets ready", at_start(Action::wait_gate("never"))),
        ("never answers", on_call(vec![Action::never()])),
        ("dies of a call", on_call(vec![Action::exit(1)])),
        ("floods notifications", floods()),
        (
            "floods stderr",
            on_call(vec![stderr.into(), Action::usual()]),
        ),
        (
            "stops reading",
            on_call(vec![Action::usual(), Action::stop_reading()]),
        ),
        (SEEN_SLOWLY, floods()),
    ]
}

/// The percentiles beside a healthy server and beside the faulty one, and their ratio.
async fn measure(faulty: &Script, follower: Follower) -> Outcome<(Duration, Duration, f64)> {
    let mut launches = Vec::new();
    let mut config = Config::default();
    for number in 0..HEALTHY {
        add(
            &mut config,
            &format!("good{number}"),
            &script(),
            &mut launches,
        )?;
    }
    add(&mut config, "fine", &script(), &mut launches)?;
    add(&mut config, "bad", faulty, &mut launches)?;
    let host = Host::builder().config(config).start();
    for number in 0..HEALTHY {
        host.ready(&format!("good{number}")).await?;
    }
    turn(&host, "fine").await?;
    let follower = match follower {
        Follower::None => None,
        Follower::Slow => Some(tokio::spawn(follow_slowly(host.clone()))),
    };
    let began = Instant::now();
    let mut pairs = Vec::new();
    for number in 0..TURNS {
        // Each kind comes first as often as the other.
        pairs.push(if number % 2 == 0 {
            let healthy = turn(&host, "fine").await?;
            (healthy, turn(&host, "bad").await?)
        } else {
            let faulty = turn(&host, "bad").await?;
            (turn(&host, "fine").await?, faulty)
        });
    }
    let took = began.elapsed().as_secs_f64();
    host.close().await;
    drop(host);
    if let Some(follower) = follower {
        let (seen, lost) = follower.await?;
        let rate = (seen + lost) as f64 / took;
        println!("  {rate:.0} frames a second for {took:.0} s: {seen} seen, {lost} told as lost");
    }
    let ratio =
        |(healthy, faulty): &(Duration, Duration)| faulty.as_secs_f64() / healthy.as_secs_f64();
    Ok((
        median(pairs.iter().map(|pair| pair.0), Duration::cmp),
        median(pairs.iter().map(|pair| pair.1), Duration::cmp),
        median(pairs.iter().map(ratio), f64::total_cmp),
    ))
}

fn median<T>(values: impl Iterator<Item = T>, order: fn(&T, &T) -> Ordering) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(order);
    let middle = values.len() / 2;
    values.swap_remove(middle)
}

fn add(
    config: &mut Config,
    name: &str,
    script: &Script,
    launches: &mut Vec<Launch>,
) -> Outcome<()> {
    let launch = script.launch()?;
    let mut server = Server::stdio(&launch.program, &launch.args);
    for (name, value) in &launch.env {
        server = server.env(name, value);
    }
    let name = ServerName::new(name)?;
    let server = ServerConfig::new(name.clone(), server, Source::program());
    config.servers.insert(name, server);
    launches.push(launch);
    Ok(())
}

/// The percentile of one turn.
async fn turn(host: &Host, beside: &'static str) -> Outcome<Duration> {
    let mut times = Vec::with_capacity(CALLS);
    let neighbour = tokio::spawn(keep_calling(host.clone(), beside));
    for number in 0..CALLS {
        let tool = format!("good{}/echo", number % HEALTHY);
        let began = Instant::now();
        let call = host.call(tool, json!({"message": "m"}));
        call.origin(CallOrigin::Person).await?;
        times.push(began.elapsed());
    }
    neighbour.abort();
    times.sort_unstable();
    Ok(times[CALLS * 99 / 100])
}

/// How many frames a slow follower sees until the servers are gone, and how many it is told that
/// it has lost.
async fn follow_slowly(host: Host) -> (u64, u64) {
    let mut frames = host.frames();
    let gone = tokio::spawn(async move {
        let is_ready = |host: &Host| {
            let servers = host.snapshot().servers;
            servers.iter().any(|it| it.state == ServerState::Ready)
        };
        while is_ready(&host) {
            tokio::time::sleep(LOOK).await;
        }
    });
    let (mut seen, mut lost) = (0, 0);
    let mut count = |frame: Frame| match frame.kind {
        FrameKind::Missed { count } => lost += count,
        _ => seen += 1,
    };
    while !gone.is_finished() {
        tokio::time::sleep(LOOK).await;
        if let Some(frame) = frames.try_next() {
            count(frame);
        }
    }
    while let Some(frame) = frames.try_next() {
        count(frame);
    }
    (seen, lost)
}

async fn keep_calling(host: Host, server: &'static str) {
    loop {
        let tool = format!("{server}/echo");
        let call = host.call(tool, Value::Null).origin(CallOrigin::Person);
        let call = call.timeout(Duration::from_millis(100));
        // Its failures are the point.
        let _ = tokio::time::timeout(Duration::from_millis(200), call.into_future()).await;
        tokio::time::sleep(NEIGHBOUR_PAUSE).await;
    }
}
