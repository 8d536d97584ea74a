//! What a refusal demands: the challenges of all headers, boiled down to what matters here.

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, StatusCode};

use super::challenge::{self, SchemeChallenge};
use super::dpop;

/// How many `WWW-Authenticate` headers are read.
const MAX_HEADERS: usize = 8;

/// What the server wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Where the metadata of the resource are.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes it wants.
    pub(crate) scope: Option<String>,
    /// The error code of the refusal.
    pub(crate) error: Option<String>,
    pub(crate) takes_bearer: bool,
    pub(crate) takes_dpop: bool,
    /// It offers only schemes that are not ours.
    pub(crate) is_foreign: bool,
}

/// What kind of refusal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No token, or one that is not good any more.
    Unauthorized,
    /// The proof lacks the nonce that comes with the refusal.
    NonceWanted,
    /// The token is good but does not allow enough.
    ScopeMissing,
    /// Nothing a token could change.
    Unrelated,
}

impl Demand {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let challenges: Vec<SchemeChallenge> = headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .take(MAX_HEADERS)
            .flat_map(|value| challenge::parse(&String::from_utf8_lossy(value.as_bytes())))
            .collect();
        let of = |scheme: &str| {
            challenges
                .iter()
                .filter(move |one| one.is(scheme))
                .collect()
        };
        let (dpop, bearer): (Vec<_>, Vec<_>) = (of("DPoP"), of("Bearer"));
        let parameter = |name: &str| {
            let mut ours = dpop.iter().chain(&bearer);
            let found = ours.find_map(|challenge: &&SchemeChallenge| challenge.parameter(name));
            found.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        Self {
            resource_metadata: parameter("resource_metadata"),
            scope: parameter("scope"),
            error: parameter("error"),
            takes_bearer: !bearer.is_empty(),
            takes_dpop: !dpop.is_empty(),
            is_foreign: !challenges.is_empty() && dpop.is_empty() && bearer.is_empty(),
        }
    }

    /// Sorts the refusal. A 401 without any challenge counts as a demand for a token: revision
    /// 2025-03-26 asks for no header.
    pub(crate) fn refusal(&self, status: StatusCode) -> Refusal {
        let error = self.error.as_deref();
        match status {
            StatusCode::UNAUTHORIZED if self.is_foreign => Refusal::Unrelated,
            StatusCode::UNAUTHORIZED if error == Some(dpop::USE_NONCE) => Refusal::NonceWanted,
            StatusCode::UNAUTHORIZED if error == Some("insufficient_scope") => {
                Refusal::ScopeMissing
            }
            StatusCode::UNAUTHORIZED => Refusal::Unauthorized,
            StatusCode::FORBIDDEN if error == Some("insufficient_scope") => Refusal::ScopeMissing,
            _ => Refusal::Unrelated,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(headers: &[&str]) -> Demand {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(
                WWW_AUTHENTICATE,
                HeaderValue::from_bytes(header.as_bytes()).unwrap(),
            );
        }
        Demand::read(&map)
    }

    #[test]
    fn refusals_are_sorted() {
        let check = |status: u16, headers: &[&str], expected: Refusal| {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                read(headers).refusal(status),
                expected,
                "{status} {headers:?}"
            );
        };
        check(401, &[], Refusal::Unauthorized);
        check(401, &["Bearer"], Refusal::Unauthorized);
        check(
            401,
            &["Bearer error=\"invalid_token\""],
            Refusal::Unauthorized,
        );
        check(401, &["Basic realm=\"x\""], Refusal::Unrelated);
        check(401, &["Basic realm=\"x\"", "bearer"], Refusal::Unauthorized);
        check(
            401,
            &["DPoP error=\"use_dpop_nonce\""],
            Refusal::NonceWanted,
        );
        check(
            403,
            &["Bearer error=\"insufficient_scope\", scope=\"a\""],
            Refusal::ScopeMissing,
        );
        check(403, &["Bearer"], Refusal::Unrelated);
        check(403, &[], Refusal::Unrelated);
        check(
            400,
            &["Bearer error=\"insufficient_scope\""],
            Refusal::Unrelated,
        );
    }

    #[test]
    fn parameters_come_from_our_schemes_only() {
        let demand = read(&[
            "Basic scope=\"no\", resource_metadata=\"https://no\"",
            "Bearer scope=\"a b\", DPoP resource_metadata=\"https://yes\"",
        ]);
        let expected = Demand {
            resource_metadata: Some("https://yes".to_owned()),
            scope: Some("a b".to_owned()),
            error: None,
            takes_bearer: true,
            takes_dpop: true,
            is_foreign: false,
        };
        assert_eq!(demand, expected);
    }

    #[test]
    fn the_number_of_headers_is_bounded() {
        let mut headers = vec!["Basic"; MAX_HEADERS];
        headers.push("Bearer");
        assert!(!read(&headers).takes_bearer);
    }
}
