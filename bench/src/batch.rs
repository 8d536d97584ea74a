//! Many calls from a shell: what `attache batch` makes of them beside the library.
//!
//! Owns all sides of one comparison: the same number of calls, as many of them in flight, against
//! the same server, start and end of the server included. The library is a client alone, and a host
//! that does what the command does: it asks the policy about every call and writes it down.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use attache::host::call_log::CallLog;
use attache::host::config::{Config, ServerConfig, ServerName, Source};
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::{Host, Server, json};

use crate::Result;
use crate::clients::attache::AttacheRaw;
use crate::clients::{AsyncConnection, ECHO, MESSAGE, expect};
use crate::control::ServerCommand;
use crate::measure::Summary;
use crate::workloads::{Bench, Extent};

/// Calls of one round.
const CALLS: usize = 10_000;
/// Room for the line of an ending.
const LONGEST_ENDING: usize = 256;
/// Calls in flight.
const IN_FLIGHT: usize = 64;

/// Calls per second.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(crate) client: Summary,
    pub(crate) host: Summary,
    pub(crate) batch: Summary,
}

impl Batches {
    /// What share of another's calls the command makes.
    pub(crate) fn share_of(&self, other: &Summary) -> f64 {
        self.batch.median / other.median
    }
}

/// Runs all in turn, after one round that does not count.
pub(crate) fn run(bench: &Bench, attache: &Option<PathBuf>) -> Result<Batches> {
    let attache = attache.as_ref().ok_or("no --attache PROGRAM given")?;
    let rounds = match bench.extent {
        Extent::Full => 10,
        Extent::Quick => 3,
    };
    let (mut client, mut host, mut batch) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let of_client = rate(by_client(&bench.bench_server))?;
        let of_host = rate(by_host(&bench.bench_server))?;
        let of_batch = by_batch(attache, &bench.bench_server)?;
        if round > 0 {
            client.push(of_client);
            host.push(of_host);
            batch.push(of_batch);
        }
    }
    Ok(Batches {
        client: Summary::of(&client).ok_or("no rounds")?,
        host: Summary::of(&host).ok_or("no rounds")?,
        batch: Summary::of(&batch).ok_or("no rounds")?,
    })
}

/// Calls per second of something that makes them all.
fn rate(work: impl Future<Output = Result<()>>) -> Result<f64> {
    let runtime = tokio::runtime::Runtime::new()?;
    let began = Instant::now();
    runtime.block_on(work)?;
    Ok(CALLS as f64 / began.elapsed().as_secs_f64())
}

/// Makes all calls, so many at a time.
async fn all<C, F>(call: C) -> Result<()>
where
    C: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Result<()>> + Send,
{
    let worker = |share: usize| {
        let call = call.clone();
        tokio::spawn(async move {
            for _ in 0..share {
                call().await?;
            }
            Result::Ok(())
        })
    };
    let shares = (0..IN_FLIGHT).map(|at| CALLS / IN_FLIGHT + usize::from(at < CALLS % IN_FLIGHT));
    let workers: Vec<_> = shares.map(worker).collect();
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

async fn by_client(server: &str) -> Result<()> {
    let server = ServerCommand {
        program: server.to_owned(),
        arguments: Vec::new(),
    };
    let client = AttacheRaw::open(&server).await?;
    let caller = client.clone();
    all(move || {
        let client = caller.clone();
        async move { client.echo().await }
    })
    .await?;
    client.close().await
}

async fn by_host(server: &str) -> Result<()> {
    let logs = std::env::temp_dir().join(format!("attache-bench-calls-{}", std::process::id()));
    let name = ServerName::new("bench")?;
    let server = Server::stdio(server, [""; 0]);
    let mut config = Config::default();
    let server = ServerConfig::new(name.clone(), server, Source::program());
    config.servers.insert(name.clone(), server);
    let log = CallLog::in_folder(&logs);
    let host = Host::builder().config(config).call_log(log).start();
    let caller = host.clone();
    let made = all(move || {
        let tool = ToolName::new(name.clone(), "echo");
        let call = caller.call(tool, json!({"message": MESSAGE}));
        async move {
            let result = call.origin(CallOrigin::Person).raw().await?;
            expect(&result.text().contains(ECHO), &true)
        }
    })
    .await;
    host.close().await;
    std::fs::remove_dir_all(logs)?;
    made
}

fn by_batch(attache: &Path, server: &str) -> Result<f64> {
    let line = format!("{{\"tool\":\"echo\",\"arguments\":{{\"message\":\"{MESSAGE}\"}}}}\n");
    let lines = line.repeat(CALLS);
    let mut endings = Vec::with_capacity(CALLS * LONGEST_ENDING);
    let began = Instant::now();
    let mut child = Command::new(attache)
        .args([
            "batch",
            "--concurrency",
            &IN_FLIGHT.to_string(),
            "--",
            server,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (mut input, mut output) = (input.ok_or("no stdin")?, output.ok_or("no stdout")?);
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    output.read_to_end(&mut endings)?;
    let status = child.wait()?;
    let took = began.elapsed();
    writer.join().map_err(|_| "the writer has failed")??;
    // Looking at the endings is not the command's work.
    let endings = String::from_utf8(endings)?;
    let answers = endings.lines().filter(|line| line.contains(ECHO)).count();
    if !status.success() || answers != CALLS {
        return Err(format!("{answers} of {CALLS} calls were answered; {status}").into());
    }
    Ok(CALLS as f64 / took.as_secs_f64())
}
