//! Writing frames: inline while the pipe is idle, batched while it is not.
//!
//! Owns the write half of a connection and the bytes that wait for it. Knows nothing of calls; it
//! only tells up to which byte the stream was written, so that the owner of a frame can know
//! whether the peer can have seen it.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use attache_protocol::frame;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use super::outlet::{BoxFuture, Outlet, Sent, Unsent};
use crate::frames::ConnectionFrames;

/// The write half of any transport made of bytes.
pub(crate) type WriteHalf = Box<dyn AsyncWrite + Send + Unpin>;

/// Whether a frame may be written by the caller itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteMode {
    /// Nothing else is going on: writing now saves a switch to the writer task.
    Inline,
    /// Others are writing too: joining their batch saves a system call.
    Batched,
}

/// Why the writer task ended.
#[derive(Debug)]
pub(crate) enum WriteEnd {
    /// This side closed the stream.
    Closed,
    /// The peer took nothing for the given time.
    Stalled(Duration),
    /// Writing failed.
    Failed(String),
}

/// A batch that has grown to this size is written at once, so that the peer works on it while more
/// callers write.
const LARGE_BATCH: usize = 3 * 1024;

/// A queue that has grown past this is given back when it is empty.
const KEPT_QUEUE: usize = 16 * 1024;

/// How many times over the queue limit frames may pile up that no caller waits for.
const UNAWAITED_FACTOR: usize = 2;

/// The writer of a byte stream.
pub(crate) struct StreamWriter {
    state: Mutex<State>,
    /// Wakes the writer task.
    work: Notify,
    /// Wakes callers that wait for room in the queue, and those that wait for it to drain.
    drained: Notify,
    queue_limit: usize,
    frames: ConnectionFrames,
}

struct State {
    half: Option<WriteHalf>,
    /// Accepted bytes that are not written yet, from `start` on.
    queue: Vec<u8>,
    start: usize,
    /// How many bytes were ever accepted, and how many of them written.
    accepted: u64,
    written: u64,
    /// The writer task has work to do and will do it.
    draining: bool,
    /// The stream took no more, and the writer task waits until it does.
    blocked: bool,
    failure: Option<String>,
}

impl State {
    fn waiting(&self) -> usize {
        self.queue.len() - self.start
    }

