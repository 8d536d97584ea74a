//! What is asked of the user or a model, and the answers: one queue for all faces.
//!
//! Owns the shapes of questions and answers and which answer fits which question. The queue is in
//! `queue`, what connections are told of it in `servers`. All text of a question but the server's name comes from a server or a model: escape it
//! before it is drawn (S13).

mod queue;
mod servers;

use attache_client::protocol::{
    CreateMessageParams, CreateMessageResult, ElicitParams, Json, Root,
};
use attache_client::{ElicitationModes, SamplingTools};
use serde::{Deserialize, Serialize};

pub use queue::{Attached, MOST_QUESTIONS, Questions};
pub(crate) use queue::{CURRENT_REQUEST, Queue};
pub(crate) use servers::ServerQuestions;

use crate::config::ServerName;
use crate::policy::{Drift, Remember, Scope};

/// Something that waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    /// Its number in this host.
    pub id: u64,
    /// When it was asked, in milliseconds since 1970.
    pub since_ms: u64,
    /// The request it belongs to, if that is known. It may not have been sent yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    /// The server that asks, or that would be called.
    pub server: ServerName,
    /// Who may answer.
    pub who: Answerer,
    /// What is asked.
    pub kind: QuestionKind,
}

/// Who may answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answerer {
    /// A person only: it is about their consent, or about what only they know.
    Person,
    /// A model, or a person in its place.
    Model,
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionKind {
    /// Whether a call may be made.
    Approval(Box<Approval>),
    /// Whether a tool may be used although it is not what was approved (S4). Accepting it pins the
    /// tool as it is now.
    Drift(Box<Drift>),
    /// A server asks the user to fill in a form.
    ElicitForm(Box<ElicitParams>),
    /// A server asks the user to visit a page.
    ElicitUrl(Box<ElicitParams>),
    /// A server wants a model to go on with a conversation.
    Sampling(Box<CreateMessageParams>),
    /// A server asks which folders it may work in. The answer holds for the server until the host
    /// ends.
    Roots,
}

/// A call that waits for consent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The tool, by its own name.
    pub tool: String,
    /// What the server calls it for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the server says it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments of the call, which are what is consented to.
    pub arguments: Json,
    /// Why there is a question at all, as a clause.
    pub because: String,
}

/// The kind of a question, to say which kinds a face can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// [`QuestionKind::Approval`].
    Approval,
    /// [`QuestionKind::Drift`].
    Drift,
    /// [`QuestionKind::ElicitForm`].
    ElicitForm,
    /// [`QuestionKind::ElicitUrl`].
    ElicitUrl,
    /// [`QuestionKind::Sampling`].
    Sampling,
    /// [`QuestionKind::Roots`].
    Roots,
}

impl Topic {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Approval,
        Self::Drift,
        Self::ElicitForm,
        Self::ElicitUrl,
        Self::Sampling,
        Self::Roots,
    ];
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The call may be made. Answers [`QuestionKind::Approval`].
    Allow {
        /// For how long that holds.
        #[serde(default)]
        remember: Remember,
        /// For what it holds.
        #[serde(default)]
        scope: Scope,
    },
    /// The call may not be made. Answers [`QuestionKind::Approval`].
    Deny {
        /// For how long that holds.
        #[serde(default)]
        remember: Remember,
        /// For what it holds.
        #[serde(default)]
        scope: Scope,
    },
    /// Yes. Answers [`QuestionKind::ElicitForm`], with what the form holds,
    /// [`QuestionKind::ElicitUrl`] and [`QuestionKind::Drift`].
    Accept {
        /// What was filled in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Json>,
    },
    /// No. Answers the same questions as `Accept`.
    Decline,
    /// The user went away without a decision. Answers the same questions as `Accept`.
    Cancel,
    /// What the model said. Answers [`QuestionKind::Sampling`].
    Message(Box<CreateMessageResult>),
    /// The folders. Answers [`QuestionKind::Roots`].
    Roots(Vec<Root>),
    /// No, and why, in words for the server. Answers [`QuestionKind::Sampling`] and
    /// [`QuestionKind::Roots`].
    Refuse {
        /// Why.
        reason: String,
    },
}

/// What an answer was, without what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// [`Answer::Allow`].
    Allowed,
    /// [`Answer::Deny`].
    Denied,
    /// [`Answer::Accept`].
    Accepted,
    /// [`Answer::Decline`].
    Declined,
    /// [`Answer::Cancel`].
    Cancelled,
    /// [`Answer::Message`].
    Message,
    /// [`Answer::Roots`].
    Roots,
    /// [`Answer::Refuse`].
    Refused,
}

