//! How this client is known to authorization servers, and how it proves that (RFC 6749 section 2.3,
//! RFC 7523).
//!
//! Owns client ids, their secrets and keys, and the way they go into a token request. How an id is
//! obtained is for `registration`.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use serde_json::json;
use url::{Url, form_urlencoded};

use super::clock::unix_time;
use super::error::AuthorizationError;
use super::fetch::{FetchBody, FetchRequest};
use super::jwt::{self, SigningKey};
use super::secret::Secret;

/// How long an assertion about this client is good for. It is used at once; the rest allows for
/// clocks that differ.
const ASSERTION_SECONDS: u64 = 120;

/// What this program tells authorization servers about itself.
#[derive(Clone, Debug)]
pub struct ClientIdentity {
    /// The name that a person sees when asked for consent.
    pub name: String,
    /// The address of a metadata document about this client (CIMD, C-AUTH-16). It is used where the
    /// authorization server takes such documents.
    pub metadata_document: Option<Url>,
    /// An id that was agreed upon beforehand; it goes before all others (C-AUTH-15).
    pub preregistered: Option<Preregistered>,
}

impl ClientIdentity {
    /// A client that is registered where it is needed.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            metadata_document: None,
            preregistered: None,
        }
    }
}

/// A client id that a person obtained at an authorization server (C-AUTH-19).
#[derive(Clone, Debug)]
pub struct Preregistered {
    /// The authorization server it belongs to. With it, credentials are never shown to another one
    /// (C-AUTH-14); without it, they go to the one the server names.
    pub issuer: Option<String>,
    /// The id.
    pub client_id: String,
    /// How the client proves to be the one with that id.
    pub proof: ClientProof,
}

/// How a client proves its id.
#[derive(Clone)]
pub enum ClientProof {
    /// Not at all: a program on a person's machine can keep no secret.
    None,
    /// By a shared secret.
    Secret(Secret),
    /// By signing with its key (`private_key_jwt`).
    Key(Arc<SigningKey>),
}

impl fmt::Debug for ClientProof {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "None",
            Self::Secret(_) => "Secret(…)",
            Self::Key(_) => "Key(…)",
        })
    }
}

/// A client id as it is used at one authorization server.
#[derive(Clone, Debug)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) proof: ClientProof,
    /// The method that was agreed upon at registration, if one was.
    pub(crate) registered_method: Option<Method>,
}

/// The ways to prove a client id at a token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    None,
    SecretBasic,
    SecretPost,
    PrivateKeyJwt,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        let all = [
            Self::None,
            Self::SecretBasic,
            Self::SecretPost,
            Self::PrivateKeyJwt,
        ];
        all.into_iter().find(|method| method.name() == name)
    }
}

impl OAuthClient {
    /// A client without registration, such as one known by its metadata document.
    pub(crate) fn public(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            proof: ClientProof::None,
            registered_method: None,
        }
    }

    /// The method for a server that lists these: what was registered, else the first of basic,
    /// post and none that is listed. Basic is the default where nothing is listed (RFC 8414).
    fn method(&self, listed: Option<&[String]>) -> Method {
        match (&self.proof, self.registered_method) {
            (ClientProof::None, _) => Method::None,
            (ClientProof::Key(_), _) => Method::PrivateKeyJwt,
            (ClientProof::Secret(_), Some(method)) => method,
            (ClientProof::Secret(_), None) => {
                let Some(listed) = listed else {
                    return Method::SecretBasic;
                };
                [Method::SecretBasic, Method::SecretPost, Method::None]
                    .into_iter()
                    .find(|method| listed.iter().any(|name| name == method.name()))
                    .unwrap_or(Method::SecretBasic)
            }
        }
    }

    /// Puts the id and its proof into a request to a token endpoint of `issuer`.
    pub(crate) fn authenticate(
        &self,
        mut request: FetchRequest,
        issuer: &str,
        listed: Option<&[String]>,
    ) -> Result<FetchRequest, AuthorizationError> {
        let FetchBody::Form(fields) = &mut request.body else {
            return Ok(request);
        };
        match (self.method(listed), &self.proof) {
            (Method::SecretBasic, ClientProof::Secret(secret)) => {
                request.headers.push((AUTHORIZATION, self.basic(secret)?));
            }
            (Method::SecretPost, ClientProof::Secret(secret)) => {
                fields.push(("client_id", self.id.clone()));
                fields.push(("client_secret", secret.expose().to_owned()));
            }
            (Method::PrivateKeyJwt, ClientProof::Key(key)) => {
                fields.push(("client_id", self.id.clone()));
                fields.push((
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned(),
                ));
                fields.push(("client_assertion", self.assertion(key, issuer)?));
            }
            _ => fields.push(("client_id", self.id.clone())),
        }
        Ok(request)
    }

    /// Both halves are encoded as in a form before they are joined (RFC 6749 section 2.3.1).
    fn basic(&self, secret: &Secret) -> Result<HeaderValue, AuthorizationError> {
        let form =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = Secret::new(format!("{}:{}", form(&self.id), form(secret.expose())));
        let text = Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())));
        sensitive(&text)
    }

    /// The audience is the issuer, so that the assertion is worth nothing elsewhere.
    fn assertion(&self, key: &SigningKey, issuer: &str) -> Result<String, AuthorizationError> {
        let now = unix_time();
        let claims = json!({
            "iss": self.id,
            "sub": self.id,
            "aud": issuer,
            "jti": jwt::random_text()?,
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
        });
        key.sign(json!({"typ": "JWT"}), &claims)
    }
}

