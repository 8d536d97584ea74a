//! Every limit at its limit, by the setting that names it:
//!
//! | Setting | Test |
//! |---|---|
//! | `max_frame` | `fault_23_a_message_of_the_greatest_length_and_one_longer` |
//! | `max_running`, `max_waiting` | `so_many_handlers_run_and_so_many_requests_wait`; over HTTP `http::so_many_requests_run_and_wait` |
//! | `max_output` | `a_client_that_does_not_read_is_not_read_from_and_loses_news_only` |
//! | `page_size` | `lists_come_in_pages_of_a_size` |
//! | `max_watched` | `so_many_resources_are_watched` |
//! | `max_listens` | `so_many_subscriptions_are_open` |
//! | `max_tasks` | `so_many_tasks_are_kept` |
//! | `task_ttl` | `a_task_is_kept_so_long_at_most`, `tasks::x_tskx_16_tasks_expire` |
//! | `max_questions` | `so_many_questions_are_asked`, `so_many_questions_are_asked_of_a_legacy_client`, `so_many_questions_are_asked_by_a_task` |
//! | `max_state` | `a_state_has_a_greatest_length` |
//! | `state_ttl` | `asking::s_mrtr_08_a_state_expires` |
//! | `max_redeemed` | `asking::s_mrtr_09_a_redeemed_state_is_good_once` |
//! | `end_grace` | `ending::fault_68_what_runs_is_finished_or_answered_with_an_error` |
//! | `last_read` | `ending::a_client_that_reads_slowly_gets_everything_and_one_that_does_not_cannot_keep_the_server` |
//! | HTTP `max_body` | `http::fault_61_a_body_has_a_greatest_length` |
//! | HTTP `max_connections` | `http_limits::fault_70_so_many_connections_are_open_and_those_that_wait_make_room`, `http_limits::fault_70_a_server_with_few_descriptors_does_not_go_deaf` |
//! | HTTP `header_timeout` | `http_limits::fault_70_a_head_that_does_not_end_is_given_up` |
//! | HTTP `body_timeout` | `http_limits::fault_70_a_body_that_does_not_end_is_given_up` |
//! | HTTP `max_unfinished_bytes` | `http_limits::fault_70_unfinished_bodies_hold_so_much_together` |
//! | HTTP `max_sessions`, `max_sessions_per_principal` | `http_limits::fault_70_the_idlest_session_of_a_principal_makes_room` |
//! | HTTP `session_idle` | `http_streams::a_session_that_is_not_used_ends` |
//! | HTTP `max_kept_bytes` | `http_limits::fault_70_kept_events_of_all_sessions_share_one_budget` |
//! | HTTP `max_events` | `http_streams::so_many_events_wait_for_a_client_that_does_not_read`, `http_streams::a_subscription_that_does_not_keep_up_ends` |
//! | HTTP `max_event_bytes` | `http_streams::so_many_bytes_wait_for_a_client_that_does_not_read` |
//! | HTTP `max_streams` | `http_streams::so_many_finished_streams_are_kept_for_clients_that_come_back` |
//! | HTTP `keep_alive` | `http_streams::a_silent_stream_shows_that_it_is_alive` |
//! | HTTP `retry` | `http_streams::s_shl_20_to_22_a_client_comes_back_for_the_rest` |

use std::sync::Arc;
use std::time::Duration;

use attache_server::http::HttpSettings;
use attache_server::protocol::{ElicitParams, Json};
use attache_server::{Context, Failure, NoArguments, Resource, Server, TaskSupport, Tool};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::http_client::{Post, start};
use crate::support::{Wire, call, hello, initialize, modern, modern_with, text};

