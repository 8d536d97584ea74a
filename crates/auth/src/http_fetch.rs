//! [`Fetch`] over real HTTP, guarded against being sent where it must not go (S6, C-SEC-07).
//!
//! Owns the guard: addresses are checked as text, names are resolved here and the connection goes
//! to the very addresses that were checked, redirects are followed one by one with the same checks.
//! Knows nothing of OAuth.

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache_net::{Proxy, Route, Unreachable, quoted, tls};
use bytes::{Bytes, BytesMut};
use http::Method;
use http::header::{CONTENT_TYPE, LOCATION};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use super::BoxFuture;
use super::address::{AddressProblem, Reach, UnsafeAddress, Zone, shown};
use super::error::AuthorizationError;
use super::fetch::{Fetch, FetchRequest, FetchResponse, MAX_BODY};

/// How long one request may take, redirects included.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// How many redirects a request for metadata follows.
pub const MAX_REDIRECTS: usize = 3;

/// Makes guarded requests on behalf of one server.
pub struct HttpFetch {
    reach: Reach,
    timeout: Duration,
    ca_file: Option<PathBuf>,
    proxy: Proxy,
    /// Built when first used: most processes never log in.
    clients: Clients,
}

/// Addresses on this machine need no roots of trust, so these are read for others only.
#[derive(Default)]
struct Clients {
    plain: OnceLock<reqwest::Client>,
    secure: OnceLock<reqwest::Client>,
}

impl HttpFetch {
    /// Reaches what a server at this address may point to, and waits [`FETCH_TIMEOUT`].
    pub fn new(server: &Url) -> Self {
        Self {
            reach: Reach::of_server(server),
            timeout: FETCH_TIMEOUT,
            ca_file: None,
            proxy: Proxy::default(),
            clients: Clients::default(),
        }
    }

    /// Reaches further or less far than the server's address says.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Waits longer or shorter than [`FETCH_TIMEOUT`].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Trusts the certificates of this file beside the platform's.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// How requests travel. A proxy resolves names itself, so it is the one to guard the private
    /// network then.
    #[must_use]
    pub fn proxy(mut self, proxy: Proxy) -> Self {
        self.proxy = proxy;
        self
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, AuthorizationError> {
        let route = self.proxy.route_to(url);
        let route = route.map_err(|problem| failed(url, &problem))?;
        let kept = match route.needs_tls() {
            true => &self.clients.secure,
            false => &self.clients.plain,
        };
        if let Some(client) = kept.get() {
            return Ok(client);
        }
        let client = self.build(&route);
        let client = client.map_err(|problem| failed(url, &problem))?;
        Ok(kept.get_or_init(|| client))
    }

    fn build(&self, route: &Route) -> Result<reqwest::Client, String> {
        let resolver = GuardedResolver {
            reach: self.reach,
            proxies: proxy_hosts(&self.proxy, |name| std::env::var(name).ok()),
        };
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::settings(route, self.ca_file.as_deref())?)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .dns_resolver(Arc::new(resolver));
        let builder = self.proxy.apply(builder)?;
        builder.build().map_err(|error| cause(&error))
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
        let client = self.client(&request.url)?;
        let mut outgoing = client.request(request.method.clone(), request.url.clone());
        for (name, value) in &request.headers {
            outgoing = outgoing.header(name, value);
        }
        if let Some((media_type, body)) = request.encoded_body() {
            outgoing = outgoing.header(CONTENT_TYPE, media_type).body(body);
        }
        let mut response = outgoing
            .send()
            .await
            .map_err(|error| self.classified(&request.url, &error))?;
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

    /// A refusal by the resolver comes back wrapped several times.
    fn classified(&self, url: &Url, error: &reqwest::Error) -> AuthorizationError {
        let mut inner: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(current) = inner {
            if let Some(blocked) = current.downcast_ref::<Blocked>() {
                let problem = AddressProblem::Zone(blocked.zone);
                return UnsafeAddress::new(url, problem).into();
            }
            inner = current.source();
        }
        match self.proxy.route_to(url) {
            Ok(route) if error.is_connect() => {
                failed(url, &Unreachable::from_error(error, &route).to_string())
            }
            _ => failed(url, &cause(error)),
        }
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
#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that is off limits")]
struct Blocked {
    zone: Zone,
}

/// The hosts of the proxies in use.
fn proxy_hosts(proxy: &Proxy, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let addresses = match proxy {
        Proxy::Direct => Vec::new(),
        Proxy::Address(address) => vec![address.clone()],
        Proxy::Environment => [
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "ALL_PROXY",
            "all_proxy",
        ]
        .into_iter()
        .filter_map(variable)
        .collect(),
    };
    let hosts = addresses.into_iter().filter_map(|address| {
        let with_scheme = if address.contains("://") {
            address
        } else {
            format!("http://{address}")
        };
        let url = Url::parse(&with_scheme).ok()?;
        url.host_str().map(str::to_owned)
    });
    hosts.collect()
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
        let hosts = |proxy: Proxy| proxy_hosts(&proxy, environment);
        assert_eq!(hosts(Proxy::Environment), ["proxy.corp", "other.corp"]);
        assert_eq!(hosts(Proxy::Address("socks5://s:1".to_owned())), ["s"]);
        assert!(hosts(Proxy::Direct).is_empty());
    }

    /// S6: a name is judged by the addresses it resolves to. `localhost` resolves everywhere; to the
    /// resolver it is a name like any other.
    #[tokio::test]
    async fn names_are_judged_by_their_addresses() {
        let resolve = async |reach: Reach, proxies: &[&str]| {
            let resolver = GuardedResolver {
                reach,
                proxies: proxies.iter().map(|proxy| (*proxy).to_owned()).collect(),
            };
            let name: Name = "localhost".parse().unwrap();
            match resolver.resolve(name).await {
                Ok(addresses) => {
                    assert!(addresses.count() > 0);
                    None
                }
                Err(error) => error.downcast_ref::<Blocked>().map(|blocked| blocked.zone),
            }
        };
        assert_eq!(resolve(Reach::Public, &[]).await, Some(Zone::Loopback));
        assert_eq!(
            resolve(Reach::Private, &["proxy"]).await,
            Some(Zone::Loopback)
        );
        assert_eq!(resolve(Reach::Loopback, &[]).await, None);
        assert_eq!(resolve(Reach::Public, &["localhost"]).await, None);
    }
}
