//! Measures promise 5: how much a faulty server adds to the 99th percentile of 49 healthy ones.
//! `cargo run --release -p attache-host --example isolation`
//!
//! For each class of fault it makes the same calls of the healthy servers in turns, without and
//! with the fault going on, and prints both percentiles and their ratio.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::error::Error;
use std::time::{Duration, Instant};

use attache_host::Host;
use attache_host::client::process::guardian;
use attache_host::config::{Config, Secret, ServerConfig, ServerName, Source, Transport};
use attache_host::policy::Asker;
use attache_testkit::chaos::{Action, Emit, Launch, Script, When};
use serde_json::{Value, json};

const HEALTHY: usize = 49;
/// Turns of each kind, alternating, so that a busy machine hits both alike.
const TURNS: usize = 10;
/// Calls of one turn, over all healthy servers.
const CALLS: usize = 1000;
/// How often the faulty server is called: as a program would that keeps trying.
const NUISANCE_PAUSE: Duration = Duration::from_millis(20);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    guardian::enable();
    tokio::runtime::Runtime::new()?.block_on(async {
        println!(
            "{:24} {:>10} {:>10} {:>7}",
            "fault", "p99 alone", "p99 with", "ratio"
        );
        for (class, script) in fault_classes() {
            let (alone, with) = measure(&script).await?;
            let ratio = with.as_secs_f64() / alone.as_secs_f64();
            println!("{class:24} {alone:>10.1?} {with:>10.1?} {ratio:>7.2}");
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
    vec![
        ("none", script()),
        ("crashes at start", at_start(Action::exit(1))),
        ("never gets ready", at_start(Action::wait_gate("never"))),
        ("never answers", on_call(vec![Action::never()])),
        ("dies of a call", on_call(vec![Action::exit(1)])),
        (
            "floods notifications",
            on_call(vec![
                Emit::message(&notice).times(200).into(),
                Action::usual(),
            ]),
        ),
        (
            "floods stderr",
            on_call(vec![stderr.into(), Action::usual()]),
        ),
        (
            "stops reading",
            on_call(vec![Action::usual(), Action::stop_reading()]),
        ),
    ]
}

/// The percentile without and with the fault.
async fn measure(faulty: &Script) -> Outcome<(Duration, Duration)> {
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
    add(&mut config, "bad", faulty, &mut launches)?;
    let host = Host::builder(config).start();
    for number in 0..HEALTHY {
        host.ready(&format!("good{number}")).await?;
    }
    let (mut alone, mut with) = (Vec::new(), Vec::new());
    turn(&host, &mut Vec::new()).await?;
    for _ in 0..TURNS {
        turn(&host, &mut alone).await?;
        let nuisance = tokio::spawn(nuisance(host.clone()));
        turn(&host, &mut with).await?;
        nuisance.abort();
    }
    host.close().await;
    Ok((percentile(alone), percentile(with)))
}

fn add(
    config: &mut Config,
    name: &str,
    script: &Script,
    launches: &mut Vec<Launch>,
) -> Outcome<()> {
    let launch = script.launch()?;
    let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
    let transport = Transport::Stdio {
        command: text(launch.program.as_os_str()),
        args: launch.args.iter().map(|it| text(it)).collect(),
        env: launch
            .env
            .iter()
            .map(|(name, value)| (text(name), Secret::new(text(value))))
            .collect(),
        cwd: None,
    };
    let name = ServerName::new(name)?;
    let server = ServerConfig::new(name.clone(), transport, Source::program());
    config.servers.insert(name, server);
    launches.push(launch);
    Ok(())
}

async fn turn(host: &Host, times: &mut Vec<Duration>) -> Outcome<()> {
    for number in 0..CALLS {
        let tool = format!("good{}/echo", number % HEALTHY);
        let began = Instant::now();
        let call = host.call(tool, json!({"message": "m"}));
        call.origin(Asker::Person).await?;
        times.push(began.elapsed());
    }
    Ok(())
}

async fn nuisance(host: Host) {
    loop {
        let call = host.call("bad/echo", Value::Null).origin(Asker::Person);
        let call = call.timeout(Duration::from_millis(100));
        // Its failures are the point.
        let _ = tokio::time::timeout(Duration::from_millis(200), call.into_future()).await;
        tokio::time::sleep(NUISANCE_PAUSE).await;
    }
}

fn percentile(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}
