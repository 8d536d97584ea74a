//! What the small correct server offers: tools, resources, a prompt.
//!
//! Owns these descriptions, including the few differences between revisions.
//! Refuses to know how they are asked for or what calling a tool does.

use serde_json::{Value, json};

use super::action::Action;
use super::engine::Engine;
use super::reply::Body;
use super::request::{TASKS_EXTENSION, Wire};
use super::script::{Era, Script, Trigger};

pub(super) const TEXT_URI: &str = "chaos://text";
pub(super) const BINARY_URI: &str = "chaos://binary";

/// The tools as listed: the usual ones and those that rules name.
pub(super) fn tools(script: &Script, wire: Wire) -> Vec<Value> {
    if let Some(tools) = &script.identity.tools {
        return tools.clone();
    }
    let mut tools = usual_tools();
    for rule in &script.rules {
        let Trigger::Message {
            tool: Some(name), ..
        } = &rule.when.trigger
        else {
            continue;
        };
        if tools.iter().any(|tool| tool["name"] == name.as_str()) {
            continue;
        }
        let mut tool = tool(name, "Does what the script says.", json!({}));
        let makes_task = rule.actions.iter().any(creates_task);
        if makes_task && wire == Wire::Legacy && legacy_revision(script) == "2025-11-25" {
            tool["execution"] = json!({"taskSupport": "optional"});
        }
        tools.push(tool);
    }
    tools
}

fn usual_tools() -> Vec<Value> {
    let text = json!({"type": "string"});
    let number = json!({"type": "number"});
    vec![
        tool("echo", "Says the message again.", json!({"message": text})),
        tool(
            "add",
            "Adds two numbers.",
            json!({"a": number, "b": number}),
        ),
        tool(
            "sleep",
            "Answers after some milliseconds, with progress in between.",
            json!({"ms": number, "steps": number}),
        ),
        tool("big", "Answers with many bytes.", json!({"bytes": number})),
        tool(
            "side_effect",
            "Writes the key to the effect log.",
            json!({"key": text}),
        ),
        tool("fail", "Fails with a message.", json!({"message": text})),
        tool("touch", "Changes a resource.", json!({"uri": text})),
        tool(
            "change",
            "Changes a list: tools, prompts or resources.",
            json!({"list": text}),
        ),
        tool(
            "log",
            "Logs a message.",
            json!({"level": text, "message": text}),
        ),
    ]
}

fn tool(name: &str, description: &str, properties: Value) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    })
}

/// Whether a rule names this tool.
pub(super) fn is_scripted_tool(script: &Script, name: &str) -> bool {
    script.rules.iter().any(|rule| {
        matches!(&rule.when.trigger, Trigger::Message { tool: Some(tool), .. } if tool == name)
    })
}

fn creates_task(action: &Action) -> bool {
    matches!(action, Action::Reply(reply) if matches!(reply.body, Body::Task(_)))
}

fn has_tasks(script: &Script) -> bool {
    script
        .rules
        .iter()
        .any(|rule| rule.actions.iter().any(creates_task))
}

/// The revision of the legacy handshake, or nothing for a modern server.
pub(super) fn legacy_revision(script: &Script) -> &str {
    match &script.era {
        Era::Legacy { revision, .. } | Era::Dual { revision, .. } => revision,
        Era::Modern { .. } => "",
    }
}

/// The declared capabilities.
pub(super) fn capabilities(engine: &Engine, wire: Wire) -> Value {
    let script = &engine.script;
    if let Some(capabilities) = &script.identity.capabilities {
        return capabilities.clone();
    }
    let mut capabilities = json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
        "prompts": {"listChanged": true},
        "logging": {},
        "completions": {},
    });
    let revision = legacy_revision(script);
    if wire == Wire::Legacy
        && revision == "2024-11-05"
        && let Some(declared) = capabilities.as_object_mut()
    {
        declared.remove("completions");
    }
    if has_tasks(script) {
        match wire {
            Wire::Modern => capabilities["extensions"] = json!({TASKS_EXTENSION: {}}),
            Wire::Legacy if revision == "2025-11-25" => {
                capabilities["tasks"] =
                    json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
            }
            Wire::Legacy => {}
        }
    }
    capabilities
}

pub(super) fn resources() -> Value {
    json!([
        {"uri": TEXT_URI, "name": "text", "mimeType": "text/plain"},
        {"uri": BINARY_URI, "name": "binary", "mimeType": "application/octet-stream"},
    ])
}

pub(super) fn resource_templates() -> Value {
    json!([{"uriTemplate": "chaos://item/{number}", "name": "item", "mimeType": "text/plain"}])
}

/// The contents of a resource, if there is such a one.
pub(super) fn contents(uri: &str) -> Option<Value> {
    if let Some(number) = uri.strip_prefix("chaos://item/") {
        let text = format!("item {number}");
        return Some(json!([{"uri": uri, "mimeType": "text/plain", "text": text}]));
    }
    match uri {
        TEXT_URI => Some(json!([
            {"uri": uri, "mimeType": "text/plain", "text": "plain text, naïve café ☃"},
        ])),
        // The bytes 0, 1, 2, 3, 255.
        BINARY_URI => Some(json!([
            {"uri": uri, "mimeType": "application/octet-stream", "blob": "AAECA/8="},
        ])),
        _ => None,
    }
}

pub(super) fn prompts() -> Value {
    json!([{
        "name": "greet",
        "description": "A greeting.",
        "arguments": [{"name": "name", "description": "Who is greeted.", "required": true}],
    }])
}

/// Names that completion knows.
pub(super) const COMPLETIONS: [&str; 4] = ["ada", "alan", "barbara", "grace"];

/// One made-up entry of the list of `method`, and the key of that list.
pub(super) fn made_up_entry(method: &str, number: u32) -> Option<(&'static str, Value)> {
    match method {
        "tools/list" => Some((
            "tools",
            tool(&format!("tool-{number}"), "One of many.", json!({})),
        )),
        "resources/list" => Some((
            "resources",
            json!({"uri": format!("chaos://made-up/{number}"), "name": format!("resource-{number}")}),
        )),
        "resources/templates/list" => Some((
            "resourceTemplates",
            json!({
                "uriTemplate": format!("chaos://made-up/{number}/{{x}}"),
                "name": format!("template-{number}"),
            }),
        )),
        "prompts/list" => Some(("prompts", json!({"name": format!("prompt-{number}")}))),
        _ => None,
    }
}
