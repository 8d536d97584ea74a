//! The seam between faces and what they serve.
//!
//! A face (a byte stream, an HTTP listener) knows how messages travel; a [`Service`] knows what
//! they mean. Neither knows the other's business, so one face serves servers built with this kit
//! and anything else that answers MCP.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use attache_protocol::{Era, Outcome, RequestId, Revision, codes, frame};
use serde_json::value::RawValue;

use crate::schema::MirroredArgument;

/// Who is asking, as far as a face knows. State that leaves the server is bound to it (S10).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The one who started this process, or reached it over loopback without a token.
    pub fn local() -> Self {
        Self::named("local")
    }

    /// Somebody a face has authenticated.
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One request as a face found it.
#[derive(Debug)]
pub struct Request<'a> {
    /// To be echoed exactly.
    pub id: RequestId,
    /// The method.
    pub method: &'a str,
    /// The raw params.
    pub params: Option<&'a RawValue>,
    /// The era, where the face knows it; otherwise the metadata of the request tells.
    pub era: Option<Era>,
}

/// The one response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The response as one line.
    pub frame: Vec<u8>,
    /// The code of the error, if it is one; HTTP derives its status from it.
    pub error_code: Option<i64>,
}

impl Answer {
    /// An error.
    pub fn error(id: &RequestId, error: &attache_protocol::ErrorObject) -> Self {
        Self {
            frame: frame::error(id, error).unwrap_or_default(),
            error_code: Some(error.code),
        }
    }

    /// A result. One that cannot be written becomes an error, so that the request is answered.
    pub fn result<R: serde::Serialize + ?Sized>(id: &RequestId, result: &R) -> Self {
        match frame::result(id, result) {
            Ok(frame) => Self {
                frame,
                error_code: None,
            },
            Err(error) => {
                let reason = format!("the result cannot be written: {error}");
                Self::error(
                    id,
                    &attache_protocol::ErrorObject::new(codes::INTERNAL_ERROR, reason),
                )
            }
        }
    }
}

/// The future of an answer; `None` is a request that was cancelled.
pub type AnswerFuture = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

/// What became of a request.
pub enum Work {
    /// It is answered.
    Done(Answer),
    /// It takes a handler. Dropping the future cancels it.
    Later(AnswerFuture),
    /// It only waits for something to happen elsewhere, and counts as no work. Dropping the future
    /// cancels it.
    Open(AnswerFuture),
}

impl fmt::Debug for Work {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(answer) => formatter.debug_tuple("Done").field(answer).finish(),
            Self::Later(_) => formatter.write_str("Later"),
            Self::Open(_) => formatter.write_str("Open"),
        }
    }
}

/// What kind of message goes through an [`Outlet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Progress or a log message: may be dropped when the peer does not read.
    Notice,
    /// A change that somebody subscribed to.
    Change,
    /// A request of the server, in the legacy era.
    Question,
}

/// A message was not accepted: the peer is gone, or does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undeliverable;

/// Where messages go that are no answer. Sending never waits.
pub trait Outlet: Send + Sync {
    /// Takes one message as a line.
    fn send(&self, frame: Vec<u8>, kind: Sent) -> Result<(), Undeliverable>;

    /// Asks the face to close the stream of this request, so that the client comes back for the
    /// rest (X-SHL-11). Faces that cannot do without the stream ignore it.
    fn interrupt(&self) {}

    /// Whether one request has this way to itself, its answer included. Then its id need not differ
    /// from those of other running requests (fault 72).
    fn serves_one_request(&self) -> bool {
        false
    }
}

/// What a face serves.
pub trait Service: Send + Sync + 'static {
    /// What is remembered of a connection, or of a legacy session.
    type Session: Send + Sync + 'static;

    /// Begins one. Messages that belong to no request go to `outlet`.
    fn open(&self, principal: Principal, outlet: Arc<dyn Outlet>) -> Arc<Self::Session>;

    /// Takes a request. What is sent while it runs goes to `outlet`; the answer comes as [`Work`].
    fn request(
        &self,
        session: &Arc<Self::Session>,
        request: Request<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Work;

    /// Takes a notification.
    fn notification(
        &self,
        session: &Arc<Self::Session>,
        method: &str,
        params: Option<&RawValue>,
    ) -> After;

    /// Takes an answer to a request of the server.
    fn response(&self, session: &Arc<Self::Session>, id: &RequestId, outcome: Outcome<'_>);

    /// The revisions that are spoken.
    fn supported(&self) -> &[Revision];

    /// The revision of a legacy session, once it is open.
    fn revision(&self, session: &Arc<Self::Session>) -> Option<Revision>;

    /// The client will say nothing more: it answers no questions and listens to nothing.
    fn input_ended(&self, session: &Arc<Self::Session>);

    /// Ends a connection or session: nothing is sent any more, what runs is cancelled.
    fn close(&self, session: &Arc<Self::Session>);

    /// The arguments of a tool that modern HTTP clients mirror into headers.
    fn mirrored_arguments(&self, tool: &str) -> Arc<[MirroredArgument]>;
}

/// What a face does after a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It goes on.
    GoOn,
    /// The client asked the server to leave (seeds row 2).
    Leave,
}
