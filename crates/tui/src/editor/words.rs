//! What a form says in words: the value of a field in one line, and what is known of the field.

use attache_view::form::{Choice, Field, Form, Kind, Range, TextShape};
use attache_view::{Number, Value, safe_text};

use crate::theme::{Glyphs, Role};

/// What a field's line shows of its value, and what that means.
pub(super) fn value(
    field: &Field,
    value: Option<&Value>,
    draft: Option<&str>,
    glyphs: &Glyphs,
) -> (String, Role) {
    if let Some(draft) = draft {
        return (safe_text::one_line(draft).into_owned(), Role::Bad);
    }
    let Some(value) = value else {
        return (unset(field, glyphs), Role::Placeholder);
    };
    if *value == Value::Null && !matches!(field.kind, Kind::Choice { .. }) {
        return ("null".to_owned(), Role::Number);
    }
    match (&field.kind, value) {
        _ if field.is_masked() => ("*".repeat(8), Role::Text),
        (Kind::Text { .. }, Value::String(text)) if text.is_empty() => {
            ("\"\" (empty text)".to_owned(), Role::Placeholder)
        }
        (Kind::Text { .. }, Value::String(text)) => (one_line(text), Role::Text),
        (Kind::Number { .. }, number) => (number.to_string(), Role::Number),
        (Kind::Boolean, Value::Bool(answer)) => (boolean(*answer, glyphs), Role::Text),
        (Kind::Choice { options }, value) => (chosen(options, value), Role::Text),
        (Kind::MultiChoice { options, .. }, Value::Array(items)) => {
            let labels: Vec<String> = items.iter().map(|item| chosen(options, item)).collect();
            match labels.is_empty() {
                true => ("none".to_owned(), Role::Placeholder),
                false => (labels.join(", "), Role::Text),
            }
        }
        (Kind::List { items, .. }, _) => (count(items.len(), "item"), Role::Secondary),
        (Kind::Object(_), Value::Object(object)) => {
            (count(object.len(), "member"), Role::Secondary)
        }
        (_, value) => (json_line(value), Role::Code),
    }
}

/// What stands where there is no value.
fn unset(field: &Field, glyphs: &Glyphs) -> String {
    let default = field.default.as_ref().filter(|_| !field.is_masked());
    let nothing = match &field.kind {
        Kind::Deferred => format!("{} more fields", glyphs.closed),
        _ if field.required => "required".to_owned(),
        Kind::Boolean => format!("{} not set", glyphs.not_chosen),
        _ => "not set".to_owned(),
    };
    match default {
        Some(default) => format!("{nothing} (default {})", json_line(default)),
        None => nothing,
    }
}

fn boolean(answer: bool, glyphs: &Glyphs) -> String {
    match answer {
        true => format!("{} yes", glyphs.checked),
        false => format!("{} no", glyphs.unchecked),
    }
}

/// The label of a choice for people.
pub(super) fn label(option: &Choice) -> &str {
    option.title.as_deref().unwrap_or(&option.label)
}

fn chosen(options: &[Choice], value: &Value) -> String {
    let found = options.iter().find(|option| option.value == *value);
    found.map_or_else(|| json_line(value), |option| label(option).to_owned())
}

/// A text in one line: its line breaks are told apart from what they separate.
fn one_line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let lines = text.lines().count();
    match lines {
        0 | 1 if !text.contains('\n') => safe_text::one_line(text).into_owned(),
        _ => format!(
            "{} (+{} lines)",
            safe_text::one_line(first),
            lines.max(2) - 1
        ),
    }
}

/// JSON in one line, as far as a line can be.
pub(super) fn json_line(value: &Value) -> String {
    let json = value.to_string();
    let short: String = json.chars().take(500).collect();
    safe_text::json(&short).into_owned()
}

pub(super) fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// The marks behind a field's name.
pub(super) fn marks(field: &Field) -> Vec<&'static str> {
    let marks = [
        (field.read_only, "read-only"),
        (field.deprecated, "deprecated"),
        (field.undescribed, "not in the schema"),
    ];
    marks
        .into_iter()
        .filter_map(|(is_so, word)| is_so.then_some(word))
        .collect()
}

/// What a field takes: its type and its limits.
pub(super) fn rules(form: &Form, field: &Field) -> String {
    let mut words = vec![kind(form, field)];
    if field.nullable {
        words.push("or null".to_owned());
    }
    match &field.kind {
        Kind::Text {
            format,
            length,
            patterns,
            ..
        } => {
            words.extend(format.iter().map(|format| format!("format {format}")));
            words.extend(range(length, "character"));
            words.extend(patterns.iter().map(|pattern| format!("like {pattern}")));
        }
        Kind::Number {
            minimum,
            maximum,
            above,
            below,
            step,
            ..
        } => {
            let limit = |words: &str, limit: &Option<Number>| {
                limit
                    .as_ref()
                    .map(|limit| format!("{words} {}", limit.as_str()))
            };
            words.extend(limit("from", minimum));
            words.extend(limit("to", maximum));
            words.extend(limit("above", above));
            words.extend(limit("below", below));
            words.extend(limit("in steps of", step));
        }
        Kind::MultiChoice { count, unique, .. } | Kind::List { count, unique, .. } => {
            words.extend(range(count, "item"));
            words.extend(unique.then(|| "each once".to_owned()));
        }
        Kind::Object(members) => {
            words.extend(range(&members.count, "member"));
            let patterns = members.patterns.iter();
            words.extend(patterns.map(|pattern| format!("names like {}", pattern.pattern)));
            for (one, others) in &members.dependent_required {
                words.push(format!("{one} needs {}", others.join(" and ")));
            }
        }
        _ => {}
    }
    words.join(", ")
}

fn kind(form: &Form, field: &Field) -> String {
    match &field.kind {
        Kind::Text { shape, .. } => match shape {
            TextShape::Line => "text".to_owned(),
            TextShape::Lines => "text of several lines".to_owned(),
            TextShape::Masked => "a secret: not shown and not kept".to_owned(),
        },
        Kind::Number { whole: true, .. } => "a whole number".to_owned(),
        Kind::Number { .. } => "a number".to_owned(),
        Kind::Boolean => "yes or no".to_owned(),
        Kind::Choice { options } => format!("one of {}", options.len()),
        Kind::MultiChoice { options, .. } => format!("any of {}", options.len()),
        Kind::List { first, rest, .. } => match (first.len(), rest) {
            (0, _) => format!("a list: {}", form.describe(field)),
            (fixed, None) => format!("a tuple of {fixed}"),
            (fixed, Some(_)) => format!("a tuple of {fixed} and more"),
        },
        Kind::Object(_) => "a section".to_owned(),
        Kind::Variants { options, .. } => format!("one of {} shapes", options.len()),
        Kind::Json { reason } => format!("JSON: {reason}"),
        Kind::Deferred => "more fields, made when it is opened".to_owned(),
    }
}

fn range(range: &Range, what: &str) -> Option<String> {
    match (range.min, range.max) {
        (Some(min), Some(max)) if min == max => Some(count(min, what)),
        (Some(min), Some(max)) => Some(format!("{min} to {}", count(max, what))),
        (Some(min), None) => Some(format!("at least {}", count(min, what))),
        (None, Some(max)) => Some(format!("at most {}", count(max, what))),
        (None, None) => None,
    }
}
