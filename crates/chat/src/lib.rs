//! A conversation with a model that uses the tools, resources and prompts of MCP servers.
//!
//! Owns the model client, the turn, the context, conversations on disk and the commands, all of
//! which run without a terminal; [`terminal`] draws them on one. Every call goes through the host,
//! its policy, its pins and its questions: nothing here permits anything. It neither reads the
//! environment nor exits.

mod attach;
mod calls;
mod chat;
mod commands;
mod context;
mod cut;
mod endpoint;
mod error;
mod events;
mod message;
mod model;
mod notes;
mod private;
mod sampling;
mod session;
mod stop;
pub mod terminal;
mod tools;
mod turn;
mod untrusted;

pub use chat::{Chat, ChatSettings};
pub use commands::{Command, Outcome};
pub use context::{Budget, Compaction, DEFAULT_WINDOW};
pub use endpoint::{Endpoint, Patience, THREE_LINES};
pub use error::Error;
pub use events::{ChatEvent, Confirming, Face};
pub use message::{
    Answer, Image, Message, Part, StopReason, Thinking, ToolCall, ToolResult, Usage,
};
pub use model::{Ask, Definition, Delta, Model, Reply};
pub use sampling::Sampler;
pub use session::{Listed, Record, Session, Sessions};
pub use stop::Stop;
pub use tools::{KeptResults, KnownTool, Offer, Toolbox};
pub use turn::TurnEnd;
pub use untrusted::Mark;
