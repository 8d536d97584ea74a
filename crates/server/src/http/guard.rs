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
    rank(headers, wanted).is_some()
}

/// Whether the client would rather have a stream than a JSON body: it weighs it higher, or names
/// it first with the same weight.
pub(super) fn prefers_stream(headers: &HeaderMap) -> bool {
    let stream = rank(headers, "text/event-stream");
    let json = rank(headers, "application/json");
    match (stream, json) {
        (Some(stream), Some(json)) => (stream.weight, json.place) > (json.weight, stream.place),
        _ => false,
    }
}

/// How a client ranks a type.
#[derive(Clone, Copy)]
struct Rank {
    /// In thousandths.
    weight: u16,
    /// Where it stands in the list.
    place: usize,
}

fn rank(headers: &HeaderMap, wanted: &str) -> Option<Rank> {
    let mut said = headers.get_all(ACCEPT).iter().peekable();
    if said.peek().is_none() {
        return Some(Rank {
            weight: 1000,
            place: 0,
        });
    }
    let family = wanted.split('/').next().unwrap_or_default();
    let ranges = said
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    ranges.enumerate().find_map(|(place, range)| {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let matches = kind.eq_ignore_ascii_case(wanted)
            || kind == "*/*"
            || kind
                .strip_suffix("/*")
                .is_some_and(|it| it.eq_ignore_ascii_case(family));
        let weight = parts
            .find_map(|part| part.strip_prefix("q="))
            .map_or(Ok(1.0), str::parse::<f32>)
            .unwrap_or(1.0)
            .clamp(0.0, 1.0);
        // A weight is a number from 0 to 1 with at most three digits behind the point.
        let weight = (weight * 1000.0).round() as u16;
        (matches && weight > 0).then_some(Rank { weight, place })
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
    fn a_client_can_prefer_a_stream() {
        for (accept, expected) in [
            ("application/json, text/event-stream", false),
            ("text/event-stream, application/json", true),
            ("text/event-stream;q=0.5, application/json", false),
            ("application/json;q=0.1, text/event-stream", true),
            ("*/*", false),
        ] {
            assert_eq!(
                prefers_stream(&headers(&[("accept", accept)])),
                expected,
                "{accept}"
            );
        }
        assert!(!prefers_stream(&headers(&[])));
        assert!(!accepts(
            &headers(&[("accept", "text/event-stream;q=0")]),
            "text/event-stream"
        ));
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
