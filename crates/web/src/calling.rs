//! `use_mcp_tool` and what becomes of calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use attache::host::call_log::CallEnding;
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::host::snapshot::OpenRequest;
use attache::protocol::{CallToolResult, Json};
use attache_view::document::Document;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{json, ok};
use crate::asked::Asked;
use crate::calls::{CallEntry, CancelOnDrop, Outcome, Wanted};
use crate::console::Console;
use crate::error::ApiError;
use crate::{lists, tools};

/// How long one request waits for the end of a call at most.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A call to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UseTool {
    /// The server, by its name here.
    server_name: String,
    /// The tool, by its own name.
    tool_name: String,
    /// Its arguments; none are an empty object.
    #[schemars(with = "Option<serde_json::Value>")]
    arguments: Option<Json>,
    /// How long to wait without a sign of progress.
    timeout_ms: Option<u64>,
    /// Have the server run it as a task.
    #[serde(default)]
    as_task: bool,
    /// Answer at its end. Leaving the request cancels the call.
    #[serde(default)]
    wait: bool,
    /// Who wants it: `person` if a person has just asked for this very call, which is its own
    /// consent where no rule says to ask.
    #[serde(default)]
    origin: Asker,
}

/// Who wants a call.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Asker {
    /// A model or a program: the policy may ask first.
    #[default]
    Program,
    /// A person.
    Person,
}

/// A call as it stands.
#[derive(Debug, Serialize)]
pub(crate) struct CallView {
    call: u64,
    server: String,
    tool: String,
    origin: CallOrigin,
    as_task: bool,
    since_ms: u64,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<CallEnding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<ProgressView>,
}

#[derive(Debug, Serialize)]
struct ProgressView {
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// The same with what was sent and what came.
#[derive(Debug, Serialize)]
struct WholeCall {
    #[serde(flatten)]
    call: CallView,
    arguments_json: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Document>,
    #[serde(skip_serializing_if = "is_false")]
    dropped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ApiError>,
}

fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Serialize)]
struct OneCall<'a> {
    call: &'a CallView,
}

#[derive(Serialize)]
struct AllCalls {
    calls: Vec<CallView>,
}

pub(crate) async fn use_mcp_tool(
    console: Arc<Console>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let wanted: UseTool = asked.body()?;
    let server = lists::known_server(&console, &wanted.server_name)?;
    let arguments = match wanted.arguments {
        None => Json::parse("{}").unwrap_or_default(),
        Some(arguments) if arguments.as_str().starts_with('{') => arguments,
        Some(_) => return Err(ApiError::bad("arguments must be an object")),
    };
    let entry = console.calls.begin(
        &console.host,
        Wanted {
            tool: ToolName::new(server, wanted.tool_name),
            arguments,
            timeout: wanted.timeout_ms.map(Duration::from_millis),
            as_task: wanted.as_task,
            origin: match wanted.origin {
                Asker::Program => CallOrigin::Program,
                Asker::Person => CallOrigin::Person,
            },
        },
    );
    let entry = entry.await?;
    if !wanted.wait {
        let call = view(&console, &entry);
        return Ok(json(StatusCode::ACCEPTED, &OneCall { call: &call }));
    }
    let waiting = CancelOnDrop(entry.clone());
    entry.wait().await;
    drop(waiting);
    let whole = whole(&console, &entry).await;
    let status = whole
        .error
        .as_ref()
        .map_or(StatusCode::OK, ApiError::status);
    Ok(json(status, &whole))
}

pub(crate) async fn list(console: Arc<Console>, _: Asked) -> Result<Response, ApiError> {
    Ok(ok(&AllCalls {
        calls: views(&console),
    }))
}

pub(crate) async fn show(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let entry = find(&console, &asked)?;
    if let Some(wait) = asked.query_number("wait_ms")? {
        let patience = Duration::from_millis(wait).min(LONGEST_WAIT);
        // A call that goes on is shown as it stands.
        let _ = tokio::time::timeout(patience, entry.wait()).await;
    }
    Ok(ok(&whole(&console, &entry).await))
}

pub(crate) async fn cancel(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let entry = find(&console, &asked)?;
    entry.cancel();
    // The end is noted by the task that runs it, which does nothing else first.
    entry.wait().await;
    Ok(ok(&OneCall {
        call: &view(&console, &entry),
    }))
}

/// All calls of the console, briefly.
pub(crate) fn views(console: &Console) -> Vec<CallView> {
    let requests = console.host.snapshot().requests;
    let entries = console.calls.all();
    let entries = entries.iter();
    entries
        .map(|entry| CallView::of(entry, &requests))
        .collect()
}

fn find(console: &Console, asked: &Asked) -> Result<Arc<CallEntry>, ApiError> {
    let number = asked.number("call")?;
    console.calls.get(number).ok_or_else(|| {
        ApiError::not_found(&format!("the console has no call {number}"))
            .hint("calls of earlier launches are in /api/v1/history")
    })
}

fn view(console: &Console, entry: &CallEntry) -> CallView {
    CallView::of(entry, &console.host.snapshot().requests)
}

impl CallView {
    /// A call, and how far it is by the requests that are open now.
    fn of(entry: &CallEntry, requests: &VecDeque<OpenRequest>) -> Self {
        let ended = entry.ended();
        let open = requests.iter().filter(|_| ended.is_none());
        let open = open.filter(|it| it.request == entry.number).find_map(|it| {
            Some(ProgressView {
                progress: it.progress?,
                total: it.total,
                message: it.message.clone(),
            })
        });
        Self {
            call: entry.number,
            server: entry.tool.server.as_str().to_owned(),
            tool: entry.tool.tool.clone(),
            origin: entry.origin,
            as_task: entry.as_task,
            since_ms: entry.since_ms,
            state: if ended.is_some() { "ended" } else { "running" },
            after_ms: ended.as_ref().map(|ended| ended.after_ms),
            ending: ended.as_ref().map(|ended| ended.ending),
            progress: open,
        }
    }
}

async fn whole(console: &Console, entry: &CallEntry) -> WholeCall {
    let mut whole = WholeCall {
        call: view(console, entry),
        arguments_json: entry.arguments.as_str().to_owned(),
        is_error: None,
        result_json: None,
        document: None,
        dropped: false,
        error: None,
    };
    let Some(ended) = entry.ended() else {
        return whole;
    };
    match &ended.outcome {
        Outcome::Failed(error) => whole.error = Some((**error).clone()),
        Outcome::Dropped => whole.dropped = true,
        Outcome::Result(result) => {
            whole.result_json = Some(result.as_str().to_owned());
            if let Ok(result) = result.decode::<CallToolResult>() {
                let schema = output_schema(console, &entry.tool).await;
                whole.is_error = Some(result.is_error);
                whole.document = Some(Document::of_call(&result, schema.as_ref()));
                whole.error = result.is_error.then(|| {
                    ApiError::of_tool(entry.tool.server.as_str(), &result.text())
                        .of_call(entry.number)
                });
            }
        }
    }
    whole
}

/// What the tool promises of its structured result, as far as that is known without asking.
async fn output_schema(console: &Console, tool: &ToolName) -> Option<Json> {
    let known = tools::known_tool(console, &tool.server, &tool.tool).await?;
    known.output_schema
}
