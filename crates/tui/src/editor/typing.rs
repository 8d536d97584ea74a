//! What keys do while the text of a field is typed.
//!
//! Every change is entered at once, so that what is wrong can be told while it is typed. A text
//! that says no value stays as it is; it is never dropped.

use attache_view::Value;
use attache_view::form::{Field, Kind, Step, TextShape};
use attache_view::safe_text;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::rows::{Line, Part};
use super::text_input::TooLarge;
use super::{FormEditor, Mode, Shape, TextInput};
use crate::component::{Completion, Outcome, Request};
use crate::keys::Action;

const TOO_LARGE: &str = "This is too large to be edited here; open it in your own editor.";

impl FormEditor {
    pub(super) fn begin_typing(&mut self) {
        self.begin(false);
    }

    /// Begins with a text that what is typed replaces; a line without a text stays as it is.
    pub(super) fn begin_typing_over(&mut self) {
        let is_typed = self.field().is_some_and(|field| {
            matches!(
                field.kind,
                Kind::Text { .. } | Kind::Number { .. } | Kind::Json { .. }
            )
        });
        if is_typed {
            self.begin(true);
        }
    }

    fn begin(&mut self, is_over: bool) {
        let (Some(row), Some(field)) = (self.row(), self.field()) else {
            return;
        };
        let part = row.id.part;
        let state = self.sheet(part).state();
        let shape = match &field.kind {
            Kind::Text { shape, .. } => match shape {
                TextShape::Line => Shape::Line,
                TextShape::Lines => Shape::Lines,
                TextShape::Masked => Shape::Masked,
            },
            Kind::Json { .. } => Shape::Lines,
            _ => Shape::Line,
        };
        let text = match (state.draft(&field.path), state.get(&field.path)) {
            (Some(draft), _) => draft.to_owned(),
            // A null that was put there to be replaced is not typed behind.
            (None, Some(Value::Null)) if is_over => String::new(),
            (None, Some(value)) if matches!(field.kind, Kind::Json { .. }) => {
                safe_text::json(&attache_view::indented(&value.to_string())).into_owned()
            }
            (None, None | Some(Value::Null)) => String::new(),
            (None, Some(value)) => field.text(value),
        };
        match TextInput::new(&text, shape) {
            Ok(input) => {
                self.sheet_mut(part).remember();
                // A long text is not lost to one key.
                let is_over = is_over && shape != Shape::Lines;
                self.mode = Mode::Field(if is_over { input.selected() } else { input });
                self.offers.close();
            }
            Err(TooLarge) => self.say(TOO_LARGE),
        }
    }

    /// Ends typing; the text has been entered already.
    pub(super) fn finish_typing(&mut self) {
        if matches!(self.mode, Mode::Field(_) | Mode::Name(_)) {
            self.mode = Mode::Browse;
            self.offers.close();
        }
    }

    pub(super) fn type_key(&mut self, event: KeyEvent, action: Option<Action>) -> Outcome {
        let is_line = match &self.mode {
            Mode::Field(input) | Mode::Name(input) => !input.has_lines(),
            _ => return Outcome::Ignored,
        };
        if let Some(outcome) = self.offer_key(event, action) {
            return outcome;
        }
        match action {
            Some(Action::Back) => {
                self.finish_typing();
                return Outcome::Used;
            }
            Some(Action::NextField | Action::PreviousField) => {
                if matches!(self.mode, Mode::Name(_)) {
                    return Outcome::Used;
                }
                self.finish_typing();
                self.next_field(action == Some(Action::NextField));
                return Outcome::Used;
            }
            Some(Action::Complete) => return self.complete(),
            Some(Action::Undo) => return self.undo_typing(),
            // Other commands, such as cancelling a call, are the app's.
            Some(_) => return Outcome::Ignored,
            None => {}
        }
        match event.code {
            KeyCode::Enter if is_line => self.entered(),
            KeyCode::Up | KeyCode::Down if is_line && matches!(self.mode, Mode::Field(_)) => {
                self.finish_typing();
                self.move_by(if event.code == KeyCode::Up { -1 } else { 1 });
                Outcome::Used
            }
            _ => {
                let changed = match &mut self.mode {
                    Mode::Field(input) | Mode::Name(input) => input.key(event),
                    _ => false,
                };
                if changed {
                    self.apply_typed()
                } else {
                    Outcome::Used
                }
            }
        }
    }

    /// Enter ends a line: a name becomes a member, a field is left for the next.
    fn entered(&mut self) -> Outcome {
        if let Mode::Name(input) = &self.mode {
            let name = input.text();
            self.add_member(&name);
            return Outcome::Used;
        }
        self.finish_typing();
        self.move_by(1);
        Outcome::Used
    }

