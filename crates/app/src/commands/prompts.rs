//! `attache prompts`.

use attache::protocol::{Json, Prompt};
use serde::Serialize;

use super::listing::{self, RawPrompts};
use crate::failure::Failure;
use crate::output::json::{self, ServerOutcome};
use crate::output::text::width;
use crate::output::{Format, Output, Text, human};
use crate::session::Session;

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

#[derive(Serialize)]
struct Document<'a> {
    prompts: Vec<Json>,
    servers: [ServerOutcome<'a>; 1],
}

pub(super) async fn run(session: &Session, output: &Output) -> Result<(), Failure> {
    let prompts = listing::fetch::<RawPrompts>(session).await?;
    prompts.note_rejected::<RawPrompts>(&session.name, output);
    if output.format == Format::Json {
        return output.document(&json::write(&Document {
            prompts: prompts.documents(&session.name),
            servers: [listing::answered(&session.name, &prompts.rejected)],
        }));
    }
    if prompts.entries.is_empty() {
        return output.text(&listing::none(&session.name, "prompts"));
    }
    let width = width(
        prompts.items().map(|prompt| prompt.name.as_str()),
        WIDEST_NAME,
    );
    let mut text = Text::new();
    for prompt in prompts.items() {
        let description = prompt.description.as_deref().or(prompt.title.as_deref());
        text.append(human::entry(
            &prompt.name,
            width,
            description,
            &[signature(prompt)],
        ));
    }
    output.text(&text)
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
