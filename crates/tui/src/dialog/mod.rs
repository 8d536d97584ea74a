//! Questions that wait for the person: approvals, drift, elicitation, sampling, roots.
//!
//! A dialog shows all that is consented to and gives an answer that fits its question. What the
//! host does not take is told, and the dialog stays.

mod choices;
mod diff;
mod draw;
mod keys;
mod roots;
mod said;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::Arc;

use attache::host::questions::{Answer, Question, QuestionKind};
use attache::protocol::Tool;
use attache_view::form::Form;
use attache_view::safe_text;
use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::component::{Component, Input, Outcome, Waker};
use crate::editor::{EditorOptions, FormEditor, Shape, TextInput};
use crate::keys::{Action, Context};
use crate::theme::Theme;

use choices::Choice;
use said::JsonAs;

/// A question and the answer that takes shape. It answers `Outcome::Submit` when the person has
/// answered and `Outcome::Close` when the question is to stay open for later.
#[derive(Debug)]
pub struct QuestionDialog {
    question: Arc<Question>,
    claims: Vec<String>,
    json_as: JsonAs,
    answering: Answering,
    answer: Answer,
    /// What is wrong, or what there is to say about the last key.
    problem: Option<String>,
    /// How far the text is scrolled.
    offset: usize,
    /// The rows of the text for a width.
    rows: Vec<Line<'static>>,
    made_for: Option<(usize, JsonAs, Theme)>,
    /// How many rows the text has, for a width.
    measured: Cell<Option<(usize, JsonAs, usize)>>,
    /// How many rows of the text were in view.
    height: usize,
    /// Where the choices were drawn.
    drawn: Vec<(Rect, usize)>,
}

/// How a question is answered.
#[derive(Debug)]
enum Answering {
    /// By choosing.
    Choices {
        choices: Vec<Choice>,
        selected: Option<usize>,
    },
    /// By filling in a form.
    Form(Box<FormEditor>),
    /// In words, or with the reason why not.
    Words { words: TextInput, typing: Typing },
    /// With the reason why not; what was begun before is kept.
    Reason(TextInput, Box<Answering>),
}

