//! `attache doctor`: starts servers, looks at what happens, and names one cause and one remedy.
//!
//! Owns the examination and how its findings are shown; what a failure means for a program and for
//! a server behind a URL is a file each. What was seen comes from the host's typed errors, never
//! from the wording of messages.

mod address;
mod program;

use attache::host::config::{Origin, ServerConfig, ServerName};
use attache::host::redact::Redactor;
use attache::host::{Accounts, Cause, Error, Failure as ServerFailure, Host};
use attache::{Client, ConnectError, EraChoice, Error as ClientError};
use attache_attach::RemoteHost;
use attache_builtin::lisp::{Confinement, Evaluator, Settings};
use serde::Serialize;
use tokio::task::JoinSet;

use address::ExaminedServer;

use super::waiting::Waiting;
use super::{Context, Known, Typed, Verb, listing};
use crate::args::{Completeness, ServerArgs};
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::output::{Format, Output, Style, Text, json};
use crate::selection::{BuiltIn, LISP, ServerSelection};
use crate::target::Target;

/// Find out what is wrong with servers: one cause, one remedy
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  attache doctor -- npx -y @modelcontextprotocol/server-everything"
)]
pub(crate) struct Doctor {
    /// The server's name or URL; all servers if there is none
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    #[command(flatten)]
    servers: ServerArgs,
}

/// What was found out about a server.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    name: String,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// What keeps the workers of the built-in evaluator from doing harm.
    #[serde(skip_serializing_if = "Option::is_none")]
    confinement: Option<Confinement>,
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
    NameNotFound,
    NobodyListens,
    UntrustedRoot,
    BadCertificate,
    NoTls,
    Proxy,
    Redirected,
    WrongAddress,
    ServerFails,
    LoginRequired,
    LoginRefused,
    LoginUnavailable,
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

