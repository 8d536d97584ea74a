//! Forms and JSON text that edit one value.

use std::sync::Arc;
use std::time::Duration;

use attache::protocol::Json;
use attache_view::Value;
use attache_view::form::{Form, Report};
use ratatui::Frame;
use ratatui::layout::Rect;

use crate::component::{Component, Input, Outcome};
use crate::keys::{Action, Context};
use crate::theme::Theme;

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
    form: Arc<Form>,
    value: Option<Value>,
}

impl FormEditor {
    /// A form with a value to begin with.
    pub fn new(form: Arc<Form>, initial: Option<Value>, options: EditorOptions) -> Self {
        let _ = options;
        Self {
            form,
            value: initial,
        }
    }

    /// What is in it now.
    pub fn submission(&self) -> Submission {
        Submission {
            value: self.value.as_ref().map(Value::to_json),
            ..Submission::default()
        }
    }

    /// What is to be kept for the next time: the value without masked fields.
    pub fn keepable(&self) -> Option<Value> {
        self.value.clone()
    }

    /// What is wrong with it now.
    pub fn problems(&self) -> Report {
        self.value
            .as_ref()
            .map(|value| self.form.check(value))
            .unwrap_or_default()
    }

    /// Takes the completions that the server gave for a question of this serial.
    pub fn completions(&mut self, serial: u64, values: Vec<String>) {
        let _ = (serial, values);
    }
}

impl Component for FormEditor {
    fn contexts(&self) -> Vec<Context> {
        vec![Context::Form, Context::Editor, Context::Move]
    }

    fn input(&mut self, input: Input<'_>) -> Outcome {
        match input {
            Input::Key {
                action: Some(Action::Submit),
                ..
            } => Outcome::Submit,
            _ => Outcome::Ignored,
        }
    }

    fn draw(&mut self, _frame: &mut Frame<'_>, _area: Rect, _theme: &Theme) {}

    fn hints(&self) -> Vec<Action> {
        vec![Action::Submit, Action::Back]
    }
}
