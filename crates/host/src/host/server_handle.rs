//! One server as the host sees it: its configuration, its life, and what is known of its lists.
//!
//! Owns requests to one server: waiting for it, repeating what is safe, telling of it in events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_client::protocol::{
    Ending, Entries, Era, LogLevel, Method as _, Prompt, ReadResource, ReadResourceResult,
    Resource, ResourceTemplate, SubscriptionFilter, Tool,
};
use attache_client::{Client, CloseReason, Error as ClientError, Meaning};
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::time::Instant;

use super::observer::ServerObserver;
use super::options::RequestOptions;
use super::shared::{Lifetime, Shared};
use crate::cache::{Cached, Epochs, Fetched, Found, Key, Lifetimes, What};
use crate::call_log::RecordedServer;
use crate::catalog::{ListKind, Listable, RefreshPlan};
use crate::config::{CallRetry, ReadOnlyHint, ServerConfig, ServerName};
use crate::error::Error;
use crate::events::EventKind;
use crate::manifest::{Manifest, Remembered};
use crate::policy::{CallOrigin, Hints, PinnedServer};
use crate::questions::{CURRENT_REQUEST, ServerQuestions};
use crate::redact::Redactor;
use crate::retry::{Backoff, Repeatable};
use crate::snapshot::{Offers, RequestCounts};
use crate::supervisor::{Connection, Patience, ServerMaker, Supervised, Target};

/// How long a list is good enough to check calls, although the server has announced another. A
/// server that announces after each list would otherwise be listed for every call (fault 50).
const CHECKED_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where a server comes from.
#[derive(Clone)]
pub(crate) enum Provenance {
    /// The configuration: it is started as that says, and a reload may replace it.
    Configured,
    /// A person typed it: it has this process's environment, and a reload leaves it alone.
    Typed,
    /// This process makes it itself; a reload leaves it alone.
    Made(ServerMaker),
}

pub(crate) struct ServerHandle {
    name: ServerName,
    config: RwLock<Arc<ServerConfig>>,
    provenance: Provenance,
    /// None for a server that is switched off.
    supervised: Option<Supervised>,
    epochs: Arc<Epochs>,
    manifest: Option<Manifest>,
    /// None for a server that has no pins.
    pinned_as: Option<PinnedServer>,
    refreshes: Mutex<[RefreshPlan; ListKind::ALL.len()]>,
    /// Whether its tools were ever listed here; without that there are none to look for.
    has_listed_tools: AtomicBool,
    /// The connection whose list changes are subscribed to.
    subscribed: Mutex<u64>,
    /// The log level that was set while the server ran, for its later connections.
    log_level: Mutex<Option<LogLevel>>,
    pub(crate) shared: Arc<Shared>,
}

/// Whether a list is kept for later hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Kept,
    Untouched,
}

/// What a request is, for events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) method: &'static str,
    pub(crate) name: Option<&'a str>,
    pub(crate) origin: Option<CallOrigin>,
    pub(crate) number: u64,
}

/// A request as it is told in events: also one that is dropped has an end.
pub(crate) struct RequestSpan<'a> {
    server_handle: &'a ServerHandle,
    number: u64,
    began: Instant,
    ending: Option<Ending>,
}

impl<'a> RequestSpan<'a> {
    pub(crate) fn begin(server_handle: &'a ServerHandle, about: About<'_>) -> Self {
        let sent = EventKind::Sent {
            request: about.number,
            method: about.method.into(),
            about: about.name.map(|name| match about.method {
                // An address may carry a secret, and names of tools and prompts do not.
                ReadResource::NAME => {
                    let redactor = Redactor::for_servers([&*server_handle.config()]);
                    redactor.redact(name).into_owned()
                }
                _ => name.to_owned(),
            }),
            origin: about.origin,
        };
        let events = &server_handle.shared.events;
        events.record(&server_handle.name, sent);
        Self {
            server_handle,
            number: about.number,
            began: Instant::now(),
            ending: Some(Ending::Cancelled),
        }
    }

    /// Tells how the request ended.
    pub(crate) fn end<T>(mut self, answer: &Result<T, ClientError>) {
        self.ending = match answer {
            Ok(_) => Some(Ending::Result),
            Err(error) => error.ending(),
        };
    }
}

