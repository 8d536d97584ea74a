//! Whether a call may be made, put to the person at the terminal.
//!
//! Asked only where the configuration says to ask. The question shows the arguments, because they
//! are what is consented to; saying no is what anything but a clear yes means.

use attache::host::policy::{Answer, Asking, Consent, Question, Remember};
use attache::protocol::Json;

use super::{Dialogue, Lines, NoAnswer, TerminalQuestions};
use crate::output::{Style, Text, human};

impl Consent for TerminalQuestions {
    fn ask(&self, question: Question) -> Asking<'_> {
        Box::pin(async move {
            let mut lines = self.lines.lock().await;
            let dialogue = self.begin("attache", &mut lines);
            let answer = dialogue.ask_for_call(&question, &mut lines).await;
            answer.unwrap_or(Answer::Deny(Remember::Once))
        })
    }
}

/// The user has said yes on the command line.
pub(crate) struct GivenBeforehand;

impl Consent for GivenBeforehand {
    fn ask(&self, _question: Question) -> Asking<'_> {
        Box::pin(std::future::ready(Answer::Allow(Remember::Once)))
    }
}

impl Dialogue {
    async fn ask_for_call(
        &self,
        question: &Question,
        lines: &mut Lines,
    ) -> Result<Answer, NoAnswer> {
        self.output.aside_text(&describe(question));
        loop {
            let mut text = Text::new();
            text.plain("call it?")
                .faint(" [y]es once, [a]lways for this tool, [n]o: ");
            self.output.aside_text(&text);
            match self.line(lines).await?.to_lowercase().as_str() {
                "y" | "yes" | "o" | "once" => return Ok(Answer::Allow(Remember::Once)),
                "a" | "always" => return Ok(Answer::Allow(Remember::Always)),
                "n" | "no" => return Ok(Answer::Deny(Remember::Once)),
                _ => self.complain("answer y, a or n"),
            }
        }
    }
}

fn describe(question: &Question) -> Text {
    let mut text = Text::new();
    text.add(Style::Name, &question.name.to_string())
        .plain(&format!(": {}", question.verdict))
        .end_line();
    let words = [&question.title, &question.description];
    for line in words.into_iter().flatten().flat_map(|words| words.lines()) {
        // Indented, so that no text of the server can pose as the arguments.
        text.plain("  ").faint(line).end_line();
    }
    text.plain("arguments:").end_line();
    match Json::parse(&question.arguments) {
        Ok(arguments) => text.append(human::json(&arguments)),
        Err(_) => text.plain(&question.arguments).end_line(),
    };
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use attache::host::config::Decision;
    use attache::host::names::ToolName;
    use attache::host::policy::{Reason, Verdict};
    use tokio::sync::Mutex;

    use super::*;
    use crate::output::{Colour, Format, Output, Verbosity};

    fn question() -> Question {
        Question {
            name: ToolName::new("notes".parse().unwrap(), "delete"),
            title: None,
            description: Some("Deletes.\nFor good.".to_owned()),
            arguments: r#"{"id":7}"#.to_owned(),
            verdict: Verdict {
                decision: Decision::Ask,
                reason: Reason::Pattern {
                    pattern: "del*".into(),
                    of: attache::host::policy::Breadth::Server,
                },
            },
        }
    }

    #[test]
    fn the_question_shows_the_rule_and_the_arguments() {
        insta::assert_snapshot!(describe(&question()).render(Colour::Off), @r#"
        notes/delete: the server's policy says to ask first, by "del*"
          Deletes.
          For good.
        arguments:
        {
          "id": 7
        }
        "#);
    }

    #[tokio::test]
    async fn anything_but_a_clear_yes_is_no() {
        let once = Answer::Allow(Remember::Once);
        let always = Answer::Allow(Remember::Always);
        let no = Answer::Deny(Remember::Once);
        for (typed, expected) in [
            (&["y"][..], once),
            (&["", "maybe", "once"], once),
            (&["A"], always),
            (&["n"], no),
            (&["/decline"], no),
            (&[], no),
        ] {
            let typed = typed.iter().map(|line| (*line).to_owned()).collect();
            let asker = TerminalQuestions {
                output: Output::new(Format::Human, Verbosity::Normal),
                lines: Arc::new(Mutex::new(Lines::Scripted(typed))),
            };
            assert_eq!(Consent::ask(&asker, question()).await, expected);
        }
    }
}
