//! `attache read`.

use std::path::PathBuf;

use attache::host::ReadAnswer;
use attache::protocol::{Json, ReadResourceResult};
use attache_view::document::Document;

use super::{Context, Known, Typed, Verb, save};
use crate::args::{ProgressArgs, ServerArgs};
use crate::failure::Failure;
use crate::output::{Format, Output, Text, human};

/// Read a resource
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache read demo://welcome")]
pub(crate) struct Read {
    /// The resource's URI
    uri: String,
    #[command(flatten)]
    progress: ProgressArgs,
    /// Save the contents instead of printing them
    #[arg(long, alias = "out", value_name = "FILE|FOLDER/")]
    save: Option<PathBuf>,
    #[command(flatten)]
    servers: ServerArgs,
}

impl Verb for Read {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let session = self.servers.open(context).await?;
        let progress = output.progress(&self.uri, self.progress.progress);
        let answer = match session.read_from_attached(&self.uri, None).await? {
            Some(answer) => answer,
            None => {
                let request = session.host()?.read(&self.uri);
                let request = match progress.listener() {
                    Some(listener) => request.on_progress(listener),
                    None => request,
                };
                progress.during(session.run(request)).await?
            }
        };
        drop(progress);
        let result = &answer.contents;
        if output.format == Format::Json {
            let document = Json::from_serialize(&**result).unwrap_or_default();
            output.document(document.as_str())?;
        }
        note_rejected(&answer, output);
        if let Some(place) = &self.save {
            return save::resource(&result.contents, place, output);
        }
        if output.format == Format::Human {
            output.answer(|| Document::of_resource(result), || show(result))?;
        }
        Ok(())
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        match typed.positional.is_empty() {
            true => known.uris(),
            false => Vec::new(),
        }
    }
}

/// The contents for people.
pub(super) fn show(result: &ReadResourceResult) -> Text {
    let mut text = Text::new();
    for contents in &result.contents {
        text.append(human::resource_contents(contents));
    }
    text
}

fn note_rejected(answer: &ReadAnswer, output: &Output) {
    for rejected in &answer.contents.contents.rejected {
        output.note(&format!(
            "{} sent contents that cannot be read: {}",
            answer.server, rejected.reason
        ));
    }
}
