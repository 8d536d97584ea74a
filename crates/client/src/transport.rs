//! How a server is reached, as plain data.
//!
//! Owns the description that a configuration is read into, a program builds and a command prints.
//! What it says about itself here is all that other crates need to know of a transport. Opens
//! nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_auth::Secret;
use attache_net::Proxy;
use attache_process::Launch;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::http::HttpFlavor;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// A child process, spoken to over its stdin and stdout.
    Stdio(Launch),
    /// A server behind a URL, spoken to over HTTP, or over a WebSocket if its address says so.
    Http(HttpServer),
    /// A pair of byte streams that this process has already opened.
    Streams(Streams),
}

/// A server behind a URL. Values of headers are hidden from `Debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpServer {
    /// Where it is. With `ws:` or `wss:` it is spoken to over a WebSocket.
    pub url: String,
    /// Which of the two HTTP transports it speaks, if it is not a WebSocket.
    pub flavor: HttpFlavor,
    /// Headers sent with every request. They never reach another origin.
    pub headers: BTreeMap<String, Secret>,
    /// A file with more root certificates, in PEM.
    pub ca_file: Option<PathBuf>,
    /// How requests travel.
    pub proxy: Proxy,
    /// Whether credentials may travel over plain http to another machine.
    pub allow_plain_http: bool,
}

/// How an address begins.
const SCHEMES: [&str; 4] = ["https", "http", "wss", "ws"];

impl HttpServer {
    /// Whether a text begins like the address of a server.
    pub fn is_address(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| SCHEMES.contains(&scheme))
    }

    /// Whether it is spoken to over a WebSocket.
    pub fn is_websocket(&self) -> bool {
        self.url.starts_with("ws://") || self.url.starts_with("wss://")
    }

    /// How addresses begin, in words.
    pub fn address_forms() -> String {
        SCHEMES.map(|scheme| format!("{scheme}://")).join(" or ")
    }

    /// A server at an address, reached directly and without headers of its own.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            flavor: HttpFlavor::default(),
            headers: BTreeMap::new(),
            ca_file: None,
            proxy: Proxy::default(),
            allow_plain_http: false,
        }
    }
}

/// Both halves of a byte stream, for one connection. Clones share them, and only clones are equal.
#[derive(Clone)]
pub struct Streams(Arc<Mutex<Option<Halves>>>);

/// The half to read from and the half to write to.
pub(crate) type Halves = (
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncWrite + Send + Unpin>,
);

impl Streams {
    /// Streams that were opened by the caller.
    pub fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self(Arc::new(Mutex::new(Some((
            Box::new(read),
            Box::new(write),
        )))))
    }

    /// The streams, unless an earlier connection has them.
    pub(crate) fn take(&self) -> Option<Halves> {
        self.0.lock().take()
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Streams")
    }
}

impl PartialEq for Streams {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Streams {}

impl Transport {
    /// The transport in a word, as configuration files name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(http) if http.is_websocket() => "websocket",
            Self::Http(http) if http.flavor == HttpFlavor::Sse => "sse",
            Self::Http(_) => "http",
            Self::Streams(_) => "streams",
        }
    }

    /// The program to start, if there is one.
    pub fn launch(&self) -> Option<&Launch> {
        match self {
            Self::Stdio(launch) => Some(launch),
            Self::Http(_) | Self::Streams(_) => None,
        }
    }

    /// The server behind a URL, if there is one.
    pub fn http(&self) -> Option<&HttpServer> {
        match self {
            Self::Http(http) => Some(http),
            Self::Stdio(_) | Self::Streams(_) => None,
        }
    }

    /// Whether messages travel as one stream, which ends if the server does not like what it reads.
    pub(crate) fn is_one_stream(&self) -> bool {
        match self {
            Self::Stdio(_) => true,
            Self::Http(http) => http.is_websocket(),
            // They are there for one connection.
            Self::Streams(_) => false,
        }
    }

    /// The program with its arguments, or the URL.
    pub fn words(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Stdio(launch) => launch.words().map(|word| word.to_string_lossy()).collect(),
            Self::Http(http) => vec![http.url.as_str().into()],
            Self::Streams(_) => Vec::new(),
        }
    }

    /// The folder a program starts in, if that is said.
    pub fn folder(&self) -> Option<&Path> {
        self.launch()?.cwd.as_deref()
    }

    /// The named values that go along, variables or headers. Any of them may be a secret.
    pub fn values(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        match self {
            Self::Stdio(launch) => {
                let vars = launch.vars.iter();
                vars.map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy()))
                    .collect()
            }
            Self::Http(http) => {
                let headers = http.headers.iter();
                headers
                    .map(|(name, value)| (name.as_str().into(), value.expose().into()))
                    .collect()
            }
            Self::Streams(_) => Vec::new(),
        }
    }

    /// What tells this server from others, for a digest. Variables count by name only: their values
    /// may be secrets, and a digest of a short secret gives it away.
    pub fn identity(&self) -> Vec<String> {
        match self {
            Self::Stdio(_) => {
                let folder = self.folder().map(|folder| folder.display().to_string());
                let mut words = vec!["stdio".to_owned(), folder.unwrap_or_default()];
                words.extend(self.values().into_iter().map(|(name, _)| name.into_owned()));
                words.extend(self.words().into_iter().map(Cow::into_owned));
                words
            }
            Self::Http(http) => vec!["http".to_owned(), http.url.clone()],
            Self::Streams(_) => vec!["streams".to_owned()],
        }
    }
}

/// The program with its arguments, or the URL, as a person would type it.
impl fmt::Display for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_every_value() {
        let launch = Launch::new("server").var("TOKEN", "hunter2");
        let mut http = HttpServer::new("https://example.org/mcp");
        http.headers
            .insert("authorization".to_owned(), "Bearer hunter2".into());
        for transport in [Transport::Stdio(launch), Transport::Http(http)] {
            let shown = format!("{transport:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn a_transport_tells_what_it_is() {
        let launch = Launch::new("uvx")
            .args(["mcp-server-time"])
            .var("ZONE", "UTC")
            .var("A", "b")
            .cwd("/srv");
        let stdio = Transport::Stdio(launch);
        let mut http = HttpServer::new("http://127.0.0.1:9/mcp");
        http.flavor = HttpFlavor::Sse;
        let http = Transport::Http(http);
        let (read, write) = tokio::io::split(tokio::io::duplex(1).0);
        let streams = Transport::Streams(Streams::new(read, write));
        for (transport, kind, shown, identity) in [
            (
                &stdio,
                "stdio",
                "uvx mcp-server-time",
                &["stdio", "/srv", "A", "ZONE", "uvx", "mcp-server-time"][..],
            ),
            (
                &http,
                "sse",
                "http://127.0.0.1:9/mcp",
                &["http", "http://127.0.0.1:9/mcp"],
            ),
            (&streams, "streams", "", &["streams"]),
        ] {
            assert_eq!(transport.kind(), kind);
            assert_eq!(transport.to_string(), shown);
            assert_eq!(transport.identity(), identity);
        }
        assert_eq!(streams, streams.clone());
        assert_ne!(stdio, http);
    }
}
