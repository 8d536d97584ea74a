//! A real small model behind llama.cpp's server: both wire formats stream, usage is told, and
//! stopping in the middle stops it.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::time::Duration;

use attache_chat::{Ask, Delta, Endpoint, Mark, Message, Model, Reply, StopReason};
use attache_host::client::Proxy;
use attache_host::config::{ChatApi, ChatConfig};
use attache_testkit::guard::within;
use attache_testkit::real_model;

/// How much the model says at most: it makes a few tokens a second on a busy machine.
const TOKENS: u64 = 16;

fn model(base: &str, api: ChatApi) -> Model {
    let config = ChatConfig {
        endpoint: Some(base.to_owned()),
        model: Some("smollm2".to_owned()),
        api: Some(api),
        temperature: Some(0.0),
        ..ChatConfig::default()
    };
    let mut endpoint = Endpoint::new(&config, None, |_| None, |_| None).unwrap();
    endpoint.proxy = Proxy::Direct;
    Model::new(endpoint)
}

#[tokio::test]
async fn both_wire_formats_stream_with_usage_and_stop_in_the_middle() {
    let server = tokio::task::spawn_blocking(real_model::start)
        .await
        .unwrap()
        .unwrap();
    let first = model(server.url(), ChatApi::OpenAi);
    let loaded = async {
        while first.window().await.is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    within("the model is loaded", loaded).await;
    assert!(
        first.window().await.unwrap() >= 2048,
        "the endpoint tells how much it takes"
    );
    for api in [ChatApi::OpenAi, ChatApi::Anthropic] {
        let model = model(server.url(), api);
        let (mark, messages) = (Mark::new(), [Message::user("Name three colours.")]);
        let ask = Ask {
            system: "Answer briefly.",
            max_tokens: Some(TOKENS),
            ..Ask::new(&messages, &mark)
        };
        let (mut reply, mut pieces) = (Reply::default(), 0);
        let mut count = |delta: Delta<'_>| pieces += usize::from(matches!(delta, Delta::Text(_)));
        within("an answer", model.answer(ask, &mut reply, &mut count))
            .await
            .unwrap();
        assert!(pieces > 2, "it streams: {pieces}");
        assert!(!reply.answer.text.trim().is_empty());
        assert!(
            matches!(reply.stop, StopReason::Done | StopReason::Length),
            "{:?}",
            reply.stop
        );
        let usage = reply.usage;
        assert!(
            usage
                .output
                .is_some_and(|tokens| (3..=TOKENS).contains(&tokens)),
            "{usage:?}"
        );
        assert!(usage.input.is_some_and(|tokens| tokens > 5), "{usage:?}");

        // Stopped after its first words: the future is dropped, and the model is free again.
        let messages = [Message::user("Tell me a very long story.")];
        let ask = Ask::new(&messages, &mark);
        let mut reply = Reply::default();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let mut begun = Some(begun);
        let mut on_delta = |_: Delta<'_>| {
            if let Some(begun) = begun.take() {
                let _ = begun.send(());
            }
        };
        let stopped = async {
            tokio::select! {
                ended = model.answer(ask, &mut reply, &mut on_delta) => panic!("{ended:?}"),
                _ = has_begun => {}
            }
        };
        within("the first words", stopped).await;
        assert!(!reply.answer.text.is_empty());
    }
    // The one slot of the server answers at once only if the stopped answers are gone.
    let model = model(server.url(), ChatApi::OpenAi);
    let (mark, messages) = (Mark::new(), [Message::user("Hi")]);
    let ask = Ask {
        max_tokens: Some(2),
        ..Ask::new(&messages, &mark)
    };
    let mut reply = Reply::default();
    within("another answer", model.answer(ask, &mut reply, &mut |_| {}))
        .await
        .unwrap();
}
