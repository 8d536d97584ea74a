//! Questions that wait for the person: approvals, drift, elicitation, sampling, roots.
//!
//! A dialog shows all that is consented to and gives an answer that fits its question. What the
//! host does not take is told, and the dialog stays.

mod choices;
mod diff;
mod draw;
mod roots;
mod said;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use attache::host::questions::{Answer, Question, QuestionKind};
use attache::protocol::{Content, CreateMessageResult, Json, Tool};
use attache_view::form::Form;
use attache_view::safe_text;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::component::{Component, Input, Outcome, Request, Waker};
use crate::editor::{EditorOptions, FormEditor, Shape, TextInput};
use crate::keys::{Action, Context};
use crate::theme::Theme;

use choices::{Choice, Does};
use said::JsonAs;

/// What an answer in the place of a model says it comes from.
const MODEL: &str = "person-at-terminal";

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
    /// With the reason why not.
    Reason(TextInput),
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
            (hints.and_then(|it| it.read_only), "it changes nothing", "it changes something"),
            (hints.and_then(|it| it.destructive), "it may destroy something", "it destroys nothing"),
            (hints.and_then(|it| it.idempotent), "calling it twice is calling it once", "each call counts"),
            (hints.and_then(|it| it.open_world), "it reaches beyond its own world", "it stays in its own world"),
        ];
        let claims: Vec<&str> = claims
            .iter()
            .filter_map(|(claim, yes, no)| claim.map(|claim| if claim { *yes } else { *no }))
            .collect();
        self.claims.clear();
        if !claims.is_empty() {
            self.claims.push(format!("The server claims: {}.", claims.join(", ")));
        }
        if !pin.is_empty() {
            self.claims.push(format!("Its definition: {}.", safe_text::one_line(pin)));
        }
        self.made_for = None;
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

    fn is_typing(&self) -> bool {
        match &self.answering {
            Answering::Choices { .. } => false,
            Answering::Form(editor) => editor.contexts().contains(&Context::Text),
            Answering::Words { typing, .. } => *typing == Typing::On,
            Answering::Reason(_) => true,
        }
    }

    fn say(&mut self, text: &str) {
        self.problem = Some(text.to_owned());
    }

    fn submit(&mut self, answer: Answer) -> Outcome {
        self.answer = answer;
        Outcome::Submit
    }

    fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Outcome {
        let is_plain = !event
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let letter = match event.code {
            KeyCode::Char(letter) if is_plain => Some(letter),
            _ => None,
        };
        if !self.is_typing() && self.scroll(action) {
            return Outcome::Used;
        }
        let is_elicitation = self.is_elicitation();
        match &mut self.answering {
            Answering::Choices { .. } => self.choose(letter, event, action),
            Answering::Form(editor) => {
                let is_browsing = !editor.contexts().contains(&Context::Text);
                match (is_browsing, letter, action) {
                    (true, Some('n'), _) => return self.decline(),
                    (true, Some('c'), _) if is_elicitation => {
                        return self.submit(Answer::Cancel);
                    }
                    (true, _, Some(Action::Later | Action::Back)) => return Outcome::Close,
                    _ => {}
                }
                let outcome = editor.input(Input::Key { event, action });
                self.after_form(outcome)
            }
            Answering::Words { .. } | Answering::Reason(_) => self.words(letter, event, action),
        }
    }

    fn is_elicitation(&self) -> bool {
        matches!(self.question.kind, QuestionKind::ElicitForm(_))
    }

    /// Moves over the text; the arrows belong to the choices and to forms.
    fn scroll(&mut self, action: Option<Action>) -> bool {
        let page = self.height.max(1);
        let last = self.rows.len().saturating_sub(self.height);
        self.offset = match action {
            Some(Action::PageDown) => self.offset + page,
            Some(Action::PageUp) => self.offset.saturating_sub(page),
            Some(Action::HalfDown) => self.offset + page.div_ceil(2),
            Some(Action::HalfUp) => self.offset.saturating_sub(page.div_ceil(2)),
            _ => return false,
        }
        .min(last);
        true
    }

    fn choose(&mut self, letter: Option<char>, event: KeyEvent, action: Option<Action>) -> Outcome {
        let Answering::Choices { choices, selected } = &mut self.answering else {
            return Outcome::Ignored;
        };
        let last = choices.len().saturating_sub(1);
        if let Some(at) = choices.iter().position(|choice| Some(choice.key) == letter) {
            *selected = Some(at);
            return self.take_choice();
        }
        let next = |by: isize| match (*selected, by) {
            (None, 1) => 0,
            (None, _) => last,
            (Some(at), by) => at.saturating_add_signed(by).min(last),
        };
        match action {
            Some(Action::Later | Action::Back) => return Outcome::Close,
            Some(Action::Down | Action::NextChoice) => *selected = Some(next(1)),
            Some(Action::Up | Action::PreviousChoice) => *selected = Some(next(-1)),
            Some(Action::Open | Action::SendAnswer) => return self.take_choice(),
            None if event.code == KeyCode::Enter => return self.take_choice(),
            // Nothing else on the screen is meant while a question is.
            Some(Action::Interrupt | Action::Suspend | Action::Redraw | Action::Help) => {
                return Outcome::Ignored;
            }
            _ => self.say("Choose by a letter or with the arrows; Esc leaves it for later."),
        }
        Outcome::Used
    }

    fn take_choice(&mut self) -> Outcome {
        let Answering::Choices { choices, selected } = &mut self.answering else {
            return Outcome::Used;
        };
        let Some(choice) = selected.and_then(|at| choices.get(at)).cloned() else {
            self.say("Nothing is chosen yet: use a letter or the arrows.");
            return Outcome::Used;
        };
        match choice.does {
            Does::Answer(answer) => self.submit(*answer),
            Does::OpenPage(url) => {
                *selected = choices.iter().position(|choice| choice.key == 'y');
                self.say("Handed to the browser. Enter tells the server that you visit it.");
                Outcome::Request(Request::OpenUrl(url))
            }
            Does::CopyAddress(text) => Outcome::Request(Request::Copy {
                text,
                label: "address".to_owned(),
            }),
            Does::SwitchJson => {
                self.json_as = match self.json_as {
                    JsonAs::Lines => JsonAs::Raw,
                    JsonAs::Raw => JsonAs::Lines,
                };
                Outcome::Used
            }
        }
    }

    fn decline(&mut self) -> Outcome {
        match self.question.kind {
            QuestionKind::ElicitForm(_) => self.submit(Answer::Decline),
            _ => self.give_reason(),
        }
    }

    /// Begins to say why not; Enter says it.
    fn give_reason(&mut self) -> Outcome {
        if let Ok(reason) = TextInput::new("the user declined", Shape::Line) {
            self.answering = Answering::Reason(reason.selected());
        }
        Outcome::Used
    }

    fn after_form(&mut self, outcome: Outcome) -> Outcome {
        let Answering::Form(editor) = &self.answering else {
            return outcome;
        };
        match outcome {
            Outcome::Submit => {
                let content = editor.submission().value;
                if self.is_elicitation() {
                    // An empty answer is an object too.
                    let content = content.or_else(|| Json::parse("{}").ok());
                    return self.submit(Answer::Accept { content });
                }
                let value = content.and_then(|json| attache_view::Value::of_json(&json).ok());
                match roots::of(value.as_ref()) {
                    Ok(roots) => self.submit(Answer::Roots(roots)),
                    Err(problem) => {
                        self.problem = Some(problem);
                        Outcome::Used
                    }
                }
            }
            Outcome::Ignored => Outcome::Used,
            other => other,
        }
    }

    fn words(&mut self, letter: Option<char>, event: KeyEvent, action: Option<Action>) -> Outcome {
        let sends = action == Some(Action::SendAnswer);
        match &mut self.answering {
            Answering::Reason(reason) => match (action, event.code) {
                (Some(Action::Later | Action::Back), _) => {
                    self.answering = answering(&self.question);
                }
                (_, KeyCode::Enter) => {
                    let reason = reason.text();
                    return self.submit(Answer::Refuse { reason });
                }
                _ if sends => {
                    let reason = reason.text();
                    return self.submit(Answer::Refuse { reason });
                }
                (Some(_), _) => return Outcome::Ignored,
                (None, _) => {
                    reason.key(event);
                }
            },
            Answering::Words { words, typing } => match (*typing, action) {
                _ if sends && words.text().trim().is_empty() => {
                    self.say("The answer is empty; write it, or refuse with a reason.");
                }
                _ if sends => {
                    let message = CreateMessageResult::new(MODEL, Content::text(words.text()));
                    return self.submit(Answer::Message(Box::new(message)));
                }
                (_, Some(Action::ExternalEditor)) => {
                    return Outcome::Request(Request::Edit {
                        text: words.text(),
                        extension: "md",
                    });
                }
                (Typing::On, Some(Action::Later | Action::Back)) => *typing = Typing::Off,
                (Typing::On, Some(Action::Undo)) => {
                    words.undo();
                }
                (Typing::On, Some(Action::NextField | Action::PreviousField | Action::NextChoice | Action::PreviousChoice)) => {}
                (Typing::On, Some(_)) => return Outcome::Ignored,
                (Typing::On, None) => {
                    words.key(event);
                }
                (Typing::Off, Some(Action::Later | Action::Back)) => return Outcome::Close,
                (Typing::Off, _) => match letter {
                    Some('e') => *typing = Typing::On,
                    Some('n') => return self.give_reason(),
                    _ if event.code == KeyCode::Enter => *typing = Typing::On,
                    _ => return Outcome::Ignored,
                },
            },
            _ => {}
        }
        Outcome::Used
    }

    fn paste(&mut self, text: &str) -> Outcome {
        let pasted = match &mut self.answering {
            Answering::Choices { .. } => return Outcome::Used,
            Answering::Form(editor) => {
                let outcome = editor.input(Input::Paste(text));
                return self.after_form(outcome);
            }
            Answering::Words { words, typing } => {
                *typing = Typing::On;
                words.paste(text)
            }
            Answering::Reason(reason) => reason.paste(text),
        };
        if pasted.is_err() {
            self.say("This is too large to be edited here; open your own editor.");
        }
        Outcome::Used
    }

    fn edited(&mut self, text: &str) -> Outcome {
        match &mut self.answering {
            Answering::Form(editor) => {
                let outcome = editor.input(Input::Edited(text));
                self.after_form(outcome)
            }
            Answering::Words { words, .. } => {
                if words.replace(text.trim_end_matches('\n')).is_err() {
                    self.say("This is too large to be shown here.");
                }
                Outcome::Used
            }
            _ => Outcome::Ignored,
        }
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
            Err(_) => Answering::Choices {
                choices: Vec::new(),
                selected: None,
            },
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
            Answering::Reason(_) => vec![Context::Text, Context::Dialog],
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
                        let hit = self.drawn.iter().find(|(area, _)| area.contains(place.into()));
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
            Answering::Words { .. } => vec![
                Action::SendAnswer,
                Action::ExternalEditor,
                Action::Later,
            ],
            Answering::Reason(_) => vec![Action::SendAnswer, Action::Later],
        }
    }
}
