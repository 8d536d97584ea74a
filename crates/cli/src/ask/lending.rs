//! A conversation's model, lent to a server that asks for one, if the person lets it.

use std::sync::Arc;

use attache::host::questions::Answer;
use attache::protocol::CreateMessageParams;
use attache_chat::Sampler;

use super::TerminalQuestions;

/// A model and what servers may have of it.
#[derive(Clone)]
pub(crate) struct LentModel {
    pub(crate) sampler: Arc<Sampler>,
    pub(crate) name: String,
}

/// Answers for a server with the model, after the person has seen what it wants.
pub(super) async fn answer(
    model: Option<&LentModel>,
    server: &str,
    request: &CreateMessageParams,
    terminal: &TerminalQuestions,
) -> Answer {
    let refuse = |reason: &str| Answer::Refuse {
        reason: reason.to_owned(),
    };
    let Some(LentModel { sampler, name }) = model else {
        return refuse("no model is available here");
    };
    // What cannot be answered need not be asked about.
    if let Err(problem) = sampler.check(server, request) {
        terminal
            .output
            .note(&format!("{server} wanted the model: {problem}"));
        return refuse(&problem);
    }
    {
        let mut lines = terminal.lines.lock().await;
        let dialogue = terminal.begin(server, &mut lines);
        if !dialogue.lends_model(name, request, &mut lines).await {
            return refuse("the user declined");
        }
    }
    match sampler.sample(server, request).await {
        Ok(message) => {
            let text: Vec<_> = message
                .content
                .iter()
                .map(|block| block.summary())
                .collect();
            let note = format!("{server} was told: {}", text.join(" "));
            terminal.output.note(&note);
            Answer::Message(Box::new(message))
        }
        Err(problem) => refuse(&problem),
    }
}
