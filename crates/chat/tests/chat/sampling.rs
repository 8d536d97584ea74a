//! The model lent to servers: what they may have of it.

use std::sync::Arc;

use attache_chat::{Model, Sampler};
use attache_protocol::CreateMessageParams;
use attache_testkit::model::{ModelReply, ModelServer};
use serde_json::{Value, json};

use crate::support::{BOTH, endpoint, scripted, within};

fn request(extra: Value) -> CreateMessageParams {
    let mut params = json!({
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Name a colour."}},
            {"role": "assistant", "content": {"type": "text", "text": "Red."}},
            {"role": "user", "content": [{"type": "text", "text": "Another."}]},
        ],
        "systemPrompt": "Be brief.",
        "maxTokens": 50,
        "stopSequences": ["\n"],
    });
    for (name, value) in extra.as_object().unwrap() {
        params[name] = value.clone();
    }
    serde_json::from_str(&params.to_string()).unwrap()
}

async fn sampler(replies: Vec<ModelReply>) -> (ModelServer, Sampler) {
    let format = BOTH[0];
    let server = scripted(format, replies).await;
    let model = Model::new(endpoint(&server.base(), format));
    (server, Sampler::new(Arc::new(model)))
}

#[tokio::test]
async fn a_server_gets_an_answer_to_its_own_words_and_nothing_of_the_conversation() {
    for format in BOTH {
        let server = scripted(format, [ModelReply::saying("Blue.")]).await;
        let model = Model::new(endpoint(&server.base(), format));
        let sampler = Sampler::new(Arc::new(model));
        let request = request(json!({}));
        let sampling = sampler.sample("paint", &request);
        let answer = within("the sample", sampling).await.unwrap();
        assert_eq!(answer.model, "scripted");
        assert_eq!(answer.stop_reason.as_deref(), Some("endTurn"));
        assert_eq!(answer.content[0].as_text(), Some("Blue."));
        let sent = &server.asked()[0];
        assert_eq!(sent["max_tokens"], 50);
        assert!(sent.to_string().contains("Be brief."), "{sent}");
        assert!(sent["tools"].is_null(), "{sent}");
    }
}

#[tokio::test]
async fn what_a_server_may_have_is_bounded() {
    let (server, sampler) = sampler(vec![ModelReply::saying("a")]).await;
    sampler
        .sample("greedy", &request(json!({"maxTokens": 1_000_000})))
        .await
        .unwrap();
    assert_eq!(server.asked()[0]["max_tokens"], 4_096);
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    let problem = sampler.check("greedy", &request(tools)).unwrap_err();
    assert!(problem.contains("tools"), "{problem}");
    let long = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "x".repeat(300_000)}}]});
    assert!(sampler.check("greedy", &request(long)).is_err());
}

#[tokio::test]
async fn a_server_has_a_rate_and_a_budget_of_its_own() {
    let replies = (0..10).map(|_| ModelReply::saying("a")).collect();
    let (server, fast) = sampler(replies).await;
    for _ in 0..10 {
        fast.sample("fast", &request(json!({}))).await.unwrap();
    }
    assert!(
        fast.sample("fast", &request(json!({})))
            .await
            .unwrap_err()
            .contains("in a minute")
    );
    assert!(
        fast.check("other", &request(json!({}))).is_ok(),
        "each server has its own"
    );
    assert_eq!(server.asked().len(), 10);

    let dear = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}],
        "usage": {"completion_tokens": 100_000}});
    let (_server, spent) = sampler(vec![ModelReply::events([dear])]).await;
    spent.sample("dear", &request(json!({}))).await.unwrap();
    assert!(
        spent
            .check("dear", &request(json!({})))
            .unwrap_err()
            .contains("budget")
    );
}
