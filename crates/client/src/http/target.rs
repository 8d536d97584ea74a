//! An HTTP server one can connect to: its address, and how to reach it.

use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use url::Url;

use super::pace::Pace;
use crate::question_clock::QuestionClock;
use attache_auth::{Authorizer, Reach};
use attache_net::tls;
use attache_net::{Proxy, Route};

/// How long opening a TCP and TLS connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(20);
/// How long an idle connection is kept for the next request.
const IDLE_PATIENCE: Duration = Duration::from_secs(90);
/// How often a silent connection is checked for life.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How many redirects are followed, all within one origin.
const MAX_REDIRECTS: usize = 5;

/// Which of the two HTTP transports a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpFlavor {
    /// Streamable HTTP, and HTTP+SSE if that is refused.
    #[default]
    Detect,
    /// Streamable HTTP only.
    Streamable,
    /// The older HTTP+SSE only.
    Sse,
}

/// Whether credentials may travel unencrypted to other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PlainHttp {
    /// They may not: whoever is on the way could read and use them.
    #[default]
    Refused,
    /// They may. The user has said so.
    Allowed,
}

/// A server's address and how to reach it. Clones share connections and the pace of reconnecting.
#[derive(Clone)]
pub(crate) struct HttpTarget {
    url: Result<Url, String>,
    headers: Result<HeaderMap, String>,
    ca_file: Option<PathBuf>,
    proxy: Proxy,
    pub(crate) flavor: HttpFlavor,
    pub(crate) plain_http: PlainHttp,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The time in which a person is being asked, logins included.
    pub(crate) asked: QuestionClock,
    pub(crate) pace: Arc<Mutex<Pace>>,
    /// Built when first used: a process that speaks to no HTTP server pays for no TLS.
    client: Arc<OnceLock<reqwest::Client>>,
}

impl HttpTarget {
    pub(crate) fn new(address: &str) -> Self {
        Self {
            url: read_address(address),
            headers: Ok(HeaderMap::new()),
            ca_file: None,
            proxy: Proxy::Direct,
            flavor: HttpFlavor::Detect,
            plain_http: PlainHttp::default(),
            authorizer: None,
            asked: QuestionClock::default(),
            pace: Arc::default(),
            client: Arc::default(),
        }
    }

    /// Adds a header to every request.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        let Ok(headers) = &mut self.headers else {
            return;
        };
        match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
            (Err(_), _) => self.headers = Err(format!("{name:?} is no name of a header")),
            // The value may be a secret and is not shown.
            (_, Err(_)) => {
                self.headers = Err(format!(
                    "the value of the header {name:?} holds characters that no header may hold"
                ));
            }
        }
    }

    pub(crate) fn ca_file(&mut self, path: PathBuf) {
        self.ca_file = Some(path);
        self.client = Arc::default();
    }

    pub(crate) fn proxy(&mut self, proxy: Proxy) {
        self.proxy = proxy;
        self.client = Arc::default();
    }

    /// The address, or what is wrong with it.
    pub(crate) fn url(&self) -> Result<&Url, String> {
        self.url.as_ref().map_err(Clone::clone)
    }

    /// The headers of every request, or what is wrong with them.
    pub(crate) fn headers(&self) -> Result<&HeaderMap, String> {
        self.headers.as_ref().map_err(Clone::clone)
    }

    /// Whether a request with credentials may go to an address.
    pub(crate) fn may_carry_credentials(&self, url: &Url) -> bool {
        self.plain_http == PlainHttp::Allowed
            || url.scheme() == "https"
            || Reach::of_server(url) == Reach::Loopback
    }

    /// Who stands between this client and the server.
    pub(crate) fn route(&self) -> Result<Route, String> {
        self.proxy.route_to(self.url()?)
    }

    /// The pool of connections to this server.
    pub(crate) fn client(&self) -> Result<reqwest::Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = self.build()?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    pub(crate) fn pace(&self) -> parking_lot::MutexGuard<'_, Pace> {
        self.pace.lock()
    }

    fn build(&self) -> Result<reqwest::Client, String> {
        let route = self.route()?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::settings(&route, self.ca_file.as_deref())?)
            .redirect(Policy::custom(follow))
            .referer(false)
            .connect_timeout(CONNECT_PATIENCE)
            .pool_idle_timeout(IDLE_PATIENCE)
            .tcp_keepalive(KEEP_ALIVE)
            .tcp_nodelay(true);
        self.proxy
            .apply(builder)?
            .build()
            .map_err(|error| format!("HTTP cannot be set up: {error}"))
    }
}

fn read_address(address: &str) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| format!("{address:?} is no address: {error}"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(format!(
            "{address:?} is no address of an MCP server: it begins with {scheme}:, not with \
             http: or https:"
        )),
    }
}

/// Follows a redirect that keeps the method and the origin, such as the one that adds a slash to
/// the path. Headers may hold secrets, so no other origin ever sees them (S8).
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
    let same_origin = attempt
        .previous()
        .first()
        .is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_method && same_origin && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        for (address, expected) in [
            ("http://127.0.0.1:9/mcp", Ok(())),
            ("https://example.org", Ok(())),
            ("ftp://example.org", Err("begins with ftp:")),
            ("example.org/mcp", Err("no address")),
            ("http://", Err("no address")),
        ] {
            let found = HttpTarget::new(address).url().map(drop);
            match expected {
                Ok(()) => assert_eq!(found, Ok(()), "{address}"),
                Err(part) => assert!(found.unwrap_err().contains(part), "{address}"),
            }
        }
    }

    #[test]
    fn credentials_travel_encrypted_or_stay_on_this_machine() {
        for (address, expected) in [
            ("https://example.org/mcp", true),
            ("http://127.0.0.1:9/mcp", true),
            ("http://[::1]:9/mcp", true),
            ("http://localhost:9/mcp", true),
            ("http://example.org/mcp", false),
            ("http://192.168.0.7/mcp", false),
            ("http://localhost.example.org/mcp", false),
        ] {
            let mut target = HttpTarget::new(address);
            let url = target.url().unwrap().clone();
            assert_eq!(target.may_carry_credentials(&url), expected, "{address}");
            target.plain_http = PlainHttp::Allowed;
            assert!(target.may_carry_credentials(&url), "{address}");
        }
    }

    #[test]
    fn a_bad_header_is_named_and_its_value_is_not() {
        let mut target = HttpTarget::new("http://127.0.0.1/");
        target.header("X-Key", "secret\nvalue");
        let error = target.headers().unwrap_err();
        assert!(
            error.contains("X-Key") && !error.contains("secret"),
            "{error}"
        );
        let mut target = HttpTarget::new("http://127.0.0.1/");
        target.header("X Key", "v");
        assert!(target.headers().unwrap_err().contains("X Key"));
    }
}
