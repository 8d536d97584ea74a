//! How messages of this side leave: into one byte stream, or each in a request of its own.
//!
//! This is the seam between a connection and its transport. A byte stream
//! ([`StreamWriter`](super::StreamWriter)) only tells up to which byte it was written. Other
//! transports know for each message whether it may have arrived, and bring every call they deliver
//! to an end through [`Link::receive_for`](super::Link::receive_for) or
//! [`Link::fail`](super::Link::fail). Neither touches the table of calls.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use attache_protocol::{Revision, frame};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::writer::{WriteEnd, WriteMode};

/// A future in a box, for what few calls need.
pub(crate) type BoxFuture<'a, T = ()> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How messages leave. A transport that keeps nothing for later, closes by being dropped and is not
/// HTTP writes the first five methods.
pub(crate) trait Outlet: Send + Sync {
    /// Takes a request. It must not wait.
    fn send_request(&self, request: &frame::Request<'_>, mode: WriteMode) -> Result<Sent, Unsent>;

    /// Takes a message that no caller waits for. A closed transport has no use for it.
    fn send_unawaited(&self, line: &[u8]);

    /// Whether another request can be taken without piling up.
    fn has_room(&self) -> bool;

    /// Waits until there is room.
    fn room(&self) -> BoxFuture<'_>;

    /// Waits until all messages that no caller waits for, and all that is queued, have been
    /// delivered.
    fn flushed(&self) -> BoxFuture<'_>;

    /// No message is taken any more.
    fn close(&self) {}

    /// What the writer task of the connection does, if the transport needs one.
    fn run(&self, stall: Duration) -> BoxFuture<'_, WriteEnd> {
        let _ = stall;
        Box::pin(ready(WriteEnd::Closed))
    }

    /// Up to which byte a stream was written.
    fn written(&self) -> u64 {
        0
    }

    /// Whether this is HTTP as of 2025-03-26: each message is a request with headers of its own,
    /// and closing its connection cancels it.
    fn is_http(&self) -> bool {
        false
    }

    /// The handshake has settled the revision.
    fn settled(&self, revision: Revision) {
        let _ = revision;
    }

    /// Waits until the server may be connected to again, after so many failures in a row.
    fn pause(&self, failures: u32) -> BoxFuture<'_> {
        let _ = failures;
        Box::pin(ready(()))
    }

    /// What the server answered before a revision was settled, in words, to explain why there is
    /// no connection.
    fn answers(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A request that a transport has taken.
pub(crate) struct Sent {
    pub(super) delivery: Delivery,
    /// What has to be polled for the request to get on.
    pub(super) post: Option<PostFuture>,
}

impl Sent {
    /// It is in a byte stream and ends at this position.
    pub(crate) fn line(end: u64) -> Self {
        Self {
            delivery: Delivery::Line { end },
            post: None,
        }
    }

    /// It gets on while `post` is polled.
    pub(crate) fn post(post: PostFuture) -> Self {
        Self {
            delivery: Delivery::Post(post.state.clone()),
            post: Some(post),
        }
    }
}

/// Why a request was not taken.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// The transport is closed.
    Closed,
    /// The request cannot be written as JSON.
    Unwritable(serde_json::Error),
}

impl From<serde_json::Error> for Unsent {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error)
    }
}

/// How a request in flight is delivered.
pub(super) enum Delivery {
    /// In a byte stream; its line ends at this position of the written bytes.
    Line {
        /// The position.
        end: u64,
    },
    /// On its own.
    Post(Arc<PostState>),
}

impl Delivery {
    /// Whether the server may have seen the request, if its stream was written up to `written`.
    pub(super) fn may_have_arrived(&self, written: u64) -> bool {
        match self {
            Self::Line { end } => *end <= written,
            Self::Post(state) => state.departed.load(Ordering::Acquire),
        }
    }

    /// The caller waits no more: what delivers the request has nothing left to do.
    pub(super) fn stop(&self) {
        if let Self::Post(state) = self {
            state.stop();
        }
    }
}

/// A request that is delivered on its own, as seen by its transport and by the table of calls.
#[derive(Default)]
pub(crate) struct PostState {
    /// Set before any byte of it can arrive.
    pub(crate) departed: AtomicBool,
    background: Mutex<Background>,
}

/// What goes on for a request besides its caller.
#[derive(Default)]
enum Background {
    #[default]
    Nothing,
    Task(AbortHandle),
    /// The caller waits no more, so nothing begins either.
    Stopped,
}

impl PostState {
    /// Goes on in a task of its own, unless the caller waits no more.
    pub(crate) fn continue_in_background(
        &self,
        runtime: &Handle,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut background = self.background.lock();
        if !matches!(*background, Background::Stopped) {
            *background = Background::Task(runtime.spawn(work).abort_handle());
        }
    }

    /// Stops the delivery, which closes the stream the answer would come on.
    fn stop(&self) {
        let former = std::mem::replace(&mut *self.background.lock(), Background::Stopped);
        if let Background::Task(task) = former {
            task.abort();
        }
    }
}

/// A request on its way to its answer, which gets on wherever it is polled. A caller that waits for
/// the answer anyway polls it itself, which saves waking a task to wake the caller.
pub(crate) struct PostFuture {
    state: Arc<PostState>,
    runtime: Handle,
    work: BoxFuture<'static>,
}

impl PostFuture {
    pub(crate) fn new(
        state: Arc<PostState>,
        runtime: Handle,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self {
            state,
            runtime,
            work: Box::pin(work),
        }
    }

    /// Goes on in a task.
    pub(super) fn start(self) {
        self.state.continue_in_background(&self.runtime, self.work);
    }
}

impl Future for PostFuture {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The caller may be polled by another executor, and sockets belong to this runtime.
        let runtime = self.runtime.clone();
        let _entered = runtime.enter();
        self.work.as_mut().poll(context)
    }
}
