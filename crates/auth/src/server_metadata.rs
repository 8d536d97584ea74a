//! What an authorization server says about itself (RFC 8414, OpenID Connect Discovery).
//!
//! Owns where the document may be, what is read from it, and what holds for servers of the first
//! revision that publish none. Fetching is not done here.

use serde_json::Value;
use url::Url;

use super::error::AuthorizationError;
use super::fetch::Fields;
use super::resource_metadata::origin;

/// The parts of the document that matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerMetadata {
    /// As it is written, because it is compared as text (C-AUTH-26).
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Url,
    pub(crate) registration_endpoint: Option<Url>,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) scopes_supported: Vec<String>,
    pub(crate) challenge_methods: Option<Vec<String>>,
    pub(crate) authentication_methods: Option<Vec<String>>,
    pub(crate) takes_metadata_documents: bool,
    pub(crate) sends_issuer: bool,
    pub(crate) dpop_algorithms: Vec<String>,
    pub(crate) provenance: Provenance,
}

/// Where the metadata come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provenance {
    /// A document.
    Published,
    /// The default endpoints of revision 2025-03-26 (C-AUTH-04).
    Assumed,
}

impl ServerMetadata {
    /// Reads a document that was fetched for `issuer`. A document that names another issuer is not
    /// used (C-AUTH-12).
    pub(crate) fn read(document: &Value, issuer: &str) -> Result<Self, AuthorizationError> {
        let found = document.text("issuer").unwrap_or_default();
        if !is_same_issuer(issuer, found) {
            return Err(AuthorizationError::IssuerMismatch {
                expected: issuer.to_owned(),
                found: attache_net::quoted(found),
            });
        }
        let endpoint = |name| document.text(name).and_then(|text| Url::parse(text).ok());
        let Some(token_endpoint) = endpoint("token_endpoint") else {
            return Err(AuthorizationError::Discovery {
                server: issuer.to_owned(),
                problem: "its metadata name no token endpoint".to_owned(),
            });
        };
        Ok(Self {
            issuer: found.to_owned(),
            authorization_endpoint: endpoint("authorization_endpoint"),
            token_endpoint,
            registration_endpoint: endpoint("registration_endpoint"),
            revocation_endpoint: endpoint("revocation_endpoint"),
            scopes_supported: document.texts("scopes_supported").unwrap_or_default(),
            challenge_methods: document.texts("code_challenge_methods_supported"),
            authentication_methods: document.texts("token_endpoint_auth_methods_supported"),
            takes_metadata_documents: document.flag("client_id_metadata_document_supported"),
            sends_issuer: document.flag("authorization_response_iss_parameter_supported"),
            dpop_algorithms: document
                .texts("dpop_signing_alg_values_supported")
                .unwrap_or_default(),
            provenance: Provenance::Published,
        })
    }

    /// What a server of revision 2025-03-26 without metadata offers (C-AUTH-04).
    pub(crate) fn assumed(server: &Url) -> Self {
        let origin = origin(server);
        let endpoint = |path: &str| {
            let mut url = origin.clone();
            url.set_path(path);
            url
        };
        Self {
            issuer: issuer_of_origin(server),
            authorization_endpoint: Some(endpoint("/authorize")),
            token_endpoint: endpoint("/token"),
            registration_endpoint: Some(endpoint("/register")),
            revocation_endpoint: None,
            scopes_supported: Vec::new(),
            challenge_methods: None,
            authentication_methods: None,
            takes_metadata_documents: false,
            sends_issuer: false,
            dpop_algorithms: Vec::new(),
            provenance: Provenance::Assumed,
        }
    }

    /// Refuses a server that does not promise PKCE with S256 (C-AUTH-20, C-AUTH-21). Where nothing
    /// is published nothing can be promised; revision 2025-03-26 requires it of every server.
    pub(crate) fn require_pkce(&self) -> Result<(), AuthorizationError> {
        let promised = self.challenge_methods.iter().flatten().any(|m| m == "S256");
        if promised || self.provenance == Provenance::Assumed {
            Ok(())
        } else {
            Err(AuthorizationError::PkceMissing {
                issuer: self.issuer.clone(),
            })
        }
    }

