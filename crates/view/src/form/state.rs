//! A form that is being filled in.
//!
//! The value is the only truth; beside it stand texts that say no value yet, so that nothing that a
//! person typed is dropped, and what the variants held that are not picked now.

use std::collections::BTreeMap;

use attache_protocol::Json;
use attache_schema::{Path, Problem, Report, Step};

use super::Form;
use super::field::{Field, Kind};
use crate::{Object, Value};

/// The variants that a person picked, by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picks(pub(super) BTreeMap<Path, usize>);

impl Picks {
    /// The variant that was picked for a field.
    pub fn get(&self, path: &Path) -> Option<usize> {
        self.0.get(path).copied()
    }
}

/// A form that is being filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub(super) value: Option<Value>,
    /// Texts that say no value, by field.
    pub(super) drafts: BTreeMap<Path, String>,
    pub(super) picks: Picks,
    /// What a variant held when another one was picked.
    pub(super) kept: BTreeMap<(Path, usize), Option<Value>>,
}

impl State {
    /// Begins with a value, or with nothing.
    pub fn new(value: Option<Value>) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    /// The value; nothing if it is unset, which is neither null nor a default.
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The value as exact JSON.
    pub fn to_json(&self) -> Option<Json> {
        self.value.as_ref().map(Value::to_json)
    }

    /// What is at a path.
    pub fn get(&self, path: &Path) -> Option<&Value> {
        path.of(self.value.as_ref()?)
    }

    /// The text that says no value yet, if a field has one.
    pub fn draft(&self, path: &Path) -> Option<&str> {
        self.drafts.get(path).map(String::as_str)
    }

    /// The texts that say no value yet, by field.
    pub fn drafts(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.drafts.iter().map(|(path, text)| (path, text.as_str()))
    }

    /// The variants that a person picked.
    pub fn picks(&self) -> &Picks {
        &self.picks
    }

    /// The fields of the form for this value.
    pub fn field(&self, form: &Form) -> Field {
        form.field(self.value.as_ref(), &self.picks)
    }

    /// All that is wrong: texts that say no value first, then what the schema finds. An object that
    /// is not begun lacks what an empty one lacks.
    pub fn check(&self, form: &Form) -> Report {
        self.check_fields(form, &self.field(form))
    }

    /// The same, with the fields of the form for this value at hand.
    pub fn check_fields(&self, form: &Form, fields: &Field) -> Report {
        let mut report = match (&self.value, &fields.kind) {
            (Some(value), _) => form.check(value),
            (None, Kind::Object(_)) => form.check(&Value::Object(Object::default())),
            (None, _) => Report::default(),
        };
        // What a field held before is not what is wrong with it.
        report
            .problems
            .retain(|problem| !self.drafts.contains_key(&problem.path));
        let unread = self.drafts.iter().filter_map(|(path, text)| {
            let field = fields.find(path);
            field.map_or_else(
                || {
                    Some(Problem::new(
                        path,
                        "syntax",
                        "has no value that can be read",
                    ))
                },
                |field| field.read(text).err(),
            )
        });
        report.problems.splice(0..0, unread.collect::<Vec<_>>());
        report
    }

    /// Enters the text of a field's widget. A text that says no value is kept as a draft; the field
    /// keeps the value it had.
    pub fn enter(&mut self, field: &Field, text: &str) -> Result<(), Problem> {
        match field.read(text) {
            Ok(value) => self.set(&field.path, value),
            Err(problem) => {
                self.drafts.insert(field.path.clone(), text.to_owned());
                Err(problem)
            }
        }
    }

    /// Sets what is at a path, making the objects and lists on the way.
    pub fn set(&mut self, path: &Path, value: Value) -> Result<(), Problem> {
        place(&mut self.value, &path.0, value).map_err(|(depth, complaint)| {
            Problem::new(&Path(path.0[..depth].to_vec()), "syntax", complaint)
        })?;
        self.forget_below(path);
        Ok(())
    }

