//! Questions to the client: one handler, both eras, and states nobody can forge.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_client::protocol::{ElicitResult, Revision};
use attache_client::{ElicitationModes, EraChoice};
use attache_server::protocol::{ElicitParams, Json};
use attache_server::{Context, NoArguments, Server, Tool};
use serde_json::{Value, json};

use crate::support::{Wire, call, modern_with, text};

fn form(message: &str) -> ElicitParams {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    ElicitParams {
        message: message.to_owned(),
        requested_schema: Some(Json::from(schema)),
        ..ElicitParams::default()
    }
}

fn name(answer: &ElicitResult) -> String {
    let content = answer.content.as_ref().unwrap().to_value().unwrap();
    content["name"].as_str().unwrap().to_owned()
}

/// A server that asks twice and counts how often it did something in between.
fn curious(effects: &Arc<AtomicUsize>) -> Server {
    let effects = Arc::clone(effects);
    let tool = Tool::new(
        "meet",
        "Asks for two names.",
        move |context: Context, _: NoArguments| {
            let effects = Arc::clone(&effects);
            async move {
                let first = name(&context.elicit(form("First?")).await?);
                let number: usize = context
                    .once("effect", async {
                        Ok(effects.fetch_add(1, Ordering::Relaxed))
                    })
                    .await?;
                let second = name(&context.named("second").elicit(form("Second?")).await?);
                Ok(format!("{first} and {second} after effect {number}"))
            }
        },
    );
    Server::builder("test", "1").tool(tool).build().unwrap()
}

#[tokio::test]
async fn one_handler_asks_clients_of_both_eras() {
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let effects = Arc::new(AtomicUsize::new(0));
        let (client, stream) = attache_client::Server::memory();
        let (read, write) = tokio::io::split(stream);
        let server = curious(&effects);
        let serving = tokio::spawn(async move { server.serve(read, write).await });
        let client = client
            .era(era)
            .on_elicitation(ElicitationModes::Form, |params| async move {
                let name = if params.message.starts_with("First") {
                    "Ada"
                } else {
                    "Bob"
                };
                ElicitResult::accept(Json::from(json!({"name": name})))
            })
            .connect()
            .await
            .unwrap();
        let answer = client.call("meet", json!({})).await.unwrap();
        assert_eq!(answer.text(), "Ada and Bob after effect 0");
        assert_eq!(effects.load(Ordering::Relaxed), 1, "{era:?}");
        client.close().await;
        serving.await.unwrap();
    }
}

// S-ELIC-22.
#[tokio::test]
async fn legacy_clients_that_refuse_or_vanish_end_the_question() {
    let server = curious(&Arc::default());
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({"elicitation": {}})).await;
    wire.send(&call(1, "meet", json!({}))).await;
    let question = wire.next().await;
    assert_eq!(question["method"], "elicitation/create");
    wire.send_text(
        &json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}})
            .to_string(),
    )
    .await;
    let answer = wire.next().await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("the client refused: no"));
    // An answer that does not fit the form is refused too (X-ELIC-07).
    wire.send(&call(2, "meet", json!({}))).await;
    let question = wire.next().await;
    wire.send_text(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": 7}}}).to_string()).await;
    assert_eq!(wire.next().await["error"]["code"], -32602);
    // A client that leaves is not waited for.
    wire.send(&call(3, "meet", json!({}))).await;
    wire.next().await;
    let (rest, _) = wire.finish().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["error"]["code"], -32603);
}

