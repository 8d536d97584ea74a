//! What a server writes to stderr: always drained, a bounded tail kept, the lines streamed.
//!
//! It is free-form text, not a sign of an error (C-STDIO-04), and untrusted: whoever shows it
//! escapes it first.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{Notify, broadcast, watch};

use crate::coalescing::ReadCoalescing;
use crate::fanout::Fanout;
use crate::frames::ConnectionFrames;

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
    lines: Fanout<Arc<str>>,
    first_sign: Notify,
    /// Where lines are seen among the messages of their connection.
    frames: Option<ConnectionFrames>,
    ended: watch::Sender<bool>,
}

#[derive(Debug)]
struct Tail {
    /// Whole lines, each with its line end, so that many short ones cost no more than few long
    /// ones (P4).
    text: VecDeque<u8>,
    limit: usize,
    /// Bytes that were read and are not in `text` any more.
    dropped: u64,
}

impl Stderr {
    pub(crate) fn new(limit: usize, frames: Option<ConnectionFrames>) -> Self {
        Self {
            shared: Arc::new(Shared {
                tail: Mutex::new(Tail {
                    text: VecDeque::new(),
                    limit,
                    dropped: 0,
                }),
                lines: Fanout::new(STREAM_CAPACITY),
                first_sign: Notify::new(),
                frames,
                ended: watch::Sender::new(false),
            }),
        }
    }

    /// The last lines, oldest first.
    pub fn tail(&self) -> Vec<String> {
        self.tail_lines(usize::MAX)
    }

    /// At most `count` of the last lines, oldest first.
    pub fn tail_lines(&self, count: usize) -> Vec<String> {
        let text = Vec::from(self.lock().text.clone());
        let text = String::from_utf8_lossy(&text);
        let newest_first = text.split_terminator('\n').rev().take(count);
        let mut lines: Vec<_> = newest_first.map(str::to_owned).collect();
        lines.reverse();
        lines
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
        let mut gathering = ReadCoalescing::default();
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            self.shared.first_sign.notify_one();
            self.take(&chunk[..length], &mut line);
            // A full piece means that the next one is there already.
            if length < chunk.len() {
                gathering.aside().await;
            }
        }
        if !line.is_empty() {
            self.push(&line);
        }
        self.shared.lines.close();
        self.shared.ended.send_replace(true);
    }

    /// Cuts a piece into lines; `line` holds the one that is unfinished.
    fn take(&self, piece: &[u8], line: &mut Vec<u8>) {
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', piece) {
            self.lengthen(line, &piece[begin..end]);
            self.push(line);
            line.clear();
            begin = end + 1;
        }
        self.lengthen(line, &piece[begin..]);
    }

    fn lengthen(&self, line: &mut Vec<u8>, mut text: &[u8]) {
        while line.len() + text.len() > LONGEST_LINE {
            let (fits, rest) = text.split_at(LONGEST_LINE - line.len());
            line.extend_from_slice(fits);
            self.push(line);
            line.clear();
            text = rest;
        }
        line.extend_from_slice(text);
    }

    /// Waits until everything the server wrote has been read.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.shared.ended.subscribe().wait_for(|ended| *ended).await;
    }

    fn push(&self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = String::from_utf8_lossy(line);
        self.shared.lines.send(|| line.as_ref().into());
        if let Some(frames) = &self.shared.frames {
            frames.stderr(&line);
        }
        let mut tail = self.lock();
        tail.text.extend(line.as_bytes());
        tail.text.push_back(b'\n');
        while tail.text.len() > tail.limit {
            let line_end = tail.text.iter().position(|byte| *byte == b'\n');
            let oldest = line_end.map_or(tail.text.len(), |at| at + 1);
            tail.text.drain(..oldest);
            tail.dropped += oldest as u64;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.shared.tail.lock()
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
        let stderr = Stderr::new(limit, None);
        stderr.clone().drain(bytes).await;
        stderr
    }

    #[tokio::test]
    async fn fault_16_the_tail_is_bounded_exactly() {
        let stderr = drained(b"1234\n5678\n9abc\n", 10).await;
        assert_eq!(stderr.tail(), ["5678", "9abc"]);
        assert_eq!(stderr.dropped_bytes(), 5);
        assert_eq!(stderr.tail_lines(1), ["9abc"]);
        let stderr = drained(b"\n\na\n\n", 4).await;
        assert_eq!(stderr.tail(), ["", "a", ""]);
        assert_eq!(drained(b"longer than the tail\n", 4).await.tail(), [""; 0]);
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

    #[tokio::test]
    async fn the_stream_of_lines_ends_with_the_stream_of_bytes() {
        let stderr = Stderr::new(100, None);
        let mut lines = stderr.follow();
        stderr.clone().drain(&b"one\r\ntwo"[..]).await;
        assert_eq!(lines.next().await.as_deref(), Some("one"));
        assert_eq!(lines.next().await.as_deref(), Some("two"));
        assert_eq!(lines.next().await, None);
        stderr.ended().await;
    }
}