    /// Whether it understands proofs signed with the one algorithm that is offered here.
    pub(crate) fn takes_dpop(&self) -> bool {
        self.dpop_algorithms
            .iter()
            .any(|algorithm| algorithm == "ES256")
    }
}

/// Where the metadata of an issuer may be, in order (C-AUTH-11).
pub(crate) fn candidates(issuer: &Url) -> Vec<Url> {
    let at = |path: String| {
        let mut url = origin(issuer);
        url.set_path(&path);
        url
    };
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(format!("{path}/.well-known/openid-configuration")));
    }
    places
}

/// The issuer that a server of the first revision is itself.
pub(crate) fn issuer_of_origin(server: &Url) -> String {
    let origin = String::from(origin(server));
    origin.trim_end_matches('/').to_owned()
}

/// Issuers are compared as text. Only the slash after a bare origin may differ: a widespread server
/// library writes it into every address of the resource metadata, and both texts are the same host.
fn is_same_issuer(asked: &str, found: &str) -> bool {
    let bare = |issuer: &str| match issuer.strip_suffix('/') {
        Some(origin) if origin.matches('/').count() == 2 => origin.to_owned(),
        _ => issuer.to_owned(),
    };
    !found.is_empty() && bare(asked) == bare(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    /// C-AUTH-11: the order of the well-known addresses.
    /// C-AUTH-10.
    #[test]
    fn places_are_tried_in_order() {
        let check = |issuer: &str, expected: &[&str]| {
            let found = candidates(&url(issuer));
            let found: Vec<&str> = found.iter().map(Url::as_str).collect();
            assert_eq!(found, expected, "{issuer}");
        };
        let bare = [
            "https://a.b/.well-known/oauth-authorization-server",
            "https://a.b/.well-known/openid-configuration",
        ];
        check("https://a.b", &bare);
        check("https://a.b/", &bare);
        check(
            "https://a.b/t/1",
            &[
                "https://a.b/.well-known/oauth-authorization-server/t/1",
                "https://a.b/.well-known/openid-configuration/t/1",
                "https://a.b/t/1/.well-known/openid-configuration",
            ],
        );
    }

    /// C-AUTH-12.
    #[test]
    fn a_document_of_another_issuer_is_refused() {
        let check = |asked: &str, found: &str, expected: bool| {
            let document = json!({"issuer": found, "token_endpoint": "https://a.b/token"});
            let read = ServerMetadata::read(&document, asked);
            assert_eq!(read.is_ok(), expected, "{asked} {found}");
            if let Ok(metadata) = read {
                assert_eq!(metadata.issuer, found);
            }
        };
        check("https://a.b", "https://a.b", true);
        check("https://a.b/", "https://a.b", true);
        check("https://a.b", "https://a.b/", true);
        check("https://a.b/t", "https://a.b/t", true);
        check("https://a.b/t", "https://a.b/t/", false);
        check("https://a.b", "https://A.b", false);
        check("https://a.b", "https://a.b:443", false);
        check("https://a.b", "https://attacker.example", false);
        check("https://a.b", "", false);
    }

    /// C-AUTH-20, C-AUTH-21.
    /// S7.
    #[test]
    fn s256_or_nothing() {
        let check = |methods: Value, expected: bool| {
            let document = json!({
                "issuer": "https://a.b", "token_endpoint": "https://a.b/token",
                "code_challenge_methods_supported": methods
            });
            let metadata = ServerMetadata::read(&document, "https://a.b").unwrap();
            assert_eq!(metadata.require_pkce().is_ok(), expected, "{methods}");
        };
        check(json!(["plain", "S256"]), true);
        check(json!(["plain"]), false);
        check(json!([]), false);
        check(json!(null), false);
        assert!(
            ServerMetadata::assumed(&url("https://a.b/mcp"))
                .require_pkce()
                .is_ok()
        );
    }

    /// C-AUTH-04.
    #[test]
    fn servers_without_metadata_have_default_endpoints() {
        let assumed = ServerMetadata::assumed(&url("https://a.b:8443/x/mcp?y=1"));
        assert_eq!(assumed.issuer, "https://a.b:8443");
        assert_eq!(assumed.token_endpoint.as_str(), "https://a.b:8443/token");
        assert_eq!(
            assumed.registration_endpoint.unwrap().as_str(),
            "https://a.b:8443/register"
        );
    }
}
