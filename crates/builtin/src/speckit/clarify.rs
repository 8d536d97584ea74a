//! Asking about what a specification leaves open, and writing the answers into it.

use attache_server::protocol::{ElicitAction, ElicitParams, Json};
use attache_server::{Context, Failure};
use attache_speckit::markers;
use serde_json::{Map, Value, json};

/// The heading of all answers.
const HEADING: &str = "## Clarifications";
/// The longest answer, in characters.
const LONGEST_ANSWER: usize = 2000;

/// A question and what was answered.
pub(super) type Answered = (String, String);

/// What came of asking.
pub(super) enum Asked {
    /// Answers, perhaps not to all.
    Answers(Vec<Answered>),
    /// The person did not want to.
    Declined,
    /// The client cannot ask.
    Unasked,
}

/// Asks the person through the client, in one form.
pub(super) async fn ask(
    context: &Context,
    spec: &str,
    questions: &[String],
) -> Result<Asked, Failure> {
    let declared = context.client_capabilities().elicitation.as_ref();
    let features = context.revision().features();
    if !features.elicitation || declared.is_none_or(|it| !it.has_form()) {
        return Ok(Asked::Unasked);
    }
    let mut fields = Map::new();
    for (at, question) in questions.iter().enumerate() {
        let field = json!({
            "type": "string",
            "title": format!("Question {}", at + 1),
            "description": question,
            "maxLength": LONGEST_ANSWER,
        });
        fields.insert(name(at), field);
    }
    let schema = json!({"type": "object", "properties": Value::Object(fields)});
    let params = ElicitParams {
        message: format!("What does {spec} mean? An empty answer leaves a question open."),
        requested_schema: Some(Json::from(schema)),
        ..ElicitParams::default()
    };
    let result = context.elicit(params).await?;
    let content = match (result.action, result.content) {
        (ElicitAction::Accept, Some(content)) => content.decode::<Map<String, Value>>()?,
        (ElicitAction::Accept, None) => Map::new(),
        _ => return Ok(Asked::Declined),
    };
    let answers = questions.iter().enumerate().filter_map(|(at, question)| {
        let answer = content.get(&name(at))?.as_str()?;
        let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
        (!answer.is_empty()).then(|| (question.clone(), answer))
    });
    Ok(Asked::Answers(answers.collect()))
}

fn name(at: usize) -> String {
    format!("q{}", at + 1)
}

/// The specification with the answers in it: in place of the marks that asked, and under the
/// heading of the day.
pub(super) fn with_answers(text: &str, date: &str, answers: &[Answered]) -> String {
    let mut text = text.to_owned();
    for (question, answer) in answers {
        text = without_mark(&text, question, answer);
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let session = format!("### Session {date}");
    let items: Vec<String> = answers
        .iter()
        .map(|(question, answer)| format!("- Q: {question} \u{2192} A: {answer}"))
        .collect();
    let section = lines.iter().position(|it| it.trim() == HEADING);
    let mut block: Vec<&str> = Vec::new();
    let at = match section {
        Some(section) => {
            let rest = &lines[section + 1..];
            let end = rest.iter().position(|it| it.starts_with("## "));
            let end = end.map_or(lines.len(), |at| section + 1 + at);
            let today = lines[section..end]
                .iter()
                .position(|it| it.trim() == session);
            match today {
                Some(today) => {
                    // Behind the last answer of today.
                    let from = section + today + 1;
                    let others = &lines[from..end];
                    let next = others.iter().position(|it| it.starts_with("### "));
                    let next = next.map_or(end, |at| from + at);
                    last_filled(&lines, from, next)
                }
                None => {
                    block.extend(["", session.as_str(), ""]);
                    last_filled(&lines, section + 1, end)
                }
            }
        }
        None => {
            let first = lines.iter().position(|it| it.starts_with("## "));
            block.extend([HEADING, "", &session, ""]);
            first.unwrap_or(lines.len())
        }
    };
    block.extend(items.iter().map(String::as_str));
    if section.is_none() {
        block.push("");
    }
    lines.splice(at..at, block);
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The place behind the last line with something on it.
fn last_filled(lines: &[&str], from: usize, to: usize) -> usize {
    let filled = lines[from..to].iter().rposition(|it| !it.trim().is_empty());
    filled.map_or(from, |at| from + at + 1)
}

/// Replaces the mark of a question with its answer.
fn without_mark(text: &str, question: &str, answer: &str) -> String {
    let mut from = 0;
    while let Some(at) = text[from..].find("[NEEDS CLARIFICATION") {
        let begin = from + at;
        let Some(length) = text[begin..].find(']') else {
            break;
        };
        let end = begin + length + 1;
        if markers(&text[begin..end]).first().map(String::as_str) == Some(question) {
            return format!("{}{answer}{}", &text[..begin], &text[end..]);
        }
        from = end;
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(question: &str, answer: &str) -> Answered {
        (question.to_owned(), answer.to_owned())
    }

    #[test]
    fn answers_take_the_place_of_their_marks() {
        let text = "# F\n\nhead\n\n## Requirements\n\n- **FR-001**: MUST [NEEDS CLARIFICATION: how\n  \
                    fast?]\n";
        let once = with_answers(text, "2026-01-02", &[answered("how fast?", "in 2 s")]);
        assert_eq!(
            once,
            "# F\n\nhead\n\n## Clarifications\n\n### Session 2026-01-02\n\n- Q: how fast? \u{2192} \
             A: in 2 s\n\n## Requirements\n\n- **FR-001**: MUST in 2 s\n"
        );
        let twice = with_answers(&once, "2026-01-02", &[answered("who?", "readers")]);
        assert!(
            twice.contains("A: in 2 s\n- Q: who? \u{2192} A: readers\n\n## Requirements"),
            "{twice}"
        );
        let later = with_answers(&twice, "2026-01-03", &[answered("why?", "speed")]);
        assert!(
            later.contains("readers\n\n### Session 2026-01-03\n\n- Q: why?"),
            "{later}"
        );
    }
}
