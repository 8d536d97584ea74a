//! `attache tools`.

use attache::protocol::{Json, Tool};
use attache_view::form::Form;
use serde::Serialize;

use super::listing::{self, Answered, Listed};
use super::{Context, Known, Typed, Verb};
use crate::args::ListArgs;
use crate::failure::Failure;
use crate::output::json;
use crate::output::text::width;
use crate::output::{Format, Text, human};

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

/// List the tools
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache tools --json -- uvx mcp-server-time")]
pub(crate) struct Tools {
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    tools: Vec<Json>,
    servers: &'a [Answered],
}

impl Verb for Tools {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let (completeness, output) = (self.list.completeness, &context.output);
        let session = self.list.open(context).await?;
        let tools = listing::fetch::<Tool>(completeness, session, output).await?;
        match output.format {
            Format::Json => output.document(&json::write(&Document {
                tools: json::offered(&tools.entries),
                servers: &tools.servers,
            }))?,
            Format::Human => output.text(&show(&tools))?,
        }
        listing::conclude(&tools.servers, completeness, output)
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

/// The tools with what they take.
pub(super) fn show(tools: &Listed<Tool>) -> Text {
    if tools.entries.is_empty() {
        return tools.none("tools");
    }
    let name = |offered| tools.name(offered, &offered.entry.name);
    let width = width(tools.entries.iter().map(name), WIDEST_NAME);
    let mut text = Text::new();
    for offered in &tools.entries {
        let tool = &offered.entry;
        let description = tool.description.as_deref().or(tool.title.as_deref());
        let signature = Form::of_tool(tool).signature();
        text.append(human::entry(
            name(offered),
            width,
            description,
            &[signature],
        ));
    }
    text
}
