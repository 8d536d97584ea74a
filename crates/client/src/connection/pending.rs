//! One request and its answer: begin, wait, give up.
//!
//! A [`PendingRequest`] that is dropped before its answer came is cancelled: its entry goes at once
//! and the server is told, off the caller's path (invariant 5).

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use attache_protocol::frame::{self, MetaFields, Params};
use attache_protocol::{Ending, Initialize, Listen, Method as _, Payload, ProgressParams, meta};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::outlet::Unsent;
use super::writer::WriteMode;
use super::{
    Answer, CallKind, Failure, Link, Patience, PostFuture, ProgressQueue, TimeLeft, Waiter,
};
use crate::error::CloseReason;
use crate::settings::ProgressTokenForm;

/// What a token of the form [`ProgressTokenForm::Tool`] begins with.
pub(super) const TOOL_TOKEN: &str = "tool-";

/// Whether a request asks for progress notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressWish {
    /// None are wanted.
    None,
    /// Send them.
    Notes,
}

/// A request on its way.
pub(crate) struct PendingRequest {
    link: Arc<Link>,
    id: u64,
    answer: oneshot::Receiver<Answer>,
    /// What delivers the request, if it goes on only while this is polled.
    post: Option<PostFuture>,
    progress: Option<Arc<ProgressQueue>>,
    /// The call has not ended, as far as this side knows.
    open: bool,
}

impl Link {
    /// Writes a request and begins to wait for its answer.
    ///
    /// The call begins and its frame is handed to the writer in one step: a call in the table whose
    /// frame was not handed over does not exist, so whether it was sent is always known.
    pub(crate) fn begin(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        extra_meta: &MetaFields,
        wish: ProgressWish,
        patience: Patience,
    ) -> Result<PendingRequest, Failure> {
        let not_sent = || Failure::NotSent(self.end_reason().unwrap_or(CloseReason::ClosedHere));
        let kind = match method {
            Listen::NAME => CallKind::Subscription,
            Initialize::NAME => CallKind::Handshake,
            _ => CallKind::Ordinary,
        };
        let progress = match wish {
            ProgressWish::Notes => Some(Arc::new(ProgressQueue::new(self.limits.progress))),
            ProgressWish::None => None,
        };
        let (sender, answer) = oneshot::channel();
        let mut calls = self.calls();
        if calls.in_flight.is_closed() {
            return Err(not_sent());
        }
        let id = calls.in_flight.next_id();
        let mode = match calls.in_flight.is_empty() {
            true => WriteMode::Inline,
            false => WriteMode::Batched,
        };
        let progress_meta = self.progress_meta(id, wish)?;
        let no_meta = MetaFields::default();
        let session_meta = self.session.get().map_or(&no_meta, |session| &session.meta);
        let request = frame::Request {
            id,
            method,
            params,
            meta: &[session_meta, &progress_meta, extra_meta],
            empty: self.quirks.empty_params,
        };
        let sent = match self.outlet.send_request(&request, mode) {
            Ok(sent) => sent,
            Err(Unsent::Unwritable(error)) => return Err(Failure::unwritable(error)),
            Err(Unsent::Closed) => return Err(not_sent()),
        };
        let waiter = Waiter {
            answer: sender,
            delivery: sent.delivery,
            kind,
            patience,
            progress: progress.clone(),
        };
        // The table is open, as the lock was held since that was seen.
        let _ = calls.in_flight.begin(id, waiter);
        self.watch_time(&mut calls, patience);
        drop(calls);
        Ok(PendingRequest {
            link: self.clone(),
            id,
            answer,
            post: sent.post,
            progress,
            open: true,
        })
    }

    /// The metadata that asks for progress, if it is wanted.
    fn progress_meta(&self, id: u64, wish: ProgressWish) -> Result<MetaFields, Failure> {
        let mut fields = MetaFields::default();
        let added = match (wish, self.quirks.progress_token) {
            (ProgressWish::None, _) => Ok(()),
            (ProgressWish::Notes, ProgressTokenForm::Number) => {
                fields.add(meta::PROGRESS_TOKEN, &id)
            }
            (ProgressWish::Notes, ProgressTokenForm::Tool) => {
                fields.add(meta::PROGRESS_TOKEN, &format!("{TOOL_TOKEN}{id}"))
            }
        };
        added.map(|()| fields).map_err(Failure::unwritable)
    }

    /// Sends a request at once and lets its answer come off the caller's path: for what is said when
    /// something is dropped. Without a runtime the connection is gone, and the server with it.
    pub(crate) fn request_unawaited(
        self: &Arc<Self>,
        method: &str,
        params: &impl Serialize,
        extra_meta: &MetaFields,
    ) {
        let (Ok(runtime), Ok(params)) = (Handle::try_current(), Params::write(params)) else {
            return;
        };
        let whole = self.timeouts.request;
        let patience = Patience::While(TimeLeft::new(self, whole, whole, None));
        let begun = self.begin(method, &params, extra_meta, ProgressWish::None, patience);
        if let Ok(mut pending) = begun {
            runtime.spawn(async move { pending.answered().await });
        }
    }
}

impl PendingRequest {
    /// Lets the answer come in a task, whether or not this is polled.
    pub(crate) fn unattended(mut self) -> Self {
        if let Some(post) = self.post.take() {
            post.start();
        }
        self
    }

    /// The id of the request.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer.
    pub(crate) async fn answered(&mut self) -> Result<Payload, Failure> {
        if !self.open {
            return Err(Failure::Protocol("the answer was taken before".to_owned()));
        }
        poll_fn(|context| self.poll_answered(context, drop)).await
    }

    /// Polls for the answer, which comes once, and passes on the progress that came before it
    /// (fault 48).
    pub(crate) fn poll_answered(
        &mut self,
        context: &mut Context<'_>,
        on_progress: impl FnMut(ProgressParams),
    ) -> Poll<Answer> {
        if let Some(post) = &mut self.post
            && Pin::new(post).poll(context).is_ready()
        {
            self.post = None;
        }
        let answer = Pin::new(&mut self.answer).poll(context);
        if let Some(queue) = &self.progress {
            queue.take(context).into_iter().for_each(on_progress);
        }
        let answer = ready!(answer);
        self.open = false;
        if let Some(post) = self.post.take() {
            // The answer came elsewhere. The delivery goes on to its end in a task, so that its
            // connection can be used again.
            post.start();
        }
        // Every call that leaves the table is answered, so a lost channel means the table is gone.
        let lost = || Err(Failure::OutcomeUnknown(CloseReason::ClosedHere));
        Poll::Ready(answer.unwrap_or_else(|_| lost()))
    }
}

impl fmt::Debug for PendingRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PendingRequest")
            .field("id", &self.id)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if self.open {
            let reason = "cancelled by the caller";
            self.link.give_up(self.id, Ending::Cancelled, reason);
        }
    }
}
