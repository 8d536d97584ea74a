//! Checks a value against a schema, and tells problems by place in words.
//!
//! The verdict on a part has three values: it holds, it fails, or it is not known, because the
//! schema uses what is not checked here. What is not known is told, and never turned into a problem
//! by a `not` or a `oneOf` around it.

use crate::evaluated::Evaluated;
use crate::limits::{MATCH_STEPS_PER_STEP, MAX_CHECK_DEPTH, MAX_CHECK_STEPS, MAX_MATCH_STEPS};
use crate::path::{Here, Path};
use crate::report::{Problem, Report, Verdict};
use crate::schema::{Dialect, Schema, Target};
use crate::{Object, Types, Value, formats, rules};

/// One check, or several that share their limits.
#[derive(Debug)]
pub struct Checker<'s> {
    schema: &'s Schema,
    steps: usize,
    checks_formats: bool,
    /// The schemas that are being applied, each with its value, by address. One that comes to be
    /// applied within itself would never end.
    applied: Vec<(*const Value, *const Value)>,
    /// The resources that the check went through on its way, for dynamic references.
    scope: Vec<usize>,
}

impl<'s> Checker<'s> {
    /// A check within bounds, formats included.
    pub fn new(schema: &'s Schema) -> Self {
        Self {
            schema,
            steps: MAX_CHECK_STEPS,
            checks_formats: true,
            applied: Vec::new(),
            scope: vec![0],
        }
    }

    /// A check of as many steps as it takes, for which formats are remarks.
    pub(crate) fn thorough(schema: &'s Schema) -> Self {
        Self {
            steps: usize::MAX,
            checks_formats: false,
            ..Self::new(schema)
        }
    }

    /// Checks `value`, which is at `path`, against `part` of the schema.
    pub fn report(&mut self, part: &'s Value, value: &Value, path: &Path) -> Report {
        let mut report = self.report_at(part, value, &Here::Root(path));
        // Of interest to the rules around only.
        report.evaluated = Evaluated::default();
        report
    }

    /// What is known of a value by a part of the schema.
    pub fn verdict(&mut self, part: &'s Value, value: &Value) -> Verdict {
        self.report(part, value, &Path::default()).verdict()
    }