// S-MOD-05.
#[tokio::test]
async fn s_mod_06_what_the_client_cannot_do_is_not_asked() {
    let server = curious(&Arc::default());
    let mut wire = Wire::new(&server);
    let params = json!({"name": "meet", "arguments": {}});
    let answer = wire
        .ask(modern_with(1, "tools/call", params.clone(), json!({})))
        .await;
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(
        answer["error"]["data"]["requiredCapabilities"],
        json!({"elicitation": {}})
    );
    // Nothing is remembered from one request to the next (S-BASE-15).
    let able = modern_with(2, "tools/call", params.clone(), json!({"elicitation": {}}));
    assert_eq!(
        wire.ask(able).await["result"]["resultType"],
        "input_required"
    );
    let answer = wire
        .ask(modern_with(3, "tools/call", params, json!({})))
        .await;
    assert_eq!(answer["error"]["code"], -32021);

    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    let answer = wire.ask(call(1, "meet", json!({}))).await;
    assert!(
        text(&answer).contains("does not offer elicitation"),
        "{answer}"
    );
    // Before 2025-06-18 nobody could be asked.
    let mut wire = Wire::legacy(&server, "2025-03-26", json!({"elicitation": {}})).await;
    let answer = wire.ask(call(1, "meet", json!({}))).await;
    assert_eq!(answer["result"]["isError"], true);
}

/// The second round of `meet`, with changes.
fn second_round(first: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut params = json!({
        "name": "meet",
        "arguments": {},
        "inputResponses": {"input-1": {"action": "accept", "content": {"name": "Ada"}}},
        "requestState": first["result"]["requestState"],
    });
    change(&mut params);
    modern_with(2, "tools/call", params, json!({"elicitation": {}}))
}

fn first_round() -> Value {
    let params = json!({"name": "meet", "arguments": {}});
    modern_with(1, "tools/call", params, json!({"elicitation": {}}))
}

#[tokio::test]
async fn s_mrtr_07_and_08_a_state_is_good_for_its_own_request_only() {
    let server = curious(&Arc::default());
    let mut wire = Wire::new(&server);
    let first = wire.ask(first_round()).await;
    assert_eq!(
        first["result"]["inputRequests"]["input-1"]["method"],
        "elicitation/create"
    );

    let good = wire.ask(second_round(&first, |_| {})).await;
    assert!(
        good["result"]["inputRequests"].get("second").is_some(),
        "{good}"
    );

    let forged = |params: &mut Value| {
        let mut state = params["requestState"].as_str().unwrap().to_owned();
        state.replace_range(50..51, if &state[50..51] == "A" { "B" } else { "A" });
        params["requestState"] = json!(state);
    };
    let other_request = |params: &mut Value| params["arguments"] = json!({"other": 1});
    let not_text = |params: &mut Value| params["requestState"] = json!(7);
    let bad_answers = |params: &mut Value| params["inputResponses"] = json!([]);
    for (name, answer) in [
        ("forged", wire.ask(second_round(&first, forged)).await),
        (
            "other request",
            wire.ask(second_round(&first, other_request)).await,
        ),
        ("not text", wire.ask(second_round(&first, not_text)).await),
        (
            "bad answers",
            wire.ask(second_round(&first, bad_answers)).await,
        ),
        (
            "other server",
            Wire::new(&curious(&Arc::default()))
                .ask(second_round(&first, |_| {}))
                .await,
        ),
    ] {
        assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
    }
    // What is missing is asked for again, what is unknown is ignored (S-MRTR-10).
    let missing = wire
        .ask(second_round(&first, |params| {
            params["inputResponses"] = json!({"x": {}})
        }))
        .await;
    assert!(
        missing["result"]["inputRequests"].get("input-1").is_some(),
        "{missing}"
    );
}

#[tokio::test]
async fn s_mrtr_08_a_state_expires() {
    let tool = Tool::new(
        "meet",
        "Asks.",
        |context: Context, _: NoArguments| async move { Ok(name(&context.elicit(form("Who?")).await?)) },
    );
    for (ttl, is_good) in [(Duration::ZERO, false), (Duration::from_secs(60), true)] {
        let server = Server::builder("test", "1")
            .tool(tool.clone())
            .limits(|it| it.state_ttl = ttl);
        let mut wire = Wire::new(&server.build().unwrap());
        let first = wire.ask(first_round()).await;
        // States count in whole seconds.
        tokio::time::sleep(Duration::from_millis(if is_good { 0 } else { 1100 })).await;
        let answer = wire.ask(second_round(&first, |_| {})).await;
        assert_eq!(answer.get("result").is_some(), is_good, "{answer}");
    }
}

