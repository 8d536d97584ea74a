//! `attache verify`: a server, or a client, checked against the specification.
//!
//! Owns the words of the command and what becomes of a report; the checks and the forms for
//! machines are the crate's. Nothing of the host takes part: the server is started and spoken to
//! by the checks alone.

mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use attache::authorization::{AuthorizationError, Authorizer as _, LoginStatus, RequestLine};
use attache::host::config::ServerConfig;
use attache::process::Launch;
use attache::protocol::{Ending, Era};
use attache::{EraChoice, HttpFlavor, HttpServer, Timeouts, Transport};
use attache_verify::client::{CLIENT_CHECKS, serve, verify_client};
use attache_verify::report::{coverage, html, junit, sarif};
use attache_verify::{
    AllowedCall, Baseline, Eras, HttpTarget, Level, Options, Report, StdioTarget, Target, calls,
    checks, verify,
};
use clap::ValueEnum;
use http::Method;
use url::Url;

use super::{Context, Known, Typed, Verb};
use crate::args::ServerArgs;
use crate::failure::{Exit, Failure, Kind};
use crate::interrupt::Interrupts;
use crate::output::{Format, ProgressDisplay};
use crate::selection::ServerSelection;

/// Check a server against the specification, or a client
#[derive(Debug, clap::Args)]
// The report has what was sent and what came.
#[command(mut_arg("record", |option| option.hide(true)))]
#[command(after_help = "\
Every check names the duties it is about, what was sent, what came, and a command that shows the
same. Tools are called only if they say that they change nothing, or are named with --call.
Exit code 0 means that no must is broken, except those of the baseline; 5 that one is; 3 that the
server wants a login. Configured tokens and the login of `attache auth login` are used.

A client is given a strict server: the path of its program is put behind the client's command, or
where {} stands in it.

Example:
  attache verify -- npx -y @modelcontextprotocol/server-everything
  attache verify notes --only tools --call 'add={\"a\":1,\"b\":2}'
  attache verify notes --format junit --out verify.xml --baseline known.json
  attache verify --client -- attache tools --")]
pub(crate) struct Verify {
    /// The server's name or URL
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// The command is a client; judge what it sends
    #[arg(long)]
    client: bool,
    /// How the report is written: text, json, junit, sarif or html
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true,
        default_value = "text",
        hide_default_value = true
    )]
    format: ReportFormat,
    /// Write the report to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// must leaves out what only should be
    #[arg(
        long,
        value_enum,
        value_name = "must|should",
        hide_possible_values = true,
        default_value = "should",
        hide_default_value = true
    )]
    level: WantedLevel,
    /// Only this check, group or duty, like tools; may be repeated
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// A tool that may be called; without arguments some are made up
    #[arg(long, value_name = "TOOL[=JSON]", value_parser = parse_call)]
    call: Vec<AllowedCall>,
    /// Make the calls of this file too, and compare the answers
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    /// A report in JSON whose failures are known
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// What the messages changed by chance are made from
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        hide_default_value = true
    )]
    seed: u64,
    /// Print the checks and their duties, and check nothing
    #[arg(long)]
    list: bool,
    /// Be the strict server of a folder, for a client that is judged
    #[arg(long, value_name = "FOLDER", hide = true)]
    as_server: Option<PathBuf>,
    #[command(flatten)]
    servers: ServerArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Text,
    Json,
    Junit,
    Sarif,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WantedLevel {
    Must,
    Should,
}

/// How long one answer may take if nothing else is said.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may take to start.
const START_PATIENCE: Duration = Duration::from_secs(30);

