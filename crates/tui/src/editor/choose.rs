//! Fields whose values are chosen: booleans, choices, several choices, variants.

use std::collections::HashSet;

use attache_view::Value;
use attache_view::form::{Field, Kind, Step};

use super::rows::RowId;
use super::{Choice, Entry, FormEditor, Mode, Picked, Picker, words};
use crate::component::Outcome;

impl FormEditor {
    /// Goes through the values of a boolean or a choice; unset and null are among them.
    pub(super) fn cycle(&mut self, forward: bool) {
        let (Some(row), Some(field)) = (self.row(), self.field()) else {
            return;
        };
        let (part, path) = (row.id.part, field.path.clone());
        let mut values: Vec<Option<Value>> = match &field.kind {
            Kind::Boolean => vec![Some(Value::Bool(true)), Some(Value::Bool(false))],
            Kind::Choice { options } => {
                let values = options.iter().map(|option| Some(option.value.clone()));
                values.collect()
            }
            _ => return,
        };
        if field.nullable && !values.contains(&Some(Value::Null)) {
            values.push(Some(Value::Null));
        }
        if can_be_left_out(field) {
            values.insert(0, None);
        }
        let now = self.sheet(part).state().get(&path);
        let at = values.iter().position(|value| value.as_ref() == now);
        let next = match (at, forward) {
            (None, _) => 0,
            (Some(at), true) => (at + 1) % values.len(),
            (Some(at), false) => (at + values.len() - 1) % values.len(),
        };
        let value = values.swap_remove(next);
        self.put(part, &path, value);
    }

    pub(super) fn open_picker(&mut self) {
        let (Some(row), Some(field)) = (self.row(), self.field()) else {
            return;
        };
        let now = self.sheet(row.id.part).state().get(&field.path);
        let mut choices = Vec::new();
        let mut entries = Vec::new();
        let mut add = |choice: Choice, label: &str, aside: &str| {
            choices.push(choice);
            entries.push(Entry {
                label: label.to_owned(),
                aside: aside.to_owned(),
            });
        };
        if let Kind::MultiChoice { options, .. } = &field.kind {
            let items = now.and_then(Value::as_array).unwrap_or_default();
            // Thousands of choices are compared with thousands that are chosen.
            let chosen: HashSet<String> = items.iter().map(Value::canonical).collect();
            let is_chosen = |value: &Value| chosen.contains(&value.canonical());
            let ticked = options.iter().map(|one| is_chosen(&one.value)).collect();
            for (at, option) in options.iter().enumerate() {
                let aside = option.title.as_ref().map_or("", |_| &option.label);
                add(Choice::Option(at), words::label(option), aside);
            }
            self.mode = Mode::Pick(Picker::several(entries, ticked), choices);
            return;
        }
        if can_be_left_out(field) {
            add(Choice::Unset, "not set", "leave it out");
        }
        let selected = match &field.kind {
            Kind::Choice { options } => {
                let lists_null = options.iter().any(|option| option.value == Value::Null);
                if field.nullable && !lists_null {
                    add(Choice::Null, "null", "");
                }
                for (at, option) in options.iter().enumerate() {
                    let aside = option.title.as_ref().map_or("", |_| &option.label);
                    add(Choice::Option(at), words::label(option), aside);
                }
                let at = options.iter().position(|option| Some(&option.value) == now);
                at.map_or(0, |at| entries.len() - options.len() + at)
            }
            Kind::Variants {
                options, chosen, ..
            } => {
                if field.nullable {
                    add(Choice::Null, "null", "");
                }
                for (at, option) in options.iter().enumerate() {
                    add(Choice::Variant(at), &option.title, "");
                }
                chosen.map_or(0, |at| entries.len() - options.len() + at)
            }
            _ => return,
        };
        self.mode = Mode::Pick(Picker::one(entries, selected), choices);
    }

    pub(super) fn picked(&mut self, picked: Picked) -> Outcome {
        let entry = match picked {
            Picked::No => return Outcome::Used,
            Picked::Done => {
                self.mode = Mode::Browse;
                return Outcome::Used;
            }
            Picked::One(entry) => entry,
        };
        let Mode::Pick(picker, choices) = &mut self.mode else {
            return Outcome::Used;
        };
        let Some(choice) = choices.get(entry).copied() else {
            return Outcome::Used;
        };
        let is_ticked = !picker.is_ticked(entry);
        picker.tick(entry, is_ticked);
        let (Some(row), Some(field)) = (self.row().cloned(), self.field()) else {
            return Outcome::Used;
        };
        let path = field.path.clone();
        match choice {
            Choice::Unset => self.put(row.id.part, &path, None),
            Choice::Null => self.put(row.id.part, &path, Some(Value::Null)),
            Choice::Variant(variant) => self.pick_variant(&row.id, variant),
            Choice::Option(at) => match &field.kind {
                Kind::Choice { options } => {
                    let value = options.get(at).map(|option| option.value.clone());
                    self.put(row.id.part, &path, value);
                }
                Kind::MultiChoice { options, .. } => {
                    let Some(value) = options.get(at).map(|option| option.value.clone()) else {
                        return Outcome::Used;
                    };
                    let now = self.sheet(row.id.part).state().get(&path);
                    let mut items = now.and_then(Value::as_array).unwrap_or_default().to_vec();
                    items.retain(|item| *item != value);
                    if is_ticked {
                        items.push(value);
                    }
                    self.put(row.id.part, &path, Some(Value::Array(items)));
                    return Outcome::Used;
                }
                _ => {}
            },
        }
        self.mode = Mode::Browse;
        Outcome::Used
    }

    fn pick_variant(&mut self, id: &RowId, variant: usize) {
        let Some(field) = self.field().cloned() else {
            return;
        };
        self.touch();
        let sheet = self.sheet_mut(id.part);
        sheet.change(|state, _| state.pick(&field, variant));
        let is_empty = matches!(sheet.state().get(&field.path), None | Some(Value::Null));
        let inner = sheet.fields().find(&field.path).cloned();
        let begun = match inner {
            // A shape that was never filled in begins as what it is.
            Some(inner) if is_empty => sheet.type_on(|state, form| {
                let fresh = form.expand(&inner.place, &inner.path, None, state.picks());
                let is_section = matches!(fresh.kind, Kind::Object(_) | Kind::List { .. });
                let is_item = matches!(fresh.path.0.last(), Some(Step::Index(_)));
                match is_section || is_item {
                    true => state.set(&fresh.path, form.first_value(&fresh)),
                    false => Ok(()),
                }
            }),
            _ => Ok(()),
        };
        self.folds.set(id, true);
        self.told(begun);
    }
}

/// Whether a field may be without a value: items and what is required may not.
fn can_be_left_out(field: &Field) -> bool {
    !field.required && !matches!(field.path.0.last(), Some(Step::Index(_)))
}
