//! `attache prompt`.

use attache::host::nearest;
use attache::protocol::{self, GetPromptResult, Json};
use attache_view::document::Document;

use super::prompts::signature;
use super::{Context, Known, Typed, Verb, listing};
use crate::args::{ProgressArgs, ServerArgs};
use crate::arguments;
use crate::failure::Failure;
use crate::output::{Format, Style, Text, human};

/// Get a prompt, filled in
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache prompt introduce name=Ada")]
pub(crate) struct Prompt {
    /// The prompt's name, as SERVER/NAME or alone if no other server has it
    name: String,
    /// The prompt's arguments, all of them text; key=@file reads a file
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    servers: ServerArgs,
}

impl Verb for Prompt {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let arguments = arguments::parse(&self.arguments)?;
        let (_, selection) = self.servers.selection()?;
        let session = context.open(selection.narrowed_by(&self.name)?).await?;
        let found = listing::find::<protocol::Prompt>(&self.name, "prompt", session, output);
        let (server, prompt) = found.await?;
        let arguments = arguments
            .iter()
            .map(|argument| {
                Ok((
                    argument.key.clone(),
                    arguments::only_text(argument)?.to_owned(),
                ))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        check(&prompt, &arguments)?;
        let progress = output.progress(&prompt.name, self.progress.progress);
        let name = format!("{server}/{}", prompt.name);
        let result: GetPromptResult = match session.prompt_of_attached(&name, &arguments).await? {
            Some(result) => result,
            None => {
                let request = session.host()?.prompt(name, arguments);
                let request = match progress.listener() {
                    Some(listener) => request.on_progress(listener),
                    None => request,
                };
                progress.during(session.run(request)).await?
            }
        };
        drop(progress);
        for rejected in &result.messages.rejected {
            output.note(&format!(
                "{server} sent a message that cannot be read: {}",
                rejected.reason
            ));
        }
        match output.format {
            Format::Human => output.answer(|| Document::of_prompt(&result), || show(&result)),
            Format::Json => {
                let document = Json::from_serialize(&result).unwrap_or_default();
                output.document(document.as_str())
            }
        }
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        let Some(name) = typed.positional.first() else {
            return known.names::<protocol::Prompt>(&typed.current);
        };
        let prompt = known.find::<protocol::Prompt>(name);
        let arguments = prompt.iter().flat_map(|prompt| &prompt.arguments).flatten();
        typed.keys_without_value(arguments.map(|argument| argument.name.as_str()))
    }
}

/// Finds what is missing or unknown before anything is sent.
fn check(prompt: &protocol::Prompt, arguments: &[(String, String)]) -> Result<(), Failure> {
    let known = || prompt.arguments.iter().flatten();
    let takes = match signature(prompt) {
        none if none.is_empty() => "it takes no arguments".to_owned(),
        signature => format!("it takes: {signature}"),
    };
    for (name, _) in arguments {
        if !known().any(|argument| argument.name == *name) {
            let failure = Failure::usage(format!("{} has no argument \"{name}\"", prompt.name));
            let names = known().map(|argument| argument.name.as_str());
            return Err(match nearest(name, names) {
                Some(nearest) => failure.hint(format!("did you mean \"{nearest}\"?")),
                None => failure.hint(takes),
            });
        }
    }
    let is_missing = |name: &str| !arguments.iter().any(|(given, _)| given == name);
    match known().find(|argument| argument.required && is_missing(&argument.name)) {
        Some(argument) => Err(Failure::usage(format!(
            "{} needs the argument \"{}\"",
            prompt.name, argument.name
        ))
        .hint(takes)),
        None => Ok(()),
    }
}

fn show(result: &GetPromptResult) -> Text {
    let mut text = Text::new();
    for message in &result.messages {
        text.add(Style::Name, &message.role).plain(": ").end_line();
        text.append(human::content(&message.content));
    }
    text
}
