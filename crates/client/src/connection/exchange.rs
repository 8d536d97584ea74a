//! One request and its answer: begin, wait, extend, give up.
//!
//! An [`Exchange`] that is dropped before its answer came is cancelled: its entry goes at once and
//! the server is told, off the caller's path (invariant 5).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_protocol::frame::{self, MetaFields};
use attache_protocol::{
    Ending, Initialize, Json, Listen, Method as _, Payload, ProgressParams, meta,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::writer::Urgency;
use super::{Answer, CallKind, Failure, Link, ProgressQueue, Waiter};
use crate::error::CloseReason;

/// How long one exchange may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    /// Without a sign of progress.
    pub(crate) patience: Duration,
    /// Altogether.
    pub(crate) maximum: Duration,
}

/// Whether a request asks for progress notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressWish {
    /// None are wanted.
    None,
    /// Send them.
    Notes,
}

/// A request on its way.
pub(crate) struct Exchange {
    link: Arc<Link>,
    id: u64,
    /// `initialize` is never cancelled (C-INIT-11).
    cancellable: bool,
    answer: oneshot::Receiver<Answer>,
    progress: Option<Arc<ProgressQueue>>,
    /// The call has not ended, as far as this side knows.
    open: bool,
}

impl Link {
    /// Writes a request and begins to wait for its answer.
    pub(crate) fn begin(
        self: &Arc<Self>,
        method: &str,
        params: &Json,
        extra_meta: &MetaFields,
        wish: ProgressWish,
    ) -> Result<Exchange, Failure> {
        let id = self.calls().next_id();
        let mut progress_meta = MetaFields::default();
        let mut progress = None;
        if wish == ProgressWish::Notes {
            progress_meta
                .add(meta::PROGRESS_TOKEN, &id)
                .map_err(Failure::unwritable)?;
            progress = Some(Arc::new(ProgressQueue::new(self.limits.progress)));
        }
        let no_meta = MetaFields::default();
        let session_meta = self.session.get().map_or(&no_meta, |session| &session.meta);
        let parts = [session_meta, &progress_meta, extra_meta];
        let line = frame::request(id, method, params, &parts, self.quirks.empty_params)
            .map_err(Failure::unwritable)?;
        let kind = match method {
            Listen::NAME => CallKind::Subscription,
            _ => CallKind::Ordinary,
        };
        let answer = self.issue(id, line, kind, progress.clone())?;
        Ok(Exchange {
            link: self.clone(),
            id,
            cancellable: method != Initialize::NAME,
            answer,
            progress,
            open: true,
        })
    }

    /// Begins a call and hands its frame to the writer in one step: a call in the table whose
    /// frame was not handed over does not exist, so whether it was sent is always known.
    fn issue(
        &self,
        id: u64,
        line: Vec<u8>,
        kind: CallKind,
        progress: Option<Arc<ProgressQueue>>,
    ) -> Result<oneshot::Receiver<Answer>, Failure> {
        let not_sent = || Failure::NotSent(self.end_reason().unwrap_or(CloseReason::ClosedHere));
        let (sender, answer) = oneshot::channel();
        let mut calls = self.calls();
        let waiter = Waiter {
            answer: sender,
            frame_end: u64::MAX,
            kind,
            progress,
        };
        calls.begin(id, waiter).map_err(|_| not_sent())?;
        let urgency = if calls.come_alone() {
            Urgency::Inline
        } else {
            Urgency::Batched
        };
        match self.writer.send(line, urgency) {
            Ok(end) => {
                if let Some(waiter) = calls.get_mut(id) {
                    waiter.frame_end = end;
                }
                Ok(answer)
            }
            Err(_) => {
                calls.end(id, Ending::NotSent);
                Err(not_sent())
            }
        }
    }
}

impl Exchange {
    /// The id of the request.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer until the deadline; progress may put it off, up to the maximum
    /// (fault 47), and no time counts while the user is being asked something.
    pub(crate) async fn finish(
        &mut self,
        deadlines: Deadlines,
        mut on_progress: impl FnMut(ProgressParams),
    ) -> Result<Payload, Failure> {
        let begun = Instant::now();
        let mut hard = begun + deadlines.maximum;
        let mut deadline = (begun + deadlines.patience).min(hard);
        loop {
            tokio::select! {
                biased;
                answer = &mut self.answer => {
                    self.open = false;
                    // What came before the answer is delivered before it (fault 48).
                    self.deliver_progress(&mut on_progress);
                    return received(answer);
                }
                () = progress_arrived(self.progress.as_deref()) => {
                    self.deliver_progress(&mut on_progress);
                    deadline = (Instant::now() + deadlines.patience).min(hard);
                }
                () = tokio::time::sleep_until(deadline) => {
                    let asked_for = Box::pin(self.link.desk.while_asking()).await;
                    if asked_for.is_zero() {
                        let after = begun.elapsed();
                        if self.give_up(Ending::TimedOut, "timed out") {
                            return Err(Failure::TimedOut(after));
                        }
                        // The answer left the table in the same instant and won (fault 44); it is
                        // on its way through the channel, where the next turn finds it.
                        self.open = true;
                        deadline = Instant::now() + deadlines.patience;
                        continue;
                    }
                    hard += asked_for;
                    deadline = (Instant::now() + deadlines.patience).min(hard);
                }
            }
        }
    }

    /// Waits for the answer as long as it takes; for subscriptions, whose request stays open
    /// (C-SUBM-11).
    pub(crate) async fn answered(&mut self) -> Result<Payload, Failure> {
        if !self.open {
            return Err(Failure::Protocol("the answer was taken before".to_owned()));
        }
        let answer = (&mut self.answer).await;
        self.open = false;
        received(answer)
    }

    /// Ends the call from this side and tells the server; false if it has ended already.
    fn give_up(&mut self, ending: Ending, reason: &str) -> bool {
        self.open = false;
        let ended = self.link.calls().end(self.id, ending).is_some();
        if ended && self.cancellable {
            self.link.send_cancel(self.id, reason);
        }
        ended
    }

    fn deliver_progress(&self, on_progress: &mut impl FnMut(ProgressParams)) {
        if let Some(queue) = &self.progress {
            queue.take().into_iter().for_each(on_progress);
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Exchange")
            .field("id", &self.id)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if self.open {
            self.give_up(Ending::Cancelled, "cancelled by the caller");
        }
    }
}

/// Every call that leaves the table is answered, so a lost channel means the table is gone.
fn received(answer: Result<Answer, oneshot::error::RecvError>) -> Answer {
    answer.unwrap_or(Err(Failure::OutcomeUnknown(CloseReason::ClosedHere)))
}

async fn progress_arrived(queue: Option<&ProgressQueue>) {
    match queue {
        Some(queue) => queue.arrived().await,
        None => std::future::pending().await,
    }
}
