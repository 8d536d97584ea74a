//! Forms and JSON text that edit one value.
//!
//! What a form consists of, what a text means and what is wrong with a value is known to
//! `attache_view::form`; this module owns which keys change what and how it looks. Fields and
//! problems are made anew after a change, never while drawing.

mod act;
mod choose;
mod details;
mod draw;
mod items;
mod json;
mod line;
mod offers;
mod picker;
mod rows;
mod sheet;
mod text_input;
mod typing;
mod words;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use attache::protocol::Json;
use attache_view::Value;
use attache_view::form::{Field, Form, Kind, Report};
use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use crate::component::{Component, Input, Outcome, Request};
use crate::keys::{Action, Context};
use crate::theme::Theme;

use json::JsonText;
use offers::Offers;
pub(crate) use picker::{Entry, Picked, Picker};
use rows::{Folds, Part, Row, RowId};
use sheet::Sheet;
pub(crate) use text_input::{Shape, TextInput};

/// What an editor is for.
#[derive(Clone, Debug, Default)]
pub struct EditorOptions {
    /// The call's time-out, metadata and "as task" can be set (tools; not prompts, not questions).
    pub has_call_options: bool,
    /// The server completes arguments: `Request::Complete` makes sense.
    pub can_complete: bool,
    /// What submitting does, for the button and the hint: "run", "get", "answer".
    pub verb: &'static str,
}

/// What comes out of an editor.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The value; nothing if it was left unset.
    pub value: Option<Json>,
    /// How long the call may take.
    pub timeout: Option<Duration>,
    /// Metadata to send along: an object.
    pub meta: Option<Json>,
    /// The call is to run as a task.
    pub as_task: bool,
}

/// A form that is being filled in. It answers `Outcome::Submit` only if the value fits or the
/// person sends it on purpose, `Outcome::Close` when the person leaves it.
#[derive(Debug)]
pub struct FormEditor {
    value: Sheet,
    options: Option<Sheet>,
    settings: EditorOptions,
    folds: Folds,
    rows: Vec<Row>,
    selected: usize,
    top: usize,
    mode: Mode,
    /// The lines that a person has changed: what is wrong with them is told at once.
    touched: BTreeSet<RowId>,
    /// Submitting was tried, so what is wrong is told everywhere.
    was_tried: bool,
    is_as_is: bool,
    /// What there is to say about the last key.
    note: Option<String>,
    offers: Offers,
    /// Where the lines were drawn, to be clicked on.
    drawn: Vec<(Rect, usize)>,
}

/// What keys do at the moment.
#[derive(Debug)]
enum Mode {
    /// They move over the lines.
    Browse,
    /// They are the text of the selected field.
    Field(TextInput),
    /// They are the name of a member to be added.
    Name(TextInput),
    /// They choose from a list.
    Pick(Picker, Vec<Choice>),
    /// They are the JSON text of the whole value.
    Json(JsonText),
}

/// What an entry of a picker means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Unset,
    Null,
    Option(usize),
    Variant(usize),
}

impl FormEditor {
    /// A form with a value to begin with. Without one it begins with the defaults of its schema.
    pub fn new(form: Arc<Form>, initial: Option<Value>, options: EditorOptions) -> Self {
        let with_options = options.has_call_options;
        let mut editor = Self {
            value: Sheet::new(form, initial),
            options: with_options.then(|| Sheet::new(Arc::new(sheet::call_options()), None)),
            settings: options,
            folds: Folds::default(),
            rows: Vec::new(),
            selected: 0,
            top: 0,
            mode: Mode::Browse,
            touched: BTreeSet::new(),
            was_tried: false,
            is_as_is: false,
            note: None,
            offers: Offers::default(),
            drawn: Vec::new(),
        };
        editor.relist();
        editor
    }

