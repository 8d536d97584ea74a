//! How a connection ends: every request that was accepted is answered exactly once (INV-001).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use attache_server::protocol::{ElicitParams, Json};
use attache_server::{Context, EndReason, Failure, NoArguments, Server, Tool};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

use crate::support::{Wire, call, hello, modern};

const EXIT: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;

#[derive(Deserialize)]
struct Nap {
    seconds: u64,
}

/// A tool that sleeps as long as it is told.
fn sleepy() -> Tool {
    let schema = json!({"type": "object", "properties": {"seconds": {"type": "integer"}}});
    Tool::raw(
        "sleep",
        "Sleeps.",
        Json::from(schema),
        |_, it: Json| async move {
            let nap: Nap = it.decode()?;
            tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
            Ok::<_, Failure>("awake")
        },
    )
}

fn sleep(id: u64, seconds: u64) -> Value {
    call(id, "sleep", json!({"seconds": seconds}))
}

/// The answers by id: the text of a result, or the message of an error.
fn told(answers: &[Value]) -> BTreeMap<u64, String> {
    let told: BTreeMap<u64, String> = answers
        .iter()
        .map(|it| {
            let text = it["result"]["content"][0]["text"].as_str();
            let text = text.or(it["error"]["message"].as_str()).unwrap();
            (it["id"].as_u64().unwrap(), text.to_owned())
        })
        .collect();
    assert_eq!(told.len(), answers.len(), "each once: {answers:?}");
    told
}

