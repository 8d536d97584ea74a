//! `attache config remove`: a server taken out of `attache.toml`.

use attache::host::config::remove;

use super::own_file;
use crate::args::ConfigArgs;
use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::names;
use crate::output::{Format, Style, Text};

/// Take a server out of attache.toml, with the comments right above it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache config remove time")]
pub(crate) struct Remove {
    /// The server's name
    #[arg(value_name = "SERVER")]
    name: String,
    #[command(flatten)]
    config: ConfigArgs,
}

impl Verb for Remove {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let configuration = self.config.configuration()?;
        let (file, is_removed) = own_file::change(&configuration, |text| {
            Ok(match remove(text, &self.name)? {
                Some(without) => (without, true),
                None => (text.to_owned(), false),
            })
        })?;
        let path = file.display().to_string();
        let file = configuration.shown(&file);
        if !is_removed {
            let loaded = configuration.load()?;
            let known = loaded.iter().flat_map(|it| it.config().servers.keys());
            let known: Vec<&str> = known.map(AsRef::as_ref).collect();
            let failure = Failure::usage(format!("{file} has no server \"{}\"", self.name));
            return Err(match names::hint(&self.name, known.into_iter()) {
                Some(hint) => failure.hint(hint),
                None => failure,
            });
        }
        if output.format == Format::Json {
            let document = serde_json::json!({
                "path": path, "name": self.name, "outcome": "removed",
            });
            return output.document(&document.to_string());
        }
        let mut text = Text::new();
        text.add(Style::Name, &self.name)
            .plain(&format!(" removed from {file}"))
            .end_line();
        output.text(&text)
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}
