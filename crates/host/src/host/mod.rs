//! Many servers as one: the value that faces and programs use.
//!
//! Owns which servers there are and how a wish finds its server. The way of a call is: name →
//! policy and pins → a running server → the connection → outdated caches; every step is in the
//! module that its name says.

mod calling;
mod finding;
mod listing;
mod observer;
mod options;
mod pinning;
mod reading;
mod server_handle;
mod shared;
mod task_calls;
mod watching;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_client::process::Environment;
use attache_client::protocol::{Implementation, Json, LogLevel};
use attache_client::{Client, Server, Settings, Transport};
use parking_lot::{Mutex, RwLock};
use tokio::task::JoinSet;

pub use calling::Call;
pub use listing::List;
pub use pinning::{PinError, PinnedTool};
pub use reading::{GetPrompt, Read, ReadAnswer};
pub use shared::Lifetime;
pub use watching::{Watch, Watched};

use server_handle::{Provenance, ServerHandle};
use shared::{Parts, Shared, State};

use crate::accounts::Accounts;
use crate::call_log::{Action, CallLog, Recording, WantedRecord, call_log_folder};
use crate::config::{CallLogging, Config, LogRules, ServerConfig, ServerName, Source};
use crate::disk::Disk;
use crate::error::Error;
use crate::events::{EventKind, Events, TooOld};
use crate::frames::Frames;
use crate::nearest::nearest;
use crate::policy::{Answers, CallOrigin, Pins};
use crate::probes::Probes;
use crate::questions::{Askable, Questions};
use crate::snapshot::{Offers, Snapshot};
use crate::supervisor::Patience;

/// The folder of log files, below the state folder.
const LOG_FOLDER: &str = "logs";
/// The folder of manifests, below the state folder.
const MANIFEST_FOLDER: &str = "manifests";
/// The folder of the servers' own folders in the state folder.
const SERVER_FOLDERS: &str = "folders";

/// Where the log files of a host with this state folder are.
pub fn log_folder(state: &Path) -> PathBuf {
    state.join(LOG_FOLDER)
}

/// The same where the configuration may name another folder.
pub fn configured_log_folder(rules: &LogRules, state: &Path) -> PathBuf {
    match &rules.directory {
        Some(folder) => folder.clone(),
        None => log_folder(state),
    }
}

/// Where the manifests of a host with this state folder are.
pub fn manifest_folder(state: &Path) -> PathBuf {
    state.join(MANIFEST_FOLDER)
}

/// Many servers as one. Cheap to clone; the servers are stopped when the last clone is dropped, or
/// by [`close`](Self::close), which waits for it.
///
/// ```no_run
/// # async fn run() -> Result<(), attache_host::Error> {
/// use attache_client::Server;
/// use attache_host::Host;
/// use attache_host::policy::CallOrigin;
///
/// let host = Host::builder()
///     .server("fetch", Server::stdio("uvx", ["mcp-server-fetch"]))
///     .server("notes", Server::http("https://example.org/mcp"))
///     .start();
/// for tool in &host.list_tools().await?.entries {
///     println!("{}", tool.qualified);
/// }
/// let answer = host
///     .call("notes/search", serde_json::json!({"query": "morning"}))
///     .origin(CallOrigin::Person)
///     .await?;
/// println!("{}", answer.text());
/// host.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    server_handles: RwLock<BTreeMap<ServerName, Arc<ServerHandle>>>,
    /// The servers that were switched on or off while this host runs, whatever their configuration
    /// says.
    switched: Mutex<BTreeMap<ServerName, bool>>,
    /// One reload or switch at a time.
    reloading: tokio::sync::Mutex<()>,
}

/// A host to be.
#[must_use = "a host does nothing until it is started"]
pub struct HostBuilder {
    config: Config,
    identity: Option<Implementation>,
    others: Vec<(ServerConfig, Provenance)>,
    state_folder: Option<PathBuf>,
    probes_folder: Option<PathBuf>,
    lifetime: Lifetime,
    askable: Askable,
    kept_events: Option<usize>,
    accounts: Accounts,
    answers: Arc<Answers>,
    pins: Arc<Pins>,
    call_log: Option<CallLog>,
}

