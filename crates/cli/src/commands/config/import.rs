//! `attache config import`: servers of other tools taken into `attache.toml`.
//!
//! What is written there may run, so each server is shown whole and agreed to, and the files of the
//! folder one stands in are left alone unless a server of theirs is named (S22). Nothing is started.

use std::path::Path;

use attache::host::config::discover::{Discovered, Discovery, SOURCES, discover};
use attache::host::config::{ImportOutcome, Imported, OnClash, Origin, import, write_private};
use attache::host::nearest;
use attache::host::trust::quoted;

use crate::args::ConfigArgs;
use crate::ask::TerminalQuestions;
use crate::commands::{Context, Known, Typed, Verb};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::output::{Format, Output, Style, Text};

use super::own_file::{destination, read};

/// Add servers that other tools know to attache.toml, keeping its comments
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache config import github --from cursor")]
pub(crate) struct Import {
    /// The servers to import; all of your own files if there are none
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only what this tool knows, like cursor
    #[arg(long, value_name = "TOOL")]
    from: Option<String>,
    /// Replace servers of the same name
    #[arg(long, conflicts_with = "rename")]
    replace: bool,
    /// Give servers whose name is taken another one
    #[arg(long)]
    rename: bool,
    /// Import without asking, for scripts
    #[arg(short, long)]
    yes: bool,
    /// Print the new file instead of writing it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

impl Verb for Import {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let configuration = self.config.configuration()?;
        run(&self, &configuration, &context.output).await
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

/// Adds servers of other tools to the configuration file.
async fn run(
    wanted: &Import,
    configuration: &Configuration,
    output: &Output,
) -> Result<(), Failure> {
    check_tool(wanted)?;
    let discovery = discover(&configuration.environment);
    let chosen = choose(wanted, &discovery)?;
    let file = destination(configuration)?;
    let text = read(&file)?;
    let on_clash = match (wanted.replace, wanted.rename) {
        (true, _) => OnClash::Replace,
        (false, true) => OnClash::Rename,
        (false, false) => OnClash::LeaveOut,
    };
    let merge = |servers: &[&Discovered]| {
        import(&text, servers.iter().copied(), on_clash)
            .map_err(|error| Failure::config(format!("{}: {error}", file.display())))
    };
    let imported = merge(&chosen)?;
    if wanted.dry_run {
        let mut shown = Text::new();
        shown.block(Style::Plain, &imported.text);
        return output.text(&shown);
    }
    let agreed = agree(&chosen, &imported, wanted.yes, output).await?;
    let imported = merge(&agreed)?;
    if imported.text != text {
        // While the user was asked, the file may have been changed by hand.
        if read(&file)? != text {
            return Err(
                Failure::config(format!("{} has just changed", file.display()))
                    .hint("nothing was written; import again"),
            );
        }
        write_private(&file, &imported.text).map_err(|error| {
            Failure::unexpected(format!("cannot write {}: {error}", file.display()))
        })?;
    }
    report(&agreed, &imported, &file, output)
}

fn check_tool(wanted: &Import) -> Result<(), Failure> {
    let Some(tool) = &wanted.from else {
        return Ok(());
    };
    let known = SOURCES.iter().map(|source| source.name);
    if known.clone().any(|known| known == tool) {
        return Ok(());
    }
    let failure = Failure::usage(format!("no tool is known as \"{tool}\""));
    Err(match nearest(tool, known.clone()) {
        Some(near) => failure.hint(format!("did you mean \"{near}\"?")),
        None => failure.hint(format!(
            "there are: {}",
            known.collect::<Vec<_>>().join(", ")
        )),
    })
}

/// Shows what would be written, server by server, and keeps what the user agrees to. What changes
/// nothing needs no question.
async fn agree<'a>(
    chosen: &[&'a Discovered],
    imported: &Imported,
    is_approved: bool,
    output: &Output,
) -> Result<Vec<&'a Discovered>, Failure> {
    let asker = TerminalQuestions::new(output.clone());
    let mut agreed = Vec::new();
    let (mut unasked, mut declined) = (0, 0);
    for (server, outcome) in chosen.iter().zip(&imported.outcomes) {
        let name = match outcome {
            ImportOutcome::Added(name) | ImportOutcome::Replaced(name) => name,
            ImportOutcome::Present(_) | ImportOutcome::Taken(_) => {
                agreed.push(*server);
                continue;
            }
        };
        output.aside_text(&shown(name.as_str(), server));
        if is_approved {
            agreed.push(*server);
        } else if !output.can_ask() {
            unasked += 1;
        } else if asker.agrees(&format!("import {name}?")).await {
            agreed.push(*server);
        } else {
            declined += 1;
        }
    }
    if unasked > 0 {
        return Err(
            Failure::refused("nothing was imported: there is no terminal to ask on")
                .hint("run it on a terminal, or import what you see above with --yes"),
        );
    }
    match agreed.is_empty() && declined > 0 {
        true => Err(Failure::refused("nothing was imported")),
        false => Ok(agreed),
    }
}

/// A server as it is written. Values of variables and headers in the user's own files are the
/// user's secrets; those in a project's file are a stranger's words, which are not hidden (S20).
fn shown(name: &str, server: &Discovered) -> Text {
    let mut text = Text::new();
    text.add(Style::Name, name)
        .plain(&format!("  from {}", server.file.display()));
    if server.origin == Origin::Project {
        text.add(Style::Warning, "  which came with this folder");
    }
    text.end_line();
    let transport = &server.draft.transport;
    let words: Vec<String> = transport.words().iter().map(|word| quoted(word)).collect();
    text.plain("  ").plain(&words.join(" ")).end_line();
    if let Some(folder) = transport.folder() {
        text.plain(&format!("  cwd = {}", quoted(&folder.to_string_lossy())))
            .end_line();
    }
    let value_of = |value: &str| match server.origin {
        Origin::Project => quoted(value),
        _ => "\u{2026}".to_owned(),
    };
    let kind = transport.launch().map_or("headers", |_| "env");
    for (name, value) in transport.values() {
        text.plain(&format!(
            "  {kind}.{} = {}",
            quoted(&name),
            value_of(&value)
        ))
        .end_line();
    }
    text
}

fn report(
    servers: &[&Discovered],
    imported: &Imported,
    file: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let mut report = Text::new();
    let mut documents = Vec::new();
    let mut clashes = 0;
    for (server, outcome) in servers.iter().zip(&imported.outcomes) {
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

/// The servers that were asked for. A project's are among them only if they were named and no file
/// of the user's own has the name, so that a folder cannot put its server in the place of another.
fn choose<'a>(wanted: &Import, discovery: &'a Discovery) -> Result<Vec<&'a Discovered>, Failure> {
    let of_tool = |server: &&Discovered| match &wanted.from {
        Some(tool) => server.source == tool,
        None => true,
    };
    let known: Vec<&Discovered> = discovery.servers.iter().filter(of_tool).collect();
    let is_own = |server: &&&Discovered| server.origin != Origin::Project;
    if wanted.names.is_empty() {
        let own: Vec<&Discovered> = known.iter().filter(is_own).copied().collect();
        return match (own.is_empty(), known.is_empty()) {
            (false, _) => Ok(own),
            (true, true) => Err(Failure::failed("there is nothing to import")
                .hint("`attache config discover` shows where was looked")),
            (true, false) => Err(Failure::failed(
                "there is nothing to import but what came with this folder",
            )
            .hint("`attache config discover` shows it; name the servers that you want")),
        };
    }
    let mut chosen = Vec::new();
    for name in &wanted.names {
        let is_it =
            |server: &&&Discovered| server.name == *name || server.server_name.as_str() == name;
        let found: Vec<&Discovered> = known.iter().filter(is_it).copied().collect();
        let own: Vec<&Discovered> = found.iter().filter(is_own).copied().collect();
        if found.is_empty() {
            let names = known.iter().map(|server| server.name.as_str());
            let failure = Failure::failed(format!("no other tool knows \"{name}\""));
            return Err(match crate::names::hint(name, names) {
                Some(hint) => failure.hint(hint),
                None => failure,
            });
        }
        chosen.extend(if own.is_empty() { found } else { own });
    }
    Ok(chosen)
}
