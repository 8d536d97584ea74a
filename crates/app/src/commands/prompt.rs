//! `attache prompt`.

use attache::protocol::{GetPromptResult, Prompt};

use super::listing::{self, RawPrompts};
use super::prompts::signature;
use crate::arguments::Given;
use crate::failure::{self, Failure};
use crate::names;
use crate::output::{Format, Output, Style, Text, human};
use crate::session::Session;

pub(super) async fn run(
    given: &str,
    arguments: Vec<Given>,
    session: &Session,
    output: &Output,
) -> Result<(), Failure> {
    let prompt = find(given, session, output).await?;
    let arguments = arguments
        .iter()
        .map(|argument| Ok((argument.key.clone(), argument.text()?.to_owned())))
        .collect::<Result<Vec<_>, Failure>>()?;
    check(&prompt, &arguments)?;
    let request = session.client.prompt(&prompt.name, arguments);
    let payload = session.run(request.raw()).await?;
    let result: Result<GetPromptResult, _> = payload.decode();
    if output.format == Format::Json {
        output.document(&String::from_utf8_lossy(payload.as_bytes()))?;
    }
    let result =
        result.map_err(|error| failure::unreadable("prompts/get", &error).of(&session.name))?;
    for rejected in &result.messages.rejected {
        output.note(&format!(
            "{} sent a message that cannot be read: {}",
            session.name, rejected.reason
        ));
    }
    match output.format {
        Format::Human => output.text(&show(&result)),
        Format::Json => Ok(()),
    }
}

async fn find(given: &str, session: &Session, output: &Output) -> Result<Prompt, Failure> {
    let prompts = listing::fetch::<RawPrompts>(session).await?;
    prompts.note_rejected::<RawPrompts>(&session.name, output);
    let short = names::without_server(given, &session.name);
    for name in [given, short] {
        if let Some(prompt) = prompts.items().find(|prompt| prompt.name == name) {
            return Ok(prompt.clone());
        }
    }
    let failure = Failure::failed(format!("there is no prompt \"{short}\"")).of(&session.name);
    Err(
        match names::hint(short, prompts.items().map(|prompt| prompt.name.as_str())) {
            Some(hint) => failure.hint(hint),
            None => failure,
        },
    )
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
            return Err(match names::nearest(name, names) {
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
