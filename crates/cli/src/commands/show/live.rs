//! A recording shown while it is being made, a line for each message.
//!
//! What is shown is read from the file, so a tap that is watched passes bytes on as fast as one that
//! is not.

use std::path::Path;
use std::thread::JoinHandle;

use attache_record::{Reader, Recorder};

use super::show_entry;
use crate::failure::Failure;
use crate::output::{Output, Text};
use crate::recording::unreadable;

/// Shows a recording on stdout until its recorder has ended.
pub(super) async fn follow(file: &Path, output: &Output) -> Result<(), Failure> {
    let (file, output) = (file.to_path_buf(), output.clone());
    let shown = tokio::task::spawn_blocking(move || {
        let mut reader = Reader::follow(&file).map_err(|error| unreadable(&file, &error))?;
        while let Some(entry) = reader
            .next_entry()
            .map_err(|error| unreadable(&file, &error))?
        {
            let mut text = Text::new();
            show_entry(&mut text, &entry);
            output.text(&text)?;
        }
        Ok(())
    });
    shown
        .await
        .map_err(|error| Failure::unexpected(format!("showing it failed: {error}")))?
}

/// The view of a recording that this process makes.
pub(crate) struct Live(Option<JoinHandle<()>>);

impl Live {
    /// Shows on stderr what is recorded from here on.
    pub(crate) fn begin(recorder: Option<&Recorder>, output: &Output) -> Self {
        let Some(recorder) = recorder else {
            output.note("nothing is shown, because nothing is recorded");
            return Self(None);
        };
        let (file, begins_at) = (recorder.path().to_path_buf(), recorder.begins_at());
        let told = output.clone();
        let thread = std::thread::Builder::new().name("live view".to_owned());
        let shown = thread.spawn(move || {
            if let Err(error) = show(&file, begins_at, &told) {
                told.note(&format!("nothing more is shown: {error}"));
            }
        });
        Self(shown.ok())
    }

    /// Waits until everything is shown. The recording has to be finished before.
    pub(crate) fn finish(self) {
        if let Some(thread) = self.0 {
            // It has said why, if it failed.
            let _ = thread.join();
        }
    }
}

fn show(file: &Path, begins_at: u64, output: &Output) -> Result<(), attache_record::RecordError> {
    let mut reader = Reader::follow(file)?;
    while let Some(entry) = reader.next_entry()? {
        // The numbers are those of the file, which may hold recordings of earlier.
        if reader.position() > begins_at {
            let mut text = Text::new();
            show_entry(&mut text, &entry);
            output.aside_text(&text);
        }
    }
    Ok(())
}
