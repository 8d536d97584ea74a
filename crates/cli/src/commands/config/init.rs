//! `attache config init`: an `attache.toml` to begin with.

use attache::host::config::{FILE_NAME, user_file};

use super::own_file;
use crate::commands::{Context, Known, Typed, Verb};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::output::{Format, Text};

/// What the file says before there is a server in it.
const BEGINNING: &str = "\
# Servers that attache can reach. `attache config add NAME -- COMMAND` writes them, as does an editor:
#
#   [servers.time]
#   command = \"uvx\"
#   args = [\"mcp-server-time\"]
#
# `attache config reference` explains every key; `attache config check` finds mistakes.
";

/// Write an attache.toml to begin with, approved because you made it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache config init\n  attache config init --user")]
pub(crate) struct Init {
    /// In your configuration folder instead of this one
    #[arg(long)]
    user: bool,
}

impl Verb for Init {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let configuration = Configuration::new(None)?;
        let of_user = user_file(&configuration.environment);
        let file = match self.user {
            false => configuration.environment.working_folder().join(FILE_NAME),
            true => of_user.clone().ok_or_else(|| {
                Failure::config("there is no folder for a configuration file").hint("set HOME")
            })?,
        };
        let shown = configuration.shown(&file);
        if file.symlink_metadata().is_ok() {
            return Err(Failure::config(format!("{shown} is there already"))
                .hint("`attache config add NAME -- COMMAND` adds a server to it"));
        }
        own_file::write(&file, "", BEGINNING)?;
        if of_user.as_ref() != Some(&file)
            && let Some(trust) = configuration.trust()
        {
            trust.approve(&file, BEGINNING).map_err(|error| {
                Failure::unexpected(format!("cannot remember that it is yours: {error}"))
            })?;
        }
        if output.format == Format::Json {
            let document = serde_json::json!({
                "path": file.display().to_string(), "outcome": "written",
            });
            return output.document(&document.to_string());
        }
        let mut text = Text::line(&format!("{shown} written"));
        text.faint("Next: attache config add time -- uvx mcp-server-time")
            .end_line();
        output.text(&text)
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}
