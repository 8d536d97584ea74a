//! What handlers can do wrong, and what their clients see of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_server::protocol::{CallToolResult, Content, Json, LogLevel, Resource as Link};
use attache_server::{
    BuildError, Context, EndReason, Failure, NoArguments, Resource, Server, Structured, Template,
    Tool, schemars,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{Process, Wire, call, hello, modern, modern_with, text};

fn failing(name: &str) -> Tool {
    Tool::new(name, "Panics.", |_, _: NoArguments| async {
        if true {
            panic!("on purpose");
        }
        Ok("never")
    })
}

#[tokio::test]
async fn a_panic_costs_its_own_call_only() {
    let early = Tool::raw(
        "early",
        "Panics.",
        Json::from(json!({"type": "object"})),
        |_, _| {
            if true {
                panic!("before the future is there");
            }
            async { Ok("never") }
        },
    );
    let server = hello().tool(failing("panic")).tool(early).build().unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    for tool in ["panic", "early"] {
        let answer = wire.ask(call(1, tool, json!({}))).await;
        assert_eq!(answer["error"]["code"], -32603);
    }
    assert_eq!(text(&wire.ask(call(2, "hello", json!({}))).await), "hello");
    // The id is free again.
    assert_eq!(text(&wire.ask(call(1, "hello", json!({}))).await), "hello");
}

#[test]
fn s_stdio_02_nothing_a_handler_does_reaches_the_wire() {
    let mut server = Process::start("odd_handlers");
    server.send(&crate::support::initialize("2025-11-25", json!({})).to_string());
    server.line();
    for (tool, expected) in [
        ("print", "printed"),
        ("child", "the child succeeded: true"),
        ("print", "printed"),
    ] {
        server.send(&call(2, tool, json!({})).to_string());
        let answer: Value = serde_json::from_str(&server.line()).unwrap();
        assert_eq!(text(&answer), expected);
    }
    server.send(&call(3, "panic", json!({})).to_string());
    assert!(server.line().contains("-32603"));
    server.send(&call(4, "block", json!({"milliseconds": 300})).to_string());
    server.send(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#);
    assert!(
        server.line().starts_with(r#"{"jsonrpc":"2.0","id":5"#),
        "a block stops nobody"
    );
    assert!(server.line().starts_with(r#"{"jsonrpc":"2.0","id":4"#));
    assert_eq!(server.finish(), (vec![], Some(0)));
}

#[test]
fn s_stdio_13_and_fault_68_calls_that_run_at_the_end_of_input_are_answered() {
    let mut server = Process::start("odd_handlers");
    server.send(&crate::support::initialize("2025-11-25", json!({})).to_string());
    server.line();
    server.send(&call(1, "sleep", json!({"milliseconds": 200})).to_string());
    server.send(&call(2, "sleep", json!({"milliseconds": 2_500})).to_string());
    let (lines, code) = server.finish();
    assert_eq!(code, Some(0));
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, id) in lines.iter().zip(1..) {
        let begin = format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#);
        assert!(line.starts_with(&begin), "{line}");
    }
}

/// A client that was killed leaves no server at work behind.
#[test]
fn a_server_whose_stdout_nobody_reads_ends_in_the_middle_of_a_call() {
    let mut server = Process::start("odd_handlers");
    server.send(&crate::support::initialize("2025-11-25", json!({})).to_string());
    server.line();
    server.send(&call(1, "sleep", json!({"milliseconds": 600_000})).to_string());
    assert_eq!(server.abandon(Duration::from_secs(30)), Some(0));
}

// S-TOOL-16.
#[tokio::test]
async fn s_tool_09_bad_values_are_told_as_the_revision_wants() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]});
    let tool = Tool::raw("count", "Counts.", Json::from(schema), move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok("counted") }
    });
    let server = hello().tool(tool).build().unwrap();
    for (revision, is_result) in [
        ("2024-11-05", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
    ] {
        let mut wire = Wire::legacy(&server, revision, json!({})).await;
        for arguments in [json!({}), json!({"n": 0}), json!({"n": "1"})] {
            let answer = wire.ask(call(1, "count", arguments)).await;
            assert_eq!(answer["result"]["isError"] == true, is_result, "{answer}");
            assert_eq!(answer["error"]["code"] == -32602, !is_result, "{answer}");
        }
    }
    assert_eq!(
        runs.load(Ordering::Relaxed),
        0,
        "the handler saw nothing of it"
    );
    let mut wire = Wire::new(&server);
    let params = json!({"name": "count", "arguments": {"n": 0}});
    let answer = wire.ask(modern(1, "tools/call", params)).await;
    assert_eq!(answer["result"]["isError"], true);
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Weather {
    degrees: i32,
}

#[tokio::test]
async fn s_tool_11_structured_results_keep_their_promise() {
    let broken = Tool::new("broken", "Breaks its promise.", |_, _: NoArguments| async {
        Ok(CallToolResult {
            structured_content: Some(Json::from(json!({"degrees": "many"}))),
            ..CallToolResult::default()
        })
    });
    let schema = json!({"type": "object", "properties": {"degrees": {"type": "integer"}}});
    let server = Server::builder("test", "1")
        .tool(Tool::new(
            "weather",
            "Tells it.",
            |_, _: NoArguments| async { Ok(Structured(Weather { degrees: 21 })) },
        ))
        .tool(broken.output_schema(Json::from(schema)))
        .build()
        .unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let answer = wire.ask(call(1, "weather", json!({}))).await;
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({"degrees": 21})
    );
    assert_eq!(text(&answer), r#"{"degrees":21}"#);
    let answer = wire.ask(call(2, "broken", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32603);
    // Older clients get the text alone.
    let mut wire = Wire::legacy(&server, "2025-03-26", json!({})).await;
    let answer = wire.ask(call(1, "weather", json!({}))).await;
    assert_eq!(
        answer["result"],
        json!({"content": [{"type": "text", "text": r#"{"degrees":21}"#}]})
    );
}

#[tokio::test]
async fn older_revisions_get_what_they_know() {
    let link = Tool::new("link", "Links.", |_, _: NoArguments| async {
        Ok(vec![Content::ResourceLink(Link::new("a://b", "b"))])
    });
    let server = Server::builder("test", "1")
        .tool(link.title("Link").annotations(Default::default()))
        .build()
        .unwrap();
    for (revision, kind, titled, annotated) in [
        ("2024-11-05", "text", false, false),
        ("2025-03-26", "text", false, true),
        ("2025-06-18", "resource_link", true, true),
    ] {
        let mut wire = Wire::legacy(&server, revision, json!({})).await;
        let list = wire
            .ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
            .await;
        let tool = &list["result"]["tools"][0];
        assert_eq!(tool.get("title").is_some(), titled, "{revision}");
        assert_eq!(tool.get("annotations").is_some(), annotated, "{revision}");
        let answer = wire.ask(call(2, "link", json!({}))).await;
        assert_eq!(answer["result"]["content"][0]["type"], kind, "{revision}");
    }
}

#[tokio::test]
async fn x_canc_02_a_cancelled_call_is_stopped_and_not_answered() {
    for cancel in [
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}),
    ] {
        let (started, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (starting, stopping) = (Arc::clone(&started), Arc::clone(&stopped));
        let wait = Tool::new("wait", "Waits.", move |context: Context, _: NoArguments| {
            let (starting, stopping) = (Arc::clone(&starting), Arc::clone(&stopping));
            async move {
                tokio::spawn(async move {
                    context.cancelled().await;
                    stopping.notify_one();
                });
                starting.notify_one();
                std::future::pending::<()>().await;
                Ok("never")
            }
        });
        let server = hello().tool(wait).build().unwrap();
        let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
        wire.send(&call(1, "wait", json!({}))).await;
        started.notified().await;
        // The id of a running request is taken (X-BASE-04).
        let refused = wire.ask(call(1, "hello", json!({}))).await;
        assert_eq!(refused["error"]["code"], -32600);
        wire.send(&cancel).await;
        stopped.notified().await;
        assert_eq!(text(&wire.ask(call(1, "hello", json!({}))).await), "hello");
        // Cancelling what is unknown, done or malformed is nobody's loss (X-CANC-04).
        wire.send(&cancel).await;
        wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}})).await;
        assert_eq!(wire.finish().await, (vec![], EndReason::EndOfInput));
    }
}

// X-PROG-03.
#[tokio::test]
async fn x_prog_02_and_s_log_04_news_are_sent_where_they_are_wanted() {
    let chatty = Tool::new(
        "chatty",
        "Talks.",
        |context: Context, _: NoArguments| async move {
            for progress in [1.0, 1.0, 0.5, f64::NAN, 2.0] {
                context.progress_with(progress, Some(2.0), "working");
            }
            context.log(LogLevel::Debug, "small");
            context.log_from("part", LogLevel::Warning, &json!({"big": true}));
            Ok("done")
        },
    );
    let server = hello().tool(chatty).logging().build().unwrap();
    let with_token = |mut request: Value| {
        request["params"]["_meta"]["progressToken"] = json!("t");
        request
    };
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    wire.send(&with_token(call(1, "chatty", json!({})))).await;
    for progress in [1.0, 2.0] {
        let news = wire.next().await;
        assert_eq!(news["params"]["progress"], progress);
        assert_eq!(news["params"]["message"], "working");
    }
    let news = wire.next().await;
    assert_eq!(
        news["params"],
        json!({"level": "warning", "logger": "part", "data": {"big": true}})
    );
    assert_eq!(text(&wire.next().await), "done");
    wire.ask(json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "error"}})).await;
    assert_eq!(text(&wire.ask(call(3, "chatty", json!({}))).await), "done");

    let mut wire = Wire::new(&server);
    let params = json!({"name": "chatty", "arguments": {}});
    assert_eq!(
        text(&wire.ask(modern(1, "tools/call", params.clone())).await),
        "done"
    );
    let mut request = modern_with(2, "tools/call", params, json!({}));
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    wire.send(&request).await;
    assert_eq!(wire.next().await["params"]["level"], "debug");
    assert_eq!(wire.next().await["params"]["level"], "warning");
    assert_eq!(text(&wire.next().await), "done");
}

