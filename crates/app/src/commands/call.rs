//! `attache call`.

use std::time::Duration;

use attache::TaskStart;
use attache::protocol::{CallToolResult, Content, Json, Payload, Tool};

use super::listing::{self, RawTools};
use super::save;
use crate::arguments::{self, Schema};
use crate::failure::{self, Failure, Kind};
use crate::invocation::{Call, Listing};
use crate::names;
use crate::output::{Format, Output, Text, human};
use crate::session::Session;

/// How long a server may take to acknowledge that a task is not wanted any more.
const CANCEL_PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn run(call: Call, session: &Session, output: &Output) -> Result<(), Failure> {
    let (name, schema, way) = match call.listing {
        Listing::First => {
            let tool = find(&call.tool, session, output).await?;
            let schema = Schema::of_tool(&tool);
            let way = Way::of(&tool, session);
            (tool.name, schema, way)
        }
        Listing::Skip => {
            let name = names::without_server(&call.tool, &session.name);
            (name.to_owned(), Schema::parse("{}"), Way::Request)
        }
    };
    let assembled = arguments::assemble(call.whole, &call.arguments, &schema, &name)?;
    for unmentioned in &assembled.unmentioned {
        output.note(&format!(
            "the schema of {name} does not mention \"{unmentioned}\"; it is sent all the same"
        ));
    }
    let progress = output.progress(&name, call.progress);
    let payload = match way {
        Way::Request => {
            let mut request = session.client.call(&name, assembled.arguments);
            if let Some(listener) = progress.listener() {
                request = request.on_progress(listener);
            }
            progress.during(session.run(request.raw())).await?
        }
        Way::Task => {
            let work = as_task(&name, assembled.arguments, session);
            progress.during(work).await?
        }
    };
    drop(progress);
    let result: Result<CallToolResult, _> = payload.decode();
    let result = result.map_err(|error| failure::unreadable("tools/call", &error));
    if output.format == Format::Json {
        output.document(&String::from_utf8_lossy(payload.as_bytes()))?;
    }
    let result = result.map_err(|failure| failure.of(&session.name))?;
    if output.format == Format::Human {
        output.text(&show(&result))?;
    }
    if result.is_error {
        return Err(failed(&name, &result, output.format).of(&session.name));
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
    fn of(tool: &Tool, session: &Session) -> Self {
        let execution = tool.execution.as_ref();
        let support = execution.and_then(|execution| execution.task_support.as_deref());
        match support {
            Some("required") if session.client.revision().features().experimental_tasks => {
                Self::Task
            }
            _ => Self::Request,
        }
    }
}

/// Runs a tool as a task to its end. A task does not end with its request, so giving up means
/// telling the server.
async fn as_task(name: &str, arguments: Json, session: &Session) -> Result<Payload, Failure> {
    let started = session.run(session.client.call_as_task(name, arguments, None));
    let result = match started.await? {
        TaskStart::Finished(result) => result,
        TaskStart::Running(task) => {
            let result = session.run(task.result(session.longest_request)).await;
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
        .map_err(|error| failure::unreadable("tools/call", &error).of(&session.name))?;
    Ok(json.into())
}

/// Finds the tool in the server's list: by its full name, or without the server's name in front.
async fn find(given: &str, session: &Session, output: &Output) -> Result<Tool, Failure> {
    let tools = listing::fetch::<RawTools>(session).await?;
    tools.note_rejected::<RawTools>(&session.name, output);
    let short = names::without_server(given, &session.name);
    for name in [given, short] {
        if let Some(tool) = tools.items().find(|tool| tool.name == name) {
            return Ok(tool.clone());
        }
    }
    let failure = Failure::failed(format!("there is no tool \"{short}\"")).of(&session.name);
    Err(
        match names::hint(short, tools.items().map(|tool| tool.name.as_str())) {
            Some(hint) => failure.hint(hint),
            None => failure.hint("the server lists no tools; --no-list calls without looking"),
        },
    )
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
        Some(line) => Failure::failed(format!("the tool {tool} failed: {line}")),
        None => Failure::failed(format!("the tool {tool} failed")),
    }
}
