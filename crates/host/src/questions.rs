//! What servers may ask the face: one trait, given to every connection.
//!
//! Owns the trait only. Which questions are declared to a server follows from what the face says it
//! can answer, because a server must not be told of a user who is not there (C-ELIC-01).

use std::future::Future;
use std::pin::Pin;

use attache_client::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Root,
};
use attache_client::{ElicitationModes, Refusal, SamplingTools};

use crate::config::ServerName;

/// An answer that takes its time.
pub type Answering<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Answers the questions of servers. Every method has a default that says "nobody is here".
pub trait Questions: Send + Sync + 'static {
    /// Which forms of questions to the user can be answered; none if nobody can be asked.
    fn elicitation(&self) -> Option<ElicitationModes> {
        None
    }

    /// Asks the user. Called only if [`elicitation`](Self::elicitation) promised it.
    fn elicit(&self, server: ServerName, question: ElicitParams) -> Answering<ElicitResult> {
        let _ = (server, question);
        Box::pin(async { ElicitResult::decline() })
    }

    /// Whether a model can be asked, and with which tools.
    fn sampling(&self) -> Option<SamplingTools> {
        None
    }

    /// Asks a model. Called only if [`sampling`](Self::sampling) promised it.
    fn sample(
        &self,
        server: ServerName,
        request: CreateMessageParams,
    ) -> Answering<Result<CreateMessageResult, Refusal>> {
        let _ = (server, request);
        Box::pin(async { Err(Refusal::new("no model is available here")) })
    }

    /// The folders a server may work in; none if roots are not offered at all.
    fn roots(&self, server: &ServerName) -> Option<Vec<Root>> {
        let _ = server;
        None
    }
}

/// A face without anybody to ask.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyToAsk;

impl Questions for NobodyToAsk {}
