//! Where messages of this side go: into one byte stream, or each on a way of its own.
//!
//! This is the seam between a connection and its transport. A stream only tells up to which byte it
//! was written. A transport takes single messages, knows for each whether it may have arrived, and
//! brings every call it carries to an end through [`Link::receive_for`](super::Link::receive_for)
//! or [`Link::fail`](super::Link::fail). Neither touches the table of calls.

use parking_lot::{Mutex, MutexGuard};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use attache_protocol::Revision;
use attache_protocol::frame::Params;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::writer::{WriteHalf, Writer};

/// Where messages go.
pub(crate) enum Outlet {
    /// Into a byte stream, one after the other.
    Stream(Writer),
    /// Each on its own way.
    MessageTransport(Arc<dyn MessageTransport>),
}

impl Outlet {
    /// A byte stream.
    pub(crate) fn stream(half: WriteHalf, queue_limit: usize) -> Self {
        Self::Stream(Writer::new(half, queue_limit))
    }
}

/// A request to be carried.
pub(crate) struct Outgoing<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) params: &'a Params,
    /// The whole message.
    pub(crate) line: Vec<u8>,
}

/// A transport that carries each message on its own way.
pub(crate) trait MessageTransport: Send + Sync {
    /// Prepares the way of a request. It must not wait, and nothing happens before the way is polled.
    fn carry(&self, parcel: Outgoing<'_>) -> PostFuture;

    /// Takes a message that nobody waits for.
    fn send_unawaited(&self, line: &[u8]);

    /// The handshake has settled the revision.
    fn settled(&self, revision: Revision);

    /// Whether another request can be taken without piling up.
    fn has_room(&self) -> bool;

    /// Waits until there is room.
    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Waits until all messages that nobody waits for have been delivered.
    fn delivered(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Waits until the server may be connected to again, after so many failures in a row.
    fn pause(&self, failures: u32) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let _ = failures;
        Box::pin(std::future::ready(()))
    }

    /// What the server answered before a revision was settled, in words: for whoever has to explain
    /// why there is no connection.
    fn answers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Nothing is carried any more.
    fn close(&self);
}

/// A request on its way, as seen by the one who carries it and by the table of calls.
#[derive(Default)]
pub(crate) struct Delivery {
    /// Set before any byte of it can arrive.
    pub(crate) departed: AtomicBool,
    beside: Mutex<Background>,
}

/// What goes on for a request besides its caller.
#[derive(Default)]
enum Background {
    #[default]
    Nothing,
    Task(AbortHandle),
    /// Nobody waits any more, so nothing begins either.
    Stopped,
}

impl Delivery {
    /// Whether the server may have seen it.
    pub(crate) fn may_have_arrived(&self) -> bool {
        self.departed.load(Ordering::Acquire)
    }

    /// Goes on in a task of its own, unless nobody waits any more.
    pub(crate) fn continue_in_background(
        &self,
        runtime: &Handle,
        way: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut beside = self.beside();
        if !matches!(*beside, Background::Stopped) {
            *beside = Background::Task(runtime.spawn(way).abort_handle());
        }
    }

    /// Stops carrying it, which closes the stream its answer would come on.
    pub(crate) fn stop(&self) {
        let former = std::mem::replace(&mut *self.beside(), Background::Stopped);
        if let Background::Task(task) = former {
            task.abort();
        }
    }

    fn beside(&self) -> MutexGuard<'_, Background> {
        self.beside.lock()
    }
}

/// The way of a request to its answer, which goes on wherever it is polled. A caller that waits for
/// the answer anyway polls it itself, which saves waking a task to wake the caller.
pub(crate) struct PostFuture {
    delivery: Arc<Delivery>,
    runtime: Handle,
    way: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl PostFuture {
    pub(crate) fn new(
        delivery: Arc<Delivery>,
        runtime: Handle,
        way: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self {
            delivery,
            runtime,
            way: Box::pin(way),
        }
    }

    pub(super) fn delivery(&self) -> Arc<Delivery> {
        self.delivery.clone()
    }

    /// Goes on by itself.
    pub(super) fn start(self) {
        self.delivery
            .continue_in_background(&self.runtime, self.way);
    }
}

impl Future for PostFuture {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // The caller may be polled by another executor, and sockets belong to this runtime.
        let runtime = self.runtime.clone();
        let _entered = runtime.enter();
        self.way.as_mut().poll(context)
    }
}
