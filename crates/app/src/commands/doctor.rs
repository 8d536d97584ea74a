//! `attache doctor`: starts servers, looks at what happens, and names one cause and one remedy.
//!
//! Owns the table from what was seen to what to do. What was seen comes from the host's typed
//! errors, never from the wording of messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use attache::host::config::{ServerConfig, ServerName, Transport};
use attache::host::events::EventKind;
use attache::host::{Cause, Error, Failure as ServerFailure, Host};
use attache::process::SpawnErrorKind;
use attache::{CloseReason, ConnectError, EraChoice, Error as ClientError};
use serde::Serialize;
use tokio::task::JoinSet;

use super::listing;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::invocation::Completeness;
use crate::output::{Format, Output, Style, Text, json};
use crate::overrides::Overrides;
use crate::roster::Roster;
use crate::session::Session;
use crate::target::{Target, program_name};

/// Programs that fetch a package before they run it, which can take longer than a start may.
const PACKAGE_RUNNERS: [&str; 10] = [
    "npx", "uvx", "bunx", "pnpm", "pnpx", "yarn", "pipx", "uv", "docker", "podman",
];

/// What was found out about a server.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    name: String,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Healthy,
    Disabled,
    BadConfiguration,
    CommandNotFound,
    CannotRun,
    Downloading,
    Exits,
    NeverAnswers,
    WrongEra,
    PollutedStdout,
    ListsFail,
    Unreachable,
}

impl Verdict {
    fn is_well(self) -> bool {
        matches!(self, Self::Healthy | Self::Disabled | Self::PollutedStdout)
    }
}

#[derive(Serialize)]
struct Document<'a> {
    servers: &'a [Finding],
}

/// The first line of each server's stdout that is no message.
type FirstStray = Arc<Mutex<HashMap<ServerName, String>>>;

pub(super) async fn run(
    target: &Target,
    configuration: &Configuration,
    overrides: &Overrides,
    output: &Output,
) -> Result<(), Failure> {
    let roster = Roster::of(target, configuration, overrides)?.tried_once();
    let unrestricted = roster.unrestricted();
    let session = Session::open(roster, None, output)?;
    let examined = examine_all(&session, unrestricted).await;
    session.close().await;
    let mut findings = examined?;
    findings.sort_by(|one, other| one.name.cmp(&other.name));
    match output.format {
        Format::Json => output.document(&json::write(&Document { servers: &findings }))?,
        Format::Human => output.text(&show(&findings))?,
    }
    let ill = findings.iter().filter(|finding| !finding.verdict.is_well());
    let ill: Vec<&str> = ill.map(|finding| finding.name.as_str()).collect();
    let whole = listing::all_answered(&ill, findings.len(), Completeness::Whole);
    whole.map_err(|failure| Failure {
        hint: None,
        ..failure
    })
}

async fn examine_all(session: &Session, unrestricted: Roster) -> Result<Vec<Finding>, Failure> {
    let stray = FirstStray::default();
    let mut events = session.host.events();
    let noted = stray.clone();
    let noting = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            if let (Some(server), EventKind::Defect { problem }) = (&event.server, &event.kind) {
                let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                noted.entry(server.clone()).or_insert(problem.clone());
            }
        }
    });
    // The same servers without a word about eras, to tell a wrong one from other failures.
    let any_era = unrestricted.host()?.start();
    let mut examining = JoinSet::new();
    for name in session.host.server_names() {
        let (host, any_era, stray) = (session.host.clone(), any_era.clone(), stray.clone());
        examining.spawn(async move { examine(&host, &any_era, &name, &stray).await });
    }
    let found = session.run(async { Ok(examining.join_all().await) }).await;
    noting.abort();
    any_era.close().await;
    let mut found = found?;
    for (name, failure) in &session.misconfigured {
        found.push(Finding {
            name: name.clone(),
            verdict: Verdict::BadConfiguration,
            cause: Some(failure.message.clone()),
            remedy: failure.hint.as_deref().map(str::to_owned),
        });
    }
    Ok(found)
}

