//! A server one can connect to: how to start it, what to tell it, what to remember about it.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_protocol::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Era, Implementation,
    Revision, Root,
};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use crate::client::Client;
use crate::connection::Link;
use crate::error::{ConnectError, Error};
use crate::handlers::{ElicitationModes, Handlers, Refusal, SamplingTools};
use crate::lifeline::Lifeline;
use crate::negotiate::{Negotiation, Opening, opening};
use crate::process::{self, Environment, Guardianship, Launch};
use crate::settings::{EraChoice, Limits, Quirks, Settings, TasksExtension, Timeouts};

/// A server one can connect to, any number of times.
///
/// ```no_run
/// # async fn run() -> Result<(), attache_client::Error> {
/// use attache_client::Server;
///
/// let server = Server::stdio("uvx", ["mcp-server-fetch"]).connect().await?;
/// for tool in &server.list_tools().await? {
///     println!("{}", tool.name);
/// }
/// server.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    target: Target,
    settings: Settings,
    handlers: Handlers,
    /// What earlier connections found out; shared by clones (C-MOD-16).
    known_legacy: Arc<AtomicBool>,
    /// How many processes were started; shared by clones.
    processes: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Target {
    Process(Launch),
    Streams(Arc<Mutex<Option<Streams>>>),
}

/// Both halves of a byte stream.
pub(crate) struct Streams {
    pub(crate) read: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) write: Box<dyn AsyncWrite + Send + Unpin>,
}

/// The buffer between the two ends of [`Server::memory`].
const MEMORY_BUFFER: usize = 64 * 1024;

impl Server {
    /// A server that is started as a child process and spoken to over its stdin and stdout.
    pub fn stdio<A>(program: impl Into<OsString>, args: impl IntoIterator<Item = A>) -> Self
    where
        A: Into<OsString>,
    {
        Self::new(Target::Process(Launch::new(program).args(args)))
    }

    /// A server at the other end of a pair of byte streams. They serve one connection.
    pub fn streams(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let streams = Streams {
            read: Box::new(read),
            write: Box::new(write),
        };
        Self::new(Target::Streams(Arc::new(Mutex::new(Some(streams)))))
    }

    /// A server in this process: speak MCP on the returned stream.
    pub fn memory() -> (Self, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(MEMORY_BUFFER);
        let (read, write) = tokio::io::split(ours);
        (Self::streams(read, write), theirs)
    }

    fn new(target: Target) -> Self {
        Self {
            target,
            settings: Settings::default(),
            handlers: Handlers::default(),
            known_legacy: Arc::default(),
            processes: Arc::default(),
        }
    }

