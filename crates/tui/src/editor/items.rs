//! Items of lists and members of objects: adding, moving, duplicating.

use attache_view::Value;
use attache_view::form::{Field, Kind, Path, Step};

use super::rows::{self, Line, Part, RowId};
use super::{FormEditor, Mode, Shape, TextInput};
use crate::component::Outcome;

impl FormEditor {
    /// Adds to the nearest list or object around the selected line that takes more.
    pub(super) fn add(&mut self) -> Outcome {
        let Some(row) = self.row().cloned() else {
            return Outcome::Ignored;
        };
        let sheet = self.sheet(row.id.part);
        let mut path = row.id.path.clone();
        loop {
            let found = sheet.fields().find(&path);
            match found.map(|field| (field, &field.kind)) {
                Some((list, Kind::List { .. })) => {
                    let list = list.clone();
                    self.add_item(&row.id, &list);
                    return Outcome::Used;
                }
                Some((_, Kind::Object(members))) if rows::offers_members(members) => {
                    self.begin_naming(row.id.part, &path);
                    return Outcome::Used;
                }
                _ => {}
            }
            if path.0.pop().is_none() {
                self.say("Nothing can be added here.");
                return Outcome::Used;
            }
        }
    }

    fn add_item(&mut self, id: &RowId, list: &Field) {
        self.touch();
        let added = self
            .sheet_mut(id.part)
            .change(|state, form| state.add_item(form, list));
        let head = RowId {
            part: id.part,
            path: list.path.clone(),
            line: Line::Field(0),
        };
        self.folds.set(&head, true);
        match added {
            Ok(at) => {
                self.relist();
                self.reveal(id.part, &list.path.index(at));
                self.begin_typing_over();
            }
            Err(problem) => self.told(Err(problem)),
        }
    }

    fn begin_naming(&mut self, part: Part, path: &Path) {
        self.reveal(part, path);
        let head = RowId {
            part,
            path: path.clone(),
            line: Line::Field(0),
        };
        self.folds.set(&head, true);
        self.relist();
        let adding = |row: &super::Row| {
            row.id.part == part && row.id.path == *path && row.id.line == Line::AddMember
        };
        if let Some(at) = self.rows.iter().position(adding) {
            self.selected = at;
            if let Ok(input) = TextInput::new("", Shape::Line) {
                self.mode = Mode::Name(input);
            }
        }
    }

    /// Adds the member whose name was typed, and goes on with its value.
    pub(super) fn add_member(&mut self, name: &str) {
        let (Some(row), Some(object)) = (self.row().cloned(), self.field().cloned()) else {
            return;
        };
        self.mode = Mode::Browse;
        let added = self
            .sheet_mut(row.id.part)
            .change(|state, form| state.add_member(form, &object, name));
        match added {
            Ok(path) => {
                self.relist();
                self.reveal(row.id.part, &path);
                self.begin_typing_over();
            }
            Err(problem) => self.told(Err(problem)),
        }
    }

    /// The list and the place of the item that the selected line is or belongs to.
    pub(super) fn item(&self) -> Option<(Part, Path, usize)> {
        let id = &self.row()?.id;
        let mut steps = id.path.0.clone();
        while let Some(step) = steps.pop() {
            if let Step::Index(at) = step {
                return Some((id.part, Path(steps), at));
            }
        }
        None
    }

    pub(super) fn move_item(&mut self, down: bool) {
        let Some((part, list, at)) = self.item() else {
            self.say("Only items of a list can be moved.");
            return;
        };
        let items = self.sheet(part).state().get(&list);
        let count = items.and_then(Value::as_array).map_or(0, <[Value]>::len);
        let to = match down {
            true => at + 1,
            false => at.wrapping_sub(1),
        };
        if to < count {
            self.sheet_mut(part)
                .change(|state, _| state.move_item(&list, at, to));
            self.relist();
            self.reveal(part, &list.index(to));
        }
    }

    pub(super) fn duplicate_item(&mut self) {
        let Some((part, list, at)) = self.item() else {
            self.say("Only items of a list can be duplicated.");
            return;
        };
        let done = self
            .sheet_mut(part)
            .change(|state, _| state.duplicate_item(&list, at));
        self.told(done);
        self.reveal(part, &list.index(at + 1));
    }
}
