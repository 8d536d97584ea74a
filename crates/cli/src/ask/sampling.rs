//! A server's wish for a model's words, put to the person at the terminal.
//!
//! There is no model here: the person sees the whole conversation, and answers in its place or
//! says no. Nothing is sent without having been seen (X-SAMP-05).

use attache::host::questions::Answer;
use attache::protocol::{Content, CreateMessageParams, CreateMessageResult};

use super::{CANCEL, DECLINE, Dialogue, Lines, NoAnswer};
use crate::output::{Style, Text, human};

/// What an answer says it comes from: no model.
const MODEL: &str = "person-at-terminal";

impl Dialogue {
    /// Shows what a server wants a model to answer, and asks whether it may have that.
    #[cfg(feature = "chat")]
    pub(super) async fn lends_model(
        &self,
        model: &str,
        request: &CreateMessageParams,
        lines: &mut Lines,
    ) -> bool {
        let mut text = self.conversation(request);
        let most = format!("at most {} tokens", request.max_tokens);
        text.faint(&most).end_line();
        self.output.aside_text(&text);
        let question = format!("let {model} answer this for {}?", self.server);
        self.consent(&question, lines).await.is_ok()
    }

    pub(super) async fn ask_for_model(
        &self,
        request: &CreateMessageParams,
        lines: &mut Lines,
    ) -> Answer {
        let mut text = self.conversation(request);
        let rules = format!(
            "there is no model here: answer in its place, in one line and at most {} tokens; \
             {DECLINE} says no, {CANCEL} leaves",
            request.max_tokens
        );
        text.faint(&rules).end_line();
        self.output.aside_text(&text);
        let refused = |reason: &str| Answer::Refuse {
            reason: reason.to_owned(),
        };
        match self.model_answer(lines).await {
            Ok(answer) => {
                let message = CreateMessageResult::new(MODEL, Content::text(answer));
                Answer::Message(Box::new(message))
            }
            Err(NoAnswer::Declined) => refused("the user declined"),
            Err(NoAnswer::Cancelled) => refused("the user left the question"),
        }
    }

    async fn model_answer(&self, lines: &mut Lines) -> Result<String, NoAnswer> {
        let mut text = Text::new();
        text.add(Style::Name, "answer: ");
        self.output.aside_text(&text);
        let answer = self.line(lines).await?;
        self.consent(&format!("send this to {}?", self.server), lines)
            .await?;
        Ok(answer)
    }

    fn conversation(&self, request: &CreateMessageParams) -> Text {
        let mut text = self.heading("wants a model to go on with this");
        if let Some(system) = &request.system_prompt {
            text.add(Style::Name, "system").plain(":").end_line();
            text.block(Style::Plain, system);
        }
        for message in &request.messages {
            text.add(Style::Name, &message.role).plain(":").end_line();
            text.append(human::contents(&message.content));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{question, terminal};
    use super::*;
    use attache::host::questions::QuestionKind;

    async fn answer(typed: &[&str]) -> Answer {
        let request = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],
            "maxTokens":9}"#;
        let request = serde_json::from_str(request).unwrap();
        let question = question(QuestionKind::Sampling(request));
        terminal(typed).answer(&question).await
    }

    #[tokio::test]
    async fn a_person_answers_for_a_model_or_says_no() {
        let given = answer(&["hello", "y"]).await;
        assert_eq!(
            serde_json::to_string(&given).unwrap(),
            r#"{"message":{"role":"assistant","content":{"type":"text","text":"hello"},"model":"person-at-terminal"}}"#
        );
        for typed in [&["/decline"][..], &["hello", "n"], &["/cancel"], &[]] {
            let refused = answer(typed).await;
            assert!(matches!(refused, Answer::Refuse { .. }), "{typed:?}");
        }
    }
}
