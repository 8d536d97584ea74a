//! Seals: what leaves the server and must come back unchanged (S-MRTR-07, S10).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::failure::BuildError;

/// How long a tag is in bytes.
const TAG: usize = 32;

/// A key that only this server has.
pub(crate) struct Seal {
    key: hmac::Key,
}

impl Seal {
    /// A key of its own for this run.
    pub(crate) fn random() -> Result<Self, BuildError> {
        Ok(Self::with_key(&random_bytes::<32>()?))
    }

    /// A key that several instances share.
    pub(crate) fn with_key(key: &[u8]) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
        }
    }

    /// The text with a tag that proves who wrote it.
    pub(crate) fn close(&self, text: &[u8]) -> String {
        let tag = hmac::sign(&self.key, text);
        STANDARD.encode([tag.as_ref(), text].concat())
    }

    /// The text, if this server wrote it.
    pub(crate) fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        let mut bytes = STANDARD.decode(sealed).ok()?;
        let text = bytes.split_off(TAG.min(bytes.len()));
        hmac::verify(&self.key, &text, &bytes).ok()?;
        Some(text)
    }
}

/// Bytes nobody can guess.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], BuildError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| BuildError::NoRandomness).map(|()| bytes)
}

/// A name nobody can guess: 128 bits in hexadecimal (S-SHL-23, S-TSKE-18).
pub(crate) fn random_name() -> Result<String, BuildError> {
    let bytes = random_bytes::<16>()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_mrtr_07_only_what_was_sealed_here_opens() {
        let seal = Seal::random().unwrap();
        let sealed = seal.close(b"state");
        assert_eq!(seal.open(&sealed).unwrap(), b"state");
        assert_eq!(Seal::random().unwrap().open(&sealed), None);
        let mut bytes = STANDARD.decode(&sealed).unwrap();
        for index in 0..bytes.len() {
            bytes[index] ^= 1;
            assert_eq!(seal.open(&STANDARD.encode(&bytes)), None, "byte {index}");
            bytes[index] ^= 1;
        }
        for refused in ["", "AAAA", "====", "not base64"] {
            assert_eq!(seal.open(refused), None);
        }
    }

    /// A state that is good once must not be good again in another spelling.
    #[test]
    fn s_mrtr_07_a_seal_has_one_spelling() {
        let seal = Seal::random().unwrap();
        let sealed = seal.close(b"state");
        let digits = sealed.strip_suffix("==").unwrap();
        // The last digit stands for two bits only; the next one has the same two.
        let (before, last) = digits.split_at(digits.len() - 1);
        let next = char::from(last.as_bytes()[0] + 1);
        for refused in [
            digits.to_owned(),
            format!("{digits}="),
            format!("{sealed}\n"),
            format!("{before}{next}=="),
        ] {
            assert_eq!(seal.open(&refused), None, "{refused}");
        }
    }
}
