//! Answers to choose from, each with a key of its own. None is chosen from the beginning: a key
//! that was meant for something else when a question appeared must not answer it.

use attache::host::policy::{Remember, Scope};
use attache::host::questions::{Answer, Question, QuestionKind};
use attache_view::host_to_visit;

/// What an entry does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Does {
    /// Answers.
    Answer(Box<Answer>),
    /// Opens the page, and then agreeing is left.
    OpenPage(String),
    /// Copies the address.
    CopyAddress(String),
    /// Shows the arguments in lines or as they are sent.
    SwitchJson,
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) key: char,
    pub(super) label: String,
    pub(super) does: Does,
}

fn choice(key: char, label: impl Into<String>, does: Does) -> Choice {
    Choice {
        key,
        label: label.into(),
        does,
    }
}

fn answer(key: char, label: impl Into<String>, answer: Answer) -> Choice {
    choice(key, label, Does::Answer(Box::new(answer)))
}

/// The answers to a question that is answered by choosing.
pub(super) fn of(question: &Question) -> Vec<Choice> {
    let server = &question.server;
    match &question.kind {
        QuestionKind::Approval(_) => {
            let allow = |remember, scope| Answer::Allow { remember, scope };
            let deny = |remember| Answer::Deny {
                remember,
                scope: Scope::Tool,
            };
            vec![
                answer('y', "allow once", allow(Remember::Once, Scope::Tool)),
                answer(
                    't',
                    "allow this tool for this session",
                    allow(Remember::Session, Scope::Tool),
                ),
                answer(
                    'T',
                    "always allow this tool",
                    allow(Remember::Always, Scope::Tool),
                ),
                answer(
                    's',
                    format!("allow all of {server} for this session"),
                    allow(Remember::Session, Scope::Server),
                ),
                answer(
                    'S',
                    format!("always allow all of {server}"),
                    allow(Remember::Always, Scope::Server),
                ),
                answer('n', "deny", deny(Remember::Once)),
                answer(
                    'd',
                    "deny this tool for this session",
                    deny(Remember::Session),
                ),
                answer('D', "always deny this tool", deny(Remember::Always)),
                choice(
                    'v',
                    "view the arguments in lines or as sent",
                    Does::SwitchJson,
                ),
            ]
        }
        QuestionKind::Drift(_) => vec![
            answer(
                'y',
                "approve it as it is now",
                Answer::Accept { content: None },
            ),
            answer('n', "do not use it", Answer::Decline),
        ],
        QuestionKind::ElicitUrl(params) => {
            let url = params.url.clone().unwrap_or_default();
            let mut choices = Vec::new();
            if host_to_visit(&url).is_some() {
                choices.push(choice(
                    'o',
                    "open it in the browser",
                    Does::OpenPage(url.clone()),
                ));
                choices.push(answer(
                    'y',
                    "agree: I visit it",
                    Answer::Accept { content: None },
                ));
            }
            choices.push(choice('c', "copy the address", Does::CopyAddress(url)));
            choices.push(answer('n', "decline", Answer::Decline));
            choices.push(answer('x', "cancel: neither yes nor no", Answer::Cancel));
            choices
        }
        _ => Vec::new(),
    }
}
