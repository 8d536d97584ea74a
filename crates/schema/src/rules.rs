//! The rules of JSON Schema that look at one value and apply no other schema.

use std::collections::HashSet;

use crate::path::Here;
use crate::report::{Report, Verdict};
use crate::{Number, Object, Value};

/// How many choices a problem lists.
const LISTED_CHOICES: usize = 12;

/// `enum` and `const`.
pub(crate) fn values(
    word: &str,
    rule: &Value,
    value: &Value,
    here: &Here<'_>,
    report: &mut Report,
) {
    match (word, rule) {
        ("const", constant) if constant != value => {
            report.add(here, word, &format!("must be {constant}"));
        }
        ("enum", Value::Array(choices)) if !choices.contains(value) => {
            let listed = choices.iter().take(LISTED_CHOICES).map(Value::plain);
            let mut listed: Vec<String> = listed.collect();
            if choices.len() > LISTED_CHOICES {
                listed.push("…".to_owned());
            }
            report.add(here, word, &format!("must be one of {}", listed.join(", ")));
        }
        _ => {}
    }
}

/// The range of a number, and its step.
pub(crate) fn number(
    part: &Value,
    word: &str,
    rule: &Value,
    number: &Number,
    here: &Here<'_>,
    report: &mut Report,
) {
    let Value::Number(limit) = rule else {
        return;
    };
    // In draft 4 a limit is exclusive by a word beside it.
    let excludes = |word: &str| part.get(word) == Some(&Value::Bool(true));
    let (fits, expected) = match word {
        "minimum" if excludes("exclusiveMinimum") => (number > limit, "more than"),
        "minimum" => (number >= limit, "at least"),
        "maximum" if excludes("exclusiveMaximum") => (number < limit, "less than"),
        "maximum" => (number <= limit, "at most"),
        "exclusiveMinimum" => (number > limit, "more than"),
        "exclusiveMaximum" => (number < limit, "less than"),
        "multipleOf" => match number.is_multiple_of(limit) {
            Some(fits) => (fits, "a multiple of"),
            None => return report.leave("the rule \"multipleOf\""),
        },
        _ => return,
    };
    if !fits {
        let complaint = format!("must be {expected} {limit}, not {number}");
        report.add(here, word, &complaint);
    }
}

/// Whether the items of a list differ.
pub(crate) fn unique(items: &[Value], here: &Here<'_>, report: &mut Report) {
    let mut seen = HashSet::new();
    if let Some(index) = items.iter().position(|item| !seen.insert(item.canonical())) {
        let at = Here::Index(here, index);
        report.add(&at, "uniqueItems", "is in the list already");
    }
}

/// How many items `contains` holds for.
pub(crate) fn contains(part: &Value, verdicts: &[Verdict], here: &Here<'_>, report: &mut Report) {
    let count = |wanted: Verdict| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    let (holding, unknown) = (count(Verdict::Holds), count(Verdict::Unknown));
    let least = limit(part, "minContains").unwrap_or(1);
    let most = limit(part, "maxContains").unwrap_or(usize::MAX);
    if holding > most {
        report.add(
            here,
            "maxContains",
            &format!("must have at most {most} items of the kind it may contain, not {holding}"),
        );
    } else if holding + unknown < least {
        report.add(
            here,
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
pub(crate) fn members(
    word: &str,
    rule: &Value,
    members: &Object,
    here: &Here<'_>,
    report: &mut Report,
) {
    match word {
        "minProperties" | "maxProperties" => {
            amount(word, rule, || members.len(), "fields", here, report)
        }
        "required" => {
            for name in names(Some(rule)).filter(|name| members.get(name).is_none()) {
                report.add(&Here::Key(here, name), word, "is required and missing");
            }
        }
        "dependentRequired" | "dependencies" => {
            for (given, wanted) in rule.as_object().into_iter().flat_map(Object::iter) {
                let wanted = Some(wanted).filter(|_| members.get(given).is_some());
                for name in names(wanted).filter(|name| members.get(name).is_none()) {
                    report.add(
                        &Here::Key(here, name),
                        "dependentRequired",
                        &format!("is required together with \"{given}\" and missing"),
                    );
                }
            }
        }
        _ => {}
    }
}

/// The texts in a list of names.
pub fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
}

/// A count that a schema sets.
pub fn limit(schema: &Value, word: &str) -> Option<usize> {
    count(schema.get(word)?)
}

fn count(rule: &Value) -> Option<usize> {
    match rule {
        Value::Number(number) => number.as_count(),
        _ => None,
    }
}

/// A least or greatest number of something, by the first letters of the word.
pub(crate) fn amount(
    word: &str,
    rule: &Value,
    counted: impl FnOnce() -> usize,
    what: &str,
    here: &Here<'_>,
    report: &mut Report,
) {
    let Some(limit) = count(rule) else {
        return;
    };
    let counted = counted();
    let expected = match word.starts_with("min") {
        true if counted < limit => "at least",
        false if counted > limit => "at most",
        _ => return,
    };
    let complaint = format!("must have {expected} {limit} {what}, not {counted}");
    report.add(here, word, &complaint);
}
