//! One call from a shell: what a command-line client adds to the time of the
//! server itself.
//!
//! Owns the command lines of the clients. The server's own time is that of a
//! blocking client in this process that starts the server, makes the same call
//! and waits for the server to leave.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::Result;
use crate::clients::blocking::Blocking;
use crate::clients::{BlockingConnection, ECHO, MESSAGE};
use crate::measure::Summary;
use crate::workloads::{Bench, Extent};

/// How long one command may take before it counts as failed.
const COMMAND_DEADLINE: Duration = Duration::from_secs(60);

/// One command-line client.
#[derive(Debug)]
pub(crate) struct OneShot {
    pub(crate) name: &'static str,
    /// Milliseconds from start to exit, or why there are none.
    pub(crate) time: std::result::Result<Summary, String>,
}

/// The server's own time in milliseconds, and the clients.
#[derive(Debug)]
pub(crate) struct OneShots {
    pub(crate) server: Summary,
    pub(crate) clients: Vec<OneShot>,
}

impl OneShots {
    /// What a client adds to the server's own time, in milliseconds.
    pub(crate) fn above_server(&self, client: &OneShot) -> Option<f64> {
        let time = client.time.as_ref().ok()?;
        Some(time.median - self.server.median)
    }
}

/// Runs every command once per round, after one round that does not count.
pub(crate) fn run(bench: &Bench, attache: &Option<PathBuf>) -> Result<OneShots> {
    let rounds = match bench.extent {
        Extent::Full => 10,
        Extent::Quick => 3,
    };
    let mut server_times = Vec::new();
    let mut clients = candidates(bench, attache).map(|(name, launch)| {
        let outcome = launch.and_then(|launch| {
            answer_time(command(&launch)?)?;
            Ok((launch, Vec::new()))
        });
        (name, outcome)
    });
    server_time(bench)?;
    for _ in 0..rounds {
        server_times.push(milliseconds(server_time(bench)?));
        for (_, outcome) in &mut clients {
            if let Ok((launch, times)) = outcome {
                match command(launch).and_then(answer_time) {
                    Ok(time) => times.push(milliseconds(time)),
                    Err(cause) => *outcome = Err(cause),
                }
            }
        }
    }
    Ok(OneShots {
        server: Summary::of(&server_times).ok_or("no rounds")?,
        clients: clients
            .into_iter()
            .map(|(name, outcome)| OneShot {
                name,
                time: outcome
                    .and_then(|(_, times)| Summary::of(&times).ok_or("no rounds".into()))
                    .map_err(|cause| cause.to_string()),
            })
            .collect(),
    })
}

/// A command line: the program and its arguments.
type Launch = Vec<String>;

fn candidates(bench: &Bench, attache: &Option<PathBuf>) -> [(&'static str, Result<Launch>); 4] {
    let server = &bench.bench_server;
    let message = format!("message={MESSAGE}");
    let arguments = format!(r#"{{"message":"{MESSAGE}"}}"#);
    let node_command = |script: &str, arguments: &[&str]| -> Result<Launch> {
        let node = bench.peers.node("node_commands")?;
        let script = bench
            .peers
            .installed(format!("node_commands/node_modules/{script}"))?;
        Ok([
            node.get_program().to_string_lossy().as_ref(),
            script.to_string_lossy().as_ref(),
        ]
        .iter()
        .chain(arguments)
        .map(ToString::to_string)
        .collect())
    };
    let own = attache.as_ref().ok_or("no --attache PROGRAM given".into());
    [
        (
            "attache",
            own.map(|program| {
                let program = program.to_string_lossy();
                [&program, "call", "echo", &message, "--json", "--", server]
                    .map(ToString::to_string)
                    .to_vec()
            }),
        ),
        (
            "inspector",
            node_command(
                "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
                &[
                    "--cli",
                    server,
                    "--method",
                    "tools/call",
                    "--tool-name",
                    "echo",
                    "--tool-arg",
                    &message,
                ],
            ),
        ),
        (
            "mcporter",
            node_command(
                "mcporter/dist/cli.js",
                &["call", "--stdio", server, "echo", &message],
            ),
        ),
        (
            "fastmcp",
            bench
                .peers
                .installed("python_commands/venv/bin/fastmcp")
                .map(|program| {
                    let program = program.to_string_lossy();
                    [
                        &program,
                        "call",
                        "--command",
                        server,
                        "--target",
                        "echo",
                        "--input-json",
                        &arguments,
                    ]
                    .map(ToString::to_string)
                    .to_vec()
                }),
        ),
    ]
}

fn server_time(bench: &Bench) -> Result<Duration> {
    let start = Instant::now();
    let mut connection = Blocking::open(&bench.server(2))?;
    connection.echo()?;
    connection.close()?;
    Ok(start.elapsed())
}

fn command(launch: &Launch) -> Result<Command> {
    let (program, arguments) = launch.split_first().ok_or("an empty command line")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("FASTMCP_CHECK_FOR_UPDATES", "off");
    Ok(command)
}

/// Runs a command to its end and checks that the answer is on its output.
pub(crate) fn answer_time(mut command: Command) -> Result<Duration> {
    let start = Instant::now();
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut output = process.stdout.take().ok_or("the command has no output")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let outcome = output.read_to_end(&mut text).map(|_| text);
        // Nobody listens any more when the deadline has passed.
        let _ = sender.send(outcome);
    });
    let Ok(text) = receiver.recv_timeout(COMMAND_DEADLINE) else {
        process.kill()?;
        process.wait()?;
        return Err(format!("no end of output within {COMMAND_DEADLINE:?}").into());
    };
    let status = process.wait()?;
    let time = start.elapsed();
    let text = text?;
    if status.success() && String::from_utf8_lossy(&text).contains(ECHO) {
        Ok(time)
    } else {
        Err(format!("the command gave no answer ({status})").into())
    }
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
