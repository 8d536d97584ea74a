//! One command's host: opened, listened to, interrupted, closed.
//!
//! Stands between a command and its servers. Owns what happens besides the command's own requests:
//! signals, the servers' logs and stderr, questions to the user, and the end.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::time::Duration;

use attache::Client;
use attache::client::ShutdownForm;
use attache::host::cache::{CacheScope, Freshness};
use attache::host::catalog::{Aggregate, Listable, Outcome, ServerAnswer};
use attache::host::config::ServerName;
use attache::host::events::{Event, EventKind};
use attache::host::names::ToolName;
use attache::host::snapshot::{ServerSnapshot, ServerState};
use attache::host::{Accounts, Error, Host, ReadAnswer};
use attache::protocol::{GetPromptResult, Json, LogLevel, Payload, ProgressParams};
use attache_attach::{Found, RemoteCall, RemoteError, RemoteHost};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::ask::{self, Asker, Consent, Face, TerminalQuestions};
use crate::attached;
use crate::caller::{self, Caller};
use crate::configuration::problem_failure;
use crate::failure::{self, Failure};
use crate::interrupt::Interrupts;
use crate::output::text::width;
use crate::output::{Output, Style, Text, Verbosity};
use crate::recording::HostRecording;
use crate::selection::{BuiltIn, ServerSelection};

/// How long a command waits for its servers to leave by themselves before it leaves the rest to the
/// guardian. Servers without an interpreter are gone by then, so the next command finds their files
/// and ports free; the others, which take 20 ms to 1.2 s, do not keep the user waiting.
const CLOSE_PATIENCE: Duration = Duration::from_millis(3);
/// How long writing log lines and remembered lists may keep the user waiting.
const WRITE_PATIENCE: Duration = Duration::from_millis(500);
/// How long stderr may take to be read to its end when it is being shown.
const STDERR_PATIENCE: Duration = Duration::from_millis(10);

/// How a tool is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As a request that is answered.
    Request,
    /// As a task whose result is fetched, because the tool takes nothing else (2025-11-25).
    Task,
}

/// Names of servers that are longer than this break their column.
const WIDEST_NAME: usize = 24;

/// A command's servers.
pub(crate) struct CommandHost {
    own: OnceCell<OwnHost>,
    /// What becomes its own host when the process that keeps the servers cannot help.
    spare: Cell<Option<(ServerSelection, Asker)>>,
    names: Vec<ServerName>,
    /// Servers that are written down wrongly, by name, and what to say about each.
    pub(crate) misconfigured: Vec<(String, Failure)>,
    /// Servers inside this executable that take part only by name.
    pub(crate) waiting: Vec<&'static BuiltIn>,
    /// The logins, for what is wrong with one.
    pub(crate) accounts: Accounts,
    output: Output,
    interrupts: Interrupts,
    shutdown: ShutdownForm,
    /// A process that keeps the servers running.
    attached: Option<RemoteHost>,
    timeout: Option<Duration>,
    is_approved: bool,
}

/// A host inside of this process, and what goes with it.
struct OwnHost {
    host: Host,
    listener: Option<JoinHandle<()>>,
    /// What answers questions.
    face: Option<JoinHandle<()>>,
    recording: Option<HostRecording>,
}

impl OwnHost {
    fn open(selection: ServerSelection, asker: Asker, output: &Output) -> Result<Self, Failure> {
        let consent = match selection.is_approved() {
            true => Consent::Given,
            false => Consent::Asked,
        };
        let log_level = selection.log_level();
        let recording = HostRecording::of(&selection)?;
        let host = selection.host()?.askable(asker.askable()).start();
        let recording = recording.map(|recording| recording.follow(host.frames()));
        let face = Face::attach(host.questions(), asker, consent);
        let face = face.map(|face| tokio::spawn(face.run()));
        let listener = listen(&host, log_level, output);
        Ok(Self {
            host,
            listener,
            face,
            recording,
        })
    }
}

impl CommandHost {
    /// Makes the servers ready to be used. None is started before it is needed.
    /// With a process that keeps them running, requests go there, and a host of the command's own
    /// is opened for what cannot be done there only.
    pub(crate) fn open(
        selection: ServerSelection,
        attached: Option<RemoteHost>,
        output: &Output,
    ) -> Result<Self, Failure> {
        Self::open_with(selection, attached, output, Asker::usual(output))
    }

