//! How this client gets an id at an authorization server (C-AUTH-15 to C-AUTH-18).
//!
//! Owns the order — agreed upon beforehand, metadata document, registered earlier, registered now —
//! and dynamic registration (RFC 7591). Ids are kept per issuer and never shown to another one.

use serde_json::{Value, json};
use url::Url;

use super::client::{ClientIdentity, ClientProof, Method, OAuthClient};
use super::clock::unix_time;
use super::error::{AuthorizationError, Step};
use super::fetch::{Fetch, FetchBody, FetchRequest, Fields};
use super::secret::Secret;
use super::server_metadata::ServerMetadata;
use super::token;

/// A client id that was registered dynamically.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) client: OAuthClient,
    pub(crate) redirect_uri: String,
    /// In seconds since 1970.
    pub(crate) expires_at: Option<u64>,
}

/// Where a client id comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// It is at hand.
    Known(OAuthClient),
    /// It has to be registered here.
    Register(Url),
}

/// The best source of a client id, not counting earlier registrations.
pub(crate) fn source(
    identity: &ClientIdentity,
    server: &ServerMetadata,
) -> Result<Source, AuthorizationError> {
    if let Some(client) = preregistered(identity, server)? {
        return Ok(Source::Known(client));
    }
    if let Some(document) = &identity.metadata_document
        && server.takes_metadata_documents
    {
        return Ok(Source::Known(OAuthClient::public(document.as_str())));
    }
    match &server.registration_endpoint {
        Some(endpoint) => Ok(Source::Register(endpoint.clone())),
        None => Err(AuthorizationError::NoClientId {
            issuer: server.issuer.clone(),
        }),
    }
}

/// The id that was agreed upon beforehand, if it belongs to this server (C-AUTH-14).
pub(crate) fn preregistered(
    identity: &ClientIdentity,
    server: &ServerMetadata,
) -> Result<Option<OAuthClient>, AuthorizationError> {
    let Some(preregistered) = &identity.preregistered else {
        return Ok(None);
    };
    match &preregistered.issuer {
        Some(issuer) if *issuer != server.issuer => Err(AuthorizationError::ForeignClient {
            configured: issuer.clone(),
            issuer: server.issuer.clone(),
        }),
        _ => Ok(Some(OAuthClient {
            id: preregistered.client_id.clone(),
            proof: preregistered.proof.clone(),
            registered_method: None,
        })),
    }
}

/// Registers this client.
pub(crate) async fn register(
    fetch: &dyn Fetch,
    identity: &ClientIdentity,
    server: &ServerMetadata,
    endpoint: &Url,
    redirect_uri: &str,
) -> Result<Registration, AuthorizationError> {
    let method = wanted_method(server.authentication_methods.as_deref());
    let document = json!({
        "client_name": identity.name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.name(),
        "application_type": "native",
    });
    let request = FetchRequest::post(endpoint.clone(), FetchBody::Json(document.to_string()));
    let response = fetch.fetch(request).await?;
    let answer = token::success(&response, Step::Registration)?;
    let client = registered(&answer, method)?;
    let expires_at = answer
        .get("client_secret_expires_at")
        .and_then(Value::as_u64)
        .filter(|at| *at != 0);
    Ok(Registration {
        client,
        redirect_uri: redirect_uri.to_owned(),
        expires_at,
    })
}

/// A program on a person's machine keeps no secrets, so none is wanted unless the server insists.
fn wanted_method(listed: Option<&[String]>) -> Method {
    let Some(listed) = listed else {
        return Method::None;
    };
    [Method::None, Method::SecretBasic, Method::SecretPost]
        .into_iter()
        .find(|method| listed.iter().any(|name| name == method.name()))
        .unwrap_or(Method::None)
}

