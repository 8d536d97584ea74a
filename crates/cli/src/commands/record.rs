//! `attache record`: a recording of a server, made by asking it.

use std::path::PathBuf;

use attache::host::catalog::{Listable, Outcome};
use attache::host::config::ServerName;
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::protocol::{Json, Prompt, Resource, ResourceTemplate, Tool};
use serde::Serialize;

use super::{Context, Known, Typed, Verb};
use crate::args::ServerArgs;
use crate::command_host::CommandHost;
use crate::failure::{Exit, Failure};
use crate::output::human;

/// Record what a server offers, and calls of your choice
#[derive(Debug, clap::Args)]
// The file is the verb's own.
#[command(mut_arg("record", |option| option.hide(true)))]
#[command(after_help = "\
The server is asked for its lists, then the calls are made, one after the other. Secrets are
replaced. `attache mock` plays the server with it, `attache diff` compares two recordings, and
`attache replay` asks again.
To record what another client does, use `attache tap`; to record a command, its option --record.

Example:
  attache record time --out time.mcprec
  attache record notes -o notes.mcprec --call 'search={\"query\":\"tea\"}'")]
pub(crate) struct Record {
    /// The server's name or URL
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// The file to record into; compressed if its name ends in .gz
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// A tool to call, with its arguments; may be repeated
    #[arg(long, value_name = "TOOL[=JSON]", value_parser = parse_call)]
    call: Vec<(String, Json)>,
    /// Call without asking where the policy says to ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    servers: ServerArgs,
}

/// What was recorded, for `--json`.
#[derive(Serialize)]
struct Document<'a> {
    server: &'a str,
    file: String,
    /// Lists that the server gave.
    lists: usize,
    /// Calls that have an answer, be it an error.
    calls: usize,
}

impl Verb for Record {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let (_, selection) = self.servers.named(self.name)?.selection()?;
        let selection = selection.approved(self.yes);
        let file = self.out.display().to_string();
        let session = context
            .open(selection.recorded_into(Some(self.out)))
            .await?;
        let Some(server) = session.only_server() else {
            return Err(Failure::usage("a recording is of one server")
                .hint("name it, or give its command after `--`"));
        };
        session.run(session.host()?.ready(server.as_str())).await?;
        let lists = [
            listed::<Tool>(&server, session).await?,
            listed::<Resource>(&server, session).await?,
            listed::<ResourceTemplate>(&server, session).await?,
            listed::<Prompt>(&server, session).await?,
        ];
        let lists = lists.into_iter().filter(|is_offered| *is_offered).count();
        let mut calls = 0;
        for (tool, arguments) in self.call {
            let name = ToolName::new(server.clone(), tool.as_str());
            let call = session.host()?.call(name, arguments);
            match session.run(call.origin(CallOrigin::Person).raw()).await {
                // What a server answers is recorded, whatever it is.
                Ok(_) => calls += 1,
                Err(failure) if failure.exit == Exit::Failed => calls += 1,
                Err(failure) => return Err(failure),
            }
        }
        let text = format!(
            "{} and {} of {server} are recorded in {file}",
            human::counted(lists, "list"),
            human::counted(calls, "call")
        );
        let document = Document {
            server: server.as_str(),
            file,
            lists,
            calls,
        };
        context.output.done(&text, &document)
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

/// Has a list sent; whether the server offers it.
async fn listed<T: Listable>(server: &ServerName, session: &CommandHost) -> Result<bool, Failure> {
    let list = session.host()?.list::<T>().server(server.as_str()).for_all();
    let list = session.run(list).await?;
    for answer in list.servers {
        match (answer.outcome, answer.error) {
            (_, Some(error)) => return Err(error.into()),
            (Outcome::Ok, None) => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

fn parse_call(text: &str) -> Result<(String, Json), String> {
    let (tool, arguments) = text.split_once('=').unwrap_or((text, "{}"));
    let arguments = Json::parse(arguments).map_err(|error| format!("no JSON: {error}"))?;
    Ok((tool.to_owned(), arguments))
}