impl Drop for RequestSpan<'_> {
    fn drop(&mut self) {
        let Self { server_handle, .. } = self;
        let after_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let events = &server_handle.shared.events;
        events.ended(&server_handle.name, self.number, self.ending, after_ms);
    }
}

impl ServerHandle {
    pub(crate) fn new(
        config: ServerConfig,
        provenance: Provenance,
        shared: Arc<Shared>,
    ) -> Arc<Self> {
        // Told before its driver can tell anything of it.
        shared.events.added(&config);
        Arc::new_cyclic(|server_handle| {
            let epochs = Arc::<Epochs>::default();
            let supervised = config.enabled.then(|| {
                let accounts = &shared.accounts;
                let questions = &ServerQuestions {
                    server: config.name.clone(),
                    askable: shared.askable,
                    queue: shared.questions.clone(),
                };
                let folders = shared.state.as_ref().map(|state| state.folders.as_path());
                let target = match &provenance {
                    Provenance::Configured => Target::new(&config, questions, accounts)
                        .in_neutral_folder(&config, folders),
                    Provenance::Typed => Target::new(&config, questions, accounts),
                    Provenance::Made(maker) => Target::made_by(maker.clone(), &config, questions),
                };
                let frames = shared.frames.source_of(&config);
                let target = target
                    .remembering(&config, shared.probes.as_ref())
                    .observed_by(&frames);
                let is_program = config.server.transport().launch().is_some()
                    && !matches!(provenance, Provenance::Made(_));
                let places = is_program.then(|| shared.start_places.clone());
                let (shared, epochs) = (shared.clone(), epochs.clone());
                let observer =
                    ServerObserver::new(&config, shared, epochs, server_handle.clone(), frames);
                Supervised::new(&config, target, Arc::new(observer), places)
            });
            let manifest = shared.state.as_ref();
            let manifest =
                manifest.map(|state| Manifest::new(&state.manifests, &config, state.disk.clone()));
            // A server that was typed may be another one the next time.
            let has_pins = !matches!(provenance, Provenance::Typed);
            Self {
                name: config.name.clone(),
                pinned_as: has_pins.then(|| PinnedServer::of(&config)),
                config: RwLock::new(Arc::new(config)),
                provenance,
                supervised,
                epochs,
                manifest,
                refreshes: Mutex::default(),
                has_listed_tools: AtomicBool::default(),
                subscribed: Mutex::new(0),
                log_level: Mutex::default(),
                shared,
            }
        })
    }

    pub(crate) fn name(&self) -> &ServerName {
        &self.name
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.config.read().clone()
    }

    /// Takes over settings that need no new connection.
    pub(crate) fn adopt(&self, config: ServerConfig) {
        *self.config.write() = Arc::new(config);
    }

    /// The server as the call log tells of it, and whether a tool claims to change nothing.
    pub(crate) fn recorded(&self, tool: Option<&Tool>) -> (RecordedServer, bool) {
        let server = RecordedServer {
            config: self.config(),
            is_typed: matches!(self.provenance, Provenance::Typed),
        };
        (server, tool.is_some_and(|tool| Hints::of(tool).read_only))
    }

    /// Whether a new configuration decides about it.
    pub(crate) fn is_configured(&self) -> bool {
        matches!(self.provenance, Provenance::Configured)
    }

