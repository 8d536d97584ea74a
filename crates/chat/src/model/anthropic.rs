//! Anthropic Messages.

use serde_json::{Value, json};

use super::reading::{CallPiece, Delta, Reply, said, unknown};
use super::{Ask, Definition};
use crate::endpoint::Endpoint;
use crate::message::{Answer, Image, Message, Part, StopReason, Thinking, ToolResult, Usage};
use crate::untrusted::Mark;

/// The version that every request names.
pub(super) const VERSION: &str = "2023-06-01";
/// How much a model may answer, which the format wants to be told.
const MAX_TOKENS: u64 = 8_192;

/// The request. What does not change from turn to turn is marked, so that the endpoint may
/// remember it: the tools and the system text, and the conversation so far.
pub(super) fn body(endpoint: &Endpoint, ask: Ask<'_>) -> Value {
    let messages = ask.messages.iter();
    let messages = messages.filter_map(|message| write_message(message, ask.mark));
    let mut messages: Vec<Value> = messages.collect();
    mark_last_block(&mut messages);
    let mut body = json!({
        "model": endpoint.model,
        "messages": messages,
        "max_tokens": ask.max_tokens.unwrap_or(MAX_TOKENS),
        "stream": true,
    });
    if !ask.system.is_empty() {
        body["system"] =
            json!([{"type": "text", "text": ask.system, "cache_control": remembered()}]);
    }
    if !ask.tools.is_empty() {
        body["tools"] = ask.tools.iter().map(write_tool).collect();
    }
    if let Some(temperature) = endpoint.temperature {
        body["temperature"] = temperature.into();
    }
    if !ask.stop.is_empty() {
        body["stop_sequences"] = json!(ask.stop);
    }
    body
}

fn remembered() -> Value {
    json!({"type": "ephemeral"})
}

fn mark_last_block(messages: &mut [Value]) {
    let blocks = messages
        .last_mut()
        .and_then(|message| message["content"].as_array_mut());
    if let Some(block) = blocks.and_then(|blocks| blocks.last_mut())
        && !matches!(
            block["type"].as_str(),
            Some("thinking" | "redacted_thinking")
        )
    {
        block["cache_control"] = remembered();
    }
}

fn write_tool(tool: &Definition) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    })
}

fn write_message(message: &Message, mark: &Mark) -> Option<Value> {
    let (role, content): (_, Vec<Value>) = match message {
        Message::User { parts } => {
            let parts = parts.iter().filter_map(|part| write_part(part, mark));
            ("user", parts.collect())
        }
        Message::Assistant(answer) => ("assistant", write_answer(answer)),
        Message::Results { results } => {
            let results = results.iter().map(|result| write_result(result, mark));
            ("user", results.collect())
        }
    };
    // The format refuses a message without a block.
    (!content.is_empty()).then(|| json!({"role": role, "content": content}))
}

fn write_part(part: &Part, mark: &Mark) -> Option<Value> {
    match part {
        // The format refuses empty texts.
        Part::Text { text } if text.trim().is_empty() => None,
        Part::Text { text } => Some(json!({"type": "text", "text": text})),
        Part::Data { from, text } => Some(json!({"type": "text", "text": mark.around(from, text)})),
        Part::Image(image) => Some(write_image(image)),
    }
}

fn write_image(image: &Image) -> Value {
    json!({"type": "image", "source": {
        "type": "base64",
        "media_type": image.mime_type,
        "data": image.data,
    }})
}

fn write_answer(answer: &Answer) -> Vec<Value> {
    let mut blocks: Vec<Value> = answer.thinking.iter().filter_map(write_thinking).collect();
    if !answer.text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": answer.text.trim_end()}));
    }
    for call in &answer.calls {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        // Arguments that were none have to be sent as some: the format takes objects only.
        let input = if input.is_object() { input } else { json!({}) };
        blocks.push(json!({
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": input,
        }));
    }
    blocks
}

/// Thoughts go back only with the endpoint's own signature.
fn write_thinking(thinking: &Thinking) -> Option<Value> {
    if let Some(data) = &thinking.hidden {
        return Some(json!({"type": "redacted_thinking", "data": data}));
    }
    let signature = thinking.signature.as_ref()?;
    Some(json!({
        "type": "thinking",
        "thinking": thinking.text,
        "signature": signature,
    }))
}

