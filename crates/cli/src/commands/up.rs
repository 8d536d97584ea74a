//! `attache up`: keeps the configured servers running in the background.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use attache::host::Lifetime;
use attache::host::config::ServerName;
use attache::host::snapshot::ServerState;
use attache_attach::{Place, RemoteHost, Service, Welcome, holder, is_held, listen};
use serde::Serialize;
use serde_json::json;

use super::{Context, Known, Typed, Verb};
use crate::args::ConfigArgs;
use crate::ask;
use crate::attached::{self, explain};
use crate::configuration::Configuration;
use crate::failure::{Exit, Failure, Kind};
use crate::interrupt::Interrupts;
use crate::output::{Format, Output, Style, Text, human, json};
use crate::overrides::{Overrides, parse_time};
use crate::selection::ServerSelection;
use crate::target::Target;

/// How long the background process may take to listen.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// How long a process that is there may take to answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// How long its servers may take to end.
const END_PATIENCE: Duration = Duration::from_secs(20);
/// How often to look.
const LOOK: Duration = Duration::from_millis(5);
/// How many events are kept for who attaches late.
const KEPT_EVENTS: usize = 4096;

/// Keep the configured servers running, so that commands need not start them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Commands use them by themselves, and do without where they cannot: another configuration file or
another text of it, other values of the variables it names, options such as --env, and --verbose.

Example:
  attache up
  attache up --status
  attache down")]
pub(crate) struct Up {
    /// Say what is kept running
    #[arg(long, conflicts_with_all = ["idle", "foreground"])]
    status: bool,
    /// End after so long without a command
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_time,
        default_value = "30m",
        hide_default_value = true
    )]
    idle: Duration,
    /// Do not go to the background, for service managers
    #[arg(long)]
    foreground: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

