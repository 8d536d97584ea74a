//! `attache trust`: the user approves a project's file, or the tools of a server.
//!
//! What is approved is what was shown: the text that was read, the definitions that were listed
//! (S3, S4).

use attache::host::names::ToolName;
use attache::host::policy::{Drift, PinState};
use attache::host::trust::{AsWritten, Loaded, TrustState, WrittenSetting};
use attache::protocol::Tool;

use super::listing;
use crate::ask::Asker;
use crate::configuration::{Configuration, problem_failure, whole_file};
use crate::failure::Failure;
use crate::invocation::{Approval, Completeness};
use crate::output::{Output, Style, Text};
use crate::overrides::Overrides;
use crate::roster::Roster;
use crate::session::Session;
use crate::target::Target;

pub(super) async fn run(
    target: &Target,
    configuration: &Configuration,
    approval: Approval,
    output: &Output,
) -> Result<(), Failure> {
    let loaded = configuration.load()?;
    let Some(loaded) = loaded else {
        return Err(Failure::config("there is no attache.toml to approve")
            .hint("`attache config path` says where it is looked for"));
    };
    if loaded.trust != TrustState::Trusted {
        return approve_file(loaded, configuration, approval, output).await;
    }
    match target {
        Target::Named(server) => approve_tools(server, configuration, approval, output).await,
        Target::All => {
            let file = loaded.found.file.display();
            let text = format!("{file} is approved; name a server to approve its tools");
            output.text(&Text::line(&text))
        }
        Target::Command { .. } | Target::Url(_) => Err(Failure::usage(
            "a server that is started on the spot needs no approval",
        )),
    }
}

/// Shows what a file would run and approves it.
async fn approve_file(
    loaded: Loaded,
    configuration: &Configuration,
    approval: Approval,
    output: &Output,
) -> Result<(), Failure> {
    let Some(trust) = configuration.trust() else {
        return Err(
            Failure::config("there is no folder to remember approvals in").hint("set HOME"),
        );
    };
    if let Some(problem) = whole_file(loaded.config()) {
        return Err(problem_failure(problem));
    }
    let file = loaded.found.file.display().to_string();
    let mut text = Text::new();
    text.plain(&file).plain(match loaded.trust {
        TrustState::Changed => " has changed since you approved it. It says:",
        TrustState::New | TrustState::Trusted => " came with this folder. It says:",
    });
    text.end_line();
    text.append(shown(&AsWritten::read(&loaded.text)));
    output.aside_text(&text);
    agreed("approve this file?", approval, output).await?;
    loaded
        .approve(&trust)
        .map_err(|error| Failure::unexpected(format!("cannot remember it: {error}")))?;
    output.text(&Text::line(&format!("{file} is approved")))
}

/// A file word for word, with nothing hidden and nothing looked up (S20).
fn shown(says: &AsWritten) -> Text {
    let mut text = Text::new();
    for server in &says.servers {
        text.plain("  ").add(Style::Name, &server.name).plain("  ");
        match server.target.is_empty() {
            true => text.add(Style::Warning, "neither a command nor an address"),
            false => text.plain(&server.target.join(" ")),
        };
        text.end_line();
        settings(&server.settings, "      ", &mut text);
    }
    settings(&says.settings, "  ", &mut text);
    if !says.variables.is_empty() {
        text.plain("It would read these of your environment variables:")
            .end_line();
    }
    for used in &says.variables {
        text.plain("  ")
            .add(Style::Name, &used.variable)
            .plain(&format!("  in {} of {}", used.key, used.server));
        if !used.receiver.is_empty() {
            text.plain(&format!(", for {}", used.receiver));
        }
        text.end_line();
    }
    text
}

fn settings(settings: &[WrittenSetting], indent: &str, text: &mut Text) {
    for WrittenSetting { key, value } in settings {
        text.plain(&format!("{indent}{key} = {value}")).end_line();
    }
}

/// Shows how a server's tools differ from what was approved, and approves them as they are.
async fn approve_tools(
    server: &str,
    configuration: &Configuration,
    approval: Approval,
    output: &Output,
) -> Result<(), Failure> {
    let target = Target::Named(server.to_owned());
    let roster = Roster::of(&target, configuration, &Overrides::default())?;
    let pins = roster.pins()?;
    let session = Session::open(roster, None, output)?;
    let listed = listing::fetch::<Tool>(Completeness::Whole, &session, output).await;
    session.close().await;
    let listed = listed?;
    // What is only remembered is not what will be called.
    listing::conclude(&listed.servers, Completeness::Whole, output)?;
    let tools: Vec<(ToolName, Tool)> = listed
        .entries
        .into_iter()
        .map(|offered| {
            (
                ToolName::new(offered.server, &*offered.entry.name),
                offered.entry,
            )
        })
        .collect();
    let mut text = Text::new();
    let mut fresh = Vec::new();
    let mut changed = 0;
    for (name, tool) in &tools {
        match pins.state(name, tool) {
            PinState::Same => continue,
            PinState::New => {
                text.add(Style::Good, "new: ").plain(&name.to_string());
                text.end_line();
            }
            PinState::Drifted(drift) => {
                changed += 1;
                text.append(difference(&drift));
            }
        }
        fresh.push((name, tool));
    }
    if fresh.is_empty() {
        let text = format!(
            "all {} tools of {server} are as you approved them",
            tools.len()
        );
        return output.text(&Text::line(&text));
    }
    output.aside_text(&text);
    agreed(
        &format!("approve these tools of {server}?"),
        approval,
        output,
    )
    .await?;
    let count = fresh.len();
    pins.accept(fresh)
        .map_err(|error| Failure::unexpected(format!("cannot remember it: {error}")))?;
    let text = format!("{count} tools of {server} are approved, {changed} of them changed");
    output.text(&Text::line(&text))
}

fn difference(drift: &Drift) -> Text {
    let mut text = Text::new();
    text.add(Style::Warning, "changed: ")
        .plain(&drift.name.to_string())
        .end_line();
    for change in &drift.changes {
        text.plain("  ").plain(&change.to_string()).end_line();
    }
    text
}

/// Goes on with a clear yes only.
async fn agreed(question: &str, approval: Approval, output: &Output) -> Result<(), Failure> {
    if approval == Approval::Given {
        return Ok(());
    }
    if !output.can_ask() {
        return Err(
            Failure::refused("nothing was approved: there is no terminal to ask on")
                .hint("run it on a terminal, or approve what you see above with --yes"),
        );
    }
    match Asker::new(output.clone()).agrees(question).await {
        true => Ok(()),
        false => Err(Failure::refused("nothing was approved")),
    }
}
