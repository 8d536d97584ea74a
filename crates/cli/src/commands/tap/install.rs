//! `attache tap install`: put the tap before a server in another tool's configuration.

use std::path::{Path, PathBuf};

use attache::host::config::discover::{
    SOURCES, ToolSource, back_up, discover, read_text, replace_unless_changed, wrap_command,
};
use clap::Args;

use crate::commands::{Context, Known, Typed, Verb};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::names;
use crate::output::Text;

/// Put the tap before a server in another tool's configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Only the server's command is changed; a copy of the file is kept beside it. Restart the tool
afterwards. `attache tap uninstall` takes the tap away again.

Example:
  attache tap install time --client cursor")]
pub(crate) struct Install {
    #[command(flatten)]
    entry: EntryArgs,
    /// Replace what looks like a secret in recorded messages, and mark it
    #[arg(long)]
    redact: bool,
}

/// One server in one tool's file.
#[derive(Debug, Args)]
pub(super) struct EntryArgs {
    /// The server's name in the tool's configuration
    #[arg(value_name = "SERVER")]
    pub(super) server: String,
    /// The tool, like claude-desktop, cursor or vscode
    #[arg(long, value_name = "TOOL")]
    client: String,
    /// The tool's file, if it has several
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl EntryArgs {
    /// The tool and the file that has the server.
    pub(super) fn find(&self) -> Result<(&'static ToolSource, PathBuf), Failure> {
        let Some(source) = SOURCES.iter().find(|source| source.name == self.client) else {
            let known = SOURCES.iter().map(|source| source.name);
            let failure = Failure::usage(format!("no tool is known as \"{}\"", self.client));
            return Err(match names::hint(&self.client, known.clone()) {
                Some(hint) => failure.hint(hint),
                None => failure.hint(format!(
                    "known are {}",
                    known.collect::<Vec<_>>().join(", ")
                )),
            });
        };
        if let Some(file) = &self.file {
            return Ok((source, file.clone()));
        }
        let discovery = discover(&Configuration::new(None)?.environment);
        let of_tool = |it: &&attache::host::config::discover::Discovered| it.source == source.name;
        let servers = discovery.servers.iter().filter(of_tool);
        let mut files: Vec<&Path> = servers
            .clone()
            .filter(|it| it.name == self.server)
            .map(|it| it.file.as_path())
            .collect();
        files.dedup();
        match files.as_slice() {
            [file] => Ok((source, file.to_path_buf())),
            [] => {
                if let Some(broken) = discovery.broken.iter().find(|it| it.source == source.name) {
                    return Err(Failure::config(format!(
                        "{} cannot be read: {broken}",
                        source.title
                    )));
                }
                let message = format!("{} has no server \"{}\"", source.title, self.server);
                let failure = Failure::usage(message);
                Err(
                    match names::hint(&self.server, servers.map(|it| it.name.as_str())) {
                        Some(hint) => failure.hint(hint),
                        None => failure
                            .hint("`attache config discover` lists the servers of other tools"),
                    },
                )
            }
            several => {
                let shown: Vec<String> =
                    several.iter().map(|it| it.display().to_string()).collect();
                let message = format!("several files of {} have \"{}\"", source.title, self.server);
                Err(Failure::usage(message)
                    .hint(format!("say which with --file: {}", shown.join(", "))))
            }
        }
    }

    /// The text of the file.
    pub(super) fn read(file: &Path) -> Result<String, Failure> {
        let cannot =
            |problem: String| Failure::config(format!("cannot read {}: {problem}", file.display()));
        let text = read_text(file).map_err(|error| cannot(error.to_string()))?;
        text.ok_or_else(|| cannot("there is no such file".to_owned()))
    }
}

impl Verb for Install {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let (source, file) = self.entry.find()?;
        let text = EntryArgs::read(&file)?;
        let server = &self.entry.server;
        let own = std::env::current_exe().map_err(|error| {
            Failure::unexpected(format!("cannot tell where this program is: {error}"))
        })?;
        let mut words = vec![own.display().to_string(), "tap".to_owned()];
        words.extend(["--name".to_owned(), server.clone()]);
        if self.redact {
            words.push("--redact".to_owned());
        }
        words.push("--".to_owned());
        let changed = wrap_command(source, &text, server, &words)
            .map_err(|error| refused(&file, &error.to_string()))?;
        let cannot = |error: std::io::Error| refused(&file, &error.to_string());
        let backup = back_up(&file, server).map_err(cannot)?;
        if let Err(error) = replace_unless_changed(&file, &text, &changed) {
            // It would be of an older state than the file.
            let _ = std::fs::remove_file(&backup);
            return Err(cannot(error));
        }
        let mut told = Text::line(&format!("{server} is tapped in {}", file.display()));
        told.append(Text::line(&format!(
            "the file as it was: {}",
            backup.display()
        )));
        told.append(Text::line(&format!(
            "restart {}; then `attache show` lists the recordings",
            source.title
        )));
        context.output.text(&told)
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

pub(super) fn refused(file: &Path, problem: &str) -> Failure {
    Failure::config(format!("{} was not changed: {problem}", file.display()))
}