// X-ERR-02, X-ERR-05.
#[tokio::test]
async fn s_res_04_and_05_what_is_not_there_has_its_era_s_code() {
    let server = Server::builder("test", "1")
        .resource(Resource::new("a://fixed", "fixed", |_, it| async move {
            Ok(it.text("text/plain", "x"))
        }))
        .template(Template::new("a://item/{id}", "item", |_, it| async move {
            match it.variable("id") {
                "none" => Err(Failure::resource_not_found(&it.uri)),
                id => Ok(it.text("text/plain", format!("item {id}"))),
            }
        }))
        .build()
        .unwrap();
    let read = |uri: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}});
    let mut legacy = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let mut wire = Wire::new(&server);
    for (uri, expected) in [
        ("a://fixed", Some("x")),
        ("a://item/7", Some("item 7")),
        ("a://item/none", None),
        ("a://item/7/8", None),
        ("b://", None),
    ] {
        let answer = legacy.ask(read(uri)).await;
        let modern = wire
            .ask(modern(1, "resources/read", json!({"uri": uri})))
            .await;
        match expected {
            Some(expected) => {
                assert_eq!(answer["result"]["contents"][0]["text"], expected);
                assert_eq!(modern["result"]["contents"][0]["text"], expected);
                assert_eq!(modern["result"]["ttlMs"], 0);
            }
            None => {
                assert_eq!(answer["error"]["code"], -32002);
                assert_eq!(modern["error"]["code"], -32602);
                assert_eq!(modern["error"]["data"]["uri"], uri);
            }
        }
    }
}

