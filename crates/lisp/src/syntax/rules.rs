//! `syntax-rules`: matching and instantiation.
//!
//! Owns patterns and templates; what identifiers mean is asked of the scopes. Every inserted
//! identifier becomes a fresh alias, one per name and expansion.

use crate::error::{ErrorKind, Fallible, Fault};
use crate::object::Object;
use crate::syntax::scopes::{Binding, Meaning, ScopeId, Scopes, Special, is_identifier};
use crate::value::Value;
use crate::world::World;

/// How deep patterns, templates and what they match may nest.
const MAX_NESTING: usize = 200;

/// A macro.
#[derive(Debug)]
pub(crate) struct Macro {
    /// Where it was defined.
    pub(crate) scope: ScopeId,
    /// The ellipsis it chose for itself, if it did.
    pub(crate) ellipsis: Option<Value>,
    pub(crate) literals: Vec<Value>,
    /// Patterns without their keyword, and templates.
    pub(crate) rules: Vec<(Value, Value)>,
}

impl Macro {
    /// What a macro is charged beyond its data.
    pub(crate) fn bytes(&self) -> usize {
        128 + self.rules.len() * 16
    }

    /// The data it is made of.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let rules = self
            .rules
            .iter()
            .flat_map(|&(pattern, template)| [pattern, template]);
        rules
            .chain(self.literals.iter().copied())
            .chain(self.ellipsis)
    }
}

/// What a pattern variable stands for.
#[derive(Debug)]
enum Matched {
    One(Value),
    Many(Vec<Matched>),
}

type Matches = Vec<(Value, Matched)>;
type Inserted = Vec<(Value, Value)>;

/// One use of a macro.
pub(crate) struct Use<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) scopes: &'a Scopes,
    pub(crate) rules: &'a Macro,
    /// Where it is used.
    pub(crate) scope: ScopeId,
}

fn syntax(message: &str) -> Fault {
    Fault::error(ErrorKind::Syntax, message)
}

fn too_deep() -> Fault {
    Fault::limit(
        ErrorKind::Depth,
        format!("a macro nests deeper than {MAX_NESTING}"),
    )
}

