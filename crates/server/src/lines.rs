//! Writing lines to a peer: all that is ready in one write, and never more waiting than a limit.
//!
//! Owns the write half of a byte stream and the bytes that wait for it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

use crate::service::{Outlet, Sent, Undeliverable};

/// How many times over the limit messages may pile up that cannot be dropped.
const HARD_FACTOR: usize = 4;

pub(crate) struct LineWriter {
    state: Mutex<State>,
    /// Wakes the task that writes.
    work: Notify,
    /// Wakes whoever waits for room, or for everything to be written.
    drained: Notify,
    limit: usize,
}

struct State {
    half: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    queue: Vec<u8>,
    /// How much of the queue is written.
    start: usize,
    /// The writing task has work and will do it.
    draining: bool,
    failed: bool,
}

impl State {
    fn waiting(&self) -> usize {
        self.queue.len() - self.start
    }

    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(half) = self.half.as_mut() else {
            return Poll::Ready(Ok(()));
        };
        while self.start < self.queue.len() {
            match Pin::new(&mut *half).poll_write(context, &self.queue[self.start..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(length)) => self.start += length,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        self.start = 0;
        if self.queue.capacity() > KEPT_CAPACITY {
            self.queue = Vec::new();
        } else {
            self.queue.clear();
        }
        Pin::new(half).poll_flush(context)
    }

    fn fail(&mut self) {
        self.failed = true;
        self.half = None;
        self.queue = Vec::new();
        self.start = 0;
    }
}

/// A buffer up to this size is kept for the next messages.
const KEPT_CAPACITY: usize = 64 * 1024;

impl LineWriter {
    pub(crate) fn new(half: Box<dyn AsyncWrite + Send + Unpin>, limit: usize) -> Self {
        Self {
            state: Mutex::new(State {
                half: Some(half),
                queue: Vec::new(),
                start: 0,
                draining: false,
                failed: false,
            }),
            work: Notify::new(),
            drained: Notify::new(),
            limit,
        }
    }

    /// Adds a line without writing it; [`flush`](Self::flush) or the next line does.
    pub(crate) fn add(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.half.is_some() {
            state.queue.extend_from_slice(line);
        }
    }

    /// Adds a line and writes it at once if nothing else waits.
    pub(crate) fn send(&self, line: &[u8]) {
        self.add(line);
        self.flush();
    }

    /// Writes what waits, as far as the peer takes it now; the rest is left to the writing task.
    pub(crate) fn flush(&self) {
        let mut state = self.lock();
        if state.draining || state.waiting() == 0 {
            return;
        }
        // The writing task polls again with a waker of its own, so this poll needs none.
        match state.poll_drain(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => {
                state.fail();
                self.work.notify_one();
                self.drained.notify_waiters();
            }
            Poll::Pending => {
                state.draining = true;
                self.work.notify_one();
            }
        }
    }

    /// Writes what others have added, until the stream fails or is closed.
    pub(crate) async fn run(&self) {
        loop {
            let drained = std::future::poll_fn(|context| {
                let mut state = self.lock();
                match state.poll_drain(context) {
                    Poll::Ready(Ok(())) => {
                        state.draining = false;
                        Poll::Ready(state.half.is_some())
                    }
                    Poll::Ready(Err(_)) => {
                        state.fail();
                        Poll::Ready(false)
                    }
                    Poll::Pending => Poll::Pending,
                }
            });
            let is_open = drained.await;
            self.drained.notify_waiters();
            if !is_open {
                return;
            }
            self.work.notified().await;
        }
    }

    /// How many bytes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// Whether less waits than the limit.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().waiting() < self.limit
    }

    /// Waits until less waits than the limit, or the stream is gone.
    pub(crate) async fn room(&self) {
        self.until(|state| state.waiting() < self.limit).await;
    }

    /// Waits until everything is written, or the stream is gone. A file takes bytes at once and
    /// writes them on another thread, so the flush behind them counts too.
    pub(crate) async fn written(&self) {
        self.flush();
        self.until(|state| state.waiting() == 0 && !state.draining)
            .await;
    }

    async fn until(&self, condition: impl Fn(&State) -> bool) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            {
                let state = self.lock();
                if state.half.is_none() || condition(&state) {
                    return;
                }
            }
            drained.await;
        }
    }

    /// The peer does not take anything any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.lock().failed
    }

    /// Waits until the peer does not take anything any more.
    pub(crate) async fn failed(&self) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if self.has_failed() {
                return;
            }
            drained.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Outlet for LineWriter {
    fn send(&self, frame: Vec<u8>, kind: Sent) -> Result<(), Undeliverable> {
        let room = match kind {
            Sent::Notice => self.limit,
            Sent::Change | Sent::Question => self.limit.saturating_mul(HARD_FACTOR),
        };
        {
            let state = self.lock();
            if state.half.is_none() || state.waiting() >= room {
                return Err(Undeliverable);
            }
        }
        LineWriter::send(self, &frame);
        Ok(())
    }
}
