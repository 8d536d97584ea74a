//! A schema as a document: what its references refer to, and where its parts are.
//!
//! References are resolved inside the document only; another document is never fetched (S14).

use std::collections::{BTreeSet, HashMap};

use crate::Value;

/// A schema with what is needed to find its parts by pointer.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) root: Value,
    /// Why nothing in it can be read, if so.
    pub(crate) unreadable: Option<String>,
    anchors: HashMap<String, String>,
    /// A schema inside has an address of its own, so that references mean something else there.
    has_inner_ids: bool,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(2);
    /// Any number, whole ones included.
    pub(crate) const NUMBER: Self = Self(4 | 2);
    pub(crate) const BOOLEAN: Self = Self(8);
    pub(crate) const NULL: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    /// Each type with its name in schemas and its name for people.
    pub(crate) const NAMED: [(Self, &'static str, &'static str); 7] = [
        (Self::STRING, "string", "text"),
        (Self::NUMBER, "number", "a number"),
        (Self::INTEGER, "integer", "a whole number"),
        (Self::BOOLEAN, "boolean", "true or false"),
        (Self::NULL, "null", "null"),
        (Self::ARRAY, "array", "a list"),
        (Self::OBJECT, "object", "an object"),
    ];

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The types apart; whole numbers are not told apart from numbers where both are allowed.
    pub(crate) fn each(self) -> impl Iterator<Item = (Self, &'static str, &'static str)> {
        Self::NAMED.into_iter().filter(move |(kind, ..)| {
            self.has(*kind) && (*kind != Self::INTEGER || !self.has(Self::NUMBER))
        })
    }

    /// What is expected, in words.
    pub(crate) fn words(self) -> String {
        let words: Vec<&str> = self.each().map(|(_, _, words)| words).collect();
        words.join(" or ")
    }

    /// What the `type` of a schema says; a name that no draft knows says nothing.
    pub(crate) fn of_schema(schema: &Value) -> Self {
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
    pub(crate) fn of(value: &Value) -> Self {
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
    pub(crate) fn words_of(value: &Value) -> &'static str {
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

impl Document {
    pub(crate) fn new(root: Result<Value, serde_json::Error>) -> Self {
        let mut document = Self {
            root: Value::Bool(true),
            unreadable: None,
            anchors: HashMap::new(),
            has_inner_ids: false,
        };
        match root {
            Ok(root @ (Value::Object(_) | Value::Bool(_))) => {
                document.unreadable = unknown_dialect(&root);
                document.scan(&root, &mut String::new());
                document.root = root;
            }
            Ok(_) => {
                document.unreadable =
                    Some("the schema is neither an object nor true or false".to_owned())
            }
            Err(error) => document.unreadable = Some(format!("the schema cannot be read: {error}")),
        }
        document
    }

    /// Finds anchors and inner addresses. Values of `enum` and `const` are no schemas.
    fn scan(&mut self, part: &Value, pointer: &mut String) {
        let length = pointer.len();
        match part {
            Value::Object(members) => {
                for (name, member) in members.iter() {
                    match (name, member) {
                        ("enum" | "const" | "default" | "examples", _) => continue,
                        ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                            self.anchors.insert(anchor.clone(), pointer.clone());
                        }
                        ("$id", Value::String(_)) if !pointer.is_empty() => {
                            self.has_inner_ids = true
                        }
                        _ => {}
                    }
                    push_token(pointer, name);
                    self.scan(member, pointer);
                    pointer.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    push_token(pointer, &index.to_string());
                    self.scan(item, pointer);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The schema at a pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        let mut tokens = pointer.split('/');
        tokens.next();
        tokens.try_fold(&self.root, |part, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match part {
                Value::Array(items) => items.get(token.parse::<usize>().ok()?),
                other => other.get(&token),
            }
        })
    }

    /// What a reference refers to, as a pointer; the error says why that is not known.
    pub(crate) fn resolve(&self, reference: &str) -> Result<String, String> {
        if self.has_inner_ids {
            return Err(
                "parts of the schema have addresses of their own, which references go by"
                    .to_owned(),
            );
        }
        let unknown = || format!("the reference {reference} leads out of the schema or nowhere");
        let fragment = reference.strip_prefix('#').ok_or_else(unknown)?;
        let fragment = percent_decoded(fragment).ok_or_else(unknown)?;
        let pointer = match fragment.is_empty() || fragment.starts_with('/') {
            true => fragment,
            false => self.anchors.get(&fragment).cloned().ok_or_else(unknown)?,
        };
        match self.at(&pointer) {
            Some(_) => Ok(pointer),
            None => Err(unknown()),
        }
    }
}

/// The pointer to a member or an item of what is at `pointer`.
pub(crate) fn child_pointer(pointer: &str, tokens: &[&str]) -> String {
    let mut child = pointer.to_owned();
    for token in tokens {
        push_token(&mut child, token);
    }
    child
}

fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A dialect that is not one of json-schema.org's may mean anything by its words.
fn unknown_dialect(root: &Value) -> Option<String> {
    let dialect = root.get("$schema")?.as_str()?;
    let known: BTreeSet<&str> = [
        "draft/2020-12",
        "draft/2019-09",
        "draft-07",
        "draft-06",
        "draft-04",
    ]
    .into();
    let name = dialect
        .trim_end_matches('#')
        .strip_suffix("/schema")
        .and_then(|address| {
            address
                .split_once("://json-schema.org/")
                .map(|(_, name)| name)
        });
    match name {
        Some(name) if known.contains(name) => None,
        // The address without a version means the newest.
        _ if dialect
            .trim_end_matches('#')
            .ends_with("://json-schema.org/schema") =>
        {
            None
        }
        _ => Some(format!(
            "the schema is written in the unknown dialect {dialect}"
        )),
    }
}
