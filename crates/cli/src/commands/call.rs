//! `attache call`.

use std::path::PathBuf;
use std::time::Duration;

use attache::TaskStart;
use attache::host::Call as HostCall;
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::protocol::{CallToolResult, Content, Ending, Json, Payload, Tool};
use attache_view::document::Document;
use attache_view::form::Form;

use super::load::Load;
use super::shape::Shape;
use super::{Context, Known, Typed, Verb, listing, save};
use crate::args::{ProgressArgs, ServerArgs};
use crate::arguments::{self, Validation};
use crate::command_host::{CommandHost, Way};
use crate::failure::{self, Failure, Kind};
use crate::output::{Format, Text, Verbosity, human};

/// Call a tool
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tool arguments:
  key=value       a value of the type that the tool's schema says; text if it allows text.
                  Repeat the key for a list; a.b=value reaches into an object, a[0]=value
                  into a list.
  key=@file       the same, read from a file (- is stdin)
  key:=json       a JSON value, for example count:=3, tags:='[\"a\"]', note:=null
  key:=@file      the same, read from a file

The tools are listed first, to know these types and to say so if there is no such tool;
--no-list calls without looking. Arguments are checked before they are sent;
--no-validate sends them as they are, a word that is not of its type as text.

Example:
  attache call notes/search query=tea
  attache call notes/search query=tea --jq '.content[].text' --raw
  attache call get_current_time timezone=Europe/Paris -- uvx mcp-server-time")]
pub(crate) struct Call {
    /// The tool's name, as SERVER/TOOL or alone if no other server has it
    tool: String,
    /// The tool's arguments, see below
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    /// All arguments as one JSON object, or @file, or - for stdin
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Do not list the tools first
    #[arg(long)]
    no_list: bool,
    /// Send the arguments even if they do not fit the tool's schema
    #[arg(long)]
    no_validate: bool,
    /// Call it without asking where the policy says to ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    load: Load,
    /// Save the first image, sound or other bytes; into a folder, all
    #[arg(long, alias = "out", value_name = "FILE|FOLDER/")]
    save: Option<PathBuf>,
    #[command(flatten)]
    servers: ServerArgs,
}

/// How long a server may take to acknowledge that a task is not wanted any more.
const CANCEL_PATIENCE: Duration = Duration::from_secs(1);

impl Verb for Call {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        self.shape.check(output.format)?;
        let (words, lone) = match self.arguments.as_slice() {
            // Who pastes an object means all arguments.
            [object] if self.args.is_none() && object.trim_start().starts_with('{') => {
                (&[][..], Some(object.as_str()))
            }
            words => (words, None),
        };
        let arguments = arguments::parse(words)?;
        let whole = self.args.as_deref().or(lone).map(arguments::read_whole);
        let whole = whole.transpose()?;
        let (_, selection) = self.servers.selection()?;
        let selection = selection.narrowed_by(&self.tool)?.approved(self.yes);
        let session = context.open(selection).await?;
        let (server, name, form, promised, way) = if self.no_list {
            let found = match session.find_in_attached::<Tool>(&self.tool).await? {
                Some(found) => ToolName::new(found.server, found.entry.name),
                None => {
                    session
                        .run(session.host()?.resolve::<Tool>(&self.tool))
                        .await?
                }
            };
            (found.server, found.tool, Form::any(), None, Way::Request)
        } else {
            let (server, tool) = listing::find::<Tool>(&self.tool, "tool", session, output).await?;
            let way = way_of(&tool, server.as_str(), session)?;
            let form = Form::of_tool(&tool);
            (server, tool.name, form, tool.output_schema, way)
        };
        let validation = match self.no_validate {
            true => Validation::Skipped,
            false => Validation::Required,
        };
        let assembled = arguments::assemble(whole, &arguments, &form, &name, validation)?;
        for note in &assembled.notes {
            output.note(note);
        }
        if output.verbosity == Verbosity::Verbose {
            for unchecked in &assembled.unchecked {
                output.note(&format!("left to the server to check: {unchecked}"));
            }
        }
        let tool = ToolName::new(server.clone(), name.as_str());
        let arguments = &assembled.arguments;
        if self.load.is_wanted() {
            return self.load.run(&tool, arguments, session, output).await;
        }
        let progress = output.progress(&name, self.progress.progress);
        // What a person types is its own consent; pins, `deny` and `ask` hold all the same.
        let request = || {
            let call = session.host()?.call(tool.clone(), arguments);
            Ok::<_, Failure>(call.origin(CallOrigin::Person))
        };
        let elsewhere = session.call_by_attached(&tool, arguments, way, progress.listener());
        let payload = match (progress.during(elsewhere).await?, way) {
            (Some(payload), _) => payload,
            (None, Way::Request) => {
                let request = match progress.listener() {
                    Some(listener) => request()?.on_progress(listener),
                    None => request()?,
                };
                progress.during(session.run(request.raw())).await?
            }
            (None, Way::Task) => {
                let work = as_task(request()?, server.as_str(), session);
                progress.during(work).await?
            }
        };
        drop(progress);
        let result: Result<CallToolResult, _> = payload.decode();
        let result = result.map_err(|error| failure::unreadable("tools/call", &error));
        let document = String::from_utf8_lossy(payload.as_bytes());
        if output.format == Format::Json && !self.shape.prints() {
            output.document(&document)?;
        }
        let result = result.map_err(|failure| failure.of(server.as_str()))?;
        if self.shape.prints() {
            self.shape.print(&document, &result, output)?;
        } else if output.format == Format::Human {
            let document = || Document::of_call(&result, promised.as_ref());
            output.answer(document, || show(&result))?;
        }
        if result.is_error {
            return Err(failed(&name, &result, output.format).of(server.as_str()));
        }
        match &self.save {
            Some(place) => save::binaries(&result.content, place, &name, output),
            None => Ok(()),
        }
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        let Some(name) = typed.positional.first() else {
            return known.names::<Tool>(&typed.current);
        };
        let Some(tool) = known.find::<Tool>(name) else {
            return Vec::new();
        };
        let form = Form::of_tool(&tool);
        if let Some((key, _)) = typed.current.split_once('=') {
            let values = form.values_of_key(key).into_iter();
            return values.map(|value| format!("{key}={value}")).collect();
        }
        let names = form.members_at(&[]);
        typed.keys_without_value(names.iter().map(|(name, _)| name.as_str()))
    }
}

fn way_of(tool: &Tool, server: &str, session: &CommandHost) -> Result<Way, Failure> {
    let execution = tool.execution.as_ref();
    let support = execution.and_then(|execution| execution.task_support.as_deref());
    if support != Some("required") {
        return Ok(Way::Request);
    }
    // What its server speaks is known where it runs.
    if session.attached().is_some() {
        return Ok(Way::Task);
    }
    let running = session.host()?.running(server);
    let is_task = running.is_some_and(|client| client.revision().features().experimental_tasks);
    Ok(match is_task {
        true => Way::Task,
        false => Way::Request,
    })
}

/// Runs a tool as a task to its end. A task does not end with its request, so giving up means
/// telling the server.
async fn as_task(call: HostCall, server: &str, session: &CommandHost) -> Result<Payload, Failure> {
    let result = match session.run(call.as_task()).await? {
        TaskStart::Finished(result) => result,
        TaskStart::Running(task) => {
            let longest = session
                .host()?
                .config(server)?
                .server
                .settings
                .timeouts
                .maximum;
            let result = session.run_on(server, task.result(longest)).await;
            if let Err(Failure {
                kind: Kind::Ended(Ending::TimedOut | Ending::Cancelled),
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
