//! Text that a person types for a field, made exact JSON, and the other way.

use attache_protocol::shortened;
use attache_schema::{Problem, Types};

use super::field::{Choice, Field, Kind, TextShape};
use crate::{Number, Value};

impl Field {
    /// Reads the text of this field's widget. What it says may still break rules of the schema,
    /// which [`Form::check`](super::Form::check) tells.
    pub fn read(&self, text: &str) -> Result<Value, Problem> {
        let word = text.trim();
        if self.nullable && word == "null" && !matches!(self.kind, Kind::Text { .. }) {
            return Ok(Value::Null);
        }
        match &self.kind {
            Kind::Text { .. } => Ok(Value::String(text.to_owned())),
            Kind::Number { whole, .. } => match Number::parse(word) {
                Some(number) if !whole || number.is_whole() => Ok(Value::Number(number)),
                _ => {
                    let expected = match whole {
                        true => "must be a whole number, like 12",
                        false => "must be a number, like 12 or -0.5",
                    };
                    let or_null = if self.nullable { ", or null" } else { "" };
                    Err(self.problem(&format!("{expected}{or_null}")))
                }
            },
            Kind::Boolean => match word.to_ascii_lowercase().as_str() {
                "true" | "yes" | "y" => Ok(Value::Bool(true)),
                "false" | "no" | "n" => Ok(Value::Bool(false)),
                _ => Err(self.problem("must be true or false")),
            },
            Kind::Choice { options } => chosen(options, text)
                .ok_or_else(|| self.problem(&format!("must be one of {}", labels(options)))),
            Kind::MultiChoice { options, .. } => {
                if let Ok(list @ Value::Array(_)) = Value::parse(text) {
                    return Ok(list);
                }
                // One choice, commas in it included, or several with commas between them.
                let one = chosen(options, text).map(|one| vec![one]);
                let several = || text.split(',').map(|word| chosen(options, word.trim()));
                one.or_else(|| several().collect())
                    .map(Value::Array)
                    .ok_or_else(|| self.problem(&format!("must be some of {}", labels(options))))
            }
            Kind::Variants {
                field: Some(field), ..
            } => field.read(text),
            Kind::List { .. }
            | Kind::Object(_)
            | Kind::Variants { .. }
            | Kind::Json { .. }
            | Kind::Deferred => {
                Value::parse(text).map_err(|error| self.problem(&format!("must be JSON: {error}")))
            }
        }
    }

    /// The text that this field's widget shows for a value: [`read`](Self::read) gives it back.
    pub fn text(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (Kind::Text { .. }, Value::String(text)) => text.clone(),
            (Kind::Choice { options }, value) => label(options, value),
            (
                Kind::Variants {
                    field: Some(field), ..
                },
                value,
            ) => field.text(value),
            (_, value) => value.to_string(),
        }
    }

    /// Whether the value must not be shown or kept.
    pub fn is_masked(&self) -> bool {
        match &self.kind {
            Kind::Text { shape, .. } => *shape == TextShape::Masked,
            Kind::Variants {
                field: Some(field), ..
            } => field.is_masked(),
            _ => false,
        }
    }

    /// Reads one word of a shell. Text wins where the schema allows text, because JSON can be said
    /// otherwise there; a list of one may be given as its item.
    pub(super) fn read_word(&self, word: &str, item: Option<&Self>) -> Result<Value, Problem> {
        match &self.kind {
            Kind::Choice { .. } | Kind::Text { .. } => self.read(word),
            _ if self.types.has(Types::STRING) => Ok(Value::String(word.to_owned())),
            Kind::Variants { .. } => match Value::parse(word) {
                Ok(value) if self.types.has(Types::of(&value)) => Ok(value),
                _ => Err(self.problem(&format!("must be {}", self.types.words()))),
            },
            Kind::List { .. } => match (Value::parse(word), item) {
                (Ok(list @ Value::Array(_)), _) => Ok(list),
                (_, Some(item)) if !matches!(item.kind, Kind::List { .. }) => item
                    .read_word(word, None)
                    .map(|item| Value::Array(vec![item])),
                _ => Err(self.problem("must be a JSON list")),
            },
            Kind::Object(_) => match Value::parse(word) {
                Ok(object @ Value::Object(_)) => Ok(object),
                _ => Err(self.problem("must be a JSON object")),
            },
            _ => self.read(word),
        }
    }

    pub(super) fn problem(&self, complaint: &str) -> Problem {
        Problem::new(&self.path, "syntax", complaint)
    }
}

/// The choice that a text means: by its label, by its title, or as JSON of another spelling.
fn chosen(options: &[Choice], text: &str) -> Option<Value> {
    let by_label = options.iter().find(|option| option.label == text);
    let by_title = || {
        options
            .iter()
            .find(|option| option.title.as_deref() == Some(text))
    };
    let found = by_label
        .or_else(by_title)
        .map(|option| option.value.clone());
    found.or_else(|| {
        let value = Value::parse(text).ok()?;
        let is_option = options.iter().any(|option| option.value == value);
        is_option.then_some(value)
    })
}

/// What is shown for a value: the label of its choice, or the value as it is spelled if the choice
/// is spelled otherwise, as `1.0` for `1`.
fn label(options: &[Choice], value: &Value) -> String {
    let spelled = value.to_string();
    match options.iter().find(|option| option.value == *value) {
        Some(option)
            if option.value.to_string() == spelled
                || options.iter().any(|option| option.label == spelled) =>
        {
            option.label.clone()
        }
        _ => spelled,
    }
}

fn labels(options: &[Choice]) -> String {
    let labels: Vec<&str> = options
        .iter()
        .take(12)
        .map(|option| option.label.as_str())
        .collect();
    shortened(labels.join(", "))
}
