//! A call that the background process makes for this one.

use std::sync::Arc;

use attache::host::questions::Question;
use attache::protocol::{Payload, ProgressParams};

use crate::failure::RemoteError;
use crate::inbox::Heard;
use crate::link::{Pending, result};

/// A call under way. Dropping it before its end cancels it, and its server is told.
#[derive(Debug)]
pub struct PendingCall {
    pub(crate) pending: Pending,
}

/// What happens with a call.
#[derive(Debug)]
pub enum CallUpdate {
    /// It has a number in the host, by which events speak of it.
    Numbered(u64),
    /// It made progress.
    Progress(ProgressParams),
    /// It waits for the answer to a question: see [`RemoteHost::answer`](crate::RemoteHost::answer).
    Question(Arc<Question>),
    /// A question does not wait any more: it was answered, here or elsewhere, or taken back.
    Closed(u64),
    /// It has ended; its result is as the server sent it. Nothing comes after this.
    Ended(Result<Payload, RemoteError>),
}

impl PendingCall {
    /// What happens next. Nothing is lost if this is dropped before it is done.
    pub async fn next(&mut self) -> CallUpdate {
        loop {
            let reply = match self.pending.next().await {
                Heard::Line(reply) | Heard::Missed(_, reply) => reply,
                Heard::End(reply) => return CallUpdate::Ended(result(reply).map(Into::into)),
                Heard::Lost => return CallUpdate::Ended(Err(RemoteError::Lost)),
            };
            if let Some(number) = reply.request {
                return CallUpdate::Numbered(number);
            }
            if let Some(Ok(note)) = reply.progress.map(|note| note.decode()) {
                return CallUpdate::Progress(note);
            }
            if let Some(question) = reply.question {
                return CallUpdate::Question(Arc::from(question));
            }
            if let Some(closed) = reply.closed {
                return CallUpdate::Closed(closed);
            }
        }
    }

    /// Waits for the result, whatever happens before.
    pub async fn result(mut self) -> Result<Payload, RemoteError> {
        loop {
            if let CallUpdate::Ended(ended) = self.next().await {
                return ended;
            }
        }
    }
}
