//! Sessions of legacy servers: begun, named, lost, renewed, given back.

use attache_client::protocol::{Ending, LogLevel};
use attache_client::{Change, CloseReason, Error};
use attache_testkit::http::{Answer, HttpRequest, On};

use crate::{balanced, connected, echo, fails_at_once, legacy};

fn session(request: &HttpRequest) -> Option<&str> {
    request.header("mcp-session-id")
}

// C-INIT-12.
#[tokio::test]
async fn every_request_of_a_session_names_it_and_the_end_gives_it_back() {
    let (web, client) = connected(legacy()).await;
    echo(&client).await.unwrap();
    client.close().await;
    let requests = web.requests();
    let initialize = web.requests_of("initialize");
    assert_eq!(initialize.len(), 1);
    assert_eq!(session(&initialize[0]), None, "C-SHL-27");
    let after = requests.iter().skip_while(|it| it.method() != "initialize");
    let after: Vec<_> = after.skip(1).collect();
    assert!(after.len() >= 3);
    for request in &after {
        assert_eq!(session(request), Some("session-1"), "C-SHL-24");
        let version = request.header("mcp-protocol-version");
        assert_eq!(version, Some("2025-11-25"), "C-SHL-29");
        if request.verb == "POST" {
            let accepted = request.header("accept").unwrap();
            assert!(accepted.contains("application/json"), "C-SHL-05");
            assert!(accepted.contains("text/event-stream"), "C-SHL-05");
            assert!(request.message().is_object(), "C-SHL-06, C-BATCH-02");
        }
    }
    let last = requests.last().unwrap();
    assert_eq!(last.verb, "DELETE", "C-SHL-28");
    assert_eq!(requests.iter().filter(|it| it.verb == "DELETE").count(), 1);
}

#[tokio::test]
async fn requests_wait_until_the_server_knows_that_the_session_has_begun() {
    let slow = Answer::status(202).after(std::time::Duration::from_millis(150));
    let (web, client) = connected(legacy().on(On::rpc("notifications/initialized"), slow)).await;
    echo(&client).await.unwrap();
    let told = web.requests_of("notifications/initialized")[0].at;
    let called = web.requests_of("tools/call")[0].at;
    assert!(called - told >= std::time::Duration::from_millis(140));
}

#[tokio::test]
async fn fault_56_a_lost_session_is_renewed_once_and_a_read_succeeds() {
    let lost = On::any()
        .with_header("mcp-session-id", "session-1")
        .from_nth(3);
    let (web, client) = connected(legacy().on(lost, Answer::status(404))).await;
    let read = client.read("test://a").await.unwrap();
    assert_eq!(read.contents.len(), 1);
    assert_eq!(web.count_of("initialize"), 2);
    let reads = web.requests_of("resources/read");
    let last = reads.last().unwrap();
    assert_eq!(session(last), Some("session-2"));
    let again = &web.requests_of("initialize")[1];
    assert_eq!(session(again), None, "C-SHL-27");
    assert!(balanced(&client));
}

#[tokio::test]
async fn fault_56_a_call_that_may_have_run_is_reported_as_unknown() {
    let lost = On::tool("echo").with_header("mcp-session-id", "session-1");
    let (web, client) = connected(legacy().on(lost, Answer::status(404))).await;
    client.list_tools().await.unwrap();
    let error = fails_at_once(echo(&client)).await;
    let expected = matches!(
        error,
        Error::OutcomeUnknown {
            reason: CloseReason::SessionLost,
            ..
        }
    );
    assert!(expected, "{error}");
    assert_eq!(web.count_of("tools/call"), 1, "it is not replayed");
    assert_eq!(web.count_of("initialize"), 2, "but the session is new");
    echo(&client).await.unwrap();
    assert_eq!(
        session(&web.requests_of("tools/call")[1]),
        Some("session-2")
    );
    assert!(balanced(&client));
}

