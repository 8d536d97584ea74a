//! `attache logs`: the log files of servers, and what is added to them.
//!
//! Reads files only; no server is started for it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use attache::host::config::ServerName;
use attache::host::configured_log_folder;
use attache::host::log_files::{FILE_BYTES, log_path};
use serde::Serialize;

use super::{Context, Known, Typed, Verb};
use crate::args::{ConfigArgs, ServerOption};
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::output::{Format, Output, Style, Text, json};
use crate::overrides::Overrides;
use crate::selection::ServerSelection;
use crate::target::Target;

/// How often files are looked at for new lines.
const INTERVAL: Duration = Duration::from_millis(200);

/// Print the log files of servers: their stderr, logs and states
#[derive(Debug, clap::Args)]
#[command(
    after_help = "--json prints one JSON document per line.\n\nExample:\n  attache logs notes --follow"
)]
pub(crate) struct Logs {
    /// The server's name; all servers if there is none
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// Go on as lines come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// How many lines of each server to begin with
    #[arg(
        short = 'n',
        long,
        value_name = "COUNT",
        default_value_t = 100,
        hide_default_value = true
    )]
    lines: usize,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    option: ServerOption,
}

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

impl Verb for Logs {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let target = Target::read(self.option.or_name(self.name)?, Vec::new())?;
        let configuration = self.config.configuration()?;
        if let Target::Command { .. } | Target::Url(_) = target {
            return Err(
                Failure::usage("servers that are started on the spot have no log file")
                    .hint("--verbose shows what such a server writes to stderr"),
            );
        }
        let Some(state) = configuration.state_folder() else {
            return Err(Failure::config("there is no folder for log files").hint("set HOME"));
        };
        let folder = configured_log_folder(&configuration.log_rules(), &state);
        let selection = ServerSelection::of(&target, &configuration, &Overrides::default())?;
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
            let skipped = new.len().saturating_sub(self.lines);
            log.show(&new[skipped..], several, output)?;
        }
        if !self.follow {
            if logs.iter().all(|log| log.read == 0) {
                output.note(&format!("nothing has been logged in {}", folder.display()));
            }
            return Ok(());
        }
        let interrupts = Interrupts::listen()?;
        loop {
            tokio::select! {
                // The user ends it this way; nothing was left undone.
                () = interrupts.raised() => return Ok(()),
                () = tokio::time::sleep(INTERVAL) => {}
            }
            for log in &mut logs {
                let new = log.new_lines();
                log.show(&new, several, output)?;
            }
        }
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
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
        // A file that another program made long is read in pieces.
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