    /// Sets a variable in the server's environment.
    #[must_use]
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.launch(|launch| launch.var(name, value))
    }

    /// Lets the server inherit this process's whole environment instead of an allow-list (S12).
    #[must_use]
    pub fn inherit_environment(self) -> Self {
        self.launch(|launch| launch.environment(Environment::Inherit))
    }

    /// Starts the server in a folder.
    #[must_use]
    pub fn current_dir(self, folder: impl Into<PathBuf>) -> Self {
        self.launch(|launch| launch.cwd(folder))
    }

    /// Chooses who sees to it that no process of the server stays behind.
    #[must_use]
    pub fn guardianship(self, guardianship: Guardianship) -> Self {
        self.launch(|launch| launch.guardianship(guardianship))
    }

    fn launch(mut self, change: impl FnOnce(Launch) -> Launch) -> Self {
        if let Target::Process(launch) = self.target {
            self.target = Target::Process(change(launch));
        }
        self
    }

    /// Replaces all settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// How this client names itself.
    #[must_use]
    pub fn identity(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.settings.identity = Implementation::new(name, version);
        self
    }

    /// Which eras may be tried.
    #[must_use]
    pub fn era(mut self, era: EraChoice) -> Self {
        self.settings.era = era;
        self
    }

    /// The revision to ask for. A legacy revision is asked for at once, without a probe.
    #[must_use]
    pub fn protocol(mut self, revision: Revision) -> Self {
        self.settings.protocol = Some(revision);
        self
    }

    /// Replaces all time-outs.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.settings.timeouts = timeouts;
        self
    }

    /// How long connecting may take, the start of the process included.
    #[must_use]
    pub fn start_timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeouts.start = timeout;
        self
    }

    /// Replaces all limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Deviations from standard behaviour that this server needs.
    #[must_use]
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.settings.quirks = quirks;
        self
    }

    /// Whether a modern server may answer a tool call with a task.
    #[must_use]
    pub fn tasks_extension(mut self, tasks: TasksExtension) -> Self {
        self.settings.tasks_extension = tasks;
        self
    }

    /// Declares folders the server may work in.
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.handlers.set_roots(roots.into_iter().collect());
        self
    }

    /// Answers the server's wishes to use a model. A person should be able to refuse (H-SAMP-02).
    #[must_use]
    pub fn on_sampling<F, A>(mut self, tools: SamplingTools, handler: F) -> Self
    where
        F: Fn(CreateMessageParams) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CreateMessageResult, Refusal>> + Send + 'static,
    {
        self.handlers.set_sampling(tools, handler);
        self
    }

    /// Answers the server's questions to the user.
    #[must_use]
    pub fn on_elicitation<F, A>(mut self, modes: ElicitationModes, handler: F) -> Self
    where
        F: Fn(ElicitParams) -> A + Send + Sync + 'static,
        A: Future<Output = ElicitResult> + Send + 'static,
    {
        self.handlers.set_elicitation(modes, handler);
        self
    }

    /// Starts the server and agrees with it on a revision. One deadline covers all of it; when it
    /// passes, everything that was started is stopped again (fault 33).
    pub async fn connect(&self) -> Result<Client, Error> {
        let after = self.settings.timeouts.start;
        let mut lifeline = None;
        let connected = tokio::time::timeout(after, self.connect_in_time(&mut lifeline)).await;
        let error = match connected {
            Ok(Ok(client)) => return Ok(client),
            Ok(Err(error)) => error,
            Err(_) => {
                let stderr = lifeline.as_ref().map(Lifeline::last_words);
                Error::Connect(ConnectError::TimedOut {
                    after,
                    stderr: stderr.unwrap_or_default(),
                })
            }
        };
        // A failed attempt leaves nothing behind (fault 8).
        if let Some(lifeline) = lifeline {
            lifeline.abandon().await;
        }
        Err(error)
    }

    /// `lifeline` holds what was started, so that a time-out can still read its last words.
    async fn connect_in_time(&self, lifeline: &mut Option<Lifeline>) -> Result<Client, Error> {
        let mut opening = self.opening();
        loop {
            let link = self.open(lifeline).await?;
            let Some(current) = lifeline.as_ref() else {
                return Err(Error::Connect(ConnectError::StreamsUsedUp));
            };
            let negotiation = Negotiation {
                link: &link,
                settings: &self.settings,
                capabilities: self.handlers.capabilities(),
            };
            match negotiation.run(opening, current.first_sign(&link)).await {
                Ok(agreement) => {
                    let legacy = agreement.revision.era() == Era::Legacy;
                    self.known_legacy.store(legacy, Ordering::Relaxed);
                    return match lifeline.take() {
                        Some(lifeline) => {
                            Ok(Client::new(link, lifeline, agreement, &self.settings))
                        }
                        None => Err(Error::Connect(ConnectError::StreamsUsedUp)),
                    };
                }
                // Some legacy servers leave when the first message is not `initialize`; they get a
                // second start (fault 30).
                Err(ConnectError::Lost(_)) if opening == Opening::Probe && self.may_restart() => {
                    opening = Opening::Initialize;
                }
                Err(error) => {
                    self.known_legacy.store(false, Ordering::Relaxed);
                    return Err(Error::Connect(error));
                }
            }
        }
    }

    /// How many processes this server and its clones have started, or tried to. A connect may take
    /// two: some legacy servers leave when they are probed (fault 30).
    pub fn processes_started(&self) -> u64 {
        self.processes.load(Ordering::Relaxed)
    }

    /// How many processes the next connect may start at the most.
    pub fn most_processes_of_a_connect(&self) -> u64 {
        match (&self.target, self.opening()) {
            (Target::Streams(_), _) => 0,
            (Target::Process(_), Opening::Probe) if self.may_restart() => 2,
            (Target::Process(_), _) => 1,
        }
    }

    fn opening(&self) -> Opening {
        if self.settings.era == EraChoice::Auto && self.known_legacy.load(Ordering::Relaxed) {
            Opening::Initialize
        } else {
            opening(&self.settings)
        }
    }

    fn may_restart(&self) -> bool {
        self.settings.era == EraChoice::Auto && matches!(self.target, Target::Process(_))
    }

    /// Opens the streams, starting the process if there is one, and sets the tasks to work.
    async fn open(&self, lifeline: &mut Option<Lifeline>) -> Result<Arc<Link>, Error> {
        match &self.target {
            Target::Process(launch) => {
                // A former attempt ends before the next one begins (fault 8).
                if let Some(former) = lifeline.take() {
                    former.abandon().await;
                }
                self.processes.fetch_add(1, Ordering::Relaxed);
                let spawned = process::spawn(launch).await?;
                let link = Link::new(
                    Box::new(spawned.stdin),
                    &self.settings,
                    self.handlers.clone(),
                );
                *lifeline = Some(Lifeline::of_process(
                    &link,
                    spawned.stdout,
                    spawned.stderr,
                    spawned.child,
                ));
                Ok(link)
            }
            Target::Streams(streams) => {
                let streams = streams
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take()
                    .ok_or(Error::Connect(ConnectError::StreamsUsedUp))?;
                let link = Link::new(streams.write, &self.settings, self.handlers.clone());
                *lifeline = Some(Lifeline::of_streams(&link, streams.read));
                Ok(link)
            }
        }
    }
}
