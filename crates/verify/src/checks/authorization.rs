//! What a server that wants a login tells those who have none: where to get one, and that nothing
//! else will do. No login is needed to ask.

use serde_json::Value;
use url::Url;

use super::check;
use super::http_both::{opening, post, send};
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered, not_testable};
use crate::http::{HttpWire, Response};
use crate::peer::Trouble;
use crate::target::{HttpTarget, Target};
use crate::trace::Exchange;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "authorization.challenge",
        Authorization,
        Must,
        AUTHORIZED,
        Http,
        ["S-AUTH-02"],
        "Is a request without a token refused with 401 if the server wants one?",
        Alone(challenge)
    ),
    check!(
        "authorization.bad-token",
        Authorization,
        Must,
        AUTHORIZED,
        Http,
        ["S-AUTH-02", "S-AUTH-24"],
        "Is a token that was made up refused with 401?",
        Alone(bad_token)
    ),
    check!(
        "authorization.metadata",
        Authorization,
        Must,
        STRUCTURED,
        Http,
        ["S-AUTH-06", "S-AUTH-08"],
        "Does the server say where to log in: metadata with at least one authorization server?",
        Alone(metadata)
    ),
    check!(
        "authorization.scope",
        Authorization,
        Should,
        SCOPED,
        Http,
        ["S-AUTH-29"],
        "Does the refusal name the scopes that are needed?",
        Alone(scope)
    ),
];

/// The server without the user's credentials.
fn anonymous(bench: &Bench) -> Result<HttpTarget, Trouble> {
    let Target::Http(target) = &bench.target else {
        return Err(Trouble::NotStarted("there is no address".to_owned()));
    };
    let mut anonymous = target.clone();
    anonymous
        .headers
        .retain(|name, _| !name.eq_ignore_ascii_case("authorization"));
    Ok(anonymous)
}

/// The refusal of a request without a token; nothing if it is served.
async fn refusal(bench: &Bench) -> Result<Result<Response, Finding>, Trouble> {
    let anonymous = anonymous(bench)?;
    let (wire, _events) = HttpWire::open(&anonymous)?;
    let response = send(bench, &wire, post(bench, &opening(bench))).await?;
    Ok(match response.status {
        401 => Ok(response),
        _ => Err(not_offered("the server wants no login")),
    })
}

async fn challenge(bench: &Bench) -> Result<Finding, Trouble> {
    let anonymous = anonymous(bench)?;
    let is_configured = match &bench.target {
        Target::Http(target) => target.headers.len() > anonymous.headers.len(),
        _ => false,
    };
    let (wire, _events) = HttpWire::open(&anonymous)?;
    let response = send(bench, &wire, post(bench, &opening(bench))).await?;
    let challenge = response.header("www-authenticate").unwrap_or_default();
    Ok(match response.status {
        401 if challenge.is_empty() => doubtful("401 without WWW-Authenticate"),
        401 => kept(format!("401 with {challenge:?}")),
        // A token that is not asked for says nothing about the server.
        200 if is_configured => {
            doubtful("a token is configured, and the server serves without one")
        }
        200 => not_offered("the server wants no login"),
        status => broken(format!("HTTP {status}")),
    })
}

async fn bad_token(bench: &Bench) -> Result<Finding, Trouble> {
    if let Err(finding) = refusal(bench).await? {
        return Ok(finding);
    }
    let (wire, _events) = HttpWire::open(&anonymous(bench)?)?;
    let made_up = "Bearer attache-verify-made-this-up";
    let exchange = post(bench, &opening(bench)).with("Authorization", made_up);
    let response = send(bench, &wire, exchange).await?;
    Ok(match response.status {
        401 => kept("401"),
        403 => doubtful("403, which is for a token without the right"),
        200 => broken("it is served"),
        status => broken(format!("HTTP {status}")),
    })
}

/// The addresses where the metadata may be: the one that the refusal names, else the well-known ones.
fn places(server: &Url, named: Option<&str>) -> Result<Vec<Url>, Finding> {
    if let Some(named) = named {
        let place = Url::parse(named)
            .map_err(|error| broken(format!("resource_metadata {named:?}: {error}")))?;
        return match place.origin() == server.origin() {
            true => Ok(vec![place]),
            // A server must not choose what is asked in its stead.
            false => Err(not_testable(format!(
                "resource_metadata {named:?} is at another origin, which is not asked"
            ))),
        };
    }
    const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
    let path = server.path().trim_end_matches('/');
    let at = |path: &str| {
        let mut place = server.clone();
        place.set_path(path);
        place.set_query(None);
        place
    };
    Ok(vec![at(&format!("{WELL_KNOWN}{path}")), at(WELL_KNOWN)])
}

