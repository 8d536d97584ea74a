//! `attache config add`: a server written into `attache.toml` by typing it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use attache::host::config::{
    Draft, HttpServer, ImportOutcome, OnClash, Secret, ServerName, Transport, add,
};
use attache::process::Launch;

use super::own_file;
use crate::args::ConfigArgs;
use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::{Format, Style, Text};
use crate::overrides::parse_variable;
use crate::target::Target;

/// Add a server to attache.toml, keeping its comments; nothing is started
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It goes into the file that counts here (`attache config path`), or else your own. Values may refer
to environment variables: --env 'KEY=${KEY}' writes the reference, and no secret into the file.

Example:
  attache config add time -- uvx mcp-server-time
  attache config add notes --env 'API_KEY=${NOTES_KEY}' -- my-notes-server --root ~/notes
  attache config add tracker https://tracker.example/mcp --header 'X-Team: ${TEAM}'")]
pub(crate) struct Add {
    /// How you will call it
    name: String,
    /// Its address, if it is behind a URL
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// A header for every request; may be repeated
    #[arg(
        long = "header",
        value_name = "NAME: VALUE",
        value_parser = parse_header,
        conflicts_with = "command"
    )]
    headers: Vec<(String, String)>,
    /// A variable in its environment; may be repeated
    #[arg(
        long = "env",
        value_name = "NAME=VALUE",
        value_parser = parse_variable,
        conflicts_with = "url"
    )]
    environment: Vec<(String, String)>,
    /// Start it in this folder
    #[arg(long = "cwd", value_name = "FOLDER", conflicts_with = "url")]
    folder: Option<PathBuf>,
    /// Put it in the place of a server of that name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    config: ConfigArgs,
    /// Its command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Verb for Add {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let name = ServerName::new(&self.name).map_err(|error| {
            let fitting = ServerName::from_any(&self.name);
            let failure = Failure::usage(format!("\"{}\" cannot be a name: {error}", self.name));
            failure.hint(format!("\"{fitting}\" can"))
        })?;
        let configuration = self.config.configuration()?;
        let on_clash = match self.replace {
            true => OnClash::Replace,
            false => OnClash::LeaveOut,
        };
        let draft = self.draft(configuration.environment.working_folder())?;
        let changed = own_file::change(&configuration, |text| add(text, &name, &draft, on_clash));
        let (file, outcome) = changed?;
        let path = file.display().to_string();
        let file = configuration.shown(&file);
        let (word, sentence) = match outcome {
            ImportOutcome::Added(_) => ("added", format!(" added to {file}")),
            ImportOutcome::Replaced(_) => ("replaced", format!(" replaced in {file}")),
            ImportOutcome::Present(_) => ("present", format!(" is in {file} already")),
            ImportOutcome::Taken(_) => {
                let message = format!("{file} has another server of that name");
                return Err(Failure::config(message)
                    .of(name.as_str())
                    .hint("choose another name, or --replace puts this one in its place"));
            }
        };
        if output.format == Format::Json {
            let document = serde_json::json!({
                "path": path, "name": name.as_str(), "outcome": word,
            });
            return output.document(&document.to_string());
        }
        let mut text = Text::new();
        text.add(Style::Name, name.as_str())
            .plain(&sentence)
            .end_line();
        text.faint(&format!("Next: attache tools {name}"))
            .end_line();
        output.text(&text)
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

impl Add {
    fn draft(self, here: &Path) -> Result<Draft, Failure> {
        let transport = match Target::read(self.url, self.command)? {
            Target::Url(url) => {
                let mut http = HttpServer::new(url);
                let headers = self.headers.into_iter();
                http.headers = headers
                    .map(|(name, value)| (name, Secret::from(value)))
                    .collect();
                Transport::Http(http)
            }
            Target::Command { program, arguments } => {
                let mut launch = Launch::new(program).args(arguments);
                for (name, value) in self.environment {
                    launch = launch.var(name, value);
                }
                launch.cwd = self.folder.map(|folder| here.join(folder));
                if launch.cwd.is_none() && names_a_file_here(&launch, here) {
                    launch.cwd = Some(here.to_path_buf());
                }
                Transport::Stdio(launch)
            }
            Target::Named(word) => {
                return Err(Failure::usage(format!("\"{word}\" is no address")).hint(
                    "give its command after `--`, or an address like https://example.org/mcp",
                ));
            }
            Target::All => {
                return Err(Failure::usage("there is neither a command nor an address")
                    .hint("give its command after `--`, for example: -- uvx mcp-server-time"));
            }
        };
        Ok(Draft::new(transport))
    }
}

/// Whether a command means a file in the folder where it was typed. Servers of the user's own file
/// start elsewhere (S21), so such a command is written down with its folder.
fn names_a_file_here(launch: &Launch, here: &Path) -> bool {
    let is_here = |word: &Path| word.is_relative() && here.join(word).is_file();
    let program = Path::new(&launch.program);
    let is_path = program.components().count() > 1;
    (is_path && is_here(program)) || launch.args.iter().any(|word| is_here(Path::new(word)))
}

fn parse_header(pair: &str) -> Result<(String, String), String> {
    let parts = pair.split_once(':').or_else(|| pair.split_once('='));
    match parts {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("\"{pair}\" is not NAME: VALUE")),
    }
}
