//! The schema check on the official schemas, which `MCP_SCHEMA_DIR` must name.
//!
//! `scripts/test` knows these tests by the name of this module, to leave them out and say so where
//! there are no schemas.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use attache_testkit::chaos::{Action, REVISIONS, Reply, Script, TaskPlan, When};
use attache_testkit::schema::{SCHEMA_VARIABLE, Schemas};
use serde_json::{Value, json};

use crate::support::{Peer, modern_meta};

const MODERN: &str = "2026-07-28";

/// The official schemas. A test that needs them must not pass without.
fn official() -> Schemas {
    Schemas::from_env().unwrap_or_else(|| {
        panic!("{SCHEMA_VARIABLE} must name the folder with the official schemas")
    })
}

/// Every official example: the definition it illustrates, its name, its value.
fn examples(schemas: &Schemas) -> Vec<(String, String, Value)> {
    let folder = schemas.folder().join(MODERN).join("examples");
    let mut found = Vec::new();
    let entries = |path: &Path| {
        std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    for definition in entries(&folder) {
        for example in entries(&definition) {
            let name = definition
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned();
            let value = serde_json::from_slice(&std::fs::read(&example).unwrap()).unwrap();
            found.push((name, example.display().to_string(), value));
        }
    }
    found
}

#[test]
fn the_official_examples_are_valid() {
    let schemas = official();
    let examples = examples(&schemas);
    assert_eq!(examples.len(), 129);
    for (definition, name, value) in &examples {
        if let Err(reason) = schemas.check_definition(MODERN, definition, value) {
            panic!("{name}: {reason}");
        }
    }
}

#[test]
fn mutated_examples_are_refused() {
    let schemas = official();
    let path = schemas.folder().join(MODERN).join("schema.json");
    let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut refused = 0;
    for (definition, name, value) in examples(&schemas) {
        let described = &document["$defs"][&definition];
        let is_refused = |mutated: &Value, change: String| {
            let checked = schemas.check_definition(MODERN, &definition, mutated);
            assert!(checked.is_err(), "{name}: {change} is accepted");
        };
        for key in described["required"].as_array().into_iter().flatten() {
            let key = key.as_str().unwrap();
            let mut mutated = value.clone();
            mutated.as_object_mut().unwrap().remove(key);
            is_refused(&mutated, format!("leaving out {key}"));
            refused += 1;
        }
        for (key, property) in described["properties"].as_object().into_iter().flatten() {
            if value.get(key).is_none() || property.get("type").is_none() {
                continue;
            }
            let mut mutated = value.clone();
            mutated[key] = if value[key].is_object() {
                json!(5)
            } else {
                json!({"not": "this"})
            };
            is_refused(&mutated, format!("another type of {key}"));
            refused += 1;
        }
    }
    println!("{refused} mutations refused");
    assert!(refused > 400, "{refused}");
}

/// Requests that the correct server answers with a result, in every revision.
fn questions(revision: &str) -> Vec<(&'static str, Value)> {
    let mut questions = vec![
        ("tools/list", json!({})),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"message": "m"}}),
        ),
        ("tools/call", json!({"name": "fail"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "chaos://text"})),
        ("resources/read", json!({"uri": "chaos://binary"})),
        ("prompts/list", json!({})),
        (
            "prompts/get",
            json!({"name": "greet", "arguments": {"name": "Ada"}}),
        ),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "greet"},
                "argument": {"name": "name", "value": "a"},
            }),
        ),
        ("tools/call", json!({"name": "chatty"})),
    ];
    if revision == MODERN {
        questions.push(("server/discover", json!({})));
        questions.push(("tools/call", json!({"name": "ask"})));
        for (_, params) in &mut questions {
            params["_meta"] = modern_meta();
        }
    } else {
        questions.push(("ping", json!({})));
        questions.push(("logging/setLevel", json!({"level": "debug"})));
        questions.push(("resources/subscribe", json!({"uri": "chaos://text"})));
    }
    if revision == "2025-11-25" {
        questions.push(("tools/call", json!({"name": "task", "task": {"ttl": 1000}})));
        questions.push(("tasks/list", json!({})));
    }
    questions
}

#[test]
fn the_correct_server_sends_valid_messages_only() {
    let schemas = official();
    for revision in REVISIONS {
        let requests = json!({"q": {"method": "roots/list"}});
        let script = Script::of_revision(revision)
            .on(
                When::tool("chatty"),
                [
                    Action::progress([0.5]),
                    Action::log("info", "m"),
                    Action::text("done"),
                ],
            )
            .on(
                When::tool("ask"),
                [Reply::input_required(requests, "s", 1).into()],
            )
            .on(
                When::tool("task"),
                [
                    Reply::task(TaskPlan::completing(Duration::ZERO, json!({"content": []})))
                        .into(),
                ],
            );
        let mut peer = Peer::start(&script);
        let mut asked = HashMap::from([("\"init\"".to_owned(), "initialize")]);
        if revision != MODERN {
            let answer = peer.initialize();
            schemas
                .check_server_message(revision, &answer, Some("initialize"))
                .unwrap();
        }
        for (id, (method, params)) in questions(revision).into_iter().enumerate() {
            asked.insert(id.to_string(), method);
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            schemas
                .check_client_message(revision, &request, None)
                .unwrap();
            peer.send(&request);
            loop {
                let message = peer.message();
                let answering = asked.get(&message["id"].to_string()).copied();
                schemas
                    .check_server_message(revision, &message, answering)
                    .unwrap();
                assert!(message.get("error").is_none(), "{message}");
                if message["id"] == id {
                    break;
                }
            }
        }
    }
}

#[test]
fn messages_of_another_era_or_direction_are_refused() {
    let schemas = official();
    let refused = |checked: Result<(), String>, reason: &str| {
        let error = checked.unwrap_err();
        assert!(error.contains(reason), "{error}");
    };
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for revision in REVISIONS {
        let checked = schemas.check_client_message(revision, &ping, None);
        assert_eq!(checked.is_ok(), revision != MODERN);
        let batch = schemas.check_client_message(revision, &json!([ping]), None);
        assert_eq!(batch.is_ok(), revision == "2025-03-26");
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    refused(schemas.check_client_message(MODERN, &list, None), "_meta");
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}});
    schemas
        .check_client_message("2025-06-18", &answer, Some("roots/list"))
        .unwrap();
    refused(
        schemas.check_client_message(MODERN, &answer, Some("roots/list")),
        "sends no responses",
    );
    refused(
        schemas.check_server_message(MODERN, &ping, None),
        "no ServerRequest",
    );
    let unsupported = json!({"code": -32022, "message": "no"});
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": unsupported});
    refused(
        schemas.check_server_message(MODERN, &error, None),
        "\"data\"",
    );
    schemas
        .check_server_message("2025-06-18", &error, None)
        .unwrap();
    let task = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {
        "taskId": "t", "_meta": modern_meta(),
    }});
    schemas.check_client_message(MODERN, &task, None).unwrap();
    refused(
        schemas.check_client_message("2025-06-18", &task, None),
        "no ClientRequest",
    );
}
