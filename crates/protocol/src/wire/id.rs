//! Request ids as JSON-RPC allows them: a string or an integer (X-BASE-02).

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;

/// The id of a request, kept in the JSON type its sender chose so that it can be echoed exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// An integer, of any size JSON numbers of this platform hold.
    Number(Number),
    /// A string.
    Text(String),
}

impl RequestId {
    /// The id as one of the counters this library hands out.
    ///
    /// A peer that answers `"7"` for `7` means the same request (fault 41).
    pub fn as_counter(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

impl From<u64> for RequestId {
    fn from(counter: u64) -> Self {
        Self::Number(counter.into())
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => write!(formatter, "{text:?}"),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;

        impl Visitor<'_> for IdVisitor {
            type Value = RequestId;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or an integer as id")
            }

            fn visit_u64<E>(self, number: u64) -> Result<RequestId, E> {
                Ok(number.into())
            }

            fn visit_i64<E>(self, number: i64) -> Result<RequestId, E> {
                Ok(RequestId::Number(number.into()))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<RequestId, E> {
                // Some languages write every number as a float; 7.0 is the integer 7.
                if number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number) {
                    Ok((number as u64).into())
                } else {
                    Err(E::custom(format_args!("{number} is not an integer")))
                }
            }

            fn visit_str<E>(self, text: &str) -> Result<RequestId, E> {
                Ok(text.into())
            }
        }

        deserializer.deserialize_any(IdVisitor)
    }
}
