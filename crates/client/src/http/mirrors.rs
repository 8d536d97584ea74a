//! The headers of modern requests: version, method, name, and arguments that tools want mirrored.

use std::collections::HashMap;
use std::sync::Arc;

use attache_protocol::frame::Params;
use attache_protocol::{
    CallTool, Line, Message, Method as _, MirroredParams, Outcome, Payload, ToolPage, header_text,
    meta, mirrored_name, parse_line,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;

use super::session::PROTOCOL_VERSION;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Of how many tools the mirrored arguments are known at the most.
const MOST_TOOLS: usize = 10_000;

/// Which arguments of which tools are mirrored, as the newest list says (C-SHM-21).
#[derive(Debug, Default)]
pub(crate) struct ToolHeaders(Mutex<HashMap<String, Arc<MirroredParams>>>);

impl ToolHeaders {
    /// Takes note of a page of tools.
    pub(crate) fn note(&self, answer: &Bytes) {
        let Some(page) = result_in(answer).and_then(|page| page.decode::<ToolPage>().ok()) else {
            return;
        };
        let mut known = self.0.lock();
        for tool in page.tools.items {
            let schema = tool.input_schema.as_ref();
            let mirrored = schema.and_then(|schema| MirroredParams::of_schema(schema).ok());
            match mirrored.filter(|mirrored| !mirrored.is_empty()) {
                None => drop(known.remove(&tool.name)),
                Some(_) if known.len() >= MOST_TOOLS && !known.contains_key(&tool.name) => {}
                Some(mirrored) => drop(known.insert(tool.name, Arc::new(mirrored))),
            }
        }
    }

    fn of(&self, tool: &str) -> Option<Arc<MirroredParams>> {
        let known = self.0.lock();
        known.get(tool).cloned()
    }

    /// The headers of a request (C-SHM-04 to C-SHM-07, C-SHM-13).
    pub(crate) fn headers(&self, version: &str, method: &str, params: &Params) -> HeaderMap {
        let mut headers = plain_headers(version, method);
        let Some(name) = mirrored_name(method, params) else {
            return headers;
        };
        insert(&mut headers, NAME, &header_text(&name));
        if method != CallTool::NAME {
            return headers;
        }
        let mirrored = self.of(&name).unwrap_or_default();
        for (name, value) in mirrored.headers(params) {
            if let Ok(name) = name.parse::<HeaderName>() {
                insert(&mut headers, name, &value);
            }
        }
        headers
    }
}

/// The headers of any message.
pub(crate) fn plain_headers(version: &str, method: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    insert(&mut headers, PROTOCOL_VERSION, &header_text(version));
    insert(&mut headers, METHOD, &header_text(method));
    headers
}

/// Text that [`header_text`] wrote always fits a header.
fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}

/// The revision that a message states in its metadata.
pub(crate) fn stated_version(message: &[u8]) -> Option<String> {
    let message: serde_json::Value = serde_json::from_slice(message).ok()?;
    let version = &message["params"]["_meta"][meta::PROTOCOL_VERSION];
    version.as_str().map(str::to_owned)
}

/// The result in a successful answer.
pub(crate) fn result_in(answer: &Bytes) -> Option<Payload> {
    match parse_line(answer) {
        Line::Message(Message::Response {
            outcome: Outcome::Result(raw),
            ..
        }) => Some(Payload::of_frame(answer, raw)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(tools: serde_json::Value) -> Bytes {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}});
        Bytes::from(answer.to_string())
    }

    #[track_caller]
    fn check(
        known: &ToolHeaders,
        method: &str,
        params: serde_json::Value,
        expected: &[(&str, &str)],
    ) {
        let headers = known.headers("2026-07-28", method, &Params::write(&params).unwrap());
        let found: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .filter(|(name, _)| *name != "mcp-protocol-version")
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn requests_are_mirrored_as_the_newest_list_says() {
        let known = ToolHeaders::default();
        let call = || json!({"name": "run", "arguments": {"region": "eu", "n": 1}});
        let bare = [("mcp-method", "tools/call"), ("mcp-name", "run")];
        check(&known, "tools/call", call(), &bare);
        let region = json!({"type": "string", "x-mcp-header": "Region"});
        known.note(&listed(json!([
            {"name": "run", "inputSchema": {"type": "object", "properties": {"region": region}}},
        ])));
        let mirrored = [bare[0], bare[1], ("mcp-param-region", "eu")];
        check(&known, "tools/call", call(), &mirrored);
        known.note(&listed(
            json!([{"name": "run", "inputSchema": {"type": "object"}}]),
        ));
        check(&known, "tools/call", call(), &bare);
        check(
            &known,
            "tools/list",
            json!({}),
            &[("mcp-method", "tools/list")],
        );
        let encoded = [
            ("mcp-method", "resources/read"),
            ("mcp-name", "=?base64?YTrDpA==?="),
        ];
        check(&known, "resources/read", json!({"uri": "a:ä"}), &encoded);
    }

    #[test]
    fn the_version_is_found_in_the_metadata() {
        let message = json!({"params": {"_meta": {(meta::PROTOCOL_VERSION): "2026-07-28"}}});
        let found = stated_version(message.to_string().as_bytes());
        assert_eq!(found.as_deref(), Some("2026-07-28"));
        assert_eq!(stated_version(b"{}"), None);
    }
}
