//! The spec workflow as a server: from an idea to a specification, a plan, tasks and their
//! implementation, in the files of spec-kit.
//!
//! Owns the five tools, who writes (a command of the user's choice, the client's model, or the
//! plain writer), and how tasks are worked through. The files themselves are the crate
//! `attache-speckit`'s.

mod agent;
mod clarify;
mod compose;
mod implement;
mod plain;
mod prompts;
mod steps;
#[cfg(test)]
mod tests;
mod tools;

use attache_server::{BuildError, Server, ServerBuilder};
use attache_speckit::Project;

pub use agent::{AgentCommand, AgentCommandError};

/// What the server calls itself.
pub const NAME: &str = "attache-speckit";

/// How many tasks marked `[P]` run at the same time.
pub const PARALLEL_TASKS: usize = 4;

const INSTRUCTIONS: &str = "\
Work on a feature in this order: speckit.specify, speckit.clarify, speckit.plan, speckit.tasks, \
speckit.implement. All take the folder of the spec, like specs/001-short-name. What a person has \
edited in a document is kept when a tool writes it again.";

/// Who writes documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writer {
    /// The agent if there is one, else the client's model if it lends it, else the plain writer.
    #[default]
    Auto,
    /// The agent.
    Agent,
    /// The client's model, through sampling.
    Model,
    /// The plain writer, which structures what is there and marks what is to be decided.
    Plain,
}

/// Where the server works, and with whom.
#[derive(Clone, Debug)]
pub struct SpeckitSettings {
    /// The project; nothing outside of it is read or written.
    pub project: Project,
    /// The command that is given prompts.
    pub agent: Option<AgentCommand>,
    /// Who writes.
    pub writer: Writer,
}

impl SpeckitSettings {
    /// A project without an agent.
    pub fn new(project: Project) -> Self {
        Self {
            project,
            agent: None,
            writer: Writer::Auto,
        }
    }
}

/// The server.
///
/// # Errors
/// [`BuildError`] when the system gives no random bytes.
pub fn server(settings: SpeckitSettings) -> Result<Server, BuildError> {
    builder(settings).build()
}

/// The same server before it is built, for those who restrict what it speaks.
pub fn builder(settings: SpeckitSettings) -> ServerBuilder {
    let builder = Server::builder(NAME, env!("CARGO_PKG_VERSION"))
        .describe(|identity| identity.title = Some("Attaché Speckit".to_owned()))
        .instructions(INSTRUCTIONS)
        .logging();
    let tools = tools::all(std::sync::Arc::new(settings));
    tools.into_iter().fold(builder, ServerBuilder::tool)
}