impl Verb for Verify {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        if let Some(folder) = &self.as_server {
            return serve(folder)
                .map_err(|error| Failure::unexpected(format!("cannot serve: {error}")));
        }
        let output = &context.output;
        let format = match (self.format, output.format) {
            (ReportFormat::Text, Format::Json) => ReportFormat::Json,
            (format, _) => format,
        };
        if self.list {
            return match format {
                ReportFormat::Json => output.document(&list_json()),
                _ => output.text(&text::list()),
            };
        }
        let Self {
            name,
            client,
            out,
            level,
            only,
            call,
            calls,
            baseline,
            seed,
            servers,
            ..
        } = self;
        let word = name.clone();
        let (_, selection) = servers.named(name)?.selection()?;
        if selection.record().is_some() {
            return Err(Failure::usage("--record means nothing to `attache verify`")
                .hint("the report has what was sent and what came; --format json prints it all"));
        }
        let mut chosen = selection.servers();
        let (Some(server), None) = (chosen.next(), chosen.next()) else {
            return Err(Failure::usage("several servers are configured")
                .hint("name the one to verify, or give its command after `--`"));
        };
        let interrupts = Interrupts::listen()?;
        let report = if client {
            let judging = judge(server);
            let progress = output.progress("verify", ProgressDisplay::Bar);
            tokio::select! {
                report = progress.during(judging) => report?,
                () = interrupts.raised() => return Err(interrupted()),
            }
        } else {
            let options = Options {
                level: match level {
                    WantedLevel::Must => Level::Must,
                    WantedLevel::Should => Level::Should,
                },
                only: known_names(only)?,
                allowed: call,
                calls: match &calls {
                    Some(file) => read_calls(file)?,
                    None => Vec::new(),
                },
                baseline: match &baseline {
                    Some(file) => Some(read_baseline(file)?),
                    None => None,
                },
                seed,
                ..options(server)
            };
            let target = target(server, &selection).await?;
            let what = format!("verify {}", server.name);
            let progress = output.progress(&what, ProgressDisplay::Bar);
            tokio::select! {
                report = progress.during(verify(&target, &options, |_| {})) => report,
                () = interrupts.raised() => return Err(interrupted()),
            }
        };
        let written = match format {
            ReportFormat::Text => None,
            ReportFormat::Json => Some(report.json()),
            ReportFormat::Junit => Some(junit(&report)),
            ReportFormat::Sarif => Some(sarif(&report)),
            ReportFormat::Html => Some(html(&report)),
        };
        match (written, &out) {
            (None, None) => output.text(&text::report(&report, output.verbosity))?,
            (None, Some(file)) => {
                let text = text::report(&report, output.verbosity);
                write(file, &text.render(crate::output::Colour::Off))?;
            }
            (Some(document), None) if format == ReportFormat::Json => output.document(&document)?,
            (Some(document), None) => output.ready_made(&document)?,
            (Some(document), Some(file)) => write(file, &document)?,
        }
        conclude(&report, word.as_deref().unwrap_or(server.name.as_str()))
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

/// `word` is what the user calls the server.
fn conclude(report: &Report, word: &str) -> Result<(), Failure> {
    match report.new_failures() {
        // What could not be looked at must not pass for right.
        0 if report.needs_login => Err(Failure::new(
            Kind::Auth,
            Exit::Authorization,
            "the server wants a login, so most of it could not be looked at",
        )
        .hint(format!(
            "run `attache auth login {word}` first: `attache verify` uses that login, as it does a \
             configured token"
        ))),
        0 => Ok(()),
        1 => Err(Failure::failed("1 check failed")),
        count => Err(Failure::failed(format!("{count} checks failed"))),
    }
}

fn interrupted() -> Failure {
    Failure::ended(Ending::Cancelled, "interrupted; the server was taken down")
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text)
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", file.display())))
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))
}

fn read_calls(file: &Path) -> Result<Vec<calls::SavedCall>, Failure> {
    calls::read(&read(file)?)
        .map_err(|problem| Failure::usage(format!("{}: {problem}", file.display())))
}

fn read_baseline(file: &Path) -> Result<Baseline, Failure> {
    Baseline::read(&read(file)?)
        .map_err(|problem| Failure::usage(format!("{}: {problem}", file.display())))
}

/// Names that mean something; a mistyped one would check nothing and look green.
fn known_names(only: Vec<String>) -> Result<Vec<String>, Failure> {
    for name in &only {
        let is_known = name == "calls"
            || name.starts_with("calls.")
            || checks::all().any(|check| {
                check.id == name
                    || check.group.name() == name
                    || check.duties.contains(&name.as_str())
            });
        if !is_known {
            return Err(
                Failure::usage(format!("no check, group or duty is named \"{name}\""))
                    .hint("`attache verify --list` shows them"),
            );
        }
    }
    Ok(only)
}

/// A tool's name, perhaps with its arguments.
fn parse_call(text: &str) -> Result<AllowedCall, String> {
    let Some((tool, arguments)) = text.split_once('=') else {
        return Ok(AllowedCall {
            tool: text.to_owned(),
            arguments: None,
        });
    };
    let arguments: serde_json::Value =
        serde_json::from_str(arguments).map_err(|error| format!("the arguments: {error}"))?;
    match arguments.is_object() {
        true => Ok(AllowedCall {
            tool: tool.to_owned(),
            arguments: Some(arguments),
        }),
        false => Err("the arguments are a JSON object".to_owned()),
    }
}

