//! Where servers are: the UI's own host, or one that runs in the background.
//!
//! Owns the verbs that the UI needs of a host and nothing of how they are shown. Every method may
//! take as long as it likes: none is called by the thread that draws. Dropping a request cancels it,
//! and the server is told.

mod attached;
mod own;

use std::sync::Arc;
use std::time::Duration;

use attache::host::catalog::{Aggregate, Listable};
use attache::host::events::Event;
use attache::host::frames::Frame;
use attache::host::policy::PinState;
use attache::host::questions::Answer;
use attache::host::snapshot::Snapshot;
use attache::protocol::{GetPromptResult, Json, Payload, ProgressParams, ReadResourceResult, Tool};

use crate::message::{CompleteWith, Order, WatchNews};

pub use attached::AttachedHost;
pub use own::OwnHost;

/// Told of progress.
pub(crate) type OnProgress = Box<dyn FnMut(ProgressParams) + Send>;

/// Told of each server's part of a list.
pub(crate) type OnPart<T> = Box<dyn FnMut(Aggregate<T>) + Send>;

/// A tool call.
pub(crate) struct CallWith {
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) arguments: Json,
    pub(crate) timeout: Option<Duration>,
    /// Metadata to send along, by key.
    pub(crate) meta: Vec<(String, Json)>,
    pub(crate) as_task: bool,
    /// Told the host's number of the call as soon as it has one, which is before anything is asked
    /// about it.
    pub(crate) on_number: Box<dyn FnOnce(u64) + Send>,
}

/// A host.
#[derive(Clone, Debug)]
pub enum Backend {
    /// A host of this process.
    Own(OwnHost),
    /// A host that runs in the background.
    Attached(AttachedHost),
}

/// Events of a host.
#[derive(Debug)]
pub(crate) enum EventStream {
    Own(attache::host::events::Events),
    Attached(attache_attach::RemoteEvents),
}

impl EventStream {
    /// The next event; none when the host is gone.
    pub(crate) async fn next(&mut self) -> Option<Arc<Event>> {
        match self {
            Self::Own(events) => events.next().await,
            Self::Attached(events) => events.next().await,
        }
    }

    /// The next event that is there already.
    pub(crate) fn try_next(&mut self) -> Option<Arc<Event>> {
        match self {
            Self::Own(events) => events.try_next(),
            Self::Attached(events) => events.try_next(),
        }
    }
}

/// Messages on the wire.
#[derive(Debug)]
pub(crate) enum FrameStream {
    Own(attache::host::frames::Frames),
    Attached(attache_attach::RemoteFrames),
}

impl FrameStream {
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        match self {
            Self::Own(frames) => frames.next().await,
            Self::Attached(frames) => frames.next().await,
        }
    }

    pub(crate) fn try_next(&mut self) -> Option<Frame> {
        match self {
            Self::Own(frames) => frames.try_next(),
            Self::Attached(frames) => frames.try_next(),
        }
    }
}

/// News of a resource that is watched.
#[derive(Debug)]
pub(crate) enum WatchStream {
    Own(attache::host::Watch),
    Attached(attache_attach::RemoteWatch),
}

impl WatchStream {
    /// What happened; none when the watch has ended and said why.
    pub(crate) async fn next(&mut self) -> Option<WatchNews> {
        match self {
            Self::Own(watch) => Some(match watch.next().await? {
                attache::host::Watched::Changed(_) => WatchNews::Changed,
                attache::host::Watched::Resubscribed => WatchNews::Gap,
                attache::host::Watched::Ended(error) => WatchNews::Ended(error.to_string()),
            }),
            Self::Attached(watch) => Some(match watch.next().await {
                Ok(attache::Change::Missed) => WatchNews::Gap,
                Ok(_) => WatchNews::Changed,
                Err(error) => WatchNews::Ended(error.to_string()),
            }),
        }
    }
}

/// Why something did not work.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    /// As the host tells it.
    Host(attache::host::Error),
    /// In words, where that is all there is.
    Words(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(error) => error.fmt(formatter),
            Self::Words(words) => formatter.write_str(words),
        }
    }
}

