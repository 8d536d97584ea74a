//! `attache config path`: where the configuration is.

use attache::host::config::user_file;
use serde::Serialize;

use super::origin;
use crate::args::ConfigArgs;
use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::{Format, Text, json};

/// Print where the configuration file is, or would be
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache config path")]
pub(crate) struct Path {
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Serialize)]
struct PathDocument {
    path: Option<String>,
    exists: bool,
    origin: Option<&'static str>,
}

impl Verb for Path {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let configuration = self.config.configuration()?;
        let found = configuration.found();
        let (path, origin) = match &found {
            Some(found) => (Some(found.file.clone()), Some(origin(found.origin))),
            None => (user_file(&configuration.environment), None),
        };
        let exists = path.as_ref().is_some_and(|path| path.is_file());
        let path = path.map(|path| path.display().to_string());
        if output.format == Format::Json {
            return output.document(&json::write(&PathDocument {
                path,
                exists,
                origin,
            }));
        }
        let Some(path) = path else {
            return Err(
                Failure::config("there is no folder for a configuration file").hint("set HOME"),
            );
        };
        output.text(&Text::line(&path))?;
        if !exists {
            output.note("there is no such file yet; the built-in servers are used");
        }
        Ok(())
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}
