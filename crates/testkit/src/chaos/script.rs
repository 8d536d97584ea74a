//! A script: which server the chaos server is, and when it strays.
//!
//! Owns [`Script`] and [`When`]. Refuses to know how a script is run (`engine`)
//! or started (`launch`).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::action::Action;
use super::emit::Writing;

/// The description of one chaos server.
///
/// Without rules it is a small correct server of its [`Era`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub(super) era: Era,
    pub(super) identity: Identity,
    pub(super) rules: Vec<Rule>,
    pub(super) writing: Writing,
    pub(super) end_of_input: EndOfInput,
    pub(super) ignore_term: bool,
    pub(super) launcher: Launcher,
}

/// Which handshake a server has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Era {
    /// `initialize`, always answered with `revision`.
    Legacy {
        /// The revision it offers.
        revision: String,
        /// What it does with messages that come before `initialize`.
        before: BeforeInitialize,
    },
    /// No handshake: every request names its version.
    Modern {
        /// The versions it supports.
        supported: Vec<String>,
    },
    /// Both: `initialize` makes the process legacy, requests with modern
    /// `_meta` are served as such.
    Dual {
        /// The modern versions it supports.
        supported: Vec<String>,
        /// The legacy revision it offers.
        revision: String,
    },
}

/// What a legacy server does with a first message other than `initialize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BeforeInitialize {
    /// Looks at the method first: `server/discover` is unknown (-32601).
    Serve,
    /// Refuses every request but `ping` with this code.
    Refuse(i64),
    /// Says nothing.
    Ignore,
    /// Exits with this code.
    Exit(i32),
}

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    /// Replaces the usual capabilities.
    pub(super) capabilities: Option<Value>,
    pub(super) server_info: Value,
    pub(super) instructions: Option<String>,
    /// Replaces the usual list of tools (not what calling them does).
    pub(super) tools: Option<Vec<Value>>,
}

/// What happens at the end of standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum EndOfInput {
    Exit,
    Ignore,
}

/// A process between the client and the server, like a package runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Launcher {
    /// The server is started directly.
    None,
    /// A launcher starts the server and waits for it.
    Waits,
    /// A launcher starts the server and exits after this time; the server
    /// lives on.
    ExitsAfter(Duration),
}

/// A condition and what happens then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) when: When,
    pub(super) actions: Vec<Action>,
}

/// When a rule applies. Of several that do, the first one wins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    pub(super) trigger: Trigger,
    pub(super) occurrence: Occurrence,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Trigger {
    Start,
    Message {
        method: String,
        tool: Option<String>,
    },
    EndOfInput,
}

/// Counted per rule and process, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Occurrence {
    Every,
    Nth(u64),
    From(u64),
}

impl Occurrence {
    pub(super) fn includes(self, number: u64) -> bool {
        match self {
            Self::Every => true,
            Self::Nth(nth) => number == nth,
            Self::From(first) => number >= first,
        }
    }
}

impl When {
    /// A request or notification of this method arrives.
    pub fn method(method: impl Into<String>) -> Self {
        Self::on(Trigger::Message {
            method: method.into(),
            tool: None,
        })
    }

    /// A `tools/call` of this tool arrives.
    pub fn tool(name: impl Into<String>) -> Self {
        Self::on(Trigger::Message {
            method: "tools/call".to_owned(),
            tool: Some(name.into()),
        })
    }

    /// The process has started. Nothing is read until the last action is
    /// done, waits included; only an endless emission goes on beside.
    pub fn start() -> Self {
        Self::on(Trigger::Start)
    }

    /// Standard input has ended. The process exits after the last action
    /// unless it ignores the end of input.
    pub fn end_of_input() -> Self {
        Self::on(Trigger::EndOfInput)
    }

    fn on(trigger: Trigger) -> Self {
        Self {
            trigger,
            occurrence: Occurrence::Every,
        }
    }

    /// Only the first time.
    #[must_use]
    pub fn first(self) -> Self {
        self.nth(1)
    }

