//! What a request holds: many tools, long results, long conversations.

use attache_chat::{Error, TurnEnd};
use attache_host::config::ChatTools;
use attache_testkit::chaos::{Action, Script, When};
use attache_testkit::http::Answer;
use attache_testkit::model::{ModelReply, WireFormat};
use serde_json::{Value, json};

use crate::support::{Talk, allowed, server, settings};

/// A server with twenty tools that describe themselves at length.
fn many(number: usize) -> Script {
    let tools = (0..20).map(|at| {
        json!({"name": format!("tool_{number}_{at}"), "description": "words ".repeat(200),
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}})
    });
    Script::legacy("2025-06-18").tools(tools)
}

const NAMES: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_tools_of_ten_servers_stay_within_the_budget() {
    let servers = NAMES.iter().enumerate().map(|(at, name)| {
        let script = many(at).on(When::tool("tool_7_3"), [Action::text("found it")]);
        (*name, script)
    });
    let replies = [
        ModelReply::calling(&[("a", "find_tools", r#"{"query": "tool_7_3"}"#)]),
        ModelReply::calling(&[(
            "b",
            "call_tool",
            r#"{"name": "s7__tool_7_3", "arguments": {"text": "x"}}"#,
        )]),
        ModelReply::saying("here"),
    ];
    let mut talk = Talk::new(replies, servers).await;
    assert_eq!(talk.ask("use the tool").await.unwrap(), TurnEnd::Answered);
    let asked = talk.model.asked();
    let tools = asked[0]["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["find_tools", "call_tool", "read_resource"]);
    for request in &asked {
        assert!(
            request.to_string().len() < 32_768 * 4 * 15 / 100,
            "{}",
            request.to_string().len()
        );
    }
    // The exactly named tool comes first.
    let found = asked[1]["messages"].as_array().unwrap().last().unwrap()["content"]
        .as_str()
        .unwrap();
    assert_eq!(
        found.lines().nth(1).unwrap().split(':').next(),
        Some("s7__tool_7_3"),
        "{found}"
    );
    // What is shown and called is the tool itself.
    assert_eq!(
        talk.face.calling,
        [("s7/tool_7_3".to_owned(), r#"{"text": "x"}"#.to_owned())]
    );
    assert!(asked[2].to_string().contains("found it"));
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_told_of_as_configured() {
    for (tools, expected) in [
        (ChatTools::None, vec![]),
        (ChatTools::All, vec!["one__act"]),
        (ChatTools::Search, vec!["find_tools", "call_tool"]),
    ] {
        let settings = attache_chat::ChatSettings {
            tools,
            ..settings()
        };
        let replies = [ModelReply::saying("hi")];
        let mut talk = Talk::with(
            WireFormat::Completions,
            replies,
            [("one", server(&["act"]))],
            allowed,
            |it| it,
            settings,
        )
        .await;
        talk.ask("hi").await.unwrap();
        let asked = talk.model.asked();
        let told: Vec<&str> = asked[0]["tools"]
            .as_array()
            .map(|tools| {
                tools
                    .iter()
                    .filter_map(|it| it["function"]["name"].as_str())
                    .collect()
            })
            .unwrap_or_default();
        assert_eq!(
            told.iter().filter(|name| **name != "read_resource").count(),
            expected.len()
        );
        assert!(expected.iter().all(|name| told.contains(name)), "{told:?}");
        talk.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_result_is_paged() {
    let long = format!("begin {} end", "x".repeat(100_000));
    let script = server(&["act"]).on(When::tool("act"), [Action::text(long)]);
    let replies = [
        ModelReply::calling(&[("a", "one__act", "{}")]),
        ModelReply::calling(&[("b", "read_result", r#"{"id": "r1", "offset": 98304}"#)]),
        ModelReply::saying("read"),
    ];
    let mut talk = Talk::new(replies, [("one", script)]).await;
    talk.ask("act").await.unwrap();
    let asked = talk.model.asked();
    assert!(asked[1].to_string().len() < 60_000);
    assert!(asked[1].to_string().contains("read_result"));
    assert!(
        asked[2].to_string().contains(" end\\n[bytes 98304"),
        "{}",
        talk.told()[0]
    );
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_budget_is_checked_before_every_request_of_a_turn() {
    let script = server(&["act"]).on(When::tool("act"), [Action::text("x".repeat(12_000))]);
    let replies = (0..6).map(|at| {
        let arguments = json!({ "query": at.to_string() }).to_string();
        ModelReply::calling(&[("a", "one__act", &arguments)])
    });
    let replies = replies.chain([ModelReply::saying("done")]);
    let settings = attache_chat::ChatSettings {
        context_tokens: Some(8_192),
        ..settings()
    };
    let mut talk = Talk::with(
        WireFormat::Completions,
        replies,
        [("one", script)],
        allowed,
        |it| it,
        settings,
    )
    .await;
    assert_eq!(talk.ask("act").await.unwrap(), TurnEnd::Answered);
    assert!(talk.face.compacted > 0);
    for request in talk.model.asked() {
        // The endpoint counts little, so the estimate is corrected to its lowest.
        assert!(
            request.to_string().len() < 2 * 8_192 * 4,
            "{}",
            request.to_string().len()
        );
    }
    talk.close().await;
}

#[tokio::test]
async fn what_cannot_fit_is_said_and_an_endpoint_that_takes_less_is_believed() {
    let mut talk = Talk::new([], []).await;
    let error = talk.ask(&"x".repeat(400_000)).await.unwrap_err();
    assert!(
        matches!(&error, Error::TooLong { message } if message.contains("your message")),
        "{error}"
    );
    assert_eq!(talk.model.asked().len(), 0);

    let too_long = Answer::json(&json!({"error": {"message": "maximum context length is 2048"}}));
    let replies = [
        ModelReply::saying(&"long ".repeat(3_000)),
        ModelReply::saying("b"),
        ModelReply::saying("c"),
        ModelReply::http(too_long.with_status(400)),
        ModelReply::saying("fits now"),
    ];
    let mut talk = Talk::new(replies, []).await;
    for question in ["one", "two", "three", "four"] {
        talk.ask(question).await.unwrap();
    }
    assert!(talk.face.text.ends_with("fits now"));
    assert_eq!(talk.face.compacted, 1);
}
