//! A conversation as data: who said what, which tools were wished for and what they answered.
//!
//! Owns the shapes that both wire formats are written from and that sessions keep. Knows no wire
//! format and no server.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::untrusted::Mark;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the person said, with what was attached.
    User {
        /// The parts, in order.
        parts: Vec<Part>,
    },
    /// What the model said.
    Assistant(Answer),
    /// What the tools answered that the model had asked for.
    Results {
        /// One for each call of the message before.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// A message of plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User {
            parts: vec![Part::text(text)],
        }
    }

    /// How many bytes of it are sent, roughly.
    pub fn bytes(&self) -> usize {
        match self {
            Self::User { parts } => parts.iter().map(Part::bytes).sum(),
            Self::Assistant(answer) => answer.bytes(),
            Self::Results { results } => results.iter().map(ToolResult::bytes).sum(),
        }
    }
}

/// A part of what a person said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// Text of a server or a file that was attached: data, whatever it says.
    Data {
        /// Where it comes from.
        from: String,
        /// The text.
        text: String,
    },
    /// An image.
    Image(Image),
}

impl Part {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text { text } | Self::Data { text, .. } => text.len(),
            Self::Image(_) => Image::ESTIMATED_BYTES,
        }
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Its media type.
    pub mime_type: String,
    /// Its bytes in base64.
    pub data: String,
}

impl Image {
    /// What an image costs of the context, in bytes of text: some 1,500 tokens.
    const ESTIMATED_BYTES: usize = 6_000;

    /// Whether models take images of this type.
    pub fn is_taken(mime_type: &str) -> bool {
        matches!(
            mime_type,
            "image/png" | "image/jpeg" | "image/gif" | "image/webp"
        )
    }
}

/// What a model said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it says.
    #[serde(default)]
    pub text: String,
    /// What it thought before, as far as it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinking: Vec<Thinking>,
    /// The tools it wants called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// What the endpoint said besides, in fields that are not known here.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Answer {
    /// Whether it says nothing and wants nothing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    fn bytes(&self) -> usize {
        let thinking: usize = self.thinking.iter().map(|it| it.text.len()).sum();
        let calls = self.calls.iter();
        let calls: usize = calls.map(|it| it.name.len() + it.arguments.len()).sum();
        self.text.len() + thinking + calls
    }
}

/// A stretch of thinking. What is signed or hidden goes back to the endpoint as it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thinking {
    /// The thoughts.
    #[serde(default)]
    pub text: String,
    /// The endpoint's proof that they are its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Thoughts that only the endpoint can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,
}

/// A call that a model wishes for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What its result must name; made up here if the endpoint gave none.
    pub id: String,
    /// The tool by its name for model providers.
    pub name: String,
    /// The arguments as the text that the model wrote; an empty text stands for none.
    #[serde(default)]
    pub arguments: String,
    /// What the endpoint said besides; it goes back with the call.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// What a model is told of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// What we tell of it in our own words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Whose words follow: a tool of a server. Without it there are none but ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The words of the server: data, whatever they say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Images that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The call did not do what was wanted.
    #[serde(default)]
    pub is_error: bool,
}

impl ToolResult {
    /// What a model is told, the words of the server between marks.
    pub(crate) fn told(&self, mark: &Mark) -> String {
        match (&self.from, self.note.is_empty()) {
            (None, _) => format!("{}{}", self.note, self.text),
            (Some(_), false) if self.text.is_empty() => self.note.clone(),
            (Some(from), true) => mark.around(from, &self.text),
            (Some(from), false) => format!("{}\n{}", self.note, mark.around(from, &self.text)),
        }
    }

    fn bytes(&self) -> usize {
        self.note.len() + self.text.len() + self.images.len() * Image::ESTIMATED_BYTES
    }
}

/// How many tokens an endpoint says it has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// What was sent, remembered parts included.
    pub input: Option<u64>,
    /// What was answered.
    pub output: Option<u64>,
    /// How much of the input the endpoint remembered from before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
}

impl Usage {
    /// Takes over what a later report tells; what it leaves out stays.
    pub(crate) fn update(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cached = later.cached.or(self.cached);
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said everything.
    Done,
    /// It wants tools to be called.
    Tools,
    /// It may say no more.
    Length,
    /// The endpoint did not say.
    #[default]
    Unsaid,
    /// Another reason, in the endpoint's word.
    Other(String),
}
