//! Which server is looked at, as plain data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use attache_net::{Proxy, tls};
use attache_process::Launch;
use url::Url;

use crate::trace::quoted;

/// The server to look at.
#[derive(Clone, Debug)]
pub enum Target {
    /// A program, spoken to over its standard streams.
    Stdio(StdioTarget),
    /// A server behind a URL, over Streamable HTTP.
    Http(HttpTarget),
    /// A server behind a URL, over the older HTTP+SSE.
    Sse(HttpTarget),
}

/// A server to be started.
#[derive(Clone, Debug)]
pub struct StdioTarget {
    /// How it is started.
    pub launch: Launch,
}

/// A server that listens.
#[derive(Clone, Debug)]
pub struct HttpTarget {
    /// Where it is.
    pub url: String,
    /// Headers for every request. Their values are hidden from reports.
    pub headers: BTreeMap<String, String>,
    /// A file with more root certificates, in PEM.
    pub ca_file: Option<PathBuf>,
    /// How requests travel.
    pub proxy: Proxy,
}

impl Target {
    /// The transport in a word.
    pub fn transport(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "http+sse",
        }
    }

    /// As a person would type it.
    pub fn words(&self) -> String {
        match self {
            Self::Stdio(stdio) => stdio.command_line(),
            Self::Http(http) | Self::Sse(http) => http.url.clone(),
        }
    }

    /// Values that may be secrets and appear in no report.
    pub(crate) fn secrets(&self) -> Vec<String> {
        /// A shorter value occurs everywhere by chance.
        const SHORTEST: usize = 6;
        let values: Vec<String> = match self {
            Self::Stdio(stdio) => {
                let values = stdio.launch.vars.values();
                values
                    .map(|value| value.to_string_lossy().into_owned())
                    .collect()
            }
            Self::Http(http) | Self::Sse(http) => http.headers.values().cloned().collect(),
        };
        values
            .into_iter()
            .filter(|value| value.len() >= SHORTEST)
            .collect()
    }
}

impl StdioTarget {
    /// The command for a shell.
    pub(crate) fn command_line(&self) -> String {
        let words = self.launch.words();
        let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        words.join(" ")
    }
}

impl HttpTarget {
    pub(crate) fn client(&self) -> Result<reqwest::Client, String> {
        let url = Url::parse(&self.url).map_err(|error| format!("{}: {error}", self.url))?;
        let route = self.proxy.route_to(&url)?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::settings(&route, self.ca_file.as_deref())?)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true);
        self.proxy
            .apply(builder)?
            .build()
            .map_err(|error| format!("HTTP cannot be set up: {error}"))
    }
}
