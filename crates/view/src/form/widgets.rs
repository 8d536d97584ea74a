//! The widgets that need nothing but what the layers of a place say.

use attache_schema::{Schema, Types, child_pointer};

use super::field::{Choice, Field, Kind, Members, PatternMembers, Place, Range, TextShape};
use super::layers::{Group, Layers, listed};
use super::limits::MAX_CHOICES;
use super::naming;
use crate::{Object, Value, safe_text};

/// Texts longer than this get several lines.
const LINE_CHARACTERS: usize = 200;

/// What the layers say of members beside the named ones.
pub(super) fn members(layers: &Layers<'_>, document: &Schema) -> Members {
    let mut others = Vec::new();
    let mut patterns = Vec::new();
    for layer in &layers.layers {
        if layer.schema.get("additionalProperties").is_some() {
            others.push(child_pointer(&layer.pointer, &["additionalProperties"]));
        }
        for (pattern, _) in layer
            .schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Object::iter)
        {
            let place = Place::of(vec![child_pointer(
                &layer.pointer,
                &["patternProperties", pattern],
            )]);
            patterns.push(PatternMembers {
                pattern: safe_text::one_line(pattern).into_owned(),
                place,
            });
        }
    }
    let is_closed = others
        .iter()
        .any(|pointer| document.at(pointer) == Some(&Value::Bool(false)));
    let safe = |name: &str| safe_text::one_line(name).into_owned();
    let dependent = ["dependentRequired", "dependencies"];
    let dependent = dependent
        .iter()
        .flat_map(|word| layers.all(word))
        .filter_map(Value::as_object)
        .flat_map(Object::iter);
    Members {
        fields: Vec::new(),
        others: (!is_closed).then(|| Place::of(others)),
        patterns,
        count: layers.range("minProperties", "maxProperties"),
        dependent_required: dependent
            .filter_map(|(name, wanted)| {
                Some((
                    safe(name),
                    wanted
                        .as_array()?
                        .iter()
                        .filter_map(Value::as_str)
                        .map(safe)
                        .collect(),
                ))
            })
            .collect(),
    }
}

pub(super) fn json(reason: &str) -> Kind {
    Kind::Json {
        reason: safe_text::one_line(reason).into_owned(),
    }
}

/// A value that its field cannot show is edited as JSON, so that nothing of it is lost.
pub(super) fn mismatch(value: Option<&Value>, expected: &str) -> Kind {
    json(&format!(
        "the schema asks for {expected}, and the value is {}",
        value.map_or("missing", Types::words_of)
    ))
}

pub(super) fn text(layers: &Layers<'_>, field: &Field) -> Kind {
    let format = layers.text("format");
    let length = layers.range("minLength", "maxLength");
    let is_long = |length: &Range| length.max.is_some_and(|max| max > LINE_CHARACTERS);
    let shape =
        if format == Some("password") || layers.says("writeOnly") || naming::is_secret(&field.name)
        {
            TextShape::Masked
        } else if is_long(&length)
            || layers.text("contentMediaType").is_some()
            || naming::is_long(&field.name)
        {
            TextShape::Lines
        } else {
            TextShape::Line
        };
    let safe = |text: &str| safe_text::one_line(text).into_owned();
    Kind::Text {
        shape,
        format: format.map(safe),
        length,
        patterns: layers
            .all("pattern")
            .filter_map(Value::as_str)
            .map(safe)
            .collect(),
    }
}

pub(super) fn choice(
    listed: Vec<(Value, Option<&str>)>,
    types: Types,
    value: Option<&Value>,
) -> Kind {
    if listed.len() > MAX_CHOICES {
        return json(&format!("the schema has more than {MAX_CHOICES} choices"));
    }
    let listed: Vec<_> = listed
        .into_iter()
        .filter(|(value, _)| types.has(Types::of(value)))
        .collect();
    if listed.is_empty() {
        return json("the schema contradicts itself: none of its choices fits");
    }
    if let Some(value) = value.filter(|value| !listed.iter().any(|(listed, _)| listed == *value)) {
        return mismatch(Some(value), "one of its choices");
    }
    let safe = |text: &str| safe_text::one_line(text).into_owned();
    let mut counts = std::collections::HashMap::new();
    for (value, _) in &listed {
        *counts.entry(safe(&value.plain())).or_insert(0_usize) += 1;
    }
    let options = listed.into_iter().map(|(value, title)| {
        let plain = safe(&value.plain());
        let is_alone = counts.get(&plain) == Some(&1);
        let label = if is_alone {
            plain
        } else {
            safe(&value.to_string())
        };
        Choice {
            value,
            label,
            title: title.map(safe),
        }
    });
    Kind::Choice {
        options: options.collect(),
    }
}

/// The values of a list of alternatives that are all fixed values; null counts as one.
pub(super) fn choices_of_group<'s>(group: &Group<'s>) -> Option<Vec<(Value, Option<&'s str>)>> {
    if group.branches.iter().all(is_null) {
        return None;
    }
    let of_branch = |branch: &'s Value| -> Option<Vec<(Value, Option<&'s str>)>> {
        if is_null(branch) {
            return Some(vec![(
                Value::Null,
                branch.get("title").and_then(Value::as_str),
            )]);
        }
        let title = branch
            .get("title")
            .and_then(Value::as_str)
            .filter(|_| branch.get("const").is_some());
        Some(
            listed(branch)?
                .into_iter()
                .map(|(value, own)| (value.clone(), own.or(title)))
                .collect(),
        )
    };
    let lists: Option<Vec<_>> = group.branches.iter().map(of_branch).collect();
    lists.map(|lists| lists.concat())
}

pub(super) fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
        || schema.get("const") == Some(&Value::Null)
}

/// Whether a schema says what a value looks like, not only what it must have.
pub(super) fn has_shape(schema: &Value) -> bool {
    let words = [
        "type",
        "properties",
        "$ref",
        "items",
        "prefixItems",
        "enum",
        "const",
        "allOf",
        "anyOf",
        "oneOf",
        "additionalProperties",
    ];
    words.iter().any(|word| schema.get(word).is_some())
}

/// The fixed member that tells a variant from the others, as `name = value`.
pub(super) fn discriminator(layers: &Layers<'_>) -> Option<String> {
    let members = layers
        .all("properties")
        .filter_map(Value::as_object)
        .flat_map(Object::iter);
    let mut fixed = members
        .filter_map(|(name, schema)| Some(format!("{name} = {}", schema.get("const")?.plain())));
    fixed.next()
}

/// The type that a schema without `type` is about, by the words it uses.
pub(super) fn hinted(layers: &Layers<'_>) -> Option<Types> {
    let hints = [
        (
            Types::OBJECT,
            &[
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
                "dependentRequired",
                "propertyNames",
                "minProperties",
                "maxProperties",
            ][..],
        ),
        (
            Types::ARRAY,
            &[
                "items",
                "prefixItems",
                "minItems",
                "maxItems",
                "uniqueItems",
                "contains",
            ],
        ),
        (
            Types::STRING,
            &["minLength", "maxLength", "pattern", "format"],
        ),
        (
            Types::NUMBER,
            &[
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
            ],
        ),
    ];
    let uses = |words: &[&'static str]| words.iter().any(|word| layers.all(word).next().is_some());
    hints
        .into_iter()
        .find(|(_, words)| uses(words))
        .map(|(kind, _)| kind)
}
