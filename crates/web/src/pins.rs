//! How tools stand to what was approved, and approving them as they are shown (S4).

use std::sync::Arc;

use attache::Host;
use attache::host::PinnedTool;
use attache::host::call_log::Action;
use attache::host::policy::{DiffLine, PinState, whole};
use attache::protocol::{Json, Tool};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::known_server;

/// How one tool stands. The lines are the server's text.
#[derive(Debug, Serialize)]
pub(crate) struct PinView {
    name: String,
    state: &'static str,
    /// The digest of what is shown; an approval names it.
    definition: String,
    paths: Vec<String>,
    lines: Vec<DiffLine>,
}

#[derive(Serialize)]
struct Pins<'a> {
    server: &'a str,
    tools: Vec<PinView>,
}

/// Tools to approve.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcceptPins {
    /// Each as it was shown.
    tools: Vec<ShownTool>,
}

/// A tool as it was shown.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShownTool {
    name: String,
    /// The digest that was given with it.
    definition: String,
}

pub(crate) async fn list(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let server = known_server(&console, asked.part("server"))?;
    pins(&console, server.as_str()).await
}

pub(crate) async fn accept(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let wanted: AcceptPins = asked.body()?;
    let server = known_server(&console, asked.part("server"))?;
    if wanted.tools.is_empty() {
        return Err(ApiError::bad("name the tools to approve"));
    }
    let with = Json::from_serialize(&wanted.tools).unwrap_or_default();
    let shown = wanted.tools.into_iter().map(|it| (it.name, it.definition));
    let shown: Vec<(String, String)> = shown.collect();
    console.host.accept_pins(server.as_str(), &shown).await?;
    let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
    let server = server.as_str();
    console
        .host
        .note_action(Action::Approve, Some(server), &names.join(", "), with);
    pins(&console, server).await
}

async fn pins(console: &Console, server: &str) -> Result<Response, ApiError> {
    let tools = console.host.pins(server).await?.into_iter();
    Ok(ok(&Pins {
        server,
        tools: tools.map(|tool| PinView::of(tool, None)).collect(),
    }))
}

/// How one tool stands; nothing if that cannot be told.
pub(crate) fn view(host: &Host, server: &str, tool: &Tool) -> Option<PinView> {
    let pinned = host.pin_of(server, tool).ok()?;
    Some(PinView::of(pinned, Some(tool)))
}

impl PinView {
    /// A tool that was never approved is shown whole, where its definition is at hand.
    fn of(pinned: PinnedTool, tool: Option<&Tool>) -> Self {
        let (state, paths, lines) = match pinned.state {
            None => ("unpinned", Vec::new(), Vec::new()),
            Some(PinState::Same) => ("same", Vec::new(), Vec::new()),
            Some(PinState::New) => ("new", Vec::new(), tool.map(whole).unwrap_or_default()),
            Some(PinState::Drifted(drift)) => ("drifted", drift.paths, drift.lines),
            Some(PinState::NotLocked { .. }) => ("not_locked", Vec::new(), Vec::new()),
        };
        Self {
            name: pinned.name,
            state,
            definition: pinned.definition,
            paths,
            lines,
        }
    }
}
