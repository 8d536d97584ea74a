//! Questions that wait for an answer, over the API: the first answer wins.

use std::sync::Arc;

use attache::host::call_log::Action;
use attache::host::questions::{Answer, AnswerKind, Question, QuestionKind};
use attache::protocol::{Json, safe_text};
use attache_view::indented;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::pins::{self, PinView};
use crate::tools::{claims, known_tool};

#[derive(Serialize)]
struct AllQuestions<'a> {
    questions: Vec<&'a Question>,
}

/// A question with what helps to answer it.
#[derive(Serialize)]
struct QuestionView<'a> {
    question: &'a Question,
    /// The arguments of the call in question, in lines, exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_pretty: Option<String>,
    /// What the tool claims about itself.
    claims: Vec<&'static str>,
    /// How the tool stands to what was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<PinView>,
}

/// An answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GiveAnswer {
    /// `{"allow":{…}}`, `{"deny":{…}}`, `{"accept":{…}}`, `"decline"`, `"cancel"`,
    /// `{"message":{…}}` or `{"refuse":{…}}`.
    #[schemars(with = "serde_json::Value")]
    answer: Answer,
}

/// What is written down of an answer.
#[derive(Serialize)]
struct Noted {
    answer: AnswerKind,
}

pub(crate) async fn list(console: Arc<Console>, _: Asked) -> Result<Response, ApiError> {
    let open = console.host.questions().open();
    Ok(ok(&AllQuestions {
        questions: open.iter().map(|it| &**it).collect(),
    }))
}

pub(crate) async fn show(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let question = find(&console, asked.number("question")?)?;
    let (tool, arguments) = match &question.kind {
        QuestionKind::Approval(approval) => {
            (Some(approval.tool.as_str()), Some(&approval.arguments))
        }
        QuestionKind::Drift(drift) => (Some(drift.name.tool.as_str()), None),
        _ => (None, None),
    };
    let tool = match tool {
        Some(tool) => known_tool(&console, &question.server, tool).await,
        None => None,
    };
    let server = question.server.as_str();
    Ok(ok(&QuestionView {
        arguments_pretty: arguments.map(|it| indented(&safe_text::json(it.as_str()))),
        claims: tool.as_ref().map(claims).unwrap_or_default(),
        pin: tool.and_then(|tool| pins::view(&console.host, server, &tool)),
        question: &question,
    }))
}

pub(crate) async fn answer(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let id = asked.number("question")?;
    let GiveAnswer { answer } = asked.body()?;
    if let Answer::Roots(_) = answer {
        // A page cannot open folders of this machine to a server (S2).
        return Err(ApiError::console(
            StatusCode::FORBIDDEN,
            "forbidden",
            "folders cannot be named here",
        )
        .hint("refuse the question, or name the folders in the configuration of the server"));
    }
    let server = find(&console, id).ok().map(|it| it.server.clone());
    let kind = Json::from_serialize(&Noted {
        answer: answer.kind(),
    })
    .unwrap_or_default();
    console.host.questions().answer(id, answer)?;
    // What was typed into a form is not written down.
    let server = server.as_ref().map(|it| it.as_str());
    let what = format!("question {id}");
    console
        .host
        .note_action(Action::Answer, server, &what, kind);
    Ok(ok(&serde_json::Map::new()))
}

/// The open question of that number.
pub(crate) fn find(console: &Console, id: u64) -> Result<Arc<Question>, ApiError> {
    let open = console.host.questions().open();
    open.into_iter()
        .find(|it| it.id == id)
        .ok_or_else(|| ApiError::not_found(&format!("question {id} does not wait for an answer")))
}
