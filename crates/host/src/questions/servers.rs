//! The questions of one server, as the handlers of its connections.
//!
//! Declares what the host says may be asked, and nothing else. The same handlers serve both eras.

use attache_client::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitMode, ElicitParams, ElicitResult, Root,
};
use attache_client::{Refusal, Server};

use super::{Answer, Askable, QuestionKind, Questions};
use crate::config::ServerName;

/// What a server may ask, and the queue it is asked in.
#[derive(Clone)]
pub(crate) struct ServerQuestions {
    pub(crate) server: ServerName,
    pub(crate) askable: Askable,
    pub(crate) queue: Questions,
}

impl ServerQuestions {
    /// A server whose questions reach the queue.
    pub(crate) fn put_on(&self, mut server: Server) -> Server {
        if let Some(modes) = self.askable.elicitation {
            let asker = self.clone();
            server = server.on_elicitation(modes, move |question| asker.clone().elicit(question));
        }
        if let Some(tools) = self.askable.sampling {
            let asker = self.clone();
            server = server.on_sampling(tools, move |request| asker.clone().sample(request));
        }
        if self.askable.roots {
            let asker = self.clone();
            server = server.on_roots(move || asker.clone().roots());
        }
        server
    }

    async fn elicit(self, params: ElicitParams) -> ElicitResult {
        let kind = match params.mode() {
            ElicitMode::Url => QuestionKind::ElicitUrl(Box::new(params)),
            _ => QuestionKind::ElicitForm(Box::new(params)),
        };
        match self.queue.ask(None, &self.server, kind).await {
            Some(Answer::Accept { content: None }) => ElicitResult::accept_url(),
            Some(Answer::Accept {
                content: Some(content),
            }) => ElicitResult::accept(content),
            Some(Answer::Decline) => ElicitResult::decline(),
            // Who is not there has not said no (C-ELIC-08).
            _ => ElicitResult::cancel(),
        }
    }

    async fn sample(self, params: CreateMessageParams) -> Result<CreateMessageResult, Refusal> {
        let kind = QuestionKind::Sampling(Box::new(params));
        match self.queue.ask(None, &self.server, kind).await {
            Some(Answer::Message(message)) => Ok(*message),
            answer => Err(refusal(answer)),
        }
    }

    async fn roots(self) -> Result<Vec<Root>, Refusal> {
        match self.queue.roots(&self.server).await {
            Some(Answer::Roots(roots)) => Ok(roots),
            answer => Err(refusal(answer)),
        }
    }
}

fn refusal(answer: Option<Answer>) -> Refusal {
    match answer {
        Some(Answer::Refuse { reason }) => Refusal::new(reason),
        _ => Refusal::new("nobody is here to answer"),
    }
}
