//! One form with the value it is filled in with, its fields, and what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use attache_view::form::{Field, Form, Kind, Path, Problem, Report, State, Step};
use attache_view::{Object, Value};

/// How many steps can be taken back.
const MOST_STEPS_BACK: usize = 30;
/// What stands in JSON for a secret that stays as it is.
pub(super) const MASK: &str = "********";

/// A form and its value. Fields and problems are made anew after each change, never while drawing.
#[derive(Debug)]
pub(super) struct Sheet {
    form: Arc<Form>,
    state: State,
    before: Vec<State>,
    first: State,
    opened: BTreeSet<Path>,
    fields: Field,
    report: Report,
    /// The numbers of problems by the place they belong to.
    places: BTreeMap<Path, Vec<usize>>,
}

/// What a form begins with: its defaults.
fn blank(form: &Form) -> State {
    let mut state = State::new(None);
    let fields = state.field(form);
    if matches!(fields.kind, Kind::Object(_)) {
        // What can only be one thing is filled in; it does no harm that it is an object.
        if let Value::Object(fixed) = form.first_value(&fields)
            && !fixed.is_empty()
        {
            state = State::new(Some(Value::Object(fixed)));
        }
    }
    state.use_defaults(form);
    state
}

impl Sheet {
    /// A form that begins with a value, or with its defaults.
    pub(super) fn new(form: Arc<Form>, initial: Option<Value>) -> Self {
        let state = match initial {
            Some(value) => State::new(Some(value)),
            None => blank(&form),
        };
        let mut sheet = Self {
            fields: state.field(&form),
            first: state.clone(),
            form,
            state,
            before: Vec::new(),
            opened: BTreeSet::new(),
            report: Report::default(),
            places: BTreeMap::new(),
        };
        sheet.refresh();
        sheet
    }

    pub(super) fn form(&self) -> &Form {
        &self.form
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn fields(&self) -> &Field {
        &self.fields
    }

    pub(super) fn report(&self) -> &Report {
        &self.report
    }

    /// What is wrong with what is at a place.
    pub(super) fn problems(&self, path: &Path) -> impl Iterator<Item = &Problem> {
        let numbers = self.places.get(path).map_or(&[][..], Vec::as_slice);
        numbers
            .iter()
            .filter_map(|number| self.report.problems.get(*number))
    }

    /// How many things are wrong below a place.
    pub(super) fn problems_below(&self, path: &Path) -> usize {
        let below = self.places.range(path..);
        let below = below.take_while(|(other, _)| other.0.starts_with(&path.0));
        let below = below.filter(|(other, _)| other.0.len() > path.0.len());
        below.map(|(_, numbers)| numbers.len()).sum()
    }

    /// Changes the state, so that the change can be taken back.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut State, &Form) -> T) -> T {
        self.remember();
        self.type_on(change)
    }

    /// Changes the state as a part of the last change, as typing does.
    pub(super) fn type_on<T>(&mut self, change: impl FnOnce(&mut State, &Form) -> T) -> T {
        let result = change(&mut self.state, &self.form);
        self.refresh();
        result
    }

    /// Makes what follows a change of its own.
    pub(super) fn remember(&mut self) {
        if self.before.last() != Some(&self.state) {
            self.before.push(self.state.clone());
        }
        if self.before.len() > MOST_STEPS_BACK {
            self.before.remove(0);
        }
    }

    /// Takes back the last change; tells whether there was one.
    pub(super) fn undo(&mut self) -> bool {
        while let Some(before) = self.before.pop() {
            if before != self.state {
                self.state = before;
                self.refresh();
                return true;
            }
        }
        false
    }

    /// Begins again, with nothing but the defaults.
    pub(super) fn reset(&mut self) {
        self.remember();
        self.state = blank(&self.form);
        self.refresh();
    }

    /// Whether it is not what it began with, or what was sent last.
    pub(super) fn is_changed(&self) -> bool {
        self.state != self.first
    }

    /// What is in it now is kept elsewhere.
    pub(super) fn was_sent(&mut self) {
        self.first = self.state.clone();
    }

    /// Makes the fields of a deferred field.
    pub(super) fn open(&mut self, path: &Path) {
        self.opened.insert(path.clone());
        self.refresh();
    }

    /// Leaves a field out. One that would vanish from the form while it is typed, or cannot be left
    /// out because it is an item, becomes the empty text.
    pub(super) fn clear(&mut self, field: &Field) {
        let is_text = matches!(field.kind, Kind::Text { .. });
        let empty = Value::String(String::new());
        if matches!(field.path.0.last(), Some(Step::Index(_))) {
            // An empty text that says no value is kept, and is a problem.
            let _ = self.type_on(|state, _| match is_text {
                true => state.set(&field.path, empty),
                false => state.enter(field, ""),
            });
            return;
        }
        self.type_on(|state, _| state.unset(&field.path));
        if self.fields.find(&field.path).is_none() {
            let _ = self.type_on(|state, _| match is_text {
                true => state.set(&field.path, empty),
                false => state.set(&field.path, Value::Null),
            });
        }
    }

