//! A command of the user's choice that reads a prompt and does what it says.
//!
//! Owns the process: the prompt on its standard input, its lines as they come, its end. Whoever
//! drops the run ends the whole tree of processes. Knows nothing of specs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use attache_process::{Environment, ExitReason, Ladder, Launch, SpawnError, spawn};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep, timeout};

use super::steps::HEARTBEAT;

/// The longest line that is taken from an agent; the rest of it is dropped.
const LONGEST_LINE: usize = 16 * 1024;
/// The most that is kept of what it says.
const MOST_OUTPUT: usize = 4 * 1024 * 1024;
/// Lines on their way.
const LINES: usize = 64;
/// How long its pipes may stay open when it has ended, in the hands of what it started.
const DRAIN: Duration = Duration::from_millis(500);

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    words: Vec<String>,
}

/// Why words are no command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentCommandError {
    /// There is no program.
    #[error("the agent is a list of a program and its arguments, like [\"claude\", \"-p\"]")]
    Empty,
    /// A relative path would be looked up in whatever project is worked on.
    #[error("the agent {0} is a relative path; write a name on PATH, or the whole path")]
    Relative(String),
}

impl AgentCommand {
    /// A command in words. The program is a name on `PATH` or an absolute path: a relative one
    /// would be whatever the project brings (S3).
    ///
    /// # Errors
    /// If there is no program, or it is a relative path.
    pub fn new(words: Vec<String>) -> Result<Self, AgentCommandError> {
        let Some(program) = words.first().filter(|it| !it.is_empty()) else {
            return Err(AgentCommandError::Empty);
        };
        let is_path = program.contains(std::path::is_separator);
        if is_path && !Path::new(program).is_absolute() {
            return Err(AgentCommandError::Relative(program.clone()));
        }
        Ok(Self { words })
    }

    /// The program's name, for people.
    pub fn program(&self) -> &str {
        let program = self.words.first().map(String::as_str).unwrap_or_default();
        let name = Path::new(program).file_name();
        name.and_then(|it| it.to_str()).unwrap_or(program)
    }
}

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// What happens while an agent works.
pub(super) enum Said<'a> {
    Line(Stream, &'a str),
    /// It works for so long without a word.
    Nothing(Duration),
}

/// What an agent said until it ended well.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Output {
    /// The last lines, for a report.
    pub(super) fn tail(&self, lines: usize) -> String {
        let text = match self.stderr.trim().is_empty() {
            true => self.stdout.trim(),
            false => self.stderr.trim(),
        };
        let all: Vec<&str> = text.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// Why an agent did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentError {
    #[error("the agent cannot be started: {0}")]
    Start(#[from] SpawnError),
    #[error("the agent {program} {reason}; its last words:\n{last}")]
    Failed {
        program: String,
        reason: ExitReason,
        last: String,
    },
}

/// Runs the agent in a folder with a prompt, until it ends.
pub(super) async fn run(
    agent: &AgentCommand,
    folder: PathBuf,
    prompt: String,
    mut told: impl FnMut(Said<'_>),
) -> Result<Output, AgentError> {
    let launch = Launch::new(&agent.words[0])
        .args(&agent.words[1..])
        .cwd(folder)
        // The user chose the command, and the server's own environment is what they gave it.
        .environment(Environment::Inherit);
    let spawned = spawn(&launch).await?;
    let child = spawned.child;
    let (sender, mut lines) = mpsc::channel(LINES);
    let mut stdin = spawned.stdin;
    let pipes = async {
        let write = async move {
            // An agent that does not read its prompt to the end may still know what to do.
            let _ = stdin.write_all(prompt.as_bytes()).await;
            let _ = stdin.shutdown().await;
            drop(stdin);
        };
        let stdout = read_lines(spawned.stdout, Stream::Stdout, sender.clone());
        let stderr = read_lines(spawned.stderr, Stream::Stderr, sender);
        tokio::join!(write, stdout, stderr);
    };
    let mut output = Output::default();
    let (ended, drained) = (child.wait(), sleep(DRAIN));
    tokio::pin!(pipes, ended, drained);
    let mut ticks = interval(HEARTBEAT);
    ticks.reset();
    let mut last_word = Instant::now();
    let mut is_open = true;
    let mut reason = None;
    while reason.is_none() || is_open || !lines.is_empty() {
        tokio::select! {
            biased;
            Some((stream, line)) = lines.recv() => {
                last_word = Instant::now();
                output.add(stream, &line);
                told(Said::Line(stream, &line));
            }
            () = &mut pipes, if is_open => is_open = false,
            how = &mut ended, if reason.is_none() => {
                reason = Some(how);
                drained.as_mut().reset(Instant::now() + DRAIN);
            }
            () = &mut drained, if reason.is_some() => break,
            _ = ticks.tick() => told(Said::Nothing(last_word.elapsed())),
        }
    }
    // What the agent started ends with it.
    let _ = timeout(
        DRAIN * 20,
        child.close(Ladder {
            grace: Duration::ZERO,
            term: DRAIN,
        }),
    )
    .await;
    match reason.unwrap_or(ExitReason::Unknown) {
        ExitReason::Code(0) => Ok(output),
        reason => Err(AgentError::Failed {
            program: agent.program().to_owned(),
            reason,
            last: output.tail(20),
        }),
    }
}

impl Output {
    fn add(&mut self, stream: Stream, line: &str) {
        let text = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        if text.len() + line.len() < MOST_OUTPUT {
            text.push_str(line);
            text.push('\n');
        }
    }
}

/// Hands lines on as they come, each cut at a limit.
async fn read_lines(
    pipe: impl AsyncRead + Unpin,
    stream: Stream,
    lines: mpsc::Sender<(Stream, String)>,
) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        let (taken, is_end) = match pipe.fill_buf().await {
            Ok([]) | Err(_) => {
                if !line.is_empty() {
                    let _ = lines.send((stream, text(&line))).await;
                }
                return;
            }
            Ok(bytes) => {
                let end = bytes.iter().position(|it| *it == b'\n');
                let taken = end.map_or(bytes.len(), |at| at + 1);
                let room = LONGEST_LINE.saturating_sub(line.len());
                line.extend_from_slice(&bytes[..taken.min(room)]);
                (taken, end.is_some())
            }
        };
        pipe.consume(taken);
        if is_end {
            if lines.send((stream, text(&line))).await.is_err() {
                return;
            }
            line.clear();
        }
    }
}

fn text(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end_matches(['\r', '\n']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_names_or_whole_paths() {
        let command =
            |words: &[&str]| AgentCommand::new(words.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(command(&["claude", "-p"]).unwrap().program(), "claude");
        assert_eq!(command(&["/opt/agent/run"]).unwrap().program(), "run");
        assert_eq!(command(&[]).unwrap_err(), AgentCommandError::Empty);
        assert_eq!(command(&[""]).unwrap_err(), AgentCommandError::Empty);
        assert_eq!(
            command(&["./agent"]).unwrap_err(),
            AgentCommandError::Relative("./agent".to_owned())
        );
    }
}