// S-TOOL-04.
#[test]
fn what_cannot_be_served_is_refused_when_it_is_built() {
    let raw = |name: &str, schema: Value| {
        Tool::raw(name, "x", Json::from(schema), |_, _| async { Ok("x") })
    };
    let object = || json!({"type": "object"});
    let build = |tool: Tool| hello().tool(tool).build().map(|_| ()).unwrap_err();
    assert!(matches!(
        build(raw("hello", object())),
        BuildError::Duplicate { kind: "tool", .. }
    ));
    assert!(matches!(
        build(raw("", object())),
        BuildError::BadToolName(_)
    ));
    assert!(matches!(
        build(raw("a b", object())),
        BuildError::BadToolName(_)
    ));
    assert!(matches!(
        build(raw(&"x".repeat(129), object())),
        BuildError::BadToolName(_)
    ));
    assert!(matches!(
        build(raw("x", json!(null))),
        BuildError::BadSchema { .. }
    ));
    let remote = json!({"type": "object", "$ref": "https://example.org/x"});
    assert!(matches!(
        build(raw("x", remote)),
        BuildError::BadSchema { .. }
    ));
    assert!(
        hello()
            .tool(raw(&"x".repeat(128), object()))
            .build()
            .is_ok()
    );
}

/// Both pages are compiled as documentation tests, here and with the library; they have one program,
/// each with the name its readers know the kit by.
#[test]
fn the_server_on_the_front_page_is_the_one_that_is_compiled() {
    let front = include_str!("../../../../README.md");
    let own = include_str!("../../README.md");
    let program = |page: &'static str, fence: &str| -> &'static str {
        let (_, behind) = page.split_once(fence).unwrap();
        behind.split("```").next().unwrap()
    };
    let (_, section) = front.split_once("## Write a server").unwrap();
    let compiled = program(own, "```no_run\n");
    let repeated = program(section, "```rust,no_run\n");
    let repeated = repeated.replace("attache::server::", "attache_server::");
    assert_eq!(repeated, compiled);
    assert!(compiled.lines().count() < 30);
}