// S-BASE-16, S-BASE-17, S-STDIO-16.
#[tokio::test]
async fn several_instances_share_a_key() {
    let build = || {
        let tool = Tool::new(
            "meet",
            "Asks.",
            |context: Context, _: NoArguments| async move {
                Ok(name(&context.elicit(form("Who?")).await?))
            },
        );
        Server::builder("test", "1")
            .tool(tool)
            .state_key(*b"shared between instances")
            .build()
            .unwrap()
    };
    let first = Wire::new(&build()).ask(first_round()).await;
    let answer = Wire::new(&build()).ask(second_round(&first, |_| {})).await;
    assert_eq!(text(&answer), "Ada");
}

#[tokio::test]
async fn the_client_s_revision_is_known_to_handlers() {
    let tool = Tool::new(
        "which",
        "Tells.",
        |context: Context, _: NoArguments| async move {
            let client = context
                .client()
                .map(|it| it.name.clone())
                .unwrap_or_default();
            Ok(format!("{} {client}", context.revision()))
        },
    );
    let server = Server::builder("test", "1").tool(tool).build().unwrap();
    let mut wire = Wire::legacy(&server, Revision::V2025_06_18.as_str(), json!({})).await;
    assert_eq!(
        text(&wire.ask(call(1, "which", json!({}))).await),
        "2025-06-18 test"
    );
}

/// A server that pays once the user agrees, and counts how often it did.
fn paying(payments: &Arc<AtomicUsize>, limit: usize) -> Server {
    let payments = Arc::clone(payments);
    let tool = Tool::new("meet", "Pays.", move |context: Context, _: NoArguments| {
        let payments = Arc::clone(&payments);
        async move {
            let who = name(&context.elicit(form("Who is paid?")).await?);
            context.redeem()?;
            payments.fetch_add(1, Ordering::Relaxed);
            Ok(format!("paid {who}"))
        }
    });
    let builder = Server::builder("test", "1").tool(tool);
    builder
        .limits(|it| it.max_redeemed = limit)
        .build()
        .unwrap()
}

#[tokio::test]
async fn s_mrtr_09_a_redeemed_state_is_good_once() {
    let payments = Arc::new(AtomicUsize::new(0));
    let server = paying(&payments, 1);
    let mut wire = Wire::new(&server);
    let first = wire.ask(first_round()).await;
    let paid = wire.ask(second_round(&first, |_| {})).await;
    assert_eq!(text(&paid), "paid Ada");
    // Sent again, on this connection or another, with the same answer or another.
    let other =
        |params: &mut Value| params["inputResponses"]["input-1"]["content"]["name"] = json!("Eve");
    for again in [
        wire.ask(second_round(&first, |_| {})).await,
        Wire::new(&server).ask(second_round(&first, |_| {})).await,
        wire.ask(second_round(&first, other)).await,
    ] {
        assert_eq!(again["error"]["code"], -32602, "{again}");
        let message = again["error"]["message"].as_str().unwrap();
        assert!(message.contains("used already"), "{message}");
    }
    assert_eq!(payments.load(Ordering::Relaxed), 1);
    // As many as may be are remembered, so the next payment is not made rather than made twice.
    let first = wire.ask(first_round()).await;
    let refused = wire.ask(second_round(&first, |_| {})).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(payments.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn s_mrtr_09_a_state_that_is_not_redeemed_can_be_sent_again() {
    let effects = Arc::default();
    let mut wire = Wire::new(&curious(&effects));
    let first = wire.ask(first_round()).await;
    for _ in 0..2 {
        let second = wire.ask(second_round(&first, |_| {})).await;
        assert!(second["result"]["inputRequests"].get("second").is_some());
    }
}
