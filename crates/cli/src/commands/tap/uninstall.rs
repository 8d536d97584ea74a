//! `attache tap uninstall`: take the tap away from a server in another tool's configuration.

use attache::host::config::discover::{
    backup_of, read_text, replace_unless_changed, unwrap_command, wrap_command,
};

use super::install::{EntryArgs, refused};
use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::Text;

/// Take the tap away from a server in another tool's configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If nothing else in the file has changed since, it becomes what it was, byte for byte; otherwise the
server's command alone does.

Example:
  attache tap uninstall time --client cursor")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    entry: EntryArgs,
}

impl Verb for Uninstall {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let (source, file) = self.entry.find()?;
        let server = &self.entry.server;
        let text = EntryArgs::read(&file)?;
        let (without, words) = unwrap_command(source, &text, server)
            .map_err(|error| refused(&file, &error.to_string()))?;
        let cannot = |error: std::io::Error| refused(&file, &error.to_string());
        let backup = backup_of(&file, server).map_err(cannot)?;
        // Where the tap before the old text gives this text, nothing else has changed.
        let old = read_text(&backup).ok().flatten();
        let is_unchanged = old.as_ref().is_some_and(|old| {
            wrap_command(source, old, server, &words).is_ok_and(|tapped| tapped == text)
        });
        let restored = match &old {
            Some(old) if is_unchanged => old,
            _ => &without,
        };
        replace_unless_changed(&file, &text, restored).map_err(cannot)?;
        // Without the tap there is nothing to go back from.
        let _ = std::fs::remove_file(&backup);
        context.output.text(&Text::line(&match is_unchanged {
            true => format!(
                "{server} is not tapped any more; {} is as it was",
                file.display()
            ),
            false => format!(
                "{server} is not tapped any more; {} was changed since, and keeps those changes",
                file.display()
            ),
        }))
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}
