//! Names of tools among many servers.
//!
//! Owns three kinds of names for one tool:
//!
//! - **qualified**, `server/tool`: always works. Server names have no slash, so the first slash
//!   separates; tool names may have more.
//! - **plain**, `tool`: works while only one server has such a tool (seeds row 49).
//! - **provider**, for model providers that take at most 64 characters of `[a-zA-Z0-9_-]`:
//!   `server__tool`, or a cut form with a digest at its end. It is a function of the two names
//!   alone, so it is the same tomorrow and does not change when another server joins. A
//!   [`Directory`] leads back from it.
//!
//! It knows nothing of where the tools come from.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::ServerName;
use crate::digest::sha256_hex;
use crate::nearest::nearest;

/// The longest name that providers take (PEERS: claude-code#19882).
pub const PROVIDER_LONGEST: usize = 64;
/// What stands between the two names.
const SEPARATOR: &str = "__";
/// Hexadecimal digits of the digest at the end of a name that was altered: 48 bits.
const DIGEST_DIGITS: usize = 12;

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ToolName {
    /// The server.
    pub server: ServerName,
    /// The tool's name as its server gives it.
    pub tool: String,
}

impl ToolName {
    /// A tool of a server.
    pub fn new(server: ServerName, tool: impl Into<String>) -> Self {
        Self {
            server,
            tool: tool.into(),
        }
    }

    /// Reads a qualified name. It is none if there is no slash, or no server name before it, or
    /// nothing after it.
    pub fn parse_qualified(text: &str) -> Option<Self> {
        let (server, tool) = text.split_once('/')?;
        let server = ServerName::new(server).ok()?;
        (!tool.is_empty()).then(|| Self::new(server, tool))
    }

    /// The name for model providers.
    pub fn provider(&self) -> String {
        provider_name(self.server.as_str(), &self.tool)
    }
}

/// What a call names: a name as it was given, or a tool that was found before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolReference {
    /// A qualified name, a plain one, or one for model providers.
    Given(String),
    /// A tool of a server.
    Resolved(ToolName),
}

impl From<&str> for ToolReference {
    fn from(name: &str) -> Self {
        Self::Given(name.to_owned())
    }
}

impl From<&String> for ToolReference {
    fn from(name: &String) -> Self {
        Self::Given(name.clone())
    }
}

impl From<String> for ToolReference {
    fn from(name: String) -> Self {
        Self::Given(name)
    }
}

impl From<ToolName> for ToolReference {
    fn from(name: ToolName) -> Self {
        Self::Resolved(name)
    }
}

/// The qualified name.
impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.server, self.tool)
    }
}

/// The name of a tool for model providers.
///
/// No two tools share one: a name without a digest splits again at its first separator, for which
/// the server's name must not look like it has one; and a name that by itself ends like a digest
/// gets a real one, so the two forms never meet.
pub fn provider_name(server: &str, tool: &str) -> String {
    let joined = format!("{server}{SEPARATOR}{tool}");
    let splits_again = !server.contains(SEPARATOR) && !server.ends_with('_') && !tool.is_empty();
    if splits_again
        && joined.len() <= PROVIDER_LONGEST
        && joined.chars().all(is_provider_character)
        && !ends_like_a_digest(&joined)
    {
        return joined;
    }
    // A zero byte cannot be in a server's name, so no two pairs are digested alike.
    let digest = sha256_hex(format!("{server}\0{tool}").as_bytes());
    let mut name: String = joined
        .chars()
        .map(|found| {
            if is_provider_character(found) {
                found
            } else {
                '_'
            }
        })
        .take(PROVIDER_LONGEST - DIGEST_DIGITS - 1)
        .collect();
    name.push('_');
    name.push_str(&digest[..DIGEST_DIGITS]);
    name
}

fn is_provider_character(found: char) -> bool {
    found.is_ascii_alphanumeric() || matches!(found, '_' | '-')
}

fn ends_like_a_digest(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == DIGEST_DIGITS
            && end
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// All tools there are, found by any of their names.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    by_provider: BTreeMap<String, ToolName>,
    by_plain: BTreeMap<String, Vec<ServerName>>,
}

impl Directory {
    /// A directory of some tools. A tool named twice by its server counts once.
    pub fn new(tools: impl IntoIterator<Item = ToolName>) -> Self {
        let mut directory = Self::default();
        for tool in tools {
            let servers = directory.by_plain.entry(tool.tool.clone()).or_default();
            if let Err(at) = servers.binary_search(&tool.server) {
                servers.insert(at, tool.server.clone());
            }
            directory.by_provider.insert(tool.provider(), tool);
        }
        directory
    }

    /// The tool of a provider name.
    pub fn by_provider(&self, name: &str) -> Option<&ToolName> {
        self.by_provider.get(name)
    }

    /// The provider names of all tools.
    pub fn provider_names(&self) -> impl Iterator<Item = (&str, &ToolName)> {
        self.by_provider
            .iter()
            .map(|(name, tool)| (name.as_str(), tool))
    }

    /// Finds a tool by its qualified, plain or provider name, in this order.
    pub fn resolve(&self, given: &str) -> Result<ToolName, Unresolved> {
        if let Some(name) = ToolName::parse_qualified(given)
            && self.has(&name)
        {
            return Ok(name);
        }
        match self.by_plain.get(given).map(Vec::as_slice) {
            Some([server]) => return Ok(ToolName::new(server.clone(), given)),
            Some(servers) => {
                return Err(Unresolved::Ambiguous {
                    given: given.to_owned(),
                    servers: servers.to_vec(),
                });
            }
            None => {}
        }
        if let Some(name) = self.by_provider(given) {
            return Ok(name.clone());
        }
        Err(Unresolved::Unknown {
            given: given.to_owned(),
            nearest: self.nearest(given),
        })
    }

    /// Whether no other server has a tool of that plain name.
    pub fn is_unambiguous(&self, tool: &str) -> bool {
        self.by_plain
            .get(tool)
            .is_some_and(|servers| servers.len() == 1)
    }

    fn has(&self, name: &ToolName) -> bool {
        self.by_plain
            .get(&name.tool)
            .is_some_and(|servers| servers.contains(&name.server))
    }

    fn nearest(&self, given: &str) -> Option<String> {
        let qualified: Vec<String> = self.by_provider.values().map(ToolName::to_string).collect();
        let plain = self.by_plain.keys();
        let known = plain.chain(&qualified).map(String::as_str);
        nearest(given, known).map(str::to_owned)
    }
}

/// Why a name leads to no tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// No tool has it.
    Unknown {
        /// The name.
        given: String,
        /// A name that differs little.
        nearest: Option<String>,
    },
    /// Several servers have such a tool.
    Ambiguous {
        /// The name.
        given: String,
        /// Those servers.
        servers: Vec<ServerName>,
    },
}

impl fmt::Display for Unresolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { given, nearest } => {
                write!(formatter, "there is no tool \"{given}\"")?;
                match nearest {
                    Some(nearest) => write!(formatter, "; did you mean \"{nearest}\"?"),
                    None => Ok(()),
                }
            }
            Self::Ambiguous { given, servers } => {
                let names: Vec<String> = servers
                    .iter()
                    .map(|server| format!("\"{server}/{given}\""))
                    .collect();
                write!(
                    formatter,
                    "several servers have a tool \"{given}\"; say which: {}",
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for Unresolved {}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