    /// The same, asking another than the person at the terminal.
    pub(crate) fn open_with(
        selection: ServerSelection,
        attached: Option<RemoteHost>,
        output: &Output,
        asker: Asker,
    ) -> Result<Self, Failure> {
        let interrupts = Interrupts::listen()?;
        let misconfigured = selection
            .misconfigured()
            .iter()
            .map(|(name, problem)| (name.clone(), problem_failure(problem)))
            .collect();
        let waiting = selection.waiting().to_vec();
        let accounts = selection.accounts();
        let forms = selection
            .servers()
            .map(|server| server.server.settings.quirks.shutdown);
        let shutdown = forms
            .into_iter()
            .find(|form| *form != ShutdownForm::Close)
            .unwrap_or(ShutdownForm::Close);
        let (is_approved, timeout) = (selection.is_approved(), selection.timeout());
        let names = selection.names();
        let (own, spare) = match attached {
            Some(_) => (OnceCell::new(), Some((selection.lazily(), asker)).into()),
            None => (OwnHost::open(selection, asker, output)?.into(), None.into()),
        };
        Ok(Self {
            own,
            spare,
            names,
            misconfigured,
            waiting,
            accounts,
            output: output.clone(),
            interrupts,
            shutdown,
            attached,
            timeout,
            is_approved,
        })
    }

    /// The command's own host.
    pub(crate) fn host(&self) -> Result<&Host, Failure> {
        let opened = match (self.own.get(), self.spare.take()) {
            (None, Some((selection, asker))) => {
                let opened = OwnHost::open(selection, asker, &self.output)?;
                Some(self.own.get_or_init(|| opened))
            }
            (opened, _) => opened,
        };
        let opened = opened.ok_or_else(|| Failure::unexpected("there is no host"))?;
        Ok(&opened.host)
    }

    /// The names of all servers.
    pub(crate) fn server_names(&self) -> &[ServerName] {
        &self.names
    }

    /// Has all servers send their logs from this level on.
    pub(crate) async fn set_log_level(&self, level: LogLevel) -> Result<(), Failure> {
        let host = self.host()?;
        for server in self.server_names() {
            let set = host.set_log_level(server.as_str(), level);
            let outcome = tokio::select! {
                biased;
                outcome = set => outcome,
                () = self.interrupts.raised() => return Err(self.cancelled()),
            };
            // A server that cannot be reached will be told of by the command itself.
            if let Err(error @ Error::Request { .. }) = outcome {
                let failure = Failure::from(error);
                let note = format!("{server}: the log level was not set: {failure}");
                self.output.note(&note);
            }
        }
        Ok(())
    }

