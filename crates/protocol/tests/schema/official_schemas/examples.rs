//! The official examples of 2026-07-28 are read and written again as they were.

use std::collections::BTreeMap;
use std::fs;

use attache_protocol as mcp;
use attache_protocol::{
    Content, InputRequest, Json, Line, Message, Method, Notification, Outcome, parse_line,
};
use attache_view::form::{Form, Kind, Picks};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::schema_dir;

/// Reads an example and writes it again.
type Rewrite = fn(&Json) -> String;

fn record<T: DeserializeOwned + Serialize>(example: &Json) -> String {
    let record: T = example.decode().unwrap();
    serde_json::to_string(&record).unwrap()
}

fn block(example: &Json) -> String {
    let block: Content = example.decode().unwrap();
    assert!(!matches!(block, Content::Other(_)), "{example}");
    serde_json::to_string(&block).unwrap()
}

/// A whole request, by way of the envelope.
fn request<M: Method>(example: &Json) -> String {
    let Line::Message(Message::Request { id, method, params }) =
        parse_line(example.as_str().as_bytes())
    else {
        panic!("no request: {example}");
    };
    assert_eq!(method, M::NAME);
    let params: M::Params = Json::from(params.unwrap()).decode().unwrap();
    let params = serde_json::to_string(&params).unwrap();
    let id = serde_json::to_string(&id).unwrap();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn notification<N: Notification>(example: &Json) -> String {
    let Line::Message(Message::Notification { method, params }) =
        parse_line(example.as_str().as_bytes())
    else {
        panic!("no notification: {example}");
    };
    assert_eq!(method, N::NAME);
    let Some(params) = params else {
        return format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
    };
    let params: N::Params = Json::from(params).decode().unwrap();
    let params = serde_json::to_string(&params).unwrap();
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

fn response<M: Method>(example: &Json) -> String {
    let Line::Message(Message::Response {
        id: Some(id),
        outcome: Outcome::Result(result),
    }) = parse_line(example.as_str().as_bytes())
    else {
        panic!("no result: {example}");
    };
    let result: M::Result = Json::parse(result).unwrap().decode().unwrap();
    let line = mcp::frame::result(&id, &result).unwrap();
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

/// An error response whose data is `D`.
fn error<D: DeserializeOwned + Serialize>(example: &Json) -> String {
    let Line::Message(Message::Response {
        id: Some(id),
        outcome: Outcome::Error(mut error),
    }) = parse_line(example.as_str().as_bytes())
    else {
        panic!("no error: {example}");
    };
    let data: Option<D> = error.data.map(|data| data.decode().unwrap());
    error.data = data.map(|data| Json::from_serialize(&data).unwrap());
    let line = mcp::frame::error(&id, &error).unwrap();
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

/// A question as it stands in `inputRequests`; some examples have an id all the same.
fn question(example: &Json) -> String {
    let question: InputRequest = example.decode().unwrap();
    question.kind().unwrap();
    serde_json::to_string(&question).unwrap()
}

fn questions(example: &Json) -> String {
    let questions: BTreeMap<String, InputRequest> = example.decode().unwrap();
    for question in questions.values() {
        question.kind().unwrap();
    }
    serde_json::to_string(&questions).unwrap()
}

/// A field of a form: it has a widget, and its default.
fn field(example: &Json) -> String {
    let schema = format!(r#"{{"type":"object","properties":{{"field":{example}}}}}"#);
    let form = Form::new(&Json::parse(&schema).unwrap()).field(None, &Picks::default());
    let field = &form.members().unwrap().fields[0];
    assert!(!matches!(field.kind, Kind::Json { .. }), "{field:?}");
    let default = example.to_value().unwrap().get("default").cloned();
    let read = field.default.as_ref();
    assert_eq!(
        read.map(|value| value.to_json().to_value().unwrap()),
        default
    );
    example.to_string()
}

/// How the examples of each folder are read.
const FOLDERS: &[(&str, Rewrite)] = &[
    ("AudioContent", block),
    ("BlobResourceContents", record::<mcp::ResourceContents>),
    ("BooleanSchema", field),
    ("CallToolRequest", request::<mcp::CallTool>),
    ("CallToolRequestParams", record::<mcp::CallToolParams>),
    ("CallToolResult", record::<mcp::CallToolResult>),
    ("CallToolResultResponse", response::<mcp::CallTool>),
    ("CancelledNotification", notification::<mcp::Cancelled>),
    (
        "CancelledNotificationParams",
        record::<mcp::CancelledParams>,
    ),
    ("ClientCapabilities", record::<mcp::ClientCapabilities>),
    ("CompleteRequest", request::<mcp::Complete>),
    ("CompleteRequestParams", record::<mcp::CompleteParams>),
    ("CompleteResult", record::<mcp::CompleteResult>),
    ("CompleteResultResponse", response::<mcp::Complete>),
    ("CreateMessageRequest", question),
    (
        "CreateMessageRequestParams",
        record::<mcp::CreateMessageParams>,
    ),
    ("CreateMessageResult", record::<mcp::CreateMessageResult>),
    ("DiscoverRequest", request::<mcp::Discover>),
    ("DiscoverResult", record::<mcp::DiscoverResult>),
    ("DiscoverResultResponse", response::<mcp::Discover>),
    ("ElicitRequest", question),
    ("ElicitRequestFormParams", record::<mcp::ElicitParams>),
    ("ElicitRequestURLParams", record::<mcp::ElicitParams>),
    ("ElicitResult", record::<mcp::ElicitResult>),
    ("EmbeddedResource", block),
    ("GetPromptRequest", request::<mcp::GetPrompt>),
    ("GetPromptRequestParams", record::<mcp::GetPromptParams>),
    ("GetPromptResult", record::<mcp::GetPromptResult>),
    ("GetPromptResultResponse", response::<mcp::GetPrompt>),
    ("HeaderMismatchError", error::<Json>),
    ("ImageContent", block),
    ("InputRequests", questions),
    ("InputRequiredResult", record::<mcp::InputRequired>),
    ("InputResponses", record::<mcp::InputResponses>),
    ("InternalError", record::<mcp::ErrorObject>),
    ("InvalidParamsError", record::<mcp::ErrorObject>),
    ("ListPromptsRequest", request::<mcp::ListPrompts>),
    ("ListPromptsResult", record::<mcp::PromptPage>),
    ("ListPromptsResultResponse", response::<mcp::ListPrompts>),
    (
        "ListResourceTemplatesRequest",
        request::<mcp::ListTemplates>,
    ),
    ("ListResourceTemplatesResult", record::<mcp::TemplatePage>),
    (
        "ListResourceTemplatesResultResponse",
        response::<mcp::ListTemplates>,
    ),
    ("ListResourcesRequest", request::<mcp::ListResources>),
    ("ListResourcesResult", record::<mcp::ResourcePage>),
    (
        "ListResourcesResultResponse",
        response::<mcp::ListResources>,
    ),
    ("ListRootsRequest", question),
    ("ListRootsResult", record::<mcp::ListRootsResult>),
    ("ListToolsRequest", request::<mcp::ListTools>),
    ("ListToolsResult", record::<mcp::ToolPage>),
    ("ListToolsResultResponse", response::<mcp::ListTools>),
    (
        "LoggingMessageNotification",
        notification::<mcp::LogMessage>,
    ),
    (
        "LoggingMessageNotificationParams",
        record::<mcp::LogMessageParams>,
    ),
    ("MethodNotFoundError", record::<mcp::ErrorObject>),
    (
        "MissingRequiredClientCapabilityError",
        error::<mcp::MissingCapabilityData>,
    ),
    ("ModelPreferences", record::<mcp::ModelPreferences>),
    ("NumberSchema", field),
    ("PaginatedRequestParams", record::<mcp::PageParams>),
    ("ParseError", record::<mcp::ErrorObject>),
    ("ProgressNotification", notification::<mcp::Progress>),
    ("ProgressNotificationParams", record::<mcp::ProgressParams>),
    (
        "PromptListChangedNotification",
        notification::<mcp::PromptsChanged>,
    ),
    ("ReadResourceRequest", request::<mcp::ReadResource>),
    ("ReadResourceResult", record::<mcp::ReadResourceResult>),
    ("ReadResourceResultResponse", response::<mcp::ReadResource>),
    ("Resource", record::<mcp::Resource>),
    ("ResourceLink", block),
    (
        "ResourceListChangedNotification",
        notification::<mcp::ResourcesChanged>,
    ),
    (
        "ResourceUpdatedNotification",
        notification::<mcp::ResourceUpdated>,
    ),
    (
        "ResourceUpdatedNotificationParams",
        record::<mcp::ResourceUpdatedParams>,
    ),
    ("Root", record::<mcp::Root>),
    ("SamplingMessage", record::<mcp::SamplingMessage>),
    ("ServerCapabilities", record::<mcp::ServerCapabilities>),
    ("StringSchema", field),
    (
        "SubscriptionsAcknowledgedNotification",
        notification::<mcp::Acknowledged>,
    ),
    ("SubscriptionsListenRequest", request::<mcp::Listen>),
    ("SubscriptionsListenResult", record::<mcp::ListenResult>),
    ("SubscriptionsListenResultResponse", response::<mcp::Listen>),
    ("TextContent", block),
    ("TextResourceContents", record::<mcp::ResourceContents>),
    ("TitledMultiSelectEnumSchema", field),
    ("TitledSingleSelectEnumSchema", field),
    ("Tool", record::<mcp::Tool>),
    (
        "ToolListChangedNotification",
        notification::<mcp::ToolsChanged>,
    ),
    ("ToolResultContent", block),
    ("ToolUseContent", block),
    (
        "UnsupportedProtocolVersionError",
        error::<mcp::UnsupportedVersionData>,
    ),
    ("UntitledMultiSelectEnumSchema", field),
    ("UntitledSingleSelectEnumSchema", field),
];

/// The same value with every number as a float: JSON has one kind of number, and `50` may be written
/// `50.0`.
fn with_floats(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(with_floats).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, member)| (key, with_floats(member)))
            .collect(),
        other => other,
    }
}

/// How many members all objects of a text have, doubled ones counted twice.
fn count_members(text: &str) -> usize {
    let members: mcp::Extra = match Json::parse(text).unwrap().decode() {
        Ok(members) => members,
        Err(_) => {
            let items: Vec<Json> = serde_json::from_str(text).unwrap_or_default();
            return items.iter().map(|item| count_members(item.as_str())).sum();
        }
    };
    members
        .iter()
        .map(|(_, member)| 1 + count_members(member.as_str()))
        .sum()
}

#[test]
fn every_official_example_is_read_and_written_again_as_it_was() {
    let dir = schema_dir();
    let mut count = 0;
    for folder in fs::read_dir(dir.join("2026-07-28/examples")).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let rewrite = FOLDERS
            .iter()
            .find_map(|(folder, rewrite)| (*folder == name).then_some(rewrite))
            .unwrap_or_else(|| panic!("examples of {name} are not checked"));
        for file in fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let example = Json::parse(&fs::read_to_string(&path).unwrap()).unwrap();
            let rewritten = rewrite(&example);
            let value: Value = serde_json::from_str(&rewritten).unwrap();
            assert_eq!(
                with_floats(value),
                with_floats(example.to_value().unwrap()),
                "{}",
                path.display()
            );
            assert_eq!(
                count_members(&rewritten),
                count_members(example.as_str()),
                "{} has doubled members: {rewritten}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count >= FOLDERS.len(), "only {count} examples were found");
}