#[test]
fn every_setting_is_in_the_table_and_every_test_of_the_table_exists() {
    let pages = [
        ("limits", include_str!("limits.rs")),
        ("http", include_str!("http.rs")),
        ("http_limits", include_str!("http_limits.rs")),
        ("http_streams", include_str!("http_streams.rs")),
        ("tasks", include_str!("tasks.rs")),
        ("asking", include_str!("asking.rs")),
        ("ending", include_str!("ending.rs")),
    ];
    let rows = pages[0]
        .1
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "));
    let rows: Vec<(&str, &str)> = rows.filter_map(|row| row.split_once(" | ")).collect();
    let settings = [
        include_str!("../../src/settings.rs"),
        include_str!("../../src/http/settings.rs"),
    ];
    // What bounds nothing: where the server is found, who may reach it, and the limits as a whole.
    let unbounded = ["path", "allowed_hosts", "allowed_origins", "limits"];
    for line in settings.iter().flat_map(|page| page.lines()) {
        let Some((name, _)) = line
            .strip_prefix("    pub ")
            .and_then(|it| it.split_once(": "))
        else {
            continue;
        };
        if name.starts_with("fn ") {
            continue;
        }
        let has_row = rows
            .iter()
            .any(|(names, _)| names.contains(&format!("`{name}`")));
        assert!(has_row || unbounded.contains(&name), "{name} has no test");
    }
    for test in rows
        .iter()
        .skip(1)
        .flat_map(|(_, tests)| tests.split('`').skip(1).step_by(2))
    {
        let (page, name) = test.split_once("::").unwrap_or(("limits", test));
        let (_, page) = pages.iter().find(|(it, _)| *it == page).unwrap();
        assert!(page.contains(&format!("fn {name}()")), "{test} is missing");
    }
}

fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

/// A tool that waits until somebody opens the gate.
fn gated(gate: &Arc<Semaphore>) -> Tool {
    let gate = Arc::clone(gate);
    Tool::new("wait", "Waits.", move |_, _: NoArguments| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await?.forget();
            Ok("done")
        }
    })
}

#[tokio::test]
async fn fault_23_a_message_of_the_greatest_length_and_one_longer() {
    let server = hello().limits(|it| it.max_frame = 4096).build().unwrap();
    let mut wire = Wire::new(&server);
    let padded = |id: u64, length: usize| {
        let message = ping(id).to_string();
        format!("{message}{}", " ".repeat(length - message.len()))
    };
    wire.send_text(&padded(1, 4096)).await;
    assert_eq!(wire.next().await["id"], 1);
    // A line that is only a little longer, and one that is never at hand as a whole.
    for length in [4097, 100_000] {
        wire.send_text(&padded(2, length)).await;
        let refused = wire.next_unjudged().await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        wire.send(&ping(3)).await;
        assert_eq!(wire.next().await["id"], 3, "the next message works");
    }
}

