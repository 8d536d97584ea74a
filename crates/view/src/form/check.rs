//! Checks a value against a schema, and tells problems by field in words.
//!
//! The verdict on a part has three values: it holds, it fails, or it is left to the server, because
//! the schema uses what is not checked here. What is left is told, and never turned into a problem
//! by a `not` or a `oneOf` around it.

use std::collections::{BTreeSet, HashMap};

use attache_protocol::shortened;
use jsonschema::{PatternOptions, Validator, error::ValidationErrorKind};
use serde::Serialize;

use super::limits::{
    MAX_BACKTRACKS, MAX_CHECK_DEPTH, MAX_CHECK_STEPS, MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_PROBLEMS,
};
use super::path::{Path, Step};
use super::schema::{Document, Types};
use super::{check_rules, formats};
use crate::{Value, safe_text};

/// Something that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where.
    pub path: Path,
    /// The rule that it breaks: a word of JSON Schema, or `syntax` for text that says no value.
    pub rule: String,
    /// A sentence that names the field and the rule; safe to show.
    pub message: String,
}

impl Problem {
    /// A problem of what is at `path`; `complaint` continues a sentence that begins with its name.
    pub(crate) fn new(path: &Path, rule: &str, complaint: &str) -> Self {
        let complaint = shortened(safe_text::one_line(complaint));
        Self {
            path: path.clone(),
            rule: rule.to_owned(),
            message: format!("{} {complaint}", path.subject()),
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What is wrong, in the order of the schema.
    pub problems: Vec<Problem>,
    /// What could not be checked here, in words; the server remains the judge of it.
    pub unchecked: BTreeSet<String>,
}

impl Report {
    pub(crate) fn verdict(&self) -> Verdict {
        match (self.problems.is_empty(), self.unchecked.is_empty()) {
            (false, _) => Verdict::Fails,
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Unknown,
        }
    }

    pub(crate) fn add(&mut self, path: &Path, rule: &str, complaint: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem::new(path, rule, complaint));
        }
    }

    pub(crate) fn leave(&mut self, what: impl Into<String>) {
        self.unchecked
            .insert(shortened(safe_text::one_line(&what.into())));
    }

    fn absorb(&mut self, other: Self) {
        let room = MAX_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(other.problems.into_iter().take(room));
        self.unchecked.extend(other.unchecked);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    Fails,
    Unknown,
}

/// One check, or the checks of one expansion, with what is left of its limits.
pub(crate) struct Checker<'s> {
    document: &'s Document,
    steps: usize,
    /// The schemas that are being applied, each with its value, by address. One that comes to be
    /// applied within itself would never end.
    applied: Vec<(*const Value, *const Value)>,
    patterns: HashMap<String, Option<Validator>>,
}

impl<'s> Checker<'s> {
    pub(crate) fn new(document: &'s Document) -> Self {
        Self {
            document,
            steps: MAX_CHECK_STEPS,
            applied: Vec::new(),
            patterns: HashMap::new(),
        }
    }

    /// Checks `value` against `schema`, a part of the document.
    pub(crate) fn report(&mut self, schema: &'s Value, value: &Value, path: &Path) -> Report {
        let mut report = Report::default();
        if let Some(reason) = &self.document.unreadable {
            report.leave(reason.as_str());
        } else if self.steps == 0 || self.applied.len() == MAX_CHECK_DEPTH {
            report.leave("the schema asks for more checks than are made here");
        } else {
            let applied = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
            if self.applied.contains(&applied) {
                report.leave("the schema refers to itself in a circle");
                return report;
            }
            self.steps -= 1;
            self.applied.push(applied);
            self.apply(schema, value, path, &mut report);
            self.applied.pop();
        }
        report
    }

    pub(crate) fn verdict(&mut self, schema: &'s Value, value: &Value) -> Verdict {
        self.report(schema, value, &Path::default()).verdict()
    }

