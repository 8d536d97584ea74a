//! The rules of JSON Schema that look at one value and apply no other schema.

use std::collections::HashSet;

use super::check::{Report, Verdict};
use super::path::Path;
use crate::{Number, Object, Value};

/// How many choices a problem lists.
const LISTED_CHOICES: usize = 12;

/// `enum` and `const`.
pub(super) fn values(schema: &Value, value: &Value, path: &Path, report: &mut Report) {
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        report.add(path, "const", &format!("must be {constant}"));
    }
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        let mut listed: Vec<String> = choices
            .iter()
            .take(LISTED_CHOICES)
            .map(Value::plain)
            .collect();
        if choices.len() > LISTED_CHOICES {
            listed.push("…".to_owned());
        }
        report.add(
            path,
            "enum",
            &format!("must be one of {}", listed.join(", ")),
        );
    }
}

/// The length of a text, in characters.
pub(super) fn text(schema: &Value, text: &str, path: &Path, report: &mut Report) {
    let count = || text.chars().count();
    amount(
        schema,
        ["minLength", "maxLength"],
        count,
        "characters",
        path,
        report,
    );
}

/// The range of a number, and its step.
pub(super) fn number(schema: &Value, number: &Number, path: &Path, report: &mut Report) {
    for (word, fits, expected) in [
        (
            "minimum",
            (|a, b| a >= b) as fn(&Number, &Number) -> bool,
            "at least",
        ),
        ("maximum", |a, b| a <= b, "at most"),
        ("exclusiveMinimum", |a, b| a > b, "more than"),
        ("exclusiveMaximum", |a, b| a < b, "less than"),
    ] {
        if let Some(Value::Number(limit)) = schema.get(word)
            && !fits(number, limit)
        {
            report.add(
                path,
                word,
                &format!("must be {expected} {limit}, not {number}"),
            );
        }
    }
    if let Some(Value::Number(step)) = schema.get("multipleOf") {
        match number.is_multiple_of(step) {
            Some(true) => {}
            Some(false) => report.add(
                path,
                "multipleOf",
                &format!("must be a multiple of {step}, not {number}"),
            ),
            None => report.leave("the rule \"multipleOf\""),
        }
    }
}

/// The number of items, and whether they differ.
pub(super) fn list(schema: &Value, items: &[Value], path: &Path, report: &mut Report) {
    amount(
        schema,
        ["minItems", "maxItems"],
        || items.len(),
        "items",
        path,
        report,
    );
    if schema.get("uniqueItems") == Some(&Value::Bool(true))
        && let Some(index) = first_repeated(items)
    {
        report.add(&path.index(index), "uniqueItems", "is in the list already");
    }
}

/// The first item that equals an earlier one.
fn first_repeated(items: &[Value]) -> Option<usize> {
    let mut seen = HashSet::new();
    items.iter().position(|item| !seen.insert(item.canonical()))
}

/// How many items `contains` holds for.
pub(super) fn contains(schema: &Value, verdicts: &[Verdict], path: &Path, report: &mut Report) {
    let count = |wanted: Verdict| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    let (holding, unknown) = (count(Verdict::Holds), count(Verdict::Unknown));
    let least = limit(schema, "minContains").unwrap_or(1);
    let most = limit(schema, "maxContains").unwrap_or(usize::MAX);
    if holding > most {
        report.add(
            path,
            "maxContains",
            &format!("must have at most {most} items of the kind it may contain, not {holding}"),
        );
    } else if holding + unknown < least {
        report.add(
            path,
            "contains",
            &format!(
                "must have at least {least} items of the kind it has to contain, not {holding}"
            ),
        );
    } else if unknown > 0 && (holding < least || holding + unknown > most) {
        report.leave("the rule \"contains\"");
    }
}

/// Which members there must be, and how many.
pub(super) fn members(schema: &Value, members: &Object, path: &Path, report: &mut Report) {
    amount(
        schema,
        ["minProperties", "maxProperties"],
        || members.len(),
        "fields",
        path,
        report,
    );
    for name in names(schema.get("required")) {
        if members.get(name).is_none() {
            report.add(&path.key(name), "required", "is required and missing");
        }
    }
    for word in ["dependentRequired", "dependencies"] {
        let rules = schema.get(word).and_then(Value::as_object);
        for (given, wanted) in rules.into_iter().flat_map(Object::iter) {
            for name in names(Some(wanted).filter(|_| members.get(given).is_some())) {
                if members.get(name).is_none() {
                    report.add(
                        &path.key(name),
                        "dependentRequired",
                        &format!("is required together with \"{given}\" and missing"),
                    );
                }
            }
        }
    }
}

/// The texts in a list of names.
pub(super) fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
}

/// A count that a schema sets.
pub(super) fn limit(schema: &Value, word: &str) -> Option<usize> {
    match schema.get(word)? {
        Value::Number(number) => number.as_count(),
        _ => None,
    }
}

fn amount(
    schema: &Value,
    [least, most]: [&str; 2],
    count: impl Fn() -> usize,
    what: &str,
    path: &Path,
    report: &mut Report,
) {
    if let Some(limit) = limit(schema, least).filter(|limit| count() < *limit) {
        report.add(
            path,
            least,
            &format!("must have at least {limit} {what}, not {}", count()),
        );
    }
    if let Some(limit) = limit(schema, most).filter(|limit| count() > *limit) {
        report.add(
            path,
            most,
            &format!("must have at most {limit} {what}, not {}", count()),
        );
    }
}