async fn examine(host: &Host, any_era: &Host, name: &ServerName, stray: &FirstStray) -> Finding {
    let config = match host.config(name.as_str()) {
        Ok(config) => config,
        Err(error) => return finding(name, Verdict::Unreachable, error.to_string(), ""),
    };
    if let Err(error) = host.ready(name.as_str()).await {
        let is_restricted = config.era != EraChoice::Auto || config.protocol.is_some();
        if is_restricted && any_era.ready(name.as_str()).await.is_ok() {
            return wrong_era(any_era, name, &config);
        }
        return diagnose(name, &config, &error);
    }
    let tools = host.list_tools().server(name.as_str());
    let tools = tools.remembered_after(config.timeouts.maximum).await;
    let trouble = match tools {
        Ok(list) => list.servers.into_iter().find_map(|answer| answer.error),
        Err(error) => Some(error),
    };
    if let Some(error) = trouble {
        let cause = format!("it starts, but does not list its tools: {error}");
        return finding(
            name,
            Verdict::ListsFail,
            cause,
            "the server has a defect; `attache logs` shows what it wrote to stderr",
        );
    }
    let lines = host.running(name.as_str());
    let lines = lines.map_or(0, |client| client.statistics().stray_lines);
    if lines > 0 {
        let noted = stray.lock().unwrap_or_else(PoisonError::into_inner);
        // A line that came before the handshake was counted and is gone.
        let example = noted.get(name).map(|line| format!("; {line}"));
        let example = example.unwrap_or_default();
        let count = match lines {
            1 => "1 line".to_owned(),
            lines => format!("{lines} lines"),
        };
        return finding(
            name,
            Verdict::PollutedStdout,
            format!("it works, but writes to stdout what is no message ({count}{example})"),
            "have it log to stderr; stdout belongs to the protocol",
        );
    }
    Finding {
        name: name.to_string(),
        verdict: Verdict::Healthy,
        cause: None,
        remedy: None,
    }
}

fn finding(name: &ServerName, verdict: Verdict, cause: String, remedy: &str) -> Finding {
    Finding {
        name: name.to_string(),
        verdict,
        cause: Some(cause),
        remedy: Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty()),
    }
}

fn wrong_era(any_era: &Host, name: &ServerName, config: &ServerConfig) -> Finding {
    let client = any_era.running(name.as_str());
    let speaks = client.map_or_else(
        || "another era".to_owned(),
        |client| format!("{} {}", client.revision().era(), client.revision()),
    );
    let wanted = match (config.protocol, config.era) {
        (Some(revision), _) => format!("protocol {revision}"),
        (None, EraChoice::Modern) => "era modern".to_owned(),
        (None, EraChoice::Legacy) => "era legacy".to_owned(),
        (None, EraChoice::Auto) => "any era".to_owned(),
    };
    finding(
        name,
        Verdict::WrongEra,
        format!("it is told to speak {wanted}, but speaks {speaks}"),
        "leave out `era` and `protocol` for it, or set them to what it speaks",
    )
}