// S-TOOL-16, S-CMP-05.
#[tokio::test]
async fn so_many_handlers_run_and_so_many_requests_wait() {
    let gate = Arc::new(Semaphore::new(0));
    let server = hello()
        .tool(gated(&gate))
        .limits(|it| (it.max_running, it.max_waiting) = (2, 3))
        .build()
        .unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    for id in 1..=6 {
        wire.send(&call(id, "wait", json!({}))).await;
    }
    let refused = wire.next().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(6), &json!(-32603))
    );
    // What needs no handler is served all the same.
    assert_eq!(wire.ask(ping(7)).await["result"], json!({}));
    // One that waits can be cancelled like one that runs.
    wire.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}),
    )
    .await;
    gate.add_permits(4);
    let mut answered = Vec::new();
    for _ in 1..=4 {
        answered.push(wire.next().await["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4]);
    gate.add_permits(1);
    assert_eq!(text(&wire.ask(call(8, "wait", json!({}))).await), "done");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from_and_loses_news_only() {
    let chatty = Tool::new(
        "chatty",
        "Talks.",
        |context: Context, _: NoArguments| async move {
            for progress in 1..=2_000_u32 {
                context.progress_with(progress.into(), None, &"x".repeat(100));
            }
            Ok("done")
        },
    );
    let server = hello()
        .tool(chatty)
        .limits(|it| it.max_output = 10_000)
        .build()
        .unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let mut request = call(0, "chatty", json!({}));
    request["params"]["_meta"]["progressToken"] = json!(1);
    wire.send(&request).await;
    let mut news = 0;
    loop {
        let message = wire.next().await;
        if message["id"] == 0 {
            break;
        }
        news += 1;
    }
    assert!((50..2_000).contains(&news), "{news} news came");
    // Sending without reading comes to a halt instead of filling memory.
    let flood = format!("{}\n", call(1, "hello", json!({}))).repeat(10_000);
    let stuck = tokio::time::timeout(
        Duration::from_millis(300),
        wire.send_without_reading(&flood),
    );
    assert!(stuck.await.is_err(), "the server took everything");
}

#[tokio::test]
async fn lists_come_in_pages_of_a_size() {
    let mut builder = hello().limits(|it| it.page_size = 2);
    for number in 1..=3 {
        builder = builder.tool(Tool::new(
            format!("t{number}"),
            "x",
            |_, _: NoArguments| async { Ok("x") },
        ));
    }
    let mut wire = Wire::new(&builder.build().unwrap());
    let first = wire.ask(modern(1, "tools/list", json!({}))).await;
    assert_eq!(first["result"]["tools"].as_array().unwrap().len(), 2);
    let cursor = first["result"]["nextCursor"].clone();
    let second = wire
        .ask(modern(2, "tools/list", json!({"cursor": cursor})))
        .await;
    assert_eq!(second["result"]["tools"].as_array().unwrap().len(), 2);
    assert_eq!(second["result"].get("nextCursor"), None);
}

#[tokio::test]
async fn so_many_resources_are_watched() {
    let mut builder = Server::builder("test", "1")
        .subscriptions()
        .limits(|it| it.max_watched = 2);
    for number in 1..=3 {
        let uri = format!("a://{number}");
        builder = builder.resource(Resource::new(uri, "x", |_, it| async move {
            Ok(it.text("text/plain", "x"))
        }));
    }
    let server = builder.build().unwrap();
    let watch = |method: &str, number: u64| json!({"jsonrpc": "2.0", "id": 1, "method": format!("resources/{method}"), "params": {"uri": format!("a://{number}")}});
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    for number in [1, 2, 1] {
        assert_eq!(
            wire.ask(watch("subscribe", number)).await["result"],
            json!({})
        );
    }
    assert_eq!(
        wire.ask(watch("subscribe", 3)).await["error"]["code"],
        -32603
    );
    wire.ask(watch("unsubscribe", 1)).await;
    assert_eq!(wire.ask(watch("subscribe", 3)).await["result"], json!({}));

    let mut wire = Wire::new(&server);
    let listen = |uris: &[&str]| {
        modern(
            1,
            "subscriptions/listen",
            json!({"notifications": {"resourceSubscriptions": uris}}),
        )
    };
    let answer = wire.ask(listen(&["a://1", "a://2", "a://3"])).await;
    assert_eq!(answer["error"]["code"], -32602);
    wire.send(&listen(&["a://1", "a://2"])).await;
    assert_eq!(
        wire.next().await["method"],
        "notifications/subscriptions/acknowledged"
    );
}

#[tokio::test]
async fn so_many_subscriptions_are_open() {
    let server = hello()
        .list_changes()
        .limits(|it| it.max_listens = 1)
        .build()
        .unwrap();
    let mut wire = Wire::new(&server);
    let listen = |id: u64| {
        modern(
            id,
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        )
    };
    wire.send(&listen(1)).await;
    wire.next().await;
    assert_eq!(wire.ask(listen(2)).await["error"]["code"], -32603);
    wire.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    )
    .await;
    // The place is free as soon as the first one is gone.
    loop {
        wire.send(&listen(3)).await;
        if wire.next().await["method"] == "notifications/subscriptions/acknowledged" {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn so_many_tasks_are_kept() {
    let gate = Arc::new(Semaphore::new(0));
    let server = Server::builder("test", "1")
        .tool(gated(&gate).tasks(TaskSupport::Optional))
        .limits(|it| it.max_tasks = 2)
        .build()
        .unwrap();
    let mut wire = Wire::new(&server);
    let extension = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let begin = |id: u64| {
        modern_with(
            id,
            "tools/call",
            json!({"name": "wait", "arguments": {}}),
            extension.clone(),
        )
    };
    for id in [1, 2] {
        assert_eq!(wire.ask(begin(id)).await["result"]["resultType"], "task");
    }
    assert_eq!(wire.ask(begin(3)).await["error"]["code"], -32603);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_kept_so_long_at_most() {
    let gate = Arc::new(Semaphore::new(1));
    let server = Server::builder("test", "1")
        .tool(gated(&gate).tasks(TaskSupport::Optional))
        .limits(|it| it.task_ttl = Duration::from_secs(10))
        .build()
        .unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let mut begin = call(1, "wait", json!({}));
    begin["params"]["task"] = json!({"ttl": 60_000});
    let task = wire.ask(begin).await["result"]["task"].take();
    assert_eq!(task["ttl"], 10_000, "no longer than the server keeps it");
    let look = json!({"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": task["taskId"]}});
    for (seconds, is_kept) in [(9, true), (2, false)] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let state = wire.ask(look.clone()).await;
        assert_eq!(state.get("result").is_some(), is_kept, "{state}");
    }
}

/// A tool that asks so many questions, each with an answer of some size.
fn asking(count: usize) -> Tool {
    Tool::new(
        "ask",
        "Asks.",
        move |context: Context, _: NoArguments| async move {
            for _ in 0..count {
                context
                    .elicit(ElicitParams {
                        message: "?".to_owned(),
                        ..ElicitParams::default()
                    })
                    .await?;
            }
            Ok("done")
        },
    )
}

/// Answers the questions of a modern tool until it gives a result or an error.
async fn rounds(wire: &mut Wire, size: usize) -> (usize, Value) {
    let mut params = json!({"name": "ask", "arguments": {}});
    for round in 0.. {
        let request = modern_with(
            round,
            "tools/call",
            params.clone(),
            json!({"elicitation": {}}),
        );
        let answer = wire.ask(request).await;
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            return (usize::try_from(round).unwrap(), answer);
        }
        let keys = result["inputRequests"].as_object().unwrap().keys();
        let content = json!({"action": "accept", "content": {"text": "x".repeat(size)}});
        params["inputResponses"] = keys
            .map(|key| (key.clone(), content.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        params["requestState"] = result["requestState"].clone();
    }
    unreachable!()
}

#[tokio::test]
async fn so_many_questions_are_asked() {
    for (count, is_allowed) in [(3, true), (4, false)] {
        let server = Server::builder("test", "1")
            .tool(asking(count))
            .limits(|it| it.max_questions = 3);
        let mut wire = Wire::new(&server.build().unwrap());
        let (round, answer) = rounds(&mut wire, 1).await;
        assert_eq!(round, 3);
        assert_eq!(answer.get("result").is_some(), is_allowed, "{answer}");
    }
}

#[tokio::test]
async fn so_many_questions_are_asked_of_a_legacy_client() {
    for (count, is_allowed) in [(3, true), (4, false)] {
        let server = Server::builder("test", "1")
            .tool(asking(count))
            .limits(|it| it.max_questions = 3);
        let server = server.build().unwrap();
        let mut wire = Wire::legacy(&server, "2025-11-25", json!({"elicitation": {}})).await;
        wire.send(&call(1, "ask", json!({}))).await;
        for _ in 1..=3 {
            let question = wire.next().await;
            assert_eq!(question["method"], "elicitation/create");
            let result = json!({"action": "decline"});
            wire.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}))
                .await;
        }
        let answer = wire.next().await;
        assert_eq!(answer.get("result").is_some(), is_allowed, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_questions_are_asked_by_a_task() {
    let extension = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    for (count, status) in [(3, "completed"), (4, "failed")] {
        let server = Server::builder("test", "1")
            .tool(asking(count).tasks(TaskSupport::Optional))
            .limits(|it| it.max_questions = 3);
        let mut wire = Wire::new(&server.build().unwrap());
        let params = json!({"name": "ask", "arguments": {}});
        let begun = modern_with(0, "tools/call", params, extension.clone());
        let task = wire.ask(begun).await["result"]["taskId"].clone();
        let mut answered = 0;
        let mut used = std::collections::BTreeSet::new();
        let last = loop {
            let look = json!({"taskId": task});
            let look = modern_with(1, "tasks/get", look, extension.clone());
            let state = wire.ask(look).await["result"].take();
            let Some(open) = state["inputRequests"]
                .as_object()
                .filter(|it| !it.is_empty())
            else {
                break state;
            };
            let keys = open
                .keys()
                .map(|key| (key.clone(), json!({"action": "decline"})));
            let responses: serde_json::Map<_, _> = keys.collect();
            answered += responses.len();
            for key in responses.keys() {
                assert!(used.insert(key.clone()), "S-TSKE-09: {key} came twice");
            }
            let update = json!({"taskId": task, "inputResponses": responses});
            let update = modern_with(2, "tasks/update", update, extension.clone());
            wire.ask(update).await;
        };
        assert_eq!((answered, &last["status"]), (3, &json!(status)), "{last}");
    }
}

#[tokio::test]
async fn a_state_has_a_greatest_length() {
    let server = Server::builder("test", "1")
        .tool(asking(3))
        .limits(|it| it.max_state = 3000);
    let server = server.build().unwrap();
    let (_, answer) = rounds(&mut Wire::new(&server), 100).await;
    assert_eq!(text(&answer), "done");
    let (_, answer) = rounds(&mut Wire::new(&server), 2000).await;
    assert_eq!(answer["error"]["code"], -32603);
}

#[tokio::test]
async fn fault_26_depth_and_numbers_beyond_reason_harm_nobody() {
    let raw = Tool::raw(
        "echo",
        "Echoes.",
        Json::from(json!({"type": "object"})),
        |_, it: Json| async move { Ok::<_, Failure>(it.to_string()) },
    );
    let mut wire = Wire::legacy(&hello().tool(raw).build().unwrap(), "2025-11-25", json!({})).await;
    let send = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        )
    };
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    wire.send_text(&send(&deep)).await;
    assert_eq!(wire.next().await["error"]["code"], -32600);
    wire.send_text(&send(r#"{"n":123456789012345678901234567890,"d":1e300}"#))
        .await;
    assert_eq!(
        wire.next_unjudged().await["result"]["content"][0]["text"],
        r#"{"n":123456789012345678901234567890,"d":1e300}"#
    );
    wire.send_text(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"hello"}}"#,
    )
    .await;
    assert_eq!(wire.next().await["error"]["code"], -32602);
}

#[tokio::test]
async fn fault_69_depth_is_refused_before_anything_reads_it() {
    let resource = Resource::new("a://one", "one", |_, it| async move {
        Ok(it.text("text/plain", "one"))
    });
    let server = hello().resource(resource).build().unwrap();
    let address = start(&server, HttpSettings::default()).await;
    let opened = Post::legacy(&initialize("2025-11-25", json!({})))
        .send(address)
        .await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let deep = format!("{}{}", "[".repeat(60_000), "]".repeat(60_000));
    let params = json!({"uri": "a://one", "arguments": "DEEP", "inputResponses": {}});
    let request = modern(1, "resources/read", params);
    let texts = [
        request.to_string().replace("\"DEEP\"", &deep),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{deep}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","other":{deep}}}"#),
    ];
    let mut wire = Wire::new(&server);
    for text in &texts {
        for post in [
            Post::modern(&request),
            Post::legacy(&request).header("mcp-session-id", &session),
        ] {
            let answered = post.body(text).send(address).await;
            assert_eq!(answered.status, 400);
            let refusal = answered.json().await;
            let found = (&refusal["id"], &refusal["error"]["code"]);
            assert_eq!(found, (&json!(1), &json!(-32600)), "{refusal}");
        }
        wire.send_text(text).await;
        let refusal = wire.next_unjudged().await;
        let found = (&refusal["id"], &refusal["error"]["code"]);
        assert_eq!(found, (&json!(1), &json!(-32600)), "{refusal}");
    }
    let read = wire
        .ask(modern(2, "resources/read", json!({"uri": "a://one"})))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "one");
}
