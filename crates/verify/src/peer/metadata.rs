//! What every request of a revision carries beside its own params: metadata, and headers over HTTP.

use std::collections::BTreeMap;

use attache_protocol::{Era, Revision};
use serde_json::{Value, json};

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What the metadata of every modern request holds.
pub(crate) fn modern_meta(version: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([
        (VERSION_KEY.to_owned(), json!(version)),
        (CAPABILITIES_KEY.to_owned(), json!({})),
        (
            CLIENT_KEY.to_owned(),
            json!({"name": "attache-verify", "version": env!("CARGO_PKG_VERSION")}),
        ),
    ])
}

/// The headers of a correct POST.
pub(crate) fn http_headers(
    message: &Value,
    revision: Revision,
    negotiated: Option<&str>,
    session: Option<&str>,
) -> Vec<(String, String)> {
    let mut headers = vec![
        ("Content-Type".to_owned(), "application/json".to_owned()),
        (
            "Accept".to_owned(),
            "application/json, text/event-stream".to_owned(),
        ),
    ];
    let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
    let method = message["method"].as_str();
    match revision.era() {
        Era::Modern => {
            let meta = &message["params"]["_meta"][VERSION_KEY];
            let version = meta.as_str().map(str::to_owned);
            add(
                "MCP-Protocol-Version",
                &version.unwrap_or_else(|| revision.to_string()),
            );
            if let Some(method) = method {
                add("Mcp-Method", method);
            }
            if let Some(name) = mirrored_name(message) {
                add("Mcp-Name", &header_value(&name));
            }
        }
        Era::Legacy => {
            if let Some(session) = session {
                add("Mcp-Session-Id", session);
            }
            if let Some(version) = negotiated
                && method != Some("initialize")
            {
                add("MCP-Protocol-Version", version);
            }
        }
    }
    headers
}

/// What `Mcp-Name` holds for a request.
fn mirrored_name(message: &Value) -> Option<String> {
    let params = &message["params"];
    let value = match message["method"].as_str()? {
        "tools/call" | "prompts/get" => &params["name"],
        "resources/read" => &params["uri"],
        "tasks/get" | "tasks/update" | "tasks/cancel" => &params["taskId"],
        _ => return None,
    };
    value.as_str().map(str::to_owned)
}

/// A text as a header's value.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let has_edge = text.starts_with(' ') || text.ends_with(' ');
    if is_plain && !has_edge && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("=?base64?{encoded}?=")
}
