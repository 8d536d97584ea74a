//! Streams of events that answer a request: notes on the way, questions, resumption.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_client::protocol::{ElicitResult, Ending, Json};
use attache_client::{ElicitationModes, Event};
use attache_testkit::http::{Answer, On};
use serde_json::json;

use crate::{balanced, connected, echo, fails_at_once, legacy, server};

fn result() -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": "$id", "result": {"content": [{"type": "text", "text": "done"}]}})
}

#[tokio::test]
async fn progress_and_logs_come_before_the_answer() {
    let progress = |n: u32| {
        json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": "$id", "progress": n}})
    };
    let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "working"}});
    let stream = Answer::events()
        .message(&progress(1))
        .message(&log)
        .message(&progress(2))
        .message(&result());
    let (_web, client) = connected(legacy().on(On::tool("echo"), stream)).await;
    let mut events = client.events();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let answer = client
        .call("echo", json!({}))
        .on_progress({
            let seen = seen.clone();
            move |note| seen.lock().unwrap().push(note.progress)
        })
        .await
        .unwrap();
    assert_eq!(answer.text(), "done");
    assert_eq!(*seen.lock().unwrap(), [1.0, 2.0]);
    assert!(matches!(&*events.next().await.unwrap(), Event::Log(_)));
}

#[tokio::test]
async fn a_question_on_a_stream_is_answered_by_a_post() {
    let question = json!({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create",
        "params": {"message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}});
    let stream = Answer::events()
        .message(&question)
        .pause(Duration::from_millis(100))
        .message(&result());
    let web = legacy().on(On::tool("echo"), stream).start().await.unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    let client = server(web.url())
        .on_elicitation(ElicitationModes::Form, {
            let asked = asked.clone();
            move |_| {
                asked.fetch_add(1, Ordering::SeqCst);
                async { ElicitResult::accept(Json::from(json!({"sure": true}))) }
            }
        })
        .connect()
        .await
        .unwrap();
    assert_eq!(echo(&client).await.unwrap().text(), "done");
    web.wait_until(|web| web.requests().iter().any(|it| it.message()["id"] == "q1"))
        .await;
    let requests = web.requests();
    let answer = requests
        .iter()
        .find(|it| it.message()["id"] == "q1")
        .unwrap();
    assert_eq!(answer.message()["result"]["action"], "accept");
    assert_eq!(answer.header("mcp-session-id"), Some("session-1"));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

// C-SHL-10.
#[tokio::test]
async fn a_stream_that_the_server_drops_is_resumed_when_it_says() {
    let first = Answer::events().raw("id: ev-1\nretry: 300\ndata:\n\n");
    let rest = Answer::events()
        .raw("id: ev-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[]}}\n\n");
    let script = legacy()
        .on(On::tool("echo"), first)
        .on(On::verb("GET").with_header("last-event-id", "ev-1"), rest);
    let (web, client) = connected(script).await;
    // The answer names the id of the call: the probe, the handshake, the list, then this one.
    client.list_tools().await.unwrap();
    echo(&client).await.unwrap();
    let resumed = web.requests_by("GET");
    let resumed = resumed
        .iter()
        .find(|it| it.header("last-event-id").is_some())
        .unwrap();
    assert_eq!(resumed.header("last-event-id"), Some("ev-1"), "C-SHL-21");
    let waited = resumed.at - web.requests_of("tools/call")[0].at;
    assert!(
        waited >= Duration::from_millis(290),
        "{waited:?} (X-SHL-11)"
    );
    assert_eq!(web.count_of("tools/call"), 1);
    assert!(balanced(&client));
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_leaves_the_outcome_unknown() {
    for (refused, status) in [(true, 405), (true, 404), (false, 400)] {
        let first = Answer::events().raw("id: ev-1\nretry: 0\ndata:\n\n");
        let mut script = legacy().on(On::tool("echo"), first);
        if refused {
            script = script.on(On::verb("GET"), Answer::status(status));
        }
        let (web, client) = connected(script).await;
        let error = fails_at_once(echo(&client)).await;
        assert_eq!(error.ending(), Some(Ending::OutcomeUnknown), "{error}");
        assert_eq!(web.count_of("tools/call"), 1);
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    for answer in [
        Answer::events().usual_message(),
        Answer::usual(),
        Answer::usual().sliced(9),
    ] {
        let (web, client) = connected(legacy().on(On::tool("echo"), answer)).await;
        for _ in 0..20 {
            echo(&client).await.unwrap();
        }
        let connections = web.connections();
        assert!(connections <= 4, "{connections} connections");
    }
}
