//! The modern era over HTTP: each POST stands for itself, and closing its response cancels it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use attache_protocol::{Era, ErrorObject, Message, RequestId, codes};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::value::RawValue;

use crate::service::{Answer, AnswerFuture, Outlet, Request, Service, Work};

use super::answers::{self, busy, empty, events, refuse};
use super::events::{EventIds, EventLog};
use super::guard::prefers_stream;
use super::headers::{self, Claimed};
use super::{Face, Passed};

impl<S: Service> Passed<'_, S> {
    pub(super) async fn modern(&self, message: Message<'_>, claimed: &Claimed) -> Response {
        match message {
            Message::Request { id, method, params } => {
                self.modern_request(id, &method, params, claimed).await
            }
            // There is nothing a modern client tells a server over HTTP: cancelling is closing.
            Message::Notification { .. } => empty(StatusCode::ACCEPTED),
            Message::Response { .. } => {
                let message = "a modern server asks nothing, so there is nothing to answer";
                let error = ErrorObject::new(codes::INVALID_REQUEST, message);
                refuse(StatusCode::BAD_REQUEST, &error, None)
            }
        }
    }

    async fn modern_request(
        &self,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
        claimed: &Claimed,
    ) -> Response {
        let service = &self.face.service;
        let mirrored = |tool: &str| service.mirrored_arguments(tool);
        if let Err(error) = headers::check(self.headers, claimed, method, params, mirrored) {
            return refuse(StatusCode::BAD_REQUEST, &error, Some(&id));
        }
        let log = Arc::new(EventLog::new(0, &self.face.settings, &self.face.kept));
        let outlet: Arc<dyn Outlet> = Arc::clone(&log) as Arc<dyn Outlet>;
        let session = service.open(self.principal.clone(), Arc::clone(&outlet));
        let request = Request {
            id: id.clone(),
            method,
            params,
            era: Some(Era::Modern),
        };
        let stream_wanted = prefers_stream(self.headers);
        let mut future = match service.request(&session, request, &outlet) {
            // The status of an error is part of it, so it is never a stream.
            Work::Done(answer) if answer.error_code.is_some() || !stream_wanted => {
                return answers::modern(answer);
            }
            Work::Done(answer) => done(Some(answer)),
            Work::Open(future) => future,
            Work::Later(future) => match admit(self.face, future) {
                Ok(future) => future,
                Err(Busy) => return busy(Some(&id)),
            },
        };
        // The answer alone is JSON; with anything before it, it is a stream. If the client goes
        // away, this future or the body is dropped, and the work with it (S-SHM-28).
        let first = poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(answer) => {
                let is_error = answer.as_ref().is_none_or(|it| it.error_code.is_some());
                if log.is_untouched() && (is_error || !stream_wanted) {
                    return Poll::Ready(Some(answer));
                }
                log.finish(answer);
                Poll::Ready(None)
            }
            // A handler may leave telling of progress to others, whose news must not wait for it.
            Poll::Pending => log.poll_touched(context).map(|()| None),
        })
        .await;
        match first {
            Some(Some(answer)) => answers::modern(answer),
            Some(None) => empty(StatusCode::NO_CONTENT),
            None => {
                let body = self.body(log.read_from(0), EventIds::Omitted);
                let body = if log.is_finished() {
                    body
                } else {
                    body.driving(future)
                };
                events(body.into_body())
            }
        }
    }
}

/// As many requests run and wait as may.
pub(super) struct Busy;

/// Lets a handler run now, or wait for its turn if not too many do.
pub(super) fn admit<S: Service>(
    face: &Arc<Face<S>>,
    future: AnswerFuture,
) -> Result<AnswerFuture, Busy> {
    let mut future = future;
    if let Ok(permit) = Arc::clone(&face.slots).try_acquire_owned() {
        // Most handlers end with their first poll, and need no wrapper to hold the permit.
        return Ok(
            match future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
            {
                Poll::Ready(answer) => done(answer),
                Poll::Pending => Box::pin(async move {
                    let _permit = permit;
                    future.await
                }),
            },
        );
    }
    let limit = face.settings.limits.max_waiting;
    if face.waiting.fetch_add(1, Ordering::Relaxed) >= limit {
        face.waiting.fetch_sub(1, Ordering::Relaxed);
        return Err(Busy);
    }
    let turn = Turn(Arc::clone(face));
    let slots = Arc::clone(&face.slots);
    Ok(Box::pin(async move {
        let _permit = slots.acquire_owned().await;
        drop(turn);
        future.await
    }))
}

fn done(answer: Option<Answer>) -> AnswerFuture {
    Box::pin(std::future::ready(answer))
}

/// A request that waits for its turn, and waits no more when this is dropped.
struct Turn<S: Service>(Arc<Face<S>>);

impl<S: Service> Drop for Turn<S> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
