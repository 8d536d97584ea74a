//! SHA-256 as text, and JSON in the one form that digests are taken of.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, in lower-case hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    let mut text = String::with_capacity(digest.len() * 2);
    for byte in digest {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The same value with the keys of all objects in order, so that their order on the wire does not
/// matter, whichever map the JSON library was built with.
pub(crate) fn canonical(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            let members = members
                .into_iter()
                .map(|(key, value)| (key, canonical(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_the_known_ones() {
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let one: Value = serde_json::from_str(r#"{"b":[{"y":1,"x":2}],"a":null}"#).unwrap();
        assert_eq!(
            canonical(one).to_string(),
            r#"{"a":null,"b":[{"x":2,"y":1}]}"#
        );
    }
}
