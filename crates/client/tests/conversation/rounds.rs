//! Requests over several rounds (section 4 of the ledger, fault 52).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_client::protocol::{
    Content, CreateMessageResult, ElicitResult, Ending, Json, Revision, Root,
};
use attache_client::{Client, ElicitationModes, Error, Limits, SamplingTools, Server};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::opening::{assert_elapsed, connected, finish, finish_with_liberties, plain, start};
use crate::peer::Peer;

const MODERN: Revision = Revision::V2026_07_28;

fn form(message: &str) -> Value {
    json!({
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": {"type": "object", "properties": {}}},
    })
}

/// A client that answers everything, and counts how often its user was asked.
fn willing(asked: &Arc<AtomicUsize>) -> impl FnOnce(Server) -> Server {
    let asked = asked.clone();
    move |server| {
        server
            .roots([Root::new("file:///work")])
            .on_sampling(SamplingTools::Refused, |_| async {
                Ok(CreateMessageResult::new("m", Content::text("yes")))
            })
            .on_elicitation(ElicitationModes::Form, move |params| {
                asked.fetch_add(1, Ordering::Relaxed);
                async move { ElicitResult::accept(json!({"heard": params.message}).into()) }
            })
    }
}

async fn willing_client() -> (Client, Peer) {
    connected(MODERN, willing(&Arc::default())).await
}

// C-MRTR-12: all questions are answered, under their own keys.
#[tokio::test(start_paused = true)]
async fn every_key_is_answered() {
    let (client, mut peer) = willing_client().await;
    let call = start(client.call("plan", json!({"trip": 7})));
    let request = peer.request("tools/call").await;
    let questions = json!({
        "who": form("Who?"),
        "": {"method": "roots/list"},
        "a/b c": {
            "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5},
        },
        "where": form("Where?"),
    });
    peer.ask_back(&request, questions, json!("state 1")).await;
    let again = peer.request("tools/call").await;
    let heard = |text: &str| json!({"action": "accept", "content": {"heard": text}});
    assert_eq!(
        again["params"]["inputResponses"],
        json!({
            "who": heard("Who?"),
            "": {"roots": [{"uri": "file:///work"}]},
            "a/b c": {
                "role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m",
            },
            "where": heard("Where?"),
        })
    );
    peer.answer_text(&again, "done").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "done");
    finish(client, peer).await;
}

// C-MRTR-15: a repeat is a new request: the params of the first, an id and metadata of its own,
// and nothing of the round before.
#[tokio::test(start_paused = true)]
async fn fault_52_each_round_is_a_fresh_request() {
    let (client, mut peer) = willing_client().await;
    let call = start(client.call("plan", json!({"trip": 7})).on_progress(|_| ()));
    let first = peer.request("tools/call").await;
    peer.ask_back(&first, json!({"a": form("A?")}), json!("one"))
        .await;
    let second = peer.request("tools/call").await;
    peer.ask_back(&second, json!({"b": form("B?")}), Value::Null)
        .await;
    let third = peer.request("tools/call").await;
    peer.answer_text(&third, "done").await;
    call.await.unwrap().unwrap();

    let heard = |text: &str| json!({"action": "accept", "content": {"heard": text}});
    let meta_of = |request: &Value| {
        let mut expected = first["params"]["_meta"].clone();
        expected["progressToken"] = request["id"].clone();
        expected
    };
    assert_eq!(
        first["params"],
        json!({"name": "plan", "arguments": {"trip": 7}, "_meta": meta_of(&first)})
    );
    assert_eq!(
        second["params"],
        json!({
            "name": "plan", "arguments": {"trip": 7}, "_meta": meta_of(&second),
            "inputResponses": {"a": heard("A?")}, "requestState": "one",
        })
    );
    // C-MRTR-14: no state came, so none is sent.
    assert_eq!(
        third["params"],
        json!({
            "name": "plan", "arguments": {"trip": 7}, "_meta": meta_of(&third),
            "inputResponses": {"b": heard("B?")},
        })
    );
    assert!(first["id"] != second["id"] && second["id"] != third["id"]);
    finish(client, peer).await;
}