    /// The value as JSON text in lines, with secrets hidden; empty if it is unset.
    pub(super) fn json_text(&self) -> String {
        let mut shown = State::new(self.state.value().cloned());
        for path in self.secrets() {
            let _ = shown.set(&path, Value::String(MASK.to_owned()));
        }
        shown
            .to_json()
            .map_or_else(String::new, |json| attache_view::indented(json.as_str()))
    }

    /// Takes the value from JSON text; secrets that are still hidden stay as they are.
    pub(super) fn read_json(&mut self, text: &str) -> Result<(), String> {
        if text.trim().is_empty() {
            self.type_on(|state, _| state.unset(&Path::default()));
            return Ok(());
        }
        let value = Value::parse(text).map_err(|error| error.to_string())?;
        let hidden: Vec<(Path, Value)> = self
            .secrets()
            .into_iter()
            .filter_map(|path| {
                let secret = self.state.get(&path)?.clone();
                Some((path, secret))
            })
            .collect();
        let mut state = State::new(Some(value));
        for (path, secret) in hidden {
            if state.get(&path).and_then(Value::as_str) == Some(MASK) {
                let _ = state.set(&path, secret);
            }
        }
        self.type_on(|old, _| match state.value() {
            // What stays as it is keeps the variants that were picked.
            Some(value) if old.value() == Some(value) && old.drafts().next().is_none() => {}
            Some(value) => {
                let _ = old.set(&Path::default(), value.clone());
            }
            None => {}
        });
        Ok(())
    }

    fn secrets(&self) -> Vec<Path> {
        let mut found = Vec::new();
        let mut waiting = vec![&self.fields];
        while let Some(field) = waiting.pop() {
            if field.is_masked() {
                let value = self.state.get(&field.path).and_then(Value::as_str);
                if value.is_some_and(|text| !text.is_empty()) {
                    found.push(field.path.clone());
                }
            } else {
                waiting.extend(field.children());
            }
        }
        found
    }

    fn refresh(&mut self) {
        let mut fields = self.state.field(&self.form);
        if !self.opened.is_empty() {
            open_deferred(&mut fields, &self.state, &self.form, &self.opened);
        }
        self.report = self.state.check_fields(&self.form, &fields);
        self.fields = fields;
        self.places.clear();
        for (number, problem) in self.report.problems.iter().enumerate() {
            self.places
                .entry(problem.path.clone())
                .or_default()
                .push(number);
        }
    }
}

/// Replaces deferred fields that a person has opened by what they contain.
fn open_deferred(field: &mut Field, state: &State, form: &Form, opened: &BTreeSet<Path>) {
    if field.kind == Kind::Deferred && opened.contains(&field.path) {
        let role = (field.required, field.undescribed);
        *field = state.expand(form, field);
        (field.required, field.undescribed) = role;
    }
    match &mut field.kind {
        Kind::List { items, .. } => {
            for item in items {
                open_deferred(item, state, form, opened);
            }
        }
        Kind::Object(members) => {
            for member in &mut members.fields {
                open_deferred(member, state, form, opened);
            }
        }
        Kind::Variants {
            field: Some(field), ..
        } => open_deferred(field, state, form, opened),
        _ => {}
    }
}

/// The schema of what can be said about a call beside its arguments.
pub(super) fn call_options() -> Form {
    let text = |words: &str| Value::String(words.to_owned());
    let object =
        |members: Vec<(&str, Value)>| Value::Object(members.into_iter().collect::<Object>());
    let timeout = object(vec![
        ("type", text("number")),
        ("title", text("time-out")),
        (
            "description",
            text("Seconds that the call may take; left out, the server's own setting counts."),
        ),
        (
            "exclusiveMinimum",
            attache_view::Number::parse("0").map_or(Value::Null, Value::Number),
        ),
    ]);
    let task = object(vec![
        ("type", text("boolean")),
        ("title", text("as task")),
        (
            "description",
            text("Run it as a task, where the server and the tool can."),
        ),
    ]);
    let meta = object(vec![
        ("type", text("object")),
        ("title", text("metadata")),
        ("description", text("Sent along as _meta.")),
    ]);
    let members = object(vec![("timeout", timeout), ("task", task), ("meta", meta)]);
    let schema = object(vec![
        ("type", text("object")),
        ("properties", members),
        ("additionalProperties", Value::Bool(false)),
    ]);
    Form::new(&schema.to_json())
}
