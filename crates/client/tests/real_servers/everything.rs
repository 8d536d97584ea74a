//! The features of the protocol, against the reference server that has them all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_client::protocol::{
    CompletionReference, Content, CreateMessageResult, ElicitResult, LogLevel, Root,
};
use attache_client::{
    Change, Client, ElicitationModes, Error, Event, SamplingTools, Server, TaskStart,
};
use attache_view::form::Form;
use serde_json::json;

use crate::node;

async fn connect(server: Server) -> Client {
    server.connect().await.unwrap()
}

#[tokio::test]
async fn content_of_every_kind_arrives() {
    let client = connect(node("server-everything", &[])).await;
    let kinds = async |tool: &str, arguments| {
        let answer = client.call(tool, arguments).await.unwrap();
        let kinds: Vec<_> = answer
            .content
            .iter()
            .map(|block| block.kind().to_owned())
            .collect();
        kinds.join(" ")
    };
    assert!(kinds("get-tiny-image", json!({})).await.contains("image"));
    let links = kinds("get-resource-links", json!({"count": 2})).await;
    assert!(links.contains("resource_link resource_link"), "{links}");
    let reference = json!({"resourceType": "Blob", "resourceId": 1});
    assert!(
        kinds("get-resource-reference", reference)
            .await
            .contains("resource")
    );
    let weather = client
        .call("get-structured-content", json!({"location": "Chicago"}))
        .await
        .unwrap();
    assert!(weather.structured().unwrap()["temperature"].is_number());
    client.close().await;
}

#[tokio::test]
async fn resources_prompts_and_completion_work() {
    let client = connect(node("server-everything", &[])).await;
    let resources = client.list_resources().await.unwrap();
    let contents = client.read(&resources[0].uri).await.unwrap().contents;
    assert!(
        contents[0]
            .text
            .as_ref()
            .is_some_and(|text| !text.is_empty())
    );
    assert!(!client.list_templates().await.unwrap().is_empty());
    match client.read("demo://resource/no/such").await {
        Err(Error::Server(_)) => {}
        other => panic!("{other:?}"),
    }

    let filled = client
        .prompt("args-prompt", [("city", "Bern")])
        .await
        .unwrap();
    assert!(
        filled.messages[0]
            .content
            .as_text()
            .unwrap()
            .contains("Bern")
    );
    let reference = CompletionReference::Prompt {
        name: "completable-prompt".to_owned(),
        title: None,
    };
    let completion = client
        .complete(reference, "department", "E", BTreeMap::new())
        .await
        .unwrap();
    assert_eq!(completion.values, ["Engineering"]);
    client.close().await;
}

#[tokio::test]
async fn progress_is_shown_and_a_time_out_is_told_to_the_server() {
    let client = connect(node("server-everything", &[])).await;
    let notes = Arc::new(Mutex::new(Vec::new()));
    let answer = client
        .call(
            "trigger-long-running-operation",
            json!({"duration": 1, "steps": 4}),
        )
        .on_progress({
            let notes = notes.clone();
            move |note| notes.lock().unwrap().push((note.progress, note.total))
        })
        .await
        .unwrap();
    assert!(!answer.is_error);
    let total = Some(4.0);
    assert_eq!(
        *notes.lock().unwrap(),
        [(1.0, total), (2.0, total), (3.0, total), (4.0, total)]
    );

    let slow = client
        .call(
            "trigger-long-running-operation",
            json!({"duration": 60, "steps": 2}),
        )
        .timeout(Duration::from_millis(200));
    assert!(matches!(slow.await, Err(Error::TimedOut { .. })));
    let answer = client.call("echo", json!({"message": "still here"})).await;
    assert!(answer.unwrap().text().contains("still here"));
    client.close().await;
}

#[tokio::test]
async fn the_server_can_ask_for_roots_a_model_and_the_user() {
    let server = node("server-everything", &[])
        .roots([Root::new("file:///tmp/attache").named("attache")])
        .on_sampling(SamplingTools::Refused, |question| async move {
            let asked = question.messages[0].content.clone();
            Ok(CreateMessageResult::new(
                "test-model",
                Content::text(format!("a model heard: {asked:?}")),
            ))
        })
        .on_elicitation(ElicitationModes::FormAndUrl, |question| async move {
            match &question.requested_schema {
                Some(schema) if question.url.is_none() => {
                    let mut answer = Form::new(schema).defaults().to_value().unwrap();
                    answer["name"] = json!("Ada");
                    ElicitResult::accept(answer.into())
                }
                _ => ElicitResult::accept_url(),
            }
        });
    let client = connect(server).await;
    // The server asks for the roots by itself after the handshake, then offers the tools.
    let answered = async |tool: &str, arguments: serde_json::Value| {
        let answer = client.call(tool, arguments).await.unwrap();
        assert!(!answer.is_error, "{answer:?}");
        answer.text()
    };
    assert!(
        answered("get-roots-list", json!({}))
            .await
            .contains("file:///tmp/attache")
    );
    let sampled = answered("trigger-sampling-request", json!({"prompt": "hello"})).await;
    assert!(sampled.contains("a model heard"), "{sampled}");
    let elicited = answered("trigger-elicitation-request", json!({})).await;
    assert!(elicited.contains("Ada"), "{elicited}");
    client.close().await;
}

#[tokio::test]
async fn changes_of_a_resource_and_log_messages_arrive() {
    let client = connect(node("server-everything", &[])).await;
    let uri = client.list_resources().await.unwrap()[0].uri.clone();
    let mut watch = client.watch(&uri).await.unwrap();
    client
        .call("toggle-subscriber-updates", json!({}))
        .await
        .unwrap();
    let change = tokio::time::timeout(Duration::from_secs(30), watch.next()).await;
    assert_eq!(change.unwrap(), Some(Change::Resource { uri }));

    let mut events = client.events();
    client.set_log_level(LogLevel::Debug).await.unwrap();
    client
        .call("toggle-simulated-logging", json!({}))
        .await
        .unwrap();
    let logged = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            if let Event::Log(message) = &*events.next().await.unwrap() {
                break message.level.clone();
            }
        }
    });
    assert!(!logged.await.unwrap().is_empty());
    client.close().await;
}

#[tokio::test]
async fn a_tool_runs_as_a_task() {
    let client = connect(node("server-everything", &[])).await;
    let started = client
        .call_as_task(
            "simulate-research-query",
            json!({"topic": "guardians"}),
            Some(Duration::from_secs(60)),
        )
        .await
        .unwrap();
    let TaskStart::Running(task) = started else {
        panic!("{started:?}");
    };
    assert!(!task.state().await.unwrap().status.is_terminal());
    let result = task.result(Duration::from_secs(60)).await.unwrap();
    assert!(
        !result.is_error && result.text().contains("guardians"),
        "{result:?}"
    );
    client.close().await;
}
