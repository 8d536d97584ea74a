//! Questions of servers during a conversation: the person answers those to a person, the model
//! those to a model, if the person lets it.

use std::sync::Arc;

use attache::host::config::ServerName;
use attache::host::questions::{Answering, Questions};
use attache::protocol::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult};
use attache::{ElicitationModes, Refusal, SamplingTools};
use attache_chat::Sampler;

use crate::ask::TerminalQuestions;
use crate::output::Output;

/// Answers servers.
#[derive(Clone)]
pub(super) struct ChatQuestions {
    pub(super) asker: TerminalQuestions,
    /// The model that is lent, and its name.
    pub(super) sampler: Option<(Arc<Sampler>, String)>,
    pub(super) output: Output,
}

impl Questions for ChatQuestions {
    fn elicitation(&self) -> Option<ElicitationModes> {
        self.asker.elicitation()
    }

    fn elicit(&self, server: ServerName, question: ElicitParams) -> Answering<ElicitResult> {
        self.asker.elicit(server, question)
    }

    fn sampling(&self) -> Option<SamplingTools> {
        self.sampler.as_ref().map(|_| SamplingTools::Refused)
    }

    fn sample(
        &self,
        server: ServerName,
        request: CreateMessageParams,
    ) -> Answering<Result<CreateMessageResult, Refusal>> {
        let questions = self.clone();
        Box::pin(async move { questions.lend(server.as_str(), &request).await })
    }
}

impl ChatQuestions {
    async fn lend(
        &self,
        server: &str,
        request: &CreateMessageParams,
    ) -> Result<CreateMessageResult, Refusal> {
        let Some((sampler, model)) = &self.sampler else {
            return Err(Refusal::new("no model is available here"));
        };
        // What cannot be answered need not be asked about.
        sampler.check(server, request).map_err(Refusal::new)?;
        if !self.asker.lends_model(server, model, request).await {
            return Err(Refusal::new("the user declined"));
        }
        let answer = sampler.sample(server, request).await;
        let answer = answer.map_err(Refusal::new)?;
        let text = answer.content.iter().map(|block| block.summary());
        let text: Vec<_> = text.collect();
        self.output.note(&format!("{server} was told: {}", text.join(" ")));
        Ok(answer)
    }
}
