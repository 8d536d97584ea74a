//! Why there is no connection to a server behind an address: who failed, and how.
//!
//! Owns the way from the HTTP client's nested errors to one kind, one cause and one remedy. Refuses
//! to know what was to be sent over the connection.

use std::error::Error as StdError;
use std::{fmt, io};

use rustls::CertificateError;

use crate::proxy::{Route, Security};
use crate::quote::quoted;

/// Nothing of a request was sent, as nobody took the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// In which way.
    pub kind: UnreachableKind,
    /// The server, as host and port.
    pub server: String,
    /// The proxy on the way to it, without its credentials.
    pub proxy: Option<String>,
    /// What the system or the other side says about it; may be empty.
    pub text: String,
}

/// The ways in which a connection does not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreachableKind {
    /// The server's name leads to no address.
    NameNotResolved,
    /// Nobody listens there.
    Refused,
    /// The network has no way there.
    NoRoute,
    /// Nobody took the connection in time.
    TimedOut,
    /// The server's certificate was signed by a root that is not trusted here.
    UnknownRoot,
    /// The server's certificate is for another name.
    OtherName,
    /// The server's certificate has expired.
    Expired,
    /// The server's certificate is not valid yet.
    NotYetValid,
    /// The server's certificate is wrong in another way.
    BadCertificate,
    /// What answers speaks no TLS.
    NoTls,
    /// TLS failed in another way.
    Tls,
    /// There is no connection to the proxy.
    ProxyUnreachable,
    /// The proxy wants a name and a password, or others.
    ProxyCredentials,
    /// The proxy does not let the connection through.
    ProxyRefused,
    /// Anything else.
    Other,
}

impl Unreachable {
    /// Finds out from the HTTP client's error what happened on the route.
    pub fn from_error(error: &reqwest::Error, route: &Route) -> Self {
        let (kind, text) = classified(error, route);
        Self {
            kind,
            server: route.server.clone(),
            proxy: route.proxy.clone(),
            text,
        }
    }

    /// A proxy that passes requests on itself refused one, so the server never saw it.
    pub fn for_want_of_credentials(route: &Route) -> Option<Self> {
        let passes_on = route.proxy.is_some() && route.security == Security::Plain;
        passes_on.then(|| Self {
            kind: UnreachableKind::ProxyCredentials,
            server: route.server.clone(),
            proxy: route.proxy.clone(),
            text: String::new(),
        })
    }

