//! What a server may ask: roots, the model, the user. The same questions in both eras, as requests
//! of a legacy server and inside the interim results of a modern one.

use attache_client::protocol::{
    Content, CreateMessageResult, ElicitParams, ElicitResult, Era, Json, Revision, Root, ToolUse,
};
use attache_client::{ElicitationModes, Error, Refusal, SamplingTools, Server};
use serde_json::{Value, json};

use crate::opening::{LEGACY, connected, finish, start, with};

/// What becomes of a question.
#[derive(Clone, Debug)]
enum Expected {
    Answer(Value),
    /// A legacy server gets this code; a modern call is abandoned, as there is no error to give
    /// (C-MRTR-17).
    Refusal(i64),
}

use Expected::{Answer, Refusal as Refused};

/// Asks one question in the middle of a call.
async fn check(
    revision: Revision,
    configure: impl FnOnce(Server) -> Server,
    method: &str,
    params: Value,
    expected: Expected,
) {
    let (client, mut peer) = connected(revision, configure).await;
    let call = start(client.call("work", json!({"on": "it"})));
    let mut request = peer.request("tools/call").await;
    let mut question = json!({"method": method});
    if !params.is_null() {
        question["params"] = params;
    }
    if revision.era() == Era::Legacy {
        question["jsonrpc"] = json!("2.0");
        question["id"] = json!("question");
        peer.say(question).await;
        let answer = peer.next().await;
        assert_eq!(answer["id"], "question", "{answer}");
        match &expected {
            Answer(expected) => assert_eq!(answer["result"], *expected, "{answer}"),
            Refused(code) => assert_eq!(answer["error"]["code"], *code, "{revision}: {answer}"),
        }
    } else {
        peer.ask_back(&request, json!({"the key": question}), Value::Null)
            .await;
        if let Answer(expected) = &expected {
            request = peer.request("tools/call").await;
            let responses = &request["params"]["inputResponses"];
            assert_eq!(*responses, json!({"the key": expected}));
        }
    }
    match (expected, revision.era()) {
        (Refused(_), Era::Modern) => {
            let error = call.await.unwrap().unwrap_err();
            assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        }
        _ => {
            peer.answer_text(&request, "done").await;
            assert_eq!(call.await.unwrap().unwrap().text(), "done");
        }
    }
    finish(client, peer).await;
}

fn anything(server: Server) -> Server {
    server
}

// C-ROOT-01, C-ROOT-02.
#[tokio::test(start_paused = true)]
async fn roots_are_told_in_every_revision() {
    for revision in Revision::NEWEST_FIRST {
        let configure =
            |server: Server| server.roots([Root::new("file:///home/me/notes").named("notes")]);
        let roots = json!({"roots": [{"uri": "file:///home/me/notes", "name": "notes"}]});
        check(
            revision,
            configure,
            "roots/list",
            Value::Null,
            Answer(roots),
        )
        .await;
    }
}

// C-ROOT-04, X-INIT-09: what was not declared is not there.
#[tokio::test(start_paused = true)]
async fn undeclared_questions_are_refused() {
    let sampling = json!({"messages": [], "maxTokens": 1});
    let elicitation =
        json!({"message": "?", "requestedSchema": {"type": "object", "properties": {}}});
    for revision in Revision::NEWEST_FIRST {
        for (method, params) in [
            ("roots/list", Value::Null),
            ("sampling/createMessage", sampling.clone()),
            ("elicitation/create", elicitation.clone()),
            ("weather/ask", json!({})),
        ] {
            check(revision, anything, method, params, Refused(-32601)).await;
        }
    }
}

/// A client with a model that says what it was told last.
fn echoing(tools: SamplingTools) -> impl FnOnce(Server) -> Server {
    move |server| {
        server.on_sampling(tools, |params| async move {
            let last = params
                .messages
                .last()
                .and_then(|message| message.content.last());
            let said = last.and_then(Content::as_text).unwrap_or("nothing");
            Ok(CreateMessageResult::new("echo-1", Content::text(said)))
        })
    }
}

fn said(text: &str) -> Value {
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "echo-1"})
}

// C-SAMP-01.
#[tokio::test(start_paused = true)]
async fn the_model_is_asked_in_every_revision() {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
        "maxTokens": 9,
    });
    for revision in Revision::NEWEST_FIRST {
        let model = echoing(SamplingTools::Refused);
        check(
            revision,
            model,
            "sampling/createMessage",
            params.clone(),
            Answer(said("hello")),
        )
        .await;
    }
}

