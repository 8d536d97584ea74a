//! Who may ask at all (S1, S27): the name the console is asked by, the page that asks, the token.
//!
//! Cookies know no ports and browsers let pages of other local ports ask (`same-site`), so nothing
//! here rests on where a request comes from alone: the token decides, and what a browser says of
//! the page behind a request can only refuse it.

use std::net::SocketAddr;
use std::time::Instant;

use attache::server::http::Peer;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode};

use crate::error::ApiError;
use crate::opening::OpeningCode;
use crate::token::{Token, WrongTokens};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Under which names the console is reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// What `Host` may say.
    authorities: Vec<String>,
    /// What `Origin` may say.
    origins: Vec<String>,
}

/// How a browser reaches the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    /// Here, or at the proxy before it.
    Https,
}

impl Names {
    /// The names of the addresses that are listened at, and more that a user has given.
    pub(crate) fn new(bound: &[SocketAddr], more: &[String], scheme: Scheme) -> Self {
        let (scheme, usual) = match scheme {
            Scheme::Http => ("http", 80),
            Scheme::Https => ("https", 443),
        };
        let mut authorities = Vec::new();
        for address in bound {
            let ip = match address.ip() {
                // Who asks for "all addresses" asks by a name that was given.
                ip if ip.is_unspecified() => None,
                std::net::IpAddr::V4(ip) => Some(ip.to_string()),
                std::net::IpAddr::V6(ip) => Some(format!("[{ip}]")),
            };
            let local = address.ip().is_loopback().then(|| "localhost".to_owned());
            for name in ip.into_iter().chain(local).chain(more.iter().cloned()) {
                authorities.push(format!("{name}:{}", address.port()));
                if address.port() == usual {
                    authorities.push(name);
                }
            }
        }
        // Behind a proxy the port is the proxy's.
        authorities.extend(more.iter().cloned());
        authorities.sort_unstable();
        authorities.dedup();
        let origins = authorities.iter().map(|it| format!("{scheme}://{it}"));
        Self {
            origins: origins.collect(),
            authorities,
        }
    }

    /// Refuses a request under another name, of another page, or of a page of another site.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let forbidden =
            |message: &str| ApiError::console(StatusCode::FORBIDDEN, "forbidden", message);
        // A name that leads here without being ours is a rebound one.
        let host = only(headers, &HOST).unwrap_or_default();
        if !self
            .authorities
            .iter()
            .any(|it| it.eq_ignore_ascii_case(host))
        {
            return Err(forbidden("the console is not served under this name")
                .hint("use the link that `attache web` printed"));
        }
        if headers.contains_key(ORIGIN) {
            let origin = only(headers, &ORIGIN).unwrap_or_default();
            if !self
                .origins
                .iter()
                .any(|it| it.eq_ignore_ascii_case(origin))
            {
                return Err(forbidden("pages of this origin may not ask"));
            }
        }
        match only(headers, &SEC_FETCH_SITE) {
            None if headers.contains_key(SEC_FETCH_SITE) => {}
            // `none`: a person typed the address or opened a bookmark.
            None | Some("same-origin" | "none") => return Ok(()),
            Some(_) => {}
        }
        Err(forbidden(
            "pages of other sites may not ask, those of other ports included",
        ))
    }
}

/// Refuses a request without the token. Where it may be asked for, a code opens too.
pub(crate) fn admit(
    token: &Token,
    opening: Option<&OpeningCode>,
    wrong: &WrongTokens,
    headers: &HeaderMap,
    peer: Option<&Peer>,
) -> Result<(), ApiError> {
    let given = only(headers, &AUTHORIZATION).and_then(|it| {
        let (scheme, given) = it.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| given.trim())
    });
    let unauthorized = |message: &str| {
        ApiError::console(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .hint("open the link that `attache web` printed; it holds the token of this launch")
    };
    match given {
        None => Err(unauthorized("a bearer token is required")),
        Some(given) if token.is(given) => Ok(()),
        Some(given)
            if opening.is_some_and(|code| {
                code.redeem(given, peer.map(|Peer(peer)| peer.port()), Instant::now())
            }) =>
        {
            Ok(())
        }
        Some(_) => {
            let noted = peer.is_none_or(|Peer(peer)| wrong.note(peer.ip(), Instant::now()));
            match noted {
                true => Err(unauthorized("that is not the token of this launch")),
                false => Err(ApiError::console(
                    StatusCode::TOO_MANY_REQUESTS,
                    "too_many",
                    "too many wrong tokens; wait a second",
                )),
            }
        }
    }
}

/// The value of a header that comes once and is text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[track_caller]
    fn check(names: &Names, pairs: &[(&str, &str)], passes: bool) {
        assert_eq!(names.check(&headers(pairs)).is_ok(), passes, "{pairs:?}");
    }

    fn local() -> Names {
        let bound = ["127.0.0.1:81".parse().unwrap(), "[::1]:81".parse().unwrap()];
        Names::new(&bound, &[], Scheme::Http)
    }

    #[test]
    fn s1_only_own_names_with_their_port() {
        for host in ["127.0.0.1:81", "[::1]:81", "localhost:81", "LOCALHOST:81"] {
            check(&local(), &[("host", host)], true);
        }
        for host in [
            "",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:82",
            "evil.example:81",
            "127.0.0.1:81.evil",
        ] {
            check(&local(), &[("host", host)], false);
        }
        check(&local(), &[], false);
        check(
            &local(),
            &[("host", "localhost:81"), ("host", "evil.example")],
            false,
        );
    }

    #[test]
    fn s1_only_own_pages() {
        let from = |origin: &'static str| [("host", "localhost:81"), ("origin", origin)];
        for origin in [
            "http://localhost:81",
            "http://127.0.0.1:81",
            "http://[::1]:81",
        ] {
            check(&local(), &from(origin), true);
        }
        for origin in [
            "null",
            "",
            "http://localhost:82",
            "http://localhost",
            "https://localhost:81",
            "http://evil.example",
            "http://localhost:81.evil.example",
        ] {
            check(&local(), &from(origin), false);
        }
    }

    #[test]
    fn s27_pages_of_other_ports_are_refused() {
        for (site, passes) in [
            ("same-origin", true),
            ("none", true),
            ("same-site", false),
            ("cross-site", false),
            ("", false),
        ] {
            check(
                &local(),
                &[("host", "localhost:81"), ("sec-fetch-site", site)],
                passes,
            );
        }
    }

    #[test]
    fn names_behind_a_proxy_and_on_usual_ports() {
        let bound = ["0.0.0.0:8443".parse().unwrap()];
        let names = Names::new(&bound, &["box.example".to_owned()], Scheme::Https);
        let own = [("host", "box.example"), ("origin", "https://box.example")];
        check(&names, &own, true);
        check(&names, &[("host", "box.example:8443")], true);
        check(&names, &[("host", "0.0.0.0:8443")], false);
        check(
            &names,
            &[("host", "box.example"), ("origin", "http://box.example")],
            false,
        );
        let usual = Names::new(&["127.0.0.1:80".parse().unwrap()], &[], Scheme::Http);
        check(&usual, &[("host", "127.0.0.1")], true);
    }
}
