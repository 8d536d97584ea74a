//! `attache tools`: the tools of all servers, those of one, or one tool in full.

use attache::host::catalog::{Aggregate, Offered};
use attache::protocol::{Json, Tool};
use attache_view::form::Form;
use serde::Serialize;

use super::listing::{self, Answered, Listed};
use super::one_tool;
use super::{Context, Known, Typed, Verb};
use crate::args::{Completeness, ServerArgs};
use crate::failure::Failure;
use crate::output::json;
use crate::output::text::{first_sentence, width};
use crate::output::{Format, Style, Text, Verbosity, human};

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

/// List the tools, or show one in full
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A list has the first sentence of each description; --verbose has all of it. One tool is shown with
every argument, its output, what its server claims about it, and a command that calls it.

Example:
  attache tools
  attache tools time/convert_time
  attache tools convert_time -- uvx mcp-server-time
  attache tools --json -- uvx mcp-server-time")]
pub(crate) struct Tools {
    /// The server's name or URL, or SERVER/TOOL; all servers if there is none
    #[arg(value_name = "SERVER[/TOOL]")]
    name: Option<String>,
    #[command(flatten)]
    servers: ServerArgs,
    #[command(flatten)]
    completeness: Completeness,
}

#[derive(Serialize)]
struct Document<'a> {
    tools: Vec<Json>,
    servers: &'a [Answered],
}

impl Verb for Tools {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let (completeness, output) = (self.completeness, &context.output);
        let (selection, tool) = self.servers.selection_and_entry(self.name)?;
        let session = context.open(selection).await?;
        if let Some(tool) = tool {
            return one_tool::run(&tool, session, output).await;
        }
        let verbosity = output.verbosity;
        let mut has_shown = false;
        let tools = listing::fetch_and(completeness, session, output, |one| {
            has_shown |= !one.entries.is_empty();
            output.text(&part(one, verbosity))
        });
        let tools = tools.await?;
        match output.format {
            Format::Json => output.document(&json::write(&Document {
                tools: json::offered(&tools.entries),
                servers: &tools.servers,
            }))?,
            Format::Human if tools.is_shown && has_shown => {}
            Format::Human => output.text(&show(&tools, verbosity))?,
        }
        listing::conclude(&tools.servers, tools.stopped, completeness, output)
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        if typed.current.contains('/') && typed.positional.is_empty() {
            return known.names::<Tool>(&typed.current);
        }
        known.servers_at_first(typed)
    }
}

/// The tools with what they take.
pub(super) fn show(tools: &Listed<Tool>, verbosity: Verbosity) -> Text {
    if tools.entries.is_empty() {
        return tools.none("tools");
    }
    let entries = tools.entries.iter();
    rows(
        entries.map(|it| (tools.name(it, &it.entry.name), it)),
        verbosity,
    )
}

/// The tools of one server among others.
fn part(one: &Aggregate<Tool>, verbosity: Verbosity) -> Text {
    let entries = one.entries.iter();
    rows(entries.map(|it| (it.qualified.as_str(), it)), verbosity)
}

fn rows<'a>(
    entries: impl Iterator<Item = (&'a str, &'a Offered<Tool>)> + Clone,
    verbosity: Verbosity,
) -> Text {
    let width = width(entries.clone().map(|(name, _)| name), WIDEST_NAME);
    let mut text = Text::new();
    for (name, offered) in entries {
        let tool = &offered.entry;
        let description = tool.description.as_deref().or(tool.title.as_deref());
        let description = description.unwrap_or_default();
        let signature = Form::of_tool(tool).signature();
        let sentence = Some(first_sentence(description));
        text.append(human::entry(name, width, sentence.as_deref(), &[signature]));
        if verbosity == Verbosity::Verbose && Some(description.trim()) != sentence.as_deref() {
            for line in description.trim().lines() {
                text.plain("    ")
                    .add(Style::Plain, line.trim_end())
                    .end_line();
            }
        }
    }
    text
}
