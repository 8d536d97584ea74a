//! What happens in a conversation, told to the face that shows it.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;

use crate::context::Compaction;
use crate::message::Usage;

/// Something that happened. Texts of models and servers are as they came: a terminal has to make
/// them safe first.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ChatEvent<'a> {
    /// A piece of the answer.
    Text {
        /// The words.
        text: &'a str,
    },
    /// A piece of what the model thinks.
    Thinking {
        /// The words.
        text: &'a str,
    },
    /// The answer is at its end, or at a point where tools are called.
    AnswerEnded,
    /// The model wants a tool called.
    Calling {
        /// The model's id for the call.
        id: &'a str,
        /// The tool, as `server/tool`.
        tool: &'a str,
        /// The arguments, as JSON.
        arguments: &'a str,
    },
    /// A call ended.
    Called {
        /// The model's id for the call.
        id: &'a str,
        /// The tool.
        tool: &'a str,
        /// How: `done`, `timed out`, `outcome unknown` …
        ending: &'a str,
        /// After how long, in milliseconds.
        after_ms: u64,
        /// What the model is told in our words.
        #[serde(skip_serializing_if = "str::is_empty")]
        note: &'a str,
        /// What the server said.
        text: &'a str,
    },
    /// Something was attached to the question.
    Attached {
        /// Where it comes from.
        from: &'a str,
        /// How long it is.
        bytes: usize,
        /// Why it may be outdated.
        #[serde(skip_serializing_if = "Option::is_none")]
        stale: Option<String>,
    },
    /// The conversation was shortened to fit.
    Compacted(Compaction),
    /// What an answer cost.
    Used {
        /// Tokens as the endpoint counts them.
        usage: Usage,
        /// Tokens of the conversation, as far as they are known.
        context: u64,
        /// How many the model takes.
        window: u64,
    },
    /// Something to know.
    Note {
        /// What.
        text: &'a str,
    },
}

/// A question that a face puts to the person.
pub type Confirming<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// Shows a conversation.
pub trait Face: Send {
    /// Shows what happened.
    fn show(&mut self, event: ChatEvent<'_>);

    /// Asks the person yes or no; no without a terminal.
    fn confirm<'a>(&'a mut self, question: &'a str) -> Confirming<'a>;
}