    fn apply(&mut self, schema: &'s Value, value: &Value, path: &Path, report: &mut Report) {
        let Value::Object(words) = schema else {
            if *schema == Value::Bool(false) {
                report.add(path, "false", "is not allowed");
            }
            return;
        };
        let types = Types::of_schema(schema);
        if !types.has(Types::of(value)) {
            let complaint = format!("must be {}, not {}", types.words(), Types::words_of(value));
            report.add(path, "type", &complaint);
            return;
        }
        check_rules::values(schema, value, path, report);
        match value {
            Value::String(text) => {
                check_rules::text(schema, text, path, report);
                if let Some(Value::String(pattern)) = schema.get("pattern") {
                    match self.matches(pattern, text) {
                        Some(true) => {}
                        Some(false) => report.add(
                            path,
                            "pattern",
                            &format!("must match the pattern {pattern}"),
                        ),
                        None => report.leave(format!("the pattern {pattern}")),
                    }
                }
                if let Some(Err(expected)) = schema
                    .get("format")
                    .and_then(Value::as_str)
                    .map(|format| formats::check(format, text))
                {
                    report.add(path, "format", &format!("must be {expected}"));
                }
            }
            Value::Number(number) => check_rules::number(schema, number, path, report),
            Value::Array(items) => self.list(schema, items, path, report),
            Value::Object(_) => self.object(schema, value, path, report),
            Value::Null | Value::Bool(_) => {}
        }
        for (word, rule) in words.iter() {
            self.combined(schema, word, rule, value, path, report);
        }
    }

    /// Rules that apply other schemas to the same value.
    fn combined(
        &mut self,
        schema: &'s Value,
        word: &str,
        rule: &'s Value,
        value: &Value,
        path: &Path,
        report: &mut Report,
    ) {
        match (word, rule) {
            ("$ref", Value::String(reference)) => match self.document.resolve(reference) {
                Ok(pointer) => {
                    if let Some(target) = self.document.at(&pointer) {
                        let found = self.report(target, value, path);
                        report.absorb(found);
                    }
                }
                Err(reason) => report.leave(reason),
            },
            ("allOf", Value::Array(parts)) => {
                for part in parts {
                    let found = self.report(part, value, path);
                    report.absorb(found);
                }
            }
            ("anyOf" | "oneOf", Value::Array(parts)) => {
                self.alternatives(word, parts, value, path, report)
            }
            ("not", part) => match self.verdict(part, value) {
                Verdict::Holds => report.add(path, "not", "is of a kind that is excluded"),
                Verdict::Fails => {}
                Verdict::Unknown => report.leave("the rule \"not\""),
            },
            ("if", condition) => {
                let branch = match self.verdict(condition, value) {
                    Verdict::Holds => schema.get("then"),
                    Verdict::Fails => schema.get("else"),
                    Verdict::Unknown => {
                        report.leave("the rule \"if\"");
                        None
                    }
                };
                if let Some(branch) = branch {
                    let found = self.report(branch, value, path);
                    report.absorb(found);
                }
            }
            // Without another rule to say it, these two forbid nothing.
            ("unevaluatedProperties" | "unevaluatedItems", Value::Bool(true)) => {}
            ("unevaluatedProperties", _) if matches!(value, Value::Object(object) if !object.is_empty()) => {
                report.leave("the rule \"unevaluatedProperties\"")
            }
            ("unevaluatedItems", _) if matches!(value, Value::Array(items) if !items.is_empty()) => {
                report.leave("the rule \"unevaluatedItems\"")
            }
            ("$dynamicRef" | "$recursiveRef", _) => report.leave(format!("the rule \"{word}\"")),
            _ => {}
        }
    }

    fn alternatives(
        &mut self,
        word: &str,
        parts: &'s [Value],
        value: &Value,
        path: &Path,
        report: &mut Report,
    ) {
        let found: Vec<Report> = parts
            .iter()
            .map(|part| self.report(part, value, path))
            .collect();
        let count = |verdict| {
            found
                .iter()
                .filter(|report| report.verdict() == verdict)
                .count()
        };
        let (holding, unknown) = (count(Verdict::Holds), count(Verdict::Unknown));
        match (word, holding) {
            ("anyOf", 1..) => {}
            ("oneOf", 1) if unknown == 0 => {}
            ("oneOf", 2..) => report.add(
                path,
                word,
                &format!("fits {holding} of the variants, and must fit exactly one"),
            ),
            _ if unknown > 0 => report.leave(format!("the rule \"{word}\"")),
            _ => {
                // The one variant that the value was meant for has more to say than the rule.
                let mut meant = found.iter().filter(|report| {
                    !report
                        .problems
                        .iter()
                        .any(|problem| is_discriminating(problem, path))
                });
                match (meant.next(), meant.next()) {
                    (Some(report_of_variant), None) => report.absorb(report_of_variant.clone()),
                    _ => report.add(
                        path,
                        word,
                        &format!("fits none of the {} variants", parts.len()),
                    ),
                }
            }
        }
    }

