//! A kit for MCP servers that are strict by construction.
//!
//! This crate owns what a server is: tools, resources, templates and prompts with their handlers,
//! the meaning of every message in all five revisions, and two faces, byte streams (stdio, memory)
//! and Streamable HTTP. It knows nothing of any particular server.
#![doc = include_str!("../README.md")]

mod asking;
mod batch;
mod caching;
mod canonical;
mod catalog;
mod changes;
mod clock;
mod completion;
mod context;
mod dispatch;
mod failure;
#[cfg(feature = "http")]
pub mod http;
mod incoming;
mod kernel;
mod lines;
mod prompt;
mod resource;
mod rounds;
mod schema;
mod seal;
mod server;
mod service;
mod session;
mod settings;
mod stdio;
mod streams;
mod tasks;
mod ticking;
mod tool;
mod uri_template;
mod used_states;

pub use asking::Question;
pub use attache_protocol as protocol;
pub use caching::{CacheScope, Caching};
pub use catalog::Registry;
pub use changes::Changes;
pub use completion::{Completer, Typed};
pub use context::Context;
pub use failure::{BuildError, Failure};
pub use prompt::{Prompt, PromptArguments, PromptOutput, assistant_message, user_message};
pub use resource::{PageRequest, Reading, Resource, ResourceOutput, Template};
pub use schema::MirroredArgument;
pub use schemars;
pub use server::{Server, ServerBuilder};
pub use service::{
    After, Answer, AnswerFuture, Outlet, Principal, Request, Sent, Service, Undeliverable, Work,
};
pub use session::Session;
pub use settings::{BeforeInitialized, Identify, Limits};
pub use streams::{EndReason, serve as serve_streams, serve_stdio};
pub use tool::{NoArguments, Structured, TaskStart, TaskSupport, Tool, ToolOutput};