    /// What is in it now.
    pub fn submission(&self) -> Submission {
        let state = self.value.state();
        let value = match self.is_as_is {
            true => state.as_typed().as_ref().map(Value::to_json),
            false => state.to_json(),
        };
        let option = |name: &str| {
            let options = self.options.as_ref()?.state().value()?;
            options.get(name).cloned()
        };
        let seconds = option("timeout").and_then(|value| value.to_string().parse::<f64>().ok());
        Submission {
            value,
            timeout: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            meta: option("meta").as_ref().map(Value::to_json),
            as_task: option("task") == Some(Value::Bool(true)),
        }
    }

    /// What is to be kept for the next time: the value without masked fields.
    pub fn keepable(&self) -> Option<Value> {
        self.value.state().without_secrets(self.value.form())
    }

    /// What is wrong with it now.
    pub fn problems(&self) -> Report {
        self.value.report().clone()
    }

    /// Takes the completions that the server gave for a question of this serial.
    pub fn completions(&mut self, serial: u64, values: Vec<String>) {
        if matches!(self.mode, Mode::Field(_)) {
            self.offers.take(serial, values);
        }
    }

    /// What is in it as it was typed, also where it does not fit.
    pub(crate) fn typed(&self) -> Option<Value> {
        self.value.state().as_typed()
    }

    /// What is in it was sent, so leaving it drops nothing.
    pub(crate) fn was_sent(&mut self) {
        self.value.was_sent();
        if let Some(options) = &mut self.options {
            options.was_sent();
        }
    }

    /// Whether leaving it would drop something that was typed.
    pub fn is_changed(&self) -> bool {
        let is_broken = matches!(&self.mode, Mode::Json(text) if text.is_broken());
        let options = self.options.as_ref();
        self.value.is_changed() || is_broken || options.is_some_and(Sheet::is_changed)
    }

    fn sheet(&self, part: Part) -> &Sheet {
        match (&self.options, part) {
            (Some(options), Part::Options) => options,
            _ => &self.value,
        }
    }

    fn sheet_mut(&mut self, part: Part) -> &mut Sheet {
        match (&mut self.options, part) {
            (Some(options), Part::Options) => options,
            _ => &mut self.value,
        }
    }

    fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    fn row_field(&self, row: &Row) -> Option<&Field> {
        row.field(self.sheet(row.id.part).fields())
    }

    /// The field of the selected line.
    fn field(&self) -> Option<&Field> {
        self.row().and_then(|row| self.row_field(row))
    }

    /// Makes the lines anew; the selection stays with its line.
    fn relist(&mut self) {
        let id = self.row().map(|row| row.id.clone());
        self.rows = rows::outline(&self.value, self.options.as_ref(), &self.folds);
        let same = id.and_then(|id| self.rows.iter().position(|row| row.id == id));
        let last = self.rows.len().saturating_sub(1);
        self.selected = same.unwrap_or(self.selected.min(last));
    }

    fn submit(&mut self, is_as_is: bool) -> Outcome {
        if let Mode::Json(text) = &self.mode
            && text.is_broken()
        {
            self.say("The text is not JSON yet, so there is nothing that can be sent.");
            return Outcome::Used;
        }
        self.finish_typing();
        let options_fail = self
            .options
            .as_ref()
            .is_some_and(|options| !options.report().problems.is_empty());
        let value_fails = !is_as_is && !self.value.report().problems.is_empty();
        if !options_fail && !value_fails {
            self.is_as_is = is_as_is;
            return Outcome::Submit;
        }
        self.was_tried = true;
        let part = if value_fails {
            Part::Value
        } else {
            Part::Options
        };
        let problems = &self.sheet(part).report().problems;
        let (count, first) = (problems.len(), problems.first().map(|one| one.path.clone()));
        if let Some(path) = first {
            self.reveal(part, &path);
        }
        let count = words::count(count, "problem");
        self.say(&match value_fails {
            true => format!("Not sent: {count}. Mend it, or send it as it is on purpose."),
            false => format!("Not sent: {count} in the call options."),
        });
        Outcome::Used
    }

