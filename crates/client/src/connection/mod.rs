//! One connection: calls in flight, what goes out, what comes in.
//!
//! Owns the in-flight table and its only mutators, and the order of things: a call begins and is
//! handed to the writer in one step, and ends in one step. Knows nothing of processes, eras'
//! handshakes or method types.

mod carried;
mod deadline;
mod dispatch;
mod outlet;
mod pending;
mod progress;
mod reader;
mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache_protocol::frame::{self, MetaFields};
use attache_protocol::{
    Cancelled, CancelledParams, Ending, Era, ErrorObject, InFlight, LogLevel, LspCancel,
    LspCancelParams, Notification, Payload, Revision, Tally,
};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::error::CloseReason;
use crate::events::EventSource;
use crate::frames::ConnectionFrames;
use crate::handlers::Handlers;
use crate::http::HttpError;
use crate::question_clock::QuestionClock;
use crate::server_requests::ServerRequests;
use crate::settings::{CancelForm, Limits, Quirks, Settings, Timeouts};

pub(crate) use deadline::{FOR_EVER, Patience, TimeLeft};
use dispatch::Urgency;
use outlet::Delivery;
pub(crate) use outlet::{BoxFuture, Outlet, PostFuture, PostState, Sent, Unsent};
pub(crate) use pending::{PendingRequest, ProgressWish};
use progress::ProgressQueue;
pub(crate) use reader::ReadEnd;
pub(crate) use writer::{StreamWriter, WriteEnd, WriteMode};

/// The state of one connection, shared by its tasks and its callers.
pub(crate) struct Link {
    calls: Mutex<Calls>,
    /// Wakes the timer when a call has less time than those before.
    sooner: Notify,
    outlet: Box<dyn Outlet>,
    pub(crate) events: EventSource,
    pub(crate) frames: ConnectionFrames,
    pub(crate) lists: ListChanges,
    pub(crate) server_requests: ServerRequests,
    pub(crate) counters: Counters,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) quirks: Quirks,
    /// The least serious log messages that are wanted.
    log_level: Mutex<Option<LogLevel>>,
    /// Set when the handshake has settled it.
    session: OnceLock<Session>,
    /// Set once, when the connection has ended.
    ended: watch::Sender<Option<CloseReason>>,
    /// Told when the server shows its first sign of life on stdout.
    pub(crate) first_sign: Notify,
}

/// The calls in flight, and when the first of them runs out of time.
#[derive(Default)]
struct Calls {
    in_flight: InFlight<Waiter>,
    /// When the timer is set to look at them, at the latest.
    alarm: Option<Instant>,
}

/// What the handshake settled.
#[derive(Debug)]
struct Session {
    revision: Revision,
    /// Metadata that every request carries (C-MOD-01 to C-MOD-03).
    meta: MetaFields,
}

/// What is needed to complete a call.
struct Waiter {
    answer: oneshot::Sender<Answer>,
    delivery: Delivery,
    kind: CallKind,
    patience: Patience,
    progress: Option<Arc<ProgressQueue>>,
}

/// What a call is, as far as it changes how it may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallKind {
    /// It ends with its answer.
    Ordinary,
    /// It is `initialize`, which is never cancelled (C-INIT-11).
    Handshake,
    /// It is a subscription, which the server may also end by cancelling it (S-CANC-07).
    Subscription,
}

/// How a call ended, for the one who waits for it.
pub(crate) type Answer = Result<Payload, Failure>;

/// How a call failed, before it is put into the context of its method.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request cannot be written as JSON.
    Unwritable(String),
    /// The server answered with an error.
    Server(ErrorObject),
    /// The server refused it, or answered with something else, at the level of HTTP.
    Http(HttpError),
    /// The server's answer breaks the protocol.
    Protocol(String),
    /// The connection ended before the request was written.
    NotSent(CloseReason),
    /// The connection ended after the request was written.
    OutcomeUnknown(CloseReason),
    /// No answer came within the given time.
    TimedOut(Duration),
}

