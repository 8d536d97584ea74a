//! What the HTTP face can be told.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ring::digest;

use crate::service::Principal;
use crate::settings::Limits;

/// Finds out who a bearer token belongs to; `None` refuses it.
type Authenticate = dyn Fn(&str) -> Option<Principal> + Send + Sync;

/// How a server is reached over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The one path of the endpoint.
    pub path: String,
    /// Names under which the server may be addressed, without ports (S1). Loopback by default.
    pub allowed_hosts: Vec<String>,
    /// Origins of pages that may call besides those on the allowed hosts.
    pub allowed_origins: Vec<String>,
    /// How many connections are open at once, unless the process has fewer descriptors. When there
    /// is no room, the connection that has waited longest for a request is closed.
    pub max_connections: usize,
    /// How long the head of a request may take, counted from the end of the request before it or
    /// from the beginning of the connection, which is closed then.
    pub header_timeout: Duration,
    /// How long a body may take behind its head.
    pub body_timeout: Duration,
    /// The longest body in bytes.
    pub max_body: usize,
    /// How many bytes bodies that are not complete may hold together. Beyond that, the one that
    /// began first is refused.
    pub max_unfinished_bytes: usize,
    /// How many sessions there are at once. When there is no room, the principal with the most
    /// sessions loses the one that was not used for the longest time.
    pub max_sessions: usize,
    /// How many sessions one principal has at once. The one that was not used for the longest time
    /// makes room for the next.
    pub max_sessions_per_principal: usize,
    /// How long an unused session is kept.
    pub session_idle: Duration,
    /// How many events of a stream are kept for clients that come back.
    pub max_events: usize,
    /// How many bytes those events may hold.
    pub max_event_bytes: usize,
    /// How many finished streams of a session are kept for clients that come back.
    pub max_streams: usize,
    /// How many bytes the events of all streams of all sessions may hold together. Streams that have
    /// ended make room, the oldest first.
    pub max_kept_bytes: usize,
    /// How often a silent stream shows that it is alive.
    pub keep_alive: Duration,
    /// How long a client whose stream was closed waits before it comes back.
    pub retry: Duration,
    /// What bounds the handlers.
    pub limits: Limits,
    authenticate: Option<Arc<Authenticate>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            path: "/mcp".to_owned(),
            allowed_hosts: ["localhost", "127.0.0.1", "[::1]"]
                .map(str::to_owned)
                .to_vec(),
            allowed_origins: Vec::new(),
            max_connections: 2048,
            header_timeout: Duration::from_secs(20),
            body_timeout: Duration::from_secs(30),
            max_body: 4 * 1024 * 1024,
            max_unfinished_bytes: 32 * 1024 * 1024,
            max_sessions: 1024,
            max_sessions_per_principal: 256,
            session_idle: Duration::from_secs(30 * 60),
            max_events: 256,
            max_event_bytes: 4 * 1024 * 1024,
            max_streams: 64,
            max_kept_bytes: 64 * 1024 * 1024,
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_millis(500),
            limits: Limits::default(),
            authenticate: None,
        }
    }
}

impl HttpSettings {
    /// Lets only those in who bring this token.
    #[must_use]
    pub fn bearer_token(self, token: &str) -> Self {
        // Digests of equal length are compared, so that the time tells nothing about the token.
        let expected = digest::digest(&digest::SHA256, token.as_bytes());
        self.authenticate(move |given| {
            let given = digest::digest(&digest::SHA256, given.as_bytes());
            (given.as_ref() == expected.as_ref()).then(|| Principal::named("bearer"))
        })
    }

    /// Lets only those in whose token somebody knows.
    #[must_use]
    pub fn authenticate(
        mut self,
        check: impl Fn(&str) -> Option<Principal> + Send + Sync + 'static,
    ) -> Self {
        self.authenticate = Some(Arc::new(check));
        self
    }

    pub(super) fn authenticator(&self) -> Option<&Authenticate> {
        self.authenticate.as_deref()
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpSettings")
            .field("path", &self.path)
            .field("allowed_hosts", &self.allowed_hosts)
            .finish_non_exhaustive()
    }
}
