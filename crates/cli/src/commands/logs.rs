//! `attache logs`: the log files of servers, and what is added to them.
//!
//! Reads files only; no server is started for it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use attache::host::config::ServerName;
use attache::host::log_files::{FILE_BYTES, log_path};
use attache::host::log_folder;
use serde::Serialize;

use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::invocation::Follow;
use crate::output::{Format, Output, Style, Text, json};
use crate::overrides::Overrides;
use crate::selection::ServerSelection;
use crate::target::Target;

/// How often files are looked at for new lines.
const INTERVAL: Duration = Duration::from_millis(200);

/// One line, for `--json`.
#[derive(Serialize)]
struct Line<'a> {
    server: &'a str,
    line: &'a str,
}

/// One server's file and how far it has been read.
struct Log {
    server: ServerName,
    path: PathBuf,
    read: u64,
    /// The beginning of a line that is still being written.
    unfinished: String,
}

pub(super) async fn run(
    target: &Target,
    configuration: &Configuration,
    follow: Follow,
    lines: usize,
    output: &Output,
) -> Result<(), Failure> {
    if let Target::Command { .. } | Target::Url(_) = target {
        return Err(
            Failure::usage("servers that are started on the spot have no log file")
                .hint("--verbose shows what such a server writes to stderr"),
        );
    }
    let Some(state) = configuration.state_folder() else {
        return Err(Failure::config("there is no folder for log files").hint("set HOME"));
    };
    let folder = log_folder(&state);
    let selection = ServerSelection::of(target, configuration, &Overrides::default())?;
    let logs = selection.names().into_iter().map(|server| Log {
        path: log_path(&folder, &server),
        server,
        read: 0,
        unfinished: String::new(),
    });
    let mut logs: Vec<Log> = logs.collect();
    let several = logs.len() > 1;
    for log in &mut logs {
        let new = log.new_lines();
        let skipped = new.len().saturating_sub(lines);
        log.show(&new[skipped..], several, output)?;
    }
    if follow == Follow::No {
        if logs.iter().all(|log| log.read == 0) {
            output.note(&format!("nothing has been logged in {}", folder.display()));
        }
        return Ok(());
    }
    let interrupts = Interrupts::listen()?;
    loop {
        tokio::select! {
            // Whoever follows ends it this way; nothing was left undone.
            () = interrupts.raised() => return Ok(()),
            () = tokio::time::sleep(INTERVAL) => {}
        }
        for log in &mut logs {
            let new = log.new_lines();
            log.show(&new, several, output)?;
        }
    }
}

impl Log {
    /// The lines that were added since the last look. A file that has become shorter was put aside
    /// and begun anew. What cannot be read is not there yet.
    fn new_lines(&mut self) -> Vec<String> {
        let Ok(mut file) = File::open(&self.path) else {
            return Vec::new();
        };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if length < self.read {
            self.read = 0;
            self.unfinished.clear();
        }
        let mut bytes = Vec::new();
        let sought = file.seek(SeekFrom::Start(self.read));
        // A file that somebody else made long is read in pieces.
        let read = sought.and_then(|_| file.take(FILE_BYTES).read_to_end(&mut bytes));
        if read.is_err() {
            return Vec::new();
        }
        self.read += bytes.len() as u64;
        self.unfinished.push_str(&String::from_utf8_lossy(&bytes));
        let Some(end) = self.unfinished.rfind('\n') else {
            return Vec::new();
        };
        let rest = self.unfinished.split_off(end + 1);
        let whole = std::mem::replace(&mut self.unfinished, rest);
        whole.lines().map(str::to_owned).collect()
    }

    fn show(&self, lines: &[String], several: bool, output: &Output) -> Result<(), Failure> {
        let server = self.server.as_str();
        match output.format {
            Format::Json => {
                for line in lines {
                    output.document(&json::write(&Line { server, line }))?;
                }
                Ok(())
            }
            Format::Human => {
                let mut text = Text::new();
                for line in lines {
                    if several {
                        text.add(Style::Name, server).plain("  ");
                    }
                    text.plain(line).end_line();
                }
                output.text(&text)
            }
        }
    }
}