    /// Leaves a field out. An item of a list is taken out of it.
    pub fn unset(&mut self, path: &Path) {
        self.forget_below(path);
        match path.0.split_last() {
            None => self.value = None,
            Some((Step::Key(name), parent)) => {
                if let Some(Value::Object(object)) = find(&mut self.value, parent) {
                    object.remove(name);
                }
            }
            Some((Step::Index(index), parent)) => {
                let parent = Path(parent.to_vec());
                if let Some(Value::Array(items)) = find(&mut self.value, &parent.0)
                    && *index < items.len()
                {
                    items.remove(*index);
                    self.renumber(&parent, |at| {
                        if at == *index {
                            None
                        } else {
                            Some(at - usize::from(at > *index))
                        }
                    });
                }
            }
        }
    }

    /// Inserts an item into a list, before the item that is at `index` now; beyond the end it
    /// becomes the last.
    pub fn insert_item(&mut self, list: &Path, index: usize, item: Value) -> Result<(), Problem> {
        if self.get(list).is_none() {
            self.set(list, Value::Array(Vec::new()))?;
        }
        let Some(Value::Array(items)) = find(&mut self.value, &list.0) else {
            return Err(Problem::new(list, "type", "is not a list"));
        };
        let index = index.min(items.len());
        items.insert(index, item);
        self.renumber(list, |at| Some(at + usize::from(at >= index)));
        Ok(())
    }

    /// Inserts a copy of an item after it.
    pub fn duplicate_item(&mut self, list: &Path, index: usize) -> Result<(), Problem> {
        match self.get(&list.index(index)).cloned() {
            Some(item) => self.insert_item(list, index + 1, item),
            None => Err(Problem::new(
                &list.index(index),
                "syntax",
                "is not in the list",
            )),
        }
    }

    /// Moves an item to another place of its list.
    pub fn move_item(&mut self, list: &Path, from: usize, to: usize) {
        if let Some(Value::Array(items)) = find(&mut self.value, &list.0)
            && from < items.len()
            && to < items.len()
        {
            let item = items.remove(from);
            items.insert(to, item);
            self.renumber(list, |at| {
                Some(match at {
                    at if at == from => to,
                    at if from < at && at <= to => at - 1,
                    at if to <= at && at < from => at + 1,
                    at => at,
                })
            });
        }
    }

    /// Picks a variant. What the other one held comes back when it is picked again.
    pub fn pick(&mut self, field: &Field, variant: usize) {
        let Kind::Variants { chosen, .. } = &field.kind else {
            return;
        };
        if *chosen == Some(variant) {
            self.picks.0.insert(field.path.clone(), variant);
            return;
        }
        if let Some(chosen) = chosen {
            self.kept.insert(
                (field.path.clone(), *chosen),
                self.get(&field.path).cloned(),
            );
        }
        match self.kept.remove(&(field.path.clone(), variant)).flatten() {
            Some(value) => {
                let kept = std::mem::take(&mut self.kept);
                // The field stands where it stood before, so there is a way to it.
                let _ = self.set(&field.path, value);
                self.kept = kept;
            }
            None if matches!(field.path.0.last(), Some(Step::Index(_))) => {
                let _ = self.set(&field.path, Value::Null);
            }
            None => self.unset_value(&field.path),
        }
        self.picks.0.insert(field.path.clone(), variant);
    }

    /// Fills every field that is unset and has a default, down into the objects that are there.
    pub fn use_defaults(&mut self, form: &Form) {
        let fields = self.field(form);
        let mut waiting = vec![&fields];
        while let Some(field) = waiting.pop() {
            match (&field.default, self.get(&field.path)) {
                (Some(default), None) => {
                    let default = default.clone();
                    let _ = self.set(&field.path, default);
                }
                (_, Some(_)) => waiting.extend(field.children().into_iter().rev()),
                // The root is begun by the first of its members that has a default.
                (None, None) if field.path.0.is_empty() => {
                    waiting.extend(field.children().into_iter().rev())
                }
                (None, None) => {}
            }
        }
    }