impl HostBuilder {
    /// Adds the servers of a configuration, and takes over what it says for all of them.
    pub fn config(mut self, mut config: Config) -> Self {
        config
            .servers
            .extend(std::mem::take(&mut self.config.servers));
        self.config = config;
        self
    }

    /// Adds a server under a name, which is made to fit if need be; the last of equal names counts.
    /// What [`Server`] says of one connection holds for all that the host makes.
    pub fn server(mut self, name: impl AsRef<str>, server: Server) -> Self {
        let name = ServerName::from_any(name.as_ref());
        let identity = (server.settings.identity != Settings::default().identity)
            .then(|| server.settings.identity.clone());
        let config = ServerConfig {
            client: identity,
            ..ServerConfig::new(name.clone(), server, Source::program())
        };
        self.config.servers.insert(name, config);
        self
    }

    /// Adds a server that a person has just typed: it gets the whole environment of this process,
    /// as a command typed at a shell does.
    pub fn adhoc_server(mut self, mut server: ServerConfig) -> Self {
        if let Transport::Stdio(launch) = server.server.transport_mut() {
            launch.environment = Environment::Inherit;
        }
        self.others.push((server, Provenance::Typed));
        self
    }

    /// Adds a server that this process makes itself, for every start anew, such as one end of
    /// [`Server::memory`](attache_client::Server::memory). Everything but how to reach it comes
    /// from its configuration.
    pub fn server_made_by(
        mut self,
        server: ServerConfig,
        maker: impl Fn() -> Server + Send + Sync + 'static,
    ) -> Self {
        self.others
            .push((server, Provenance::Made(Arc::new(maker))));
        self
    }

    /// How this client names itself to servers, unless the configuration says otherwise.
    pub fn identity(mut self, identity: Implementation) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Keeps log files, the call log and remembered lists below this folder; without one nothing is
    /// written. The configuration may name another folder for logs.
    pub fn state_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_folder = Some(folder.into());
        self
    }

    /// Remembers below this folder which servers are probed in vain, those typed on the spot
    /// included. Without it the state folder serves for that.
    pub fn probes_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.probes_folder = Some(folder.into());
        self
    }

    /// Writes calls down here, whatever the configuration says.
    pub fn call_log(mut self, log: CallLog) -> Self {
        self.call_log = Some(log);
        self
    }

    /// How long the host is meant to live.
    pub fn lifetime(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// What servers are told that they may ask. Nothing by default; a face that is
    /// [attached](Questions::attach) answers.
    pub fn askable(mut self, askable: Askable) -> Self {
        self.askable = askable;
        self
    }

    /// Keeps the last `count` events, and at most [`EVENT_BYTES`](crate::events::EVENT_BYTES) of
    /// them, for faces that come later or come back: see [`Host::events_after`]. Without it events
    /// are made and kept only while there is a reader.
    pub fn keep_events(mut self, count: usize) -> Self {
        self.kept_events = Some(count);
        self
    }

    /// The logins at servers behind a URL. By default there are none, and no person to log in.
    pub fn accounts(mut self, accounts: Accounts) -> Self {
        self.accounts = accounts;
        self
    }

    /// The answers of the user that are remembered.
    pub fn answers(mut self, answers: Arc<Answers>) -> Self {
        self.answers = answers;
        self
    }

    /// The definitions of tools that were approved.
    pub fn pins(mut self, pins: Arc<Pins>) -> Self {
        self.pins = pins;
        self
    }

    /// Starts the host, within a runtime. Eager servers begin to start; nothing is waited for.
    pub fn start(self) -> Host {
        let probes = self.probes_folder.or_else(|| self.state_folder.clone());
        let probes = probes.map(|folder| Arc::new(Probes::in_folder(&folder)));
        let log_rules = &self.config.log;
        let call_log = match &self.state_folder {
            Some(folder) if log_rules.calls == CallLogging::On => {
                let folder = call_log_folder(&configured_log_folder(log_rules, folder));
                Some(CallLog::in_folder(folder))
            }
            _ => None,
        };
        let state = self.state_folder.map(|folder| State {
            manifests: manifest_folder(&folder),
            folders: folder.join(SERVER_FOLDERS),
            disk: Disk::new(configured_log_folder(log_rules, &folder)),
        });
        let shared = Arc::new(Shared::new(Parts {
            identity: self.config.client.or(self.identity),
            cache_bytes: self.config.cache_bytes,
            concurrent_starts: self.config.concurrent_starts,
            askable: self.askable,
            kept_events: self.kept_events,
            accounts: self.accounts,
            lifetime: self.lifetime,
            state,
            call_log: self.call_log.or(call_log),
            probes,
            pins: self.pins,
            answers: self.answers,
            rules: self.config.policy,
        }));
        let configured = self.config.servers.into_values();
        let configured = configured.map(|config| (config, Provenance::Configured));
        let all = configured.chain(self.others);
        let server_handles = all.map(|(mut config, provenance)| {
            shared.identify(&mut config);
            let name = config.name.clone();
            (name, ServerHandle::new(config, provenance, shared.clone()))
        });
        let server_handles = RwLock::new(server_handles.collect());
        Host {
            inner: Arc::new(Inner {
                shared,
                server_handles,
                switched: Mutex::default(),
                reloading: tokio::sync::Mutex::default(),
            }),
        }
    }
}

