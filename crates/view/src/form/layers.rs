//! All parts of a schema that speak of one value, laid over each other.
//!
//! `$ref`, `allOf` and, by the value, `if` and `dependentSchemas` add layers. What the layers say
//! together is asked here; nothing is rewritten, so no merged schema has to be made.

use std::collections::BTreeSet;

use attache_schema::{Checker, Schema, Types, Verdict, child_pointer, limit, names};

use super::field::{Place, Range};
use super::limits::{MAX_CHOICES, MAX_LAYERS};
use crate::{Number, Object, Value};

/// The layers of one place.
pub(super) struct Layers<'s> {
    pub(super) layers: Vec<Layer<'s>>,
    /// Alternatives that are not decided yet.
    pub(super) groups: Vec<Group<'s>>,
    /// Why the layers cannot be shown as fields.
    pub(super) obstacle: Option<String>,
    /// All parts that were visited, boolean ones included: a part within itself is a circle.
    pub(super) visited: BTreeSet<String>,
}

/// One part of the schema.
pub(super) struct Layer<'s> {
    pub(super) pointer: String,
    pub(super) schema: &'s Value,
}

/// A list of alternatives.
pub(super) struct Group<'s> {
    pub(super) pointer: String,
    pub(super) branches: &'s [Value],
}

