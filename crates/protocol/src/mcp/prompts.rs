//! Prompts: listing and getting them.

use std::collections::BTreeMap;

use crate::mcp::method::{methods, notifications, paged};
use crate::wire::record::record;
use crate::{Content, Entries, Json, NoParams, PageParams};

methods! {
    /// Lists the prompts of a server.
    ListPrompts = "prompts/list" (PageParams) -> PromptPage;
    /// Gets the messages of a prompt.
    GetPrompt = "prompts/get" (GetPromptParams) -> GetPromptResult;
}

paged! {
    ListPrompts.prompts: Prompt;
}

notifications! {
    /// The list of prompts has changed.
    PromptsChanged = "notifications/prompts/list_changed" (NoParams);
}

record! {
    /// One page of `prompts/list`.
    #[derive(Default)]
    pub struct PromptPage {
        /// The prompts of this page.
        prompts: Entries<Prompt> = required "prompts",
        /// Where the next page begins; an empty string is a cursor too (C-PAG-03).
        next_cursor: Option<String> = strict "nextCursor",
        /// How long the page is fresh (2026-07-28).
        ttl_ms: Option<i64> = optional "ttlMs",
        /// Who may share it: `public` or `private` (2026-07-28).
        cache_scope: Option<String> = optional "cacheScope",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// A prompt as its server describes it.
    #[derive(Default)]
    pub struct Prompt {
        /// The name to get it by.
        name: String = required "name",
        /// A name for people (from 2025-06-18).
        title: Option<String> = optional "title",
        /// What it is for.
        description: Option<String> = optional "description",
        /// What it can be filled with.
        arguments: Option<Vec<PromptArgument>> = optional "arguments",
        /// Pictures for it (from 2025-11-25).
        icons: Option<Json> = optional "icons",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// One argument of a prompt.
    #[derive(Default)]
    pub struct PromptArgument {
        /// Its name.
        name: String = required "name",
        /// A name for people (from 2025-06-18).
        title: Option<String> = optional "title",
        /// What it means.
        description: Option<String> = optional "description",
        /// The prompt cannot do without it.
        required: bool = default "required",
    }
}

record! {
    /// The params of `prompts/get`.
    pub struct GetPromptParams {
        /// Which prompt.
        name: String = required "name",
        /// Its arguments; their values are strings (S-PRM-04).
        arguments: Option<BTreeMap<String, String>> = optional "arguments",
    }
}

impl GetPromptParams {
    /// Gets the prompt of that name, filled with `arguments`.
    pub fn new(name: impl Into<String>, arguments: BTreeMap<String, String>) -> Self {
        Self {
            name: name.into(),
            arguments: Some(arguments).filter(|arguments| !arguments.is_empty()),
            extra: Default::default(),
        }
    }
}

record! {
    /// A prompt, filled in.
    #[derive(Default)]
    pub struct GetPromptResult {
        /// What it is for.
        description: Option<String> = optional "description",
        /// Its messages.
        messages: Entries<PromptMessage> = required "messages",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// One message of a prompt.
    pub struct PromptMessage {
        /// Who speaks: `user` or `assistant`.
        role: String = required "role",
        /// What is said.
        content: Content = required "content",
    }
}
