//! A handler at work: who drives it, and the ways it can end.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use attache_protocol::{ErrorObject, InputRequired, codes};

use crate::asking::Asking;
use crate::context::Call;
use crate::service::{Answer, Work};

use super::encode;

/// Begins to drive `work`. It ends with its answer, with a question to the client, with `-32603`
/// if the handler panics, or silently if the client cancels.
pub(super) fn drive(
    call: Arc<Call>,
    digest: impl FnOnce() -> String + Send + 'static,
    work: impl Future<Output = Answer> + Send + 'static,
) -> Work {
    match Registered::new(call) {
        Ok(enrolled) => Work::Later(Box::pin(run(enrolled, digest, work))),
        Err(refusal) => Work::Done(refusal),
    }
}

/// Begins to wait for something that happens elsewhere.
pub(super) fn wait(call: Arc<Call>, work: impl Future<Output = Answer> + Send + 'static) -> Work {
    match drive(call, String::new, work) {
        Work::Later(future) => Work::Open(future),
        other => other,
    }
}

async fn run(
    enrolled: Registered,
    digest: impl FnOnce() -> String,
    work: impl Future<Output = Answer>,
) -> Option<Answer> {
    let call = &enrolled.call;
    let mut work = pin!(work);
    let mut digest = Some(digest);
    poll_fn(|context| {
        if call.is_cancelled() {
            return Poll::Ready(None);
        }
        // The future is dropped without another poll after a panic.
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        match polled {
            Err(_) => Poll::Ready(Some(Answer::error(&call.id, &panicked(call)))),
            Ok(Poll::Ready(answer)) => Poll::Ready(Some(answer)),
            Ok(Poll::Pending) => {
                if let Some(answer) = ask(call, &mut digest) {
                    return Poll::Ready(Some(answer));
                }
                call.lock().driver = Some(context.waker().clone());
                // A cancellation from before the waker was there is seen here.
                if call.is_cancelled() {
                    return Poll::Ready(None);
                }
                Poll::Pending
            }
        }
    })
    .await
}

/// A handler's future that cannot take anything down with it: a panic is one way of ending.
pub(super) async fn contain<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut work = pin!(work);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Ok),
            // The future is dropped without another poll.
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    })
    .await
}

/// The handler panicked.
pub(super) struct Panicked;

/// The end of a round, if the handler waits for answers.
pub(super) fn ask<D: FnOnce() -> String>(call: &Call, digest: &mut Option<D>) -> Option<Answer> {
    let Asking::Rounds(rounds) = &call.asking else {
        return None;
    };
    let input_requests = rounds.take_open()?;
    let digest = digest.take();
    let digest = || digest.map(|it| it()).unwrap_or_default();
    Some(
        match rounds.seal(&call.kernel, &call.session.principal, digest) {
            Err(error) => Answer::error(&call.id, &error),
            Ok(state) => {
                let result = InputRequired {
                    input_requests,
                    request_state: Some(state),
                    ..InputRequired::default()
                };
                encode::modern(&call.kernel, &call.id, "input_required", None, result)
            }
        },
    )
}

pub(super) fn panicked(call: &Call) -> ErrorObject {
    ErrorObject::new(
        codes::INTERNAL_ERROR,
        format!("the handler of request {} panicked", call.id),
    )
}

/// A call that can be cancelled until it has ended, which it has when this is dropped.
pub(super) struct Registered {
    call: Arc<Call>,
    goes_on: bool,
}

impl Registered {
    /// Lists the call; the refusal says that another one of the same id runs (X-BASE-04).
    pub(super) fn new(call: Arc<Call>) -> Result<Self, Answer> {
        if call.session.enrol(&call).is_ok() {
            return Ok(Self {
                call,
                goes_on: false,
            });
        }
        let message = format!("a request with the id {} is running already", call.id);
        let error = ErrorObject::new(codes::INVALID_REQUEST, message);
        Err(Answer::error(&call.id, &error))
    }
}

impl Registered {
    /// The request has ended, the call goes on.
    pub(super) fn release(mut self) {
        self.goes_on = true;
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.call.session.dismiss(&self.call);
        if !self.goes_on {
            self.call.end();
        }
    }
}
