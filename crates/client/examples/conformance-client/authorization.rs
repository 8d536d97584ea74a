//! How the conformance client gets its tokens: a login without a browser, or one of the grants that
//! need no person, as the scenario's name and context say.

use std::sync::Arc;

use attache_auth::{
    Authorizer, BoxFuture, ClientIdentity, ClientProof, EnterpriseManaged, Grant, HttpFetch,
    MemoryStore, OAuth, Preregistered, Secret, SigningKey, UserAgent, WorkloadIdentity,
};
use attache_client::protocol::Revision;
use serde_json::Value;
use url::Url;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The client id that the suite expects where metadata documents are taken.
const METADATA_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The authorizer of a scenario.
pub(crate) fn authorizer(
    scenario: &str,
    address: &str,
    revision: Option<Revision>,
    context: &Value,
) -> Result<Arc<dyn Authorizer>, Failure> {
    let server = Url::parse(address)?;
    let mut identity = ClientIdentity::new("Attaché conformance client");
    identity.metadata_document = Some(Url::parse(METADATA_DOCUMENT)?);
    identity.preregistered = preregistered(context)?;
    let fetch = Arc::new(HttpFetch::new(&server));
    let oauth = OAuth::new(server, identity, fetch, Arc::new(MemoryStore::new()))
        .grant(grant(scenario, context)?)
        .user_agent(Arc::new(Headless));
    Ok(Arc::new(match revision {
        Some(revision) => oauth.revision(revision),
        None => oauth,
    }))
}

fn text<'a>(context: &'a Value, name: &str) -> Result<&'a str, Failure> {
    let text = context[name].as_str();
    text.ok_or_else(|| format!("the context names no {name}").into())
}

/// The client id of the context, if it names one.
fn preregistered(context: &Value) -> Result<Option<Preregistered>, Failure> {
    let Ok(client_id) = text(context, "client_id") else {
        return Ok(None);
    };
    let proof = if let Ok(secret) = text(context, "client_secret") {
        ClientProof::Secret(Secret::new(secret))
    } else if let Ok(pem) = text(context, "private_key_pem") {
        ClientProof::Key(Arc::new(SigningKey::from_pem(&Secret::new(pem))?))
    } else {
        ClientProof::None
    };
    Ok(Some(Preregistered {
        issuer: None,
        client_id: client_id.to_owned(),
        proof,
    }))
}

fn grant(scenario: &str, context: &Value) -> Result<Grant, Failure> {
    Ok(match scenario {
        "auth/client-credentials-jwt" | "auth/client-credentials-basic" => Grant::ClientCredentials,
        "auth/enterprise-managed-authorization" => Grant::EnterpriseManaged(EnterpriseManaged {
            token_endpoint: Url::parse(text(context, "idp_token_endpoint")?)?,
            client_id: text(context, "idp_client_id")?.to_owned(),
            proof: ClientProof::None,
            identity_token: Arc::new(Secret::new(text(context, "idp_id_token")?)),
        }),
        "auth/wif-jwt-bearer" => Grant::WorkloadIdentity(WorkloadIdentity {
            assertion: Arc::new(Secret::new(text(context, "valid_jwt")?)),
        }),
        _ => Grant::Login,
    })
}

/// Agrees to everything without showing a page: takes the address that the authorization server
/// sends the browser back to, and goes there.
struct Headless;

impl UserAgent for Headless {
    fn open<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let told = |error: reqwest::Error| error.to_string();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let tls = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            let browser = reqwest::Client::builder()
                .tls_backend_preconfigured(tls)
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .map_err(told)?;
            let answer = browser.get(url.clone()).send().await.map_err(told)?;
            let location = answer.headers().get(http::header::LOCATION);
            let location = location.and_then(|location| location.to_str().ok());
            let location = location.ok_or("the login page sends nobody back")?;
            browser.get(location).send().await.map_err(told)?;
            Ok(())
        })
    }
}
