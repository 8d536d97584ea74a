//! What a server writes to stderr: always drained, a bounded tail kept, the lines streamed.
//!
//! It is free-form text, not a sign of an error (C-STDIO-04), and untrusted: whoever shows it
//! escapes it first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{Notify, broadcast};

/// The longest line kept in one piece; a longer one is cut (fault 17).
const LONGEST_LINE: usize = 8 * 1024;
/// Lines queued for a slow reader of the stream.
const STREAM_CAPACITY: usize = 256;

/// The stderr of one server.
#[derive(Clone, Debug)]
pub struct Stderr {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    tail: Mutex<Tail>,
    lines: broadcast::Sender<Arc<str>>,
    first_sign: Notify,
}

#[derive(Debug)]
struct Tail {
    lines: VecDeque<Arc<str>>,
    bytes: usize,
    limit: usize,
    /// Bytes that were read and are not in `lines` any more.
    dropped: u64,
}

impl Stderr {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                tail: Mutex::new(Tail {
                    lines: VecDeque::new(),
                    bytes: 0,
                    limit,
                    dropped: 0,
                }),
                lines: broadcast::Sender::new(STREAM_CAPACITY),
                first_sign: Notify::new(),
            }),
        }
    }

    /// The last lines, oldest first.
    pub fn tail(&self) -> Vec<String> {
        self.tail_lines(usize::MAX)
    }

    /// At most `count` of the last lines, oldest first.
    pub fn tail_lines(&self, count: usize) -> Vec<String> {
        let tail = self.lock();
        let skipped = tail.lines.len().saturating_sub(count);
        tail.lines
            .iter()
            .skip(skipped)
            .map(|line| line.to_string())
            .collect()
    }

    /// How many bytes were read and dropped from the tail again.
    pub fn dropped_bytes(&self) -> u64 {
        self.lock().dropped
    }

    /// The lines from now on.
    pub fn follow(&self) -> StderrLines {
        StderrLines(self.shared.lines.subscribe())
    }

    pub(crate) async fn first_sign(&self) {
        self.shared.first_sign.notified().await;
    }

    /// Drains the stream to its end.
    pub(crate) async fn drain(self, mut stream: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 4096];
        let mut line = Vec::new();
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            self.shared.first_sign.notify_one();
            for byte in &chunk[..length] {
                if *byte == b'\n' || line.len() == LONGEST_LINE {
                    self.push(&line);
                    line.clear();
                }
                if *byte != b'\n' {
                    line.push(*byte);
                }
            }
        }
        if !line.is_empty() {
            self.push(&line);
        }
    }

    fn push(&self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line: Arc<str> = String::from_utf8_lossy(line).into();
        // Failing means that nobody listens.
        let _ = self.shared.lines.send(line.clone());
        let mut tail = self.lock();
        tail.bytes += line.len() + 1;
        tail.lines.push_back(line);
        while tail.bytes > tail.limit {
            let Some(oldest) = tail.lines.pop_front() else {
                break;
            };
            tail.bytes -= oldest.len() + 1;
            tail.dropped += oldest.len() as u64 + 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.shared
            .tail
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream of stderr lines.
#[derive(Debug)]
pub struct StderrLines(broadcast::Receiver<Arc<str>>);

impl StderrLines {
    /// The next line; a slow reader misses the oldest. `None` at the end.
    pub async fn next(&mut self) -> Option<Arc<str>> {
        loop {
            match self.0.recv().await {
                Ok(line) => return Some(line),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn drained(bytes: &[u8], limit: usize) -> Stderr {
        let stderr = Stderr::new(limit);
        stderr.clone().drain(bytes).await;
        stderr
    }

    #[tokio::test]
    async fn fault_16_the_tail_is_bounded_exactly() {
        let stderr = drained(b"1234\n5678\n9abc\n", 10).await;
        assert_eq!(stderr.tail(), ["5678", "9abc"]);
        assert_eq!(stderr.dropped_bytes(), 5);
        assert_eq!(stderr.tail_lines(1), ["9abc"]);
    }

    #[tokio::test]
    async fn fault_17_endless_and_binary_lines_are_cut_and_kept_as_text() {
        let mut bytes = vec![b'x'; 3 * LONGEST_LINE];
        bytes.extend_from_slice(b"\xff\x1b[31m");
        let stderr = drained(&bytes, 64 * 1024).await;
        let tail = stderr.tail();
        assert_eq!(tail.len(), 4);
        assert_eq!(tail[0].len(), LONGEST_LINE);
        assert_eq!(tail[3], "\u{fffd}\u{1b}[31m");
    }
}
