//! A JSON value that loses nothing: numbers as they were written, members in their order.
//!
//! `serde_json`'s own tree rounds numbers and sorts members, and raw text cannot be edited. This
//! tree can be edited and writes back what it read.

use std::collections::HashMap;
use std::fmt;

use attache_protocol::{Json, MAX_DEPTH, nests_too_deep};
use serde::de::Error as _;
use serde::{Serialize, Serializer};

use crate::Number;

/// Objects with more members than this find them by an index.
const INDEX_ABOVE: usize = 16;

/// A JSON value. Two are equal as JSON Schema has it: `1` is `1.0`, the order of members does not
/// count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

/// The members of an object in their order, each name once.
#[derive(Clone, Debug, Default)]
pub struct Object {
    members: Vec<(String, Value)>,
    index: HashMap<String, usize>,
}

impl Value {
    /// Reads a JSON text of bounded depth.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Self::of_json(&Json::parse(text)?)
    }

    /// Reads a JSON value of bounded depth. Of two members with one name the last counts.
    pub fn of_json(json: &Json) -> Result<Self, serde_json::Error> {
        let text = json.as_str();
        if nests_too_deep(text.as_bytes()) {
            return Err(serde_json::Error::custom(format_args!(
                "nested deeper than {MAX_DEPTH} levels"
            )));
        }
        Reader { text, at: 0 }.value()
    }

    /// The value as JSON text, numbers and order as they were.
    pub fn to_json(&self) -> Json {
        // Keys are strings and numbers are valid, so writing cannot fail.
        Json::from_serialize(self).unwrap_or_default()
    }

    /// The member of that name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members, if this is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// A text that equal values share, and no others.
    pub(crate) fn canonical(&self) -> String {
        match self {
            Self::Number(number) => number.canonical(),
            Self::Array(items) => {
                let items: Vec<String> = items.iter().map(Self::canonical).collect();
                format!("[{}]", items.join(","))
            }
            Self::Object(object) => {
                let member = |(name, value): (&str, &Self)| {
                    let name = Self::String(name.to_owned());
                    format!("{name}:{}", value.canonical())
                };
                let mut members: Vec<String> = object.iter().map(member).collect();
                members.sort_unstable();
                format!("{{{}}}", members.join(","))
            }
            other => other.to_string(),
        }
    }

    /// The value as a person types it: text without quotes, all else as JSON.
    pub fn plain(&self) -> String {
        match self {
            Self::String(text) => text.clone(),
            other => other.to_json().as_str().to_owned(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.to_json().as_str())
    }
}

impl From<&serde_json::Value> for Value {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            // Its text is always a number.
            serde_json::Value::Number(number) => {
                Number::parse(&number.to_string()).map_or(Self::Null, Self::Number)
            }
            serde_json::Value::String(text) => Self::String(text.clone()),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(members) => {
                let members = members.iter();
                Self::Object(
                    members
                        .map(|(name, it)| (name.as_str(), Self::from(it)))
                        .collect(),
                )
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(object) => serializer.collect_map(object.iter()),
        }
    }
}

