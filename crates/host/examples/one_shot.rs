//! Measures what a host adds to one call of one server that is started for it, beside the bare
//! client. `cargo run --release -p attache-host --example one_shot`
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::error::Error;
use std::time::{Duration, Instant};

use attache_host::client::Server;
use attache_host::client::process::guardian;
use attache_host::config::{ServerConfig, ServerName, Source};
use attache_host::policy::CallOrigin;
use attache_host::{Host, Lifetime};
use attache_testkit::chaos::{Launch, Script};
use serde_json::json;

/// Rounds, each with the bare client and with a host in turns.
const ROUNDS: usize = 200;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    guardian::enable();
    let launch = Script::legacy("2025-11-25").launch()?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let state = attache_testkit::scratch::Scratch::new("one-shot")?;
        let (mut bare, mut host) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(with_client(&launch).await?);
            host.push(with_host(&launch, state.path()).await?);
        }
        println!("{:8} {:>10} {:>10}", "", "median", "p90");
        for (name, times) in [("client", &mut bare), ("host", &mut host)] {
            times.sort_unstable();
            let (median, p90) = (times[ROUNDS / 2], times[ROUNDS * 9 / 10]);
            println!("{name:8} {median:>10.2?} {p90:>10.2?}");
        }
        Ok(())
    })
}

fn server(launch: &Launch) -> Outcome<ServerConfig> {
    let mut server = Server::stdio(&launch.program, &launch.args);
    for (name, value) in &launch.env {
        server = server.env(name, value);
    }
    let name = ServerName::new("one")?;
    Ok(ServerConfig::new(name, server, Source::program()))
}

async fn with_client(launch: &Launch) -> Outcome<Duration> {
    let server = server(launch)?;
    let began = Instant::now();
    let server = server.server().inherit_environment();
    let client = server.connect().await?;
    client.call("echo", json!({"message": "m"})).await?;
    client.close().await;
    Ok(began.elapsed())
}

async fn with_host(launch: &Launch, state: &std::path::Path) -> Outcome<Duration> {
    let server = server(launch)?;
    let began = Instant::now();
    let host = Host::builder()
        .adhoc_server(server)
        .state_folder(state)
        .lifetime(Lifetime::OneShot)
        .start();
    let call = host.call("echo", json!({"message": "m"}));
    call.origin(CallOrigin::Person).await?;
    host.close().await;
    Ok(began.elapsed())
}