    /// Does something with the servers until it is done or the user interrupts it. What is
    /// interrupted is cancelled, and the server is told.
    pub(crate) async fn run<T>(
        &self,
        work: impl IntoFuture<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            result = work.into_future() => result.map_err(Failure::from),
            () = self.interrupts.raised() => Err(self.cancelled()),
        }
    }

    /// The same with one server's own connection.
    pub(crate) async fn run_on<T>(
        &self,
        server: &str,
        work: impl IntoFuture<Output = Result<T, attache::Error>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            result = work.into_future() => {
                result.map_err(|error| Failure::from(error).of(server))
            }
            () = self.interrupts.raised() => Err(self.cancelled()),
        }
    }

    /// Starts the only server there is; the outer failure is that a person stops it.
    pub(crate) async fn ready_alone(&self) -> Result<Result<(), Error>, Failure> {
        let Some(server) = self.only_server() else {
            return Ok(Ok(()));
        };
        let host = self.host()?;
        tokio::select! {
            biased;
            ready = host.ready(server.as_str()) => Ok(ready),
            () = self.interrupts.raised() => Err(self.cancelled()),
        }
    }

    /// The process that keeps the servers running, if there is one.
    pub(crate) fn attached(&self) -> Option<&RemoteHost> {
        self.attached.as_ref().filter(|it| !it.is_useless())
    }

    /// What the process that keeps the servers running answers. None if there is none, or it cannot
    /// say: then the command finds out by itself.
    pub(crate) async fn ask_attached<T>(
        &self,
        ask: impl AsyncFnOnce(&RemoteHost, Option<&str>) -> Result<T, RemoteError>,
    ) -> Result<Option<T>, Failure> {
        let Some(attached) = self.attached() else {
            return Ok(None);
        };
        let server = self.only_server();
        let asked = ask(attached, server.as_ref().map(ServerName::as_str));
        self.unless_interrupted(asked).await.map(Result::ok)
    }

    /// A list from that process, if it has all of it.
    pub(crate) async fn list_of_attached<T: Listable>(
        &self,
    ) -> Result<Option<Aggregate<T>>, Failure> {
        let list = async |host: &RemoteHost, server: Option<&str>| host.list(server, None).await;
        let list: Option<Aggregate<T>> = self.ask_attached(list).await?;
        let is_answer = |answer: &ServerAnswer| {
            matches!(
                answer.outcome,
                Outcome::Ok | Outcome::NotOffered | Outcome::Disabled
            )
        };
        Ok(list.filter(|list| list.servers.iter().all(is_answer)))
    }

    /// What is offered under a name, from that process.
    pub(crate) async fn find_in_attached<T: Listable>(
        &self,
        name: &str,
    ) -> Result<Option<Found<T>>, Failure> {
        self.ask_attached(async |host, server| host.find(name, server).await)
            .await
    }

    /// The contents of a resource, from that process.
    pub(crate) async fn read_from_attached(
        &self,
        uri: &str,
        server: Option<&str>,
    ) -> Result<Option<ReadAnswer>, Failure> {
        if self.timeout.is_some() {
            return Ok(None);
        }
        let read =
            async |host: &RemoteHost, only: Option<&str>| host.read(uri, server.or(only)).await;
        let read = self.ask_attached(read).await?;
        Ok(read.filter(|it| it.stale.is_none()).map(|read| ReadAnswer {
            server: read.server,
            contents: Arc::new(read.contents),
            freshness: match read.age {
                None => Freshness::Fetched,
                Some(age) => Freshness::Fresh { age },
            },
            scope: CacheScope::Private,
        }))
    }

    /// A prompt, from that process.
    pub(crate) async fn prompt_of_attached(
        &self,
        name: &str,
        arguments: &[(String, String)],
    ) -> Result<Option<GetPromptResult>, Failure> {
        if self.timeout.is_some() {
            return Ok(None);
        }
        let arguments = arguments.iter().cloned().collect();
        self.ask_attached(async |host, _| host.prompt(name, arguments).await)
            .await
    }

    /// A call that the process makes which keeps the servers running; nothing if there is none.
    pub(crate) async fn call_by_attached(
        &self,
        tool: &ToolName,
        arguments: &Json,
        way: Way,
        on_progress: Option<impl FnMut(ProgressParams)>,
    ) -> Result<Option<Payload>, Failure> {
        let Some(attached) = self.attached_for_calls().await? else {
            return Ok(None);
        };
        let call = RemoteCall {
            progress: on_progress.is_some(),
            task: way == Way::Task,
            server: tool.server.to_string(),
            tool: tool.tool.clone(),
            arguments: arguments.clone(),
            ..self.remote_call()
        };
        let terminal = TerminalQuestions::new(self.output.clone());
        let made = async {
            let call = attached.call(&call).await?;
            attached::conclude(call, attached, on_progress, &terminal).await
        };
        match self.unless_interrupted(made).await? {
            Ok(payload) => Ok(Some(payload)),
            // The process has ended just now, so the command makes the call itself.
            Err(RemoteError::NotSent) => Ok(None),
            Err(error) => Err(attached::call_failure(error, tool.server.as_str())),
        }
    }

    /// What that process is told about any call of this command.
    fn remote_call(&self) -> RemoteCall {
        let timeout = self.timeout.map(|it| it.as_millis());
        RemoteCall {
            timeout_ms: timeout.map(|it| u64::try_from(it).unwrap_or(u64::MAX)),
            approved: self.is_approved,
            questions: match self.output.can_ask() {
                true => ask::TOPICS.to_vec(),
                false => Vec::new(),
            },
            ..RemoteCall::default()
        }
    }

    /// Makes many calls, where the others are made.
    pub(crate) async fn caller(&self) -> Result<Caller, Failure> {
        let Some(attached) = self.attached_for_calls().await? else {
            return Ok(Caller::Own(self.host()?.clone()));
        };
        Ok(Caller::Attached(Arc::new(caller::Attached {
            host: attached.clone(),
            usual: self.remote_call(),
            terminal: TerminalQuestions::new(self.output.clone()),
            servers: self.names.clone(),
            found: Mutex::default(),
        })))
    }

    /// The process that keeps the servers running, if it is surely the right one.
    async fn attached_for_calls(&self) -> Result<Option<&RemoteHost>, Failure> {
        let Some(attached) = &self.attached else {
            return Ok(None);
        };
        let is_welcome = self.unless_interrupted(attached.is_welcome()).await?;
        Ok(self.attached().filter(|_| is_welcome))
    }

    async fn unless_interrupted<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            // Leaving is what cancels it there.
            () = self.interrupts.raised() => Err(match self.only_server() {
                Some(server) => failure::cancelled().of(server.as_str()),
                None => failure::cancelled(),
            }),
        }
    }

    /// Waits until the user wants to stop.
    pub(crate) async fn interrupted(&self) {
        self.interrupts.raised().await;
    }

    /// The signals, for a command that goes on after one.
    #[cfg(feature = "chat")]
    pub(crate) fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }

    /// The only server there is, if there is only one.
    pub(crate) fn only_server(&self) -> Option<ServerName> {
        match self.names.as_slice() {
            [only] if self.misconfigured.is_empty() => Some(only.clone()),
            _ => None,
        }
    }

    /// The width of a column with the names of all servers, and of these.
    pub(crate) fn name_column(&self, more: &[&str]) -> usize {
        let names = self.names.iter().map(ServerName::as_str);
        let misconfigured = self.misconfigured.iter().map(|(name, _)| name.as_str());
        let more = more.iter().copied();
        width(names.chain(misconfigured).chain(more), WIDEST_NAME)
    }

    /// What becomes of a command that a person stops.
    pub(crate) fn cancelled(&self) -> Failure {
        let servers = self.own.get().map(|own| own.host.snapshot().servers);
        let is_ready = |server: &ServerSnapshot| server.state == ServerState::Ready;
        let failure = match servers.is_none_or(|servers| servers.iter().any(is_ready)) {
            true => failure::cancelled(),
            false => Failure {
                message: "the request was cancelled before the server was ready; it was stopped"
                    .to_owned(),
                ..failure::cancelled()
            },
        };
        match self.only_server() {
            Some(server) => failure.of(server.as_str()),
            None => failure,
        }
    }

    /// Ends the connections: what was sent is written, the servers' stdin closed. A server that
    /// does not leave at once is left to the guardian, which takes it and everything it started
    /// down within two seconds of our exit; where there is no guardian, this waits for that.
    pub(crate) async fn close(self) {
        let Some(own) = self.own.into_inner() else {
            return;
        };
        let names = own.host.server_names();
        let running = names
            .into_iter()
            .filter_map(|name| Some((own.host.running(name.as_str())?, name)));
        let running: Vec<(Client, ServerName)> = running.collect();
        let patience = match self.shutdown {
            ShutdownForm::Close if is_guarded() => CLOSE_PATIENCE,
            _ => Duration::MAX,
        };
        if tokio::time::timeout(patience, own.host.close())
            .await
            .is_err()
        {
            let _ = tokio::time::timeout(WRITE_PATIENCE, own.host.flushed()).await;
        }
        if let Some(log) = own.host.call_log()
            && let Some(problem) = log.problem()
        {
            let folder = log.folder().display();
            let note = format!("the call log in {folder} was not written: {problem}");
            self.output.note(&note);
        }
        if self.output.verbosity == Verbosity::Verbose {
            tokio::time::sleep(STDERR_PATIENCE).await;
        }
        for task in [&own.listener, &own.face].into_iter().flatten() {
            task.abort();
        }
        if let Some(recording) = own.recording {
            recording.finish(&self.output).await;
        }
        for (client, name) in running {
            match client.statistics().stray_lines {
                0 => {}
                1 => self.output.note(&format!(
                    "{name} wrote a line to stdout that is no message; it was skipped"
                )),
                count => self.output.note(&format!(
                    "{name} wrote {count} lines to stdout that are no messages; they were skipped"
                )),
            }
        }
    }
}