/// From a typed error to one cause and one remedy.
fn diagnose(name: &ServerName, config: &ServerConfig, error: &Error) -> Finding {
    let failure = match error {
        Error::Parked { failure, .. } | Error::Unreachable { failure, .. } => failure,
        Error::Disabled { .. } => {
            let cause = "it is switched off".to_owned();
            return finding(
                name,
                Verdict::Disabled,
                cause,
                "set `enabled = true` to use it",
            );
        }
        Error::StillStarting { .. } => return silent(name, config, &[]),
        other => return finding(name, Verdict::Unreachable, other.to_string(), ""),
    };
    let ServerFailure { cause, stderr } = &**failure;
    match cause {
        Cause::Start(ClientError::Spawn(error)) => {
            let (verdict, remedy) = match error.kind() {
                SpawnErrorKind::NotFound => (
                    Verdict::CommandNotFound,
                    "install it, or give its full path as the command",
                ),
                SpawnErrorKind::NotExecutable => (
                    Verdict::CannotRun,
                    "make it executable, or name its interpreter",
                ),
                SpawnErrorKind::InterpreterMissing => (
                    Verdict::CannotRun,
                    "install the interpreter its first line names",
                ),
                SpawnErrorKind::BadWorkingDirectory => (
                    Verdict::BadConfiguration,
                    "set `cwd` to a folder that exists",
                ),
                _ => (Verdict::CannotRun, "see what the system says"),
            };
            finding(name, verdict, error.to_string(), remedy)
        }
        Cause::Start(ClientError::Connect(ConnectError::TimedOut { .. })) => {
            silent(name, config, stderr)
        }
        Cause::Start(ClientError::Connect(ConnectError::NoCommonRevision { .. })) => finding(
            name,
            Verdict::WrongEra,
            cause.to_string(),
            "leave out `era` and `protocol`, or update the server",
        ),
        Cause::Start(ClientError::Connect(ConnectError::Lost(reason))) | Cause::Lost(reason) => {
            exits(name, reason, stderr)
        }
        other => finding(
            name,
            Verdict::Unreachable,
            other.to_string(),
            "check that the command is an MCP server that speaks over stdio",
        ),
    }
}

/// A server that runs and says nothing.
fn silent(name: &ServerName, config: &ServerConfig, stderr: &[String]) -> Finding {
    let patience = config.timeouts.start;
    let said = match stderr.last() {
        Some(line) => format!("; its stderr says: {line}"),
        None => String::new(),
    };
    if let Transport::Stdio { command, args, .. } = &config.transport {
        let program = program_name(command);
        if PACKAGE_RUNNERS.contains(&program.as_str()) {
            let line = std::iter::once(command).chain(args);
            let line: Vec<&str> = line.map(String::as_str).collect();
            return finding(
                name,
                Verdict::Downloading,
                format!("{program} was not done within {patience:?}; it may be downloading{said}"),
                &format!(
                    "run `{}` once by hand, or allow more with `timeouts.initialize`",
                    line.join(" ")
                ),
            );
        }
    }
    finding(
        name,
        Verdict::NeverAnswers,
        format!("it runs but did not answer within {patience:?}{said}"),
        "check that the command is an MCP server that speaks over stdio, not HTTP",
    )
}

fn exits(name: &ServerName, reason: &CloseReason, stderr: &[String]) -> Finding {
    let CloseReason::Exited { exit, .. } = reason else {
        let remedy = "check that the command is an MCP server that speaks over stdio";
        return finding(name, Verdict::Unreachable, reason.to_string(), remedy);
    };
    let said = match stderr {
        [] => "and says nothing on stderr".to_owned(),
        lines => format!("and says: {}", lines.join(" | ")),
    };
    let remedy = match stderr {
        [] => "run the command by itself to see why it leaves",
        _ => "mend what it complains about: an argument, a variable in `env`, a file",
    };
    let cause = format!("it exits at once ({exit}) {said}");
    finding(name, Verdict::Exits, cause, remedy)
}

fn show(findings: &[Finding]) -> Text {
    let mut text = Text::new();
    for finding in findings {
        text.add(Style::Name, &finding.name).plain("  ");
        match (&finding.cause, finding.verdict.is_well()) {
            (None, _) => text.add(Style::Good, "healthy"),
            (Some(cause), true) => text.add(Style::Warning, cause),
            (Some(cause), false) => text.add(Style::Bad, cause),
        };
        text.end_line();
        if let Some(remedy) = &finding.remedy {
            text.plain("  ")
                .add(Style::Good, "remedy: ")
                .plain(remedy)
                .end_line();
        }
    }
    text
}