    /// Only the `number`th time, counted from 1.
    #[must_use]
    pub fn nth(mut self, number: u64) -> Self {
        self.occurrence = Occurrence::Nth(number);
        self
    }

    /// From the `number`th time on.
    #[must_use]
    pub fn from_nth(mut self, number: u64) -> Self {
        self.occurrence = Occurrence::From(number);
        self
    }
}

impl From<&str> for When {
    fn from(method: &str) -> Self {
        Self::method(method)
    }
}

impl Script {
    /// A server of a legacy revision, such as `2025-06-18`.
    pub fn legacy(revision: impl Into<String>) -> Self {
        Self::new(Era::Legacy {
            revision: revision.into(),
            before: BeforeInitialize::Serve,
        })
    }

    /// A server of 2026-07-28.
    pub fn modern() -> Self {
        Self::new(Era::Modern {
            supported: vec![super::MODERN_REVISION.to_owned()],
        })
    }

    /// A server of 2026-07-28 that also serves the newest legacy revision.
    pub fn dual() -> Self {
        Self::new(Era::Dual {
            supported: vec![super::MODERN_REVISION.to_owned()],
            revision: super::NEWEST_LEGACY_REVISION.to_owned(),
        })
    }

    /// A server of any of the five revisions, by its date.
    pub fn of_revision(revision: &str) -> Self {
        if revision == super::MODERN_REVISION {
            Self::modern()
        } else {
            Self::legacy(revision)
        }
    }

    /// A server of this era.
    pub fn new(era: Era) -> Self {
        Self {
            era,
            identity: Identity {
                capabilities: None,
                server_info: serde_json::json!({"name": "chaos", "version": "1.0.0"}),
                instructions: None,
                tools: None,
            },
            rules: Vec::new(),
            writing: Writing::default(),
            end_of_input: EndOfInput::Exit,
            ignore_term: false,
            launcher: Launcher::None,
        }
    }

    /// Adds a rule. It replaces the usual behaviour: include
    /// [`Action::usual`] to keep the usual answer.
    #[must_use]
    pub fn on(mut self, when: impl Into<When>, actions: impl IntoIterator<Item = Action>) -> Self {
        self.rules.push(Rule {
            when: when.into(),
            actions: actions.into_iter().collect(),
        });
        self
    }

    /// What a legacy server does with a first message other than `initialize`.
    /// Says nothing to other eras, which serve such messages.
    #[must_use]
    pub fn before_initialize(mut self, choice: BeforeInitialize) -> Self {
        if let Era::Legacy { before, .. } = &mut self.era {
            *before = choice;
        }
        self
    }

    /// Replaces the declared capabilities.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.identity.capabilities = Some(capabilities);
        self
    }

    /// Replaces the server's name and version.
    #[must_use]
    pub fn server_info(mut self, server_info: Value) -> Self {
        self.identity.server_info = server_info;
        self
    }

    /// Adds instructions to the handshake.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.identity.instructions = Some(text.into());
        self
    }

    /// Replaces the listed tools. Calls of names the server does not know
    /// still need a rule.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Value>) -> Self {
        self.identity.tools = Some(tools.into_iter().collect());
        self
    }

    /// Changes how bytes leave, from the first one on.
    #[must_use]
    pub fn writing(mut self, writing: Writing) -> Self {
        self.writing = writing;
        self
    }

    /// Lives on after the end of input, for [`super::LINGER_LIMIT`] at most.
    #[must_use]
    pub fn ignores_eof(mut self) -> Self {
        self.end_of_input = EndOfInput::Ignore;
        self
    }

    /// Ignores the terminate and hang-up signals.
    ///
    /// The launch goes through a shell that ignores them and then becomes the
    /// server, since an ignored signal stays ignored across `exec`.
    #[must_use]
    pub fn ignores_term(mut self) -> Self {
        self.ignore_term = true;
        self
    }

    /// Puts a process between the client and the server.
    #[must_use]
    pub fn launcher(mut self, launcher: Launcher) -> Self {
        self.launcher = launcher;
        self
    }
}