impl Host {
    /// A host to be, without servers so far.
    pub fn builder() -> HostBuilder {
        HostBuilder {
            config: Config::default(),
            identity: None,
            others: Vec::new(),
            state_folder: None,
            probes_folder: None,
            lifetime: Lifetime::default(),
            askable: Askable::default(),
            kept_events: None,
            accounts: Accounts::in_memory(),
            answers: Arc::new(Answers::in_memory()),
            pins: Arc::new(Pins::in_memory()),
            call_log: None,
        }
    }

    /// What happens, from now on.
    pub fn events(&self) -> Events {
        self.shared().events.events()
    }

    /// What happens after the event of this number: first what has happened since, as far as it is
    /// kept (see [`HostBuilder::keep_events`]), then what happens from now on, without a gap and
    /// without repetition.
    pub fn events_after(&self, seq: u64) -> Result<Events, TooOld> {
        self.shared().events.events_after(seq)
    }

    /// The host at this moment, and what happens after it: how a face begins, whether or not events
    /// are kept.
    pub fn follow(&self) -> (Snapshot, Events) {
        let (snapshot, events) = self.shared().events.follow();
        (self.completed(snapshot), events)
    }

    /// The host at this moment.
    pub fn snapshot(&self) -> Snapshot {
        self.completed(self.shared().events.snapshot())
    }

    /// What passes on the connections of all servers from now on, message by message, secrets
    /// removed. Nothing of it is kept or copied without a follower.
    pub fn frames(&self) -> Frames {
        self.shared().frames.follow()
    }

    /// The questions that wait for an answer, and how to answer them.
    pub fn questions(&self) -> &Questions {
        &self.shared().questions
    }

    /// Adds what is not told in events.
    fn completed(&self, mut snapshot: Snapshot) -> Snapshot {
        for server in &mut snapshot.servers {
            if let Some(server_handle) = self.known_server(server.name.as_str()) {
                server.offers = server_handle.offers();
                server.requests = server_handle.request_counts();
            }
        }
        let shared = self.shared();
        snapshot.cache = shared.cache.snapshot();
        let disk = shared.state.as_ref().map(|state| &state.disk);
        snapshot.dropped_log_lines = disk.map_or(0, Disk::dropped);
        snapshot
    }

    /// Takes over what other programs of the user have approved or forgotten since: for a host that
    /// outlives commands.
    pub fn reread_approvals(&self) {
        self.shared().pins.reread();
        self.shared().answers.reread();
    }

    /// The answers of the user that are remembered.
    pub fn answers(&self) -> &Answers {
        &self.shared().answers
    }

    /// The log that calls are written to, if there is one.
    pub fn call_log(&self) -> Option<&CallLog> {
        self.shared().call_log.as_ref()
    }

    /// The configuration of a server.
    pub fn config(&self, server: &str) -> Result<Arc<ServerConfig>, Error> {
        Ok(self.server_handle(server)?.config())
    }

    /// The names of all servers, in order.
    pub fn server_names(&self) -> Vec<ServerName> {
        let server_handles = self.server_handles();
        server_handles.iter().map(|it| it.name().clone()).collect()
    }

