//! What a form says in words: the value of a field in one line, and what is known of the field.

use attache_view::form::{Choice, Field, Form, Kind, Range, TextShape};
use attache_view::{Number, Value, safe_text};

use crate::theme::{Glyphs, Role};

/// How many characters of a value are looked at for its line.
const MOST_CHARACTERS: usize = 500;
/// Texts longer than this tell their size, not their lines.
const MOST_COUNTED: usize = 64 * 1024;
/// How many chosen values are named.
const MOST_CHOSEN: usize = 30;

/// What a field's line shows of its value, and what that means.
pub(super) fn value(
    field: &Field,
    value: Option<&Value>,
    draft: Option<&str>,
    glyphs: &Glyphs,
) -> (String, Role) {
    if let Some(draft) = draft {
        return (one_line(draft), Role::Bad);
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
            let named = items.iter().take(MOST_CHOSEN);
            let labels: Vec<String> = named.map(|item| chosen(options, item)).collect();
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

/// A text in one line: its first line, and how much more there is.
fn one_line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let start: String = first.chars().take(MOST_CHARACTERS).collect();
    let start = safe_text::one_line(&start).into_owned();
    match text.len() {
        length if length > MOST_COUNTED => format!("{start} ({})", crate::text::bytes(length)),
        _ => match text.split('\n').count() - 1 {
            0 => start,
            more => format!("{start} (+{})", count(more, "line")),
        },
    }
}

/// JSON in one line, as far as a line can be.
pub(super) fn json_line(value: &Value) -> String {
    let mut line = String::new();
    write_short(value, &mut line);
    safe_text::json(&line).into_owned()
}

/// Writes as much of a value as a line can hold; values may be of any size.
fn write_short(value: &Value, line: &mut String) {
    let start = |text: &str| text.chars().take(MOST_CHARACTERS).collect::<String>();
    let parts: Vec<(Option<&str>, &Value)> = match value {
        Value::Array(items) => items
            .iter()
            .map(|item| (None, item))
            .take(MOST_CHARACTERS)
            .collect(),
        Value::Object(object) => {
            let members = object.iter().map(|(name, member)| (Some(name), member));
            members.take(MOST_CHARACTERS).collect()
        }
        Value::String(text) => return line.push_str(&Value::String(start(text)).to_string()),
        other => return line.push_str(&other.to_string()),
    };
    let is_list = matches!(value, Value::Array(_));
    line.push(if is_list { '[' } else { '{' });
    for (at, (name, part)) in parts.into_iter().enumerate() {
        if line.len() > MOST_CHARACTERS {
            line.push_str(" and more");
            return;
        }
        line.push_str(if at > 0 { "," } else { "" });
        if let Some(name) = name {
            line.push_str(&Value::String(start(name)).to_string());
            line.push(':');
        }
        write_short(part, line);
    }
    line.push(if is_list { ']' } else { '}' });
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
