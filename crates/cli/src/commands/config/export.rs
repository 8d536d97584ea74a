//! `attache config export`: our servers, for other tools.

use attache::host::config::{ExportForm, export};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::args::ConfigArgs;
use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::{Format, Style, Text};

/// Print the servers of attache.toml in the form other tools read
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache config export --as vscode > .vscode/mcp.json")]
pub(crate) struct Export {
    /// Which form
    #[arg(
        long = "as",
        value_name = "mcp-servers|vscode",
        value_parser = form_parser(),
        hide_possible_values = true,
        default_value = "mcp-servers",
        hide_default_value = true
    )]
    form: ExportForm,
    #[command(flatten)]
    config: ConfigArgs,
}

fn form_parser() -> impl TypedValueParser<Value = ExportForm> {
    PossibleValuesParser::new(["mcp-servers", "vscode"]).map(|word| match word.as_str() {
        "vscode" => ExportForm::VsCode,
        _ => ExportForm::McpServers,
    })
}

impl Verb for Export {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let Some(loaded) = self.config.configuration()?.load()? else {
            return Err(Failure::config("there is no attache.toml to export")
                .hint("`attache config path` says where it is looked for"));
        };
        if loaded.config().has_errors() {
            output.note("the file has mistakes; `attache config check` shows them");
        }
        let document = export(&loaded.text, self.form);
        match output.format {
            Format::Json => output.document(&document.to_string()),
            Format::Human => {
                let mut text = Text::new();
                let pretty = serde_json::to_string_pretty(&document).unwrap_or_default();
                text.block(Style::Plain, &pretty);
                output.text(&text)
            }
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}
