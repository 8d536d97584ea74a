//! [`Fetch`] over real HTTP, guarded against being sent where it must not go (S6, C-SEC-07).
//!
//! Owns the guard: addresses are checked as text, names are resolved here and the connection goes
//! to the very addresses that were checked, redirects are followed one by one with the same checks.
//! Knows nothing of OAuth.

use std::error::Error as StdError;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::Method;
use http::header::{CONTENT_TYPE, LOCATION};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use super::BoxFuture;
use super::address::{AddressProblem, Reach, UnsafeAddress, Zone, shown};
use super::error::{AuthorizationError, quoted};
use super::fetch::{Fetch, FetchRequest, FetchResponse, MAX_BODY};

/// How long one request may take, redirects included.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// How many redirects a request for metadata follows.
pub const MAX_REDIRECTS: usize = 3;

/// Makes guarded requests.
pub struct HttpFetch {
    client: reqwest::Client,
    reach: Reach,
    timeout: Duration,
}

impl HttpFetch {
    /// Guards the client that `settings` describe: its roots of trust and proxies stay, its
    /// redirects and name resolution are replaced.
    pub fn new(settings: reqwest::ClientBuilder, reach: Reach) -> Result<Self, AuthorizationError> {
        let client = settings
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(GuardedResolver {
                reach,
                proxies: proxy_hosts(|name| std::env::var(name).ok()),
            }))
            .build()
            .map_err(|error| AuthorizationError::Fetch {
                address: "any address".to_owned(),
                problem: cause(&error),
            })?;
        Ok(Self {
            client,
            reach,
            timeout: FETCH_TIMEOUT,
        })
    }

    /// Waits longer or shorter than [`FETCH_TIMEOUT`].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn follow(&self, mut request: FetchRequest) -> Result<FetchResponse, AuthorizationError> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.once(&request).await?;
            let redirect = response.headers.get(LOCATION);
            let redirect = redirect.filter(|_| response.status.is_redirection());
            let Some(location) = redirect.and_then(|location| location.to_str().ok()) else {
                return Ok(response);
            };
            if request.method != Method::GET {
                return Err(failed(
                    &request.url,
                    "it redirects what is meant for it alone",
                ));
            }
            request.url = request
                .url
                .join(location)
                .map_err(|_| failed(&request.url, "it redirects to no address"))?;
        }
        Err(failed(&request.url, "too many redirects"))
    }

    async fn once(&self, request: &FetchRequest) -> Result<FetchResponse, AuthorizationError> {
        self.reach.check(&request.url)?;
        let mut outgoing = self
            .client
            .request(request.method.clone(), request.url.clone());
        for (name, value) in &request.headers {
            outgoing = outgoing.header(name, value);
        }
        if let Some((media_type, body)) = request.encoded_body() {
            outgoing = outgoing.header(CONTENT_TYPE, media_type).body(body);
        }
        let mut response = outgoing
            .send()
            .await
            .map_err(|error| classified(&request.url, &error))?;
        let status = response.status();
        let headers = response.headers().clone();
        let body = bounded_body(&mut response)
            .await
            .map_err(|problem| failed(&request.url, &problem))?;
        Ok(FetchResponse {
            url: request.url.clone(),
            status,
            headers,
            body,
        })
    }
}

impl Fetch for HttpFetch {
    fn fetch(
        &self,
        request: FetchRequest,
    ) -> BoxFuture<'_, Result<FetchResponse, AuthorizationError>> {
        Box::pin(async move {
            let url = request.url.clone();
            match tokio::time::timeout(self.timeout, self.follow(request)).await {
                Ok(answer) => answer,
                Err(_) => Err(failed(
                    &url,
                    &format!("no answer within {:?}", self.timeout),
                )),
            }
        })
    }
}

async fn bounded_body(response: &mut reqwest::Response) -> Result<Bytes, String> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cause(&error))? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(format!("the answer is longer than {MAX_BODY} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn failed(url: &Url, problem: &str) -> AuthorizationError {
    AuthorizationError::Fetch {
        address: shown(url),
        problem: problem.to_owned(),
    }
}

/// A refusal by the resolver comes back wrapped several times.
fn classified(url: &Url, error: &reqwest::Error) -> AuthorizationError {
    let mut inner: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(current) = inner {
        if let Some(blocked) = current.downcast_ref::<Blocked>() {
            let problem = AddressProblem::Zone(blocked.zone);
            return UnsafeAddress::new(url, problem).into();
        }
        inner = current.source();
    }
    failed(url, &cause(error))
}

/// The innermost reason: the layers above only say that a request failed, with its full address.
fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn StdError = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    quoted(&inner.to_string())
}

/// Resolves names and lets only permitted addresses through. The connection is made to these
/// addresses, so a name cannot change its mind between check and use.
struct GuardedResolver {
    reach: Reach,
    /// Proxies are chosen by the user and may stand in the private network.
    proxies: Vec<String>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.reach;
        let is_proxy = self.proxies.iter().any(|proxy| proxy == name.as_str());
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if is_proxy {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            // One bad address spoils the name: an honest one has no reason to mix.
            for address in &found {
                if let Err(zone) = reach.check_ip(address.ip()) {
                    return Err(Box::new(Blocked { zone }) as Box<dyn StdError + Send + Sync>);
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A name led to an address that is off limits.
#[derive(Debug)]
struct Blocked {
    zone: Zone,
}

impl fmt::Display for Blocked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name leads to an address that is off limits")
    }
}

impl StdError for Blocked {}

/// The hosts of the proxies that the environment names.
fn proxy_hosts(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
    ]
    .into_iter()
    .filter_map(variable)
    .filter_map(|proxy| {
        let with_scheme = if proxy.contains("://") {
            proxy
        } else {
            format!("http://{proxy}")
        };
        let url = Url::parse(&with_scheme).ok()?;
        url.host_str().map(str::to_owned)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_known_by_host() {
        let environment = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://user@proxy.corp:3128".to_owned()),
            "http_proxy" => Some("other.corp:80".to_owned()),
            _ => None,
        };
        assert_eq!(proxy_hosts(environment), ["proxy.corp", "other.corp"]);
    }
}
