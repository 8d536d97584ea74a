//! Prompts: what an author registers.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use attache_protocol::{self as protocol, Content, GetPromptResult, PromptArgument, PromptMessage};

use crate::completion::{Completer, Completers};
use crate::context::Context;
use crate::failure::Failure;
use crate::tool::HandlerFuture;

/// The arguments of a prompt. Required ones are there when the handler is called.
pub type PromptArguments = BTreeMap<String, String>;

/// What a handler of a prompt may answer with.
pub trait PromptOutput: Send + 'static {
    /// The answer on the wire.
    fn into_result(self) -> GetPromptResult;
}

impl PromptOutput for GetPromptResult {
    fn into_result(self) -> GetPromptResult {
        self
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_result(self) -> GetPromptResult {
        GetPromptResult {
            messages: self.into(),
            ..GetPromptResult::default()
        }
    }
}

impl PromptOutput for String {
    /// One message of the user.
    fn into_result(self) -> GetPromptResult {
        vec![user_message(Content::text(self))].into_result()
    }
}

/// A message that the user says.
pub fn user_message(content: Content) -> PromptMessage {
    message("user", content)
}

/// A message that the assistant says.
pub fn assistant_message(content: Content) -> PromptMessage {
    message("assistant", content)
}

fn message(role: &str, content: Content) -> PromptMessage {
    PromptMessage {
        role: role.to_owned(),
        content,
        extra: Default::default(),
    }
}

type Handler = dyn Fn(Context, PromptArguments) -> HandlerFuture<GetPromptResult> + Send + Sync;

/// A prompt: a description and a handler that fills it.
#[derive(Clone)]
pub struct Prompt {
    pub(crate) description: protocol::Prompt,
    pub(crate) handler: Arc<Handler>,
    pub(crate) completers: Completers,
}

impl Prompt {
    /// The prompt of that name.
    pub fn new<O, F, R>(name: impl Into<String>, description: &str, handler: F) -> Self
    where
        O: PromptOutput,
        F: Fn(Context, PromptArguments) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        Self {
            description: protocol::Prompt {
                name: name.into(),
                description: Some(description.to_owned()),
                ..protocol::Prompt::default()
            },
            handler: Arc::new(move |context, arguments| {
                let work = handler(context, arguments);
                Box::pin(async move { Ok(work.await?.into_result()) })
            }),
            completers: Completers::default(),
        }
    }

    /// Adds an argument that it cannot do without.
    #[must_use]
    pub fn required(self, name: impl Into<String>, description: &str) -> Self {
        self.argument(name.into(), description, Presence::Required)
    }

    /// Adds an argument that it can do without.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: &str) -> Self {
        self.argument(name.into(), description, Presence::Optional)
    }

    fn argument(mut self, name: String, description: &str, presence: Presence) -> Self {
        let arguments = self.description.arguments.get_or_insert_default();
        arguments.push(PromptArgument {
            name,
            description: Some(description.to_owned()),
            required: presence == Presence::Required,
            ..PromptArgument::default()
        });
        self
    }

    /// Completes the argument `name`.
    #[must_use]
    pub fn complete(mut self, name: impl Into<String>, completer: impl Completer) -> Self {
        self.completers.add(name.into(), completer);
        self
    }

    /// Changes anything else of the description. The name stays.
    #[must_use]
    pub fn describe(mut self, change: impl FnOnce(&mut protocol::Prompt)) -> Self {
        let name = self.description.name.clone();
        change(&mut self.description);
        self.description.name = name;
        self
    }

    /// The arguments as declared, and nothing missing (S-PRM-03).
    pub(crate) fn check_arguments(&self, given: &PromptArguments) -> Result<(), Failure> {
        let declared = self.description.arguments.as_deref().unwrap_or_default();
        match declared
            .iter()
            .find(|argument| argument.required && !given.contains_key(&argument.name))
        {
            None => Ok(()),
            Some(missing) => Err(Failure::invalid_params(format!(
                "the prompt \"{}\" needs the argument \"{}\"",
                self.description.name, missing.name
            ))),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}