    /// Whether a pattern matches; `None` if it is one that cannot be used, or takes too long.
    pub fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        let pattern = self.schema.pattern(pattern)?;
        let granted = MAX_MATCH_STEPS.min(self.steps.saturating_mul(MATCH_STEPS_PER_STEP));
        let mut left = granted;
        let verdict = pattern.matches(text, &mut left);
        let taken = (granted - left) / MATCH_STEPS_PER_STEP;
        self.steps = self.steps.saturating_sub(taken);
        verdict
    }

    fn report_at(&mut self, part: &'s Value, value: &Value, here: &Here<'_>) -> Report {
        let mut report = Report::default();
        if let Some(reason) = self.schema.unreadable() {
            report.leave(reason);
        } else if self.steps == 0 || self.applied.len() == MAX_CHECK_DEPTH {
            report.leave("the schema asks for more checks than are made here");
        } else {
            let applied = (std::ptr::from_ref(part), std::ptr::from_ref(value));
            if self.applied.contains(&applied) {
                report.leave("the schema refers to itself in a circle");
                return report;
            }
            self.steps -= 1;
            self.applied.push(applied);
            let owner = self.schema.owner(part);
            let enters = self.scope.last() != Some(&owner);
            if enters {
                self.scope.push(owner);
            }
            self.apply(part, value, here, &mut report);
            if enters {
                self.scope.pop();
            }
            self.applied.pop();
        }
        report
    }

    fn apply(&mut self, part: &'s Value, value: &Value, here: &Here<'_>, report: &mut Report) {
        let Value::Object(words) = part else {
            if *part == Value::Bool(false) {
                report.add(here, "false", "is not allowed");
            }
            return;
        };
        if self.schema.dialect.reference_is_alone()
            && let Some(Value::String(reference)) = part.get("$ref")
        {
            let target = self.schema.target(self.schema.owner(part), reference);
            return self.reference(target, value, here, report);
        }
        let types = Types::of_schema(part);
        if !types.has(Types::of(value)) {
            let complaint = format!("must be {}, not {}", types.words(), Types::words_of(value));
            return report.add(here, "type", &complaint);
        }
        for (word, rule) in words.iter() {
            match value {
                Value::String(text) => self.text(word, rule, text, here, report),
                Value::Number(number) => rules::number(part, word, rule, number, here, report),
                Value::Array(items) => self.list(part, word, rule, items, here, report),
                Value::Object(members) => {
                    self.object(part, word, rule, (value, members), here, report)
                }
                Value::Null | Value::Bool(_) => {}
            }
            rules::values(word, rule, value, here, report);
            self.combined(part, word, rule, value, here, report);
        }
        if self.schema.asks_evaluated {
            self.unevaluated(part, value, here, report);
        }
    }

    fn text(&mut self, word: &str, rule: &Value, text: &str, here: &Here<'_>, report: &mut Report) {
        match (word, rule) {
            ("minLength" | "maxLength", _) => rules::amount(
                word,
                rule,
                || text.chars().count(),
                "characters",
                here,
                report,
            ),
            ("pattern", Value::String(pattern)) => match self.matches(pattern, text) {
                Some(true) => {}
                Some(false) => report.add(here, word, &format!("must match the pattern {pattern}")),
                None => report.leave(format!("the pattern {pattern}")),
            },
            ("format", Value::String(format)) if self.checks_formats => {
                if let Err(expected) = formats::check(format, text) {
                    report.add(here, word, &format!("must be {expected}"));
                }
            }
            _ => {}
        }
    }

    /// Rules that apply other schemas to the same value.
    fn combined(
        &mut self,
        part: &'s Value,
        word: &str,
        rule: &'s Value,
        value: &Value,
        here: &Here<'_>,
        report: &mut Report,
    ) {
        let schema = self.schema;
        match (word, rule) {
            ("$ref", Value::String(reference)) => {
                let target = schema.target(schema.owner(part), reference);
                self.reference(target, value, here, report);
            }
            ("$dynamicRef", Value::String(reference)) => {
                let target = schema.dynamic_target(schema.owner(part), reference, &self.scope);
                self.reference(target, value, here, report);
            }
            ("$recursiveRef", Value::String(_)) => {
                let target = schema.recursive_target(schema.owner(part), &self.scope);
                self.reference(target, value, here, report);
            }
            ("allOf", Value::Array(parts)) => {
                for part in parts {
                    let found = self.report_at(part, value, here);
                    report.absorb(found);
                }
            }
            ("anyOf" | "oneOf", Value::Array(parts)) => {
                self.alternatives(word, parts, value, here, report)
            }
            ("not", excluded) => match self.report_at(excluded, value, here).verdict() {
                Verdict::Holds => report.add(here, word, "is of a kind that is excluded"),
                Verdict::Fails => {}
                Verdict::Unknown => report.leave("the rule \"not\""),
            },
            ("if", condition) if schema.dialect >= Dialect::Draft7 => {
                let found = self.report_at(condition, value, here);
                let branch = match found.verdict() {
                    Verdict::Holds => {
                        report.evaluated.merge(&found.evaluated);
                        part.get("then")
                    }
                    Verdict::Fails => part.get("else"),
                    Verdict::Unknown => {
                        report.leave("the rule \"if\"");
                        None
                    }
                };
                if let Some(branch) = branch {
                    let found = self.report_at(branch, value, here);
                    report.absorb(found);
                }
            }
            _ => {}
        }
    }

    fn reference(
        &mut self,
        target: Result<Target<'s>, String>,
        value: &Value,
        here: &Here<'_>,
        report: &mut Report,
    ) {
        match target {
            Ok(target) => {
                self.scope.push(target.resource);
                let found = self.report_at(target.part, value, here);
                self.scope.pop();
                report.absorb(found);
            }
            Err(reason) => report.leave(reason),
        }
    }

    fn alternatives(
        &mut self,
        word: &str,
        parts: &'s [Value],
        value: &Value,
        here: &Here<'_>,
        report: &mut Report,
    ) {
        let found: Vec<Report> = parts
            .iter()
            .map(|part| self.report_at(part, value, here))
            .collect();
        for of_part in found.iter().filter(|it| it.verdict() != Verdict::Fails) {
            report.evaluated.merge(&of_part.evaluated);
        }
        let count = |verdict| found.iter().filter(|it| it.verdict() == verdict).count();
        let (holding, unknown) = (count(Verdict::Holds), count(Verdict::Unknown));
        match (word, holding) {
            ("anyOf", 1..) => {}
            ("oneOf", 1) if unknown == 0 => {}
            ("oneOf", 2..) => report.add(
                here,
                word,
                &format!("fits {holding} of the variants, and must fit exactly one"),
            ),
            _ if unknown > 0 => report.leave(format!("the rule \"{word}\"")),
            _ => {
                // The one variant that the value was meant for has more to say than the rule.
                let is_meant = |of_part: &&Report| {
                    let mut problems = of_part.problems.iter();
                    !problems.any(|problem| problem.is_discriminating(here.depth()))
                };
                let mut meant = found.iter().filter(is_meant);
                match (meant.next(), meant.next()) {
                    (Some(one), None) => report.merge(one.clone()),
                    _ => report.add(
                        here,
                        word,
                        &format!("fits none of the {} variants", parts.len()),
                    ),
                }
            }
        }
    }

    fn list(
        &mut self,
        part: &'s Value,
        word: &str,
        rule: &'s Value,
        items: &[Value],
        here: &Here<'_>,
        report: &mut Report,
    ) {
        match (word, rule) {
            ("minItems" | "maxItems", _) => {
                rules::amount(word, rule, || items.len(), "items", here, report)
            }
            ("uniqueItems", Value::Bool(true)) => rules::unique(items, here, report),
            ("prefixItems", Value::Array(first)) if self.schema.dialect >= Dialect::Draft2020 => {
                self.first_items(first, items, here, report)
            }
            // Before 2020-12 the first items had their schemas in a list under `items`.
            ("items", Value::Array(first)) => self.first_items(first, items, here, report),
            ("items", rest) => {
                let first = part.get("prefixItems").and_then(Value::as_array);
                let first = first.filter(|_| self.schema.dialect >= Dialect::Draft2020);
                self.further_items(rest, first.unwrap_or_default().len(), items, here, report);
            }
            ("additionalItems", rest) => {
                if let Some(Value::Array(first)) = part.get("items") {
                    self.further_items(rest, first.len(), items, here, report);
                }
            }
            ("contains", wanted) if self.schema.dialect >= Dialect::Draft6 => {
                let mut verdicts = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let verdict = self
                        .report_at(wanted, item, &Here::Index(here, index))
                        .verdict();
                    if verdict != Verdict::Fails && self.schema.dialect >= Dialect::Draft2020 {
                        report.evaluated.item(index);
                    }
                    verdicts.push(verdict);
                }
                rules::contains(part, &verdicts, here, report);
            }
            _ => {}
        }
    }

    fn first_items(
        &mut self,
        first: &'s [Value],
        items: &[Value],
        here: &Here<'_>,
        report: &mut Report,
    ) {
        for (index, (part, item)) in first.iter().zip(items).enumerate() {
            let found = self.report_at(part, item, &Here::Index(here, index));
            report.merge(found);
        }
        report.evaluated.first_items(first.len());
    }

    fn further_items(
        &mut self,
        part: &'s Value,
        skipped: usize,
        items: &[Value],
        here: &Here<'_>,
        report: &mut Report,
    ) {
        for (index, item) in items.iter().enumerate().skip(skipped) {
            let found = self.report_at(part, item, &Here::Index(here, index));
            report.merge(found);
        }
        report.evaluated.everything();
    }

    fn object(
        &mut self,
        part: &'s Value,
        word: &str,
        rule: &'s Value,
        (value, members): (&Value, &Object),
        here: &Here<'_>,
        report: &mut Report,
    ) {
        rules::members(word, rule, members, here, report);
        match (word, rule) {
            ("properties", Value::Object(named)) => {
                for (name, member) in members.iter() {
                    if let Some(part) = named.get(name) {
                        self.member(part, name, member, here, report);
                    }
                }
            }
            ("patternProperties", Value::Object(patterns)) => {
                for (pattern, part) in patterns.iter() {
                    for (name, member) in members.iter() {
                        match self.matches(pattern, name) {
                            Some(true) => self.member(part, name, member, here, report),
                            Some(false) => {}
                            None => report.leave(format!("the pattern {pattern}")),
                        }
                    }
                }
            }
            ("additionalProperties", part_of_others) => {
                for (name, member) in members.iter() {
                    if self.is_described(part, name) {
                        continue;
                    }
                    if *part_of_others == Value::Bool(false) {
                        let at = Here::Key(here, name);
                        report.add(&at, word, "is not a field that is taken here");
                    } else {
                        self.member(part_of_others, name, member, here, report);
                    }
                }
                report.evaluated.everything();
            }
            ("propertyNames", names) if self.schema.dialect >= Dialect::Draft6 => {
                for (name, _) in members.iter() {
                    let at = Here::Key(here, name);
                    let text = Value::String(name.to_owned());
                    match self.report_at(names, &text, &at).verdict() {
                        Verdict::Holds => {}
                        Verdict::Fails => {
                            report.add(&at, word, "has a name that is not allowed here")
                        }
                        Verdict::Unknown => report.leave("the rule \"propertyNames\""),
                    }
                }
            }
            ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                for (name, part) in parts.iter() {
                    if members.get(name).is_some() && !matches!(part, Value::Array(_)) {
                        let found = self.report_at(part, value, here);
                        report.absorb(found);
                    }
                }
            }
            _ => {}
        }
    }

    fn member(
        &mut self,
        part: &'s Value,
        name: &str,
        member: &Value,
        here: &Here<'_>,
        report: &mut Report,
    ) {
        let found = self.report_at(part, member, &Here::Key(here, name));
        report.merge(found);
        if self.schema.asks_evaluated {
            report.evaluated.member(name);
        }
    }

    /// Whether the words beside `additionalProperties` speak of a member. A pattern without verdict
    /// counts as one that does, and is told where it is applied.
    fn is_described(&mut self, part: &Value, name: &str) -> bool {
        let is_named = part
            .get("properties")
            .is_some_and(|named| named.get(name).is_some());
        let patterns = part.get("patternProperties").and_then(Value::as_object);
        is_named
            || patterns
                .into_iter()
                .flat_map(Object::iter)
                .any(|(pattern, _)| self.matches(pattern, name) != Some(false))
    }

    /// What no other rule of this part has looked at.
    fn unevaluated(
        &mut self,
        part: &'s Value,
        value: &Value,
        here: &Here<'_>,
        report: &mut Report,
    ) {
        let word = match value {
            Value::Object(_) => "unevaluatedProperties",
            Value::Array(_) => "unevaluatedItems",
            _ => return,
        };
        let Some(rule) = part.get(word) else {
            return;
        };
        if !report.unchecked.is_empty() {
            // What could not be checked may have looked at anything.
            return report.leave(format!("the rule \"{word}\""));
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members.iter() {
                    if report.evaluated.has_member(name) {
                        continue;
                    }
                    let found = self.report_at(rule, member, &Here::Key(here, name));
                    report.merge(found);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if report.evaluated.has_item(index) {
                        continue;
                    }
                    let found = self.report_at(rule, item, &Here::Index(here, index));
                    report.merge(found);
                }
            }
            _ => {}
        }
        report.evaluated.everything();
    }
}

impl Problem {
    /// Whether it says that the value at that depth was meant for another variant: its type is
    /// another, or a fixed value of it or of one of its members.
    pub fn is_discriminating(&self, depth: usize) -> bool {
        let deeper = self.path.0.len().saturating_sub(depth);
        match self.rule.as_str() {
            "type" => deeper == 0,
            "const" | "enum" => deeper <= 1,
            _ => false,
        }
    }
}