/// What the server's own settings say about the run.
fn options(server: &ServerConfig) -> Options {
    let settings = &server.server.settings;
    let usual = Timeouts::default();
    let said = |time: Duration, usual: Duration, otherwise: Duration| match time == usual {
        true => otherwise,
        false => time,
    };
    let timeouts = &settings.timeouts;
    let mut options = Options {
        patience: said(timeouts.request, usual.request, PATIENCE),
        start_patience: said(timeouts.start, usual.start, START_PATIENCE),
        eras: match settings.era {
            EraChoice::Modern => Eras::Only(Era::Modern),
            EraChoice::Legacy => Eras::Only(Era::Legacy),
            EraChoice::Auto => Eras::Both,
        },
        ..Options::default()
    };
    if let Some(revision) = settings.protocol {
        options.eras = Eras::Only(revision.era());
        if revision.era() == Era::Legacy {
            options.legacy = revision;
        }
    }
    options
}

async fn target(server: &ServerConfig, selection: &ServerSelection) -> Result<Target, Failure> {
    match server.server().transport() {
        Transport::Stdio(launch) => Ok(Target::Stdio(StdioTarget {
            launch: launch.clone(),
        })),
        Transport::Http(http) if http.is_websocket() => Err(Failure::usage(
            "servers behind a WebSocket are not verified",
        )
        .hint("verify it over stdio or HTTP if it speaks one of them")),
        Transport::Http(http) => {
            let mut headers: BTreeMap<String, String> = http
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.expose().to_owned()))
                .collect();
            headers.extend(login(server, selection, http).await?);
            let target = HttpTarget {
                url: http.url.clone(),
                headers,
                ca_file: http.ca_file.clone(),
                proxy: http.proxy.clone(),
            };
            Ok(match http.flavor {
                HttpFlavor::Sse => Target::Sse(target),
                _ => Target::Http(target),
            })
        }
        _ => Err(Failure::usage("this kind of server cannot be verified")),
    }
}

/// The header of the login that there is, if there is one. This never begins a login.
async fn login(
    server: &ServerConfig,
    selection: &ServerSelection,
    http: &HttpServer,
) -> Result<Option<(String, String)>, Failure> {
    let failure = |error: AuthorizationError| {
        Failure::new(Kind::Auth, Exit::Authorization, error.to_string()).of(server.name.as_str())
    };
    let (Some(oauth), Ok(url)) = (selection.accounts().of(server)?, Url::parse(&http.url)) else {
        return Ok(None);
    };
    let LoginStatus::LoggedIn(_) = oauth.status().await.map_err(failure)? else {
        return Ok(None);
    };
    let request = RequestLine {
        method: &Method::POST,
        url: &url,
    };
    let headers = oauth.headers(request).await.map_err(failure)?;
    match headers.as_slice() {
        [(name, value)] => {
            let value = value.to_str().unwrap_or_default().to_owned();
            Ok(Some((name.as_str().to_owned(), value)))
        }
        [] => Ok(None),
        _ => Err(Failure::usage(
            "the login proves its possession with every request, which `attache verify` cannot",
        )
        .hint("configure a bearer token for the server: auth.token")),
    }
}

async fn judge(server: &ServerConfig) -> Result<Report, Failure> {
    let Some(client) = server.server.transport().launch() else {
        return Err(Failure::usage("--client needs the client's command")
            .hint("give it after `--`, for example: -- attache tools --"));
    };
    let executable = std::env::current_exe().map_err(|error| {
        Failure::unexpected(format!("cannot find this program's own file: {error}"))
    })?;
    let server = [executable.into(), "verify".into(), "--as-server".into()];
    let scratch = Scratch::new()?;
    let client: &Launch = client;
    verify_client(client, &server, &scratch.0, |_| {})
        .await
        .map_err(|problem| Failure::usage(format!("the client could not be tried: {problem}")))
}

/// A folder that goes with the run.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let cannot =
            |error: std::io::Error| Failure::unexpected(format!("cannot make a folder: {error}"));
        // The name is the process's own; what another user left there is no reason to go on.
        let folder = std::env::temp_dir().join(format!("attache-verify-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(cannot)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn list_json() -> String {
    let rows: Vec<serde_json::Value> = checks::all()
        .map(|check| {
            serde_json::json!({
                "check": check.id,
                "group": check.group,
                "level": check.level,
                "duties": check.duties,
                "from": check.revisions.0,
                "to": check.revisions.1,
                "over": check.over.name(),
                "question": check.question,
            })
        })
        .collect();
    let clients: Vec<serde_json::Value> = CLIENT_CHECKS
        .iter()
        .map(|check| {
            serde_json::json!({
                "check": check.id, "level": check.level, "duties": check.duties,
                "question": check.question,
            })
        })
        .collect();
    let (count, duties) = coverage();
    let document = serde_json::json!({
        "count": count, "duties": duties, "checks": rows, "client_checks": clients,
    });
    document.to_string()
}
