//! Many calls from a shell: what `attache batch` makes of them beside the library.
//!
//! Owns both sides of one comparison: the same number of calls, as many of them in flight, against
//! the same server, start and end of the server included on both sides.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Result;
use crate::clients::attache::AttacheRaw;
use crate::clients::{AsyncConnection, ECHO, MESSAGE};
use crate::control::ServerCommand;
use crate::measure::Summary;
use crate::workloads::{Bench, Extent};

/// Calls of one round.
const CALLS: usize = 10_000;
/// Calls in flight.
const IN_FLIGHT: usize = 64;

/// Calls per second.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(crate) library: Summary,
    pub(crate) batch: Summary,
}

impl Batches {
    pub(crate) fn ratio(&self) -> f64 {
        self.batch.median / self.library.median
    }
}

/// Runs both in turn, after one round that does not count.
pub(crate) fn run(bench: &Bench, attache: &Option<PathBuf>) -> Result<Batches> {
    let attache = attache.as_ref().ok_or("no --attache PROGRAM given")?;
    let rounds = match bench.extent {
        Extent::Full => 10,
        Extent::Quick => 3,
    };
    let (mut library, mut batch) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let of_library = by_library(&bench.bench_server)?;
        let of_batch = by_batch(attache, &bench.bench_server)?;
        if round > 0 {
            library.push(of_library);
            batch.push(of_batch);
        }
    }
    Ok(Batches {
        library: Summary::of(&library).ok_or("no rounds")?,
        batch: Summary::of(&batch).ok_or("no rounds")?,
    })
}

fn by_library(server: &str) -> Result<f64> {
    let runtime = tokio::runtime::Runtime::new()?;
    let server = ServerCommand {
        program: server.to_owned(),
        arguments: Vec::new(),
    };
    let began = Instant::now();
    runtime.block_on(async {
        let client = AttacheRaw::open(&server).await?;
        let worker = |share: usize| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..share {
                    client.echo().await?;
                }
                Result::Ok(())
            })
        };
        let shares =
            (0..IN_FLIGHT).map(|at| CALLS / IN_FLIGHT + usize::from(at < CALLS % IN_FLIGHT));
        let workers: Vec<_> = shares.map(worker).collect();
        for worker in workers {
            worker.await??;
        }
        client.close().await
    })?;
    Ok(CALLS as f64 / began.elapsed().as_secs_f64())
}

fn by_batch(attache: &Path, server: &str) -> Result<f64> {
    let line = format!("{{\"tool\":\"echo\",\"arguments\":{{\"message\":\"{MESSAGE}\"}}}}\n");
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
    let (mut input, output) = (input.ok_or("no stdin")?, output.ok_or("no stdout")?);
    let writer = std::thread::spawn(move || input.write_all(line.repeat(CALLS).as_bytes()));
    let mut answers = 0;
    for line in BufReader::new(output).lines() {
        answers += usize::from(line?.contains(ECHO));
    }
    writer.join().map_err(|_| "the writer has failed")??;
    let status = child.wait()?;
    if !status.success() || answers != CALLS {
        return Err(format!("{answers} of {CALLS} calls were answered; {status}").into());
    }
    Ok(CALLS as f64 / began.elapsed().as_secs_f64())
}