impl Verb for Up {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let configuration = self.config.configuration()?;
        let place = place_of(&configuration)?;
        if self.status {
            return status(&place, output).await;
        }
        if self.foreground {
            return serve(&configuration, &place, self.idle).await;
        }
        if let Some((attached, welcome)) = running(&place).await? {
            if welcome.refused.is_none() {
                let process = welcome.process;
                let text = format!("the servers are kept running already, by process {process}");
                return output.done(&text, &json!({"process": process, "started": false}));
            }
            // It keeps servers of another text of the file, or is of another version.
            attached.shut_down().await;
            gone(&place).await?;
        }
        let mut child = self.start()?;
        let welcome = started(&place, &mut child).await?;
        let text = format!(
            "the servers of {} are kept running by process {welcome}",
            place.file().display()
        );
        output.done(&text, &json!({"process": welcome, "started": true}))
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

/// The place of a configuration, or what is wrong with it.
pub(super) fn place_of(configuration: &Configuration) -> Result<Place, Failure> {
    if configuration.runnable()?.is_none() {
        return Err(Failure::config("there are no servers to keep running")
            .hint("`attache config path` says where attache.toml is looked for"));
    }
    attached::place_of(configuration)?.ok_or_else(|| {
        Failure::config("there is no folder for a socket").hint("set XDG_RUNTIME_DIR or HOME")
    })
}

/// The background process of a configuration, if there is one. One that begins or ends at this
/// moment is waited for.
pub(super) async fn running(place: &Place) -> Result<Option<(RemoteHost, Welcome)>, Failure> {
    let until = Instant::now() + ANSWER_PATIENCE;
    loop {
        if let Some(found) = RemoteHost::connect_to_any(place).await {
            return Ok(Some(found));
        }
        if !is_held(place) {
            return Ok(None);
        }
        if Instant::now() >= until {
            return Err(no_answer(place));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn no_answer(place: &Place) -> Failure {
    let message = match holder(place) {
        Some(process) => format!("process {process}, which keeps the servers, does not answer"),
        None => "the process that keeps the servers does not answer".to_owned(),
    };
    Failure::new(Kind::Connect, Exit::Unreachable, message)
        .hint("end that process, and its servers end with it")
}

/// Waits until the background process has ended with all its servers.
pub(super) async fn gone(place: &Place) -> Result<(), Failure> {
    let ended = async {
        while is_held(place) {
            tokio::time::sleep(LOOK).await;
        }
    };
    let ended = tokio::time::timeout(END_PATIENCE, ended).await;
    ended.map_err(|_| Failure::unexpected("the background process does not end"))
}

impl Up {
    /// Starts this program again, to stay.
    fn start(&self) -> Result<Child, Failure> {
        let cannot = |error: std::io::Error| {
            Failure::unexpected(format!("cannot start the background process: {error}"))
        };
        let program = std::env::current_exe().map_err(cannot)?;
        let mut command = Command::new(program);
        command
            .args(["up", "--foreground", "--idle"])
            .arg(format!("{}ms", self.idle.as_millis()));
        if let Some(file) = self.config.named() {
            command.arg("--config").arg(file);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // A Ctrl-C at this terminal is not meant for it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(cannot)
    }
}

/// Waits until the background process listens, and gives its number.
async fn started(place: &Place, child: &mut Child) -> Result<u32, Failure> {
    let listens = async {
        loop {
            if let Some((_, welcome)) = RemoteHost::connect_to_any(place).await
                && welcome.refused.is_none()
            {
                return Ok(welcome.process);
            }
            if let Ok(Some(_)) = child.try_wait() {
                let mut said = String::new();
                if let Some(stderr) = &mut child.stderr {
                    // Without its words there is still the fact.
                    let _ = stderr.read_to_string(&mut said);
                }
                let said = said.trim().trim_start_matches("error: ").to_owned();
                let message = format!("the background process has ended: {said}");
                return Err(Failure::unexpected(message));
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(START_PATIENCE, listens).await {
        Ok(started) => started,
        Err(_) => Err(Failure::unexpected(
            "the background process does not listen",
        )),
    }
}

/// Is the background process.
async fn serve(
    configuration: &Configuration,
    place: &Place,
    idle: Duration,
) -> Result<(), Failure> {
    let interrupts = Interrupts::listen()?;
    let listener = listen(place).map_err(|error| {
        let socket = place.socket();
        Failure::unexpected(format!("cannot listen at {}: {error}", socket.display()))
    })?;
    let Some(mut listener) = listener else {
        return Err(Failure::usage(
            "another process keeps these servers running",
        ));
    };
    // The end of the terminal's session is not the end of this process. One that leads a session
    // has its own already.
    #[cfg(unix)]
    let _ = rustix::process::setsid();
    let overrides = Overrides::default();
    let selection = ServerSelection::of(&Target::All, configuration, &overrides)?;
    let host = selection
        .host()?
        .lifetime(Lifetime::Kept)
        .askable(ask::ASKABLE)
        .keep_events(KEPT_EVENTS)
        .start();
    let warm = host.clone();
    // Lists start the servers and are what most commands ask for first. What fails is tried again
    // by the command that needs it.
    let warming = tokio::spawn(async move { warm.list_tools().for_all().await.map(drop) });
    let service = Service::new(host.clone(), place, explain);
    let signal = interrupts.raised();
    service.run(&mut listener, idle, signal).await;
    warming.abort();
    // A command that waits for the lock waits for the servers and this process to be gone.
    host.close().await;
    drop(listener);
    Ok(())
}

/// What is kept running, for `--json`.
#[derive(Serialize)]
struct StatusDocument<'a> {
    process: u32,
    version: &'a str,
    file: &'a str,
    since_ms: u64,
    /// Why commands here do not use it, if they do not.
    unused: Option<&'a str>,
    /// For other programs that attach.
    socket: String,
    key: &'a str,
    servers: Vec<KeptServer>,
}

/// One server of a snapshot.
#[derive(Serialize)]
struct KeptServer {
    name: ServerName,
    state: ServerState,
    process_id: Option<u32>,
}

async fn status(place: &Place, output: &Output) -> Result<(), Failure> {
    let Some((attached, welcome)) = running(place).await? else {
        let message = "no servers are kept running";
        return Err(Failure::new(Kind::Connect, Exit::Unreachable, message)
            .hint("`attache up` starts them"));
    };
    // A process of another version may tell it in another way.
    let servers = attached.snapshot().await.map(|it| it.servers);
    let servers = servers.into_iter().flatten().map(|server| KeptServer {
        name: server.name,
        state: server.state,
        process_id: server.process_id,
    });
    let unused = match welcome.refused.as_deref() {
        None => None,
        Some("version") => Some("it is of another version"),
        Some("key") => Some("its configuration or environment is another one"),
        Some(_) => Some("it is busy"),
    };
    let status = StatusDocument {
        process: welcome.process,
        version: &welcome.version,
        file: &welcome.file,
        since_ms: welcome.since_ms,
        unused,
        socket: place.socket().display().to_string(),
        key: place.key(),
        servers: servers.collect(),
    };
    if output.format == Format::Json {
        return output.document(&json::write(&status));
    }
    let mut text = Text::new();
    text.plain(&format!(
        "process {} keeps the servers of {} running, since {}",
        status.process,
        status.file,
        human::age(status.since_ms)
    ))
    .end_line();
    if let Some(why) = unused {
        text.add(Style::Warning, "commands here do not use it: ")
            .plain(why)
            .plain("; `attache up` replaces it")
            .end_line();
    }
    for server in &status.servers {
        text.plain("  ")
            .add(Style::Name, server.name.as_str())
            .plain("  ")
            .faint(server.state.as_str())
            .end_line();
    }
    output.text(&text)
}
