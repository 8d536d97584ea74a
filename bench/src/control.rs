//! How the benchmark speaks to its workers: one process per client, one JSON
//! line per command, one JSON line back.
//!
//! Owns the commands, their answers and the life of a worker process. Refuses
//! to know what a client does to fulfil a command; the clients in other
//! languages under `peers/` fulfil the same ones.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::clients::external::WORKER_LOG;

/// How long one command may take before its client counts as failed.
const REPLY_DEADLINE: Duration = Duration::from_secs(300);
/// How long a worker may take to leave after its input has ended.
const EXIT_DEADLINE: Duration = Duration::from_secs(10);
const EXIT_POLL: Duration = Duration::from_millis(5);

/// The server that a worker connects to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ServerCommand {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

impl ServerCommand {
    /// Where the server listens, if it is one that listens.
    pub(crate) fn address(&self) -> Option<&str> {
        let address = self.program.as_str();
        address.starts_with("http://").then_some(address)
    }
}

/// One piece of work. All but `Open` use the connection opened first.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(crate) enum Command {
    /// Opens connections, each to a server process of its own, and makes one
    /// call on each, so that whatever is allocated on first use is there.
    Open {
        server: ServerCommand,
        connections: usize,
    },
    /// Calls `echo` one after the other; one time per call.
    Sequential { calls: usize },
    /// Starts `width` calls of `echo` together, waits for all of them, and
    /// repeats until all calls are made; one time for all calls.
    InFlight { calls: usize, width: usize },
    /// Asks for texts one after the other; one time per text.
    Text { bytes: usize, results: usize },
    /// Lists the tools, checking how many there are; one time per list.
    List { tools: usize, lists: usize },
}

impl Command {
    /// How many calls, tools or bytes of text one time of the reply covers.
    pub(crate) const fn amount(&self) -> usize {
        match self {
            Self::Open { .. } | Self::Sequential { .. } => 1,
            Self::InFlight { calls, .. } => *calls,
            Self::Text { bytes, .. } => *bytes,
            Self::List { tools, .. } => *tools,
        }
    }
}

/// What a worker answers: the times it took, or why it could not.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Reply {
    #[serde(default)]
    pub(crate) nanoseconds: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A running worker. Dropping it ends the process.
pub(crate) struct Worker {
    process: Child,
    commands: Option<ChildStdin>,
    replies: Receiver<std::io::Result<String>>,
}

impl Worker {
    /// Starts a worker from the command line that launches it.
    pub(crate) fn start(mut launch: std::process::Command) -> Result<Self> {
        let mut process = launch
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|cause| {
                format!("{} does not start: {cause}", launch.get_program().display())
            })?;
        let commands = process.stdin.take();
        let output = process.stdout.take().ok_or("a worker has no output")?;
        let (sender, replies) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            process,
            commands,
            replies,
        })
    }

    /// Has one command done and returns its times.
    pub(crate) fn perform(&mut self, command: &Command) -> Result<Vec<u64>> {
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        self.commands
            .as_mut()
            .ok_or("the worker has no input")?
            .write_all(&line)?;
        let line = match self.replies.recv_timeout(REPLY_DEADLINE) {
            Ok(line) => line?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("the worker ended early; {WORKER_LOG} may say why").into());
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("no reply within {REPLY_DEADLINE:?}").into());
            }
        };
        let reply: Reply = serde_json::from_str(&line)
            .map_err(|cause| format!("the reply is not understood ({cause}): {line}"))?;
        match reply.error {
            Some(error) => Err(error.into()),
            None => Ok(reply.nanoseconds),
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the worker's input and waits until it has left by itself.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.commands = None;
        let deadline = Instant::now() + EXIT_DEADLINE;
        while self.process.try_wait()?.is_none() {
            if Instant::now() > deadline {
                return Err(format!("the worker is still there after {EXIT_DEADLINE:?}").into());
            }
            std::thread::sleep(EXIT_POLL);
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker whose input ends leaves by itself and takes its servers with
        // it; only one that stays is killed.
        self.commands = None;
        let deadline = Instant::now() + EXIT_DEADLINE;
        while Instant::now() < deadline {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(EXIT_POLL);
        }
        // Nothing is left to do for a process that can be neither killed nor
        // reaped; the benchmark goes on without it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
