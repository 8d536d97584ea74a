//! A server one can connect to: how to start it, what to tell it, what to remember about it.

use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache_auth::{Authorizer, Secret};
use attache_net::Proxy;
use attache_process::{Environment, Guardianship, Launch};
use attache_protocol::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Implementation, Revision,
    Root,
};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use crate::frames::{FrameSource, Frames};
use crate::handlers::{ElicitationModes, Handlers, Refusal, SamplingTools};
use crate::http::{HttpFlavor, HttpTarget};
use crate::settings::{EraChoice, Limits, Quirks, Settings, TasksExtension, Timeouts};
use crate::transport::{HttpServer, Streams, Transport};

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
    transport: Transport,
    /// Versions, time-outs, limits and quirks of its connections.
    pub settings: Settings,
    pub(crate) handlers: Handlers,
    authorizer: Option<Arc<dyn Authorizer>>,
    /// Where the messages of its connections can be seen; shared by clones.
    pub(crate) frames: FrameSource,
    /// The first setting that the transport does not have.
    pub(crate) misplaced: Option<&'static str>,
    /// What connections to an address share; clones share it until they are changed.
    endpoint: Arc<OnceLock<HttpTarget>>,
    /// What earlier connections found out; shared by clones (C-MOD-16).
    pub(crate) known_legacy: Arc<AtomicBool>,
    /// What an earlier program found out; shared by clones.
    pub(crate) told_legacy: Arc<AtomicBool>,
    /// Whether the last probe met silence, or made the server leave; shared by clones.
    pub(crate) probe_in_vain: Arc<AtomicBool>,
    /// How many processes were started; shared by clones.
    pub(crate) processes: Arc<AtomicU64>,
}

/// The buffer between the two ends of [`Server::memory`].
const MEMORY_BUFFER: usize = 64 * 1024;

impl Server {
    /// A server that is started as a child process and spoken to over its stdin and stdout.
    pub fn stdio<A>(program: impl Into<OsString>, args: impl IntoIterator<Item = A>) -> Self
    where
        A: Into<OsString>,
    {
        Self::new(Transport::Stdio(Launch::new(program).args(args)))
    }

    /// A server at the other end of a pair of byte streams. They serve one connection.
    pub fn streams(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::new(Transport::Streams(Streams::new(read, write)))
    }

    /// A server in this process: speak MCP on the returned stream.
    pub fn memory() -> (Self, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(MEMORY_BUFFER);
        let (read, write) = tokio::io::split(ours);
        (Self::streams(read, write), theirs)
    }

    /// A server at an address, spoken to over HTTP: Streamable HTTP of either era, or the older
    /// HTTP+SSE if the server knows nothing else; [`Server::http_flavor`] narrows that down. What is
    /// wrong with the address is told when connecting.
    pub fn http(address: impl AsRef<str>) -> Self {
        Self::new(Transport::Http(HttpServer::new(address.as_ref())))
    }

    /// A server that is reached in this way.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            settings: Settings::default(),
            handlers: Handlers::default(),
            authorizer: None,
            frames: FrameSource::default(),
            misplaced: None,
            endpoint: Arc::default(),
            known_legacy: Arc::default(),
            told_legacy: Arc::default(),
            probe_in_vain: Arc::default(),
            processes: Arc::default(),
        }
    }

    /// How it is reached.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// How it is reached, to be changed. From here on it shares no connections with its clones.
    pub fn transport_mut(&mut self) -> &mut Transport {
        self.endpoint = Arc::default();
        &mut self.transport
    }

    /// Sets a variable in the environment of a child process. As with everything that only one
    /// transport has, connecting fails with [`ConnectError::Misplaced`](crate::ConnectError) if the
    /// server is reached by another.
    #[must_use]
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.launch("env", |launch| {
            launch.vars.insert(name.into(), value.into());
        })
    }

    /// Lets the server inherit this process's whole environment instead of an allow-list (S12).
    #[must_use]
    pub fn inherit_environment(self) -> Self {
        self.launch("inherit_environment", |launch| {
            launch.environment = Environment::Inherit
        })
    }

    /// Starts the server in a folder.
    #[must_use]
    pub fn current_dir(self, folder: impl Into<PathBuf>) -> Self {
        self.launch("current_dir", |launch| launch.cwd = Some(folder.into()))
    }

    /// Chooses who sees to it that no process of the server stays behind.
    #[must_use]
    pub fn guardianship(self, guardianship: Guardianship) -> Self {
        self.launch("guardianship", |launch| launch.guardianship = guardianship)
    }

    /// Adds a header to every request to the server. Its value may be a secret: it is never shown,
    /// and never sent to another origin.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.address("header", |http| {
            let name = name.into().to_ascii_lowercase();
            http.headers.insert(name, value.into());
        })
    }

    /// Trusts the certificates in a PEM file besides those the platform trusts.
    #[must_use]
    pub fn ca_file(self, path: impl Into<PathBuf>) -> Self {
        self.address("ca_file", |http| http.ca_file = Some(path.into()))
    }

    /// How requests to the server travel; directly unless said otherwise.
    #[must_use]
    pub fn proxy(self, proxy: Proxy) -> Self {
        self.address("proxy", |http| http.proxy = proxy)
    }

    /// Which of the HTTP transports the server speaks; found out unless said.
    #[must_use]
    pub fn http_flavor(self, flavor: HttpFlavor) -> Self {
        self.address("http_flavor", |http| http.flavor = flavor)
    }

    /// Lets credentials travel over plain http to another machine, where everybody on the way can
    /// read them. Without it such requests are refused before they are sent.
    #[must_use]
    pub fn allow_plain_http(self) -> Self {
        self.address("allow_plain_http", |http| http.allow_plain_http = true)
    }

    /// What puts credentials on the requests to the server.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self.address("authorizer", |_| {})
    }

    fn address(mut self, setting: &'static str, change: impl FnOnce(&mut HttpServer)) -> Self {
        match self.transport_mut() {
            Transport::Http(http) => change(http),
            _ => _ = self.misplaced.get_or_insert(setting),
        }
        self
    }

    fn launch(mut self, setting: &'static str, change: impl FnOnce(&mut Launch)) -> Self {
        match self.transport_mut() {
            Transport::Stdio(launch) => change(launch),
            _ => _ = self.misplaced.get_or_insert(setting),
        }
        self
    }

    /// What connections to an address share.
    pub(crate) fn endpoint(&self, http: &HttpServer) -> &HttpTarget {
        self.endpoint
            .get_or_init(|| HttpTarget::new(http, self.authorizer.clone()))
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

    /// Lets the messages of its connections be seen at this source, and no more at its own.
    #[must_use]
    pub fn observed_by(mut self, frames: FrameSource) -> Self {
        self.frames = frames;
        self
    }

    /// What passes on its connections from now on, from their first message.
    pub fn frames(&self) -> Frames {
        self.frames.follow()
    }

    /// Declares folders the server may work in.
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.handlers.set_roots(roots.into_iter().collect());
        self
    }

    /// Asks the handler, each time the server asks, which folders it may work in.
    #[must_use]
    pub fn on_roots<F, A>(mut self, handler: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<Vec<Root>, Refusal>> + Send + 'static,
    {
        self.handlers.set_asked_roots(handler);
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
}

/// Two descriptions are equal if they lead to the same connection; handlers do not count.
impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.transport == other.transport && self.settings == other.settings
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Server")
            .field("transport", &self.transport)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