    /// Starts a server without waiting for a request to need it, and waits until it is ready.
    pub async fn ready(&self, server: &str) -> Result<(), Error> {
        let server_handle = self.server_handle(server)?;
        let patience = Patience::Persistent;
        server_handle.connection_after(0, patience).await.map(drop)
    }

    /// The same for one server of many: its start waits for a place among theirs, and its first
    /// failure is the answer.
    pub async fn ready_in_turn(&self, server: &str) -> Result<(), Error> {
        let server_handle = self.server_handle(server)?;
        let patience = Patience::FirstFailure;
        server_handle.connection_after(0, patience).await.map(drop)
    }

    /// Whether a server that starts waits for its turn, because others start before it.
    pub fn is_queued(&self, server: &str) -> bool {
        let server_handle = self.known_server(server);
        server_handle.is_some_and(|server_handle| server_handle.is_queued())
    }

    /// How much a server offered when it was last asked, perhaps by an earlier host.
    pub fn remembered_offers(&self, server: &str) -> Result<Offers, Error> {
        Ok(self.server_handle(server)?.remembered_offers())
    }

    /// The connection to a server that runs at this moment, for what only a connection knows.
    pub fn running(&self, server: &str) -> Option<Client> {
        self.known_server(server)?.running()
    }

    /// Sets the least serious log messages that a server sends, now and after every restart of it.
    pub async fn set_log_level(&self, server: &str, level: LogLevel) -> Result<(), Error> {
        self.server_handle(server)?.set_log_level(level).await
    }

    /// The level that was set last, if one was.
    pub fn log_level(&self, server: &str) -> Result<Option<LogLevel>, Error> {
        Ok(self.server_handle(server)?.log_level())
    }

    /// Makes everything stale that is remembered of a server: the next request for any of it asks
    /// the server again.
    pub fn refresh(&self, server: &str) -> Result<(), Error> {
        self.server_handle(server)?.everything_changed();
        Ok(())
    }

    /// Writes into the call log what a face was told to change: an answer, a switch, an approval.
    pub fn note_action(&self, action: Action, server: Option<&str>, what: &str, with: Json) {
        let mut recording = Recording::begin(self.call_log(), || WantedRecord {
            method: action.method(),
            name: what.to_owned(),
            arguments: Some(with),
            origin: Some(CallOrigin::Person),
        });
        if let Some(server_handle) = server.and_then(|server| self.known_server(server)) {
            recording.found(what, || server_handle.recorded(None));
        }
        recording.end(&Ok(()));
    }

    /// Starts a server afresh: one that runs is stopped first, one that is parked gets another
    /// chance. Returns when the new start has begun; [`ready`](Self::ready) waits for its end.
    pub async fn restart(&self, server: &str) -> Result<(), Error> {
        self.server_handle(server)?.restart().await
    }

    /// Ends a server for now and waits until nothing of it is left. The next request that needs it
    /// starts it again; [`set_enabled`](Self::set_enabled) keeps it off.
    pub async fn stop(&self, server: &str) -> Result<(), Error> {
        self.server_handle(server)?.rest().await;
        Ok(())
    }

    /// Switches a server on or off for as long as this host runs, whatever its configuration says.
    /// One that is switched off is stopped, which this waits for, and its requests fail with
    /// [`Error::Disabled`].
    pub async fn set_enabled(&self, server: &str, enabled: bool) -> Result<(), Error> {
        let _alone = self.inner.reloading.lock().await;
        let former = self.server_handle(server)?;
        let name = former.name().clone();
        self.inner.switched.lock().insert(name, enabled);
        if former.is_enabled() == enabled {
            return Ok(());
        }
        let config = ServerConfig {
            enabled,
            ..(*former.config()).clone()
        };
        former.stop().await;
        self.insert_as(config, former.provenance());
        Ok(())
    }

