//! `attache prompts`.

use attache::protocol::{Json, Prompt};
use serde::Serialize;

use super::listing::{self, Answered};
use super::{Context, Known, Typed, Verb};
use crate::args::ListArgs;
use crate::failure::Failure;
use crate::output::json;
use crate::output::text::width;
use crate::output::{Format, Text, human};

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

/// List the prompts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  attache prompts -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Prompts {
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    prompts: Vec<Json>,
    servers: &'a [Answered],
}

impl Verb for Prompts {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let (completeness, output) = (self.list.completeness, &context.output);
        let session = self.list.open(context).await?;
        let prompts = listing::fetch::<Prompt>(completeness, session, output).await?;
        if output.format == Format::Json {
            output.document(&json::write(&Document {
                prompts: json::offered(&prompts.entries),
                servers: &prompts.servers,
            }))?;
        } else if prompts.entries.is_empty() {
            output.text(&prompts.none("prompts"))?;
        } else {
            let name = |offered| prompts.name(offered, &offered.entry.name);
            let width = width(prompts.entries.iter().map(name), WIDEST_NAME);
            let mut text = Text::new();
            for offered in &prompts.entries {
                let prompt = &offered.entry;
                let description = prompt.description.as_deref().or(prompt.title.as_deref());
                let below = [signature(prompt)];
                text.append(human::entry(name(offered), width, description, &below));
            }
            output.text(&text)?;
        }
        listing::conclude(&prompts.servers, prompts.stopped, completeness, output)
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

/// What a prompt takes, as it is typed.
pub(super) fn signature(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter().flatten();
    let words = arguments.map(|argument| match argument.required {
        true => format!("{}=<string>", argument.name),
        false => format!("[{}=<string>]", argument.name),
    });
    words.collect::<Vec<_>>().join(" ")
}