/// Whether a guardian sees to the servers of this process once it has ended.
fn is_guarded() -> bool {
    cfg!(target_os = "linux") && std::fs::metadata("/proc/self/exe").is_ok()
}

/// Shows what servers say unasked, as far as that is wanted.
fn listen(host: &Host, log_level: Option<LogLevel>, output: &Output) -> Option<JoinHandle<()>> {
    let verbose = output.verbosity == Verbosity::Verbose;
    if log_level.is_none() && !verbose {
        return None;
    }
    let mut events = host.events();
    let output = output.clone();
    Some(tokio::spawn(async move {
        while let Some(event) = events.next().await {
            show(&event, &output);
        }
    }))
}

fn show(event: &Event, output: &Output) {
    let verbose = output.verbosity == Verbosity::Verbose;
    let server = event.server.as_ref().map_or("attache", ServerName::as_str);
    let (source, text) = match &event.kind {
        EventKind::Log {
            level,
            logger,
            data,
        } => {
            let text: Result<String, _> = data.decode();
            let text = text.unwrap_or_else(|_| data.to_string());
            match logger {
                Some(logger) => (level.as_str(), format!("{logger}: {text}")),
                None => (level.as_str(), text),
            }
        }
        EventKind::Stderr { line } if verbose => ("stderr", line.clone()),
        EventKind::Defect { problem } if verbose => ("protocol", problem.clone()),
        EventKind::Missed { count } => {
            let text = format!("{count} messages came too fast and were dropped");
            ("log", text)
        }
        _ => return,
    };
    let mut line = Text::new();
    line.add(Style::Faint, &format!("{server} {source}: "))
        .plain(&text)
        .end_line();
    output.aside_text(&line);
}
