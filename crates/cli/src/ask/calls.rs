//! Whether a call may be made, put to the person at the terminal.
//!
//! Asked only where the configuration says to ask. The question shows the arguments, because they
//! are what is consented to; saying no is what anything but a clear yes means.

use attache::host::config::ServerName;
use attache::host::policy::{Remember, Scope};
use attache::host::questions::{Answer, Approval};

use super::{Dialogue, Lines, NoAnswer};
use crate::output::{Style, Text, human};

/// What anything but a clear yes means.
pub(super) const DENIED: Answer = Answer::Deny {
    remember: Remember::Once,
    scope: Scope::Tool,
};

const fn allowed(remember: Remember) -> Answer {
    let scope = Scope::Tool;
    Answer::Allow { remember, scope }
}

impl Dialogue {
    pub(super) async fn ask_for_call(
        &self,
        server: &ServerName,
        call: &Approval,
        lines: &mut Lines,
    ) -> Result<Answer, NoAnswer> {
        self.output.aside_text(&describe(server, call));
        loop {
            let mut text = Text::new();
            text.plain("call it?")
                .faint(" [y]es once, [a]lways for this tool, [n]o: ");
            self.output.aside_text(&text);
            match self.line(lines).await?.to_lowercase().as_str() {
                "y" | "yes" | "o" | "once" => return Ok(allowed(Remember::Once)),
                "a" | "always" => return Ok(allowed(Remember::Always)),
                "n" | "no" => return Ok(DENIED),
                _ => self.complain("answer y, a or n"),
            }
        }
    }
}

fn describe(server: &ServerName, call: &Approval) -> Text {
    let mut text = Text::new();
    text.add(Style::Name, &format!("{server}/{}", call.tool))
        .plain(&format!(": {}", call.because))
        .end_line();
    let words = [&call.title, &call.description];
    for line in words.into_iter().flatten().flat_map(|words| words.lines()) {
        // Indented, so that no text of the server can pose as the arguments.
        text.plain("  ").faint(line).end_line();
    }
    text.plain("arguments:").end_line();
    text.append(human::json(&call.arguments));
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{question, terminal};
    use super::*;
    use crate::output::Colour;
    use attache::host::questions::QuestionKind;
    use attache::protocol::Json;

    fn call() -> Approval {
        Approval {
            tool: "delete".to_owned(),
            title: None,
            description: Some("Deletes.\nFor good.".to_owned()),
            arguments: Json::parse(r#"{"id":7}"#).unwrap(),
            because: "the server's policy says to ask first, by \"del*\"".to_owned(),
        }
    }

    #[test]
    fn the_question_shows_the_rule_and_the_arguments() {
        let server = "notes".parse().unwrap();
        insta::assert_snapshot!(describe(&server, &call()).render(Colour::Off), @r#"
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
        let once = allowed(Remember::Once);
        let always = allowed(Remember::Always);
        for (typed, expected) in [
            (&["y"][..], &once),
            (&["", "maybe", "once"], &once),
            (&["A"], &always),
            (&["n"], &DENIED),
            (&["/decline"], &DENIED),
            (&[], &DENIED),
        ] {
            let question = question(QuestionKind::Approval(Box::new(call())));
            assert_eq!(terminal(typed).answer(&question).await, *expected);
        }
    }
}
