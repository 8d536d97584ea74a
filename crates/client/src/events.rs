//! What a server says without being asked, as one bounded stream.
//!
//! A reader that falls behind loses the oldest events and is told how many; it never slows the
//! connection down (fault 49).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use attache_protocol::{Json, LogMessageParams, SubscriptionFilter};
use tokio::sync::broadcast;

/// Something a server said without being asked, or did against the protocol.
#[derive(Clone, Debug, PartialEq)]
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
    dropped: Arc<AtomicU64>,
}

impl Events {
    /// The next event; `None` when the connection has ended and all events were read.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(count)) => {
                self.dropped.fetch_add(count, Ordering::Relaxed);
                Some(Arc::new(Event::Missed(count)))
            }
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct EventSource {
    /// Taken away when the connection ends, which ends every stream.
    sender: std::sync::Mutex<Option<broadcast::Sender<Arc<Event>>>>,
    dropped: Arc<AtomicU64>,
}

impl EventSource {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            sender: std::sync::Mutex::new(Some(broadcast::Sender::new(capacity))),
            dropped: Arc::default(),
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        let receiver = match self.lock().as_ref() {
            Some(sender) => sender.subscribe(),
            // A stream of a connection that has ended is at its end.
            None => broadcast::channel(1).1,
        };
        Events {
            receiver,
            dropped: self.dropped.clone(),
        }
    }

    pub(crate) fn emit(&self, event: Event) {
        if let Some(sender) = self.lock().as_ref()
            && sender.receiver_count() > 0
        {
            // Failing means that nobody listens.
            let _ = sender.send(Arc::new(event));
        }
    }

    pub(crate) fn close(&self) {
        self.lock().take();
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<broadcast::Sender<Arc<Event>>>> {
        self.sender
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
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
        assert_eq!(*events.next().await.unwrap(), Event::Missed(10_000 - 1024));
        let mut received = 0;
        while events.next().await.is_some() {
            received += 1;
        }
        assert_eq!(received, 1024);
        assert_eq!(source.dropped(), 10_000 - 1024);
    }
}