    /// Writes as much of the queue as the stream takes; `Ready` when all is written and flushed.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(half) = self.half.as_mut() else {
            return Poll::Ready(Ok(()));
        };
        while self.start < self.queue.len() {
            match Pin::new(&mut *half).poll_write(context, &self.queue[self.start..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(length)) => {
                    self.start += length;
                    self.written += length as u64;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        if self.queue.capacity() > KEPT_QUEUE {
            self.queue = Vec::new();
        }
        self.queue.clear();
        self.start = 0;
        Pin::new(half).poll_flush(context)
    }
}

impl StreamWriter {
    pub(crate) fn new(half: WriteHalf, queue_limit: usize, frames: ConnectionFrames) -> Self {
        Self {
            state: Mutex::new(State {
                half: Some(half),
                queue: Vec::new(),
                start: 0,
                accepted: 0,
                written: 0,
                draining: false,
                blocked: false,
                failure: None,
            }),
            work: Notify::new(),
            drained: Notify::new(),
            queue_limit,
            frames,
        }
    }

    /// Leaves what is queued to the writer task.
    fn leave_to_task(&self, state: &mut State) {
        if !std::mem::replace(&mut state.draining, true) {
            self.work.notify_one();
        }
    }

    async fn until(&self, condition: impl Fn(&State) -> bool) {
        loop {
            let drained = self.drained.notified();
            {
                let state = self.lock();
                if state.half.is_none() || condition(&state) {
                    return;
                }
            }
            drained.await;
        }
    }

    async fn drain(&self, stall: Duration) -> Result<(), WriteEnd> {
        let mut progress = self.written();
        loop {
            let drained = poll_fn(|context| {
                let mut state = self.lock();
                if let Some(failure) = state.failure.take() {
                    return Poll::Ready(Err(failure));
                }
                let poll = state.poll_drain(context);
                state.blocked = poll.is_pending();
                state.draining = state.blocked;
                poll.map_err(|error| error.to_string())
            });
            match tokio::time::timeout(stall, drained).await {
                Ok(Ok(())) => {
                    self.drained.notify_waiters();
                    return Ok(());
                }
                Ok(Err(error)) => return Err(WriteEnd::Failed(error)),
                Err(_) if self.written() == progress => return Err(WriteEnd::Stalled(stall)),
                Err(_) => progress = self.written(),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two statements, so a panic elsewhere spoils nothing.
        self.state.lock()
    }
}

impl Outlet for StreamWriter {
    /// The request is taken whole, and written here and now if the stream is idle or much waits.
    fn send_request(&self, request: &frame::Request<'_>, mode: WriteMode) -> Result<Sent, Unsent> {
        let mut state = self.lock();
        if state.half.is_none() {
            return Err(Unsent::Closed);
        }
        let idle = state.waiting() == 0 && !state.draining;
        let before = state.queue.len();
        request.append_to(&mut state.queue)?;
        state.accepted += (state.queue.len() - before) as u64;
        self.frames.sent(&state.queue[before..]);
        let sent = Sent::line(state.accepted);
        let is_large = state.waiting() >= LARGE_BATCH && !state.blocked;
        if is_large || (idle && mode == WriteMode::Inline) {
            // What cannot be written at once is left to the writer task, which polls again with a
            // waker of its own, so this poll needs none.
            let mut context = Context::from_waker(Waker::noop());
            match state.poll_drain(&mut context) {
                Poll::Ready(Ok(())) => return Ok(sent),
                Poll::Ready(Err(error)) => state.failure = Some(error.to_string()),
                Poll::Pending => {}
            }
        }
        self.leave_to_task(&mut state);
        Ok(sent)
    }

    /// A peer that asks and does not read fails the stream instead of filling the queue.
    fn send_unawaited(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.waiting() > UNAWAITED_FACTOR * self.queue_limit {
            let unread = || "the server does not read what it is answered".to_owned();
            state.failure.get_or_insert_with(unread);
            self.work.notify_one();
        } else if state.half.is_some() {
            state.queue.extend_from_slice(line);
            self.frames.sent(line);
            state.accepted += line.len() as u64;
            self.leave_to_task(&mut state);
        }
    }

    fn has_room(&self) -> bool {
        self.lock().waiting() < self.queue_limit
    }

    fn room(&self) -> BoxFuture<'_> {
        Box::pin(self.until(|state| state.waiting() < self.queue_limit))
    }

    fn flushed(&self) -> BoxFuture<'_> {
        Box::pin(self.until(|state| state.waiting() == 0))
    }

    /// The peer sees the end of the stream.
    fn close(&self) {
        let half = self.lock().half.take();
        if let Some(mut half) = half {
            // Dropping ends a pipe, but not one half of a stream whose other half is still being
            // read; such streams are shut down at once or not at all.
            let mut context = Context::from_waker(Waker::noop());
            let _ = Pin::new(&mut half).poll_shutdown(&mut context);
        }
        self.work.notify_one();
        self.drained.notify_waiters();
    }

    /// Writes what callers did not write themselves.
    fn run(&self, stall: Duration) -> BoxFuture<'_, WriteEnd> {
        Box::pin(async move {
            loop {
                self.work.notified().await;
                // Waking this task let its callers add to the batch first: a yield on top of that
                // was measured to cost more switches than it saved writes.
                match self.drain(stall).await {
                    Ok(()) if self.lock().half.is_none() => return WriteEnd::Closed,
                    Ok(()) => {}
                    Err(end) => return end,
                }
            }
        })
    }

    fn written(&self) -> u64 {
        self.lock().written
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::frames::FrameSource;

    fn writer(pipe: usize, queue: usize) -> (Arc<StreamWriter>, tokio::io::DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(pipe);
        let frames = FrameSource::default().open();
        let writer = StreamWriter::new(Box::new(ours), queue, frames);
        (Arc::new(writer), theirs)
    }

    const LINE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";

    fn send(writer: &StreamWriter, mode: WriteMode) -> Result<Sent, Unsent> {
        let request = frame::Request {
            id: 1,
            method: "m",
            params: &frame::Params::write(&()).unwrap(),
            meta: &[],
            empty: frame::EmptyParams::Omit,
        };
        writer.send_request(&request, mode)
    }

    #[tokio::test]
    async fn an_idle_stream_is_written_inline_without_the_task() {
        let (writer, mut peer) = writer(64, 64);
        let sent = send(&writer, WriteMode::Inline).unwrap();
        assert_eq!(writer.written(), LINE.len() as u64);
        assert!(sent.delivery.may_have_arrived(writer.written()));
        assert!(!sent.delivery.may_have_arrived(writer.written() - 1));
        let mut bytes = [0; LINE.len()];
        peer.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, LINE);
    }

    #[tokio::test]
    async fn what_does_not_fit_is_left_to_the_task_in_order() {
        let (writer, mut peer) = writer(2, 1024);
        let task = tokio::spawn({
            let writer = writer.clone();
            async move { writer.run(Duration::from_secs(5)).await }
        });
        send(&writer, WriteMode::Inline).unwrap();
        writer.send_unawaited(b"second\n");
        send(&writer, WriteMode::Inline).unwrap();
        send(&writer, WriteMode::Batched).unwrap();
        let expected = [LINE, b"second\n", LINE, LINE].concat();
        let mut bytes = vec![0; expected.len()];
        peer.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, expected);
        writer.flushed().await;
        writer.close();
        assert!(matches!(task.await.unwrap(), WriteEnd::Closed));
        let late = send(&writer, WriteMode::Inline);
        assert!(matches!(late, Err(Unsent::Closed)));
    }

    #[tokio::test]
    async fn a_large_batch_does_not_wait_for_the_task() {
        let (writer, _peer) = writer(2 * LARGE_BATCH, 2 * LARGE_BATCH);
        let lines = LARGE_BATCH.div_ceil(LINE.len()) as u64;
        for _ in 1..lines {
            send(&writer, WriteMode::Batched).unwrap();
        }
        assert_eq!(writer.written(), 0);
        send(&writer, WriteMode::Batched).unwrap();
        assert_eq!(writer.written(), lines * LINE.len() as u64);
    }

    #[tokio::test]
    async fn a_large_batch_leaves_a_full_stream_to_the_task_that_waits_for_it() {
        let (writer, mut peer) = writer(8, 1024);
        let task = tokio::spawn({
            let writer = writer.clone();
            async move { writer.run(Duration::from_secs(60)).await }
        });
        send(&writer, WriteMode::Batched).unwrap();
        // The task has begun to write, and waits for the peer.
        while writer.written() == 0 {
            tokio::task::yield_now().await;
        }
        let lines = 1 + LARGE_BATCH.div_ceil(LINE.len());
        for _ in 1..lines {
            send(&writer, WriteMode::Batched).unwrap();
        }
        assert_eq!(writer.written(), 8);
        let mut bytes = vec![0; lines * LINE.len()];
        let read = tokio::time::timeout(Duration::from_secs(10), peer.read_exact(&mut bytes));
        read.await.unwrap().unwrap();
        assert_eq!(bytes, LINE.repeat(lines));
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn fault_27_a_peer_that_takes_nothing_is_noticed() {
        let (writer, _peer) = writer(2, 4);
        send(&writer, WriteMode::Inline).unwrap();
        let end = writer.run(Duration::from_secs(30)).await;
        assert!(matches!(end, WriteEnd::Stalled(after) if after == Duration::from_secs(30)));
        assert_eq!(writer.written(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_limit_makes_callers_wait_for_room() {
        let (writer, mut peer) = writer(1, 4);
        let task = tokio::spawn({
            let writer = writer.clone();
            async move { writer.run(Duration::from_secs(5)).await }
        });
        writer.room().await;
        writer.send_unawaited(b"12345");
        let waited = tokio::time::timeout(Duration::from_secs(1), writer.room()).await;
        assert!(waited.is_err(), "four bytes wait, which is the limit");
        let mut bytes = [0; 5];
        peer.read_exact(&mut bytes).await.unwrap();
        writer.room().await;
        task.abort();
    }

    #[tokio::test]
    async fn a_peer_that_asks_and_does_not_read_fails_the_stream_at_the_limit() {
        let (writer, _peer) = writer(1, 4);
        writer.send_unawaited(b"12345678");
        writer.send_unawaited(b"x");
        assert_eq!(writer.lock().waiting(), 9, "eight bytes waited");
        writer.send_unawaited(b"x");
        assert_eq!(writer.lock().waiting(), 9, "nine bytes wait");
        let end = writer.run(Duration::from_secs(5)).await;
        assert!(matches!(end, WriteEnd::Failed(_)), "{end:?}");
    }

    #[tokio::test]
    async fn fault_28_a_broken_pipe_is_an_error_of_the_task() {
        let (writer, peer) = writer(64, 64);
        drop(peer);
        send(&writer, WriteMode::Inline).unwrap();
        let end = writer.run(Duration::from_secs(5)).await;
        assert!(matches!(end, WriteEnd::Failed(_)), "{end:?}");
        assert_eq!(writer.written(), 0);
    }
}
