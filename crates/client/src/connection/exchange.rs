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
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::writer::Urgency;
use super::{Answer, CallKind, Failure, Link, Outlet, Parcel, ProgressQueue, Waiter};
use crate::error::CloseReason;

/// Longer than anything lasts; a longer time would be more than a clock can show.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The time an exchange has left. It stands still while the user is being asked something: on a
/// stream the question of a legacy server may belong to any call (P6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLeft {
    patience: Duration,
    whole: Duration,
    /// The end of the patience, which progress puts off, and that of the whole, which it does not.
    soft: Instant,
    hard: Instant,
    /// For how long people had been asked when the two moments were last right.
    asked: Duration,
}

impl TimeLeft {
    /// From now on: `patience` without a sign of progress, and of the `whole` time altogether what
    /// is `left` of it.
    pub(crate) fn new(
        link: &Link,
        patience: Duration,
        whole: Duration,
        left: Option<Duration>,
    ) -> Self {
        let now = Instant::now();
        let whole = whole.min(FOR_EVER);
        let patience = patience.min(FOR_EVER);
        Self {
            patience,
            whole,
            soft: now + patience,
            hard: now + left.unwrap_or(whole).min(whole),
            asked: link.desk.asked_time(),
        }
    }

    /// When it is over if nothing happens.
    pub(crate) fn end(&self) -> Instant {
        self.soft.min(self.hard)
    }

    /// How much of the whole time is left now.
    pub(crate) fn left(&mut self, link: &Link) -> Duration {
        self.leave_out_asking(link);
        self.hard.saturating_duration_since(Instant::now())
    }

    /// How much of the whole time is gone.
    pub(crate) fn spent(&mut self, link: &Link) -> Duration {
        self.whole.saturating_sub(self.left(link))
    }

    /// There was progress: the patience begins anew.
    fn extend(&mut self, link: &Link) {
        self.leave_out_asking(link);
        self.soft = Instant::now() + self.patience;
    }

    fn leave_out_asking(&mut self, link: &Link) {
        let asked = link.desk.asked_time();
        let more = asked.saturating_sub(self.asked);
        self.asked = asked;
        self.soft += more;
        self.hard += more;
    }

    /// Resolves when no time is left. Can be dropped and called again.
    async fn run_out(&mut self, link: &Link) {
        loop {
            tokio::time::sleep_until(self.end()).await;
            Box::pin(link.desk.nobody_asked()).await;
            self.leave_out_asking(link);
            if Instant::now() >= self.end() {
                return;
            }
        }
    }
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
        let parcel = Parcel {
            id,
            method,
            params,
            line,
        };
        let answer = self.issue(parcel, kind, progress.clone())?;
        Ok(Exchange {
            link: self.clone(),
            id,
            cancellable: method != Initialize::NAME,
            answer,
            progress,
            open: true,
        })
    }

    /// Sends a request at once and lets its answer come off the caller's path: for what is said when
    /// something is dropped. Without a runtime the connection is gone, and nobody there to be told.
    pub(crate) fn request_aside(
        self: &Arc<Self>,
        method: &str,
        params: &impl Serialize,
        extra_meta: &MetaFields,
    ) {
        let (Ok(runtime), Ok(params)) = (Handle::try_current(), Json::from_serialize(params))
        else {
            return;
        };
        if let Ok(mut exchange) = self.begin(method, &params, extra_meta, ProgressWish::None) {
            let patience = self.timeouts.request;
            let mut time = TimeLeft::new(self, patience, patience, None);
            runtime.spawn(async move { exchange.finish(&mut time, drop).await });
        }
    }

    /// Begins a call and hands its frame to the writer in one step: a call in the table whose
    /// frame was not handed over does not exist, so whether it was sent is always known.
    fn issue(
        &self,
        parcel: Parcel<'_>,
        kind: CallKind,
        progress: Option<Arc<ProgressQueue>>,
    ) -> Result<oneshot::Receiver<Answer>, Failure> {
        let not_sent = || Failure::NotSent(self.end_reason().unwrap_or(CloseReason::ClosedHere));
        let (sender, answer) = oneshot::channel();
        let id = parcel.id;
        let mut calls = self.calls();
        let waiter = Waiter {
            answer: sender,
            frame_end: u64::MAX,
            carriage: None,
            kind,
            progress,
        };
        calls.begin(id, waiter).map_err(|_| not_sent())?;
        let writer = match &self.outlet {
            Outlet::Stream(writer) => writer,
            Outlet::Carrier(carrier) => {
                // Its task cannot end the call before this step is over: it needs the table.
                let carriage = carrier.carry(parcel);
                if let Some(waiter) = calls.get_mut(id) {
                    waiter.carriage = Some(carriage);
                }
                return Ok(answer);
            }
        };
        let urgency = if calls.len() == 1 {
            Urgency::Inline
        } else {
            Urgency::Batched
        };
        match writer.send(parcel.line, urgency) {
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

    /// Waits for the answer while there is time; progress may put the end off, up to the maximum
    /// (fault 47).
    pub(crate) async fn finish(
        &mut self,
        time: &mut TimeLeft,
        mut on_progress: impl FnMut(ProgressParams),
    ) -> Result<Payload, Failure> {
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
                    time.extend(&self.link);
                }
                () = time.run_out(&self.link) => {
                    if self.give_up(Ending::TimedOut, "timed out") {
                        return Err(Failure::TimedOut(time.spent(&self.link)));
                    }
                    // The answer left the table in the same instant and won (fault 44); it is on
                    // its way through the channel.
                    let answer = (&mut self.answer).await;
                    self.deliver_progress(&mut on_progress);
                    return received(answer);
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
        let Some(waiter) = self.link.calls().end(self.id, ending) else {
            return false;
        };
        waiter.let_go();
        if self.cancellable {
            self.link.send_cancel(self.id, reason);
        }
        true
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
