//! Proof of possession (RFC 9449).
//!
//! Owns the key of one login, the proofs made with it, and the nonces that servers hand out. Knows
//! nothing of how tokens are obtained.

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use parking_lot::Mutex;
use serde_json::json;
use url::Url;

use super::clock::unix_time;
use super::error::AuthorizationError;
use super::jwt::{self, SigningKey};
use super::secret::Secret;

/// The header that carries a proof.
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");

/// The header that brings the nonce for the next proof.
pub(crate) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The error code that asks for a nonce.
pub(crate) const USE_NONCE: &str = "use_dpop_nonce";

/// The longest nonce that is kept.
const MAX_NONCE_LENGTH: usize = 1024;

/// How many servers' nonces are kept: the resource, its authorization server, one to migrate to.
const MAX_NONCES: usize = 8;

/// The last nonce of each server, by origin. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Nonces {
    by_origin: Arc<Mutex<HashMap<String, String>>>,
}

impl Nonces {
    /// Keeps the nonce of an answer, if it has one.
    pub(crate) fn learn(&self, url: &Url, headers: &HeaderMap) -> Observed {
        let nonce = headers
            .get(DPOP_NONCE)
            .and_then(|nonce| nonce.to_str().ok());
        let Some(nonce) = nonce.filter(|nonce| nonce.len() <= MAX_NONCE_LENGTH) else {
            return Observed::Nothing;
        };
        let mut by_origin = self.by_origin.lock();
        let origin = url.origin().ascii_serialization();
        if by_origin.len() == MAX_NONCES && !by_origin.contains_key(&origin) {
            by_origin.clear();
        }
        match by_origin.insert(origin, nonce.to_owned()) {
            Some(former) if former == nonce => Observed::Nothing,
            _ => Observed::Nonce,
        }
    }

    fn of(&self, url: &Url) -> Option<String> {
        let by_origin = self.by_origin.lock();
        by_origin.get(&url.origin().ascii_serialization()).cloned()
    }
}

/// What an answer taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// A nonce that was not known: a new proof has a chance.
    Nonce,
    /// Nothing new.
    Nothing,
}

/// A fresh proof for one request; `token` is the access token it accompanies, if any.
pub(crate) fn proof(
    key: &SigningKey,
    nonces: &Nonces,
    method: &Method,
    url: &Url,
    token: Option<&Secret>,
) -> Result<HeaderValue, AuthorizationError> {
    let mut target = url.clone();
    target.set_query(None);
    target.set_fragment(None);
    let mut claims = json!({
        "jti": jwt::random_text()?,
        "htm": method.as_str(),
        "htu": target.as_str(),
        "iat": unix_time(),
    });
    if let Some(nonce) = nonces.of(url) {
        claims["nonce"] = nonce.into();
    }
    if let Some(token) = token {
        claims["ath"] = jwt::digest(token.expose()).into();
    }
    let header = json!({"typ": "dpop+jwt", "jwk": key.public_jwk()});
    let proof = key.sign(header, &claims)?;
    HeaderValue::from_str(&proof).map_err(|_| AuthorizationError::Key {
        problem: "the proof does not fit into a header".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::Value;

    use super::*;

    fn claims(proof: &HeaderValue) -> Value {
        let part = proof.to_str().unwrap().split('.').nth(1).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn a_proof_names_the_request_and_the_token() {
        let key = SigningKey::generate().unwrap();
        let nonces = Nonces::default();
        let url = Url::parse("https://a.b/mcp?x=1#y").unwrap();
        let token = Secret::new("t");
        let first = claims(&proof(&key, &nonces, &Method::POST, &url, Some(&token)).unwrap());
        assert_eq!(first["htm"], "POST");
        assert_eq!(first["htu"], "https://a.b/mcp");
        assert_eq!(first["ath"], jwt::digest("t"));
        assert_eq!(first["nonce"], Value::Null);

        let mut headers = HeaderMap::new();
        headers.insert(DPOP_NONCE, HeaderValue::from_static("n"));
        assert_eq!(nonces.learn(&url, &headers), Observed::Nonce);
        assert_eq!(nonces.learn(&url, &headers), Observed::Nothing);
        let second = claims(&proof(&key, &nonces, &Method::POST, &url, None).unwrap());
        assert_eq!(second["nonce"], "n");
        assert_eq!(second["ath"], Value::Null);
        assert_ne!(second["jti"], first["jti"]);

        let elsewhere = Url::parse("https://c.d/token").unwrap();
        let third = claims(&proof(&key, &nonces, &Method::POST, &elsewhere, None).unwrap());
        assert_eq!(third["nonce"], Value::Null);
    }

    #[test]
    fn nonces_are_bounded() {
        let nonces = Nonces::default();
        let mut headers = HeaderMap::new();
        headers.insert(DPOP_NONCE, HeaderValue::from_static("n"));
        for number in 0..=MAX_NONCES {
            let url = Url::parse(&format!("https://h{number}.example/")).unwrap();
            nonces.learn(&url, &headers);
            assert_eq!(nonces.of(&url).as_deref(), Some("n"));
        }
        assert!(nonces.by_origin.lock().len() <= MAX_NONCES);

        let long = "x".repeat(MAX_NONCE_LENGTH + 1);
        headers.insert(DPOP_NONCE, HeaderValue::from_str(&long).unwrap());
        let url = Url::parse("https://long.example/").unwrap();
        assert_eq!(nonces.learn(&url, &headers), Observed::Nothing);
        assert_eq!(nonces.of(&url), None);
    }
}
