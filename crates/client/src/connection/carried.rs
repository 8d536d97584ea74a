//! What a transport and its connection know of each other: what came for a call it delivers, how a
//! call ends without an answer, and what HTTP does differently.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use attache_protocol::{Ending, Era, Line, Message, Outcome, RequestId, Revision, parse_line};
use bytes::Bytes;

use super::{Failure, Link};
use crate::events::Event;

impl Link {
    /// Takes a message that came in answer to the delivery of the call `id`. An error that names no open call can
    /// only be meant for that one: servers refuse so what they could not read, without an id
    /// (eras.md 2.2) or with one of their own ("server-error" in version 1 of the Python SDK).
    pub(crate) fn receive_for(self: &Arc<Self>, id: u64, message: &Bytes) {
        self.frames.received(message);
        match parse_line(message) {
            Line::Message(Message::Response { id: named, outcome })
                if self.is_meant_for_the_delivered(named.as_ref(), &outcome) =>
            {
                let id = Some(RequestId::from(id));
                self.receive_message(message, Message::Response { id, outcome });
            }
            Line::Message(parsed) => {
                self.receive_message(message, parsed);
            }
            Line::Batch(_) | Line::Stray(_) => {
                self.sort_line(message);
            }
        }
    }

    fn is_meant_for_the_delivered(&self, named: Option<&RequestId>, outcome: &Outcome<'_>) -> bool {
        let Some(named) = named else { return true };
        let open = named.as_counter().is_some_and(|named| self.awaits(named));
        !open && matches!(outcome, Outcome::Error(_))
    }

    /// Ends a call that gets no answer any more. Nothing happens if it has ended already.
    pub(crate) fn fail(&self, id: u64, failure: Failure) {
        let waiter = self.calls().in_flight.end(id, failure.ending());
        if let Some(waiter) = waiter {
            // A caller that went away in this instant does not care.
            let _ = waiter.answer.send(Err(failure));
        }
    }

    /// The server may have said things while no stream was open: readers are told, and lists that are
    /// being followed count as changed (fault 59).
    pub(crate) fn report_gap(&self) {
        for list in [
            &self.lists.tools,
            &self.lists.prompts,
            &self.lists.resources,
        ] {
            list.send_modify(|count| *count += 1);
        }
        self.events.emit(Event::Gap);
    }

    /// What the server answered before anything was agreed on, in words.
    pub(crate) fn answers(&self) -> Vec<String> {
        self.outlet.answers()
    }

    /// Whether each message is an HTTP request of its own.
    pub(crate) fn is_http(&self) -> bool {
        self.outlet.is_http()
    }

    /// Whether parts of a request are mirrored in headers (C-SHM-13).
    pub(crate) fn mirrors_in_headers(&self) -> bool {
        self.revision().map(Revision::era) == Some(Era::Modern) && self.is_http()
    }

    /// Waits until the server may be connected to again, after so many failures in a row (P9).
    pub(crate) async fn pause_before_reconnect(&self, failures: u32) {
        self.outlet.pause(failures).await;
    }

    /// How many messages have come.
    pub(crate) fn received(&self) -> u64 {
        self.counters.messages_in.load(Ordering::Relaxed)
    }

    /// Waits until the other side has had the time to take note of the end: a stream ends on both
    /// sides, while HTTP only delivers what is under way.
    pub(crate) async fn goodbye(&self) {
        if self.is_http() {
            self.outlet.flushed().await;
        } else {
            self.ended().await;
        }
    }

    /// Whether a call still waits for its answer.
    pub(crate) fn awaits(&self, id: u64) -> bool {
        self.calls().in_flight.get_mut(id).is_some()
    }
}

impl Failure {
    fn ending(&self) -> Ending {
        match self {
            Self::Server(_) => Ending::ServerError,
            Self::Http(error) => error.ending(),
            Self::NotSent(_) | Self::Unwritable(_) => Ending::NotSent,
            Self::OutcomeUnknown(_) => Ending::OutcomeUnknown,
            Self::TimedOut(_) => Ending::TimedOut,
            Self::Protocol(_) => Ending::ProtocolError,
        }
    }
}