    fn unset_value(&mut self, path: &Path) {
        let kept = std::mem::take(&mut self.kept);
        self.unset(path);
        self.kept = kept;
    }

    /// A value that is set replaces drafts, picks and kept values below it.
    fn forget_below(&mut self, path: &Path) {
        self.drafts.retain(|other, _| !other.0.starts_with(&path.0));
        let is_below = |other: &Path| other.0.len() > path.0.len() && other.0.starts_with(&path.0);
        self.picks.0.retain(|other, _| !is_below(other));
        self.kept.retain(|(other, _), _| !is_below(other));
    }

    /// Lets drafts, picks and kept values follow the items of a list to their new places.
    fn renumber(&mut self, list: &Path, new_index: impl Fn(usize) -> Option<usize>) {
        let depth = list.0.len();
        let moved = |path: &Path| -> Option<Path> {
            let mut path = path.clone();
            if path.0.starts_with(&list.0)
                && let Some(Step::Index(index)) = path.0.get_mut(depth)
            {
                *index = new_index(*index)?;
            }
            Some(path)
        };
        let drafts = std::mem::take(&mut self.drafts).into_iter();
        self.drafts = drafts
            .filter_map(|(path, text)| Some((moved(&path)?, text)))
            .collect();
        let picks = std::mem::take(&mut self.picks.0).into_iter();
        self.picks.0 = picks
            .filter_map(|(path, pick)| Some((moved(&path)?, pick)))
            .collect();
        let kept = std::mem::take(&mut self.kept).into_iter();
        self.kept = kept
            .filter_map(|((path, pick), value)| Some(((moved(&path)?, pick), value)))
            .collect();
    }
}

fn find<'v>(value: &'v mut Option<Value>, path: &[Step]) -> Option<&'v mut Value> {
    path.iter()
        .try_fold(value.as_mut()?, |value, step| match (step, value) {
            (Step::Key(name), Value::Object(object)) => object.get_mut(name),
            (Step::Index(index), Value::Array(items)) => items.get_mut(*index),
            _ => None,
        })
}

/// Puts a value where a path leads. The error tells how far it led, and what is wrong there.
pub(super) fn place(
    target: &mut Option<Value>,
    path: &[Step],
    value: Value,
) -> Result<(), (usize, &'static str)> {
    let Some((step, rest)) = path.split_first() else {
        *target = Some(value);
        return Ok(());
    };
    let deeper = |(depth, complaint)| (depth + 1, complaint);
    match (step, target) {
        (Step::Key(name), Some(Value::Object(object))) => {
            let mut member = object.get(name).cloned().filter(|_| !rest.is_empty());
            place(&mut member, rest, value).map_err(deeper)?;
            object.insert(name.as_str(), member.unwrap_or(Value::Null));
            Ok(())
        }
        (Step::Index(index), Some(Value::Array(items))) if *index <= items.len() => {
            let mut item = items.get(*index).cloned();
            place(&mut item, rest, value).map_err(deeper)?;
            let item = item.unwrap_or(Value::Null);
            match items.get_mut(*index) {
                Some(slot) => *slot = item,
                None => items.push(item),
            }
            Ok(())
        }
        (Step::Index(_), Some(Value::Array(_))) => {
            Err((1, "skips items: the indices of a list go in order from 0"))
        }
        (step, target @ (None | Some(Value::Null))) => {
            *target = Some(match step {
                Step::Key(_) => Value::Object(Object::default()),
                Step::Index(_) => Value::Array(Vec::new()),
            });
            place(target, path, value)
        }
        (Step::Key(_), Some(_)) => Err((0, "is not an object")),
        (Step::Index(_), Some(_)) => Err((0, "is not a list")),
    }
}