/// The id of a request whose numbers need not fit anywhere.
fn numbered(line: &str) -> Value {
    #[derive(serde::Deserialize)]
    struct Numbered {
        id: u64,
    }
    let Numbered { id } = serde_json::from_str(line).unwrap();
    json!({"id": id})
}

// C-MRTR-14: the state goes back byte for byte, whatever it is.
#[tokio::test(start_paused = true)]
async fn fault_52_the_state_is_echoed_verbatim() {
    for state in [
        r#""plain""#,
        r#""""#,
        r#""\u00e9\ud83d\ude00 \" \\ / \n""#,
        "12345678901234567890123456789.1234567890123456789",
        r#"{"z":1e400,"a":[123456789012345678901234567890, null ,-0.0],"z2":{"":""}}"#,
    ] {
        let (client, mut peer) = plain(MODERN).await;
        let call = start(client.read("note:1"));
        let request = peer.request("resources/read").await;
        let id = &request["id"];
        peer.say_raw(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":{state}}}}}"#
        ))
        .await;
        peer.say_raw("\n").await;
        let again = peer.line().await.unwrap();
        let echoed = format!(r#""requestState":{state}"#);
        assert!(again.contains(&echoed), "{again}");
        peer.answer(&numbered(&again), json!({"contents": []}))
            .await;
        call.await.unwrap().unwrap();
        // A state that is no string is the server's liberty, not the client's.
        finish_with_liberties(client, peer).await;
    }
}

// C-MRTR-13: a state alone needs no user; the repeats slow down.
#[tokio::test(start_paused = true)]
async fn a_state_alone_is_repeated_without_a_user() {
    let (client, mut peer) = plain(MODERN).await;
    let begun = Instant::now();
    let call = start(client.prompt("greet", [("name", "Ada")]));
    let mut request = peer.request("prompts/get").await;
    for round in 1..=3 {
        peer.ask_back(&request, Value::Null, json!(format!("step {round}")))
            .await;
        request = peer.request("prompts/get").await;
        assert_eq!(request["params"]["requestState"], format!("step {round}"));
        assert!(request["params"].get("inputResponses").is_none());
        assert_eq!(request["params"]["arguments"], json!({"name": "Ada"}));
    }
    assert_elapsed(begun, Duration::from_millis(50 + 100 + 150));
    peer.answer(&request, json!({"messages": []})).await;
    call.await.unwrap().unwrap();
    finish(client, peer).await;
}

/// A call of a server that asks back in `rounds` rounds, and how often the user was asked.
async fn asked_back(limit: usize, rounds: usize) -> (Result<String, Error>, usize) {
    let limits = Limits {
        rounds: limit,
        ..Limits::default()
    };
    let asked = Arc::default();
    let (client, mut peer) =
        connected(MODERN, |server| willing(&asked)(server).limits(limits)).await;
    let call = start(client.call("dig", json!({})));
    for _ in 0..rounds {
        let request = peer.request("tools/call").await;
        peer.ask_back(&request, json!({"q": form("Deeper?")}), Value::Null)
            .await;
    }
    if rounds < limit {
        let request = peer.request("tools/call").await;
        peer.answer_text(&request, "gold").await;
    }
    let outcome = call.await.unwrap().map(|answer| answer.text());
    finish(client, peer).await;
    (outcome, asked.load(Ordering::Relaxed))
}

