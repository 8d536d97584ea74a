//! Signs JSON Web Tokens (RFC 7515, RFC 7519), and nothing else: nobody's tokens are read here.
//!
//! Owns keys, algorithms and the compact form. What the claims mean is for the callers.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::error::AuthorizationError;
use super::secret::Secret;

/// Random bytes in every generated text: 256 bits, more than anyone guesses.
const RANDOM_BYTES: usize = 32;

/// A private key that signs tokens: P-256 (ES256) or RSA (RS256).
pub struct SigningKey {
    kind: Kind,
    /// The key in PKCS #8, kept to store it.
    pkcs8: Zeroizing<Vec<u8>>,
}

enum Kind {
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Reads a key from PEM with PKCS #8 inside (`BEGIN PRIVATE KEY`).
    pub fn from_pem(pem: &Secret) -> Result<Self, AuthorizationError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.expose().as_bytes())
            .map_err(|_| unusable("it is no PKCS #8 key in PEM (`BEGIN PRIVATE KEY`)"))?;
        Self::from_pkcs8(der.secret_pkcs8_der())
    }

    /// Makes a new P-256 key.
    pub(crate) fn generate() -> Result<Self, AuthorizationError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| unusable("the system gives no random numbers"))?;
        Self::from_pkcs8(document.as_ref())
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, AuthorizationError> {
        let random = SystemRandom::new();
        let pkcs8 = Zeroizing::new(der.to_vec());
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random) {
            let kind = Kind::P256(pair);
            return Ok(Self { kind, pkcs8 });
        }
        match RsaKeyPair::from_pkcs8(der) {
            Ok(pair) => Ok(Self {
                kind: Kind::Rsa(pair),
                pkcs8,
            }),
            Err(_) => Err(unusable(
                "it is neither a P-256 key with its public half nor an RSA key of 2048 bits or more",
            )),
        }
    }

    /// The key as text, to be stored.
    pub(crate) fn to_stored(&self) -> Secret {
        Secret::new(URL_SAFE_NO_PAD.encode(&*self.pkcs8))
    }

    /// Reads what [`SigningKey::to_stored`] wrote.
    pub(crate) fn from_stored(text: &Secret) -> Result<Self, AuthorizationError> {
        let decoded = URL_SAFE_NO_PAD.decode(text.expose());
        let der = Zeroizing::new(decoded.map_err(|_| unusable("the stored text is damaged"))?);
        Self::from_pkcs8(&der)
    }

    /// The algorithm's name in headers.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::P256(_) => "ES256",
            Kind::Rsa(_) => "RS256",
        }
    }

    /// The public half (RFC 7517).
    pub(crate) fn public_jwk(&self) -> Value {
        match &self.kind {
            Kind::P256(pair) => {
                // The public key is the byte 4, then both coordinates.
                let point = pair.public_key().as_ref();
                let (x, y) = point.get(1..).unwrap_or_default().split_at(point.len() / 2);
                json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
            }
            Kind::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({"kty": "RSA", "n": encode(&public.n), "e": encode(&public.e)})
            }
        }
    }

    /// Signs claims; `header` holds what goes beside the algorithm.
    pub(crate) fn sign(
        &self,
        mut header: Value,
        claims: &Value,
    ) -> Result<String, AuthorizationError> {
        header["alg"] = self.algorithm().into();
        let header = encode(header.to_string().as_bytes());
        let claims = encode(claims.to_string().as_bytes());
        let message = format!("{header}.{claims}");
        let signature = self.signature(message.as_bytes())?;
        Ok(format!("{message}.{}", encode(&signature)))
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, AuthorizationError> {
        let random = SystemRandom::new();
        let failed = |_| unusable("signing failed");
        match &self.kind {
            Kind::P256(pair) => {
                let signature = pair.sign(&random, message).map_err(failed)?;
                Ok(signature.as_ref().to_vec())
            }
            Kind::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({}, …)", self.algorithm())
    }
}

/// Base64 for addresses, without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The SHA-256 digest in that form.
pub(crate) fn digest(text: &str) -> String {
    encode(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

/// An unguessable text of 43 characters, fit for addresses.
pub(crate) fn random_text() -> Result<String, AuthorizationError> {
    let mut bytes = Zeroizing::new([0; RANDOM_BYTES]);
    SystemRandom::new()
        .fill(&mut *bytes)
        .map_err(|_| unusable("the system gives no random numbers"))?;
    Ok(encode(&*bytes))
}

fn unusable(problem: &str) -> AuthorizationError {
    AuthorizationError::Key {
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_signature_can_be_verified() {
        let key = SigningKey::generate().unwrap();
        let token = key.sign(json!({"typ": "x"}), &json!({"a": 1})).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let header: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[0]).unwrap()).unwrap();
        assert_eq!(header, json!({"typ": "x", "alg": "ES256"}));

        let jwk = key.public_jwk();
        let mut point = vec![4];
        for coordinate in ["x", "y"] {
            let bytes = URL_SAFE_NO_PAD
                .decode(jwk[coordinate].as_str().unwrap())
                .unwrap();
            assert_eq!(bytes.len(), 32);
            point.extend(bytes);
        }
        let message = format!("{}.{}", parts[0], parts[1]);
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
            .verify(
                message.as_bytes(),
                &URL_SAFE_NO_PAD.decode(parts[2]).unwrap(),
            )
            .unwrap();
    }

    #[test]
    fn a_key_survives_storage() {
        let key = SigningKey::generate().unwrap();
        let again = SigningKey::from_stored(&key.to_stored()).unwrap();
        assert_eq!(again.public_jwk(), key.public_jwk());
        assert_eq!(format!("{key:?}"), "SigningKey(ES256, …)");
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        for text in [
            "",
            "hunter2",
            "-----BEGIN PRIVATE KEY-----\naHVudGVyMg==\n-----END PRIVATE KEY-----",
        ] {
            let error = SigningKey::from_pem(&Secret::new(text)).unwrap_err();
            assert!(!error.to_string().contains("hunter2"));
            assert!(!error.to_string().contains("aHVudGVyMg"));
        }
    }

    /// RFC 7636, appendix B.
    #[test]
    fn digests_are_those_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            digest(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        assert_eq!(random_text().unwrap().len(), 43);
        assert_ne!(random_text().unwrap(), random_text().unwrap());
    }
}