    pub(super) fn paste(&mut self, text: &str) -> Outcome {
        let pasted = match &mut self.mode {
            Mode::Field(input) | Mode::Name(input) => input.paste(text),
            Mode::Json(json) => {
                let pasted = json.paste(text);
                self.read_json_text();
                pasted.map(|_| false)
            }
            Mode::Pick(picker, _) => {
                picker.paste(text);
                Ok(false)
            }
            Mode::Browse => {
                // A paste is text: it goes into the field that takes one, and never means keys.
                let is_text = |field: &Field| {
                    matches!(
                        field.kind,
                        Kind::Text { .. } | Kind::Number { .. } | Kind::Json { .. }
                    ) && !field.read_only
                };
                let is_field = matches!(self.row().map(|row| row.id.line), Some(Line::Field(_)));
                if !is_field || !self.field().is_some_and(is_text) {
                    self.say("This field takes no text; nothing was pasted.");
                    return Outcome::Used;
                }
                self.begin_typing();
                match &mut self.mode {
                    Mode::Field(input) => input.paste(text),
                    _ => Ok(false),
                }
            }
        };
        match pasted {
            Ok(true) => self.apply_typed(),
            Ok(false) => Outcome::Used,
            Err(TooLarge) => {
                self.say(TOO_LARGE);
                Outcome::Used
            }
        }
    }

    /// Enters what is typed now.
    pub(super) fn apply_typed(&mut self) -> Outcome {
        let Mode::Field(input) = &self.mode else {
            return Outcome::Used;
        };
        let text = input.text();
        self.enter_text(&text);
        match self.completion(&text) {
            Some(completion) => Outcome::Request(Request::Complete(completion)),
            None => Outcome::Used,
        }
    }

    /// Enters a text into the selected field. Without any text the field is left out, as at a shell;
    /// the empty text is entered with the space bar.
    pub(super) fn enter_text(&mut self, text: &str) {
        let (Some(row), Some(field)) = (self.row(), self.field()) else {
            return;
        };
        let (part, field) = (row.id.part, field.clone());
        self.touch();
        let sheet = self.sheet_mut(part);
        if text.is_empty() {
            sheet.clear(&field);
        } else {
            // What is wrong stands below the field.
            let _ = sheet.type_on(|state, _| state.enter(&field, text));
        }
        self.relist();
    }

    fn undo_typing(&mut self) -> Outcome {
        let was_undone = match &mut self.mode {
            Mode::Field(input) | Mode::Name(input) => input.undo(),
            _ => false,
        };
        match was_undone {
            true => self.apply_typed(),
            false => Outcome::Used,
        }
    }

    fn complete(&mut self) -> Outcome {
        let Mode::Field(input) = &self.mode else {
            return Outcome::Used;
        };
        let text = input.text();
        if let Some(completion) = self.completion(&text) {
            return Outcome::Request(Request::Complete(completion));
        }
        self.next_example();
        self.begin_typing();
        Outcome::Used
    }

    /// The question for completions of what is typed, if the server answers such.
    fn completion(&mut self, text: &str) -> Option<Completion> {
        let row = self.row()?;
        if !self.settings.can_complete || row.id.part != Part::Value {
            return None;
        }
        let [Step::Key(argument)] = row.id.path.0.as_slice() else {
            return None;
        };
        if self.field()?.is_masked() {
            return None;
        }
        let argument = argument.clone();
        let arguments = self.value.state().value().and_then(Value::as_object);
        let secrets: Vec<&str> = self
            .value
            .fields()
            .children()
            .into_iter()
            .filter(|field| field.is_masked())
            .filter_map(Field::key)
            .collect();
        let others = arguments.into_iter().flat_map(|object| object.iter());
        let others = others
            .filter(|(name, _)| *name != argument && !secrets.contains(name))
            .map(|(name, value)| (name.to_owned(), value.plain()))
            .collect();
        Some(Completion {
            serial: self.offers.ask(),
            argument,
            value: text.to_owned(),
            others,
        })
    }

    /// A key for the list of completions, if it is shown.
    fn offer_key(&mut self, event: KeyEvent, action: Option<Action>) -> Option<Outcome> {
        if !self.offers.is_shown() {
            return None;
        }
        match (action, event.code) {
            (Some(Action::Back), _) => self.offers.close(),
            (Some(Action::Complete), _) | (None, KeyCode::Down) => self.offers.move_by(1),
            (None, KeyCode::Up) => self.offers.move_by(-1),
            (Some(Action::NextField), _) | (None, KeyCode::Enter) => {
                let chosen = self.offers.chosen()?.to_owned();
                self.offers.close();
                if let Mode::Field(input) = &mut self.mode
                    && input.replace(&chosen).is_ok()
                {
                    self.enter_text(&chosen);
                }
            }
            _ => return None,
        }
        Some(Outcome::Used)
    }
}