impl From<attache::host::Error> for Problem {
    fn from(error: attache::host::Error) -> Self {
        Self::Host(error)
    }
}

impl Backend {
    /// How things are, and everything that happens after that.
    pub(crate) async fn follow(&self) -> Result<(Snapshot, EventStream), Problem> {
        match self {
            Self::Own(host) => Ok(host.follow()),
            Self::Attached(host) => {
                let (snapshot, events) = host.follow().await?;
                Ok((snapshot, EventStream::Attached(events)))
            }
        }
    }

    /// A list of all servers, telling of each server's part as it comes.
    pub(crate) async fn list<T: Listable>(
        &self,
        on_part: OnPart<T>,
    ) -> Result<Aggregate<T>, Problem> {
        match self {
            Self::Own(host) => host.list(on_part).await,
            Self::Attached(host) => host.list(on_part).await,
        }
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        call: CallWith,
        on_progress: OnProgress,
    ) -> Result<Payload, Problem> {
        match self {
            Self::Own(host) => host.call(call, on_progress).await,
            Self::Attached(host) => host.call(call, on_progress).await,
        }
    }

    /// Reads a resource.
    pub(crate) async fn read(
        &self,
        server: &str,
        uri: &str,
        on_progress: OnProgress,
    ) -> Result<Arc<ReadResourceResult>, Problem> {
        match self {
            Self::Own(host) => host.read(server, uri, on_progress).await,
            Self::Attached(host) => host.read(server, uri).await,
        }
    }

    /// Gets a prompt.
    pub(crate) async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Vec<(String, String)>,
        on_progress: OnProgress,
    ) -> Result<GetPromptResult, Problem> {
        match self {
            Self::Own(host) => host.prompt(server, name, arguments, on_progress).await,
            Self::Attached(host) => host.prompt(server, name, arguments).await,
        }
    }

    /// Completes an argument.
    pub(crate) async fn complete(&self, with: CompleteWith) -> Result<Vec<String>, Problem> {
        match self {
            Self::Own(host) => host.complete(with).await,
            Self::Attached(host) => host.complete(with).await,
        }
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, question: u64, answer: Answer) -> Result<(), Problem> {
        match self {
            Self::Own(host) => host.answer(question, answer),
            Self::Attached(host) => host.answer(question, answer).await,
        }
    }

    /// Starts, stops, restarts a server, switches it, sets its log level.
    pub(crate) async fn order(&self, server: &str, order: Order) -> Result<(), Problem> {
        match self {
            Self::Own(host) => host.order(server, order).await,
            Self::Attached(host) => host.order(server, order).await,
        }
    }

    /// How a tool stands to what was approved. May read a file.
    pub(crate) fn pin_state(&self, server: &str, tool: &Tool) -> Result<PinState, Problem> {
        match self {
            Self::Own(host) => host.pin_state(server, tool),
            Self::Attached(_) => Err(AttachedHost::no_pins(server)),
        }
    }

    /// Approves a tool as it was shown.
    pub(crate) async fn accept_pin(&self, server: &str, tool: &Tool) -> Result<(), Problem> {
        match self {
            Self::Own(host) => host.accept_pin(server, tool).await,
            Self::Attached(_) => Err(AttachedHost::no_pins(server)),
        }
    }

    /// Messages on the wire, from now on; none where they cannot be had.
    pub(crate) async fn frames(&self) -> Option<FrameStream> {
        match self {
            Self::Own(host) => Some(host.frames()),
            Self::Attached(host) => host.frames().await.map(FrameStream::Attached),
        }
    }

    /// Watches a resource until it is dropped.
    pub(crate) async fn watch(&self, server: &str, uri: &str) -> Result<WatchStream, Problem> {
        match self {
            Self::Own(host) => host.watch(server, uri).await.map(WatchStream::Own),
            Self::Attached(host) => host.watch(server, uri).await.map(WatchStream::Attached),
        }
    }

    /// The folder with the log of calls.
    pub(crate) fn call_log(&self) -> Option<std::path::PathBuf> {
        match self {
            Self::Own(host) => host.call_log(),
            Self::Attached(host) => host.call_log(),
        }
    }
}
