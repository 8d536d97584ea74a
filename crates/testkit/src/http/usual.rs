//! What the scripted servers say when nothing special was asked of them.

use serde_json::{Value, json};

use super::answer::Answer;
use super::request::HttpRequest;
use super::script::Kind;

/// The answer of the usual server to a request, head included.
pub(super) fn answer(kind: &Kind, request: &HttpRequest, message: &Value) -> Answer {
    match (kind, request.verb.as_str()) {
        (Kind::Computed(answer), _) => (answer.0)(request),
        (Kind::Nothing, _) => Answer::text("text/html", "<h1>Not here</h1>").with_status(404),
        (Kind::Legacy(_), "DELETE") => Answer::status(200),
        (_, "POST") if message["id"].is_null() => Answer::status(202),
        (_, "POST") if message["method"].is_null() => Answer::status(202),
        (_, "POST") => Answer::usual(),
        _ => Answer::status(405),
    }
}

/// The message that answers a request.
pub(super) fn message(kind: &Kind, request: &Value) -> Value {
    let id = &request["id"];
    match (kind, result(kind, request)) {
        (_, Err((code, text))) => json!({
            "jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text},
        }),
        (Kind::Modern, Ok(mut result)) => {
            result["resultType"] = json!("complete");
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        }
        (_, Ok(result)) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
    }
}

fn result(kind: &Kind, request: &Value) -> Result<Value, (i64, String)> {
    let params = &request["params"];
    let method = request["method"].as_str().unwrap_or_default();
    let capabilities = json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true}, "logging": {},
    });
    match (kind, method) {
        (Kind::Legacy(revision), "initialize") => Ok(json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "serverInfo": {"name": "scripted", "version": "1"},
        })),
        (Kind::Modern, "server/discover") => Ok(json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities,
            "ttlMs": 0,
            "cacheScope": "private",
        })),
        (_, "tools/list") => Ok(json!({
            "tools": [{"name": "echo", "inputSchema": {"type": "object"}}],
            "ttlMs": 0, "cacheScope": "private",
        })),
        (_, "tools/call") => Ok(json!({
            "content": [{"type": "text", "text": params["arguments"].to_string()}],
        })),
        (_, "resources/read") => Ok(json!({
            "contents": [{"uri": params["uri"], "text": "contents"}],
            "ttlMs": 0, "cacheScope": "private",
        })),
        (_, "resources/list") => Ok(json!({
            "resources": [], "ttlMs": 0, "cacheScope": "private",
        })),
        (
            Kind::Legacy(_),
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe",
        ) => Ok(json!({})),
        _ => Err((-32601, format!("no method {method}"))),
    }
}