impl Failure {
    fn unwritable(error: serde_json::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}

/// Counts of lists that changed, one per kind; a reader that is late sees only that there was a
/// change (fault 50).
#[derive(Debug, Default)]
pub(crate) struct ListChanges {
    pub(crate) tools: watch::Sender<u64>,
    pub(crate) prompts: watch::Sender<u64>,
    pub(crate) resources: watch::Sender<u64>,
}

/// How many of the lines that are no messages are kept to be shown.
pub(crate) const MAX_KEPT_STRAYS: usize = 3;

/// What happened besides calls.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) stray_lines: AtomicU64,
    /// The first of these lines: they come before a caller can listen for them.
    pub(crate) first_strays: Mutex<Vec<String>>,
    pub(crate) late_answers: AtomicU64,
    pub(crate) unknown_answers: AtomicU64,
    pub(crate) ignored_progress: AtomicU64,
    pub(crate) violations: AtomicU64,
    pub(crate) messages_in: AtomicU64,
}

impl Counters {
    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts of a connection so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Calls issued and how they ended.
    pub calls: Tally,
    /// Lines on stdout that were no messages.
    pub stray_lines: u64,
    /// Answers to calls that had ended already.
    pub late_answers: u64,
    /// Answers to calls that were never made.
    pub unknown_answers: u64,
    /// Progress notes for calls that had ended or never asked for any.
    pub ignored_progress: u64,
    /// Things the server did against the protocol without harm to a call.
    pub violations: u64,
    /// Messages received.
    pub messages_in: u64,
    /// Events that were dropped before every reader had read them.
    pub missed_events: u64,
}

