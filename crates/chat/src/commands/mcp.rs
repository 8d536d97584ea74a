//! `/mcp`: servers without a model, with the words of seed 000's client.

use std::fmt::Write as _;

use attache_host::client::{Error as ClientError, Meaning};
use attache_host::names::ToolName;
use attache_host::policy::CallOrigin;
use attache_host::snapshot::ServerState;
use attache_host::{Cause, Error as HostError};
use attache_protocol::Ending;
use attache_view::safe_text;
use serde_json::{Value, json};

use super::split_words;
use crate::attach::stale;
use crate::calls::resource_text;
use crate::chat::Chat;
use crate::notes::SEARCH_NOTES;

/// The tool that brings a server's repository up to date.
const SYNC: &str = "sync_repository";
/// What stands below a heading.
const LINE: &str = "==================================================";
/// How many notes a search gives.
const LIMIT: usize = 10;
/// How many resources are listed.
const MOST_LISTED: usize = 500;

const USAGE: &str = "/mcp list [SERVER]\n/mcp read URI\n/mcp search SERVER QUERY [LIMIT]\n\
                     /mcp sync [SERVER]\n/mcp status";

impl Chat {
    pub(super) async fn mcp(&self, rest: &str) -> String {
        let words = split_words(rest);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["list"] => self.mcp_list("").await,
            ["list", server] => self.mcp_list(server).await,
            ["read", uri] => self.mcp_read(uri).await,
            ["search", server, query @ .., limit]
                if !query.is_empty() && limit.parse::<usize>().is_ok() =>
            {
                let limit = limit.parse().unwrap_or(LIMIT);
                self.mcp_search(server, &query.join(" "), limit).await
            }
            ["search", server, query @ ..] if !query.is_empty() => {
                self.mcp_search(server, &query.join(" "), LIMIT).await
            }
            ["sync"] => self.mcp_sync(None).await,
            ["sync", server] => self.mcp_sync(Some(server)).await,
            ["status"] | [] => self.mcp_status(),
            _ => USAGE.to_owned(),
        }
    }

    pub(super) async fn mcp_list(&self, server: &str) -> String {
        let list = self.host.list_resources();
        let list = match server {
            "" => list,
            server => list.server(server),
        };
        let listed = match list.await {
            Ok(listed) => listed,
            Err(error) => return sentence(&error, server),
        };
        let mut text = String::new();
        let mut left = MOST_LISTED;
        for answer in &listed.servers {
            let entries = listed.entries.iter();
            let of_server = entries.filter(|offered| offered.server == answer.name);
            let of_server: Vec<_> = of_server.collect();
            if let (Some(error), true) = (&answer.error, of_server.is_empty()) {
                let _ = writeln!(text, "{}", sentence(error, answer.name.as_str()));
                continue;
            }
            let _ = writeln!(text, "MCP Resources ({}):", answer.name);
            if let Some(error) = &answer.error {
                let _ = writeln!(
                    text,
                    "  (as remembered; {})",
                    safe_text::one_line(&error.to_string())
                );
            }
            for offered in of_server.iter().take(left) {
                let resource = &offered.entry;
                let name = resource.title.as_ref().unwrap_or(&resource.name);
                let _ = writeln!(
                    text,
                    "  {} - {}",
                    safe_text::one_line(&resource.uri),
                    safe_text::one_line(name)
                );
            }
            if of_server.len() > left {
                let _ = writeln!(text, "  … {} more", of_server.len() - left);
            }
            left = left.saturating_sub(of_server.len());
        }
        text.trim_end().to_owned()
    }

    async fn mcp_read(&self, uri: &str) -> String {
        let answer = match self.host.read(uri).await {
            Ok(answer) => answer,
            Err(error) => return unread(&error, uri),
        };
        let contents = answer.contents.contents.iter().map(resource_text);
        let contents: Vec<String> = contents.collect();
        let contents = contents.join("\n");
        let stale = stale(&answer.freshness);
        let stale = stale.map_or_else(String::new, |why| {
            format!("(outdated: {})\n", safe_text::one_line(&why))
        });
        format!(
            "Resource: {}\n{LINE}\n{stale}\n{}",
            safe_text::one_line(uri),
            safe_text::block(&contents)
        )
    }

    async fn mcp_search(&self, server: &str, query: &str, limit: usize) -> String {
        if let Err(problem) = self.has_tool(server, SEARCH_NOTES).await {
            return problem;
        }
        let (result, found) = match self.search_notes(server, query, limit).await {
            Ok(answer) => answer,
            Err(problem) => return not_available(server, &problem),
        };
        let head = format!(
            "Search Results ({server}): \"{}\"\n{LINE}\n",
            safe_text::one_line(query)
        );
        if result.is_error || found.is_empty() {
            return format!("{head}\n{}", safe_text::block(&result.text()));
        }
        let structured = result.structured_content.as_ref();
        let structured = structured.and_then(|json| json.to_value().ok());
        let structured = structured.unwrap_or(Value::Null);
        let total = structured["total"].as_u64().unwrap_or(found.len() as u64);
        let mut text = format!("{head}\nFound {total} notes:\n");
        for (at, note) in found.iter().take(limit).enumerate() {
            let snippet = structured["results"][at]["snippet"].as_str();
            let _ = write!(
                text,
                "\n{}. {}\n   {}\n",
                at + 1,
                safe_text::one_line(&note.title),
                safe_text::one_line(&note.uri)
            );
            if let Some(snippet) = snippet.filter(|snippet| !snippet.is_empty()) {
                let _ = writeln!(text, "   {}", safe_text::one_line(snippet));
            }
        }
        text.trim_end().to_owned()
    }

    async fn mcp_sync(&self, server: Option<&str>) -> String {
        let servers = match server {
            Some(server) => match self.has_tool(server, SYNC).await {
                Ok(()) => vec![server.to_owned()],
                Err(problem) => return problem,
            },
            None => self.servers_with(SYNC).await,
        };
        if servers.is_empty() {
            return format!("no server offers {SYNC}");
        }
        let mut text = String::new();
        for server in servers {
            let _ = writeln!(text, "Syncing {server}...");
            let Ok(name) = server.parse() else { continue };
            let call = self.host.call(ToolName::new(name, SYNC), json!({}));
            // The person typed it.
            match call.origin(CallOrigin::Person).await {
                Ok(result) if result.is_error => {
                    let _ = writeln!(text, "✗ {}", safe_text::block(&result.text()));
                }
                Ok(result) => {
                    let _ = writeln!(
                        text,
                        "{}\n✓ Sync complete",
                        safe_text::block(&result.text())
                    );
                }
                Err(error) => {
                    let _ = writeln!(text, "{}", sentence(&error, &server));
                }
            }
        }
        text.trim_end().to_owned()
    }

    fn mcp_status(&self) -> String {
        let mut text = format!("MCP Server Status:\n{LINE}");
        for server in &self.host.snapshot().servers {
            let failure = server.last_failure.as_ref();
            let failure = failure.map(|failure| safe_text::one_line(&failure.cause).into_owned());
            let state = match server.state {
                ServerState::Ready => {
                    let resources = server.offers.resources.unwrap_or(0);
                    format!("✓ Connected ({resources} resources cached)")
                }
                ServerState::Configured => "– Not started (it starts when it is needed)".to_owned(),
                state => match failure {
                    Some(failure) => format!("✗ Disconnected (Error: {failure})"),
                    None => format!("✗ Disconnected ({})", state.as_str()),
                },
            };
            let _ = write!(text, "\n{}: {state}", server.name);
        }
        text
    }

    /// Whether a server has a tool, or the sentence that says why it cannot be used.
    async fn has_tool(&self, server: &str, tool: &str) -> Result<(), String> {
        let listed = self.host.list_tools().server(server).await;
        let listed = listed.map_err(|error| sentence(&error, server))?;
        if listed
            .entries
            .iter()
            .any(|offered| offered.entry.name == tool)
        {
            return Ok(());
        }
        let failure = listed
            .servers
            .iter()
            .find_map(|answer| answer.error.as_ref());
        Err(match failure {
            Some(error) => sentence(error, server),
            None => format!("Error: Tool '{tool}' not available on server '{server}'."),
        })
    }
}