    /// What happened, as one sentence without an end.
    pub fn cause(&self) -> String {
        use UnreachableKind as Kind;
        let Self { server, text, .. } = self;
        let proxy = self.proxy.as_deref().unwrap_or("on the way");
        let certificate = format!("the certificate of {server}");
        let what = match self.kind {
            Kind::NameNotResolved => format!("the name of {server} leads to no address"),
            Kind::Refused => format!("{server} takes no connections"),
            Kind::NoRoute => format!("the network has no way to {server}"),
            Kind::TimedOut => format!("{server} did not take the connection in time"),
            Kind::UnknownRoot => format!("{certificate} comes from a root not trusted here"),
            Kind::OtherName => format!("{certificate} is for another name"),
            Kind::Expired => format!("{certificate} has expired"),
            Kind::NotYetValid => format!("{certificate} is not valid yet"),
            Kind::BadCertificate => format!("{certificate} cannot be accepted"),
            Kind::NoTls => format!("{server} does not speak TLS"),
            Kind::Tls => format!("TLS failed with {server}"),
            Kind::ProxyUnreachable => format!("the proxy {proxy} cannot be reached"),
            Kind::ProxyCredentials => {
                format!("the proxy {proxy} wants a name and a password, or others")
            }
            Kind::ProxyRefused => format!("the proxy {proxy} opens no way to {server}"),
            Kind::Other => format!("no connection to {server}"),
        };
        let through = match &self.proxy {
            Some(proxy) if !self.kind.is_of_proxy() => format!("through the proxy {proxy}"),
            _ => String::new(),
        };
        match (through.as_str(), text.as_str()) {
            ("", "") => what,
            ("", one) | (one, "") => format!("{what} ({one})"),
            (through, text) => format!("{what} ({through}; {text})"),
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        use UnreachableKind as Kind;
        match self.kind {
            Kind::NameNotResolved => "check the spelling of the address, and the network",
            Kind::Refused => "check that it runs, and the port in its address",
            Kind::NoRoute => "check the network, and the address",
            Kind::TimedOut => {
                "check the address, and whether a firewall or a missing proxy stands between"
            }
            Kind::UnknownRoot => {
                "if you trust it, name a file with its root certificate as `ca_file`"
            }
            Kind::OtherName => {
                "use a name the certificate is for, or have the server use one for this name"
            }
            Kind::Expired => {
                "have the server's certificate renewed, and check this machine's clock"
            }
            Kind::NotYetValid => "check this machine's clock, and the server's certificate",
            Kind::BadCertificate => {
                "have the server use a certificate made for servers and signed by a root"
            }
            Kind::NoTls => {
                "begin the address with http: if that is meant, or use the port that speaks TLS"
            }
            Kind::Tls => "check that the port is one for TLS 1.2 or newer",
            Kind::ProxyUnreachable => {
                "check the proxy's address in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, or list the \
                 server in NO_PROXY"
            }
            Kind::ProxyCredentials => {
                "give them in the proxy's address, as in http://NAME:PASSWORD@HOST:PORT"
            }
            Kind::ProxyRefused => {
                "check that the proxy can and may reach the server, or list the server in NO_PROXY"
            }
            Kind::Other => "check that it runs, its address, and any proxy between",
        }
    }
}

impl UnreachableKind {
    /// Whether it is the proxy that failed, not the server behind it.
    pub fn is_of_proxy(self) -> bool {
        matches!(
            self,
            Self::ProxyUnreachable | Self::ProxyCredentials | Self::ProxyRefused
        )
    }

    /// Whether the connection was there and TLS did not come about over it.
    pub fn is_of_tls(self) -> bool {
        matches!(
            self,
            Self::UnknownRoot
                | Self::OtherName
                | Self::Expired
                | Self::NotYetValid
                | Self::BadCertificate
                | Self::NoTls
                | Self::Tls
        )
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.cause(), self.remedy())
    }
}

impl StdError for Unreachable {}

/// How a proxy failed to open a tunnel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TunnelFailure {
    Connecting,
    Credentials,
    Refused,
}

fn classified(error: &reqwest::Error, route: &Route) -> (UnreachableKind, String) {
    let cause = chain(error).last().filter(|cause| !is_outermost(*cause));
    // What the other side sends can be part of it, such as the names in a certificate (S13).
    let said = cause.map(|cause| quoted(&cause.to_string()));
    let said = said.unwrap_or_default();
    match (
        chain(error).find_map(tunnel_failure),
        &route.proxy,
        route.security,
    ) {
        (Some(TunnelFailure::Credentials), ..) => {
            (UnreachableKind::ProxyCredentials, String::new())
        }
        (Some(TunnelFailure::Refused), ..) => (UnreachableKind::ProxyRefused, String::new()),
        // Without TLS the proxy is all this client ever connects to.
        (Some(TunnelFailure::Connecting), ..) | (None, Some(_), Security::Plain) => {
            (UnreachableKind::ProxyUnreachable, said)
        }
        (None, ..) => (of_server(error, route.security), said),
    }
}

