//! Pieces of answers as odd as compatible endpoints send them, each after a public complaint.

use attache_chat::{Error, ToolCall};
use attache_testkit::http::Answer;
use attache_testkit::model::{ModelReply, WireFormat};
use serde_json::{Value, json};

use crate::support::{answer_to, ask, endpoint, scripted};

const OPENAI: WireFormat = WireFormat::Completions;
const ANTHROPIC: WireFormat = WireFormat::Anthropic;

fn chunk(delta: Value) -> Value {
    json!({"choices": [{"delta": delta}]})
}

fn call(piece: Value) -> Value {
    chunk(json!({"tool_calls": [piece]}))
}

async fn calls_of(events: Vec<Value>) -> Vec<ToolCall> {
    let (answer, outcome) = answer_to(OPENAI, events).await;
    outcome.unwrap();
    answer.calls
}

fn named(calls: &[ToolCall]) -> Vec<(&str, &str)> {
    calls
        .iter()
        .map(|it| (it.name.as_str(), it.arguments.as_str()))
        .collect()
}

#[tokio::test]
async fn arguments_may_be_empty_missing_null_or_an_object() {
    // rust-genai#127, llm#1521.
    for (piece, expected) in [
        (
            json!({"index": 0, "id": "a", "function": {"name": "t", "arguments": ""}}),
            "",
        ),
        (
            json!({"index": 0, "id": "a", "function": {"name": "t"}}),
            "",
        ),
        (
            json!({"index": 0, "id": "a", "function": {"name": "t", "arguments": null}}),
            "",
        ),
        (
            json!({"index": 0, "id": "a", "function": {"name": "t", "arguments": {"x": 1}}}),
            "{\"x\":1}",
        ),
        (
            json!({"index": 0, "id": "a", "name": "t", "arguments": "{}"}),
            "{}",
        ),
    ] {
        assert_eq!(named(&calls_of(vec![call(piece)]).await), [("t", expected)]);
    }
}

#[tokio::test]
async fn names_may_come_late_repeated_or_in_pieces() {
    // koog#1996, vercel/ai#5350.
    for pieces in [
        [
            json!({"index": 0, "id": "a"}),
            json!({"index": 0, "function": {"name": "search"}}),
            json!({"index": 0, "type": "function", "function": {"arguments": "{}"}}),
        ],
        [
            json!({"index": 0, "id": "a", "function": {"name": "search", "arguments": "{"}}),
            json!({"index": 0, "id": "a", "function": {"name": "search", "arguments": "}"}}),
            json!({"index": 0, "function": {"name": ""}}),
        ],
        [
            json!({"index": 0, "id": "a", "function": {"name": "sea"}}),
            json!({"index": 0, "function": {"name": "rch"}}),
            json!({"index": 0, "function": {"arguments": "{}"}}),
        ],
    ] {
        let events = pieces.into_iter().map(call).collect();
        assert_eq!(named(&calls_of(events).await), [("search", "{}")]);
    }
}

#[tokio::test]
async fn calls_are_told_apart_by_index_or_id_or_order() {
    for pieces in [
        // No index at all.
        vec![
            json!({"id": "a", "function": {"name": "x", "arguments": "1"}}),
            json!({"id": "b", "function": {"name": "y", "arguments": "2"}}),
        ],
        // The same index for both.
        vec![
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "1"}}),
            json!({"index": 0, "id": "b", "function": {"name": "y", "arguments": "2"}}),
        ],
        // Neither: a name begins a call.
        vec![
            json!({"function": {"name": "x"}}),
            json!({"function": {"arguments": "1"}}),
            json!({"function": {"name": "y"}}),
            json!({"function": {"arguments": "2"}}),
        ],
        // Interleaved.
        vec![
            json!({"index": 0, "id": "a", "function": {"name": "x"}}),
            json!({"index": 1, "id": "b", "function": {"name": "y"}}),
            json!({"index": 0, "function": {"arguments": "1"}}),
            json!({"index": 1, "function": {"arguments": "2"}}),
        ],
    ] {
        let calls = calls_of(pieces.into_iter().map(call).collect()).await;
        assert_eq!(named(&calls), [("x", "1"), ("y", "2")]);
        assert!(
            !calls[0].id.is_empty() && calls[0].id != calls[1].id,
            "{calls:?}"
        );
    }
}

