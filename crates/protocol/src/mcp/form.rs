//! Forms of elicitation: the flat schema of a server, read as fields in order (S-ELIC-04).
//!
//! Knows nothing of how a form is shown. A field of a kind nobody here knows is kept and takes any
//! answer; a default that does not fit its own field is not used.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::mcp::formats;
use crate::{Extra, Json};

/// The fields of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormSchema {
    /// The fields, in the order of the server.
    pub fields: Vec<FormField>,
    /// Names that the server requires without describing a field for them.
    pub required_unknown: Vec<String>,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormField {
    /// The name of its answer.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What is asked.
    pub description: Option<String>,
    /// The form cannot do without an answer.
    pub required: bool,
    /// The answer to begin with (C-ELIC-06).
    pub default: Option<Json>,
    /// What answers it takes.
    pub kind: FieldKind,
}

/// What answers a field takes.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// Text.
    Text {
        /// `email`, `uri`, `date`, `date-time`, or one that is not checked.
        format: Option<String>,
        /// The least number of characters.
        min_length: Option<u64>,
        /// The greatest number of characters.
        max_length: Option<u64>,
    },
    /// A number.
    Number {
        /// The least value.
        minimum: Option<Number>,
        /// The greatest value.
        maximum: Option<Number>,
    },
    /// A whole number.
    Integer {
        /// The least value.
        minimum: Option<Number>,
        /// The greatest value.
        maximum: Option<Number>,
    },
    /// Yes or no.
    Boolean,
    /// One of several values (C-ELIC-05).
    Choice {
        /// The values.
        options: Vec<ChoiceOption>,
    },
    /// Any of several values (C-ELIC-05).
    Choices {
        /// The values.
        options: Vec<ChoiceOption>,
        /// The least number of values.
        min_items: Option<u64>,
        /// The greatest number of values.
        max_items: Option<u64>,
    },
    /// Something else, with its schema as it came.
    Other(Json),
}

/// One value to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceOption {
    /// What is answered.
    pub value: String,
    /// What is shown, if it is not the value.
    pub title: Option<String>,
}

impl FormSchema {
    /// Reads the `requestedSchema` of a server. Only what is no object at all is refused.
    pub fn read(schema: &Json) -> Result<Self, serde_json::Error> {
        let schema: Extra = schema.decode()?;
        let required: Vec<String> = member(&schema, "required").unwrap_or_default();
        let properties: Extra = member(&schema, "properties").unwrap_or_default();
        // Of two properties with one name the last counts, as for whoever reads JSON into a map.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut fields: Vec<FormField> = Vec::new();
        for (name, property) in properties.iter() {
            let field = FormField::read(name, property, &required);
            match places.entry(name) {
                Entry::Occupied(place) => fields[*place.get()] = field,
                Entry::Vacant(place) => {
                    place.insert(fields.len());
                    fields.push(field);
                }
            }
        }
        let required_unknown = required
            .into_iter()
            .filter(|name| properties.get(name).is_none())
            .collect();
        Ok(Self {
            fields,
            required_unknown,
        })
    }

    /// The answer that a user gives who changes nothing: all defaults (C-ELIC-06).
    pub fn defaults(&self) -> Json {
        let defaults: Extra = self
            .fields
            .iter()
            .filter_map(|field| Some((field.name.as_str(), field.default.clone()?)))
            .collect();
        Json::from_serialize(&defaults).unwrap_or_default()
    }

    /// Checks an answer (X-ELIC-07). The error names the field and what is wrong.
    ///
    /// As in JSON Schema, fields that the form does not have are no mistake.
    pub fn check(&self, answer: &Json) -> Result<(), String> {
        let answer: Extra = answer
            .decode()
            .map_err(|error| format!("the answer is no object: {error}"))?;
        for field in &self.fields {
            match answer.get(&field.name) {
                Some(value) => field.check(value)?,
                None if field.required => return Err(missing(&field.name)),
                None => {}
            }
        }
        let missing_name = |name: &&String| answer.get(name).is_none();
        match self.required_unknown.iter().find(missing_name) {
            Some(name) => Err(missing(name)),
            None => Ok(()),
        }
    }
}

fn missing(name: &str) -> String {
    format!("the required field \"{name}\" is missing")
}

impl FormField {
    /// The name to show: title, name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Checks the answer to this field. The error names the field and what is wrong.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        value
            .to_value()
            .map_err(|error| error.to_string())
            .and_then(|value| self.kind.check(&value))
            .map_err(|complaint| format!("\"{}\" {complaint}", self.name))
    }

    fn read(name: &str, property: &Json, required: &[String]) -> Self {
        let schema: Extra = property.decode().unwrap_or_default();
        let mut field = Self {
            name: name.to_owned(),
            title: member(&schema, "title"),
            description: member(&schema, "description"),
            required: required.iter().any(|required| required == name),
            default: None,
            kind: FieldKind::read(&schema).unwrap_or_else(|| FieldKind::Other(property.clone())),
        };
        field.default = schema
            .get("default")
            .filter(|default| field.check(default).is_ok())
            .cloned();
        field
    }
}

