//! The model that a conversation is held with.
//!
//! A file that came with a folder has no say in it: it could send the user's key, and all that is
//! said, to an address of its own choice.

use std::collections::BTreeMap;

use super::section::{Complaint, Section};
use super::{Origin, Secret, choices};

/// How often a model may be asked for one question.
const MAX_ROUNDS: u32 = 20;

/// A model and how to treat it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatConfig {
    /// Where it is: a name or a URL.
    pub endpoint: Option<String>,
    /// Its name there.
    pub model: Option<String>,
    /// The key of the endpoint.
    pub api_key: Option<Secret>,
    /// How the endpoint is spoken to.
    pub api: Option<ChatApi>,
    /// Headers of every request.
    pub headers: BTreeMap<String, Secret>,
    /// Whether a key may travel over plain http to another machine.
    pub allow_plain_http: bool,
    /// How many tokens the model takes.
    pub context_tokens: Option<u64>,
    /// How often the model may be asked for one question.
    pub max_rounds: u32,
    /// How freely the model speaks.
    pub temperature: Option<f64>,
    /// Which tools the model is told of.
    pub tools: ChatTools,
}

impl Default for ChatConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            model: None,
            api_key: None,
            api: None,
            headers: BTreeMap::new(),
            allow_plain_http: false,
            context_tokens: None,
            max_rounds: MAX_ROUNDS,
            temperature: None,
            tools: ChatTools::Auto,
        }
    }
}

/// A wire format of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatApi {
    /// Chat Completions.
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

/// Which tools a model is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatTools {
    /// All while they are few, else those it searches for.
    Auto,
    /// All.
    All,
    /// Those it searches for.
    Search,
    /// None.
    None,
}

/// Reads the `[chat]` table.
pub(super) fn read_chat(section: &Section<'_>, origin: Origin) -> ChatConfig {
    if origin == Origin::Project {
        let complaint = Complaint::new("a file that came with a folder cannot choose the model");
        section.warn(
            "",
            complaint.hint("write this table in your own attache.toml"),
        );
        return ChatConfig::default();
    }
    let defaults = ChatConfig::default();
    ChatConfig {
        endpoint: section.text("endpoint"),
        model: section.text("model"),
        api_key: section.secret("api_key"),
        api: section.choice("api", &choices::CHAT_APIS),
        headers: section.text_map("headers").unwrap_or_default(),
        allow_plain_http: section.truth("allow_plain_http").unwrap_or_default(),
        context_tokens: section.number("context_tokens"),
        max_rounds: section.number("max_rounds").unwrap_or(defaults.max_rounds),
        temperature: section.decimal("temperature"),
        tools: section
            .choice("tools", &choices::CHAT_TOOLS)
            .unwrap_or(defaults.tools),
    }
}