/// Two run at once, so some of the accepted requests still wait for their turn when the input ends.
#[tokio::test(start_paused = true)]
async fn fault_68_what_runs_is_finished_or_answered_with_an_error() {
    for (grace, finished) in [(29, 4), (31, 6)] {
        for leaving in [EndReason::EndOfInput, EndReason::Left] {
            let server = hello()
                .tool(sleepy())
                .limits(|it| {
                    it.max_running = 2;
                    it.end_grace = Duration::from_secs(grace);
                })
                .build()
                .unwrap();
            let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
            for id in 1..=6 {
                wire.send(&sleep(id, 10)).await;
            }
            if leaving == EndReason::Left {
                wire.send_text(EXIT).await;
            }
            let (rest, reason) = wire.finish().await;
            assert_eq!(reason, leaving);
            let told = told(&rest);
            assert_eq!(told.len(), 6, "{told:?}");
            let awake = told.values().filter(|it| *it == "awake").count();
            let ending = told.values().filter(|it| it.contains("is ending")).count();
            assert_eq!((awake, ending), (finished, 6 - finished), "{told:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fault_68_each_part_of_a_batch_is_answered() {
    let server = hello()
        .tool(sleepy())
        .limits(|it| it.end_grace = Duration::from_secs(5))
        .build()
        .unwrap();
    let mut wire = Wire::legacy(&server, "2025-03-26", json!({})).await;
    // The client leaves in the middle of a batch: what came before that is accepted.
    let exit: Value = serde_json::from_str(EXIT).unwrap();
    wire.send_text(&json!([sleep(1, 1), sleep(2, 100), exit]).to_string())
        .await;
    let told = told(&wire.next_batch().await);
    assert_eq!(told[&1], "awake");
    assert!(told[&2].contains("is ending"), "{told:?}");
    assert_eq!(wire.finish().await, (vec![], EndReason::Left));
}

/// A batch for which there is no room is one refusal for each request, not one without an id.
#[tokio::test(start_paused = true)]
async fn fault_68_each_part_of_a_batch_is_refused_by_its_id() {
    let server = hello()
        .tool(sleepy())
        .limits(|it| (it.max_running, it.max_waiting) = (1, 1))
        .build()
        .unwrap();
    let mut wire = Wire::legacy(&server, "2025-03-26", json!({})).await;
    wire.send(&sleep(1, 10)).await;
    wire.send(&sleep(2, 10)).await;
    wire.send_text(&json!([sleep(3, 10), sleep(4, 10)]).to_string())
        .await;
    let refused = told(&wire.next_batch().await);
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), [3, 4]);
    assert!(
        refused.values().all(|it| it.contains("busy")),
        "{refused:?}"
    );
    let (rest, _) = wire.finish().await;
    assert_eq!(told(&rest).into_keys().collect::<Vec<_>>(), [1, 2]);
}

/// Without a client there is no user to ask and nothing to listen to.
/// S-SUBM-07, S-CANC-07.
#[tokio::test]
async fn fault_68_questions_and_subscriptions_end_with_the_input() {
    let asks = Tool::new(
        "ask",
        "Asks.",
        |context: Context, _: NoArguments| async move {
            let question = ElicitParams {
                message: "?".to_owned(),
                ..ElicitParams::default()
            };
            context.elicit(question).await?;
            Ok("answered")
        },
    );
    let server = hello().tool(asks).list_changes().build().unwrap();
    let mut wire = Wire::new(&server);
    let listen = json!({"notifications": {"toolsListChanged": true}});
    wire.send(&modern(1, "subscriptions/listen", listen)).await;
    assert_eq!(
        wire.next().await["method"],
        "notifications/subscriptions/acknowledged"
    );
    let (rest, reason) = wire.finish().await;
    assert_eq!((rest.len(), reason), (1, EndReason::EndOfInput), "{rest:?}");
    assert_eq!(rest[0]["result"]["resultType"], "complete", "{rest:?}");

    let mut wire = Wire::legacy(&server, "2025-11-25", json!({"elicitation": {}})).await;
    wire.send(&call(1, "ask", json!({}))).await;
    assert_eq!(wire.next().await["method"], "elicitation/create");
    let (rest, reason) = wire.finish().await;
    assert_eq!((rest.len(), reason), (1, EndReason::EndOfInput), "{rest:?}");
    let told = rest[0].to_string();
    assert!(told.contains("the client is gone"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_stays_unanswered_at_the_end() {
    let server = hello().tool(sleepy()).build().unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    wire.send(&sleep(1, 10)).await;
    wire.send(&sleep(2, 10)).await;
    wire.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    )
    .await;
    let (rest, _) = wire.finish().await;
    assert_eq!(told(&rest).into_keys().collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn a_last_request_without_its_line_end_is_answered() {
    let server = hello().build().unwrap();
    for (last, expected) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, r#""id":7"#),
        (r#"{"jsonrpc":"2.0","id":7,"meth"#, "-32700"),
    ] {
        let (mut stream, serving) = server.memory();
        let serving = tokio::spawn(serving);
        stream.write_all(last.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.lines().count(), 1, "{answer}");
        assert!(answer.contains(expected), "{answer}");
        assert_eq!(serving.await.unwrap(), EndReason::EndOfInput);
    }
}

/// So much is answered that it fits into no buffer on the way.
const LARGE: usize = 300_000;

fn large() -> Server {
    Server::builder("test", "1")
        .tool(Tool::new(
            "large",
            "Says a lot.",
            |_, _: NoArguments| async { Ok("x".repeat(LARGE)) },
        ))
        .limits(|it| it.last_read = Duration::from_secs(3))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_gets_everything_and_one_that_does_not_cannot_keep_the_server() {
    for reads in [true, false] {
        let (mut stream, serving) = large().memory();
        let serving = tokio::spawn(serving);
        let params = json!({"name": "large", "arguments": {}});
        let request = modern(1, "tools/call", params);
        stream
            .write_all(format!("{request}\n").as_bytes())
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        if reads {
            let mut answer = Vec::new();
            let mut part = vec![0; 50_000];
            loop {
                tokio::time::sleep(Duration::from_secs(2)).await;
                match stream.read(&mut part).await.unwrap() {
                    0 => break,
                    length => answer.extend_from_slice(&part[..length]),
                }
            }
            assert!(answer.len() > LARGE, "{}", answer.len());
        }
        assert_eq!(serving.await.unwrap(), EndReason::EndOfInput);
    }
}

/// A client that is gone is no reason to go on.
#[tokio::test]
async fn work_stops_when_the_client_takes_no_answers_any_more() {
    let stopped = Arc::new(Notify::new());
    struct Tells(Arc<Notify>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let tells = Arc::clone(&stopped);
    let endless = Tool::new("endless", "Never ends.", move |_, _: NoArguments| {
        let tells = Tells(Arc::clone(&tells));
        async move {
            let _tells = tells;
            std::future::pending::<Result<&str, Failure>>().await
        }
    });
    let server = hello().tool(endless).build().unwrap();
    let mut wire = Wire::legacy(&server, "2025-11-25", json!({})).await;
    wire.send(&call(1, "endless", json!({}))).await;
    wire.send(&call(2, "hello", json!({}))).await;
    drop(wire);
    stopped.notified().await;
}
