//! `attache read`.

use std::path::Path;

use attache::host::ReadAnswer;
use attache::protocol::{Json, ReadResourceResult};

use super::save;
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::output::{Format, Output, ProgressDisplay, Text, human};

pub(super) async fn run(
    uri: &str,
    progress: ProgressDisplay,
    out: Option<&Path>,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    let progress = output.progress(uri, progress);
    let request = session.host.read(uri);
    let request = match progress.listener() {
        Some(listener) => request.on_progress(listener),
        None => request,
    };
    let answer = progress.during(session.run(request)).await?;
    drop(progress);
    let result = &answer.contents;
    if output.format == Format::Json {
        let document = Json::from_serialize(&**result).unwrap_or_default();
        output.document(document.as_str())?;
    }
    note_rejected(&answer, output);
    if let Some(file) = out {
        return save::resource(&result.contents, file, output);
    }
    if output.format == Format::Human {
        output.text(&show(result))?;
    }
    Ok(())
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