impl Object {
    /// The member of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        Some(&self.members[self.position(name)?].1)
    }

    /// The member of that name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let at = self.position(name)?;
        Some(&mut self.members[at].1)
    }

    /// Sets a member: in its place if there is one of that name, else as the last.
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        let name = name.into();
        match self.position(&name) {
            Some(at) => self.members[at].1 = value,
            None => {
                self.members.push((name, value));
                self.extend_index();
            }
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.position(name)?;
        let (_, value) = self.members.remove(at);
        self.index.clear();
        self.extend_index();
        Some(value)
    }

    /// All members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.members
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn position(&self, name: &str) -> Option<usize> {
        if self.members.len() > INDEX_ABOVE {
            self.index.get(name).copied()
        } else {
            self.members.iter().position(|(member, _)| member == name)
        }
    }

    fn extend_index(&mut self) {
        if self.members.len() > INDEX_ABOVE {
            for (at, (name, _)) in self.members.iter().enumerate().skip(self.index.len()) {
                self.index.insert(name.clone(), at);
            }
        }
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Eq for Object {}

impl<K: Into<String>> FromIterator<(K, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(members: I) -> Self {
        let mut object = Self::default();
        for (name, value) in members {
            object.insert(name, value);
        }
        object
    }
}

/// Reads a text that is known to be one JSON value of bounded depth.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Value, serde_json::Error> {
        Ok(match self.peek() {
            b'n' => self.literal(4, Value::Null),
            b't' => self.literal(4, Value::Bool(true)),
            b'f' => self.literal(5, Value::Bool(false)),
            b'"' => Value::String(self.string()?),
            b'[' => {
                let mut items = Vec::new();
                self.at += 1;
                while self.continues(b']') {
                    items.push(self.value()?);
                }
                Value::Array(items)
            }
            b'{' => {
                let mut object = Object::default();
                self.at += 1;
                while self.continues(b'}') {
                    self.peek();
                    let name = self.string()?;
                    self.peek();
                    self.at += 1;
                    let value = self.value()?;
                    object.insert(name, value);
                }
                Value::Object(object)
            }
            _ => {
                let rest = &self.text[self.at..];
                let end =
                    rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
                let text = &rest[..end.unwrap_or(rest.len())];
                self.at += text.len();
                let number = Number::parse(text)
                    .ok_or_else(|| serde_json::Error::custom("not a JSON value"))?;
                Value::Number(number)
            }
        })
    }

    /// Skips white space and tells the next byte; zero at the end.
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or_default()
    }

    /// Passes over a comma, or over the closing bracket, which ends the list.
    fn continues(&mut self, closing: u8) -> bool {
        match self.peek() {
            b',' => self.at += 1,
            // The text was checked, so its end cannot come first; without this arm a mistake in that
            // check would loop for ever.
            0 => return false,
            byte if byte == closing => {
                self.at += 1;
                return false;
            }
            _ => {}
        }
        true
    }

    fn literal(&mut self, length: usize, value: Value) -> Value {
        self.at += length;
        value
    }

    fn string(&mut self) -> Result<String, serde_json::Error> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += match byte {
                b'"' => break,
                b'\\' => 2,
                _ => 1,
            };
        }
        self.at += 1;
        let text = self
            .text
            .get(start..self.at)
            .ok_or_else(|| serde_json::Error::custom("a text without end"))?;
        // Escapes of half a character are refused here.
        serde_json::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written() {
        let text = r#"{"z":[1e400,-0.10,123456789012345678901234567890],"a":{"\"\\é😀":null,"":[]},"b":[true,false,{}],"k":"\n"}"#;
        assert_eq!(Value::parse(text).unwrap().to_string(), text);
        let spaced = " { \"a\" : [ 1 , 2 ] , \"b\" : \"\\u0041\" }\n";
        assert_eq!(
            Value::parse(spaced).unwrap().to_string(),
            r#"{"a":[1,2],"b":"A"}"#
        );
    }

    #[test]
    fn bad_texts_and_deep_ones_are_refused() {
        for text in ["", "{", "[1,]", "nul", r#""\ud800""#, "1 2"] {
            assert!(Value::parse(text).is_err(), "{text}");
        }
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Value::parse(&nested(MAX_DEPTH - 1)).is_ok());
        assert!(Value::parse(&nested(MAX_DEPTH + 1)).is_err());
    }

    #[test]
    fn objects_keep_order_with_and_without_index() {
        for count in [INDEX_ABOVE, INDEX_ABOVE + 1, 3 * INDEX_ABOVE] {
            let mut object: Object = (0..count)
                .map(|n| (format!("m{n}"), Value::Number(n.into())))
                .collect();
            object.insert("m3", Value::Null);
            assert_eq!(object.remove("m1"), Some(Value::Number(1.into())));
            assert_eq!(object.get("m1"), None);
            assert_eq!(object.get("m3"), Some(&Value::Null));
            let last = format!("m{}", count - 1);
            assert_eq!(object.get(&last), Some(&Value::Number((count - 1).into())));
            let names: Vec<&str> = object.iter().map(|(name, _)| name).collect();
            assert_eq!((names[1], names.len()), ("m2", count - 1));
        }
    }

    #[test]
    fn equality_is_that_of_json_schema() {
        let equal = |one: &str, two: &str| {
            let (one, two) = (Value::parse(one).unwrap(), Value::parse(two).unwrap());
            assert_eq!(one == two, one.canonical() == two.canonical());
            one == two
        };
        assert!(equal(r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#));
        assert!(equal("[100,-0,0.5]", "[1e2,0.0,5E-1]"));
        assert!(!equal("1", r#""1""#) && !equal("[1,2]", "[2,1]") && !equal("0", "false"));
    }
}
