//! `attache read`.

use std::path::Path;

use attache::protocol::ReadResourceResult;

use super::save;
use crate::failure::{self, Failure};
use crate::output::{Format, Output, ProgressDisplay, Text, human};
use crate::session::Session;

pub(super) async fn run(
    uri: &str,
    out: Option<&Path>,
    session: &Session,
    output: &Output,
) -> Result<(), Failure> {
    let progress = output.progress(uri, ProgressDisplay::Bar);
    let mut request = session.client.read(uri);
    if let Some(listener) = progress.listener() {
        request = request.on_progress(listener);
    }
    let payload = progress.during(session.run(request.raw())).await?;
    drop(progress);
    let result: Result<ReadResourceResult, _> = payload.decode();
    if output.format == Format::Json {
        output.document(&String::from_utf8_lossy(payload.as_bytes()))?;
    }
    let result =
        result.map_err(|error| failure::unreadable("resources/read", &error).of(&session.name))?;
    note_rejected(&result, session, output);
    if let Some(file) = out {
        return save::resource(&result.contents, file, output);
    }
    if output.format == Format::Human {
        output.text(&show(&result))?;
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

fn note_rejected(result: &ReadResourceResult, session: &Session, output: &Output) {
    for rejected in &result.contents.rejected {
        output.note(&format!(
            "{} sent contents that cannot be read: {}",
            session.name, rejected.reason
        ));
    }
}
