//! `attache config discover` and `export`: servers that other tools know, and ours for them.
//!
//! Nothing found here is started.

use std::path::Path;

use attache::host::config::discover::{Discovered, Discovery, discover as look};
use attache::host::config::{ExportForm, Origin, export as write_out};
use attache::host::redact::Redactor;
use serde::Serialize;

use super::config::origin;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::output::text::width;
use crate::output::{Format, Output, Style, Text, human, json};

/// Names longer than this break their column.
const WIDEST_NAME: usize = 32;

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

/// Lists the servers that other tools know.
pub(super) fn discover(configuration: &Configuration, output: &Output) -> Result<(), Failure> {
    let discovery = look(&configuration.environment);
    match output.format {
        Format::Json => output.document(&json::write(&document(&discovery))),
        Format::Human => output.text(&show(&discovery)),
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

/// Prints the servers of the configuration file in the form of other tools.
pub(super) fn export(
    form: ExportForm,
    configuration: &Configuration,
    output: &Output,
) -> Result<(), Failure> {
    let Some(loaded) = configuration.load()? else {
        return Err(Failure::config("there is no attache.toml to export")
            .hint("`attache config path` says where it is looked for"));
    };
    if loaded.config().has_errors() {
        output.note("the file has mistakes; `attache config check` shows them");
    }
    let document = write_out(&loaded.text, form);
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
