//! `attache prompt`.

use attache::host::nearest;
use attache::protocol::{GetPromptResult, Json, Prompt};

use super::listing;
use super::prompts::signature;
use crate::arguments::Given;
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::output::{Format, Output, ProgressDisplay, Style, Text, human};

pub(super) async fn run(
    given: &str,
    arguments: Vec<Given>,
    progress: ProgressDisplay,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    let (server, prompt) = listing::find::<Prompt>(given, "prompt", session, output).await?;
    let arguments = arguments
        .iter()
        .map(|argument| Ok((argument.key.clone(), argument.text()?.to_owned())))
        .collect::<Result<Vec<_>, Failure>>()?;
    check(&prompt, &arguments)?;
    let progress = output.progress(&prompt.name, progress);
    let request = session
        .host
        .prompt(format!("{server}/{}", prompt.name), arguments);
    let request = match progress.listener() {
        Some(listener) => request.on_progress(listener),
        None => request,
    };
    let result: GetPromptResult = progress.during(session.run(request)).await?;
    drop(progress);
    for rejected in &result.messages.rejected {
        output.note(&format!(
            "{server} sent a message that cannot be read: {}",
            rejected.reason
        ));
    }
    match output.format {
        Format::Human => output.text(&show(&result)),
        Format::Json => {
            let document = Json::from_serialize(&result).unwrap_or_default();
            output.document(document.as_str())
        }
    }
}

/// Finds what is missing or unknown before anything is sent.
fn check(prompt: &Prompt, arguments: &[(String, String)]) -> Result<(), Failure> {
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