/// The failure of a connection to the server itself.
fn of_server(error: &reqwest::Error, security: Security) -> UnreachableKind {
    if let Some(tls) = chain(error).find_map(|it| it.downcast_ref::<rustls::Error>()) {
        return of_tls(tls);
    }
    if error.is_dns() {
        return UnreachableKind::NameNotResolved;
    }
    if error.is_timeout() {
        return UnreachableKind::TimedOut;
    }
    let system = chain(error).filter_map(|it| it.downcast_ref::<io::Error>());
    match (system.last().map(io::Error::kind), security) {
        (Some(io::ErrorKind::ConnectionRefused), _) => UnreachableKind::Refused,
        (Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable), _) => {
            UnreachableKind::NoRoute
        }
        // A connection that was never there cannot end, so it ended in the handshake of TLS.
        (
            Some(
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe,
            ),
            Security::Tls,
        ) => UnreachableKind::Tls,
        _ => UnreachableKind::Other,
    }
}

fn of_tls(error: &rustls::Error) -> UnreachableKind {
    use CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            // A bad signature is that of another root with a known name, such as one made anew.
            Bad::UnknownIssuer | Bad::BadSignature => UnreachableKind::UnknownRoot,
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => UnreachableKind::OtherName,
            Bad::Expired | Bad::ExpiredContext { .. } => UnreachableKind::Expired,
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => UnreachableKind::NotYetValid,
            _ => UnreachableKind::BadCertificate,
        },
        // The first bytes are no record of TLS: a web server that complains in plain text.
        rustls::Error::InvalidMessage(_) => UnreachableKind::NoTls,
        _ => UnreachableKind::Tls,
    }
}

/// The HTTP client does not let its type be named, so its text is all there is; the tests over real
/// sockets tell when that changes.
fn tunnel_failure(error: &(dyn StdError + 'static)) -> Option<TunnelFailure> {
    let text = error.to_string();
    let problem = text.strip_prefix("tunnel error: ")?;
    Some(match (problem, error.source()) {
        ("proxy authorization required", _) => TunnelFailure::Credentials,
        (_, Some(_)) => TunnelFailure::Connecting,
        (_, None) => TunnelFailure::Refused,
    })
}

/// An error and all that led to it.
fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| beneath(*error))
}

fn beneath<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    // An error of the system around another one passes for it: its source is that one's source.
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

/// Its text holds the whole address, in which there may be a secret.
fn is_outermost(error: &(dyn StdError + 'static)) -> bool {
    error.is::<reqwest::Error>()
}

/// The error that started it all: the outer ones only say that a request failed.
pub fn innermost(error: &reqwest::Error) -> String {
    let cause = chain(error).last().filter(|cause| !is_outermost(*cause));
    cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(kind: UnreachableKind, proxy: Option<&str>) -> Unreachable {
        Unreachable {
            kind,
            server: "mcp.example:443".to_owned(),
            proxy: proxy.map(str::to_owned),
            text: "the system's words".to_owned(),
        }
    }

    #[test]
    fn cause_and_remedy_name_who_failed() {
        let proxy = Some("http://proxy:3128");
        for (kind, proxy, told) in [
            (
                UnreachableKind::Refused,
                None,
                "mcp.example:443 takes no connections (the system's words); check that it runs, \
                 and the port in its address",
            ),
            (
                UnreachableKind::UnknownRoot,
                proxy,
                "the certificate of mcp.example:443 comes from a root not trusted here (through \
                 the proxy http://proxy:3128; the system's words); if you trust it, name a file with \
                 its root certificate as `ca_file`",
            ),
            (
                UnreachableKind::ProxyUnreachable,
                proxy,
                "the proxy http://proxy:3128 cannot be reached (the system's words); check the \
                 proxy's address in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, or list the server in \
                 NO_PROXY",
            ),
        ] {
            assert_eq!(unreachable(kind, proxy).to_string(), told);
        }
    }

    #[test]
    fn an_error_inside_a_system_error_is_found() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let outer = io::Error::other(io::Error::other(tls));
        let found = chain(&outer).find_map(|it| it.downcast_ref::<rustls::Error>());
        assert_eq!(found.map(of_tls), Some(UnreachableKind::UnknownRoot));
    }
}