// C-MRTR-18: a limit of three means three requests, and nobody is asked for nothing.
#[tokio::test(start_paused = true)]
async fn fault_52_rounds_are_capped_exactly() {
    let (outcome, asked) = asked_back(3, 2).await;
    assert_eq!((outcome.unwrap().as_str(), asked), ("gold", 2));
    let (outcome, asked) = asked_back(3, 3).await;
    match outcome {
        Err(Error::Protocol { method, problem }) => {
            assert_eq!(method, "tools/call");
            assert_eq!(problem, "the server asked back 3 times without answering");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(asked, 2);
}

#[tokio::test(start_paused = true)]
async fn fault_52_ten_rounds_are_the_default() {
    assert_eq!(Limits::default().rounds, 10);
    let (outcome, _) = asked_back(10, 10).await;
    assert!(
        matches!(outcome, Err(Error::Protocol { .. })),
        "{outcome:?}"
    );
}

// C-MRTR-16: what one call was told does not leak into another.
#[tokio::test(start_paused = true)]
async fn parallel_calls_keep_their_answers_apart() {
    let (client, mut peer) = willing_client().await;
    let calls: [JoinHandle<_>; 2] =
        ["left", "right"].map(|tool| start(client.call(tool, json!({}))));
    let first = [
        peer.request("tools/call").await,
        peer.request("tools/call").await,
    ];
    for request in first.iter().rev() {
        let name = request["params"]["name"].as_str().unwrap();
        peer.ask_back(
            request,
            json!({name: form(name)}),
            json!(format!("state of {name}")),
        )
        .await;
    }
    for _ in 0..2 {
        let request = peer.request("tools/call").await;
        let params = &request["params"];
        let name = params["name"].as_str().unwrap();
        let heard = json!({name: {"action": "accept", "content": {"heard": name}}});
        assert_eq!(params["inputResponses"], heard);
        assert_eq!(params["requestState"], format!("state of {name}"));
        peer.answer_text(&request, name).await;
    }
    for (call, name) in calls.into_iter().zip(["left", "right"]) {
        assert_eq!(call.await.unwrap().unwrap().text(), name);
    }
    finish(client, peer).await;
}

/// The problem of a call that is answered with this result.
async fn invalid(result: Value) -> String {
    let (client, mut peer) = willing_client().await;
    let call = start(client.call("odd", json!({})));
    let request = peer.request("tools/call").await;
    peer.answer(&request, result).await;
    let problem = match call.await.unwrap() {
        Err(Error::Protocol { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(client.statistics().calls.count(Ending::ProtocolError), 1);
    finish(client, peer).await;
    problem
}

// C-BASE-12, C-TSKE-03: kinds nobody declared, and interim results that make no sense.
#[tokio::test(start_paused = true)]
async fn results_of_unknown_kinds_are_invalid() {
    let task = json!({"resultType": "task", "taskId": "t", "status": "working", "ttlMs": null});
    assert!(invalid(task).await.contains("Task"));
    let other = json!({"resultType": "poem", "content": []});
    assert!(invalid(other).await.contains("poem"));
    let malformed = json!({"resultType": "input_required", "inputRequests": ["who"]});
    assert!(!invalid(malformed).await.is_empty());
}

// S-MRTR-02: only three methods may be answered with a question.
#[tokio::test(start_paused = true)]
async fn a_list_cannot_ask_back() {
    let (client, mut peer) = plain(MODERN).await;
    let list = start({
        let client = client.clone();
        async move { client.list_tools().await }
    });
    let request = peer.request("tools/list").await;
    peer.ask_back(&request, Value::Null, json!("more")).await;
    let error = list.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    finish(client, peer).await;
}

// C-BASE-11: without a word a result is complete; a legacy result is not searched for words.
#[tokio::test(start_paused = true)]
async fn a_result_without_a_kind_is_complete() {
    for (revision, result) in [
        (MODERN, json!({"content": []})),
        (
            Revision::V2025_11_25,
            json!({"content": [], "resultType": "input_required"}),
        ),
    ] {
        let (client, mut peer) = plain(revision).await;
        let call = start(client.call("old", json!({})));
        let request = peer.request("tools/call").await;
        peer.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
        call.await.unwrap().unwrap();
        finish(client, peer).await;
    }
}

// Numbers of any size reach the tool, in the first round and in the next.
#[tokio::test(start_paused = true)]
async fn big_numbers_in_arguments_survive_every_round() {
    let (client, mut peer) = plain(MODERN).await;
    let text = r#"{"n":123456789012345678901234567890,"x":1e400}"#;
    let call = start(client.call("count", Json::parse(text).unwrap()));
    let expected = format!(r#""arguments":{text}"#);
    let line = peer.line().await.unwrap();
    assert!(line.contains(&expected), "{line}");
    let request = numbered(&line);
    peer.ask_back(&request, Value::Null, json!("again")).await;
    let line = peer.line().await.unwrap();
    assert!(line.contains(&expected), "{line}");
    call.abort();
    peer.cancellation(&numbered(&line)).await;
    finish_with_liberties(client, peer).await;
}