/// Why an answer was not taken. The question stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There never was such a question.
    #[error("there is no question {0}")]
    Unknown(u64),
    /// Another face was first, or the question was withdrawn.
    #[error("question {0} is closed: it was answered or withdrawn before")]
    Closed(u64),
    /// It is no answer to this question.
    #[error("the answer does not fit question {id}: {problem}")]
    Misfit {
        /// The question.
        id: u64,
        /// Why not.
        problem: String,
    },
}

/// What servers are told that they may ask, when a connection to them begins. A server must not be
/// told of a user who is not there (C-ELIC-01), so nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Askable {
    /// Which forms of questions to the user.
    pub elicitation: Option<ElicitationModes>,
    /// Whether a model can be asked, and with which tools.
    pub sampling: Option<SamplingTools>,
    /// Whether the user can be asked for folders.
    pub roots: bool,
}

impl Question {
    /// About how much memory its text takes.
    pub(crate) fn size(&self) -> usize {
        match &self.kind {
            QuestionKind::Approval(approval) => {
                let words = [&approval.title, &approval.description];
                let words = words.into_iter().flatten().map(String::len);
                approval.arguments.as_str().len() + words.sum::<usize>()
            }
            QuestionKind::Drift(drift) => drift.paths.iter().map(String::len).sum(),
            QuestionKind::ElicitForm(params) | QuestionKind::ElicitUrl(params) => {
                let schema = params.requested_schema.as_ref();
                params.message.len() + schema.map_or(0, |schema| schema.as_str().len())
            }
            // A conversation has no size of its own; it is written as often as it is kept.
            QuestionKind::Sampling(params) => {
                Json::from_serialize(params).map_or(0, |json| json.as_str().len())
            }
            QuestionKind::Roots => 0,
        }
    }
}

impl QuestionKind {
    /// Which kind it is.
    pub fn topic(&self) -> Topic {
        match self {
            Self::Approval(_) => Topic::Approval,
            Self::Drift(_) => Topic::Drift,
            Self::ElicitForm(_) => Topic::ElicitForm,
            Self::ElicitUrl(_) => Topic::ElicitUrl,
            Self::Sampling(_) => Topic::Sampling,
            Self::Roots => Topic::Roots,
        }
    }

    fn who(&self) -> Answerer {
        match self {
            Self::Sampling(_) => Answerer::Model,
            _ => Answerer::Person,
        }
    }

    /// Whether this can be answered so; an error says why not.
    fn check(&self, answer: &Answer) -> Result<(), String> {
        use Answer as A;
        match (self, answer) {
            (Self::Approval(_), A::Allow { .. } | A::Deny { .. })
            | (Self::ElicitUrl(_) | Self::Drift(_), A::Accept { content: None })
            | (Self::Sampling(_), A::Message(_))
            | (Self::Roots, A::Roots(_))
            | (Self::Sampling(_) | Self::Roots, A::Refuse { .. })
            | (Self::ElicitForm(_) | Self::ElicitUrl(_) | Self::Drift(_), A::Decline | A::Cancel) => {
                Ok(())
            }
            (Self::ElicitForm(params), A::Accept { content }) => {
                check_form(params, content.as_ref())
            }
            (kind, _) => Err(format!("expected {}", kind.expected())),
        }
    }

    fn expected(&self) -> &'static str {
        match self {
            Self::Approval(_) => "allow or deny",
            Self::Drift(_) | Self::ElicitUrl(_) => "accept without content, decline or cancel",
            Self::ElicitForm(_) => "accept with content, decline or cancel",
            Self::Sampling(_) => "message or refuse",
            Self::Roots => "roots or refuse",
        }
    }
}

/// Whether a filled-in form fits (X-ELIC-07). What is wrong with the form itself is for the server
/// to be told.
fn check_form(params: &ElicitParams, content: Option<&Json>) -> Result<(), String> {
    let content = content.ok_or("the content is missing")?;
    match &params.requested_schema {
        Some(schema) => attache_schema::check_answer(schema, content),
        None => Ok(()),
    }
}

impl Answer {
    /// What it is, without what it holds.
    pub fn kind(&self) -> AnswerKind {
        match self {
            Self::Allow { .. } => AnswerKind::Allowed,
            Self::Deny { .. } => AnswerKind::Denied,
            Self::Accept { .. } => AnswerKind::Accepted,
            Self::Decline => AnswerKind::Declined,
            Self::Cancel => AnswerKind::Cancelled,
            Self::Message(_) => AnswerKind::Message,
            Self::Roots(_) => AnswerKind::Roots,
            Self::Refuse { .. } => AnswerKind::Refused,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