    /// Tells something until the next key.
    pub(crate) fn say(&mut self, text: &str) {
        self.note = Some(text.to_owned());
    }

    /// Opens the text in the person's own editor.
    fn edit_outside(&mut self) -> Outcome {
        let (text, extension) = match &self.mode {
            Mode::Field(_) if self.field().is_some_and(Field::is_masked) => {
                self.say("A secret is not written to a file.");
                return Outcome::Used;
            }
            Mode::Field(input) => match self.field().map(|field| &field.kind) {
                Some(Kind::Json { .. }) => (input.text(), "json"),
                _ => (input.text(), "txt"),
            },
            Mode::Json(text) => (text.text(), "json"),
            _ => (self.value.json_text(), "json"),
        };
        Outcome::Request(Request::Edit { text, extension })
    }

    /// The text comes back from the person's own editor.
    fn edited(&mut self, text: &str) -> Outcome {
        // Editors end a file with a line break of their own.
        let text = text.strip_suffix('\n').unwrap_or(text);
        match &mut self.mode {
            Mode::Field(input) => match input.replace(text) {
                Ok(()) => return self.apply_typed(),
                Err(_) => {
                    self.finish_typing();
                    self.enter_text(text);
                }
            },
            _ => {
                self.value.remember();
                match self.value.read_json(text) {
                    Ok(()) => self.mode = Mode::Browse,
                    Err(_) => self.open_json(Some(text)),
                }
                self.relist();
            }
        }
        Outcome::Used
    }

    fn mouse(&mut self, event: MouseEvent) -> Outcome {
        let place = (event.column, event.row);
        match event.kind {
            MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
                let down = event.kind == MouseEventKind::ScrollDown;
                match &mut self.mode {
                    Mode::Pick(picker, _) => picker.scroll(down),
                    Mode::Browse => self.move_by(if down { 1 } else { -1 }),
                    _ => return Outcome::Ignored,
                }
                Outcome::Used
            }
            MouseEventKind::Down(MouseButton::Left) => {
                if let Mode::Pick(picker, _) = &mut self.mode {
                    let picked = picker.click(place.0, place.1);
                    return self.picked(picked);
                }
                let mut drawn = self.drawn.iter();
                let Some((_, row)) = drawn.find(|(area, _)| area.contains(place.into())) else {
                    return Outcome::Ignored;
                };
                let row = *row;
                let was_selected = self.selected == row;
                if !was_selected {
                    self.finish_typing();
                }
                self.selected = row.min(self.rows.len().saturating_sub(1));
                match was_selected && matches!(self.mode, Mode::Browse) {
                    true => self.open(),
                    false => Outcome::Used,
                }
            }
            _ => Outcome::Ignored,
        }
    }
}

impl Component for FormEditor {
    fn contexts(&self) -> Vec<Context> {
        match self.mode {
            Mode::Browse => vec![Context::Form, Context::Editor, Context::Move],
            Mode::Field(_) | Mode::Name(_) | Mode::Json(_) => vec![Context::Text, Context::Editor],
            Mode::Pick(..) => vec![Context::Text, Context::Picker],
        }
    }

    fn input(&mut self, input: Input<'_>) -> Outcome {
        self.is_as_is = false;
        match input {
            Input::Key { event, action } => {
                self.note = None;
                self.key(event, action)
            }
            Input::Paste(text) => self.paste(text),
            Input::Mouse(event) => self.mouse(event),
            Input::Edited(text) => self.edited(text),
        }
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        draw::draw(self, frame, area, theme);
    }

    fn hints(&self) -> Vec<Action> {
        match &self.mode {
            Mode::Browse => self.browse_hints(),
            Mode::Field(_) | Mode::Name(_) => {
                vec![Action::NextField, Action::Submit, Action::Back]
            }
            Mode::Json(_) => vec![Action::Submit, Action::ExternalEditor, Action::Back],
            Mode::Pick(..) => vec![Action::Pick, Action::Back],
        }
    }
}
