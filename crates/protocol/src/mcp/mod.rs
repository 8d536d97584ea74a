//! The methods and types of MCP, one file per capability.
//!
//! Knows what a message means, and nothing of how it travels.

pub(crate) mod basics;
pub(crate) mod capabilities;
pub(crate) mod completion;
pub(crate) mod content;
pub(crate) mod elicitation;
pub(crate) mod entries;
pub(crate) mod lifecycle;
pub(crate) mod logging;
pub(crate) mod method;
pub(crate) mod progress;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod roots;
pub(crate) mod rounds;
pub(crate) mod sampling;
pub(crate) mod subscriptions;
pub(crate) mod task_extension;
pub(crate) mod tasks;
pub(crate) mod tools;