#[tokio::test]
async fn calls_without_a_name_are_none_and_unknown_members_are_kept() {
    let calls = calls_of(vec![
        call(json!({"index": 0, "id": "a"})),
        call(json!({"index": 1, "id": "b", "function": {"name": "x"}, "extra_content": {"k": 1}})),
    ])
    .await;
    assert_eq!(named(&calls), [("x", "")]);
    assert_eq!(calls[0].extra["extra_content"], json!({"k": 1}));
}

#[tokio::test]
async fn odd_chunks_are_read() {
    // zed#42893, maple-proxy#3, rig#1021, openrouter_api#13.
    for events in [
        vec![json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": ""}], "usage": {}})],
        vec![
            json!({"choices": []}),
            json!({"usage": null}),
            chunk(json!({"content": "hi"})),
        ],
        vec![chunk(json!({"content": [{"type": "text", "text": "hi"}]}))],
        vec![
            chunk(json!({"content": "hi", "tool_calls": null})),
            json!({"x_metadata": 1}),
        ],
        vec![json!({"choices": [{"message": {"role": "assistant", "content": "hi"}}]})],
        vec![
            chunk(json!({"role": "assistant", "content": null})),
            chunk(json!({"content": "hi"})),
        ],
    ] {
        let (answer, outcome) = answer_to(OPENAI, &events).await;
        outcome.unwrap();
        assert_eq!(answer.text, "hi", "{events:?}");
    }
}

#[tokio::test]
async fn streams_may_have_comments_carriage_returns_and_no_end_mark() {
    let body = ": OPENROUTER PROCESSING\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n\
                : keep-alive\r\n\r\ndata: no json\r\n\r\ndata:\r\n\r\n\
                data:{\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\r\n\r\n";
    for content_type in [
        "text/event-stream",
        "text/event-stream; charset=utf-8",
        "text/plain",
    ] {
        let server = scripted(OPENAI, [ModelReply::http(Answer::text(content_type, body))]).await;
        let (reply, _, outcome) = ask(endpoint(&server.base(), OPENAI)).await;
        outcome.unwrap();
        assert_eq!(reply.answer.text, "ab");
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_is_an_answer() {
    let openai = json!({"model": "m", "choices": [{"message": {"content": "hi", "tool_calls": [
        {"id": "a", "function": {"name": "t", "arguments": "{}"}}]}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
    let anthropic = json!({"model": "m", "content": [{"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "a", "name": "t", "input": {}}], "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 2}});
    for (format, body) in [(OPENAI, openai), (ANTHROPIC, anthropic)] {
        let server = scripted(format, [ModelReply::http(Answer::json(&body))]).await;
        let (reply, _, outcome) = ask(endpoint(&server.base(), format)).await;
        outcome.unwrap();
        assert_eq!(reply.answer.text, "hi");
        assert_eq!(reply.answer.calls.len(), 1);
        assert_eq!(reply.usage.input, Some(5));
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_ends_the_answer() {
    let begin = chunk(json!({"content": "so "}));
    for (format, events) in [
        (
            OPENAI,
            vec![
                begin.clone(),
                json!({"error": {"message": "overloaded", "code": 502}}),
            ],
        ),
        (OPENAI, vec![begin.clone(), json!({"error": "overloaded"})]),
        (
            ANTHROPIC,
            vec![
                json!({"type": "content_block_delta", "delta": {"text": "so "}}),
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}),
            ],
        ),
    ] {
        let (answer, outcome) = answer_to(format, &events).await;
        assert!(
            matches!(&outcome, Err(Error::Failed(why)) if why.contains("overloaded")),
            "{outcome:?}"
        );
        assert_eq!(answer.text, "so ");
    }
}

#[tokio::test]
async fn anthropic_blocks_may_be_odd_too() {
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 4}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s1"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "zz"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "of_tomorrow"}}),
        // A delta whose block never began, and an input that came whole.
        json!({"type": "content_block_delta", "index": 3, "delta": {"text": "hi"}}),
        json!({"type": "content_block_start", "index": 4, "content_block":
            {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}),
    ];
    let (answer, outcome) = answer_to(ANTHROPIC, &events).await;
    outcome.unwrap();
    assert_eq!(answer.text, "hi");
    assert_eq!(answer.thinking.len(), 2);
    assert_eq!(answer.thinking[0].signature.as_deref(), Some("s1"));
    assert_eq!(answer.thinking[1].hidden.as_deref(), Some("zz"));
    assert_eq!(named(&answer.calls), [("t", "{\"x\":1}")]);
}