async fn metadata(bench: &Bench) -> Result<Finding, Trouble> {
    let response = match refusal(bench).await? {
        Ok(response) => response,
        Err(finding) => return Ok(finding),
    };
    let anonymous = anonymous(bench)?;
    let Ok(server) = Url::parse(&anonymous.url) else {
        return Ok(not_testable(format!("{} is no address", anonymous.url)));
    };
    let named = parameter(&response, "resource_metadata");
    let places = match places(&server, named.as_deref()) {
        Ok(places) => places,
        Err(finding) => return Ok(finding),
    };
    let mut complaints = Vec::new();
    for place in places {
        match document(bench, &anonymous, &place).await? {
            Ok(found) => return Ok(kept(found)),
            Err(problem) => complaints.push(format!("{}: {problem}", place.path())),
        }
    }
    Ok(Finding::of(&complaints, "it does"))
}

/// What the metadata at an address says, or what is wrong with it.
async fn document(
    bench: &Bench,
    server: &HttpTarget,
    place: &Url,
) -> Result<Result<String, String>, Trouble> {
    let target = HttpTarget {
        url: place.to_string(),
        headers: Default::default(),
        ..server.clone()
    };
    let (wire, _events) = HttpWire::open(&target)?;
    let exchange = Exchange {
        verb: "GET",
        headers: vec![("Accept".to_owned(), "application/json".to_owned())],
        body: None,
    };
    let response = send(bench, &wire, exchange).await?;
    if response.status != 200 {
        return Ok(Err(format!("HTTP {}", response.status)));
    }
    let Ok(document) = serde_json::from_str::<Value>(&response.body) else {
        return Ok(Err("no JSON".to_owned()));
    };
    if !document["resource"].is_string() {
        return Ok(Err("no resource".to_owned()));
    }
    let servers = document["authorization_servers"].as_array();
    let named = servers.and_then(|servers| servers.first()?.as_str());
    Ok(named.map_or_else(
        || Err("no authorization_servers".to_owned()),
        |server| Ok(format!("log in at {server}")),
    ))
}

async fn scope(bench: &Bench) -> Result<Finding, Trouble> {
    let response = match refusal(bench).await? {
        Ok(response) => response,
        Err(finding) => return Ok(finding),
    };
    Ok(match parameter(&response, "scope") {
        Some(scope) => kept(scope),
        None => broken("WWW-Authenticate has no scope"),
    })
}

/// A parameter of the challenge. Servers quote it or do not.
fn parameter(response: &Response, name: &str) -> Option<String> {
    let challenges = response.headers.get_all("www-authenticate").iter();
    challenges
        .filter_map(|challenge| challenge.to_str().ok())
        .find_map(|challenge| {
            let at = challenge.find(&format!("{name}="))?;
            let value = &challenge[at + name.len() + 1..];
            Some(match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next()?.to_owned(),
                None => value.split([',', ' ']).next()?.to_owned(),
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_it_may_be_and_nowhere_else() {
        let server = Url::parse("http://127.0.0.1:9/a/mcp?x=y").unwrap();
        let at = |named| {
            let places = places(&server, named).map_err(|finding| finding.into_text());
            places.map(|it| it.iter().map(Url::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            at(None).unwrap(),
            [
                "http://127.0.0.1:9/.well-known/oauth-protected-resource/a/mcp",
                "http://127.0.0.1:9/.well-known/oauth-protected-resource",
            ]
        );
        let own = "http://127.0.0.1:9/meta";
        assert_eq!(at(Some(own)).unwrap(), [own]);
        let other = at(Some("http://169.254.169.254/latest")).unwrap_err();
        assert!(other.contains("another origin"), "{other}");
        assert!(at(Some("nowhere")).unwrap_err().contains("nowhere"));
    }

    #[test]
    fn parameters_are_read_quoted_or_bare() {
        let mut response = Response::default();
        let challenge = "Bearer realm=\"a\", resource_metadata=\"http://a/b\", scope=read";
        response
            .headers
            .insert("www-authenticate", challenge.parse().unwrap());
        let read = |name| parameter(&response, name);
        assert_eq!(read("resource_metadata").as_deref(), Some("http://a/b"));
        assert_eq!(read("scope").as_deref(), Some("read"));
        assert_eq!(read("error"), None);
    }
}
