//! Which proxy stands between this client and a server.
//!
//! Owns the choice, so that whatever fails on the way can be named. Refuses to know what fails, and
//! never shows a proxy's password.

use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

/// How requests to a server travel.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    /// Directly. A library does not read the user's environment unless told to.
    #[default]
    Direct,
    /// As `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    Environment,
    /// Through the proxy at this address.
    Address(String),
}

impl fmt::Debug for Proxy {
    /// An address may hold a password, so it is not shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Direct => "Direct",
            Self::Environment => "Environment",
            Self::Address(_) => "Address(…)",
        })
    }
}

impl Proxy {
    /// The way to an address, or why there is none.
    pub fn route_to(&self, url: &Url) -> Result<Route, String> {
        let matcher = match self {
            Self::Direct => return Ok(Route::direct(url)),
            // The HTTP client asks the same matcher, so both see the same proxy.
            Self::Environment => Matcher::from_system(),
            Self::Address(address) => Matcher::builder().all(address.as_str()).build(),
        };
        let destination: http::Uri = match url.as_str().parse() {
            Ok(destination) => destination,
            Err(_) => return Err("the address is too odd for HTTP".to_owned()),
        };
        let Some(found) = matcher.intercept(&destination) else {
            return match self {
                // The address may hold a password and is not shown.
                Self::Address(_) => Err("the proxy's address is none; write it as \
                     http://HOST:PORT"
                    .to_owned()),
                _ => Ok(Route::direct(url)),
            };
        };
        // The matcher keeps name and password apart from the address.
        let shown = found.uri().to_string();
        let shown = shown.trim_end_matches('/').to_owned();
        match found.uri().scheme_str() {
            Some("http" | "https") => Ok(Route {
                proxy: Some(shown),
                ..Route::direct(url)
            }),
            _ => Err(format!(
                "the proxy {shown} is to be spoken to in SOCKS, which this client does not speak; \
                 name an http: or https: proxy, or list the server in NO_PROXY"
            )),
        }
    }

    /// The same for the HTTP client that will take the route.
    pub fn apply(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, String> {
        match self {
            Self::Direct => Ok(builder.no_proxy()),
            Self::Environment => Ok(builder),
            Self::Address(address) => {
                // Its error would show the address, and with it the password.
                let proxy = reqwest::Proxy::all(address)
                    .map_err(|_| "the proxy's address cannot be used".to_owned())?;
                Ok(builder.no_proxy().proxy(proxy))
            }
        }
    }
}

/// Who has to be passed to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The server, as host and port.
    pub server: String,
    /// Whether it is spoken to in TLS.
    pub security: Security,
    /// The proxy, without its credentials.
    pub proxy: Option<String>,
}

/// Whether the server is spoken to in TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// It is not.
    Plain,
    /// It is.
    Tls,
}

impl Route {
    /// The way without a proxy.
    pub fn direct(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        Self {
            server: match url.port_or_known_default() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
            security: match url.scheme() {
                "https" => Security::Tls,
                _ => Security::Plain,
            },
            proxy: None,
        }
    }

    /// Whether anybody on the way is spoken to in TLS.
    pub fn needs_tls(&self) -> bool {
        let proxy = self.proxy.as_deref().unwrap_or_default();
        self.security == Security::Tls || proxy.starts_with("https:")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(proxy: &str, url: &str) -> Result<Route, String> {
        Proxy::Address(proxy.to_owned()).route_to(&Url::parse(url).unwrap())
    }

    #[test]
    fn a_proxy_is_shown_without_its_password() {
        for (address, shown) in [
            ("http://proxy.corp:3128", "http://proxy.corp:3128"),
            ("proxy.corp:3128", "http://proxy.corp:3128"),
            (
                "http://me:s3cret@proxy.corp:3128/",
                "http://proxy.corp:3128",
            ),
            ("https://me:s3cret@proxy.corp", "https://proxy.corp"),
        ] {
            let route = route(address, "https://mcp.example/x?key=1").unwrap();
            assert_eq!(route.proxy.as_deref(), Some(shown), "{address}");
            assert_eq!(route.server, "mcp.example:443");
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_told_without_its_password() {
        for (address, part) in [
            (
                "socks5://me:s3cret@proxy.corp:1080",
                "socks5://proxy.corp:1080",
            ),
            ("ftp://me:s3cret@proxy.corp", "http://HOST:PORT"),
            ("", "http://HOST:PORT"),
        ] {
            let problem = route(address, "https://mcp.example/").unwrap_err();
            assert!(problem.contains(part), "{problem}");
            assert!(!problem.contains("s3cret"), "{problem}");
        }
    }

    #[test]
    fn tls_is_needed_for_the_server_or_for_the_proxy() {
        for (proxy, url, needed) in [
            ("http://p:1", "http://s/", false),
            ("http://p:1", "https://s/", true),
            ("https://p:1", "http://s/", true),
        ] {
            assert_eq!(
                route(proxy, url).unwrap().needs_tls(),
                needed,
                "{proxy} {url}"
            );
        }
    }
}
