//! The console: a host, and what is kept for those who look at it.

use std::sync::Arc;

use attache::Host;
use attache::host::questions::{Attached, Topic};
use attache::protocol::{Prompt, Tool};
use attache::server::http::{HttpSettings, Unfinished};
use tokio::sync::{Semaphore, watch};

use crate::calls::Calls;
use crate::guard::Names;
use crate::opening::OpeningCode;
use crate::recent::Recent;
use crate::subscriptions::Subscriptions;
use crate::token::{Token, WrongTokens};

/// The longest body of a request.
pub(crate) const MAX_BODY: usize = 16 * 1024 * 1024;
/// How many streams of events or frames there are at once.
pub(crate) const MOST_STREAMS: usize = 16;
/// How many requests are worked on at once, streams left aside.
const MOST_RUNNING: usize = 256;

/// How many events a host has to keep for a console, so that a page that was away for a while goes
/// on where it was: see [`HostBuilder::keep_events`](attache::host::HostBuilder::keep_events).
pub const KEPT_EVENTS: usize = 8192;

/// What all requests to one console share.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) host: Host,
    pub(crate) token: Token,
    pub(crate) names: Names,
    pub(crate) settings: HttpSettings,
    pub(crate) wrong_tokens: WrongTokens,
    pub(crate) opening: OpeningCode,
    pub(crate) bodies: Unfinished,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) running: Semaphore,
    pub(crate) calls: Arc<Calls>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) tools: Recent<Tool>,
    pub(crate) prompts: Recent<Prompt>,
    pub(crate) started_ms: u64,
    /// Whether streams shall end, so that the server can.
    pub(crate) closing: watch::Sender<bool>,
    /// Questions wait for as long as the console is there, whether or not a page is open.
    _attached: Attached,
}

impl Console {
    pub(crate) fn new(host: Host, token: Token, names: Names, settings: HttpSettings) -> Arc<Self> {
        let attached = host.questions().attach(Topic::ALL);
        Arc::new(Self {
            bodies: Unfinished::new(&settings),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            running: Semaphore::new(MOST_RUNNING),
            calls: Arc::default(),
            subscriptions: Arc::default(),
            tools: Recent::default(),
            prompts: Recent::default(),
            opening: OpeningCode::default(),
            wrong_tokens: WrongTokens::default(),
            started_ms: host.snapshot().started_ms,
            closing: watch::Sender::new(false),
            host,
            token,
            names,
            settings,
            _attached: attached,
        })
    }
}

/// The limits of connections. Those of bodies are larger than a server's: arguments may hold files.
pub(crate) fn settings() -> HttpSettings {
    let mut settings = HttpSettings::default();
    settings.max_connections = 256;
    settings.max_body = MAX_BODY;
    settings.max_unfinished_bytes = 4 * MAX_BODY;
    settings
}
