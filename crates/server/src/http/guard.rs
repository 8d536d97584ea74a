//! Who may reach the server at all (S1): host, origin, token, and forms a browser cannot send
//! unasked.

use attache_protocol::{ErrorObject, codes};
use axum::http::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;

use crate::service::Principal;

use super::HttpSettings;
use super::answers::{empty, refuse};

/// A refusal is rare and large; a pass is common and small.
pub(super) type Refusal = Box<Response>;

pub(super) fn check(settings: &HttpSettings, headers: &HeaderMap) -> Result<Principal, Refusal> {
    let host = text(headers, &HOST).unwrap_or_default();
    if !is_allowed_host(settings, host) {
        return Err(forbidden("this host name is not served here"));
    }
    if let Some(origin) = headers.get(ORIGIN)
        && !origin
            .to_str()
            .is_ok_and(|origin| is_allowed_origin(settings, origin))
    {
        return Err(forbidden("pages of this origin may not call"));
    }
    let Some(authenticate) = settings.authenticator() else {
        return Ok(Principal::local());
    };
    let token = text(headers, &AUTHORIZATION).and_then(|it| {
        let (scheme, token) = it.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    token.and_then(authenticate).ok_or_else(|| {
        let error = ErrorObject::new(codes::INVALID_REQUEST, "a valid bearer token is required");
        let mut response = refuse(StatusCode::UNAUTHORIZED, &error, None);
        let challenge = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        Box::new(response)
    })
}

/// What a POST must say about its body and the answer it takes.
pub(super) fn check_post(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // Browsers send other types across origins without asking first.
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Type must be application/json",
        ));
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        return Err(refused(
            StatusCode::NOT_ACCEPTABLE,
            "Accept must name application/json and text/event-stream",
        ));
    }
    Ok(())
}

/// Whether the client takes answers of that type. A client that says nothing takes all.
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut said = headers.get_all(ACCEPT).iter().peekable();
    if said.peek().is_none() {
        return true;
    }
    let family = wanted.split('/').next().unwrap_or_default();
    said.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .any(|range| {
            range.eq_ignore_ascii_case(wanted)
                || range == "*/*"
                || range
                    .strip_suffix("/*")
                    .is_some_and(|it| it.eq_ignore_ascii_case(family))
        })
}

pub(super) fn method_not_allowed() -> Response {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    let allowed = HeaderValue::from_static("POST");
    response.headers_mut().insert(ALLOW, allowed);
    response
}

fn is_allowed_host(settings: &HttpSettings, host: &str) -> bool {
    let name = without_port(host);
    settings
        .allowed_hosts
        .iter()
        .any(|it| it.eq_ignore_ascii_case(name))
}

fn is_allowed_origin(settings: &HttpSettings, origin: &str) -> bool {
    if settings.allowed_origins.iter().any(|it| it == origin) {
        return true;
    }
    let host = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    host.is_some_and(|host| is_allowed_host(settings, host))
}

/// `name:port` without the port; the colons of `[::1]` are none of it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) && !port.is_empty() => {
            name
        }
        _ => host,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn forbidden(message: &str) -> Refusal {
    refused(StatusCode::FORBIDDEN, message)
}

fn refused(status: StatusCode, message: &str) -> Refusal {
    let error = ErrorObject::new(codes::INVALID_REQUEST, message);
    Box::new(refuse(status, &error, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_headers(pairs: &[(&str, &str)], expected: Result<(), u16>) {
        let headers = headers(pairs);
        let found = check(&HttpSettings::default(), &headers);
        let found = found.map(|_| ()).map_err(|it| it.status().as_u16());
        assert_eq!(found, expected, "{pairs:?}");
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let parsed = pairs.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        parsed.collect()
    }

    #[test]
    fn s1_only_loopback_names_and_pages_may_call() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:9",
            "[::1]",
            "[::1]:80",
        ] {
            check_headers(&[("host", host)], Ok(()));
            let origin = format!("http://{host}");
            check_headers(&[("host", "localhost"), ("origin", &origin)], Ok(()));
        }
        for host in [
            "evil.example.com",
            "localhost.evil.com",
            "",
            "[::2]",
            "127.0.0.1.evil.com:80",
        ] {
            check_headers(&[("host", host)], Err(403));
            let origin = format!("http://{host}");
            check_headers(&[("host", "localhost"), ("origin", &origin)], Err(403));
        }
        check_headers(&[], Err(403));
        check_headers(&[("host", "localhost"), ("origin", "null")], Err(403));
        check_headers(
            &[("host", "localhost"), ("origin", "file://localhost")],
            Err(403),
        );
    }

    #[test]
    fn s1_a_token_is_required_where_one_is_set() {
        let settings = HttpSettings::default().bearer_token("secret");
        for (value, is_let_in) in [
            ("Bearer secret", true),
            ("bearer secret", true),
            ("Bearer secre", false),
            ("Basic secret", false),
            ("secret", false),
        ] {
            let found = check(
                &settings,
                &headers(&[("host", "localhost"), ("authorization", value)]),
            );
            assert_eq!(found.is_ok(), is_let_in, "{value}");
        }
        let refusal = check(&settings, &headers(&[("host", "localhost")])).unwrap_err();
        assert_eq!(refusal.status(), StatusCode::UNAUTHORIZED);
        assert!(refusal.headers().contains_key(WWW_AUTHENTICATE));
    }

    #[test]
    fn posts_name_their_types() {
        let both = "application/json, text/event-stream";
        for (kind, accept, expected) in [
            ("application/json", both, Ok(())),
            ("application/json; charset=utf-8", "*/*", Ok(())),
            ("application/json", "application/*;q=0.5, text/*", Ok(())),
            ("text/plain", both, Err(415)),
            ("application/json", "application/json", Err(406)),
            ("application/json", "text/event-stream", Err(406)),
        ] {
            let headers = headers(&[("content-type", kind), ("accept", accept)]);
            let found = check_post(&headers).map_err(|it| it.status().as_u16());
            assert_eq!(found, expected, "{kind} {accept}");
        }
    }
}