impl Use<'_> {
    /// Expands the arguments of a use; `None` when no pattern matches.
    pub(crate) fn expand(&mut self, arguments: Value) -> Fallible<Option<Value>> {
        for index in 0..self.rules.rules.len() {
            let (pattern, template) = self.rules.rules[index];
            let mut matches = Vec::new();
            if self.matches(pattern, arguments, &mut matches, 0)? {
                let bound: Vec<(Value, &Matched)> = matches
                    .iter()
                    .map(|(name, matched)| (*name, matched))
                    .collect();
                let mut inserted = Vec::new();
                return self
                    .build(template, &bound, &mut inserted, Escape::No, 0)
                    .map(Some);
            }
        }
        Ok(None)
    }

    fn is_ellipsis(&self, value: Value) -> bool {
        if !is_identifier(&self.world.heap, value) {
            return false;
        }
        // A literal is no ellipsis, even when it is the one that the macro chose.
        if self.rules.literals.contains(&value) {
            return false;
        }
        match self.rules.ellipsis {
            Some(chosen) => value == chosen,
            None => {
                self.means(value, self.rules.scope)
                    == Meaning::Bound(Binding::Special(Special::Ellipsis))
            }
        }
    }

    fn is_underscore(&self, identifier: Value) -> bool {
        self.means(identifier, self.rules.scope)
            == Meaning::Bound(Binding::Special(Special::Underscore))
    }

    fn means(&self, identifier: Value, scope: ScopeId) -> Meaning {
        self.scopes.lookup(&self.world.heap, identifier, scope)
    }

    /// The elements of a list or vector and what follows the last.
    fn elements(&mut self, value: Value) -> Fallible<Option<(Vec<Value>, Value)>> {
        if let Some(items) = self.world.heap.as_vector(value) {
            return Ok(Some((items.clone(), Value::NIL)));
        }
        if value.as_pair().is_none() && value != Value::NIL {
            return Ok(None);
        }
        let mut items = Vec::new();
        let mut rest = value;
        while let Some([car, cdr]) = self.world.heap.pair(rest) {
            self.world.charge(1)?;
            items.push(car);
            rest = cdr;
        }
        Ok(Some((items, rest)))
    }

    fn matches(
        &mut self,
        pattern: Value,
        form: Value,
        matches: &mut Matches,
        depth: usize,
    ) -> Fallible<bool> {
        if depth > MAX_NESTING {
            return Err(too_deep());
        }
        self.world.charge(1)?;
        if is_identifier(&self.world.heap, pattern) {
            return Ok(self.match_identifier(pattern, form, matches));
        }
        let is_vector = self.world.heap.as_vector(pattern).is_some();
        if is_vector != self.world.heap.as_vector(form).is_some() {
            return Ok(false);
        }
        let Some((patterns, pattern_tail)) = self.elements(pattern)? else {
            return self.world.equal(pattern, form);
        };
        let repeated = patterns
            .iter()
            .skip(1)
            .position(|&item| self.is_ellipsis(item));
        let Some(repeated) = repeated else {
            return self.match_plain(&patterns, pattern_tail, form, matches, depth);
        };
        let Some((forms, form_tail)) = self.elements(form)? else {
            return Ok(false);
        };
        let after = &patterns[repeated + 2..];
        if forms.len() < repeated + after.len() {
            return Ok(false);
        }
        let middle_end = forms.len() - after.len();
        for (&pattern, &form) in patterns[..repeated].iter().zip(&forms) {
            if !self.matches(pattern, form, matches, depth + 1)? {
                return Ok(false);
            }
        }
        let mut rounds = Vec::new();
        for &form in &forms[repeated..middle_end] {
            let mut round = Vec::new();
            if !self.matches(patterns[repeated], form, &mut round, depth + 1)? {
                return Ok(false);
            }
            rounds.push(round);
        }
        self.collect_rounds(patterns[repeated], rounds, matches, depth)?;
        for (&pattern, &form) in after.iter().zip(&forms[middle_end..]) {
            if !self.matches(pattern, form, matches, depth + 1)? {
                return Ok(false);
            }
        }
        self.matches(pattern_tail, form_tail, matches, depth + 1)
    }

    fn match_identifier(&mut self, pattern: Value, form: Value, matches: &mut Matches) -> bool {
        if self.rules.literals.contains(&pattern) {
            return is_identifier(&self.world.heap, form)
                && self.means(form, self.scope) == self.means(pattern, self.rules.scope);
        }
        if !self.is_underscore(pattern) {
            matches.push((pattern, Matched::One(form)));
        }
        true
    }

    fn match_plain(
        &mut self,
        patterns: &[Value],
        pattern_tail: Value,
        form: Value,
        matches: &mut Matches,
        depth: usize,
    ) -> Fallible<bool> {
        if let Some(items) = self.world.heap.as_vector(form).cloned() {
            if items.len() != patterns.len() {
                return Ok(false);
            }
            for (&pattern, &item) in patterns.iter().zip(&items) {
                if !self.matches(pattern, item, matches, depth + 1)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let mut rest = form;
        for &pattern in patterns {
            let Some([car, cdr]) = self.world.heap.pair(rest) else {
                return Ok(false);
            };
            if !self.matches(pattern, car, matches, depth + 1)? {
                return Ok(false);
            }
            rest = cdr;
        }
        if pattern_tail == Value::NIL {
            return Ok(rest == Value::NIL);
        }
        self.matches(pattern_tail, rest, matches, depth + 1)
    }

    /// Turns the matches of each round into one sequence per variable.
    fn collect_rounds(
        &mut self,
        pattern: Value,
        rounds: Vec<Matches>,
        matches: &mut Matches,
        depth: usize,
    ) -> Fallible<()> {
        let mut names = Vec::new();
        self.pattern_variables(pattern, &mut names, depth)?;
        let mut columns: Vec<Vec<Matched>> = names.iter().map(|_| Vec::new()).collect();
        for round in rounds {
            for (name, matched) in round {
                if let Some(column) = names.iter().position(|&known| known == name) {
                    columns[column].push(matched);
                }
            }
        }
        for (name, column) in names.into_iter().zip(columns) {
            matches.push((name, Matched::Many(column)));
        }
        Ok(())
    }

    fn pattern_variables(
        &mut self,
        pattern: Value,
        names: &mut Vec<Value>,
        depth: usize,
    ) -> Fallible<()> {
        let mut pending = vec![pattern];
        while let Some(pattern) = pending.pop() {
            self.world.charge(1)?;
            if is_identifier(&self.world.heap, pattern) {
                let is_plain = !self.rules.literals.contains(&pattern)
                    && !self.is_ellipsis(pattern)
                    && !self.is_underscore(pattern);
                if is_plain {
                    names.push(pattern);
                }
            } else if let Some((items, tail)) = self.elements(pattern)? {
                if depth > MAX_NESTING {
                    return Err(too_deep());
                }
                pending.extend(items);
                if tail != Value::NIL {
                    pending.push(tail);
                }
            }
        }
        Ok(())
    }

    fn build(
        &mut self,
        template: Value,
        bound: &[(Value, &Matched)],
        inserted: &mut Inserted,
        escape: Escape,
        depth: usize,
    ) -> Fallible<Value> {
        if depth > MAX_NESTING {
            return Err(too_deep());
        }
        self.world.charge(1)?;
        if is_identifier(&self.world.heap, template) {
            return match bound.iter().rev().find(|(name, _)| *name == template) {
                Some((_, Matched::One(form))) => Ok(*form),
                Some((_, Matched::Many(_))) => Err(syntax(
                    "a template uses a repeated variable without an ellipsis",
                )),
                None => self.insert(template, inserted),
            };
        }
        let is_vector = self.world.heap.as_vector(template).is_some();
        let Some((items, tail)) = self.elements(template)? else {
            return Ok(template);
        };
        if escape == Escape::No && items.len() == 2 && !is_vector && self.is_ellipsis(items[0]) {
            return self.build(items[1], bound, inserted, Escape::Yes, depth + 1);
        }
        let mut built = Vec::new();
        let mut next = 0;
        while next < items.len() {
            let item = items[next];
            next += 1;
            let mut ellipses = 0;
            while escape == Escape::No && next < items.len() && self.is_ellipsis(items[next]) {
                ellipses += 1;
                next += 1;
            }
            if ellipses == 0 {
                built.push(self.build(item, bound, inserted, escape, depth + 1)?);
            } else {
                self.repeat(item, ellipses, bound, inserted, &mut built, depth + 1)?;
            }
        }
        if is_vector {
            return self.world.heap.vector(built);
        }
        let tail = if tail == Value::NIL {
            tail
        } else {
            self.build(tail, bound, inserted, escape, depth + 1)?
        };
        self.world.heap.list_onto(&built, tail)
    }

    fn repeat(
        &mut self,
        item: Value,
        ellipses: usize,
        bound: &[(Value, &Matched)],
        inserted: &mut Inserted,
        built: &mut Vec<Value>,
        depth: usize,
    ) -> Fallible<()> {
        if depth > MAX_NESTING {
            return Err(too_deep());
        }
        let mut names = Vec::new();
        self.pattern_variables(item, &mut names, depth)?;
        let mut sequences = Vec::new();
        let mut rounds: Option<usize> = None;
        for name in names {
            let found = bound.iter().rev().find(|(known, _)| *known == name);
            if let Some((_, Matched::Many(sequence))) = found
                && !sequences.iter().any(|(known, _)| *known == name)
            {
                // Sequences of different lengths are cut to the shortest.
                rounds = Some(rounds.map_or(sequence.len(), |n| n.min(sequence.len())));
                sequences.push((name, sequence));
            }
        }
        let Some(rounds) = rounds else {
            return Err(syntax(
                "an ellipsis follows a template without a repeated variable",
            ));
        };
        let mut inner: Vec<(Value, &Matched)> = bound.to_vec();
        for round in 0..rounds {
            self.world.charge(1 + bound.len() / 8)?;
            inner.truncate(bound.len());
            inner.extend(
                sequences
                    .iter()
                    .map(|(name, sequence)| (*name, &sequence[round])),
            );
            if ellipses > 1 {
                self.repeat(item, ellipses - 1, &inner, inserted, built, depth + 1)?;
            } else {
                built.push(self.build(item, &inner, inserted, Escape::No, depth + 1)?);
            }
        }
        Ok(())
    }

    /// The alias that stands for an inserted identifier in this expansion.
    fn insert(&mut self, name: Value, inserted: &mut Inserted) -> Fallible<Value> {
        if let Some((_, alias)) = inserted.iter().find(|(known, _)| *known == name) {
            return Ok(*alias);
        }
        let alias = self.world.heap.object(Object::Alias {
            name,
            scope: self.rules.scope,
        })?;
        inserted.push((name, alias));
        Ok(alias)
    }
}

/// Whether ellipses in a template are ordinary identifiers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    Yes,
    No,
}
