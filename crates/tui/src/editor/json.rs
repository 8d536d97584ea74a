//! The whole value as JSON text.

use attache_view::safe_text;
use ratatui::crossterm::event::KeyEvent;

use super::text_input::TooLarge;
use super::{FormEditor, Mode, Shape, TextInput, act};
use crate::component::Outcome;
use crate::keys::Action;

/// JSON text while it is typed. As long as it is JSON, the value follows it.
#[derive(Debug)]
pub(super) struct JsonText {
    pub(super) input: TextInput,
    /// Why the text is not JSON.
    pub(super) problem: Option<String>,
    /// The person has been told that leaving drops the text.
    is_warned: bool,
}

impl JsonText {
    pub(super) fn text(&self) -> String {
        self.input.text()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.problem.is_some()
    }

    pub(super) fn paste(&mut self, text: &str) -> Result<bool, TooLarge> {
        // Hidden characters stand inside strings, where JSON can write them otherwise.
        self.input.paste(&safe_text::json(text))
    }
}

impl FormEditor {
    pub(super) fn toggle_json(&mut self) -> Outcome {
        match &self.mode {
            Mode::Json(_) => return self.leave_json(),
            Mode::Field(_) | Mode::Name(_) => self.finish_typing(),
            _ => {}
        }
        self.open_json(None);
        Outcome::Used
    }

    /// Shows the value as JSON text, or a text that was meant to be JSON.
    pub(super) fn open_json(&mut self, text: Option<&str>) {
        let shown = match text {
            Some(text) => text.to_owned(),
            None => {
                let mut text = self.value.json_text();
                if text.is_empty() {
                    text = act::nothing().to_string();
                }
                text
            }
        };
        match TextInput::new(&safe_text::json(&shown), Shape::Lines) {
            Ok(input) => {
                self.value.remember();
                self.mode = Mode::Json(JsonText {
                    input: input.at_top(),
                    problem: None,
                    is_warned: false,
                });
                if text.is_some() {
                    self.read_json_text();
                }
            }
            Err(TooLarge) => {
                self.say("The JSON is too large to be edited here; open it in your own editor.")
            }
        }
    }

    pub(super) fn json_key(&mut self, event: KeyEvent, action: Option<Action>) -> Outcome {
        let Mode::Json(json) = &mut self.mode else {
            return Outcome::Ignored;
        };
        let changed = match action {
            Some(Action::Back) => return self.leave_json(),
            Some(Action::Undo) => json.input.undo(),
            Some(Action::NextField) => json.input.indent(),
            Some(Action::PreviousField | Action::Complete) => false,
            Some(_) => return Outcome::Ignored,
            None => json.input.key(event),
        };
        if changed {
            self.read_json_text();
        }
        Outcome::Used
    }

    /// Lets the value follow the text.
    pub(super) fn read_json_text(&mut self) {
        let Mode::Json(json) = &mut self.mode else {
            return;
        };
        json.problem = self.value.read_json(&json.input.text()).err();
        json.is_warned = false;
        self.relist();
    }

    /// Text that is not JSON is not dropped unasked.
    fn leave_json(&mut self) -> Outcome {
        if let Mode::Json(json) = &mut self.mode
            && json.is_broken()
            && !json.is_warned
        {
            json.is_warned = true;
            self.say("This is not JSON yet. Again: drop the text and keep the last value.");
            return Outcome::Used;
        }
        self.mode = Mode::Browse;
        self.relist();
        Outcome::Used
    }
}
