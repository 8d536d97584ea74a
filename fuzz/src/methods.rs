//! Decodes any payload as the types of every method.

use attache_protocol as mcp;
use attache_protocol::{Content, Json, Method, Notification, Payload};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Any JSON text is read as the params and the result of every method.
pub fn methods(bytes: &[u8]) {
    let Some(json) = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| Json::parse(text).ok())
    else {
        return;
    };
    let payload = Payload::from(json.clone());

    macro_rules! each_method {
        ($($method:ident),* $(,)?) => { $( method::<mcp::$method>(&payload); )* };
    }
    macro_rules! each_notification {
        ($($notification:ident),* $(,)?) => { $( notification::<mcp::$notification>(&payload); )* };
    }
    each_method! {
        Initialize, Ping, Discover, ListTools, CallTool, ListResources, ListTemplates, ReadResource,
        Subscribe, Unsubscribe, ListPrompts, GetPrompt, Complete, SetLevel, ListRoots, CreateMessage,
        Elicit, Listen, GetTask, TaskResult, ListTasks, CancelTask, ExtGetTask, ExtUpdateTask,
        ExtCancelTask, LspShutdown,
    }
    each_notification! {
        Initialized, ToolsChanged, ResourcesChanged, ResourceUpdated, PromptsChanged, LogMessage,
        Progress, Cancelled, RootsChanged, ElicitationComplete, Acknowledged, TaskStatusChanged,
        ExtTaskChanged, LspCancel, LspExit,
    }
    round_trip::<mcp::UnsupportedVersionData>(&payload);
    round_trip::<mcp::MissingCapabilityData>(&payload);
    round_trip::<mcp::UrlElicitationRequiredData>(&payload);
    round_trip::<mcp::CreateTaskResult>(&payload);
    round_trip::<Content>(&payload);
    rounds(&payload);
    sampling(&payload);
}

fn method<M: Method>(payload: &Payload) {
    round_trip::<M::Params>(payload);
    round_trip::<M::Result>(payload);
}

fn notification<N: Notification>(payload: &Payload) {
    round_trip::<N::Params>(payload);
}

/// What can be read can be written, and then reads as what writes the same.
fn round_trip<T: Serialize + DeserializeOwned>(payload: &Payload) -> Option<T> {
    let value: T = payload.decode().ok()?;
    let written = Json::from_serialize(&value).expect("a record can be written");
    let again: T = written.decode().expect("what was written can be read");
    let rewritten = Json::from_serialize(&again).expect("a record can be written");
    assert_eq!(rewritten, written);
    Some(value)
}

fn rounds(payload: &Payload) {
    if let Some(result) = round_trip::<mcp::InputRequired>(payload) {
        for request in result.input_requests.values() {
            let _ = request.kind();
        }
        if let Ok(original) = payload.to_json() {
            let state = result.request_state.as_ref();
            let _ = mcp::retry_params(&original.into(), &mcp::InputResponses::new(), state);
        }
    }
}

fn sampling(payload: &Payload) {
    if let Ok(params) = payload.decode::<mcp::CreateMessageParams>() {
        let _ = mcp::check_tool_pairing(&params.messages);
    }
}
