//! What keys do while no text is typed.

use attache_view::form::{Field, Kind, Path, Problem};
use attache_view::{Object, Value};
use ratatui::crossterm::event::KeyEvent;

use super::rows::{Line, Part, RowId};
use super::{FormEditor, Mode};
use crate::component::Outcome;
use crate::keys::Action;

/// How many lines a page has; the true number is not known between two drawings.
const PAGE: isize = 10;

impl FormEditor {
    pub(super) fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Outcome {
        if !matches!(self.mode, Mode::Pick(..)) {
            match action {
                Some(Action::Submit) => return self.submit(false),
                Some(Action::SendAsIs) => return self.submit(true),
                Some(Action::ExternalEditor) => return self.edit_outside(),
                Some(Action::JsonView) => return self.toggle_json(),
                Some(Action::CallOptions) => return self.toggle_options(),
                _ => {}
            }
        }
        match &mut self.mode {
            Mode::Browse => self.browse(action),
            Mode::Pick(..) if action == Some(Action::Back) => {
                self.mode = Mode::Browse;
                Outcome::Used
            }
            Mode::Pick(picker, _) => {
                let picked = picker.key(event, action);
                self.picked(picked)
            }
            Mode::Field(_) | Mode::Name(_) => self.type_key(event, action),
            Mode::Json(_) => self.json_key(event, action),
        }
    }

    fn browse(&mut self, action: Option<Action>) -> Outcome {
        let Some(action) = action else {
            return Outcome::Ignored;
        };
        match action {
            Action::Up => self.move_by(-1),
            Action::Down => self.move_by(1),
            Action::PageUp => self.move_by(-PAGE),
            Action::PageDown => self.move_by(PAGE),
            Action::HalfUp => self.move_by(-PAGE / 2),
            Action::HalfDown => self.move_by(PAGE / 2),
            Action::Top => self.selected = 0,
            Action::Bottom => self.selected = self.rows.len().saturating_sub(1),
            Action::NextField => self.next_field(true),
            Action::PreviousField => self.next_field(false),
            Action::Left => self.aside(false),
            Action::Right => self.aside(true),
            Action::Open => return self.open(),
            Action::Toggle => return self.toggle(),
            Action::AddItem => return self.add(),
            Action::DeleteItem | Action::Unset => self.leave_out(),
            Action::MoveItemUp => self.move_item(false),
            Action::MoveItemDown => self.move_item(true),
            Action::DuplicateItem => self.duplicate_item(),
            Action::SetNull => self.set_null(),
            Action::Example | Action::Complete => self.next_example(),
            Action::Reset => self.reset(),
            Action::Undo => self.undo(),
            Action::JsonBeside => return self.toggle_json(),
            Action::Back => return Outcome::Close,
            _ => return Outcome::Ignored,
        }
        Outcome::Used
    }

