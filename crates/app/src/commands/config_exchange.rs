//! `attache config discover`, `import` and `export`: servers that other tools know.
//!
//! Nothing found here is started. Import writes what the user asked for, and says what it did.

use std::path::{Path, PathBuf};

use attache::host::config::discover::{Discovered, Discovery, SOURCES, discover as look};
use attache::host::config::{
    DraftTransport, ExportForm, ImportOutcome, export as write_out, import as merge, user_file,
};
use attache::host::{nearest, redact::Redactor};
use serde::Serialize;

use super::config::origin;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::invocation::{Import, Writing};
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
    let discovery = look(&configuration.surroundings);
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
        target: target(&server.draft.transport),
        enabled: server.draft.enabled,
        notes: &server.notes,
    }
}

/// How a server is reached, with what looks like a secret hidden.
fn target(transport: &DraftTransport) -> String {
    let mut redactor = Redactor::new();
    let (words, secrets) = match transport {
        DraftTransport::Stdio {
            command, args, env, ..
        } => {
            let words = std::iter::once(command).chain(args);
            (words.cloned().collect::<Vec<_>>().join(" "), env)
        }
        DraftTransport::Http { url, headers, .. } => (url.clone(), headers),
    };
    for secret in secrets.values() {
        redactor.hide(secret.expose());
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
        let mut what = target(&server.draft.transport);
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

/// Adds servers of other tools to the configuration file.
pub(super) fn import(
    wanted: &Import,
    configuration: &Configuration,
    output: &Output,
) -> Result<(), Failure> {
    if let Some(tool) = &wanted.from
        && !SOURCES.iter().any(|source| source.name == tool)
    {
        let known = SOURCES.iter().map(|source| source.name);
        let failure = Failure::usage(format!("no tool is known as \"{tool}\""));
        return Err(match nearest(tool, known.clone()) {
            Some(near) => failure.hint(format!("did you mean \"{near}\"?")),
            None => failure.hint(format!(
                "there are: {}",
                known.collect::<Vec<_>>().join(", ")
            )),
        });
    }
    let discovery = look(&configuration.surroundings);
    let chosen = choose(wanted, &discovery)?;
    let file = destination(configuration)?;
    let text = read(&file)?;
    let imported = merge(&text, chosen.iter().copied(), wanted.on_clash)
        .map_err(|error| Failure::config(format!("{}: {error}", file.display())))?;
    match wanted.writing {
        Writing::DryRun => {
            let mut shown = Text::new();
            shown.block(Style::Plain, &imported.text);
            return output.text(&shown);
        }
        Writing::File if imported.text != text => replace(&file, &imported.text)?,
        Writing::File => {}
    }
    let mut report = Text::new();
    let mut documents = Vec::new();
    let mut clashes = 0;
    for (server, outcome) in chosen.iter().zip(&imported.outcomes) {
        let (word, name) = match outcome {
            ImportOutcome::Added(name) => ("added", name),
            ImportOutcome::Replaced(name) => ("replaced", name),
            ImportOutcome::Present(name) => ("present", name),
            ImportOutcome::Taken(name) => {
                clashes += 1;
                ("taken", name)
            }
        };
        documents.push(serde_json::json!({
            "name": name.as_str(), "outcome": word, "tool": server.source,
            "file": server.file.display().to_string(),
        }));
        report
            .plain(&format!("{word:9}"))
            .add(Style::Name, name.as_str())
            .faint(&format!("  from {}", server.source))
            .end_line();
    }
    match output.format {
        Format::Json => output.document(
            &serde_json::json!({"path": file.display().to_string(), "servers": documents})
                .to_string(),
        )?,
        Format::Human => {
            report.plain(&format!("in {}", file.display())).end_line();
            output.text(&report)?;
        }
    }
    match clashes {
        0 => Ok(()),
        _ => Err(Failure::config("some names are taken by other servers")
            .hint("--rename gives them another name, --replace puts them in the others' place")),
    }
}

/// The servers that were asked for, each name once.
fn choose<'a>(wanted: &Import, discovery: &'a Discovery) -> Result<Vec<&'a Discovered>, Failure> {
    let of_tool = |server: &&Discovered| match &wanted.from {
        Some(tool) => server.source == tool,
        None => true,
    };
    let known: Vec<&Discovered> = discovery.servers.iter().filter(of_tool).collect();
    if wanted.names.is_empty() {
        return match known.is_empty() {
            false => Ok(known),
            true => Err(Failure::failed("there is nothing to import")
                .hint("`attache config discover` shows where was looked")),
        };
    }
    let mut chosen = Vec::new();
    for name in &wanted.names {
        let mut found = known
            .iter()
            .filter(|server| server.name == *name || server.server_name.as_str() == name)
            .peekable();
        if found.peek().is_none() {
            let names = known.iter().map(|server| server.name.as_str());
            let failure = Failure::failed(format!("no other tool knows \"{name}\""));
            return Err(match crate::names::hint(name, names) {
                Some(hint) => failure.hint(hint),
                None => failure,
            });
        }
        chosen.extend(found);
    }
    Ok(chosen)
}

/// The file to write to: the one that counts, or the user's own.
fn destination(configuration: &Configuration) -> Result<PathBuf, Failure> {
    let found = configuration.found().map(|found| found.file);
    found
        .or_else(|| user_file(&configuration.surroundings))
        .ok_or_else(|| {
            Failure::config("there is no folder for a configuration file")
                .hint("name one with --config FILE")
        })
}

fn read(file: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::config(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

/// Puts the new text in place in one step, so that nobody ever reads half of it.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let written = || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let beside = file.with_extension(format!("toml.{}", std::process::id()));
        std::fs::write(&beside, text)?;
        if let Ok(former) = std::fs::metadata(file) {
            std::fs::set_permissions(&beside, former.permissions())?;
        }
        std::fs::rename(&beside, file)
    };
    written().map_err(|error: std::io::Error| {
        Failure::unexpected(format!("cannot write {}: {error}", file.display()))
    })
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
