//! The schema check accepts what is right and refuses what is not.
//!
//! Here with a small schema of the same layout as the official ones.

use attache_testkit::schema::Schemas;
use attache_testkit::scratch::Scratch;
use serde_json::{Value, json};

/// A schema with the layout of the official ones and almost no content.
fn small() -> (Scratch, Schemas) {
    let folder = Scratch::new("schema").unwrap();
    let string = json!({"type": "string"});
    let reference = |name: &str| json!({"$ref": format!("#/definitions/{name}")});
    let call = json!({
        "type": "object", "required": ["method", "params"],
        "properties": {"method": {"const": "tools/call"}, "params": {
            "type": "object", "required": ["name"], "properties": {"name": string},
        }},
    });
    let document = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {
            "JSONRPCRequest": {"required": ["jsonrpc", "id", "method"]},
            "JSONRPCNotification": {"required": ["jsonrpc", "method"]},
            "JSONRPCResponse": {"required": ["jsonrpc", "id", "result"]},
            "JSONRPCError": {"required": ["jsonrpc", "id", "error"]},
            "ClientRequest": {"anyOf": [reference("CallToolRequest"), reference("PingRequest")]},
            "ServerRequest": {"anyOf": [reference("PingRequest")]},
            "PingRequest": {"properties": {"method": {"const": "ping"}}},
            "CallToolRequest": call,
            "CallToolResult": {"required": ["content"]},
            "EmptyResult": {"type": "object"},
        },
    });
    let revision = folder.path().join("small");
    std::fs::create_dir(&revision).unwrap();
    std::fs::write(revision.join("schema.json"), document.to_string()).unwrap();
    let schemas = Schemas::in_folder(folder.path());
    (folder, schemas)
}

#[test]
fn the_definition_is_chosen_by_method_sender_and_question() {
    let (_folder, schemas) = small();
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let client = |message: &Value| schemas.check_client_message("small", message, None);
    let server = |message: &Value, asked| schemas.check_server_message("small", message, asked);
    let refused = |checked: Result<(), String>, reason: &str| {
        let error = checked.unwrap_err();
        assert!(error.contains(reason), "{error}");
    };

    client(&request("tools/call", json!({"name": "x"}))).unwrap();
    refused(
        client(&request("tools/call", json!({}))),
        "\"name\" is a required",
    );
    refused(
        client(&request("tools/call", json!({"name": 1}))),
        "/params/name",
    );
    refused(
        client(&request("tools/list", json!({}))),
        "tools/list is no ClientRequest",
    );
    refused(
        server(&request("tools/call", json!({"name": "x"})), None),
        "no ServerRequest",
    );
    server(&request("ping", json!({})), None).unwrap();
    let mut foreign = request("ping", json!({}));
    foreign["extra"] = json!(1);
    refused(client(&foreign), "foreign member extra");
    refused(
        client(&json!([request("ping", json!({}))])),
        "a message is an object",
    );
    refused(client(&json!({"jsonrpc": "2.0", "id": 1})), "neither");

    let result = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    server(&result(json!({"content": []})), Some("tools/call")).unwrap();
    refused(
        server(&result(json!({})), Some("tools/call")),
        "not a CallToolResult",
    );
    server(&result(json!({})), Some("ping")).unwrap();
    refused(server(&result(json!({})), None), "not given");
    refused(server(&result(json!({})), Some("other")), "no request");
    refused(
        schemas.check_client_message("missing", &json!({}), None),
        "schema.json",
    );
}