impl Answering {
    fn nothing() -> Self {
        Self::Choices {
            choices: Vec::new(),
            selected: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typing {
    On,
    Off,
}

impl QuestionDialog {
    /// A dialog for a question.
    pub fn new(question: Arc<Question>, waker: Waker) -> Self {
        // Nothing in a dialog takes time.
        drop(waker);
        Self {
            answering: answering(&question),
            question,
            claims: Vec::new(),
            json_as: JsonAs::Lines,
            answer: Answer::Cancel,
            problem: None,
            offset: 0,
            rows: Vec::new(),
            made_for: None,
            measured: Cell::new(None),
            height: 0,
            drawn: Vec::new(),
        }
    }

    /// Tells more of the tool that a question is about: what its server claims, and how it stands to
    /// what was approved before.
    #[must_use]
    pub fn with_tool(mut self, tool: &Tool, pin: &str) -> Self {
        let hints = tool.annotations.as_ref();
        let claims = [
            (
                hints.and_then(|it| it.read_only),
                "it changes nothing",
                "it changes something",
            ),
            (
                hints.and_then(|it| it.destructive),
                "it may destroy something",
                "it destroys nothing",
            ),
            (
                hints.and_then(|it| it.idempotent),
                "calling it twice is calling it once",
                "each call counts",
            ),
            (
                hints.and_then(|it| it.open_world),
                "it reaches beyond its own world",
                "it stays in its own world",
            ),
        ];
        let claims: Vec<&str> = claims
            .iter()
            .filter_map(|(claim, yes, no)| claim.map(|claim| if claim { *yes } else { *no }))
            .collect();
        self.claims.clear();
        if !claims.is_empty() {
            self.claims
                .push(format!("The server claims: {}.", claims.join(", ")));
        }
        if !pin.is_empty() {
            self.claims
                .push(format!("Its definition: {}.", safe_text::one_line(pin)));
        }
        self.made_for = None;
        self.measured.set(None);
        self
    }

    /// The question.
    pub fn question(&self) -> &Arc<Question> {
        &self.question
    }

    /// The answer; taken after `Outcome::Submit`.
    pub fn answer(&self) -> Answer {
        self.answer.clone()
    }

    /// The host did not take the answer; the question is still open.
    pub fn refused(&mut self, problem: &str) {
        self.problem = Some(safe_text::one_line(problem).into_owned());
    }

    /// How large the dialog wants to be on a screen of this size.
    pub fn size(&self, screen: Rect) -> (u16, u16) {
        draw::size(self, screen)
    }
}

/// How a question is answered, from its beginning.
fn answering(question: &Question) -> Answering {
    let options = |verb| EditorOptions {
        has_call_options: false,
        can_complete: false,
        verb,
    };
    match &question.kind {
        QuestionKind::ElicitForm(params) => {
            let form = match &params.requested_schema {
                Some(schema) => Form::new(schema),
                None => Form::empty(),
            };
            let editor = FormEditor::new(Arc::new(form), None, options("answer"));
            Answering::Form(Box::new(editor))
        }
        QuestionKind::Roots => {
            let here = std::env::current_dir().ok();
            let form = Arc::new(roots::form(here.as_deref()));
            Answering::Form(Box::new(FormEditor::new(form, None, options("answer"))))
        }
        QuestionKind::Sampling(_) => match TextInput::new("", Shape::Lines) {
            Ok(words) => Answering::Words {
                words,
                typing: Typing::Off,
            },
            Err(_) => Answering::nothing(),
        },
        _ => Answering::Choices {
            choices: choices::of(question),
            selected: None,
        },
    }
}

/// One line for the inbox: what is asked, safe to show.
pub fn headline(question: &Question) -> String {
    said::headline(question)
}

impl Component for QuestionDialog {
    fn contexts(&self) -> Vec<Context> {
        match &self.answering {
            Answering::Choices { .. } => vec![Context::Dialog, Context::Move],
            Answering::Form(editor) => {
                let mut contexts = editor.contexts();
                if !contexts.contains(&Context::Text) {
                    contexts.push(Context::Dialog);
                }
                contexts
            }
            Answering::Words { typing, .. } if *typing == Typing::Off => {
                vec![Context::Dialog, Context::Editor, Context::Move]
            }
            Answering::Words { .. } => vec![Context::Text, Context::Dialog, Context::Editor],
            Answering::Reason(..) => vec![Context::Text, Context::Dialog],
        }
    }

    fn input(&mut self, input: Input<'_>) -> Outcome {
        match input {
            Input::Key { event, action } => {
                self.problem = None;
                self.key(event, action)
            }
            Input::Paste(text) => self.paste(text),
            Input::Edited(text) => self.edited(text),
            Input::Mouse(event) => {
                if let Answering::Form(editor) = &mut self.answering {
                    let outcome = editor.input(Input::Mouse(event));
                    return self.after_form(outcome);
                }
                let place = (event.column, event.row);
                match event.kind {
                    MouseEventKind::ScrollDown => self.scroll(Some(Action::HalfDown)),
                    MouseEventKind::ScrollUp => self.scroll(Some(Action::HalfUp)),
                    MouseEventKind::Down(MouseButton::Left) => {
                        let hit = self
                            .drawn
                            .iter()
                            .find(|(area, _)| area.contains(place.into()));
                        let hit = hit.map(|(_, at)| *at);
                        // A click selects; the second one answers.
                        if let (Answering::Choices { selected, .. }, Some(at)) =
                            (&mut self.answering, hit)
                        {
                            if *selected == Some(at) {
                                return self.take_choice();
                            }
                            *selected = Some(at);
                        }
                        true
                    }
                    _ => return Outcome::Ignored,
                };
                Outcome::Used
            }
        }
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        draw::draw(self, frame, area, theme);
    }

    fn hints(&self) -> Vec<Action> {
        match &self.answering {
            Answering::Choices { .. } => vec![Action::Open, Action::PageDown, Action::Later],
            Answering::Form(editor) => {
                let mut hints = editor.hints();
                if !self.is_typing() {
                    hints.push(Action::Later);
                }
                hints
            }
            Answering::Words { .. } => {
                vec![Action::SendAnswer, Action::ExternalEditor, Action::Later]
            }
            Answering::Reason(..) => vec![Action::SendAnswer, Action::Later],
        }
    }
}