/// The sentence for a failure that is a server's.
fn sentence(error: &HostError, server: &str) -> String {
    match error {
        HostError::UnknownServer { name, .. } => format!(
            "Error: MCP server '{}' not configured.\nUse /mcp status to see available servers.",
            safe_text::one_line(name)
        ),
        error => not_available(server, &cause(error)),
    }
}

fn not_available(server: &str, cause: &str) -> String {
    format!(
        "Error: MCP server '{}' is not available.\nLast error: {}",
        safe_text::one_line(server),
        safe_text::one_line(cause)
    )
}

fn cause(error: &HostError) -> String {
    match error {
        HostError::Parked { failure, .. } | HostError::Unreachable { failure, .. } => {
            match &failure.cause {
                Cause::Start(error) => error.to_string(),
                Cause::Lost(reason) => reason.to_string(),
            }
        }
        error => error.to_string(),
    }
}

fn unread(error: &HostError, uri: &str) -> String {
    let mut unsure = String::new();
    let is_missing = match error {
        HostError::NotOffered { unasked, .. } => {
            let names: Vec<&str> = unasked.iter().map(|name| name.as_str()).collect();
            if !names.is_empty() {
                // It may be theirs.
                unsure = format!("\nThese servers could not be asked: {}", names.join(", "));
            }
            true
        }
        HostError::Request {
            error: ClientError::Server(error),
            ..
        } => error.meaning == Meaning::ResourceNotFound || is_not_found(&error.message),
        _ => false,
    };
    if is_missing {
        return format!(
            "Error: Resource '{}' not found.{unsure}",
            safe_text::one_line(uri)
        );
    }
    match (error.server(), error.ending()) {
        (Some(server), Some(Ending::ServerError)) => {
            format!("Error: {server}: {}", safe_text::one_line(&cause(error)))
        }
        (Some(server), _) => not_available(server.as_str(), &cause(error)),
        (None, _) => format!("Error: {}", safe_text::one_line(&error.to_string())),
    }
}

/// Seed 000's server says it with the code of any failure.
fn is_not_found(message: &str) -> bool {
    message.to_lowercase().contains("not found")
}