impl Verb for Doctor {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let (target, selection) = self.servers.named(self.name)?.selection()?;
        note_kept(&selection, output).await;
        let selection = selection.tried_once();
        let unrestricted = selection.unrestricted();
        let session = CommandHost::open(selection, None, output)?;
        let examined = examine_all(&session, unrestricted, &target, output).await;
        session.close().await;
        let (mut findings, stopped) = examined?;
        findings.sort_by(|one, other| one.name.cmp(&other.name));
        if output.format == Format::Json {
            output.document(&json::write(&Document { servers: &findings }))?;
        }
        if let Some(stopped) = stopped {
            return Err(stopped);
        }
        let ill = findings.iter().filter(|finding| !finding.verdict.is_well());
        let ill: Vec<&str> = ill.map(|finding| finding.name.as_str()).collect();
        let whole = listing::all_answered(&ill, findings.len(), Completeness::WHOLE);
        whole.map_err(|failure| Failure {
            hint: None,
            ..failure
        })
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

/// Says that what is examined is not what other commands use.
async fn note_kept(selection: &ServerSelection, output: &Output) {
    let Some(place) = selection.shared() else {
        return;
    };
    if let Some((_, welcome)) = RemoteHost::connect_to_any(place).await
        && welcome.refused.is_none()
    {
        let process = welcome.process;
        output.note(&format!(
            "process {process} keeps these servers running, and commands use them there; this starts \
             each once more to look at it. `attache down` ends the others"
        ));
    }
}

/// Examines all servers at once. While a person looks on, each finding is printed as soon as it is
/// there; otherwise all are printed in the end. Who interrupts it gets what was found by then, and
/// the failure to end with.
async fn examine_all(
    session: &CommandHost,
    unrestricted: ServerSelection,
    target: &Target,
    output: &Output,
) -> Result<(Vec<Finding>, Option<Failure>), Failure> {
    // The same servers without a word about eras, to tell a wrong one from other failures.
    let any_era = unrestricted.host()?.start();
    let mut examining = JoinSet::new();
    for name in session.server_names().iter().cloned() {
        let examination = Examination {
            host: session.host()?.clone(),
            any_era: any_era.clone(),
            accounts: session.accounts.clone(),
            // A server that was typed has a name in output only.
            word: match target {
                Target::Url(url) => url.clone(),
                _ => name.to_string(),
            },
            name: name.clone(),
        };
        examining.spawn(async move { (name, examination.run().await) });
    }
    let mut waiting = Waiting::for_all(session, output)?;
    let is_watched = waiting.is_watched();
    let column = session.name_column(&[]);
    let mut found: Vec<Finding> = Vec::new();
    let mut stopped = None;
    while !examining.is_empty() {
        tokio::select! {
            biased;
            Some(Ok((name, finding))) = examining.join_next() => {
                waiting.ended(&name);
                if is_watched {
                    output.text(&show(std::slice::from_ref(&finding), column))?;
                }
                found.push(finding);
            }
            () = session.interrupted() => {
                if session.only_server().is_some() {
                    return Err(session.cancelled());
                }
                stopped = Some(waiting.stopped());
                break;
            }
            () = waiting.look() => {}
        }
    }
    drop((waiting, examining));
    any_era.close().await;
    let at = found.len();
    for (name, failure) in &session.misconfigured {
        found.push(Finding {
            name: name.clone(),
            verdict: Verdict::BadConfiguration,
            cause: Some(failure.message.clone()),
            remedy: failure.hint.as_deref().map(str::to_owned),
            confinement: None,
        });
    }
    if output.format == Format::Human {
        if is_watched {
            output.text(&show(&found[at..], column))?;
        } else {
            found.sort_by(|one, other| one.name.cmp(&other.name));
            output.text(&show(&found, column))?;
        }
    }
    Ok((found, stopped))
}

/// What is needed to examine one server.
struct Examination {
    host: Host,
    /// The same servers, free to speak any era.
    any_era: Host,
    accounts: Accounts,
    name: ServerName,
    /// How a person names it to other commands.
    word: String,
}

impl Examination {
    async fn run(&self) -> Finding {
        let Self { host, name, .. } = self;
        let config = match host.config(name.as_str()) {
            Ok(config) => config,
            Err(error) => return finding(name, Verdict::Unreachable, error.to_string(), ""),
        };
        let mut ready = host.ready_in_turn(name.as_str()).await;
        if matches!(ready, Err(Error::StillStarting { .. })) {
            // Its time is up as well; when it has been stopped, it is known what it said.
            ready = host.ready_in_turn(name.as_str()).await;
        }
        if let Err(mut error) = ready {
            let settings = &config.server.settings;
            if settings.era != EraChoice::Auto || settings.protocol.is_some() {
                match self.any_era.ready(name.as_str()).await {
                    Ok(()) => return wrong_era(&self.any_era, name, &config),
                    // A client that may speak any era hears more of what is wrong.
                    Err(freely) => error = freely,
                }
            }
            let examined = ExaminedServer {
                name,
                word: &self.word,
                config: &config,
            };
            return diagnose(&examined, &self.accounts, &error).await;
        }
        if let Some(error) = self.trouble_with_lists(&config).await {
            let cause = format!("it starts, but does not list its tools: {error}");
            let remedy = match config.server.transport().launch() {
                Some(_) => "the server has a defect; `attache logs` shows what it wrote to stderr",
                None => "the server has a defect; tell those who run it",
            };
            return finding(name, Verdict::ListsFail, cause, remedy);
        }
        match host.running(name.as_str()) {
            Some(client) if client.statistics().stray_lines > 0 => polluted(name, &config, &client),
            _ => Finding {
                name: name.to_string(),
                verdict: Verdict::Healthy,
                cause: None,
                remedy: None,
                confinement: confinement(&config).await,
            },
        }
    }

