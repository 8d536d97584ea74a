//! The question to the user about a call, and the answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::Verdict;
use crate::names::ToolName;

/// What a face is asked to ask its user.
///
/// All text of it but the server's name comes from the server or from a model: escape it before it
/// is drawn (S13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The tool.
    pub name: ToolName,
    /// What the server calls it for people.
    pub title: Option<String>,
    /// What the server says it does.
    pub description: Option<String>,
    /// The arguments of the call, as JSON text.
    pub arguments: String,
    /// Why there is a question at all.
    pub verdict: Verdict,
}

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The call may be made.
    Allow(Remember),
    /// It may not.
    Deny(Remember),
}

impl Answer {
    /// For how long it holds.
    pub fn remember(self) -> Remember {
        match self {
            Self::Allow(remember) | Self::Deny(remember) => remember,
        }
    }
}

/// For how long an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remember {
    /// For this call.
    Once,
    /// For this tool until the program ends.
    Session,
    /// For this tool until the user changes their mind.
    Always,
}

impl fmt::Display for Remember {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Once => "for this call",
            Self::Session => "for this session",
            Self::Always => "for always",
        })
    }
}

/// A question under way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// Somebody who can ask the user: a terminal, a page.
///
/// Dropping the future takes the question back.
pub trait Consent: Send + Sync {
    /// Whether there is anybody to ask.
    fn can_ask(&self) -> bool {
        true
    }

    /// Asks, and waits for the answer for as long as it takes.
    fn ask(&self, question: Question) -> Asking<'_>;
}

/// Nobody can be asked, so everything that would be asked is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyToAsk;

impl Consent for NobodyToAsk {
    fn can_ask(&self) -> bool {
        false
    }

    fn ask(&self, _question: Question) -> Asking<'_> {
        Box::pin(std::future::ready(Answer::Deny(Remember::Once)))
    }
}