impl FieldKind {
    fn read(schema: &Extra) -> Option<Self> {
        if let Some(options) = options(schema, "oneOf") {
            return Some(Self::Choice { options });
        }
        let kind: String = member(schema, "type")?;
        Some(match kind.as_str() {
            "string" => Self::Text {
                format: member(schema, "format"),
                min_length: member(schema, "minLength"),
                max_length: member(schema, "maxLength"),
            },
            "number" => Self::Number {
                minimum: member(schema, "minimum"),
                maximum: member(schema, "maximum"),
            },
            "integer" => Self::Integer {
                minimum: member(schema, "minimum"),
                maximum: member(schema, "maximum"),
            },
            "boolean" => Self::Boolean,
            "array" => Self::Choices {
                options: options(&member(schema, "items")?, "anyOf")?,
                min_items: member(schema, "minItems"),
                max_items: member(schema, "maxItems"),
            },
            _ => return None,
        })
    }

    /// The error continues a sentence that begins with the name of the field.
    fn check(&self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (
                Self::Text {
                    format,
                    min_length,
                    max_length,
                },
                Value::String(text),
            ) => {
                check_count(text.chars().count(), *min_length, *max_length, "characters")?;
                check_format(text, format.as_deref())
            }
            (Self::Text { .. }, _) => Err("must be text".to_owned()),
            (Self::Number { minimum, maximum }, Value::Number(number)) => {
                check_range(number, minimum.as_ref(), maximum.as_ref())
            }
            (Self::Number { .. }, _) => Err("must be a number".to_owned()),
            (Self::Integer { minimum, maximum }, Value::Number(number)) if is_whole(number) => {
                check_range(number, minimum.as_ref(), maximum.as_ref())
            }
            (Self::Integer { .. }, _) => Err("must be a whole number".to_owned()),
            (Self::Boolean, Value::Bool(_)) | (Self::Other(_), _) => Ok(()),
            (Self::Boolean, _) => Err("must be true or false".to_owned()),
            (Self::Choice { options }, value) => check_option(options, value),
            (
                Self::Choices {
                    options,
                    min_items,
                    max_items,
                },
                Value::Array(values),
            ) => {
                check_count(values.len(), *min_items, *max_items, "values")?;
                values
                    .iter()
                    .try_for_each(|value| check_option(options, value))
            }
            (Self::Choices { .. }, _) => Err("must be a list".to_owned()),
        }
    }
}

/// The values to choose in a schema: plain, with the older list of titles beside them, or each with
/// its own title under `titled`.
fn options(schema: &Extra, titled: &str) -> Option<Vec<ChoiceOption>> {
    if let Some(values) = member::<Vec<String>>(schema, "enum") {
        let titles: Vec<String> = member(schema, "enumNames").unwrap_or_default();
        let mut titles = titles.into_iter();
        return Some(
            values
                .into_iter()
                .map(|value| ChoiceOption {
                    value,
                    title: titles.next(),
                })
                .collect(),
        );
    }
    member::<Vec<Extra>>(schema, titled)?
        .iter()
        .map(|option| {
            Some(ChoiceOption {
                value: member(option, "const")?,
                title: member(option, "title"),
            })
        })
        .collect()
}

/// A member of a schema, if it is there and of that type.
fn member<T: DeserializeOwned>(schema: &Extra, name: &str) -> Option<T> {
    schema.get(name)?.decode().ok()
}

fn check_count(
    count: usize,
    least: Option<u64>,
    greatest: Option<u64>,
    what: &str,
) -> Result<(), String> {
    let count = count as u64;
    match (least, greatest) {
        (Some(least), _) if count < least => {
            Err(format!("must have at least {least} {what}, not {count}"))
        }
        (_, Some(greatest)) if count > greatest => {
            Err(format!("must have at most {greatest} {what}, not {count}"))
        }
        _ => Ok(()),
    }
}

fn check_range(
    number: &Number,
    minimum: Option<&Number>,
    maximum: Option<&Number>,
) -> Result<(), String> {
    let beyond = |limit: &&Number, is_beyond: fn(&f64, &f64) -> bool| match (
        number.as_f64(),
        limit.as_f64(),
    ) {
        (Some(number), Some(limit)) => is_beyond(&number, &limit),
        _ => false,
    };
    if let Some(minimum) = minimum.filter(|limit| beyond(limit, f64::lt)) {
        return Err(format!("must be at least {minimum}, not {number}"));
    }
    if let Some(maximum) = maximum.filter(|limit| beyond(limit, f64::gt)) {
        return Err(format!("must be at most {maximum}, not {number}"));
    }
    Ok(())
}

/// In JSON Schema 3.0 is a whole number too.
fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

fn check_format(text: &str, format: Option<&str>) -> Result<(), String> {
    let (fits, what) = match format {
        Some("email") => (formats::is_email(text), "an e-mail address"),
        Some("uri") => (formats::is_uri(text), "a URI"),
        Some("date") => (formats::is_date(text), "a date like 2026-07-28"),
        Some("date-time") => (
            formats::is_date_time(text),
            "a time like 2026-07-28T09:30:00Z",
        ),
        _ => return Ok(()),
    };
    if fits {
        Ok(())
    } else {
        Err(format!("must be {what}"))
    }
}

fn check_option(options: &[ChoiceOption], value: &Value) -> Result<(), String> {
    let fits = |option: &ChoiceOption| value.as_str() == Some(&option.value);
    if options.iter().any(fits) {
        return Ok(());
    }
    let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    Err(format!("must be one of {}", values.join(", ")))
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