impl Link {
    pub(crate) fn new(
        outlet: impl Outlet + 'static,
        settings: &Settings,
        handlers: Handlers,
        asked: QuestionClock,
        frames: ConnectionFrames,
    ) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            sooner: Notify::new(),
            outlet: Box::new(outlet),
            events: EventSource::new(settings.limits.notifications),
            frames,
            lists: ListChanges::default(),
            server_requests: ServerRequests::new(handlers, asked, settings.limits.server_requests),
            counters: Counters::default(),
            limits: settings.limits,
            timeouts: settings.timeouts,
            quirks: settings.quirks.clone(),
            log_level: Mutex::new(settings.log_level),
            session: OnceLock::new(),
            ended: watch::Sender::new(None),
            first_sign: Notify::new(),
        })
    }

    /// Records what the handshake settled; the first settlement stands.
    pub(crate) fn settle(&self, revision: Revision, meta: MetaFields) {
        // Only the handshake calls this, once per connection.
        let _ = self.session.set(Session { revision, meta });
        self.outlet.settled(revision);
    }

    /// The least serious log messages that are wanted.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock()
    }

    pub(crate) fn want_log_level(&self, level: LogLevel) {
        *self.log_level.lock() = Some(level);
    }

    /// The revision spoken, once the handshake has settled it.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.session.get().map(|session| session.revision)
    }

    /// Tells the server something.
    pub(crate) fn notify<N: Notification>(&self, params: &N::Params) {
        if let Ok(line) = frame::notification(N::NAME, params, &[]) {
            self.outlet.send_unawaited(&line);
        }
    }

    /// Answers a request of the server.
    pub(crate) fn answer<R: Serialize>(
        &self,
        id: &attache_protocol::RequestId,
        answer: Result<R, ErrorObject>,
    ) {
        let line = match answer {
            Ok(result) => frame::result(id, &result),
            Err(error) => frame::error(id, &error),
        };
        if let Ok(line) = line {
            self.outlet.send_unawaited(&line);
        }
    }

    /// Tells the server that a request is of no interest any more, in the form it understands.
    fn send_cancel(&self, id: u64, reason: &str) {
        let legacy = self.revision().map(Revision::era) == Some(Era::Legacy);
        if self.is_http() && !legacy {
            // Its stream was closed, which says it all (C-CANC-06).
            return;
        }
        let form = self.quirks.cancel;
        if form != CancelForm::Lsp {
            self.notify::<Cancelled>(&CancelledParams::new(id, reason));
        }
        if form != CancelForm::Standard {
            self.notify::<LspCancel>(&LspCancelParams::new(id));
        }
    }

    /// Ends the connection: every open call fails with the truth about itself, and no call begins
    /// any more. The first reason stands.
    pub(crate) fn close(&self, reason: CloseReason) {
        let ended = {
            let mut calls = self.calls();
            // What the writer task writes up to the closing counts as written: a call that may
            // have been seen must not be called safe to repeat (invariant 12).
            self.close_input();
            let written = self.outlet.written();
            calls.in_flight.close(|waiter| {
                if waiter.delivery.may_have_arrived(written) {
                    Ending::OutcomeUnknown
                } else {
                    Ending::NotSent
                }
            })
        };
        let reason = self.record_end(reason);
        for (waiter, ending) in ended {
            waiter.delivery.stop();
            let failure = match ending {
                Ending::NotSent => Failure::NotSent(reason.clone()),
                _ => Failure::OutcomeUnknown(reason.clone()),
            };
            // A caller that has gone away does not care.
            let _ = waiter.answer.send(Err(failure));
        }
        self.server_requests.close();
        self.events.close();
    }

    fn record_end(&self, reason: CloseReason) -> CloseReason {
        let mut stands = reason.clone();
        self.ended.send_if_modified(|ended| match ended {
            Some(former) => {
                stands = former.clone();
                false
            }
            None => {
                self.frames.closed(&reason);
                *ended = Some(reason);
                true
            }
        });
        stands
    }

    /// Why the connection has ended, if it has.
    pub(crate) fn end_reason(&self) -> Option<CloseReason> {
        self.ended.borrow().clone()
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&self) -> CloseReason {
        let mut ended = self.ended.subscribe();
        let reason = ended.wait_for(Option::is_some).await;
        // The sender lives in `self`, so waiting cannot fail.
        reason
            .ok()
            .and_then(|reason| reason.clone())
            .unwrap_or(CloseReason::ClosedHere)
    }

    /// Whether a request can be sent without piling up.
    pub(crate) fn has_room(&self) -> bool {
        self.outlet.has_room()
    }

    /// Waits until there is room for a request.
    pub(crate) async fn room(&self) {
        self.outlet.room().await;
    }

    /// Waits until everything sent so far is written.
    pub(crate) async fn flushed(&self) {
        self.outlet.flushed().await;
    }

    /// Closes the stream to the server, which is how a session ends (C-INIT-13).
    pub(crate) fn close_input(&self) {
        self.outlet.close();
    }

    /// The writer task of this connection.
    pub(crate) async fn run_writer(&self) -> WriteEnd {
        self.outlet.run(self.timeouts.write_stall).await
    }

    /// A result turned out not to be what its method declares.
    pub(crate) fn reclassify_undecodable(&self) {
        self.calls().in_flight.reclassify_undecodable();
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            calls: self.calls().in_flight.tally(),
            stray_lines: read(&self.counters.stray_lines),
            late_answers: read(&self.counters.late_answers),
            unknown_answers: read(&self.counters.unknown_answers),
            ignored_progress: read(&self.counters.ignored_progress),
            violations: read(&self.counters.violations),
            messages_in: read(&self.counters.messages_in),
            missed_events: self.events.dropped(),
        }
    }

    /// The first lines that were no messages, each shortened.
    pub(crate) fn first_strays(&self) -> Vec<String> {
        let kept = &self.counters.first_strays;
        kept.lock().clone()
    }

    fn keep_stray(&self, line: &str) {
        let kept = &self.counters.first_strays;
        let mut kept = kept.lock();
        if kept.len() < MAX_KEPT_STRAYS {
            kept.push(line.to_owned());
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        // The table is consistent between any two statements, so a panic elsewhere spoils nothing.
        self.calls.lock()
    }
}
