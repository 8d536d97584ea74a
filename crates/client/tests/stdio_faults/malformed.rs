//! Answers that break JSON-RPC or their method: each ends its own call, at once, as what it is.
//!
//! No call here has another time-out than the usual sixty seconds.

use attache_client::protocol::{Ending, GetPrompt, ListTools, Method, ReadResource, Revision};
use attache_client::{ConnectError, Error};
use attache_testkit::chaos::{Action, When};
use serde_json::json;

use crate::support::{BOTH_ERAS, Peer, at_once, each, problem_of, script, server};

/// Answers to a call of a tool, and what is to be said of each.
const MALFORMED: &[(&str, &str)] = &[
    (
        r#"{"jsonrpc":"2.0","id":"$id","result":{},"error":{"code":1,"message":"m"}}"#,
        "both result and error",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","result":{},"error":null}"#,
        "both result and error",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id"}"#,
        "neither result nor error",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","Result":{}}"#,
        "neither result nor error",
    ),
    (r#"{"id":"$id","result":{}}"#, "\"jsonrpc\" is missing"),
    (
        r#"{"id":"$id","error":{"code":1,"message":"m"}}"#,
        "\"jsonrpc\" is missing",
    ),
    (r#"{"jsonrpc":"1.0","id":"$id","result":{}}"#, "not \"2.0\""),
    (r#"{"jsonrpc":2.0,"id":"$id","result":{}}"#, "not \"2.0\""),
    (r#"{"jsonrpc":null,"id":"$id","result":{}}"#, "not \"2.0\""),
    (
        r#"{"jsonrpc":"2.0","id":"$id","result":[]}"#,
        "not an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","result":"x"}"#,
        "not an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","result":7}"#,
        "not an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","result":true}"#,
        "not an object",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":null}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":"x"}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":{}}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":[1,2]}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":{"code":1}}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":{"message":"m"}}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":{"code":"1","message":"m"}}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":{"code":1.5,"message":"m"}}"#,
        "error is malformed",
    ),
    (
        r#"{"jsonrpc":"2.0","id":"$id","error":{"code":1,"message":7}}"#,
        "error is malformed",
    ),
    (r#"{"jsonrpc":"2.0","id":"$id","result":{"a":1,}}"#, ""),
    (r#"{"jsonrpc":"2.0","result":{"a":nope},"id":"$id"}"#, ""),
    (r#"{"jsonrpc":"2.0","id":"$id","result":{"a":"#, ""),
    (r#"{"jsonrpc":"2.0","id":"$id","result":{}} trailing"#, ""),
    (r#"{"jsonrpc":"2.0","id":"$id","result":{"a":NaN}}"#, ""),
    (r#"{"jsonrpc":"2.0","id":"$id","result":{'a':1}}"#, ""),
];

// X-BASE-01, X-BASE-06.
#[test]
fn fault_43_every_malformed_answer_ends_its_call_at_once() {
    each(BOTH_ERAS, async |revision| {
        let numbered = (0..).zip(MALFORMED);
        let script = numbered.fold(script(revision), |script, (number, (line, _))| {
            let number: usize = number;
            script.on(When::tool(number.to_string()), [Action::line(*line)])
        });
        let peer = Peer::start(revision, &script).await;
        for (number, (line, expected)) in MALFORMED.iter().enumerate() {
            let call = peer.client.call(&number.to_string(), json!({}));
            let problem = problem_of(at_once(line, call).await);
            assert!(problem.contains(expected), "{line}: {problem}");
            assert_eq!(peer.ended(Ending::ProtocolError), number as u64 + 1);
            peer.echoes().await;
        }
        let counted = peer.client.statistics();
        assert_eq!((counted.unknown_answers, counted.late_answers), (0, 0));
        assert_eq!(counted.stray_lines, 0);
        peer.finish().await;
    });
}

#[test]
fn fault_43_what_a_server_says_wrong_is_quoted_briefly() {
    each(BOTH_ERAS, async |revision| {
        let long = "x".repeat(100_000);
        let error = format!(r#"{{"jsonrpc":"2.0","id":"$id","error":"{long}"}}"#);
        let tools = format!(r#"{{"jsonrpc":"2.0","id":"$id","result":{{"tools":"{long}"}}}}"#);
        let kind = format!(r#"{{"jsonrpc":"2.0","id":"$id","result":{{"resultType":"{long}"}}}}"#);
        let script = script(revision)
            .on(When::tool("error"), [Action::line(error)])
            .on("tools/list", [Action::line(tools)])
            .on("prompts/get", [Action::line(kind)]);
        let peer = Peer::start(revision, &script).await;
        let prompt = peer.client.prompt("greet", [("name", "Ada")]);
        for problem in [
            problem_of(peer.text("error").await),
            problem_of(at_once("tools", peer.client.list_tools()).await),
            problem_of(at_once("prompt", prompt).await),
        ] {
            assert!(problem.len() < 1000, "{} bytes", problem.len());
        }
        peer.echoes().await;
        peer.finish().await;
    });
}

/// Answers with `result` to a request of `M`, which must end as a protocol error.
async fn assert_undecodable<M>(revision: Revision, params: &M::Params, results: &[&str])
where
    M: Method + 'static,
    M::Result: std::fmt::Debug + 'static,
{
    for result in results {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"$id","result":{result}}}"#);
        let script = script(revision).on(M::NAME, [Action::line(line)]);
        let peer = Peer::start(revision, &script).await;
        problem_of(at_once(result, peer.client.request::<M>(params)).await);
        assert_eq!(peer.ended(Ending::ProtocolError), 1);
        if M::NAME != "tools/call" {
            peer.echoes().await;
        }
        peer.finish().await;
    }
}

#[test]
fn fault_43_a_result_that_is_not_its_methods_ends_its_call_at_once() {
    use attache_client::protocol::{GetPromptParams, PageParams, ReadResourceParams};
    each(BOTH_ERAS, async |revision| {
        let tools = ["{}", "null", r#"{"tools":7}"#, r#"{"tools":{}}"#];
        assert_undecodable::<ListTools>(revision, &PageParams::default(), &tools).await;
        let read = ReadResourceParams::new("chaos://text");
        assert_undecodable::<ReadResource>(revision, &read, &["{}", r#"{"contents":"x"}"#]).await;
        let greet = GetPromptParams::new("greet", [].into());
        assert_undecodable::<GetPrompt>(revision, &greet, &[r#"{"messages":null}"#]).await;
    });
}

#[test]
fn fault_71_null_is_no_result_where_the_method_has_one() {
    use attache_client::protocol::{CallTool, CallToolParams, GetPromptParams, ReadResourceParams};
    each(BOTH_ERAS, async |revision| {
        let call = CallToolParams::new("odd", Some(json!({}).into()));
        assert_undecodable::<CallTool>(revision, &call, &["null"]).await;
        let read = ReadResourceParams::new("chaos://text");
        assert_undecodable::<ReadResource>(revision, &read, &["null"]).await;
        let greet = GetPromptParams::new("greet", [].into());
        assert_undecodable::<GetPrompt>(revision, &greet, &["null"]).await;
    });
}

#[test]
fn fault_43_a_result_of_an_unknown_kind_ends_its_call_at_once() {
    each([Revision::V2026_07_28], async |revision| {
        let results = [
            json!({"resultType": "invented", "content": []}),
            json!({"resultType": "task", "taskId": "t", "status": "working"}),
            json!({"resultType": "input_required", "inputRequests": 7}),
        ];
        for result in results {
            let script = script(revision).on(When::tool("odd"), [Action::result(result)]);
            let peer = Peer::start(revision, &script).await;
            problem_of(peer.text("odd").await);
            assert_eq!(peer.ended(Ending::ProtocolError), 1);
            peer.echoes().await;
            peer.finish().await;
        }
    });
}

#[test]
fn fault_43_a_call_that_a_modern_server_cancels_is_no_success() {
    each([Revision::V2026_07_28], async |revision| {
        // Only a subscription may be ended this way (S-CANC-07).
        let cancelled = Action::notify("notifications/cancelled", json!({"requestId": "$id"}));
        let script = script(revision).on(When::tool("withdrawn"), [cancelled]);
        let peer = Peer::start(revision, &script).await;
        let problem = problem_of(peer.text("withdrawn").await);
        assert!(problem.contains("cancelled"), "{problem}");
        assert_eq!(peer.ended(Ending::ProtocolError), 1);
        peer.echoes().await;
        peer.finish().await;
    });
}

#[test]
fn fault_43_a_malformed_handshake_ends_the_connecting_at_once() {
    each([Revision::V2025_11_25], async |revision| {
        for answer in [
            r#"{"jsonrpc":"2.0","id":"$id"}"#,
            r#"{"id":"$id","result":{"protocolVersion":"2025-11-25"}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","result":{"protocolVersion":7}}"#,
            r#"{"jsonrpc":"2.0","id":"$id","error":"no"}"#,
        ] {
            let script = script(revision).on("initialize", [Action::line(answer)]);
            let launch = script.launch().unwrap();
            let server = server(&launch).protocol(revision);
            let refused = at_once(answer, server.connect()).await;
            let error = refused.expect_err("there is nothing to connect to");
            assert!(
                matches!(error, Error::Connect(ConnectError::Protocol(_))),
                "{answer}: {error:?}"
            );
            launch
                .tag()
                .wait_until_gone(crate::support::PATIENCE)
                .unwrap();
        }
    });
}