    pub(super) fn move_by(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Goes to the next field that takes a value; a text can be typed there at once.
    pub(super) fn next_field(&mut self, forward: bool) {
        loop {
            let before = self.selected;
            self.move_by(if forward { 1 } else { -1 });
            let is_field = self.row().is_some_and(|row| {
                let is_leaf = matches!(row.id.line, Line::Field(_)) && row.is_open.is_none();
                is_leaf || row.id.line == Line::Submit
            });
            if is_field || self.selected == before {
                break;
            }
        }
        let is_typed = |field: &Field| {
            matches!(field.kind, Kind::Text { .. } | Kind::Number { .. }) && !field.read_only
        };
        let is_field = matches!(self.row().map(|row| row.id.line), Some(Line::Field(_)));
        if is_field && self.field().is_some_and(is_typed) {
            self.begin_typing_over();
        }
    }

    /// What Enter does.
    pub(super) fn open(&mut self) -> Outcome {
        let Some(row) = self.row().cloned() else {
            return Outcome::Ignored;
        };
        match row.id.line {
            Line::Submit => return self.submit(false),
            Line::AddItem | Line::AddMember => return self.add(),
            Line::OptionsHead => return self.toggle_options(),
            Line::Field(_) => {}
        }
        let Some(field) = self.field() else {
            return Outcome::Used;
        };
        if field.read_only && row.is_open.is_none() {
            self.say("The server sets this field; it is not filled in here.");
            return Outcome::Used;
        }
        match &field.kind {
            Kind::Text { .. } | Kind::Number { .. } | Kind::Json { .. } => self.begin_typing(),
            Kind::Boolean => self.cycle(true),
            Kind::Choice { .. } | Kind::MultiChoice { .. } | Kind::Variants { .. } => {
                self.open_picker();
            }
            Kind::List { .. } | Kind::Object(_) => {
                self.folds.set(&row.id, row.is_open != Some(true));
                self.relist();
            }
            Kind::Deferred => {
                self.sheet_mut(row.id.part).open(&row.id.path);
                self.folds.set(&row.id, true);
                self.relist();
            }
        }
        Outcome::Used
    }

    /// What the space bar does: begins what is not begun, else what Enter does.
    fn toggle(&mut self) -> Outcome {
        let Some(row) = self.row().cloned() else {
            return Outcome::Ignored;
        };
        let begins = matches!(row.id.line, Line::Field(_))
            && self.sheet(row.id.part).state().get(&row.id.path).is_none()
            && self.field().is_some_and(|field| {
                let can_begin = matches!(
                    field.kind,
                    Kind::Text { .. } | Kind::List { .. } | Kind::Object(_)
                );
                can_begin && !field.read_only
            });
        if !begins {
            return self.open();
        }
        let Some(field) = self.field().cloned() else {
            return Outcome::Used;
        };
        self.touch();
        let begun = self
            .sheet_mut(row.id.part)
            .change(|state, form| state.begin(form, &field));
        self.folds.set(&row.id, true);
        self.told(begun);
        Outcome::Used
    }

    /// What the arrows to the sides do: close and open sections, or go through values.
    fn aside(&mut self, right: bool) {
        let Some(row) = self.row().cloned() else {
            return;
        };
        if row.is_open.is_some() && row.is_open != Some(right) {
            self.folds.set(&row.id, right);
            self.relist();
            return;
        }
        let is_cycled = self.field().is_some_and(|field| {
            matches!(field.kind, Kind::Boolean | Kind::Choice { .. }) && !field.read_only
        });
        if is_cycled && matches!(row.id.line, Line::Field(_)) {
            self.cycle(right);
        } else if !right {
            let depth = row.depth;
            let above = self.rows.iter().take(self.selected);
            let parent = above.enumerate().rev().find(|(_, row)| row.depth < depth);
            if let Some((parent, _)) = parent {
                self.selected = parent;
            }
        }
    }

    /// Sets what is at a path, or leaves it out.
    pub(super) fn put(&mut self, part: Part, path: &Path, value: Option<Value>) {
        self.touch();
        let put = self.sheet_mut(part).change(|state, _| match value {
            Some(value) => state.set(path, value),
            None => {
                state.unset(path);
                Ok(())
            }
        });
        self.told(put);
    }

    fn leave_out(&mut self) {
        let Some(row) = self.row().cloned() else {
            return;
        };
        if matches!(row.id.line, Line::Field(_)) {
            self.put(row.id.part, &row.id.path, None);
        }
    }

    fn set_null(&mut self) {
        let (Some(row), Some(field)) = (self.row().cloned(), self.field()) else {
            return;
        };
        let takes_null = field.nullable || matches!(field.kind, Kind::Json { .. });
        match takes_null && matches!(row.id.line, Line::Field(_)) {
            true => self.put(row.id.part, &row.id.path, Some(Value::Null)),
            false => self.say("This field does not take null."),
        }
    }

    /// Takes the default, then one example after the other.
    pub(super) fn next_example(&mut self) {
        let (Some(row), Some(field)) = (self.row(), self.field()) else {
            return;
        };
        let offered: Vec<&Value> = field.default.iter().chain(&field.examples).collect();
        let now = self.sheet(row.id.part).state().get(&field.path);
        let at = offered.iter().position(|value| Some(*value) == now);
        let next = at.map_or(0, |at| at + 1) % offered.len().max(1);
        let (part, path) = (row.id.part, field.path.clone());
        match offered.get(next) {
            Some(value) if matches!(row.id.line, Line::Field(_)) => {
                let value = (*value).clone();
                self.put(part, &path, Some(value));
            }
            _ => self.say("The schema has no default and no examples for this field."),
        }
    }

    fn reset(&mut self) {
        self.value.reset();
        if let Some(options) = &mut self.options {
            options.reset();
        }
        self.touched.clear();
        self.was_tried = false;
        self.relist();
        self.say("Empty but for the defaults; undo brings back what was there.");
    }

    fn undo(&mut self) {
        let part = self.row().map_or(Part::Value, |row| row.id.part);
        if !self.sheet_mut(part).undo() {
            self.say("There is nothing to take back.");
        }
        self.relist();
    }

    fn toggle_options(&mut self) -> Outcome {
        self.finish_typing();
        let head = self
            .rows
            .iter()
            .position(|row| row.id.line == Line::OptionsHead);
        if let Some(at) = head {
            let row = &self.rows[at];
            let (id, is_open) = (row.id.clone(), row.is_open == Some(true));
            self.folds.set(&id, !is_open);
            self.relist();
            self.selected = at;
        }
        Outcome::Used
    }

    /// Selects the line of a path, or of what it is in, opening sections on the way.
    pub(super) fn reveal(&mut self, part: Part, path: &Path) {
        for length in 0..path.0.len() {
            let id = RowId {
                part,
                path: Path(path.0[..length].to_vec()),
                line: Line::Field(0),
            };
            self.folds.set(&id, true);
        }
        if part == Part::Options {
            let id = RowId {
                part,
                path: Path::default(),
                line: Line::OptionsHead,
            };
            self.folds.set(&id, true);
        }
        self.relist();
        let candidates = self.rows.iter().enumerate().filter(|(_, row)| {
            row.id.part == part
                && matches!(row.id.line, Line::Field(_))
                && path.0.starts_with(&row.id.path.0)
        });
        // The line of a variant's value is the last with its path.
        if let Some((at, _)) = candidates.max_by_key(|(_, row)| row.id.path.0.len()) {
            self.selected = at;
        }
    }

    pub(super) fn touch(&mut self) {
        if let Some(row) = self.row() {
            let id = row.id.clone();
            self.touched.insert(id);
        }
    }

    /// Makes the lines anew after a change, and tells what is wrong with it.
    pub(super) fn told(&mut self, done: Result<(), Problem>) {
        if let Err(problem) = done {
            self.say(&problem.message);
        }
        self.relist();
    }

    pub(super) fn browse_hints(&self) -> Vec<Action> {
        let mut hints = vec![Action::Submit, Action::Open];
        if self.was_tried && !self.value.report().problems.is_empty() {
            hints.insert(1, Action::SendAsIs);
        }
        match self.field().map(|field| &field.kind) {
            Some(Kind::Boolean) => hints.push(Action::Toggle),
            Some(Kind::List { .. }) => hints.push(Action::AddItem),
            _ => {}
        }
        if self.item().is_some() {
            hints.extend([
                Action::DeleteItem,
                Action::MoveItemUp,
                Action::DuplicateItem,
            ]);
        }
        let has_examples = |field: &Field| field.default.is_some() || !field.examples.is_empty();
        if self.field().is_some_and(has_examples) {
            hints.push(Action::Example);
        }
        hints.extend([Action::Unset, Action::JsonBeside, Action::ExternalEditor]);
        hints
    }
}

/// An object without members, to begin JSON text with.
pub(super) fn nothing() -> Value {
    Value::Object(Object::default())
}