    fn list(&mut self, schema: &'s Value, items: &[Value], path: &Path, report: &mut Report) {
        check_rules::list(schema, items, path, report);
        // Before 2020-12 the first items had their schemas in a list under `items`.
        let (first, rest) = match (schema.get("prefixItems"), schema.get("items")) {
            (None, Some(Value::Array(first))) => (first.as_slice(), schema.get("additionalItems")),
            (first, rest) => (first.and_then(Value::as_array).unwrap_or_default(), rest),
        };
        for (index, item) in items.iter().enumerate() {
            if let Some(part) = first.get(index).or(rest) {
                let found = self.report(part, item, &path.index(index));
                report.absorb(found);
            }
        }
        if let Some(part) = schema.get("contains") {
            let verdicts: Vec<Verdict> =
                items.iter().map(|item| self.verdict(part, item)).collect();
            check_rules::contains(schema, &verdicts, path, report);
        }
    }

    fn object(&mut self, schema: &'s Value, value: &Value, path: &Path, report: &mut Report) {
        let Value::Object(members) = value else {
            return;
        };
        check_rules::members(schema, members, path, report);
        let properties = schema.get("properties");
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for (name, member) in members.iter() {
            let at = path.join(Step::Key(name.to_owned()));
            let named = properties.and_then(|properties| properties.get(name));
            let mut is_described = named.is_some();
            if let Some(part) = named {
                let found = self.report(part, member, &at);
                report.absorb(found);
            }
            for (pattern, part) in patterns.into_iter().flat_map(|patterns| patterns.iter()) {
                match self.matches(pattern, name) {
                    Some(true) => {
                        is_described = true;
                        let found = self.report(part, member, &at);
                        report.absorb(found);
                    }
                    Some(false) => {}
                    None => {
                        // Whether the pattern describes the member decides about the others, too.
                        is_described = true;
                        report.leave(format!("the pattern {pattern}"));
                    }
                }
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if !is_described => report.add(
                    &at,
                    "additionalProperties",
                    "is not a field that is taken here",
                ),
                Some(part) if !is_described => {
                    let found = self.report(part, member, &at);
                    report.absorb(found);
                }
                _ => {}
            }
            if let Some(part) = schema.get("propertyNames") {
                let name = Value::String(name.to_owned());
                match self.verdict(part, &name) {
                    Verdict::Holds => {}
                    Verdict::Fails => {
                        report.add(&at, "propertyNames", "has a name that is not allowed here")
                    }
                    Verdict::Unknown => report.leave("the rule \"propertyNames\""),
                }
            }
        }
        for word in ["dependentSchemas", "dependencies"] {
            for (name, part) in schema
                .get(word)
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(|parts| parts.iter())
            {
                if members.get(name).is_some() && !matches!(part, Value::Array(_)) {
                    let found = self.report(part, value, path);
                    report.absorb(found);
                }
            }
        }
    }

    /// Whether a pattern matches; `None` if it is one that is not used here.
    pub(crate) fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        self.steps = self.steps.checked_sub(1)?;
        if !self.patterns.contains_key(pattern) {
            if pattern.len() > MAX_PATTERN_BYTES || self.patterns.len() == MAX_PATTERNS {
                return None;
            }
            let schema = serde_json::json!({ "pattern": pattern });
            let options = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
            let compiled = jsonschema::draft202012::options()
                .with_pattern_options(options)
                .build(&schema)
                .ok();
            self.patterns.insert(pattern.to_owned(), compiled);
        }
        let validator = self.patterns.get(pattern)?.as_ref()?;
        match validator.validate(&serde_json::Value::String(text.to_owned())) {
            Ok(()) => Some(true),
            Err(error) => {
                matches!(error.kind(), ValidationErrorKind::Pattern { .. }).then_some(false)
            }
        }
    }
}

/// Whether a problem says that the value was meant for another variant: its type is another, or a
/// fixed value of it or of one of its members.
pub(super) fn is_discriminating(problem: &Problem, path: &Path) -> bool {
    let depth = problem.path.0.len() - path.0.len().min(problem.path.0.len());
    match problem.rule.as_str() {
        "type" => depth == 0,
        "const" | "enum" => depth <= 1,
        _ => false,
    }
}
