//! Grants that need no person: client credentials, enterprise-managed authorization, workload
//! identity federation (X-AUTH-38).
//!
//! Owns what each of them sends. Discovery, client authentication and storage are the same for all
//! grants and live elsewhere.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use url::Url;

use super::BoxFuture;
use super::client::ClientProof;
use super::error::{AuthorizationError, Step};
use super::fetch::Fields;
use super::secret::Secret;
use super::token::{Form, MAX_TOKEN_LENGTH, TokenEndpoint};

/// The grant that presents a signed statement of somebody else (RFC 7523).
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// How tokens are obtained.
#[derive(Clone, Debug, Default)]
pub enum Grant {
    /// A person logs in with a browser.
    #[default]
    Login,
    /// The client speaks for itself, with the id agreed upon beforehand.
    ClientCredentials,
    /// The identity provider of an organisation vouches for a person who logged in there.
    EnterpriseManaged(EnterpriseManaged),
    /// The platform that this program runs on vouches for it.
    WorkloadIdentity(WorkloadIdentity),
}

/// Enterprise-managed authorization: an identity token becomes an ID-JAG at the identity provider,
/// which becomes an access token at the authorization server.
#[derive(Clone)]
pub struct EnterpriseManaged {
    /// The token endpoint of the identity provider.
    pub token_endpoint: Url,
    /// This client's id there; its id at the authorization server is the preregistered one.
    pub client_id: String,
    /// How it proves that id.
    pub proof: ClientProof,
    /// The person's identity token.
    pub identity_token: Arc<dyn TokenSource>,
}

/// Workload identity federation: a token of the platform becomes an access token.
#[derive(Clone)]
pub struct WorkloadIdentity {
    /// The platform's token about this program.
    pub assertion: Arc<dyn TokenSource>,
}

impl fmt::Debug for EnterpriseManaged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EnterpriseManaged")
            .field("token_endpoint", &self.token_endpoint.as_str())
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WorkloadIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkloadIdentity")
            .finish_non_exhaustive()
    }
}

/// Where a token of somebody else comes from. It is asked each time, because such tokens are
/// short-lived.
pub trait TokenSource: Send + Sync {
    /// A token meant for this audience, the issuer of the authorization server.
    fn token<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<Secret, String>>;
}

/// A token that is at hand.
impl TokenSource for Secret {
    fn token<'a>(&'a self, _audience: &'a str) -> BoxFuture<'a, Result<Secret, String>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

/// A token that somebody else keeps up to date in a file, as container platforms do.
#[derive(Clone, Debug)]
pub struct TokenFile(
    /// Where it is.
    pub PathBuf,
);

impl TokenSource for TokenFile {
    fn token<'a>(&'a self, _audience: &'a str) -> BoxFuture<'a, Result<Secret, String>> {
        Box::pin(async {
            let path = self.0.clone();
            let read = tokio::task::spawn_blocking(move || {
                use std::io::Read;
                let mut text = String::new();
                let file = std::fs::File::open(path)?;
                file.take(MAX_TOKEN_LENGTH as u64)
                    .read_to_string(&mut text)?;
                Ok::<_, std::io::Error>(Secret::new(text.trim()))
            });
            let named = |error: String| format!("{}: {error}", self.0.display());
            match read.await {
                Ok(Ok(token)) => Ok(token),
                Ok(Err(error)) => Err(named(error.to_string())),
                Err(error) => Err(named(error.to_string())),
            }
        })
    }
}

/// The form of client credentials.
pub(crate) fn client_credentials(scopes: &[String], resource: &str) -> Form {
    let form = vec![("grant_type", "client_credentials".to_owned())];
    targeted(form, scopes, resource)
}

/// The form that presents a statement of somebody else.
pub(crate) fn jwt_bearer(assertion: &Secret, scopes: &[String], resource: &str) -> Form {
    let form = vec![
        ("grant_type", JWT_BEARER.to_owned()),
        ("assertion", assertion.expose().to_owned()),
    ];
    targeted(form, scopes, resource)
}

/// Adds what the token is for.
fn targeted(mut form: Form, scopes: &[String], resource: &str) -> Form {
    form.push(("resource", resource.to_owned()));
    if !scopes.is_empty() {
        form.push(("scope", scopes.join(" ")));
    }
    form
}

/// A token from its source, or the reason why there is none.
pub(crate) async fn token_of(
    source: &dyn TokenSource,
    audience: &str,
    step: Step,
) -> Result<Secret, AuthorizationError> {
    source
        .token(audience)
        .await
        .map_err(|problem| AuthorizationError::BadAnswer { step, problem })
}

/// Exchanges an identity token for an ID-JAG at the identity provider (RFC 8693).
pub(crate) async fn identity_assertion(
    provider: TokenEndpoint<'_>,
    identity_token: &Secret,
    audience: &str,
    scopes: &[String],
    resource: &str,
) -> Result<Secret, AuthorizationError> {
    let form = vec![
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange".to_owned(),
        ),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:id-jag".to_owned(),
        ),
        ("audience", audience.to_owned()),
        ("subject_token", identity_token.expose().to_owned()),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:id_token".to_owned(),
        ),
    ];
    let form = targeted(form, scopes, resource);
    let answer = provider.send(form, Step::TokenExchange).await?;
    let issued = answer.text("issued_token_type");
    let is_assertion = issued.is_none_or(|issued| issued.ends_with(":id-jag"));
    match answer.text("access_token") {
        Some(assertion) if is_assertion => Ok(Secret::new(assertion)),
        _ => Err(AuthorizationError::BadAnswer {
            step: Step::TokenExchange,
            problem: "no identity assertion (id-jag)".to_owned(),
        }),
    }
}