/// A header value that HTTP libraries do not show or index.
pub(crate) fn sensitive(text: &Secret) -> Result<HeaderValue, AuthorizationError> {
    let mut value =
        HeaderValue::from_str(text.expose()).map_err(|_| AuthorizationError::Storage {
            problem: "a credential holds characters that no header can carry".to_owned(),
        })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proof: ClientProof, registered_method: Option<Method>) -> OAuthClient {
        OAuthClient {
            id: "my id".to_owned(),
            proof,
            registered_method,
        }
    }

    #[test]
    fn the_method_follows_registration_then_the_list() {
        let check = |proof: ClientProof, registered, listed: Option<&[&str]>, expected| {
            let listed: Option<Vec<String>> =
                listed.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            let method = client(proof, registered).method(listed.as_deref());
            assert_eq!(method, expected, "{registered:?} {listed:?}");
        };
        let secret = || ClientProof::Secret(Secret::new("s"));
        check(secret(), None, None, Method::SecretBasic);
        check(
            secret(),
            None,
            Some(&["client_secret_post"]),
            Method::SecretPost,
        );
        check(
            secret(),
            None,
            Some(&["client_secret_post", "client_secret_basic"]),
            Method::SecretBasic,
        );
        check(secret(), None, Some(&["none"]), Method::None);
        check(
            secret(),
            None,
            Some(&["tls_client_auth"]),
            Method::SecretBasic,
        );
        check(
            secret(),
            Some(Method::SecretPost),
            Some(&["none"]),
            Method::SecretPost,
        );
        check(
            ClientProof::None,
            Some(Method::SecretPost),
            None,
            Method::None,
        );
        let key = ClientProof::Key(Arc::new(SigningKey::generate().unwrap()));
        check(
            key,
            None,
            Some(&["client_secret_basic"]),
            Method::PrivateKeyJwt,
        );
    }

    #[test]
    fn credentials_go_where_the_method_says() {
        let request = || {
            FetchRequest::post(
                Url::parse("https://a.b/token").unwrap(),
                FetchBody::Form(vec![("grant_type", "x".to_owned())]),
            )
        };
        let authenticate = |proof, method| {
            let request = client(proof, method)
                .authenticate(request(), "https://a.b", None)
                .unwrap();
            let header = request
                .headers
                .iter()
                .find(|(name, _)| name == AUTHORIZATION);
            let header = header.map(|(_, value)| value.to_str().unwrap().to_owned());
            (header, request.encoded_body().unwrap().1)
        };
        let secret = || ClientProof::Secret(Secret::new("s:%"));
        assert_eq!(
            authenticate(secret(), Some(Method::SecretBasic)),
            (
                Some(format!("Basic {}", STANDARD.encode("my+id:s%3A%25"))),
                "grant_type=x".to_owned()
            )
        );
        assert_eq!(
            authenticate(secret(), Some(Method::SecretPost)),
            (
                None,
                "grant_type=x&client_id=my+id&client_secret=s%3A%25".to_owned()
            )
        );
        assert_eq!(
            authenticate(ClientProof::None, None),
            (None, "grant_type=x&client_id=my+id".to_owned())
        );
    }
}
