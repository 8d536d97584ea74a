//! Judging a client: it is given a strict server over stdio, once for each scenario, and what it
//! sends is judged.
//!
//! The client's own command starts the server, as clients do. So the server is this program again
//! (`server`), and what it saw comes back in a file.

mod judge;
mod server;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use attache_process::{Ladder, Launch, Spawned};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::Instant;

use crate::check::{Group, Outcome, milliseconds, not_testable};
use crate::report::Report;
use crate::trace::quoted;

pub use judge::CLIENT_CHECKS;
pub use server::serve;

/// What the strict server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// The newest legacy revision, with everything a client has to bear.
    Legacy,
    /// The modern revision alone.
    Modern,
    /// It answers `initialize` with the first revision.
    Old,
    /// It answers `initialize` with a revision that does not exist.
    Unknown,
}

const SCENARIOS: [Scenario; 4] = [
    Scenario::Legacy,
    Scenario::Modern,
    Scenario::Old,
    Scenario::Unknown,
];

/// A check of what a client sent.
pub struct ClientCheck {
    /// Its name.
    pub id: &'static str,
    /// The duties it is about.
    pub duties: &'static [&'static str],
    /// How binding they are.
    pub level: crate::check::Level,
    /// What the server did meanwhile.
    pub scenario: Scenario,
    /// What it asks.
    pub question: &'static str,
    pub(crate) judge: fn(&Conversation) -> crate::check::Finding,
}

/// The file with the scenario, and the one with what happened.
const SCENARIO_FILE: &str = "scenario.json";
const LOG_FILE: &str = "conversation.jsonl";
/// The program that the client is told to start.
const SCRIPT: &str = "server";

/// Something that happened between client and server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) from: From,
    /// The line as it was.
    pub(crate) text: String,
    /// The message, or null if it is none.
    pub(crate) value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum From {
    Client,
    Server,
    /// The client has closed the server's input.
    EndOfInput,
}

/// All that happened in one run of the client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) entries: Vec<Entry>,
}

impl Conversation {
    fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join(LOG_FILE)).unwrap_or_default();
        let lines = text.lines();
        Self {
            entries: lines
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
        }
    }
}

/// How long a client may take in one scenario.
const RUN_LIMIT: Duration = Duration::from_secs(12);
/// How a client is ended that does not leave.
const LADDER: Ladder = Ladder {
    grace: Duration::from_secs(1),
    term: Duration::from_millis(500),
};

/// Runs a client against the strict server and judges it. `server` are the words that make this
/// program the server of a folder, which is put behind them. The client gets the path of a program
/// to start as its last argument, or where one of its arguments is `{}`.
///
/// # Errors
/// Why it could not be tried at all.
pub async fn verify_client(
    client: &Launch,
    server: &[OsString],
    scratch: &Path,
    tell: impl Fn(&Outcome),
) -> Result<Report, String> {
    let begun = Instant::now();
    let mut outcomes = Vec::new();
    for scenario in SCENARIOS {
        let folder = scratch.join(format!("{scenario:?}").to_lowercase());
        let script = prepare(&folder, scenario, server)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let started = Instant::now();
        let how = run_client(client, &script).await?;
        let conversation = Conversation::read(&folder);
        for check in CLIENT_CHECKS
            .iter()
            .filter(|check| check.scenario == scenario)
        {
            let outcome = judged(check, &conversation, client, &how, started.elapsed());
            tell(&outcome);
            outcomes.push(outcome);
        }
    }
    let target = command_line(client);
    Ok(Report::made(
        target,
        "stdio",
        Vec::new(),
        outcomes,
        begun.elapsed(),
    ))
}

fn command_line(client: &Launch) -> String {
    let words = client.words();
    let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    words.join(" ")
}

fn judged(
    check: &'static ClientCheck,
    conversation: &Conversation,
    client: &Launch,
    how: &str,
    took: Duration,
) -> Outcome {
    let finding = match conversation.entries.is_empty() && check.id != "client.connects" {
        true => not_testable(format!("the client did not speak to the server; it {how}")),
        false => (check.judge)(conversation),
    };
    let lines = |from: From| {
        let entries = conversation
            .entries
            .iter()
            .filter(move |it| it.from == from);
        entries.map(|entry| entry.text.clone()).take(12).collect()
    };
    let verdict = finding.verdict(check.level);
    Outcome {
        check: check.id.to_owned(),
        group: Group::Client,
        duties: check.duties.to_vec(),
        level: check.level,
        revision: None,
        question: check.question.to_owned(),
        verdict,
        known: false,
        found: finding.into_text(),
        sent: lines(From::Server),
        came: lines(From::Client),
        reproduce: format!("attache verify --client -- {}", command_line(client)),
        took_ms: milliseconds(took),
    }
}

/// Writes the scenario and the program that plays it.
fn prepare(folder: &Path, scenario: Scenario, server: &[OsString]) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let text = serde_json::to_vec(&scenario)?;
    std::fs::write(folder.join(SCENARIO_FILE), text)?;
    let mut words: Vec<String> = server
        .iter()
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    words.push(quoted(&folder.to_string_lossy()));
    write_script(folder, &words.join(" "))
}

#[cfg(unix)]
fn write_script(folder: &Path, command: &str) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let script = folder.join(SCRIPT);
    std::fs::write(&script, format!("#!/bin/sh\nexec {command}\n"))?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700))?;
    Ok(script)
}

#[cfg(not(unix))]
fn write_script(folder: &Path, command: &str) -> std::io::Result<PathBuf> {
    let script = folder.join(format!("{SCRIPT}.cmd"));
    std::fs::write(&script, format!("@{}\r\n", command.replace('\'', "\"")))?;
    Ok(script)
}

/// Runs the client to its end, and says how that was.
async fn run_client(client: &Launch, script: &Path) -> Result<String, String> {
    let mut launch = client.clone();
    let mut is_placed = false;
    for word in &mut launch.args {
        if word == "{}" {
            *word = script.as_os_str().to_owned();
            is_placed = true;
        }
    }
    if !is_placed {
        launch.args.push(script.as_os_str().to_owned());
    }
    let spawned = attache_process::spawn(&launch).await;
    let Spawned {
        stdin,
        stdout,
        stderr,
        child,
    } = spawned.map_err(|error| error.to_string())?;
    drop(stdin);
    tokio::spawn(drain(stdout));
    tokio::spawn(drain(stderr));
    let ended = tokio::time::timeout(RUN_LIMIT, child.wait()).await;
    let how = match ended {
        Ok(reason) => reason.to_string(),
        Err(_) => format!("did not leave in {} s", RUN_LIMIT.as_secs()),
    };
    child.close(LADDER).await;
    Ok(how)
}

async fn drain(mut stream: impl AsyncRead + Unpin) {
    let mut buffer = vec![0; 8192];
    while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
}
