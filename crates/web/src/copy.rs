//! A call or a read as others can make it: a command, a message, a line of curl.

use std::sync::Arc;

use attache::Transport;
use attache::protocol::{Json, Revision, safe_text};
use attache_view::command;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::known_server;

/// What to copy: a call of a tool, or a read of a resource.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyAs {
    /// The server, by its name here.
    server_name: String,
    /// The tool.
    tool_name: Option<String>,
    /// Its arguments.
    #[schemars(with = "Option<serde_json::Value>")]
    arguments: Option<Json>,
    /// The resource, if it is a read.
    uri: Option<String>,
}

#[derive(Serialize)]
struct Copies {
    /// Nothing if it has characters that do not show.
    command: Option<String>,
    json_rpc: String,
    /// Only for servers behind a URL.
    curl: Option<String>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    arguments: &'a Json,
}

#[derive(Serialize)]
struct ReadParams<'a> {
    uri: &'a str,
}

pub(crate) async fn copy(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let wanted: CopyAs = asked.body()?;
    let server = known_server(&console, &wanted.server_name)?;
    let (words, message) = match (&wanted.tool_name, &wanted.uri) {
        (Some(tool), None) => {
            let arguments = wanted.arguments.clone();
            let arguments = arguments
                .or_else(|| Json::parse("{}").ok())
                .unwrap_or_default();
            let params = CallParams {
                name: tool,
                arguments: &arguments,
            };
            let words = command::call_words(&format!("{server}/{tool}"), &arguments);
            (words, command::json_rpc("tools/call", &params))
        }
        (None, Some(uri)) => {
            let words = command::read_words(server.as_str(), uri);
            (
                words,
                command::json_rpc("resources/read", &ReadParams { uri }),
            )
        }
        _ => return Err(ApiError::bad("give either tool_name or uri")),
    };
    let message = message.map_err(|error| ApiError::bad(&error.to_string()))?;
    let message = safe_text::json(&message).into_owned();
    Ok(ok(&Copies {
        command: command::shell_line(&words),
        curl: curl(&console, server.as_str(), &message),
        json_rpc: message,
    }))
}

/// The request to a server behind a URL. Values of headers are secrets: variables stand for them.
fn curl(console: &Console, server: &str, message: &str) -> Option<String> {
    let config = console.host.config(server).ok()?;
    let Transport::Http(http) = config.server.transport() else {
        return None;
    };
    if !http.url.starts_with("http") {
        return None;
    }
    let mut words: Vec<String> = ["curl", "-sS", &http.url].map(str::to_owned).into();
    let mut header = |text: &str| words.extend(["-H".to_owned(), text.to_owned()]);
    header("Content-Type: application/json");
    header("Accept: application/json, text/event-stream");
    let revision = console.host.running(server).map(|client| client.revision());
    if let Some(revision) = revision.filter(|it| *it >= Revision::V2025_06_18) {
        header(&format!("MCP-Protocol-Version: {revision}"));
    }
    words.extend(["--data-binary".to_owned(), message.to_owned()]);
    let mut line = command::shell_line(&words)?;
    for name in http.headers.keys() {
        let variable = name
            .to_ascii_uppercase()
            .replace(|it: char| !it.is_ascii_alphanumeric(), "_");
        let shown = command::shell_word(&format!("{name}: "));
        line.push_str(&format!(" -H {shown}\"${variable}\""));
    }
    Some(line)
}
