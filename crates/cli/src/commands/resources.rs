//! `attache resources`.

use attache::protocol::{Json, Resource, ResourceTemplate};
use serde::Serialize;

use super::listing::{self, Answered};
use super::{Context, Known, Typed, Verb};
use crate::args::ListArgs;
use crate::failure::Failure;
use crate::output::json;
use crate::output::text::width;
use crate::output::{Format, Text, human};

/// URIs longer than this break their column.
const WIDEST_URI: usize = 48;

/// List the resources and resource templates
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  attache resources -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Resources {
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    resources: Vec<Json>,
    resource_templates: Vec<Json>,
    servers: &'a [Answered],
}

impl Verb for Resources {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let (completeness, output) = (self.list.completeness, &context.output);
        let session = self.list.open(context).await?;
        // At once, so that a server that does not answer is waited for once.
        let (resources, templates) = tokio::try_join!(
            listing::fetch::<Resource>(completeness, session, output),
            listing::fetch::<ResourceTemplate>(completeness, session, output),
        )?;
        let several = resources.servers.len() > 1;
        let mut servers = resources.servers;
        for other in templates.servers {
            if let Some(server) = servers.iter_mut().find(|it| it.name() == other.name()) {
                server.and(other);
            }
        }
        let mut rows: Vec<(&str, String, &str)> = Vec::new();
        for offered in &resources.entries {
            let resource = &offered.entry;
            let what = summary(
                resource.title.as_deref().unwrap_or(&resource.name),
                resource.description.as_deref(),
                resource.mime_type.as_deref(),
            );
            rows.push((&resource.uri, what, offered.server.as_str()));
        }
        for offered in &templates.entries {
            let template = &offered.entry;
            let what = summary(
                template.title.as_deref().unwrap_or(&template.name),
                template.description.as_deref(),
                template.mime_type.as_deref(),
            );
            rows.push((&template.uri_template, what, offered.server.as_str()));
        }
        match output.format {
            Format::Json => output.document(&json::write(&Document {
                resources: json::offered(&resources.entries),
                resource_templates: json::offered(&templates.entries),
                servers: &servers,
            }))?,
            Format::Human if rows.is_empty() => match servers.as_slice() {
                [only] => output.text(&Text::line(&format!("{} has no resources", only.name())))?,
                _ => output.text(&Text::line("no server has any resources"))?,
            },
            Format::Human => {
                let width = width(rows.iter().map(|(uri, ..)| *uri), WIDEST_URI);
                let mut text = Text::new();
                for (uri, what, server) in &rows {
                    let what = match several {
                        true => format!("{server}: {what}"),
                        false => what.clone(),
                    };
                    text.append(human::entry(uri, width, Some(&what), &[]));
                }
                output.text(&text)?;
            }
        }
        let stopped = resources.stopped.or(templates.stopped);
        listing::conclude(&servers, stopped, completeness, output)
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

fn summary(name: &str, description: Option<&str>, mime_type: Option<&str>) -> String {
    let mut summary = name.to_owned();
    if let Some(mime_type) = mime_type {
        summary.push_str(&format!(" [{mime_type}]"));
    }
    if let Some(line) = description.and_then(|text| text.lines().next()) {
        summary.push_str(&format!(" – {line}"));
    }
    summary
}
