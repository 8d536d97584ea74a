//! Lists of what servers offer, page by page.

use std::sync::Arc;
use std::time::Duration;

use attache::host::catalog::{Aggregate, Listable, Offered, ServerAnswer};
use attache::host::config::ServerName;
use attache::protocol::{Json, Prompt, Resource, ResourceTemplate, Tool, safe_text};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::routes::Query;
use crate::tools::claims;

/// How many whole entries one page has, and has at most.
const WHOLE: (u64, u64) = (100, 2_000);
/// The same for brief ones: a page that filters as one types wants all of them.
const BRIEF: (u64, u64) = (20_000, 20_000);
/// How long servers of which nothing is known are waited for.
const STARTING_AFTER_MS: u64 = 2_000;
/// How much of a description a brief entry has.
const MOST_DESCRIPTION: usize = 200;

/// What the lists take.
pub(crate) const QUERY: &[Query] = &[
    Query {
        name: "server",
        about: "Of this server only.",
    },
    Query {
        name: "q",
        about: "Words that must all occur in the name, title, description or URI.",
    },
    Query {
        name: "cursor",
        about: "Go on behind the page that gave this as `next_cursor`.",
    },
    Query {
        name: "limit",
        about: "How many entries: 100 unless said, 2,000 at most; 20,000 if they are brief.",
    },
    Query {
        name: "view",
        about: "`whole`, as servers describe them, or `brief`.",
    },
    Query {
        name: "starting_after_ms",
        about: "How long to wait for servers of which nothing is known: 2,000 unless said.",
    },
];

/// What is told briefly of an entry.
#[derive(Default)]
pub(crate) struct Facts<'a> {
    pub(crate) title: Option<&'a str>,
    description: Option<&'a str>,
    claims: Vec<&'static str>,
    uri: Option<&'a str>,
    mime_type: Option<&'a str>,
    size: Option<u64>,
}

/// What can be listed.
pub(crate) trait Entry: Listable + Serialize {
    /// Its own name, which with its server's tells it from all others.
    fn key(&self) -> &str;
    fn name(&self) -> &str;
    fn facts(&self) -> Facts<'_>;
}

impl Entry for Tool {
    fn key(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> Facts<'_> {
        let display = self.display_name();
        Facts {
            title: (display != self.name).then_some(display),
            description: self.description.as_deref(),
            claims: claims(self),
            ..Facts::default()
        }
    }
}

impl Entry for Resource {
    fn key(&self) -> &str {
        &self.uri
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            uri: Some(&self.uri),
            mime_type: self.mime_type.as_deref(),
            size: self.size,
            ..Facts::default()
        }
    }
}

impl Entry for ResourceTemplate {
    fn key(&self) -> &str {
        &self.uri_template
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            uri: Some(&self.uri_template),
            mime_type: self.mime_type.as_deref(),
            ..Facts::default()
        }
    }
}

impl Entry for Prompt {
    fn key(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            ..Facts::default()
        }
    }
}

#[derive(Serialize)]
struct Page<'a, E> {
    entries: Vec<E>,
    next_cursor: Option<String>,
    total: usize,
    servers: &'a [ServerAnswer],
}

#[derive(Serialize)]
struct WholeEntry<'a, T> {
    server: &'a str,
    name: &'a str,
    qualified: &'a str,
    plain: Option<&'a str>,
    entry: &'a T,
}

/// An entry in a line; all texts are safe to show.
#[derive(Serialize)]
struct BriefEntry<'a> {
    server: &'a str,
    /// As it is sent: exact.
    name: &'a str,
    qualified: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    claims: Vec<&'static str>,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

