//! `attache config discover`: servers that other tools know.
//!
//! Nothing found here is started.

use std::path::Path;

use attache::host::config::Origin;
use attache::host::config::discover::{Discovered, Discovery, discover};
use attache::host::redact::Redactor;
use serde::Serialize;

use super::origin;
use crate::args::ConfigArgs;
use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::text::width;
use crate::output::{Format, Style, Text, human, json};

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

/// List the servers that other tools know, with the file of each
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache config discover")]
pub(crate) struct Discover {
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Serialize)]
struct Document<'a> {
    servers: Vec<ServerDocument<'a>>,
    skipped: Vec<SkippedDocument<'a>>,
    broken: Vec<BrokenDocument<'a>>,
}

#[derive(Serialize)]
struct ServerDocument<'a> {
    name: &'a str,
    tool: &'static str,
    file: String,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    transport: &'static str,
    target: String,
    enabled: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

#[derive(Serialize)]
struct SkippedDocument<'a> {
    name: &'a str,
    tool: &'static str,
    file: String,
    reason: &'a str,
}

#[derive(Serialize)]
struct BrokenDocument<'a> {
    tool: &'static str,
    file: String,
    line: Option<usize>,
    message: &'a str,
}

impl Verb for Discover {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let discovery = discover(&self.config.configuration()?.environment);
        match output.format {
            Format::Json => output.document(&json::write(&document(&discovery))),
            Format::Human => output.text(&show(&discovery)),
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

fn document(discovery: &Discovery) -> Document<'_> {
    Document {
        servers: discovery.servers.iter().map(server_document).collect(),
        skipped: discovery
            .skipped
            .iter()
            .map(|skipped| SkippedDocument {
                name: &skipped.name,
                tool: skipped.source,
                file: skipped.file.display().to_string(),
                reason: &skipped.reason,
            })
            .collect(),
        broken: discovery
            .broken
            .iter()
            .map(|broken| BrokenDocument {
                tool: broken.source,
                file: broken.file.display().to_string(),
                line: broken.line,
                message: &broken.message,
            })
            .collect(),
    }
}

fn server_document(server: &Discovered) -> ServerDocument<'_> {
    ServerDocument {
        name: &server.name,
        tool: server.source,
        file: server.file.display().to_string(),
        origin: origin(server.origin),
        project: server.project.as_ref().map(|it| it.display().to_string()),
        transport: server.draft.transport.kind(),
        target: target(server),
        enabled: server.draft.enabled,
        notes: &server.notes,
    }
}

/// How a server is reached, with the user's own secrets hidden. A project's file does not choose
/// what is hidden of it (S20).
fn target(server: &Discovered) -> String {
    let mut redactor = Redactor::new();
    let transport = &server.draft.transport;
    let words = transport.to_string();
    if server.origin == Origin::Project {
        return words;
    }
    for (_, value) in transport.values() {
        redactor.hide(&value);
    }
    redactor.redact(&words).into_owned()
}

fn show(discovery: &Discovery) -> Text {
    let mut text = Text::new();
    let names = discovery.servers.iter().map(|server| server.name.as_str());
    let width = width(names, WIDEST_NAME);
    let mut file: Option<&Path> = None;
    for server in &discovery.servers {
        if file != Some(&server.file) {
            file = Some(&server.file);
            text.add(Style::Name, server.source)
                .faint(&format!("  {}", server.file.display()))
                .end_line();
        }
        let mut what = target(server);
        if !server.draft.enabled {
            what.push_str(" (disabled)");
        }
        text.plain("  ");
        text.append(human::entry(&server.name, width, Some(&what), &[]));
        for note in &server.notes {
            text.faint(&format!("    {note}")).end_line();
        }
    }
    for skipped in &discovery.skipped {
        text.add(Style::Warning, "skipped: ")
            .plain(&format!(
                "{} in {}: {}",
                skipped.name,
                skipped.file.display(),
                skipped.reason
            ))
            .end_line();
    }
    for broken in &discovery.broken {
        text.add(Style::Bad, "broken: ")
            .plain(&broken.to_string())
            .end_line();
    }
    if discovery.servers.is_empty() {
        text.plain("no other tool on this machine knows a server")
            .end_line();
    }
    text
}
