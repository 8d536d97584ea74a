//! `attache tools`.

use attache::protocol::{Json, Tool};
use serde::Serialize;

use super::listing::{self, Answered, Listed};
use crate::arguments::Schema;
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::invocation::Completeness;
use crate::output::json;
use crate::output::text::width;
use crate::output::{Format, Output, Text, human};

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

#[derive(Serialize)]
struct Document<'a> {
    tools: Vec<Json>,
    servers: &'a [Answered],
}

pub(super) async fn run(
    completeness: Completeness,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
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
        let signature = Schema::of_tool(tool).signature();
        text.append(human::entry(
            name(offered),
            width,
            description,
            &[signature],
        ));
    }
    text
}
