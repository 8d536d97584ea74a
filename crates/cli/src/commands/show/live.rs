//! A recording shown while it is being made, a line for each message.
//!
//! What is shown is read from the file, so a tap that is watched passes bytes on as fast as one that
//! is not.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

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

/// How long showing the rest may take: a client that does not read stderr must not keep the tap.
const REST_PATIENCE: Duration = Duration::from_secs(2);

/// The view of a recording that this process makes. Its channel closes when all is shown.
pub(crate) struct Live(mpsc::Receiver<()>);

impl Live {
    /// Shows on stderr what is recorded from here on.
    pub(crate) fn begin(recorder: Option<&Recorder>, output: &Output) -> Self {
        let (shown, ended) = mpsc::channel();
        let Some(recorder) = recorder else {
            output.note("nothing is shown, because nothing is recorded");
            return Self(ended);
        };
        let (file, begins_at) = (recorder.path().to_path_buf(), recorder.begins_at());
        let told = output.clone();
        let thread = std::thread::Builder::new().name("live view".to_owned());
        let started = thread.spawn(move || {
            if let Err(error) = show(&file, begins_at, &told) {
                told.note(&format!("nothing more is shown: {error}"));
            }
            drop(shown);
        });
        if let Err(error) = started {
            output.note(&format!("nothing is shown: {error}"));
        }
        Self(ended)
    }

    /// Waits until everything is shown. The recording has to be finished before.
    pub(crate) fn finish(self) {
        // Nothing is ever sent: either the channel closes, or time is up.
        let _ = self.0.recv_timeout(REST_PATIENCE);
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