#[tokio::test]
async fn fault_56_many_that_find_a_session_lost_renew_it_once() {
    let lost = On::rpc("resources/read").with_header("mcp-session-id", "session-1");
    let (web, client) = connected(legacy().on(lost, Answer::status(404))).await;
    client.list_tools().await.unwrap();
    let reads: Vec<_> = (0..20)
        .map(|_| tokio::spawn(client.read("test://a").into_future()))
        .collect();
    for read in reads {
        read.await.unwrap().unwrap();
    }
    assert_eq!(web.count_of("initialize"), 2);
    assert!(balanced(&client));
}

#[tokio::test]
async fn fault_56_a_server_that_forgets_every_session_is_not_asked_for_ever() {
    let always = On::rpc("resources/read");
    let (web, client) = connected(legacy().on(always, Answer::status(404))).await;
    client.list_tools().await.unwrap();
    for _ in 0..3 {
        let error = fails_at_once(client.read("test://a")).await;
        assert_eq!(error.ending(), Some(Ending::OutcomeUnknown), "{error}");
    }
    assert!(
        web.count_of("initialize") <= 3,
        "{}",
        web.count_of("initialize")
    );
    assert!(web.count_of("resources/read") <= 6);
    assert!(balanced(&client));
}

#[tokio::test]
async fn a_new_session_is_told_what_the_old_one_knew() {
    let lost = On::rpc("resources/read").with_header("mcp-session-id", "session-1");
    let (web, client) = connected(legacy().on(lost, Answer::status(404))).await;
    client.set_log_level(LogLevel::Warning).await.unwrap();
    let mut watch = client.watch("test://a").await.unwrap();
    client.read("test://a").await.unwrap();
    assert_eq!(
        watch.next().await,
        Some(Change::Missed),
        "the gap is reported"
    );
    for method in ["logging/setLevel", "resources/subscribe"] {
        let told = web.requests_of(method);
        let sessions: Vec<_> = told.iter().map(|it| session(it)).collect();
        assert_eq!(sessions, [Some("session-1"), Some("session-2")], "{method}");
    }
}

#[tokio::test]
async fn a_server_without_sessions_is_served_without() {
    let answer = serde_json::json!({"jsonrpc": "2.0", "id": "$id", "result": {
        "protocolVersion": "2025-03-26", "capabilities": {},
        "serverInfo": {"name": "plain", "version": "1"},
    }});
    // Its answer to the handshake comes with another status, so no session is handed out.
    let script = legacy().on(
        On::rpc("initialize"),
        Answer::json(&answer).with_status(201),
    );
    let (web, client) = connected(script).await;
    echo(&client).await.unwrap();
    client.close().await;
    assert!(web.requests_by("DELETE").is_empty());
    let call = &web.requests_of("tools/call")[0];
    assert_eq!(session(call), None);
    assert_eq!(
        call.header("mcp-protocol-version"),
        None,
        "2025-03-26 has no such header"
    );
}

// C-PAG-04: a cursor of the lost session is not shown to the new one.
#[tokio::test]
async fn fault_56_a_list_that_lost_its_session_is_not_continued_in_the_next() {
    let first = serde_json::json!({"jsonrpc": "2.0", "id": "$id", "result": {
        "tools": [{"name": "one", "inputSchema": {"type": "object"}}], "nextCursor": "2",
    }});
    let script = legacy()
        .on(On::rpc("tools/list"), Answer::json(&first))
        .on(On::rpc("tools/list").nth(2), Answer::status(404));
    let (web, client) = connected(script).await;
    let error = fails_at_once(client.list_tools()).await;
    assert_eq!(error.ending(), Some(Ending::OutcomeUnknown), "{error}");
    let asked = web.requests_of("tools/list");
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].message()["params"]["cursor"], "2");
    assert_eq!(web.count_of("initialize"), 2, "but the session is new");
    assert!(balanced(&client));
}
