//! How fields begin: what stands in an item, a member or a variant that a person has just added.
//!
//! A new item has to be something, and a `null` that its schema refuses would turn its widget into
//! a JSON editor. So it begins with what the schema says of it, or with the empty value of its kind.

use attache_schema::{Path, Problem, Step};

use super::field::{Field, Kind, Place};
use super::{Form, State};
use crate::{Number, Object, Value};

/// How deep a first value is filled in.
const MOST_LEVELS: usize = 4;
/// How many items of a tuple a first value has.
const MOST_FIRST_ITEMS: usize = 32;

impl Form {
    /// What a field begins with: its default, its only choice, or the empty value of its kind.
    pub fn first_value(&self, field: &Field) -> Value {
        self.begun(field, MOST_LEVELS)
    }

    fn begun(&self, field: &Field, levels: usize) -> Value {
        if let Some(default) = &field.default {
            return default.clone();
        }
        match &field.kind {
            Kind::Text { .. } => Value::String(String::new()),
            Kind::Number {
                minimum, maximum, ..
            } => self.first_number(field, [minimum.as_ref(), maximum.as_ref()]),
            Kind::Boolean => Value::Bool(false),
            Kind::Choice { options } => options
                .first()
                .map_or(Value::Null, |option| option.value.clone()),
            Kind::MultiChoice { .. } => Value::Array(Vec::new()),
            Kind::List { first, .. } if levels > 0 => {
                let items = first.iter().take(MOST_FIRST_ITEMS).enumerate();
                let item = |(at, place): (usize, &Place)| {
                    let path = field.path.index(at);
                    self.begun(
                        &self.expand(place, &path, None, &Default::default()),
                        levels - 1,
                    )
                };
                Value::Array(items.map(item).collect())
            }
            Kind::List { .. } => Value::Array(Vec::new()),
            Kind::Object(members) => {
                // What can only be one thing need not be asked for.
                let fixed = members.fields.iter().filter_map(|member| {
                    let value = member.only_value().filter(|_| member.required)?;
                    Some((member.key()?.to_owned(), value.clone()))
                });
                Value::Object(fixed.collect::<Object>())
            }
            Kind::Variants {
                field: Some(field), ..
            } if levels > 0 => self.begun(field, levels - 1),
            Kind::Variants { .. } | Kind::Json { .. } | Kind::Deferred => Value::Null,
        }
    }

    /// Zero, or what is nearest to it among the limits.
    fn first_number(&self, field: &Field, limits: [Option<&Number>; 2]) -> Value {
        let written = ["0", "1"].into_iter().filter_map(Number::parse);
        let mut tried = written.chain(limits.into_iter().flatten().cloned());
        let fits = |number: &Number| {
            let value = Value::Number(number.clone());
            let report = self.check_at(&field.place, &field.path, &value);
            report.problems.is_empty()
        };
        tried
            .find(fits)
            .or_else(|| Number::parse("0"))
            .map_or(Value::Null, Value::Number)
    }
}

impl Field {
    /// The value of a field that takes only one.
    pub fn only_value(&self) -> Option<&Value> {
        match &self.kind {
            Kind::Choice { options } if options.len() == 1 && !self.nullable => {
                options.first().map(|option| &option.value)
            }
            _ => None,
        }
    }
}

impl State {
    /// The fields below a deferred field.
    pub fn expand(&self, form: &Form, field: &Field) -> Field {
        form.expand(
            &field.place,
            &field.path,
            self.get(&field.path),
            self.picks(),
        )
    }

    /// Gives a field that is unset its first value.
    pub fn begin(&mut self, form: &Form, field: &Field) -> Result<(), Problem> {
        match self.get(&field.path) {
            Some(_) => Ok(()),
            None => self.set(&field.path, form.first_value(field)),
        }
    }

    /// Adds an item at the end of a list and tells its place.
    pub fn add_item(&mut self, form: &Form, list: &Field) -> Result<usize, Problem> {
        let Kind::List { first, rest, .. } = &list.kind else {
            return Err(Problem::new(&list.path, "type", "is not a list"));
        };
        let count = self
            .get(&list.path)
            .and_then(Value::as_array)
            .map_or(0, <[Value]>::len);
        let Some(place) = first.get(count).or(rest.as_ref()) else {
            return Err(Problem::new(&list.path, "items", "takes no more items"));
        };
        let item = form.expand(place, &list.path.index(count), None, self.picks());
        let value = form.first_value(&item);
        self.insert_item(&list.path, count, value)?;
        Ok(count)
    }

    /// Adds a member with a name of one's own to an object and tells where it stands.
    pub fn add_member(&mut self, form: &Form, object: &Field, name: &str) -> Result<Path, Problem> {
        let path = object.path.key(name);
        if self.get(&path).is_some() {
            return Err(Problem::new(&path, "syntax", "is there already"));
        }
        // Only a member that is there is told apart by the schema, by its name.
        self.set(&path, Value::Null)?;
        let fields = self.field(form);
        if let Some(member) = fields.find(&path) {
            let fresh = form.expand(&member.place, &path, None, self.picks());
            self.set(&path, form.first_value(&fresh))?;
        }
        Ok(path)
    }

    /// The value with every text that says no value in its place, as text: what is sent on purpose
    /// to see what a server makes of it.
    pub fn as_typed(&self) -> Option<Value> {
        let mut typed = Self::new(self.value().cloned());
        for (path, text) in self.drafts() {
            // A place that is gone has nothing to send.
            let _ = typed.set(path, Value::String(text.to_owned()));
        }
        typed.value().cloned()
    }

    /// The value without secrets, as it may be kept for the next time.
    pub fn without_secrets(&self, form: &Form) -> Option<Value> {
        let fields = self.field(form);
        let mut kept = self.clone();
        let mut waiting = vec![&fields];
        while let Some(field) = waiting.pop() {
            match field.is_masked() {
                // A list without one of its items would be another list.
                true => match field.path.0.split_last() {
                    Some((Step::Index(_), list)) => kept.unset(&Path(list.to_vec())),
                    _ => kept.unset(&field.path),
                },
                false => waiting.extend(field.children()),
            }
        }
        kept.value().cloned()
    }
}
