//! Requests to a token endpoint and their answers (RFC 6749 section 5).
//!
//! Owns the exchange: client authentication, DPoP proofs and their nonce, success and error
//! answers. Which grant is sent is for the callers.

use std::sync::Arc;

use attache_net::quoted;
use http::{Method, StatusCode};
use serde_json::Value;
use url::Url;

use super::client::OAuthClient;
use super::clock::unix_time;
use super::dpop::{self, DPOP, Nonces, Observed};
use super::error::{AuthorizationError, Step};
use super::fetch::{Fetch, FetchBody, FetchRequest, FetchResponse, Fields};
use super::jwt::SigningKey;
use super::secret::Secret;

/// The longest token that is accepted; HTTP servers refuse headers much longer than this.
pub(crate) const MAX_TOKEN_LENGTH: usize = 16 * 1024;

/// How a token is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Bearer,
    Dpop,
}

impl Scheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::Dpop => "DPoP",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        [Self::Bearer, Self::Dpop]
            .into_iter()
            .find(|scheme| scheme.name().eq_ignore_ascii_case(name))
    }
}

/// A successful answer.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) access_token: Secret,
    pub(crate) scheme: Scheme,
    pub(crate) refresh_token: Option<Secret>,
    /// In seconds since 1970.
    pub(crate) expires_at: Option<u64>,
    /// What was granted, if it differs from what was asked for.
    pub(crate) scopes: Option<Vec<String>>,
}

/// One token endpoint, as one client uses it.
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) fetch: &'a dyn Fetch,
    pub(crate) url: &'a Url,
    pub(crate) issuer: &'a str,
    /// The ways of client authentication that it lists.
    pub(crate) methods: Option<&'a [String]>,
    pub(crate) client: &'a OAuthClient,
    pub(crate) dpop: Option<&'a Arc<SigningKey>>,
    pub(crate) nonces: &'a Nonces,
}

/// The fields of a form.
pub(crate) type Form = Vec<(&'static str, String)>;

impl TokenEndpoint<'_> {
    /// Sends a grant and reads the token.
    pub(crate) async fn request(
        &self,
        form: Form,
        step: Step,
    ) -> Result<Granted, AuthorizationError> {
        let answer = self.send(form, step).await?;
        granted(&answer, step, self.dpop.is_some())
    }

    /// Sends a form and gives the JSON of a successful answer.
    pub(crate) async fn send(&self, form: Form, step: Step) -> Result<Value, AuthorizationError> {
        let response = self.send_once(form.clone()).await?;
        let learnt = self.nonces.learn(self.url, &response.headers);
        let answer = success(&response, step);
        match answer {
            // A new proof with the nonce gets one chance (RFC 9449 section 8).
            Err(AuthorizationError::Refused { ref error, .. })
                if self.dpop.is_some() && error == dpop::USE_NONCE && learnt == Observed::Nonce =>
            {
                let response = self.send_once(form).await?;
                self.nonces.learn(self.url, &response.headers);
                success(&response, step)
            }
            answer => answer,
        }
    }

    async fn send_once(&self, form: Form) -> Result<FetchResponse, AuthorizationError> {
        let mut request = FetchRequest::post(self.url.clone(), FetchBody::Form(form));
        if let Some(key) = self.dpop {
            let proof = dpop::proof(key, self.nonces, &Method::POST, self.url, None)?;
            request = request.header(DPOP, proof);
        }
        let request = self
            .client
            .authenticate(request, self.issuer, self.methods)?;
        self.fetch.fetch(request).await
    }
}

/// The JSON of a success, or the error that the server names.
pub(crate) fn success(response: &FetchResponse, step: Step) -> Result<Value, AuthorizationError> {
    let answer = response.json_object();
    let error = answer.as_ref().ok().and_then(|answer| {
        let error = answer.text("error")?;
        Some(AuthorizationError::Refused {
            step,
            error: quoted(error),
            description: answer.text("error_description").map(quoted),
        })
    });
    // Some servers report errors with status 200.
    if let Some(error) = error {
        return Err(error);
    }
    if response.status == StatusCode::OK || response.status == StatusCode::CREATED {
        return answer;
    }
    Err(AuthorizationError::BadAnswer {
        step,
        problem: format!("status {} without an error code", response.status.as_u16()),
    })
}

