//! An HTTP server one can connect to: its address, and how to reach it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache_auth::{Authorizer, Reach, Secret};
use attache_net::{Route, tls};
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use reqwest::redirect::{Attempt, Policy};
use url::Url;

use super::pace::Pace;
use crate::question_clock::QuestionClock;
use crate::transport::HttpServer;

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

/// A server's address and how to reach it. Clones share connections and the pace of reconnecting.
#[derive(Clone)]
pub(crate) struct HttpTarget {
    server: HttpServer,
    url: Result<Url, String>,
    headers: Result<HeaderMap, String>,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The time in which a person is being asked, logins included.
    pub(crate) asked: QuestionClock,
    pub(crate) pace: Arc<Mutex<Pace>>,
    /// Built when first used: a process that speaks to no HTTP server pays for no TLS.
    client: Arc<OnceLock<reqwest::Client>>,
}

impl HttpTarget {
    /// What is wrong with the description is told when it is used.
    pub(crate) fn new(server: &HttpServer, authorizer: Option<Arc<dyn Authorizer>>) -> Self {
        Self {
            url: read_address(&server.url),
            headers: read_headers(&server.headers),
            server: server.clone(),
            authorizer,
            asked: QuestionClock::default(),
            pace: Arc::default(),
            client: Arc::default(),
        }
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
        self.server.allow_plain_http
            || url.scheme() == "https"
            || Reach::of_server(url) == Reach::Loopback
    }

    /// Who stands between this client and the server.
    pub(crate) fn route(&self) -> Result<Route, String> {
        self.server.proxy.route_to(self.url()?)
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
        let mut tls = tls::settings(&route, self.server.ca_file.as_deref())?;
        let mut builder = reqwest::Client::builder();
        if self.server.is_websocket() {
            // A socket begins as a request of this version and no other.
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            builder = builder.http1_only();
        }
        let builder = builder
            .tls_backend_preconfigured(tls)
            .redirect(Policy::custom(follow))
            .referer(false)
            .connect_timeout(CONNECT_PATIENCE)
            .pool_idle_timeout(IDLE_PATIENCE)
            .tcp_keepalive(KEEP_ALIVE)
            .tcp_nodelay(true);
        self.server
            .proxy
            .apply(builder)?
            .build()
            .map_err(|error| format!("HTTP cannot be set up: {error}"))
    }
}

/// The address for requests; a WebSocket is opened by one too.
fn read_address(address: &str) -> Result<Url, String> {
    let requested = match address.strip_prefix("ws") {
        Some(rest) => Cow::Owned(format!("http{rest}")),
        None => Cow::Borrowed(address),
    };
    let url =
        Url::parse(&requested).map_err(|error| format!("{address:?} is no address: {error}"))?;
    match HttpServer::is_address(address) && url.has_host() {
        true => Ok(url),
        false => Err(format!(
            "{address:?} is no address of an MCP server: it begins with {}:, not with {}",
            url.scheme(),
            HttpServer::address_forms()
        )),
    }
}

fn read_headers(headers: &BTreeMap<String, Secret>) -> Result<HeaderMap, String> {
    let mut read = HeaderMap::new();
    for (name, value) in headers {
        let Ok(key) = name.parse::<HeaderName>() else {
            return Err(format!("{name:?} is no name of a header"));
        };
        // The value may be a secret and is not shown.
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| {
            format!("the value of the header {name:?} holds characters that no header may hold")
        })?;
        value.set_sensitive(true);
        read.insert(key, value);
    }
    Ok(read)
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
            ("ws://127.0.0.1:9/ws", Ok(())),
            ("wss://example.org", Ok(())),
            ("ftp://example.org", Err("begins with ftp:")),
            ("example.org/mcp", Err("no address")),
            ("http://", Err("no address")),
        ] {
            let found = HttpTarget::new(&HttpServer::new(address), None)
                .url()
                .map(drop);
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
            let mut target = HttpTarget::new(&HttpServer::new(address), None);
            let url = target.url().unwrap().clone();
            assert_eq!(target.may_carry_credentials(&url), expected, "{address}");
            target.server.allow_plain_http = true;
            assert!(target.may_carry_credentials(&url), "{address}");
        }
    }

    #[test]
    fn a_bad_header_is_named_and_its_value_is_not() {
        let error_of = |name: &str, value: &str| {
            let mut server = HttpServer::new("http://127.0.0.1/");
            server.headers.insert(name.to_owned(), value.into());
            let target = HttpTarget::new(&server, None);
            target.headers().unwrap_err()
        };
        let error = error_of("X-Key", "secret\nvalue");
        assert!(
            error.contains("X-Key") && !error.contains("secret"),
            "{error}"
        );
        assert!(error_of("X Key", "v").contains("X Key"));
    }
}
