//! Recordings served again, over byte streams.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::io::Cursor;
use std::sync::Arc;

use attache_protocol::{ErrorObject, Json};
use attache_record::mock::{Asked, Mock, OnMiss, Pace, Settings, Upstream};
use attache_record::{Conversation, Reader, Recording};
use attache_server::{Limits, Principal, serve_streams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

const MODERN: &str = "io.modelcontextprotocol/protocolVersion";

/// A recording of messages: each with its direction.
fn conversation(messages: &[(&str, Value)]) -> Conversation {
    let mut text =
        r#"{"format":1,"tool":"t","started_ms":1,"target":"x","transport":"stdio"}"#.to_owned();
    for (index, (dir, message)) in messages.iter().enumerate() {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        let seq = index + 1;
        text.push_str(&format!(
            "\n{{\"seq\":{seq},\"t_us\":{},\"dir\":\"{dir}\",\"conn\":1,\"raw\":{message}}}",
            seq * 10
        ));
    }
    text.push_str("\n{\"footer\":{\"ended_ms\":1,\"frames\":1,\"bytes\":2}}\n");
    let reader = Reader::new(Cursor::new(text)).unwrap();
    Conversation::of(&Recording::collect(reader).unwrap())
}

fn greeting() -> [(&'static str, Value); 2] {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "recorded", "version": "1"}});
    let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}});
    [
        (
            "c2s",
            json!({"id": 0, "method": "initialize", "params": params}),
        ),
        ("s2c", json!({"id": 0, "result": result})),
    ]
}

fn call(id: u64, name: &str, arguments: Value) -> (&'static str, Value) {
    let params = json!({"name": name, "arguments": arguments});
    (
        "c2s",
        json!({"id": id, "method": "tools/call", "params": params}),
    )
}

fn answer(id: u64, text: &str) -> (&'static str, Value) {
    (
        "s2c",
        json!({"id": id, "result": {"content": [{"type": "text", "text": text}]}}),
    )
}

struct Client {
    stream: BufReader<DuplexStream>,
    mock: Mock,
}

impl Client {
    fn of(conversation: Conversation, settings: Settings) -> Self {
        let mock = Mock::new(conversation, settings, Box::new(|_| {}));
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let serving = serve_streams(
            mock.clone(),
            Limits::default(),
            Principal::local(),
            read,
            write,
        );
        tokio::spawn(serving);
        Self {
            stream: BufReader::new(ours),
            mock,
        }
    }

    async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let line = format!("{message}\n");
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .await
            .unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(message).await;
        self.receive().await
    }

    async fn text(&mut self, id: u64, name: &str, arguments: Value) -> Value {
        let answer = self.ask(call(id, name, arguments).1).await;
        assert_eq!(answer["id"], id);
        answer["result"]["content"][0]["text"].clone()
    }
}