pub(crate) async fn list<T: Entry>(
    console: Arc<Console>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let is_brief = match asked.query("view") {
        None | Some("whole") => false,
        Some("brief") => true,
        Some(_) => return Err(ApiError::bad("view must be whole or brief")),
    };
    let (usual, most) = if is_brief { BRIEF } else { WHOLE };
    let limit = asked.query_number("limit")?.unwrap_or(usual).clamp(1, most);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let patience = asked.query_number("starting_after_ms")?;
    let patience = Duration::from_millis(patience.unwrap_or(STARTING_AFTER_MS));
    let mut list = console.host.list::<T>().or_latest();
    list = list.starting_after(patience);
    if let Some(server) = asked.query("server") {
        list = list.server(known_server(&console, server)?.as_str());
    }
    let all: Aggregate<T> = list.await?;
    let words = asked.query("q").unwrap_or_default().to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    let found: Vec<&Offered<T>> = all.entries.iter().filter(|it| has(it, &words)).collect();
    let from = match asked.query("cursor") {
        Some(cursor) => after(&found, cursor)?,
        None => 0,
    };
    let end = from.saturating_add(limit).min(found.len());
    let shown = &found[from..end];
    let next_cursor = (end < found.len())
        .then(|| shown.last().map(|it| cursor(it)))
        .flatten();
    let (total, servers) = (found.len(), all.servers.as_slice());
    Ok(match is_brief {
        true => ok(&Page {
            entries: shown.iter().map(|it| brief(it)).collect(),
            next_cursor,
            total,
            servers,
        }),
        false => ok(&Page {
            entries: shown.iter().map(|it| whole(it)).collect(),
            next_cursor,
            total,
            servers,
        }),
    })
}

fn has<T: Entry>(offered: &Offered<T>, words: &[&str]) -> bool {
    if words.is_empty() {
        return true;
    }
    let facts = offered.entry.facts();
    let texts = [
        Some(offered.qualified.as_str()),
        Some(offered.entry.name()),
        facts.title,
        facts.description,
        facts.uri,
    ];
    let texts = texts.into_iter().flatten();
    let text = texts.collect::<Vec<_>>().join("\n").to_lowercase();
    words.iter().all(|word| text.contains(word))
}

/// A cursor names the last entry of its page, so pages fit together although lists change.
fn cursor<T: Entry>(offered: &Offered<T>) -> String {
    let last = format!("{}\n{}", offered.server, offered.entry.key());
    URL_SAFE_NO_PAD.encode(last)
}

fn after<T: Entry>(found: &[&Offered<T>], given: &str) -> Result<usize, ApiError> {
    let last = URL_SAFE_NO_PAD.decode(given).ok();
    let last = last.and_then(|last| String::from_utf8(last).ok());
    let at = last.as_deref().and_then(|last| {
        let (server, key) = last.split_once('\n')?;
        let is_last = |it: &&Offered<T>| it.server.as_str() == server && it.entry.key() == key;
        found.iter().position(is_last)
    });
    at.map(|at| at + 1).ok_or_else(|| {
        ApiError::console(
            StatusCode::BAD_REQUEST,
            "cursor_outdated",
            "the list has changed, and the entry that this cursor names is gone",
        )
        .hint("begin again without a cursor")
    })
}

fn whole<'a, T: Entry>(offered: &'a Offered<T>) -> WholeEntry<'a, T> {
    WholeEntry {
        server: offered.server.as_str(),
        name: offered.entry.name(),
        qualified: &offered.qualified,
        plain: offered.plain.as_deref(),
        entry: &offered.entry,
    }
}

fn brief<T: Entry>(offered: &Offered<T>) -> BriefEntry<'_> {
    let facts = offered.entry.facts();
    let line = |text: &str| safe_text::one_line(text).into_owned();
    BriefEntry {
        server: offered.server.as_str(),
        name: offered.entry.name(),
        qualified: &offered.qualified,
        title: facts.title.map(line),
        description: facts.description.map(begins),
        claims: facts.claims,
        bytes: size(&offered.entry),
        uri: facts.uri,
        mime_type: facts.mime_type.map(line),
        size: facts.size,
    }
}

/// The beginning of a description, in one line.
fn begins(description: &str) -> String {
    let first = description.split_whitespace().take(MOST_DESCRIPTION);
    let first = first.collect::<Vec<_>>().join(" ");
    let cut = match first.char_indices().nth(MOST_DESCRIPTION) {
        Some((at, _)) => format!("{}\u{2026}", &first[..at]),
        None => first,
    };
    safe_text::one_line(&cut).into_owned()
}

fn size(entry: &impl Serialize) -> usize {
    Json::from_serialize(entry).map_or(0, |json| json.as_str().len())
}

/// The server of that name, or the error that names one like it.
pub(crate) fn known_server(console: &Console, name: &str) -> Result<ServerName, ApiError> {
    let config = console.host.config(name)?;
    Ok(config.name.clone())
}