// C-SAMP-07, C-MRTR-17: the user may say no.
// X-ERR-02.
#[tokio::test(start_paused = true)]
async fn the_user_may_refuse_the_model() {
    let params = json!({"messages": [], "maxTokens": 9});
    for revision in Revision::NEWEST_FIRST {
        let refusing = |server: Server| {
            server.on_sampling(SamplingTools::Refused, |_| async {
                Err(Refusal::new("not today"))
            })
        };
        check(
            revision,
            refusing,
            "sampling/createMessage",
            params.clone(),
            Refused(-1),
        )
        .await;
    }
}

/// A conversation in which the model used a tool.
fn with_tool_use(answers: Value) -> Value {
    json!({
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Is it warm?"}},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "u1", "name": "weather", "input": {}},
                {"type": "tool_use", "id": "u2", "name": "clock", "input": {}},
            ]},
            {"role": "user", "content": answers},
        ],
        "tools": [{"name": "weather", "inputSchema": {"type": "object"}}],
        "maxTokens": 9,
    })
}

fn tool_result(id: &str) -> Value {
    json!({"type": "tool_result", "toolUseId": id, "content": [{"type": "text", "text": "22"}]})
}

// C-SAMP-03: tools in sampling only where they were declared.
#[tokio::test(start_paused = true)]
async fn tools_in_sampling_are_allowed_or_refused() {
    let paired = with_tool_use(json!([tool_result("u1"), tool_result("u2")]));
    let choice = json!({"messages": [], "maxTokens": 9, "toolChoice": {"mode": "none"}});
    for revision in with(|features| features.sampling_tools) {
        let method = "sampling/createMessage";
        let allowed = echoing(SamplingTools::Allowed);
        check(
            revision,
            allowed,
            method,
            paired.clone(),
            Answer(said("nothing")),
        )
        .await;
        for params in [&paired, &choice] {
            let refused = echoing(SamplingTools::Refused);
            check(revision, refused, method, params.clone(), Refused(-32602)).await;
        }
    }
}

// X-SAMP-05, X-SAMP-06, C-SAMP-07: what a model API would choke on is refused before it is asked.
#[tokio::test(start_paused = true)]
async fn tool_results_must_answer_tool_uses_alone_and_all() {
    let text = json!({"type": "text", "text": "by the way"});
    for revision in with(|features| features.sampling_tools) {
        for answers in [
            json!([tool_result("u1")]),
            json!([tool_result("u1"), tool_result("u2"), tool_result("u3")]),
            json!([tool_result("u1"), tool_result("u2"), text]),
            json!([text]),
        ] {
            let model = echoing(SamplingTools::Allowed);
            let params = with_tool_use(answers);
            check(
                revision,
                model,
                "sampling/createMessage",
                params,
                Refused(-32602),
            )
            .await;
        }
    }
}

// C-SAMP-12: a model that wishes to use a tool says so in a list of blocks.
#[tokio::test(start_paused = true)]
async fn a_model_may_answer_with_a_tool_use() {
    let params = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": "Is it warm?"}}],
        "tools": [{"name": "weather", "inputSchema": {"type": "object"}}],
        "maxTokens": 9,
    });
    for revision in with(|features| features.sampling_tools) {
        let model = |server: Server| {
            server.on_sampling(SamplingTools::Allowed, |_| async {
                let wish = ToolUse::new("u1", "weather", Json::from(json!({"place": "here"})));
                let mut result = CreateMessageResult::new("m", vec![Content::ToolUse(wish)]);
                result.stop_reason = Some("toolUse".to_owned());
                Ok(result)
            })
        };
        let expected = json!({
            "role": "assistant", "model": "m", "stopReason": "toolUse",
            "content": [
                {"type": "tool_use", "id": "u1", "name": "weather", "input": {"place": "here"}},
            ],
        });
        check(
            revision,
            model,
            "sampling/createMessage",
            params.clone(),
            Answer(expected),
        )
        .await;
    }
}

fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 2},
                "age": {"type": "integer", "minimum": 0},
            },
            "required": ["name"],
        },
    })
}

fn answering(modes: ElicitationModes, answer: ElicitResult) -> impl FnOnce(Server) -> Server {
    move |server| {
        server.on_elicitation(modes, move |_: ElicitParams| {
            let answer = answer.clone();
            async move { answer }
        })
    }
}