    pub(crate) fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.supervised.is_some()
    }

    fn supervised(&self) -> Result<&Supervised, Error> {
        self.supervised.as_ref().ok_or_else(|| Error::Disabled {
            server: self.name.clone(),
        })
    }

    /// A connection later than `former`.
    pub(crate) async fn connection_after(
        &self,
        former: u64,
        patience: Patience,
    ) -> Result<Connection, Error> {
        self.supervised()?.ready_after(former, patience).await
    }

    /// Sets the least serious log messages that the server sends, now and after every restart.
    pub(crate) async fn set_log_level(&self, level: LogLevel) -> Result<(), Error> {
        let connection = self.connection_after(0, Patience::Persistent).await?;
        let set = connection.client.set_log_level(level).await;
        set.map_err(|error| Error::Request {
            server: self.name.clone(),
            error,
        })?;
        *self.chosen_log_level() = Some(level);
        Ok(())
    }

    /// The level that was set last.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *self.chosen_log_level()
    }

    fn chosen_log_level(&self) -> MutexGuard<'_, Option<LogLevel>> {
        self.log_level.lock()
    }

    /// There is a new connection: it is told what its predecessor was told.
    pub(crate) fn connected(&self, client: &Client) {
        let Some(level) = *self.chosen_log_level() else {
            return;
        };
        let client = client.clone();
        // A server that has given up logging needs no level.
        tokio::spawn(async move { client.set_log_level(level).await.ok() });
    }

    /// The connection of this moment, if there is one.
    pub(crate) fn running(&self) -> Option<Client> {
        let connection = self.supervised.as_ref()?.connection()?;
        Some(connection.client)
    }

    pub(crate) async fn restart(&self) -> Result<(), Error> {
        let supervised = self.supervised()?;
        supervised.restart().await;
        Ok(())
    }

    /// Ends it until it is needed again.
    pub(crate) async fn rest(&self) {
        if let Some(supervised) = &self.supervised {
            supervised.rest().await;
        }
    }

    pub(crate) async fn stop(&self) {
        if let Some(supervised) = &self.supervised {
            supervised.stop().await;
        }
    }

    /// The server as pins know it, if it has pins.
    pub(crate) fn pinned_as(&self) -> Option<&PinnedServer> {
        self.pinned_as.as_ref()
    }

    /// Pins the tools of a server that is used for the first time (S26). Nobody waits for the disk
    /// but who has asked for the list.
    async fn pin_first_use(&self, tools: &Arc<Entries<Tool>>) {
        let Some(server) = &self.pinned_as else {
            return;
        };
        let pins = &self.shared.pins;
        // If its pins cannot be read, a call says so.
        if pins.knows(server).unwrap_or(true) {
            return;
        }
        let (pins, server, tools) = (pins.clone(), server.clone(), tools.clone());
        let stored = tokio::task::spawn_blocking(move || pins.first_use(&server, tools.iter()));
        if let Ok(Err(error)) = stored.await {
            self.could_not_store(error.to_string());
        }
    }

    /// Tells that something the user relies on was not written down.
    pub(crate) fn could_not_store(&self, problem: String) {
        self.shared.log(&self.name, "pins", &problem);
        self.shared
            .emit(&self.name, || EventKind::NotStored { problem });
    }

    /// Everything remembered of the server is outdated.
    pub(crate) fn everything_changed(&self) {
        self.epochs.everything_changed();
    }

    /// Makes a request, again if that is safe.
    pub(crate) async fn request<R, F>(
        &self,
        about: About<'_>,
        repeatable: Repeatable,
        patience: Patience,
        mut work: impl FnMut(Client) -> F + Send,
    ) -> Result<R, Error>
    where
        F: Future<Output = Result<R, ClientError>> + Send,
    {
        let supervised = self.supervised()?;
        let mut former = 0;
        let mut first_sent = None;
        let mut backoff: Option<Backoff> = None;
        for attempt in 1.. {
            let connection = supervised.ready_after(former, patience).await?;
            let span = RequestSpan::begin(self, about);
            let first_sent = *first_sent.get_or_insert(span.began);
            let answer = CURRENT_REQUEST.scope(about.number, work(connection.client));
            let answer = answer.await;
            span.end(&answer);
            let error = match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let config = self.config();
            let retry = &config.retry;
            let pauses = backoff.get_or_insert_with(|| Backoff::of(retry, fastrand::Rng::new()));
            let pause = pauses.next_pause();
            // No attempt begins when the time for all of it has passed.
            let late = first_sent.elapsed() + pause >= config.server.settings.timeouts.maximum;
            if late || attempt >= retry.attempts || !repeatable.allows_repeat_after(&error, retry) {
                return Err(Error::Request {
                    server: self.name.clone(),
                    error: self.without_secrets(error),
                });
            }
            if matches!(
                error,
                ClientError::NotSent { .. } | ClientError::OutcomeUnknown { .. }
            ) {
                former = connection.number;
            }
            tokio::time::sleep(pause).await;
        }
        Err(Error::Stopped {
            server: self.name.clone(),
        })
    }

    /// The error with every line of the server that it quotes cleaned.
    fn without_secrets(&self, mut error: ClientError) -> ClientError {
        let lines = match &mut error {
            ClientError::TimedOut {
                complaint: Some(line),
                ..
            } => std::slice::from_mut(line),
            ClientError::NotSent {
                reason: CloseReason::Exited { stderr, .. },
                ..
            }
            | ClientError::OutcomeUnknown {
                reason: CloseReason::Exited { stderr, .. },
                ..
            } => stderr.as_mut_slice(),
            _ => return error,
        };
        let redactor = Redactor::for_servers([&*self.config()]);
        for line in lines {
            *line = redactor.redact(line).into_owned();
        }
        error
    }

    /// What repeating a call of this tool would mean.
    pub(crate) fn repeatable(&self, tool: &str) -> Repeatable {
        let config = self.config();
        match config.call_retry {
            CallRetry::Never => Repeatable::Never,
            CallRetry::Always => Repeatable::Harmless,
            CallRetry::SafeOnly => {
                let believed = config.policy.read_only == Some(ReadOnlyHint::Believe);
                if believed && self.claims_to_be_harmless(tool) {
                    Repeatable::Harmless
                } else {
                    Repeatable::OnlyUnsent
                }
            }
        }
    }

    fn claims_to_be_harmless(&self, tool: &str) -> bool {
        let Some(tools) = self.known::<Tool>() else {
            return false;
        };
        let tool = tools.by_name(tool);
        let hints = tool.and_then(|tool| tool.annotations.as_ref());
        hints.is_some_and(|hints| hints.read_only == Some(true) || hints.idempotent == Some(true))
    }

    fn key(&self, what: What) -> Key {
        Key {
            server: self.name.clone(),
            what,
        }
    }

    /// A list: from the cache while it is fresh, otherwise from the server.
    pub(crate) async fn list<T: Listable>(
        self: &Arc<Self>,
        patience: Patience,
    ) -> Result<(Arc<Entries<T>>, Found), Error> {
        self.list_with::<T>(patience, Memory::Kept).await
    }

    /// The same without keeping it beyond this host: for a name that may not be given to the server
    /// in the end.
    pub(crate) async fn list_unremembered<T: Listable>(
        self: &Arc<Self>,
    ) -> Result<Arc<Entries<T>>, Error> {
        let listed = self.list_with::<T>(Patience::FirstFailure, Memory::Untouched);
        Ok(listed.await?.0)
    }

    async fn list_with<T: Listable>(
        self: &Arc<Self>,
        patience: Patience,
        memory: Memory,
    ) -> Result<(Arc<Entries<T>>, Found), Error> {
        let config = self.config();
        let key = self.key(What::List(T::KIND));
        let found = self
            .shared
            .cache
            .get(key, &config.cache, &self.epochs, || {
                self.fetch_list::<T>(patience, memory)
            })
            .await?;
        match T::of(&found.value) {
            Some(entries) => Ok((entries.clone(), found)),
            // The key says which kind it is, so this cannot be; an empty list is no lie.
            None => Ok((Arc::default(), found)),
        }
    }

    async fn fetch_list<T: Listable>(
        self: &Arc<Self>,
        patience: Patience,
        memory: Memory,
    ) -> Result<Fetched, Error> {
        self.refreshes()[T::KIND as usize].begins(Instant::now().into_std());
        if T::KIND == ListKind::Tools {
            self.has_listed_tools.store(true, Ordering::Release);
        }
        let connection = self.connection_after(0, patience).await?;
        if !connection.client.offers(T::METHOD) {
            let nothing = Fetched::new(T::into_cached(Entries::default()), Lifetimes::default());
            if memory == Memory::Kept
                && let Some(entries) = T::of(nothing.value())
            {
                self.remember(entries);
            }
            return Ok(nothing.not_offered());
        }
        drop(connection);
        let about = About {
            method: T::METHOD,
            name: None,
            origin: None,
            number: self.shared.events.next_request(),
        };
        let epochs = &self.epochs;
        let fetch = |client: Client| async move {
            let epoch = epochs.of(&What::List(T::KIND));
            let fetched = match T::fetch(&client).await {
                // A server without such a list has an empty one.
                Err(ClientError::Server(error)) if error.meaning == Meaning::MethodNotFound => {
                    let nothing = T::into_cached(Entries::default());
                    Ok(Fetched::new(nothing, Lifetimes::default()))
                }
                fetched => fetched,
            };
            fetched.map(|fetched| fetched.asked_in(epoch))
        };
        let fetched = self
            .request(about, Repeatable::Harmless, patience, fetch)
            .await?;
        if memory == Memory::Kept
            && let Some(entries) = T::of(fetched.value())
        {
            self.remember(entries);
        }
        if let Cached::Tools(tools) = fetched.value() {
            self.pin_first_use(tools).await;
        }
        if self.shared.lifetime == Lifetime::Kept {
            self.subscribe_to_lists();
        }
        Ok(fetched)
    }

    /// The list if it is known without asking, and not known to be outdated.
    pub(crate) fn known<T: Listable>(&self) -> Option<Arc<Entries<T>>> {
        let key = self.key(What::List(T::KIND));
        let cached = self.shared.cache.remembered(&key, &self.epochs)?;
        T::of(&cached).cloned()
    }

    /// The same if it was fetched a moment ago.
    pub(crate) fn known_lately<T: Listable>(&self) -> Option<Arc<Entries<T>>> {
        let key = self.key(What::List(T::KIND));
        let cache = &self.shared.cache;
        let cached = cache.remembered_within(&key, &self.epochs, CHECKED_AGAIN_AFTER)?;
        T::of(&cached).cloned()
    }

    /// The tools as a call is checked against them: known and not outdated, or fetched a moment ago.
    pub(crate) fn known_to_calls(&self) -> Option<Arc<Entries<Tool>>> {
        if !self.has_listed_tools.load(Ordering::Acquire) {
            return None;
        }
        let key = self.key(What::List(ListKind::Tools));
        let cache = &self.shared.cache;
        let cached = cache.remembered_or_lately(&key, &self.epochs, CHECKED_AGAIN_AFTER)?;
        Tool::of(&cached).cloned()
    }

    /// Whether the list is remembered from when it was last fetched.
    pub(crate) fn remembers(&self, kind: ListKind) -> bool {
        let manifest = self.manifest.as_ref();
        manifest.is_some_and(|manifest| manifest.has(kind))
    }

    /// The list as it was when it was last fetched, perhaps by an earlier host.
    pub(crate) fn remembered<T: Listable>(&self) -> Option<Remembered<T>> {
        self.manifest.as_ref()?.list()
    }

    /// How long the remembered lists are.
    pub(crate) fn remembered_offers(&self) -> Offers {
        Offers {
            tools: self.remembered_length::<Tool>(),
            resources: self.remembered_length::<Resource>(),
            templates: self.remembered_length::<ResourceTemplate>(),
            prompts: self.remembered_length::<Prompt>(),
        }
    }

    fn remembered_length<T: Listable>(&self) -> Option<usize> {
        Some(self.remembered::<T>()?.entries.len())
    }

    /// Keeps a list for later hosts.
    pub(crate) fn remember<T: Listable>(&self, entries: &Entries<T>) {
        if let Some(manifest) = &self.manifest {
            manifest.remember(entries);
        }
    }

    /// Forgets a list within this host, so that it is as unknown as before it was fetched.
    pub(crate) fn forget<T: Listable>(&self) {
        self.shared.cache.forget(&self.key(What::List(T::KIND)));
    }

    /// The contents of a resource.
    pub(crate) async fn read(
        self: &Arc<Self>,
        uri: &str,
        options: &RequestOptions,
    ) -> Result<(Arc<ReadResourceResult>, Found), Error> {
        let config = self.config();
        let key = self.key(What::Contents(uri.into()));
        let asked_back = Arc::new(AtomicBool::new(false));
        let fetch = || self.fetch_contents(uri, options, &asked_back);
        let cache = &self.shared.cache;
        let found = cache.get(key.clone(), &config.cache, &self.epochs, fetch);
        let found = found.await?;
        // What was answered to this user's words is the answer of no other request (C-CACHE-03).
        if asked_back.load(Ordering::Acquire) {
            cache.forget(&key);
        }
        match &found.value {
            Cached::Contents(contents) => Ok((contents.clone(), found)),
            _ => Ok((Arc::default(), found)),
        }
    }

    async fn fetch_contents(
        self: &Arc<Self>,
        uri: &str,
        options: &RequestOptions,
        asked_back: &Arc<AtomicBool>,
    ) -> Result<Fetched, Error> {
        let number = self.shared.events.next_request();
        let about = About {
            method: ReadResource::NAME,
            name: Some(uri),
            origin: None,
            number,
        };
        let what = What::Contents(uri.into());
        let read = |client: Client| {
            let epoch = self.epochs.of(&what);
            let request = client.read(uri).asked_back(Arc::clone(asked_back));
            let request = options.apply(request, self, number);
            async move { Ok((request.await?, epoch)) }
        };
        let (contents, epoch) = self
            .request(about, Repeatable::Harmless, Patience::Persistent, read)
            .await?;
        let mut lifetimes = Lifetimes::default();
        lifetimes.note(contents.ttl_ms, contents.cache_scope.as_deref());
        let contents = Cached::Contents(Arc::new(contents));
        Ok(Fetched::new(contents, lifetimes).asked_in(epoch))
    }

    /// Fetches a list again soon, if anybody has ever wanted it (fault 50).
    pub(crate) fn refresh_later(self: &Arc<Self>, kind: ListKind) {
        if self.shared.lifetime == Lifetime::OneShot {
            return;
        }
        let now = Instant::now().into_std();
        let due = self.refreshes()[kind as usize].noticed(now);
        let Some(due) = due else { return };
        // A server that is removed meanwhile is not kept for this.
        let server_handle = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep_until(due.into()).await;
            let Some(server_handle) = server_handle.upgrade() else {
                return;
            };
            // Who asked has asked in the meantime, or asks again and is told what failed.
            let _ = match kind {
                ListKind::Tools => server_handle.refresh::<Tool>().await,
                ListKind::Resources => server_handle.refresh::<Resource>().await,
                ListKind::Templates => server_handle.refresh::<ResourceTemplate>().await,
                ListKind::Prompts => server_handle.refresh::<Prompt>().await,
            };
        });
    }

    async fn refresh<T: Listable>(self: &Arc<Self>) -> Result<(), Error> {
        if self.known::<T>().is_some() {
            // Somebody has fetched it since the notice.
            self.refreshes()[T::KIND as usize].begins(Instant::now().into_std());
            return Ok(());
        }
        self.list::<T>(Patience::FirstFailure).await.map(drop)
    }

    fn refreshes(&self) -> MutexGuard<'_, [RefreshPlan; ListKind::ALL.len()]> {
        self.refreshes.lock()
    }

    /// Asks a modern server, once per connection, to tell of changed lists; a legacy one tells
    /// anyway (eras.md 1.10).
    fn subscribe_to_lists(&self) {
        let connection = self.supervised.as_ref().and_then(Supervised::connection);
        let Some(Connection { client, number }) = connection else {
            return;
        };
        if client.revision().era() == Era::Legacy {
            return;
        }
        {
            let mut subscribed = self.subscribed.lock();
            if *subscribed == number {
                return;
            }
            *subscribed = number;
        }
        let offered = client.capabilities();
        let tells = |declared: Option<Option<bool>>| declared.flatten() == Some(true);
        let filter = SubscriptionFilter {
            tools_list_changed: tells(offered.tools.as_ref().map(|it| it.list_changed)),
            prompts_list_changed: tells(offered.prompts.as_ref().map(|it| it.list_changed)),
            resources_list_changed: tells(offered.resources.as_ref().map(|it| it.list_changed)),
            ..SubscriptionFilter::default()
        };
        if filter == SubscriptionFilter::default() {
            return;
        }
        tokio::spawn(async move {
            // The changes themselves come by the connection's events; this only keeps the
            // subscription up. A server that refuses it has lists that are fetched when asked for.
            if let Ok(mut watch) = client.watch_all(filter).await {
                drop(client);
                while watch.next().await.is_some() {}
            }
        });
    }

    /// How long the lists are that are known.
    pub(crate) fn offers(&self) -> Offers {
        let length = |kind: ListKind| {
            let cached = self.shared.cache.last_known(&self.key(What::List(kind)))?;
            cached.length()
        };
        Offers {
            tools: length(ListKind::Tools),
            resources: length(ListKind::Resources),
            templates: length(ListKind::Templates),
            prompts: length(ListKind::Prompts),
        }
    }

    /// Whether its start waits for a place among those of others.
    pub(crate) fn is_queued(&self) -> bool {
        let status = self.supervised.as_ref().map(Supervised::status);
        status.is_some_and(|status| status.queued)
    }

    /// The requests on its present connection.
    pub(crate) fn request_counts(&self) -> Option<RequestCounts> {
        let calls = self.running()?.statistics().calls;
        Some(RequestCounts {
            issued: calls.issued,
            open: calls.open,
        })
    }
}
