//! Reads one member of a JSON object without decoding the rest.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::wire::record::Key;

/// The value under `name` in the object `text`. Parsing stops as soon as it is found.
pub(crate) fn peek<'a>(text: &'a [u8], name: &str) -> Option<&'a RawValue> {
    let mut found = None;
    // Finding the member is reported as an error, which is how a visitor stops early.
    let _ = serde_json::Deserializer::from_slice(text).deserialize_map(Peek {
        name,
        found: &mut found,
    });
    found
}

/// The string under `name` in the object `text`.
pub(crate) fn peek_string<'a>(text: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    let Key(value) = serde_json::from_str(peek(text, name)?.get()).ok()?;
    Some(value)
}

struct Peek<'p, 'a> {
    name: &'p str,
    found: &'p mut Option<&'a RawValue>,
}

impl<'a> Visitor<'a> for Peek<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            if key == self.name {
                *self.found = Some(map.next_value()?);
                return Err(A::Error::custom("found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_is_found_wherever_it_stands() {
        for (text, expected) in [
            (r#"{"type":"text","text":"x"}"#, Some("text")),
            (r#"{"a":{"type":"inner"},"type":"outer"}"#, Some("outer")),
            (r#"{"type":"fo\u006f"}"#, Some("foo")),
            (r#"{"type":5}"#, None),
            (r#"{"kind":"text"}"#, None),
            ("[]", None),
        ] {
            let found = peek_string(text.as_bytes(), "type");
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