fn granted(answer: &Value, step: Step, with_proof: bool) -> Result<Granted, AuthorizationError> {
    let bad = |problem: &str| AuthorizationError::BadAnswer {
        step,
        problem: problem.to_owned(),
    };
    let token = answer
        .text("access_token")
        .ok_or_else(|| bad("no access token"))?;
    if token.len() > MAX_TOKEN_LENGTH {
        return Err(bad("the access token is too long to be sent"));
    }
    // The type is required, but servers forget it; without it, it can only be the usual one.
    let scheme = match answer.text("token_type") {
        None => Scheme::Bearer,
        Some(name) => Scheme::by_name(name).ok_or_else(|| bad("an unknown type of token"))?,
    };
    if scheme == Scheme::Dpop && !with_proof {
        return Err(bad("a token bound to a key that was not shown"));
    }
    // Numbers also come as text.
    let expires_in = answer.get("expires_in").and_then(|value| {
        let number = value
            .as_u64()
            .or_else(|| value.as_f64().map(|number| number as u64));
        number.or_else(|| value.as_str()?.parse().ok())
    });
    Ok(Granted {
        access_token: Secret::new(token),
        scheme,
        // One too long to be kept counts as absent: the worst that follows is another login.
        refresh_token: answer
            .text("refresh_token")
            .filter(|token| token.len() <= MAX_TOKEN_LENGTH)
            .map(Secret::new),
        expires_at: expires_in.map(|seconds| unix_time().saturating_add(seconds)),
        scopes: answer
            .text("scope")
            .map(|scope| scope.split_ascii_whitespace().map(str::to_owned).collect()),
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;
    use serde_json::json;

    use super::*;

    fn response(status: u16, body: &str) -> FetchResponse {
        FetchResponse {
            url: Url::parse("https://a.b/token").unwrap(),
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
    }

    #[test]
    fn answers_are_success_or_error() {
        let check = |status, body: &str, expected: &str| {
            let found = match success(&response(status, body), Step::Token) {
                Ok(value) => value.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{status} {body}");
        };
        check(200, r#"{"a":1}"#, r#"{"a":1}"#);
        check(
            400,
            r#"{"error":"invalid_grant"}"#,
            "the token request was refused: invalid_grant",
        );
        check(
            200,
            r#"{"error":"x","error_description":"a\u001b[31mb"}"#,
            "the token request was refused: x (a[31mb)",
        );
        check(
            500,
            "<html>",
            "the token request got an unusable answer: status 500 without an error code",
        );
        check(
            400,
            "{}",
            "the token request got an unusable answer: status 400 without an error code",
        );
        check(
            200,
            "[]",
            "no usable answer from https://a.b/token: the answer is no JSON object",
        );
    }

    #[test]
    fn tokens_are_read_tolerantly() {
        let read = |answer: Value| granted(&answer, Step::Token, true);
        let token = read(json!({
            "access_token": "t", "token_type": "bearer", "expires_in": "60", "scope": "a b",
            "refresh_token": "r"
        }))
        .unwrap();
        assert_eq!(token.access_token.expose(), "t");
        assert_eq!(token.scheme, Scheme::Bearer);
        assert_eq!(token.scopes.unwrap(), ["a", "b"]);
        assert_eq!(token.refresh_token.unwrap().expose(), "r");
        assert!(token.expires_at.unwrap().abs_diff(unix_time() + 60) <= 1);

        assert_eq!(read(json!({"access_token": "t"})).unwrap().expires_at, None);
        assert_eq!(
            read(json!({"access_token": "t", "token_type": "dpop"}))
                .unwrap()
                .scheme,
            Scheme::Dpop
        );
        assert!(
            granted(
                &json!({"access_token": "t", "token_type": "DPoP"}),
                Step::Token,
                false
            )
            .is_err()
        );
        assert!(read(json!({"access_token": "t", "token_type": "mac"})).is_err());
        assert!(read(json!({"access_token": ""})).is_err());
        assert!(read(json!({"access_token": "x".repeat(MAX_TOKEN_LENGTH)})).is_ok());
        assert!(read(json!({"access_token": "x".repeat(MAX_TOKEN_LENGTH + 1)})).is_err());
    }
}
