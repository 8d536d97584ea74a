//! What a server says without being asked, as one bounded stream.
//!
//! A reader that falls behind loses the oldest events and is told how many; it never slows the
//! connection down (fault 49).

use std::sync::Arc;

use attache_protocol::{Json, LogMessageParams, SubscriptionFilter};
use tokio::sync::broadcast;

use crate::fanout::Fanout;

/// Something a server said without being asked, or did against the protocol.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A log message.
    Log(LogMessageParams),
    /// The list of tools has changed.
    ToolsChanged {
        /// The modern subscription that brought it, if one did.
        subscription: Option<u64>,
    },
    /// The list of prompts has changed.
    PromptsChanged {
        /// The modern subscription that brought it, if one did.
        subscription: Option<u64>,
    },
    /// The list of resources has changed.
    ResourcesChanged {
        /// The modern subscription that brought it, if one did.
        subscription: Option<u64>,
    },
    /// A resource has changed.
    ResourceUpdated {
        /// Which one.
        uri: String,
        /// The modern subscription that brought it, if one did.
        subscription: Option<u64>,
    },
    /// A modern subscription has begun.
    Acknowledged {
        /// What the server will report.
        filter: SubscriptionFilter,
        /// Which subscription.
        subscription: Option<u64>,
    },
    /// A url elicitation is complete (2025-11-25).
    ElicitationComplete {
        /// Which one.
        id: String,
    },
    /// Any other notification.
    Other {
        /// Its name.
        method: String,
        /// Its params.
        params: Option<Json>,
    },
    /// A line on stdout that is no message; shortened (fault 18).
    Stray {
        /// Its text.
        line: String,
        /// Why it is no message.
        reason: String,
    },
    /// The server did something the protocol forbids, without harm to any call.
    Violation(String),
    /// The connection was cut for a while, and what the server said meanwhile is lost: fetch again
    /// what matters.
    Gap,
    /// This reader fell behind and lost so many events.
    Missed(u64),
}

impl Event {
    /// The modern subscription that brought the event.
    pub fn subscription(&self) -> Option<u64> {
        match self {
            Self::ToolsChanged { subscription }
            | Self::PromptsChanged { subscription }
            | Self::ResourcesChanged { subscription }
            | Self::ResourceUpdated { subscription, .. }
            | Self::Acknowledged { subscription, .. } => *subscription,
            _ => None,
        }
    }
}

/// A stream of events, from the moment it was asked for.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Arc<Event>>,
}

impl Events {
    /// The next event; `None` when the connection has ended and all events were read.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Arc::new(Event::Missed(count))),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct EventSource {
    readers: Fanout<Arc<Event>>,
}

impl EventSource {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            readers: Fanout::new(capacity),
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events {
            receiver: self.readers.subscribe(),
        }
    }

    pub(crate) fn emit(&self, event: Event) {
        self.readers.send(|| Arc::new(event));
    }

    pub(crate) fn close(&self) {
        self.readers.close();
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.readers.dropped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fault_49_a_slow_reader_loses_the_oldest_and_is_told() {
        let source = EventSource::new(1024);
        let mut events = source.subscribe();
        for count in 0..10_000 {
            source.emit(Event::Violation(count.to_string()));
        }
        source.close();
        assert_eq!(source.dropped(), 10_000 - 1024);
        assert_eq!(*events.next().await.unwrap(), Event::Missed(10_000 - 1024));
        let mut received = 0;
        while events.next().await.is_some() {
            received += 1;
        }
        assert_eq!(received, 1024);
        assert_eq!(source.dropped(), 10_000 - 1024);
    }
}
