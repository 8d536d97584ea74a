//! What is remembered about a login, and its form in a store.
//!
//! Owns the record of tokens for one server and of a registration at one issuer. A record that
//! cannot be read counts as absent: the worst that follows is another login.

use std::sync::Arc;

use serde_json::{Value, json};
use url::Url;

use super::client::{ClientProof, Method, OAuthClient};
use super::clock::unix_time;
use super::fetch::Fields;
use super::jwt::SigningKey;
use super::registration::Registration;
use super::secret::Secret;
use super::token::{Granted, Scheme};

/// A token that ends within this many seconds is renewed before it is used.
pub(crate) const RENEW_BEFORE: u64 = 30;

/// The tokens for one server, bound to the issuer and the endpoint they came from (S7).
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    /// The ways of client authentication that the endpoint lists.
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) resource: String,
    pub(crate) client_id: String,
    pub(crate) access_token: Secret,
    pub(crate) scheme: Scheme,
    pub(crate) refresh_token: Option<Secret>,
    pub(crate) expires_at: Option<u64>,
    /// The scopes that were asked for.
    pub(crate) requested: Vec<String>,
    /// The scopes that were granted.
    pub(crate) granted: Vec<String>,
    pub(crate) dpop_key: Option<Arc<SigningKey>>,
}

impl Credentials {
    /// Whether the token ends so soon that it is not worth sending.
    pub(crate) fn is_ending(&self) -> bool {
        let soon = unix_time().saturating_add(RENEW_BEFORE);
        self.expires_at.is_some_and(|at| at <= soon)
    }

    /// What the `Authorization` header says.
    pub(crate) fn presented(&self) -> Secret {
        Secret::new(format!(
            "{} {}",
            self.scheme.name(),
            self.access_token.expose()
        ))
    }

    /// The same credentials with a renewed token. A refresh token that is not replaced stays good.
    pub(crate) fn renewed(&self, granted: Granted) -> Self {
        Self {
            access_token: granted.access_token,
            scheme: granted.scheme,
            refresh_token: granted.refresh_token.or_else(|| self.refresh_token.clone()),
            expires_at: granted.expires_at,
            granted: granted.scopes.unwrap_or_else(|| self.granted.clone()),
            ..self.clone()
        }
    }

    pub(crate) fn to_text(&self) -> Secret {
        let record = json!({
            "issuer": self.issuer,
            "token_endpoint": self.token_endpoint.as_str(),
            "revocation_endpoint": self.revocation_endpoint.as_ref().map(Url::as_str),
            "methods": self.methods,
            "resource": self.resource,
            "client_id": self.client_id,
            "access_token": self.access_token.expose(),
            "scheme": self.scheme.name(),
            "refresh_token": self.refresh_token.as_ref().map(Secret::expose),
            "expires_at": self.expires_at,
            "requested": self.requested,
            "granted": self.granted,
            "dpop_key": self.dpop_key.as_ref().map(|key| key.to_stored().expose().to_owned()),
        });
        Secret::new(record.to_string())
    }

    pub(crate) fn from_text(text: &Secret) -> Option<Self> {
        let record: Value = serde_json::from_str(text.expose()).ok()?;
        let dpop_key = match record.text("dpop_key") {
            Some(stored) => Some(Arc::new(
                SigningKey::from_stored(&Secret::new(stored)).ok()?,
            )),
            None => None,
        };
        Some(Self {
            issuer: record.text("issuer")?.to_owned(),
            token_endpoint: Url::parse(record.text("token_endpoint")?).ok()?,
            revocation_endpoint: record
                .text("revocation_endpoint")
                .and_then(|text| Url::parse(text).ok()),
            methods: record.texts("methods"),
            resource: record.text("resource")?.to_owned(),
            client_id: record.text("client_id")?.to_owned(),
            access_token: Secret::new(record.text("access_token")?),
            scheme: Scheme::by_name(record.text("scheme")?)?,
            refresh_token: record.text("refresh_token").map(Secret::new),
            expires_at: record.get("expires_at").and_then(Value::as_u64),
            requested: record.texts("requested").unwrap_or_default(),
            granted: record.texts("granted").unwrap_or_default(),
            dpop_key,
        })
    }
}

impl Registration {
    pub(crate) fn to_text(&self) -> Secret {
        let secret = match &self.client.proof {
            ClientProof::Secret(secret) => Some(secret.expose()),
            _ => None,
        };
        let record = json!({
            "client_id": self.client.id,
            "client_secret": secret,
            "method": self.client.registered_method.map(Method::name),
            "redirect_uri": self.redirect_uri,
            "expires_at": self.expires_at,
        });
        Secret::new(record.to_string())
    }

    pub(crate) fn from_text(text: &Secret) -> Option<Self> {
        let record: Value = serde_json::from_str(text.expose()).ok()?;
        let proof = record
            .text("client_secret")
            .map_or(ClientProof::None, |secret| {
                ClientProof::Secret(Secret::new(secret))
            });
        Some(Self {
            client: OAuthClient {
                id: record.text("client_id")?.to_owned(),
                proof,
                registered_method: record.text("method").and_then(Method::by_name),
            },
            redirect_uri: record.text("redirect_uri")?.to_owned(),
            expires_at: record.get("expires_at").and_then(Value::as_u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        Credentials {
            issuer: "https://a.b".to_owned(),
            token_endpoint: Url::parse("https://a.b/token").unwrap(),
            revocation_endpoint: None,
            methods: Some(vec!["none".to_owned()]),
            resource: "https://s.t/mcp".to_owned(),
            client_id: "id".to_owned(),
            access_token: Secret::new("hunter2"),
            scheme: Scheme::Dpop,
            refresh_token: Some(Secret::new("hunter3")),
            expires_at: Some(unix_time() + RENEW_BEFORE),
            requested: vec!["a".to_owned()],
            granted: vec!["a".to_owned()],
            dpop_key: Some(Arc::new(SigningKey::generate().unwrap())),
        }
    }

    #[test]
    fn records_survive_storage_and_show_no_secret() {
        let original = credentials();
        let text = original.to_text();
        let read = Credentials::from_text(&text).unwrap();
        assert_eq!(read.to_text(), text);
        assert!(!format!("{read:?}").contains("hunter"));
        for damaged in ["", "{}", "[]", "{\"issuer\":\"x\"}"] {
            assert!(Credentials::from_text(&Secret::new(damaged)).is_none());
            assert!(Registration::from_text(&Secret::new(damaged)).is_none());
        }
    }

    #[test]
    fn a_token_about_to_end_is_not_used() {
        let mut credentials = credentials();
        assert!(credentials.is_ending());
        credentials.expires_at = Some(unix_time() + RENEW_BEFORE + 5);
        assert!(!credentials.is_ending());
        credentials.expires_at = None;
        assert!(!credentials.is_ending());
    }

    #[test]
    fn a_refresh_token_stays_unless_replaced() {
        let granted = |refresh: Option<&str>| Granted {
            access_token: Secret::new("new"),
            scheme: Scheme::Bearer,
            refresh_token: refresh.map(Secret::new),
            expires_at: None,
            scopes: None,
        };
        let kept = credentials().renewed(granted(None));
        assert_eq!(kept.refresh_token.unwrap().expose(), "hunter3");
        assert_eq!(kept.granted, ["a"]);
        let replaced = credentials().renewed(granted(Some("r")));
        assert_eq!(replaced.refresh_token.unwrap().expose(), "r");
    }
}
