//! What keys do in a dialog.

use attache::host::questions::{Answer, QuestionKind};
use attache::protocol::{Content, CreateMessageResult, Json};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::choices::Does;
use super::said::JsonAs;
use super::{Answering, QuestionDialog, Typing, roots};
use crate::component::{Component as _, Input, Outcome, Request};
use crate::editor::{Shape, TextInput};
use crate::keys::{Action, Context};

/// What an answer in the place of a model says it comes from.
const MODEL: &str = "person-at-terminal";

impl QuestionDialog {
    pub(super) fn is_typing(&self) -> bool {
        match &self.answering {
            Answering::Choices { .. } => false,
            Answering::Form(editor) => editor.contexts().contains(&Context::Text),
            Answering::Words { typing, .. } => *typing == Typing::On,
            Answering::Reason(..) => true,
        }
    }

    fn say(&mut self, text: &str) {
        self.problem = Some(text.to_owned());
    }

    fn submit(&mut self, answer: Answer) -> Outcome {
        self.answer = answer;
        Outcome::Submit
    }

    pub(super) fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Outcome {
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
            Answering::Words { .. } | Answering::Reason(..) => self.words(letter, event, action),
        }
    }

    pub(super) fn is_elicitation(&self) -> bool {
        matches!(self.question.kind, QuestionKind::ElicitForm(_))
    }

    /// Moves over the text; the arrows belong to the choices and to forms.
    pub(super) fn scroll(&mut self, action: Option<Action>) -> bool {
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

    pub(super) fn take_choice(&mut self) -> Outcome {
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
            let before = std::mem::replace(&mut self.answering, Answering::nothing());
            self.answering = Answering::Reason(reason.selected(), Box::new(before));
        }
        Outcome::Used
    }

    pub(super) fn after_form(&mut self, outcome: Outcome) -> Outcome {
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
            Answering::Reason(reason, before) => match (action, event.code) {
                (Some(Action::Later | Action::Back), _) => {
                    self.answering = std::mem::replace(before.as_mut(), Answering::nothing());
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
                (
                    Typing::On,
                    Some(
                        Action::NextField
                        | Action::PreviousField
                        | Action::NextChoice
                        | Action::PreviousChoice,
                    ),
                ) => {}
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

    pub(super) fn paste(&mut self, text: &str) -> Outcome {
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
            Answering::Reason(reason, _) => reason.paste(text),
        };
        if pasted.is_err() {
            self.say("This is too large to be edited here; open your own editor.");
        }
        Outcome::Used
    }

    pub(super) fn edited(&mut self, text: &str) -> Outcome {
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