fn accepting(content: Value) -> impl FnOnce(Server) -> Server {
    answering(ElicitationModes::Form, ElicitResult::accept(content.into()))
}

// C-ELIC-01, C-ELIC-03, C-ELIC-08: three answers that differ.
#[tokio::test(start_paused = true)]
async fn a_form_is_accepted_declined_or_cancelled() {
    let filled = json!({"name": "Ada", "age": 36});
    for revision in with(|features| features.elicitation) {
        let expected = json!({"action": "accept", "content": filled});
        let method = "elicitation/create";
        check(
            revision,
            accepting(filled.clone()),
            method,
            form(),
            Answer(expected),
        )
        .await;
        for (answer, action) in [
            (ElicitResult::decline(), "decline"),
            (ElicitResult::cancel(), "cancel"),
        ] {
            let user = answering(ElicitationModes::Form, answer);
            check(
                revision,
                user,
                method,
                form(),
                Answer(json!({"action": action})),
            )
            .await;
        }
    }
}

// X-ELIC-07: an answer that does not fit the form is not sent.
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_the_form_is_not_sent() {
    for revision in with(|features| features.elicitation) {
        for content in [
            json!({}),
            json!({"age": 36}),
            json!({"name": "A"}),
            json!({"name": "Ada", "age": -1}),
            json!({"name": "Ada", "age": "old"}),
        ] {
            let user = accepting(content);
            check(
                revision,
                user,
                "elicitation/create",
                form(),
                Refused(-32603),
            )
            .await;
        }
    }
}

// S-ELIC-02, C-ELIC-03, C-ELIC-08: modes.
#[tokio::test(start_paused = true)]
async fn a_page_to_visit_needs_the_mode_to_be_declared() {
    let method = "elicitation/create";
    for revision in with(|features| features.elicitation_modes) {
        let mut visit = json!({"mode": "url", "message": "Pay", "url": "https://pay.example/7"});
        if revision.era() == Era::Legacy {
            visit["elicitationId"] = json!("e-7");
        }
        let able = answering(ElicitationModes::FormAndUrl, ElicitResult::accept_url());
        check(
            revision,
            able,
            method,
            visit.clone(),
            Answer(json!({"action": "accept"})),
        )
        .await;
        let unable = answering(ElicitationModes::Form, ElicitResult::accept_url());
        check(revision, unable, method, visit, Refused(-32602)).await;
        for mode in [json!("voice"), json!(7)] {
            let able = answering(ElicitationModes::FormAndUrl, ElicitResult::decline());
            let params = json!({"mode": mode, "message": "Say it"});
            check(revision, able, method, params, Refused(-32602)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_questions_are_refused() {
    for revision in with(|features| features.elicitation) {
        for (method, params) in [
            ("elicitation/create", Value::Null),
            ("elicitation/create", json!({})),
            ("elicitation/create", json!([1])),
            ("sampling/createMessage", json!({"messages": "none"})),
        ] {
            let able = |server| accepting(json!({}))(echoing(SamplingTools::Allowed)(server));
            check(revision, able, method, params, Refused(-32602)).await;
        }
    }
}

// C-ROOT-01, C-SAMP-01, C-ELIC-01: what is declared is what there is, in the shape of the revision.
#[tokio::test(start_paused = true)]
async fn capabilities_follow_from_the_handlers() {
    for revision in Revision::NEWEST_FIRST {
        let (client, peer) = connected(revision, |server| {
            let server = server.roots([]);
            let server = echoing(SamplingTools::Allowed)(server);
            answering(ElicitationModes::FormAndUrl, ElicitResult::decline())(server)
        })
        .await;
        let first = &peer.record.client_messages()[0];
        let (declared, expected) = if LEGACY.contains(&revision) {
            let mut expected = json!({"roots": {"listChanged": true}, "sampling": {}});
            if revision.features().elicitation {
                expected["elicitation"] = json!({});
            }
            if revision.features().elicitation_modes {
                expected["elicitation"] = json!({"form": {}, "url": {}});
                expected["sampling"] = json!({"tools": {}});
            }
            (&first["params"]["capabilities"], expected)
        } else {
            let expected = json!({
                "roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}},
            });
            let declared = &first["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            (declared, expected)
        };
        assert_eq!(*declared, expected, "{revision}");
        finish(client, peer).await;
    }
}
