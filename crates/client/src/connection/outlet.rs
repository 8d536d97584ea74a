//! Where messages of this side go: into one byte stream, or each on a way of its own.
//!
//! This is the seam between a connection and its transport. A stream only tells up to which byte it
//! was written. A carrier takes single messages, knows for each whether it may have arrived, and
//! brings every call it carries to an end through [`Link::receive_for`](super::Link::receive_for)
//! or [`Link::fail`](super::Link::fail). Neither touches the table of calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_protocol::Revision;
use attache_protocol::frame::Params;
use tokio::task::AbortHandle;

use super::writer::{WriteHalf, Writer};

/// Where messages go.
pub(crate) enum Outlet {
    /// Into a byte stream, one after the other.
    Stream(Writer),
    /// Each on its own way.
    Carrier(Arc<dyn Carrier>),
}

impl Outlet {
    /// A byte stream.
    pub(crate) fn stream(half: WriteHalf, queue_limit: usize) -> Self {
        Self::Stream(Writer::new(half, queue_limit))
    }
}

/// A request to be carried.
pub(crate) struct Parcel<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) params: &'a Params,
    /// The whole message.
    pub(crate) line: Vec<u8>,
}

/// A transport that carries each message on its own way.
pub(crate) trait Carrier: Send + Sync {
    /// Takes a request on its way. It must not wait, and must not end the call before it returns.
    fn carry(&self, parcel: Parcel<'_>) -> Carriage;

    /// Takes a message that nobody waits for.
    fn carry_aside(&self, line: &[u8]);

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

/// A request on its way.
pub(crate) struct Carriage {
    departed: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Carriage {
    /// A request that `task` carries, which sets `departed` before any byte of it can arrive.
    pub(crate) fn new(departed: Arc<AtomicBool>, task: AbortHandle) -> Self {
        Self { departed, task }
    }

    /// Whether the server may have seen it.
    pub(crate) fn may_have_arrived(&self) -> bool {
        self.departed.load(Ordering::Acquire)
    }

    /// Stops carrying it, which closes the stream its answer would come on.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}
