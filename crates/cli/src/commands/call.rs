//! `attache call`.

use std::time::Duration;

use attache::TaskStart;
use attache::host::Call as HostCall;
use attache::host::policy::CallOrigin;
use attache::protocol::{CallToolResult, Content, Json, Payload, Tool};

use super::{listing, save};
use crate::arguments::{self, Schema};
use crate::command_host::CommandHost;
use crate::failure::{self, Failure, Kind};
use crate::invocation::{Call, Listing};
use crate::output::{Format, Output, Text, human};

/// How long a server may take to acknowledge that a task is not wanted any more.
const CANCEL_PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn run(call: Call, session: &CommandHost, output: &Output) -> Result<(), Failure> {
    let (server, name, schema, way) = match call.listing {
        Listing::First => {
            let (server, tool) = listing::find::<Tool>(&call.tool, "tool", session, output).await?;
            let way = Way::of(&tool, server.as_str(), session);
            let schema = Schema::of_tool(&tool);
            (server, tool.name, schema, way)
        }
        Listing::Skip => {
            let found = session.run(session.host.resolve::<Tool>(&call.tool));
            let found = found.await?;
            (found.server, found.tool, Schema::parse("{}"), Way::Request)
        }
    };
    let assembled = arguments::assemble(call.whole, &call.arguments, &schema, &name)?;
    for unmentioned in &assembled.unmentioned {
        output.note(&format!(
            "the schema of {name} does not mention \"{unmentioned}\"; it is sent all the same"
        ));
    }
    let progress = output.progress(&name, call.progress);
    // What a person types is its own consent; pins, `deny` and `ask` hold all the same.
    let request = session
        .host
        .call(format!("{server}/{name}"), assembled.arguments)
        .origin(CallOrigin::Person);
    let payload = match way {
        Way::Request => {
            let request = match progress.listener() {
                Some(listener) => request.on_progress(listener),
                None => request,
            };
            progress.during(session.run(request.raw())).await?
        }
        Way::Task => {
            let work = as_task(request, server.as_str(), session);
            progress.during(work).await?
        }
    };
    drop(progress);
    let result: Result<CallToolResult, _> = payload.decode();
    let result = result.map_err(|error| failure::unreadable("tools/call", &error));
    if output.format == Format::Json {
        output.document(&String::from_utf8_lossy(payload.as_bytes()))?;
    }
    let result = result.map_err(|failure| failure.of(server.as_str()))?;
    if output.format == Format::Human {
        output.text(&show(&result))?;
    }
    if result.is_error {
        return Err(failed(&name, &result, output.format).of(server.as_str()));
    }
    match &call.out {
        Some(file) => save::first_binary(&result.content, file, output),
        None => Ok(()),
    }
}

/// How a tool is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As a request that is answered.
    Request,
    /// As a task whose result is fetched, because the tool takes nothing else (2025-11-25).
    Task,
}

impl Way {
    fn of(tool: &Tool, server: &str, session: &CommandHost) -> Self {
        let execution = tool.execution.as_ref();
        let support = execution.and_then(|execution| execution.task_support.as_deref());
        if support != Some("required") {
            return Self::Request;
        }
        match session.host.running(server) {
            Some(client) if client.revision().features().experimental_tasks => Self::Task,
            _ => Self::Request,
        }
    }
}

/// Runs a tool as a task to its end. A task does not end with its request, so giving up means
/// telling the server.
async fn as_task(call: HostCall, server: &str, session: &CommandHost) -> Result<Payload, Failure> {
    let result = match session.run(call.as_task()).await? {
        TaskStart::Finished(result) => result,
        TaskStart::Running(task) => {
            let longest = session
                .host
                .config(server)?
                .server
                .settings
                .timeouts
                .maximum;
            let result = session.run_on(server, task.result(longest)).await;
            if let Err(Failure {
                kind: Kind::TimedOut | Kind::Cancelled,
                ..
            }) = result
            {
                // Whatever it answers, there is nothing more to be done about it.
                let _ = tokio::time::timeout(CANCEL_PATIENCE, task.cancel()).await;
            }
            result?
        }
    };
    let json = Json::from_serialize(&result)
        .map_err(|error| failure::unreadable("tools/call", &error).of(server))?;
    Ok(json.into())
}

/// The answer for people: its blocks, or the structured value if no block has anything to say.
fn show(result: &CallToolResult) -> Text {
    let says_something =
        |block: &Content| !matches!(block, Content::Text(text) if text.text.is_empty());
    match &result.structured_content {
        Some(value) if !result.content.iter().any(says_something) => human::json(value),
        _ => human::contents(&result.content),
    }
}

/// The failure of a tool. People have seen what it says; scripts are told in one line.
fn failed(tool: &str, result: &CallToolResult, format: Format) -> Failure {
    let text = result.text();
    match text.lines().next().filter(|_| format == Format::Json) {
        Some(line) => Failure::tool_failed(format!("the tool {tool} failed: {line}")),
        None => Failure::tool_failed(format!("the tool {tool} failed")),
    }
}
