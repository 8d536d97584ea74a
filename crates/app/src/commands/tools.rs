//! `attache tools`.

use attache::protocol::{Json, Tool};
use serde::Serialize;

use super::listing::{self, Listed, RawTools};
use crate::arguments::Schema;
use crate::failure::Failure;
use crate::output::json::{self, ServerOutcome};
use crate::output::text::width;
use crate::output::{Format, Output, Text, human};
use crate::session::Session;

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

#[derive(Serialize)]
struct Document<'a> {
    tools: Vec<Json>,
    servers: [ServerOutcome<'a>; 1],
}

pub(super) async fn run(session: &Session, output: &Output) -> Result<(), Failure> {
    let tools = listing::fetch::<RawTools>(session).await?;
    tools.note_rejected::<RawTools>(&session.name, output);
    match output.format {
        Format::Json => output.document(&json::write(&Document {
            tools: tools.documents(&session.name),
            servers: [listing::answered(&session.name, &tools.rejected)],
        })),
        Format::Human => output.text(&show(&session.name, &tools)),
    }
}

/// The tools with what they take.
pub(super) fn show(server: &str, tools: &Listed<Tool>) -> Text {
    if tools.entries.is_empty() {
        return listing::none(server, "tools");
    }
    let width = width(tools.items().map(|tool| tool.name.as_str()), WIDEST_NAME);
    let mut text = Text::new();
    for tool in tools.items() {
        let description = tool.description.as_deref().or(tool.title.as_deref());
        let signature = Schema::of_tool(tool).signature();
        text.append(human::entry(&tool.name, width, description, &[signature]));
    }
    text
}
