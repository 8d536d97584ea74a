//! One tool: what it claims, how it stands to what was approved, and all of its definition.

use std::sync::Arc;
use std::time::Duration;

use attache::host::catalog::Aggregate;
use attache::host::config::ServerName;
use attache::host::{Error, nearest};
use attache::protocol::{Json, Tool, safe_text};
use attache_view::form::Form;
use axum::response::Response;
use serde::Serialize;

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::{Entry as _, known_server};
use crate::pins::{self, PinView};

/// How long a list is waited for that only embellishes an answer.
const KNOWN_AFTER: Duration = Duration::from_millis(250);

/// What a tool claims about itself, in words: hints, never authority (S19).
pub(crate) fn claims(tool: &Tool) -> Vec<&'static str> {
    let Some(hints) = &tool.annotations else {
        return Vec::new();
    };
    let words = [
        (hints.read_only, "read-only"),
        (hints.destructive, "destructive"),
        (hints.idempotent, "idempotent"),
        (hints.open_world, "open-world"),
    ];
    let claimed = words.into_iter().filter(|(claim, _)| *claim == Some(true));
    claimed.map(|(_, word)| word).collect()
}

/// One tool, whole.
#[derive(Serialize)]
struct ToolView<'a> {
    server: &'a str,
    name: &'a str,
    qualified: String,
    title: Option<String>,
    description: Option<String>,
    claims: Vec<&'static str>,
    bytes: usize,
    signature: String,
    task: Option<&'a str>,
    pin: Option<PinView>,
    entry: &'a Tool,
    entry_pretty: String,
}

pub(crate) async fn tool(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = known_server(&console, asked.part("server"))?;
    let name = asked.part("tool");
    let tools = console.host.list_tools().server(server.as_str());
    let tools = tools.or_latest().await?;
    let found = tools.entries.iter().find(|it| it.entry.name == name);
    let Some(found) = found else {
        return Err(not_listed(&tools, &server, name));
    };
    let tool = &found.entry;
    console.tools.keep(&server, tool);
    let execution = tool.execution.as_ref();
    let json = Json::from_serialize(tool).unwrap_or_default();
    Ok(ok(&ToolView {
        server: server.as_str(),
        name: &tool.name,
        qualified: found.qualified.clone(),
        title: tool
            .facts()
            .title
            .map(|it| safe_text::one_line(it).into_owned()),
        description: tool
            .description
            .as_deref()
            .map(|it| safe_text::block(it).into_owned()),
        claims: claims(tool),
        bytes: json.as_str().len(),
        signature: Form::of_tool(tool).signature(),
        task: execution.and_then(|it| it.task_support.as_deref()),
        pin: pins::view(&console.host, server.as_str(), tool),
        entry: tool,
        entry_pretty: attache_view::indented(&safe_text::json(json.as_str())),
    }))
}

fn not_listed(tools: &Aggregate<Tool>, server: &ServerName, name: &str) -> ApiError {
    // A server that could not be asked is the better reason.
    let failed = tools
        .servers
        .iter()
        .find_map(|answer| answer.error.as_ref());
    if let Some(error) = failed {
        return error.into();
    }
    let names = tools.entries.iter().map(|it| it.entry.name.as_str());
    ApiError::from(Error::NotOffered {
        kind: "tool",
        name: format!("{server}/{name}"),
        nearest: nearest(name, names).map(str::to_owned),
        unasked: Vec::new(),
    })
}

/// A tool as it is known without waiting long for its server.
pub(crate) async fn known_tool(console: &Console, server: &ServerName, name: &str) -> Option<Tool> {
    if let Some(tool) = console.tools.get(server, name) {
        return Some(tool);
    }
    let list = console.host.list_tools().server(server.as_str());
    let known = list
        .or_latest()
        .remembered_after(KNOWN_AFTER)
        .starting_after(KNOWN_AFTER);
    let mut known = known.await.ok()?.entries.into_iter();
    let tool = known.find(|it| it.entry.name == name)?.entry;
    console.tools.keep(server, &tool);
    Some(tool)
}