    /// Takes over another configuration: stops what left, also what is still starting (fault 7);
    /// restarts what is reached or treated differently; keeps the rest as it is. Servers typed on
    /// the spot, or made by this process, stay. Returns when everything that had to go is gone.
    pub async fn reload(&self, config: Config) {
        let _alone = self.inner.reloading.lock().await;
        self.shared().replace_rules(config.policy);
        let mut wanted = config.servers;
        {
            let mut switched = self.inner.switched.lock();
            for server in wanted.values_mut() {
                self.shared().identify(server);
                if let Some(enabled) = switched.get(&server.name) {
                    server.enabled = *enabled;
                }
            }
            let known = self.inner.server_handles.read();
            let is_ours = |name: &ServerName| known.get(name).is_some_and(|it| !it.is_configured());
            switched.retain(|name, _| wanted.contains_key(name) || is_ours(name));
        }
        let mut leaving = JoinSet::new();
        for server_handle in self.server_handles() {
            if !server_handle.is_configured() {
                wanted.remove(server_handle.name());
                continue;
            }
            match wanted.remove(server_handle.name()) {
                Some(config) if same_connection(&server_handle.config(), &config) => {
                    server_handle.adopt(config);
                }
                replacement => {
                    if replacement.is_none() {
                        self.remove(server_handle.name());
                    }
                    leaving.spawn(async move {
                        server_handle.stop().await;
                        replacement
                    });
                }
            }
        }
        for config in wanted.into_values() {
            self.insert(config);
        }
        // Each replacement waits for its own predecessor only.
        while let Some(left) = leaving.join_next().await {
            if let Ok(Some(config)) = left {
                self.insert(config);
            }
        }
    }

    /// Stops all servers at once and waits until nothing of them is left and everything is written.
    pub async fn close(&self) {
        let mut leaving = JoinSet::new();
        for server_handle in self.server_handles() {
            leaving.spawn(async move { server_handle.stop().await });
        }
        leaving.join_all().await;
        self.flushed().await;
    }

    /// Waits until everything that is to be kept so far is written: log lines, calls, remembered
    /// lists.
    pub async fn flushed(&self) {
        if let Some(log) = self.call_log() {
            log.flushed().await;
        }
        if let Some(state) = &self.shared().state {
            state.disk.flushed().await;
        }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    fn insert(&self, config: ServerConfig) {
        self.insert_as(config, Provenance::Configured);
    }

    fn insert_as(&self, config: ServerConfig, provenance: Provenance) {
        let name = config.name.clone();
        let server_handle = ServerHandle::new(config, provenance, self.shared().clone());
        self.inner
            .server_handles
            .write()
            .insert(name, server_handle);
    }

    fn remove(&self, name: &ServerName) {
        self.inner.server_handles.write().remove(name);
        self.shared().events.record(name, EventKind::Removed);
    }

    /// All servers, by name.
    fn server_handles(&self) -> Vec<Arc<ServerHandle>> {
        self.inner.server_handles.read().values().cloned().collect()
    }

    /// All servers that are switched on.
    fn enabled(&self) -> Vec<Arc<ServerHandle>> {
        let mut server_handles = self.server_handles();
        server_handles.retain(|server_handle| server_handle.is_enabled());
        server_handles
    }

    /// The only server that is switched on, if there is only one.
    fn only_enabled(&self) -> Option<Arc<ServerHandle>> {
        let all = self.inner.server_handles.read();
        let mut enabled = all.values().filter(|it| it.is_enabled());
        let first = enabled.next()?;
        enabled.next().is_none().then(|| first.clone())
    }

    fn known_server(&self, name: &str) -> Option<Arc<ServerHandle>> {
        self.inner.server_handles.read().get(name).cloned()
    }

    fn server_handle(&self, name: &str) -> Result<Arc<ServerHandle>, Error> {
        self.known_server(name).ok_or_else(|| {
            let names = self.server_names();
            let known = names.iter().map(ServerName::as_str);
            Error::UnknownServer {
                name: name.to_owned(),
                nearest: nearest(name, known).map(str::to_owned),
            }
        })
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Host")
            .field("servers", &self.server_names())
            .finish_non_exhaustive()
    }
}

/// Whether two configurations lead to the same running server. What only the host looks at may
/// differ, and so may the place where it is written.
fn same_connection(one: &ServerConfig, other: &ServerConfig) -> bool {
    let ServerConfig {
        name,
        server,
        auth,
        dialect,
        restart,
        start,
        enabled,
        client,
        call_retry: _,
        retry: _,
        cache: _,
        policy: _,
        tool_filter: _,
        projects: _,
        source: _,
    } = one;
    *name == other.name
        && *server == other.server
        && *auth == other.auth
        && *dialect == other.dialect
        && *client == other.client
        && *restart == other.restart
        && *start == other.start
        && *enabled == other.enabled
}