fn recorded(more: &[(&'static str, Value)]) -> Conversation {
    conversation(&[&greeting(), more].concat())
}

#[tokio::test]
async fn repeats_are_answered_in_order_with_the_callers_id() {
    let recorded = recorded(&[
        call(1, "count", json!({})),
        answer(1, "one"),
        call(2, "count", json!({})),
        answer(2, "two"),
        call(3, "echo", json!({"a": 1, "b": [2]})),
        answer(3, "echoed"),
    ]);
    let mut client = Client::of(recorded, Settings::default());
    let hello = json!({"id": "x", "method": "initialize", "params": {"protocolVersion": "2025-11-25", "clientInfo": {"name": "other", "version": "2"}, "capabilities": {}}});
    let hello = client.ask(hello).await;
    assert_eq!(
        (&hello["id"], &hello["result"]["protocolVersion"]),
        (&json!("x"), &json!("2025-06-18"))
    );
    client
        .send(json!({"method": "notifications/initialized"}))
        .await;
    assert_eq!(client.text(7, "count", json!({})).await, "one");
    assert_eq!(
        client.text(8, "echo", json!({"b": [2], "a": 1.0})).await,
        "echoed"
    );
    assert_eq!(client.text(9, "count", json!({})).await, "two");
    assert_eq!(
        client.text(10, "count", json!({})).await,
        "two",
        "the last one stays"
    );
    assert_eq!(
        client.ask(json!({"id": 11, "method": "ping"})).await["result"],
        json!({})
    );
    let probe = client.ask(json!({"id": 12, "method": "server/discover", "params": {"_meta": {MODERN: "2026-07-28"}}})).await;
    assert_eq!(probe["error"]["code"], -32601);
    assert_eq!(client.mock.missed(), 0);
}

#[tokio::test]
async fn a_miss_is_an_error_and_counted() {
    let recorded = recorded(&[call(1, "echo", json!({"a": 1})), answer(1, "one")]);
    let mut client = Client::of(recorded, Settings::default());
    let answer = client.ask(call(5, "echo", json!({"a": 2})).1).await;
    assert_eq!(answer["error"]["code"], -32603);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains(r#"tools/call echo {"a":2}: it was not recorded"#),
        "{message}"
    );
    let answer = client.ask(json!({"id": 6, "method": "prompts/list"})).await;
    assert_eq!(answer["error"]["code"], -32601);
    assert_eq!(client.mock.missed(), 2);
    assert_eq!(client.mock.misses()[1].what, "prompts/list");
}

#[tokio::test]
async fn the_nearest_is_taken_only_if_there_is_one() {
    let recorded = recorded(&[
        call(1, "add", json!({"a": 1, "b": 1})),
        answer(1, "two"),
        call(2, "add", json!({"a": 5, "b": 5})),
        answer(2, "ten"),
        call(3, "other", json!({"a": 1})),
        answer(3, "no"),
    ]);
    let settings = Settings {
        on_miss: OnMiss::Nearest,
        ..Settings::default()
    };
    let mut client = Client::of(recorded, settings);
    assert_eq!(client.text(4, "add", json!({"a": 1, "b": 2})).await, "two");
    let tied = client.ask(call(5, "add", json!({"a": 1, "b": 5})).1).await;
    assert!(tied["error"].is_object(), "{tied}");
    let unknown = client.ask(call(6, "sub", json!({"a": 1})).1).await;
    assert!(unknown["error"].is_object(), "{unknown}");
    assert_eq!(client.mock.missed(), 3);
}

#[tokio::test]
async fn a_miss_may_be_asked_of_the_real_server() {
    struct Real;
    impl Upstream for Real {
        fn ask(&self, method: &str, params: Option<Json>) -> Asked {
            let answer = match method {
                "tools/call" => Ok(Json::from(
                    json!({"content": [], "asked": params.unwrap().to_value().unwrap()}),
                )),
                _ => Err(ErrorObject::new(-32601, "no")),
            };
            Box::pin(std::future::ready(answer))
        }
    }
    let settings = Settings {
        on_miss: OnMiss::Ask(Arc::new(Real)),
        ..Settings::default()
    };
    let mut client = Client::of(recorded(&[]), settings);
    let answer = client.ask(call(5, "echo", json!({"a": 2})).1).await;
    assert_eq!(answer["result"]["asked"]["arguments"], json!({"a": 2}));
    let answer = client.ask(json!({"id": 6, "method": "prompts/list"})).await;
    assert_eq!(
        (answer["id"].as_u64(), answer["error"]["code"].as_i64()),
        (Some(6), Some(-32601))
    );
    assert_eq!(client.mock.missed(), 2);
}

#[tokio::test]
async fn progress_comes_under_the_callers_token_and_questions_are_asked_again() {
    let asked = json!({"id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {}, "_meta": {"progressToken": "old"}}});
    let recorded = recorded(&[
        ("c2s", asked),
        (
            "s2c",
            json!({"method": "notifications/progress", "params": {"progressToken": "old", "progress": 1}}),
        ),
        ("s2c", json!({"id": 77, "method": "roots/list"})),
        ("c2s", json!({"id": 77, "result": {"roots": []}})),
        (
            "s2c",
            json!({"method": "notifications/message", "params": {"level": "info", "data": "x"}}),
        ),
        answer(1, "done"),
        ("s2c", json!({"method": "notifications/tools/list_changed"})),
    ]);
    let mut client = Client::of(recorded, Settings::default());
    client
        .send(json!({"id": 9, "method": "tools/call", "params": {"name": "slow", "_meta": {"progressToken": 42}}}))
        .await;
    let progress = client.receive().await;
    assert_eq!(
        progress["params"],
        json!({"progressToken": 42, "progress": 1})
    );
    let question = client.receive().await;
    assert_eq!(question["method"], "roots/list");
    client
        .send(json!({"id": question["id"], "result": {"roots": [{"uri": "file:///other"}]}}))
        .await;
    assert_eq!(client.receive().await["method"], "notifications/message");
    assert_eq!(client.receive().await["id"], 9);
    assert_eq!(
        client.receive().await["method"],
        "notifications/tools/list_changed"
    );
    // A caller that wants no progress gets none.
    client
        .send(json!({"id": 10, "method": "tools/call", "params": {"name": "slow"}}))
        .await;
    assert_eq!(client.receive().await["method"], "roots/list");
}

#[tokio::test]
async fn a_request_that_was_never_answered_stays_open_until_it_is_cancelled() {
    let recorded = recorded(&[
        call(1, "hang", json!({})),
        (
            "c2s",
            json!({"method": "notifications/cancelled", "params": {"requestId": 1}}),
        ),
    ]);
    let mut client = Client::of(recorded, Settings::default());
    client.send(call(4, "hang", json!({})).1).await;
    client
        .send(json!({"method": "notifications/cancelled", "params": {"requestId": 4}}))
        .await;
    assert_eq!(
        client.ask(json!({"id": 5, "method": "ping"})).await["id"],
        5
    );
    assert_eq!(client.mock.missed(), 0);
    // It does not keep the mock when the client is gone, and gets no answer then either.
    client.send(call(6, "hang", json!({})).1).await;
    client.stream.get_mut().shutdown().await.unwrap();
    let mut rest = String::new();
    assert_eq!(
        client.stream.read_line(&mut rest).await.unwrap(),
        0,
        "{rest}"
    );
}

fn modern(id: u64, mut params: Value) -> Value {
    params["_meta"] = json!({MODERN: "2026-07-28"});
    json!({"id": id, "method": "tools/call", "params": params})
}

fn asks(id: u64, state: Option<&str>) -> (&'static str, Value) {
    let mut result =
        json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}});
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    ("s2c", json!({"id": id, "result": result}))
}

#[tokio::test]
async fn c_mrtr_rounds_are_paired_by_state_else_by_keys_and_never_guessed() {
    let with_state = |answer: Value| json!({"name": "s", "requestState": "one", "inputResponses": {"q": answer}});
    let by_keys = |answer: Value| json!({"name": "k", "inputResponses": {"q": answer}});
    let recorded = conversation(&[
        ("c2s", modern(1, json!({"name": "s"}))),
        asks(1, Some("one")),
        ("c2s", modern(2, with_state(json!(1)))),
        answer(2, "by state"),
        ("c2s", modern(3, json!({"name": "k"}))),
        asks(3, None),
        ("c2s", modern(4, by_keys(json!("a")))),
        answer(4, "a"),
        ("c2s", modern(5, by_keys(json!("b")))),
        answer(5, "b"),
    ]);
    let mut client = Client::of(recorded, Settings::default());
    let first = client.ask(modern(10, json!({"name": "s"}))).await;
    assert_eq!(first["result"]["requestState"], "one");
    let text = |answer: &Value| answer["result"]["content"][0]["text"].clone();
    // Another answer of the client is the same round.
    let second = client.ask(modern(11, with_state(json!("other")))).await;
    assert_eq!(text(&second), "by state");
    let unknown = json!({"name": "s", "requestState": "two", "inputResponses": {"q": 1}});
    assert!(client.ask(modern(12, unknown)).await["error"].is_object());
    assert_eq!(
        client.ask(modern(13, json!({"name": "k"}))).await["result"]["resultType"],
        "input_required"
    );
    assert_eq!(
        text(&client.ask(modern(14, by_keys(json!("b")))).await),
        "b"
    );
    let ambiguous = client.ask(modern(15, by_keys(json!("c")))).await;
    let message = ambiguous["error"]["message"].as_str().unwrap();
    assert!(message.contains("2 recorded rounds differ"), "{message}");
    assert_eq!(client.mock.missed(), 2);
}

#[tokio::test(start_paused = true)]
async fn answers_take_as_long_as_they_took() {
    let recorded = recorded(&[call(1, "slow", json!({})), answer(1, "done")]);
    let settings = Settings {
        pace: Pace::AsRecorded,
        ..Settings::default()
    };
    let mut client = Client::of(recorded, settings);
    let began = tokio::time::Instant::now();
    client.text(2, "slow", json!({})).await;
    // Ten microseconds were recorded; timers count milliseconds.
    let took = began.elapsed();
    assert!(
        took >= std::time::Duration::from_micros(10) && took <= std::time::Duration::from_millis(5),
        "{took:?}"
    );
}
