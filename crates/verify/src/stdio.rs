//! A server process and its three pipes, without any idea of what is said.
//!
//! Starts it under the guardian, reads lines as they come, keeps the last lines of stderr.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use attache_process::{ExitReason, Ladder, ServerProcess, ServerStdin, Spawned};
use parking_lot::Mutex;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::sync::mpsc;

use crate::peer::{Trouble, WireEvent};
use crate::target::StdioTarget;

/// The longest line that is taken.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;
/// How many lines may wait to be looked at.
const QUEUE: usize = 4096;
/// How much of stderr is kept.
const KEPT_LINES: usize = 20;
const KEPT_LINE: usize = 400;
/// How long a server may leave its input unread.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);
/// How a server is ended that is of no more use.
const QUICK: Ladder = Ladder {
    grace: Duration::from_millis(400),
    term: Duration::from_millis(200),
};

/// A running server.
pub(crate) struct StdioWire {
    stdin: Option<ServerStdin>,
    child: ServerProcess,
    stderr: Arc<Mutex<VecDeque<String>>>,
}

impl StdioWire {
    pub(crate) async fn open(
        target: &StdioTarget,
    ) -> Result<(Self, mpsc::Receiver<WireEvent>), Trouble> {
        let spawned = attache_process::spawn(&target.launch).await;
        let Spawned {
            stdin,
            stdout,
            stderr,
            child,
        } = spawned.map_err(|error| Trouble::NotStarted(error.to_string()))?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(read_lines(stdout, sender));
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        tokio::spawn(keep_last(stderr, Arc::clone(&kept)));
        let wire = Self {
            stdin: Some(stdin),
            child,
            stderr: kept,
        };
        Ok((wire, receiver))
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        let Some(stdin) = &mut self.stdin else {
            return Err(Trouble::Ended("its input was closed before".to_owned()));
        };
        let writing = async {
            stdin.write_all(bytes).await?;
            stdin.flush().await
        };
        match tokio::time::timeout(WRITE_PATIENCE, writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.ended().await),
            Err(_) => Err(Trouble::Silent(
                "it does not read its standard input".to_owned(),
            )),
        }
    }

    /// Ends its input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits until it has left.
    pub(crate) async fn left(&self, patience: Duration) -> Option<ExitReason> {
        tokio::time::timeout(patience, self.child.wait()).await.ok()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, with its last words.
    pub(crate) async fn ended(&self) -> Trouble {
        /// A process may live for a moment after its output has ended.
        const MOMENT: Duration = Duration::from_millis(500);
        let how = match self.left(MOMENT).await {
            Some(reason) => format!("the server {reason}"),
            None => "the server closed its standard output and lives on".to_owned(),
        };
        let stderr = self.stderr.lock();
        let said = stderr.iter().rev().find(|line| !line.trim().is_empty());
        Trouble::Ended(match said {
            Some(line) => format!("{how}; its last line on stderr: {line}"),
            None => how,
        })
    }

    /// Takes the whole tree down, and waits for it in the background.
    pub(crate) async fn close(mut self) {
        self.stdin = None;
        self.child.close(QUICK).await;
    }
}

async fn read_lines(stdout: impl AsyncRead + Unpin, sender: mpsc::Sender<WireEvent>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(LONGEST_LINE);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {
                let is_cut = !line.ends_with(b"\n");
                let event = WireEvent::Message {
                    bytes: line,
                    post: None,
                };
                if sender.send(event).await.is_err() || is_cut {
                    break;
                }
            }
        }
    }
    let _ = sender.send(WireEvent::Closed).await;
}

async fn keep_last(stderr: impl AsyncRead + Unpin, kept: Arc<Mutex<VecDeque<String>>>) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        // What is not read blocks the server; what is too long is read in pieces.
        let mut limited = (&mut reader).take(64 * 1024);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                let text: String = text.trim_end().chars().take(KEPT_LINE).collect();
                let mut kept = kept.lock();
                kept.push_back(text);
                if kept.len() > KEPT_LINES {
                    kept.pop_front();
                }
            }
        }
    }
}