    async fn trouble_with_lists(&self, config: &ServerConfig) -> Option<Error> {
        let tools = self.host.list_tools().server(self.name.as_str());
        match tools
            .remembered_after(config.server.settings.timeouts.maximum)
            .await
        {
            Ok(list) => list.servers.into_iter().find_map(|answer| answer.error),
            Err(error) => Some(error),
        }
    }
}

/// What the system lets a worker do, if the server is the evaluator inside this program.
async fn confinement(config: &ServerConfig) -> Option<Confinement> {
    let built_in = BuiltIn::of(config)?;
    if built_in.name != LISP {
        return None;
    }
    let evaluator = Evaluator::new(Settings::default());
    evaluator.confinement().await.ok()
}

/// A server that writes where only messages belong.
fn polluted(name: &ServerName, config: &ServerConfig, client: &Client) -> Finding {
    let count = match client.statistics().stray_lines {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    let first = client.first_stray_lines();
    let redactor = Redactor::for_servers([config]);
    let example = first
        .first()
        .map(|line| format!(": {}", redactor.redact(line)));
    let example = example.unwrap_or_default();
    finding(
        name,
        Verdict::PollutedStdout,
        format!("it works, but writes to stdout what is no message ({count}{example})"),
        "have it log to stderr; stdout belongs to the protocol",
    )
}

fn finding(name: &ServerName, verdict: Verdict, cause: String, remedy: &str) -> Finding {
    Finding {
        name: name.to_string(),
        verdict,
        cause: Some(cause),
        remedy: Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty()),
        confinement: None,
    }
}

fn wrong_era(any_era: &Host, name: &ServerName, config: &ServerConfig) -> Finding {
    let client = any_era.running(name.as_str());
    let speaks = client.map_or_else(
        || "another era".to_owned(),
        |client| format!("{} {}", client.revision().era(), client.revision()),
    );
    let wanted = match (config.server.settings.protocol, config.server.settings.era) {
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

/// What ails a server, as far as its error tells.
pub(super) struct Diagnosis {
    pub(super) cause: String,
    pub(super) remedy: Option<String>,
}

/// The same words about a failure for other verbs, so that all of them agree.
pub(super) async fn explain(
    host: &Host,
    name: &ServerName,
    accounts: &Accounts,
    error: &Error,
) -> Option<Diagnosis> {
    if !matches!(
        error,
        Error::Parked { .. } | Error::Unreachable { .. } | Error::StillStarting { .. }
    ) {
        return None;
    }
    let config = host.config(name.as_str()).ok()?;
    let transport = config.server.transport();
    let url = transport.http().map(|http| http.url.clone());
    let is_typed = config.source.origin == Origin::Program;
    let examined = ExaminedServer {
        name,
        // A server that was typed has a name in output only.
        word: url.as_deref().filter(|_| is_typed).unwrap_or(name.as_str()),
        config: &config,
    };
    let Finding { cause, remedy, .. } = diagnose(&examined, accounts, error).await;
    Some(Diagnosis {
        cause: cause?,
        remedy,
    })
}

/// From a typed error to one cause and one remedy.
async fn diagnose(examined: &ExaminedServer<'_>, accounts: &Accounts, error: &Error) -> Finding {
    let ExaminedServer { name, config, .. } = examined;
    let is_program = config.server.transport().launch().is_some();
    match error {
        Error::Parked { failure, .. } | Error::Unreachable { failure, .. } => {
            let ServerFailure { cause, .. } = &**failure;
            match cause {
                Cause::Start(ClientError::Connect(ConnectError::NoCommonRevision { .. })) => {
                    finding(
                        name,
                        Verdict::WrongEra,
                        cause.to_string(),
                        "leave out `era` and `protocol`, or update the server",
                    )
                }
                cause if is_program => program::diagnose(name, config, cause),
                cause if address::wants_login(cause) => examined.without_login(accounts).await,
                cause => examined.diagnose(cause),
            }
        }
        Error::Disabled { .. } => finding(
            name,
            Verdict::Disabled,
            "it is switched off".to_owned(),
            "set `enabled = true` to use it",
        ),
        Error::StillStarting { .. } if is_program => program::silent(name, config, &[], &[]),
        Error::StillStarting { .. } => examined.silent(),
        other => finding(name, Verdict::Unreachable, other.to_string(), ""),
    }
}

fn show(findings: &[Finding], column: usize) -> Text {
    let indent = " ".repeat(column + 2);
    let mut text = Text::new();
    for finding in findings {
        text.column(Style::Name, &finding.name, column)
            .plain("  ")
            .hang();
        match (&finding.cause, finding.verdict.is_well()) {
            (None, _) => text.add(Style::Good, "healthy"),
            (Some(cause), true) => text.add(Style::Warning, cause),
            (Some(cause), false) => text.add(Style::Bad, cause),
        };
        text.end_line();
        if let Some(confinement) = &finding.confinement {
            text.plain(&indent)
                .plain(&format!("its workers are held by: {confinement}"))
                .end_line();
        }
        if let Some(remedy) = &finding.remedy {
            text.plain(&indent)
                .hang()
                .add(Style::Good, "remedy: ")
                .plain(remedy)
                .end_line();
        }
    }
    text
}