fn write_result(result: &ToolResult, mark: &Mark) -> Value {
    let mut content = Vec::new();
    let told = result.told(mark);
    if !told.trim().is_empty() {
        content.push(json!({"type": "text", "text": told}));
    }
    content.extend(result.images.iter().map(write_image));
    json!({
        "type": "tool_result",
        "tool_use_id": result.id,
        "content": content,
        "is_error": result.is_error,
    })
}

/// Reads an event of the stream; true if it is the last.
pub(super) fn read(
    value: &Value,
    reply: &mut Reply,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) -> bool {
    let index = value["index"].as_u64();
    match value["type"].as_str().unwrap_or_default() {
        "message_start" => {
            reply.is_begun = true;
            read_head(&value["message"], reply);
        }
        "content_block_start" => read_block(index, &value["content_block"], reply, on_delta),
        "content_block_delta" => read_delta(index, &value["delta"], reply, on_delta),
        "message_delta" => {
            reply.is_begun = true;
            read_stop(&value["delta"], reply);
            read_usage(&value["usage"], reply);
        }
        "message_stop" => return true,
        _ => {}
    }
    false
}

/// Reads an answer that came in one piece.
pub(super) fn read_whole(
    value: &Value,
    reply: &mut Reply,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) {
    read_head(value, reply);
    for (index, block) in value["content"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        read_block(Some(index as u64), block, reply, on_delta);
    }
    read_stop(value, reply);
}

fn read_head(message: &Value, reply: &mut Reply) {
    if let Some(model) = said(message, "model") {
        reply.model = Some(model.to_owned());
    }
    read_usage(&message["usage"], reply);
}

fn read_usage(usage: &Value, reply: &mut Reply) {
    let cached = usage["cache_read_input_tokens"].as_u64();
    let created = usage["cache_creation_input_tokens"].as_u64();
    // What was remembered is counted apart.
    let input = usage["input_tokens"].as_u64();
    let input = input.map(|input| input + cached.unwrap_or(0) + created.unwrap_or(0));
    reply.usage.update(Usage {
        input: input.filter(|input| *input > 0 || reply.usage.input.is_none()),
        output: usage["output_tokens"].as_u64(),
        cached: cached.filter(|cached| *cached > 0),
    });
}

fn read_stop(delta: &Value, reply: &mut Reply) {
    if let Some(reason) = said(delta, "stop_reason") {
        reply.is_begun = true;
        reply.stop = match reason {
            "end_turn" | "stop_sequence" | "stop" => StopReason::Done,
            "tool_use" => StopReason::Tools,
            "max_tokens" => StopReason::Length,
            other => StopReason::Other(other.to_owned()),
        };
    }
}

fn read_block(
    index: Option<u64>,
    block: &Value,
    reply: &mut Reply,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) {
    reply.is_begun = true;
    match block["type"].as_str().unwrap_or_default() {
        "text" => reply.add_text(said(block, "text").unwrap_or_default(), on_delta),
        "thinking" => {
            let text = said(block, "thinking").unwrap_or_default();
            reply.add_thinking(index, text, on_delta);
            if let Some(signature) = said(block, "signature") {
                reply.thinking_at(index).signature = Some(signature.to_owned());
            }
        }
        "redacted_thinking" => {
            let data = said(block, "data").map(str::to_owned);
            reply.thinking_at(index).hidden = data;
        }
        "tool_use" => {
            // The input is usually empty here and follows in pieces; some send it whole.
            let input = block.get("input").filter(|input| match input {
                Value::Object(members) => !members.is_empty(),
                other => !other.is_null(),
            });
            let input = input.map(Value::to_string);
            reply.add_call(CallPiece {
                index,
                id: said(block, "id"),
                name: said(block, "name"),
                arguments: input.as_deref(),
                extra: unknown(block.as_object(), &["type", "id", "name", "input"]),
            });
        }
        _ => {}
    }
}

fn read_delta(
    index: Option<u64>,
    delta: &Value,
    reply: &mut Reply,
    on_delta: &mut (dyn FnMut(Delta<'_>) + Send),
) {
    // The members tell what it is; the type is missing with some.
    if let Some(text) = said(delta, "text") {
        reply.add_text(text, on_delta);
    }
    if let Some(text) = said(delta, "thinking") {
        reply.add_thinking(index, text, on_delta);
    }
    if let Some(signature) = said(delta, "signature") {
        let thinking = reply.thinking_at(index);
        let known = thinking.signature.get_or_insert_default();
        known.push_str(signature);
    }
    if let Some(json) = said(delta, "partial_json") {
        reply.add_call(CallPiece {
            index,
            arguments: Some(json),
            ..CallPiece::default()
        });
    }
}