impl<'s> Layers<'s> {
    pub(super) fn collect(
        document: &'s Schema,
        checker: &mut Checker<'s>,
        place: &Place,
        value: Option<&Value>,
    ) -> Self {
        let mut found = Self {
            layers: Vec::new(),
            groups: Vec::new(),
            obstacle: document.unreadable().map(str::to_owned),
            visited: BTreeSet::new(),
        };
        let mut waiting: Vec<String> = place.schemas().map(str::to_owned).collect();
        waiting.reverse();
        while let Some(pointer) = waiting.pop() {
            if found.obstacle.is_some() || !found.visited.insert(pointer.clone()) {
                continue;
            }
            if found.visited.len() > MAX_LAYERS {
                found.obstacle = Some(format!(
                    "more than {MAX_LAYERS} schemas speak of this value"
                ));
                continue;
            }
            let Some(schema) = document.at(&pointer) else {
                continue;
            };
            let Value::Object(words) = schema else {
                if *schema == Value::Bool(false) {
                    found.obstacle = Some("the schema allows no value".to_owned());
                }
                continue;
            };
            // Later layers are pushed first, so that the order of the schema is that of the fields.
            let mut further: Vec<String> = Vec::new();
            for (word, rule) in words.iter() {
                match (word, rule) {
                    ("$ref", Value::String(reference)) => {
                        match document.resolve(&pointer, reference) {
                            Ok(target) => further.push(target),
                            Err(reason) => found.obstacle = Some(reason),
                        }
                    }
                    ("$dynamicRef" | "$recursiveRef", _) => {
                        found.obstacle = Some(format!("the schema uses {word}"))
                    }
                    ("allOf", Value::Array(parts)) => {
                        further.extend(
                            (0..parts.len().min(MAX_LAYERS + 1))
                                .map(|at| child_pointer(&pointer, &[word, &at.to_string()])),
                        );
                    }
                    ("if", condition) => {
                        // An object that is not begun yet is like an empty one.
                        let empty = Value::Object(Object::default());
                        let branch = match checker.verdict(condition, value.unwrap_or(&empty)) {
                            Verdict::Holds => "then",
                            Verdict::Fails => "else",
                            Verdict::Unknown => continue,
                        };
                        if schema.get(branch).is_some() {
                            further.push(child_pointer(&pointer, &[branch]));
                        }
                    }
                    ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                        let given = parts.iter().filter(|(name, part)| {
                            !matches!(part, Value::Array(_))
                                && value.is_some_and(|value| value.get(name).is_some())
                        });
                        further
                            .extend(given.map(|(name, _)| child_pointer(&pointer, &[word, name])));
                    }
                    ("anyOf" | "oneOf", Value::Array(branches)) => {
                        let group = child_pointer(&pointer, &[word]);
                        if !place.settled.contains(&group) {
                            found.groups.push(Group {
                                pointer: group,
                                branches,
                            });
                        }
                    }
                    _ => {}
                }
            }
            waiting.extend(further.into_iter().rev());
            found.layers.push(Layer { pointer, schema });
        }
        found
    }

    /// All that the layers say under a word.
    pub(super) fn all(&self, word: &'static str) -> impl Iterator<Item = &'s Value> + '_ {
        self.layers
            .iter()
            .filter_map(move |layer| layer.schema.get(word))
    }

    /// The first text under a word.
    pub(super) fn text(&self, word: &'static str) -> Option<&'s str> {
        self.all(word).find_map(Value::as_str)
    }

    /// Whether any layer says `true` under a word.
    pub(super) fn says(&self, word: &'static str) -> bool {
        self.all(word).any(|rule| *rule == Value::Bool(true))
    }

    /// The types that all layers allow.
    pub(super) fn types(&self) -> Types {
        self.layers
            .iter()
            .map(|layer| Types::of_schema(layer.schema))
            .fold(Types::ALL, Types::and)
    }

    /// The strictest of the counts under two words.
    pub(super) fn range(&self, least: &str, most: &str) -> Range {
        let counts = |word: &str| -> Vec<usize> {
            self.layers
                .iter()
                .filter_map(|layer| limit(layer.schema, word))
                .collect()
        };
        Range {
            min: counts(least).into_iter().max(),
            max: counts(most).into_iter().min(),
        }
    }

    /// The greatest number under a word.
    pub(super) fn greatest(&self, word: &'static str) -> Option<Number> {
        self.numbers(word).max().cloned()
    }

    /// The least number under a word.
    pub(super) fn least(&self, word: &'static str) -> Option<Number> {
        self.numbers(word).min().cloned()
    }

    fn numbers(&self, word: &'static str) -> impl Iterator<Item = &'s Number> + '_ {
        self.all(word).filter_map(|rule| match rule {
            Value::Number(number) => Some(number),
            _ => None,
        })
    }

    /// The members that must be there.
    pub(super) fn required(&self) -> BTreeSet<&'s str> {
        self.all("required")
            .flat_map(|list| names(Some(list)))
            .collect()
    }

    /// The values that all layers allow, with titles, if any layer lists them.
    pub(super) fn choices(&self) -> Option<Vec<(&'s Value, Option<&'s str>)>> {
        let mut choices: Option<Vec<(&Value, Option<&str>)>> = None;
        for layer in &self.layers {
            let Some(listed) = listed(layer.schema) else {
                continue;
            };
            choices = Some(match choices {
                None => listed,
                // Two long lists are left to the check, which finds what only one of them has.
                Some(earlier) if earlier.len().saturating_mul(listed.len()) > MAX_CHOICES * 100 => {
                    earlier
                }
                // Only one of the two needs a title.
                Some(earlier) => {
                    let both = |(value, title): (&'s Value, Option<&'s str>)| {
                        let (_, other) = listed.iter().find(|(other, _)| *other == value)?;
                        Some((value, title.or(*other)))
                    };
                    earlier.into_iter().filter_map(both).collect()
                }
            });
        }
        choices
    }

    /// The parts that speak of a member, in every layer that does.
    pub(super) fn member(&self, checker: &mut Checker<'s>, name: &str) -> Vec<String> {
        let mut parts = Vec::new();
        for layer in &self.layers {
            let before = parts.len();
            if layer
                .schema
                .get("properties")
                .is_some_and(|properties| properties.get(name).is_some())
            {
                parts.push(child_pointer(&layer.pointer, &["properties", name]));
            }
            for (pattern, _) in layer
                .schema
                .get("patternProperties")
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(Object::iter)
            {
                if checker.matches(pattern, name) == Some(true) {
                    parts.push(child_pointer(
                        &layer.pointer,
                        &["patternProperties", pattern],
                    ));
                }
            }
            if parts.len() == before && layer.schema.get("additionalProperties").is_some() {
                parts.push(child_pointer(&layer.pointer, &["additionalProperties"]));
            }
        }
        parts
    }

    /// Whether the layers name a member.
    pub(super) fn names_member(&self, name: &str) -> bool {
        self.all("properties")
            .any(|properties| properties.get(name).is_some())
    }

    /// The parts that speak of an item, and how many items have parts of their own.
    pub(super) fn item(&self, index: usize) -> Vec<String> {
        let mut parts = Vec::new();
        for layer in &self.layers {
            let word = first_word(layer.schema);
            let first = layer
                .schema
                .get(word)
                .and_then(Value::as_array)
                .map_or(0, <[Value]>::len);
            let rest = if word == "items" {
                "additionalItems"
            } else {
                "items"
            };
            if index < first {
                parts.push(child_pointer(&layer.pointer, &[word, &index.to_string()]));
            } else if layer
                .schema
                .get(rest)
                .is_some_and(|rest| !matches!(rest, Value::Array(_)))
            {
                parts.push(child_pointer(&layer.pointer, &[rest]));
            }
        }
        parts
    }

    /// How many of the first items have a schema of their own.
    pub(super) fn first_items(&self) -> usize {
        let lengths = self
            .layers
            .iter()
            .filter_map(|layer| layer.schema.get(first_word(layer.schema))?.as_array());
        lengths.map(<[Value]>::len).max().unwrap_or(0)
    }
}

/// The word under which the first items are described: before 2020-12 it was `items`.
fn first_word(schema: &Value) -> &'static str {
    match (schema.get("prefixItems"), schema.get("items")) {
        (None, Some(Value::Array(_))) => "items",
        _ => "prefixItems",
    }
}

/// The values that one schema lists, with their titles.
pub(super) fn listed(schema: &Value) -> Option<Vec<(&Value, Option<&str>)>> {
    if let Some(value) = schema.get("const") {
        return Some(vec![(value, None)]);
    }
    let values = schema.get("enum")?.as_array()?;
    let titles = schema
        .get("enumNames")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let title = |at: usize| titles.get(at).and_then(Value::as_str);
    Some(
        values
            .iter()
            .enumerate()
            .map(|(at, value)| (value, title(at)))
            .collect(),
    )
}
