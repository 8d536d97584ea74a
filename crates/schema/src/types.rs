//! The types of JSON values.

use crate::Value;

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    /// No type.
    pub const NONE: Self = Self(0);
    /// Text.
    pub const STRING: Self = Self(1);
    /// Whole numbers.
    pub const INTEGER: Self = Self(2);
    /// Any number, whole ones included.
    pub const NUMBER: Self = Self(4 | 2);
    /// True and false.
    pub const BOOLEAN: Self = Self(8);
    /// Null.
    pub const NULL: Self = Self(16);
    /// Lists.
    pub const ARRAY: Self = Self(32);
    /// Objects.
    pub const OBJECT: Self = Self(64);
    /// Every type.
    pub const ALL: Self = Self(127);

    /// Each type with its name in schemas and its name for people.
    pub const NAMED: [(Self, &'static str, &'static str); 7] = [
        (Self::STRING, "string", "text"),
        (Self::NUMBER, "number", "a number"),
        (Self::INTEGER, "integer", "a whole number"),
        (Self::BOOLEAN, "boolean", "true or false"),
        (Self::NULL, "null", "null"),
        (Self::ARRAY, "array", "a list"),
        (Self::OBJECT, "object", "an object"),
    ];

    /// Whether all of the others are among these.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and the others.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are in both.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// These but not the others.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The types apart; whole numbers are not told apart from numbers where both are allowed.
    pub fn each(self) -> impl Iterator<Item = (Self, &'static str, &'static str)> {
        Self::NAMED.into_iter().filter(move |(kind, ..)| {
            self.has(*kind) && (*kind != Self::INTEGER || !self.has(Self::NUMBER))
        })
    }

    /// What is expected, in words.
    pub fn words(self) -> String {
        let words: Vec<&str> = self.each().map(|(_, _, words)| words).collect();
        words.join(" or ")
    }

    /// What the `type` of a schema says; a name that no draft knows says nothing.
    pub fn of_schema(schema: &Value) -> Self {
        let named = |name: &Value| {
            let found = Self::NAMED
                .into_iter()
                .find(|(_, known, _)| name.as_str() == Some(known));
            found.map_or(Self::ALL, |(kind, ..)| kind)
        };
        match schema.get("type") {
            Some(Value::Array(names)) => names.iter().map(named).fold(Self::NONE, Self::or),
            Some(name) => named(name),
            None => Self::ALL,
        }
    }

    /// The type of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_whole() => Self::INTEGER,
            // Fractions have a bit of their own, so that a number is no whole number.
            Value::Number(_) => Self(4),
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The type of a value, in words.
    pub fn words_of(value: &Value) -> &'static str {
        match value {
            Value::Number(number) if number.is_whole() => "a whole number",
            Value::Number(_) => "a number with a fraction",
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            Value::Null => "null",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}
