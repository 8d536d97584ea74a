//! What holds for any input: framing, sorting of lines, and records.

#![cfg(test)]

use attache_protocol::{
    CallToolResult, Content, ElicitParams, ExtTask, FrameTooLong, InputRequired, Json, Line,
    LineFramer, Message, Outcome, Payload, ProgressParams, Prompt, Resource, ResultKind,
    SamplingMessage, ServerCapabilities, SubscriptionFilter, Task, Tool, ToolPage, parse_line,
};
use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Pieces that make lines end, grow and look strange.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(vec![
        "\n",
        "\r\n",
        "\r",
        " ",
        "\u{feff}",
        "{}",
        "ä€😀",
        "{\"jsonrpc\":\"2.0\"}",
        "12345678",
        "\0",
    ]);
    let piece = piece.prop_map(|piece| piece.as_bytes().to_vec());
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// All lines of a stream that comes in these chunks.
fn lines<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
    max_frame: usize,
) -> (Vec<Bytes>, Option<FrameTooLong>) {
    let mut framer = LineFramer::new(max_frame);
    let mut lines = Vec::new();
    for chunk in chunks {
        framer.push(chunk);
        loop {
            match framer.next_line() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break,
                Err(error) => return (lines, Some(error)),
            }
        }
    }
    (lines, None)
}

/// Valid messages to spoil.
const MESSAGES: [&str; 6] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":[1,2]}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
    r#"{"jsonrpc":"2.0","id":"s","result":{"content":[{"type":"text","text":"\ud83d\ude00"}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":{"uri":"a:b"}}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"m"}]"#,
    r#"{"id":1.0e2,"jsonrpc":"2.0","result":null}"#,
];

/// A valid message with some bytes replaced, cut out or added.
fn spoiled() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<Index>(), 0_u8..3, any::<u8>());
    (select(MESSAGES.to_vec()), vec(change, 1..6)).prop_map(|(message, changes)| {
        let mut bytes = message.as_bytes().to_vec();
        for (at, kind, byte) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

/// Takes apart whatever a line turned out to be; nothing of it may panic.
fn digest(line: &[u8]) {
    let frame = Bytes::copy_from_slice(line);
    let message = match parse_line(&frame) {
        Line::Message(message) => message,
        Line::Batch(items) => return assert!(!items.is_empty()),
        Line::Stray(reason) => return assert!(!reason.is_empty()),
    };
    let text = match message {
        Message::Request { params, .. } | Message::Notification { params, .. } => {
            params.map(RawValue::get)
        }
        Message::Response { outcome, .. } => match outcome {
            Outcome::Result(text) => Some(text),
            Outcome::Error(_) | Outcome::Malformed(_) => None,
        },
    };
    if let Some(text) = text {
        let payload = Payload::of_frame(&frame, text);
        let _ = ResultKind::of(&payload);
        let _ = payload.decode::<CallToolResult>();
        Json::parse(text).unwrap();
    }
}

/// Any JSON value, not too deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[ -~äß€]{0,6}".prop_map(Value::from),
        select(vec![
            "text",
            "image",
            "ref/prompt",
            "working",
            "form",
            "accept"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    })
}

/// An object whose members often have names that records know.
fn object(member: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let known = select(vec![
        "name",
        "title",
        "uri",
        "type",
        "text",
        "message",
        "mode",
        "_meta",
        "content",
        "isError",
        "taskId",
        "status",
        "ttl",
        "ttlMs",
        "progressToken",
        "progress",
        "total",
        "role",
        "tools",
        "inputSchema",
        "annotations",
        "requestedSchema",
        "inputRequests",
        "method",
        "size",
        "toolsListChanged",
        "resources",
        "listChanged",
        "arguments",
        "required",
        "description",
    ]);
    let key = prop_oneof![4 => known.prop_map(str::to_owned), 1 => "[a-z]{1,3}"];
    btree_map(key, member, 0..8)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

/// What is read, written and read again is the same; and what is written holds every member that
/// was read, `null` apart, which stands for an absent one.
fn check_record<T>(value: &Value) -> Result<(), TestCaseError>
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let Ok(record) = Json::from(value.clone()).decode::<T>() else {
        return Ok(());
    };
    let written = Json::from_serialize(&record).unwrap();
    prop_assert_eq!(&written.decode::<T>().unwrap(), &record);
    let rewritten = Json::from_serialize(&written.decode::<T>().unwrap()).unwrap();
    prop_assert_eq!(&rewritten, &written);
    let written = written.to_value().unwrap();
    for (key, member) in value.as_object().unwrap() {
        if !member.is_null() {
            let kept = written.get(key).cloned().unwrap_or_default();
            prop_assert_eq!(normal(kept), normal(member.clone()), "{} of {}", key, value);
        }
    }
    Ok(())
}

/// Numbers as floats, `null` members left out, lists sorted: entries that cannot be read move.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(normal).collect();
            items.sort_by_key(Value::to_string);
            items.into()
        }
        Value::Object(members) => members
            .into_iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(key, member)| (key, normal(member)))
            .collect(),
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fault_21_any_chunking_gives_the_same_lines(
        stream in stream(),
        cuts in vec(any::<Index>(), 0..8),
        max_frame in 1_usize..40,
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
        let whole = lines([&stream[..]], max_frame);
        prop_assert_eq!(lines(chunks, max_frame), whole.clone());
        prop_assert_eq!(lines(stream.chunks(1), max_frame), whole);
    }

    #[test]
    fn p7_no_line_panics(line in vec(any::<u8>(), 0..200)) {
        digest(&line);
    }

    #[test]
    fn p7_no_spoiled_message_panics(line in spoiled()) {
        digest(&line);
    }

    #[test]
    fn p7_json_of_any_kind_sorts_without_panic(value in value()) {
        digest(value.to_string().as_bytes());
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": value});
        digest(message.to_string().as_bytes());
    }

    #[test]
    fn fault_54_records_lose_nothing(value in object(value())) {
        check_record::<Tool>(&value)?;
        check_record::<ToolPage>(&value)?;
        check_record::<Resource>(&value)?;
        check_record::<Prompt>(&value)?;
        check_record::<CallToolResult>(&value)?;
        check_record::<Content>(&value)?;
        check_record::<SamplingMessage>(&value)?;
        check_record::<ElicitParams>(&value)?;
        check_record::<ProgressParams>(&value)?;
        check_record::<Task>(&value)?;
        check_record::<ExtTask>(&value)?;
        check_record::<InputRequired>(&value)?;
        check_record::<ServerCapabilities>(&value)?;
        check_record::<SubscriptionFilter>(&value)?;
    }
}