/// The server's answer counts, also where it differs from the wish.
fn registered(answer: &Value, wanted: Method) -> Result<OAuthClient, AuthorizationError> {
    let id = answer
        .text("client_id")
        .ok_or_else(|| AuthorizationError::BadAnswer {
            step: Step::Registration,
            problem: "no client id".to_owned(),
        })?;
    let proof = answer
        .text("client_secret")
        .map_or(ClientProof::None, |secret| {
            ClientProof::Secret(Secret::new(secret))
        });
    let method = answer
        .text("token_endpoint_auth_method")
        .and_then(Method::by_name);
    // A server that hands out an unwanted secret and says no more leaves it to its list of methods.
    let unsaid = Some(wanted).filter(|wanted| *wanted != Method::None);
    Ok(OAuthClient {
        id: id.to_owned(),
        proof,
        registered_method: method.or(unsaid),
    })
}

impl Registration {
    /// Whether it still serves a login that comes back to this address.
    pub(crate) fn serves(&self, redirect_uri: &str) -> bool {
        let alive = self.expires_at.is_none_or(|at| at > unix_time());
        alive && self.redirect_uri == redirect_uri
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Preregistered;

    fn metadata(extra: Value) -> ServerMetadata {
        let mut document = json!({"issuer": "https://a.b", "token_endpoint": "https://a.b/token"});
        for (name, value) in extra.as_object().unwrap() {
            document[name] = value.clone();
        }
        ServerMetadata::read(&document, "https://a.b").unwrap()
    }

    fn identity(issuer: Option<&str>, id: Option<&str>, document: Option<&str>) -> ClientIdentity {
        ClientIdentity {
            name: "n".to_owned(),
            metadata_document: document.map(|text| Url::parse(text).unwrap()),
            preregistered: id.map(|id| Preregistered {
                issuer: issuer.map(str::to_owned),
                client_id: id.to_owned(),
                proof: ClientProof::None,
            }),
        }
    }

    /// C-AUTH-14, C-AUTH-15.
    #[test]
    fn ids_are_taken_in_order() {
        let check = |identity: &ClientIdentity, extra: Value, expected: &str| {
            let found = match source(identity, &metadata(extra.clone())) {
                Ok(Source::Known(client)) => client.id,
                Ok(Source::Register(url)) => format!("register at {url}"),
                Err(error) => error.to_string(),
            };
            assert!(found.starts_with(expected), "{identity:?} {extra}: {found}");
        };
        let everything = || {
            json!({"client_id_metadata_document_supported": true,
                "registration_endpoint": "https://a.b/register"})
        };
        let document = Some("https://c.d/client.json");
        check(&identity(None, Some("id"), document), everything(), "id");
        check(
            &identity(Some("https://a.b"), Some("id"), None),
            json!({}),
            "id",
        );
        check(
            &identity(Some("https://x.y"), Some("id"), document),
            everything(),
            "the configured client id belongs to https://x.y",
        );
        check(
            &identity(None, None, document),
            everything(),
            "https://c.d/client.json",
        );
        let only_dynamic = json!({"registration_endpoint": "https://a.b/register"});
        check(
            &identity(None, None, document),
            only_dynamic,
            "register at https://a.b/register",
        );
        check(
            &identity(None, None, None),
            everything(),
            "register at https://a.b/register",
        );
        check(
            &identity(None, None, document),
            json!({}),
            "authorization server https://a.b registers no clients",
        );
    }

    #[test]
    fn no_secret_is_wanted_unless_insisted() {
        let check = |listed: Option<&[&str]>, expected: Method| {
            let listed: Option<Vec<String>> =
                listed.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(wanted_method(listed.as_deref()), expected, "{listed:?}");
        };
        check(None, Method::None);
        check(Some(&["client_secret_basic", "none"]), Method::None);
        check(Some(&["client_secret_post"]), Method::SecretPost);
        check(
            Some(&["client_secret_post", "client_secret_basic"]),
            Method::SecretBasic,
        );
        check(Some(&["private_key_jwt"]), Method::None);
    }

    #[test]
    fn the_answer_of_the_server_counts() {
        let read = |answer: Value| registered(&answer, Method::None);
        let client = read(json!({"client_id": "i", "client_secret": "s",
            "token_endpoint_auth_method": "client_secret_post"}))
        .unwrap();
        assert_eq!(client.registered_method, Some(Method::SecretPost));
        assert!(matches!(client.proof, ClientProof::Secret(_)));
        assert!(read(json!({"client_secret": "s"})).is_err());
    }
}
