//! Answers a script gives, apart from the bytes they become.
//!
//! Owns the shape of an answer: its body, its id, how often it is sent. Refuses
//! to know the contents of a well-behaved answer (`usual`).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An answer to the request in hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// What it says.
    pub body: Body,
    /// Which id it bears.
    pub id: ReplyId,
    /// How often it is sent.
    pub copies: u32,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Body {
    /// What a well-behaved server would say.
    Usual,
    /// Exactly this result.
    Result(Value),
    /// A tool result of one text block, in the form of the era.
    Text(String),
    /// An error.
    Error(RpcError),
    /// A tool result whose whole frame, without the line end, has exactly this
    /// many bytes (or as few as fit, if that is more).
    FrameOf(usize),
    /// One page of the list that was asked for.
    Page(Pages),
    /// What the client answered to the last awaited [`super::Ask`], as the
    /// structured content of a tool result.
    ClientAnswer,
    /// The multi-round answer of 2026-07-28.
    InputRequired(InputRounds),
    /// A created task, in the form of the request's revision.
    Task(TaskPlan),
}

/// A JSON-RPC error object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The data, left out when null.
    pub data: Value,
}

/// Which id an answer bears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ReplyId {
    /// The request's own.
    Same,
    /// The request's own as a string: `"7"` for 7.
    AsString,
    /// Null.
    Null,
    /// This one, whatever was asked.
    Fixed(Value),
    /// None at all.
    Missing,
}

/// A list served in pages of made-up entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// How many pages there are.
    pub pages: u32,
    /// How many entries each page has.
    pub per_page: u32,
    /// What the cursors look like.
    pub cursors: Cursors,
}

/// What the cursors of [`Pages`] look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cursors {
    /// A different one for each page.
    Distinct,
    /// The second page has the empty string, later ones are distinct.
    EmptyString,
    /// Always the same one, and the list never ends.
    Repeating,
}

/// The rounds of an `input_required` answer.
///
/// The server keeps no memory of rounds: it seals the round's number into
/// `requestState` and refuses with -32602 a state that comes back altered. The
/// last answer is a tool result whose structured content holds the client's
/// `inputResponses`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputRounds {
    /// The `inputRequests` map, left out when null.
    pub requests: Value,
    /// What `requestState` begins with.
    pub state: String,
    /// How many rounds there are; endless when absent.
    pub rounds: Option<u32>,
}

/// The life of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskPlan {
    /// How long it stays `working` before anything else happens.
    pub working: Duration,
    /// Input it needs after that: a map like `inputRequests`. Under
    /// 2025-11-25 each entry becomes a request during `tasks/result`.
    pub input: Value,
    /// How it ends.
    pub ending: TaskEnding,
    /// The poll interval told to the client, in milliseconds.
    pub poll_interval_ms: u64,
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TaskEnding {
    /// With this tool result.
    Completed(Value),
    /// With this error.
    Failed(RpcError),
    /// It does not: only a cancel ends it.
    Never,
}

impl Reply {
    /// What a well-behaved server would say.
    pub fn usual() -> Self {
        Self::new(Body::Usual)
    }

    /// Exactly this result.
    pub fn result(result: Value) -> Self {
        Self::new(Body::Result(result))
    }

    /// A tool result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// An error without data.
    pub fn error(code: i64, message: impl Into<String>) -> Self {
        Self::error_with(code, message, Value::Null)
    }

    /// An error with data.
    pub fn error_with(code: i64, message: impl Into<String>, data: Value) -> Self {
        Self::new(Body::Error(RpcError::new(code, message, data)))
    }

    /// A tool result whose frame has exactly this many bytes.
    pub fn frame_of(bytes: usize) -> Self {
        Self::new(Body::FrameOf(bytes))
    }

    /// A page of a list.
    pub fn pages(pages: u32, per_page: u32, cursors: Cursors) -> Self {
        Self::new(Body::Page(Pages {
            pages,
            per_page,
            cursors,
        }))
    }

    /// What the client answered last.
    pub fn client_answer() -> Self {
        Self::new(Body::ClientAnswer)
    }

    /// Needs input for this many rounds.
    pub fn input_required(requests: Value, state: impl Into<String>, rounds: u32) -> Self {
        Self::new(Body::InputRequired(InputRounds {
            requests,
            state: state.into(),
            rounds: Some(rounds),
        }))
    }

    /// Needs input for ever.
    pub fn endless_input_required(requests: Value, state: impl Into<String>) -> Self {
        Self::new(Body::InputRequired(InputRounds {
            requests,
            state: state.into(),
            rounds: None,
        }))
    }

    /// Creates a task.
    pub fn task(plan: TaskPlan) -> Self {
        Self::new(Body::Task(plan))
    }

    fn new(body: Body) -> Self {
        Self {
            body,
            id: ReplyId::Same,
            copies: 1,
        }
    }

    /// Bears another id.
    #[must_use]
    pub fn with_id(mut self, id: ReplyId) -> Self {
        self.id = id;
        self
    }

    /// Is sent twice.
    #[must_use]
    pub fn twice(mut self) -> Self {
        self.copies = 2;
        self
    }
}

impl RpcError {
    /// An error object.
    pub fn new(code: i64, message: impl Into<String>, data: Value) -> Self {
        Self {
            code,
            message: message.into(),
            data,
        }
    }
}

impl TaskPlan {
    /// A task that works for a while and completes with this tool result.
    pub fn completing(working: Duration, result: Value) -> Self {
        Self::ending(working, TaskEnding::Completed(result))
    }

    /// A task that works for a while and fails.
    pub fn failing(working: Duration, error: RpcError) -> Self {
        Self::ending(working, TaskEnding::Failed(error))
    }

    /// A task that works until it is cancelled.
    pub fn endless() -> Self {
        Self::ending(Duration::ZERO, TaskEnding::Never)
    }

    fn ending(working: Duration, ending: TaskEnding) -> Self {
        Self {
            working,
            input: Value::Null,
            ending,
            poll_interval_ms: 20,
        }
    }

    /// Needs this input after its working time.
    #[must_use]
    pub fn needing(mut self, input: Value) -> Self {
        self.input = input;
        self
    }
}
