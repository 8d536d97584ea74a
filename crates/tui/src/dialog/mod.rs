//! Questions that wait for the person: approvals, drift, elicitation, sampling, roots.

use std::sync::Arc;

use attache::host::questions::{Answer, Question};
use ratatui::Frame;
use ratatui::layout::Rect;

use crate::component::{Component, Input, Outcome, Waker};
use crate::keys::{Action, Context};
use crate::theme::Theme;

/// A question and the answer that takes shape. It answers `Outcome::Submit` when the person has
/// answered and `Outcome::Close` when the question is to stay open for later.
#[derive(Debug)]
pub struct QuestionDialog {
    question: Arc<Question>,
}

impl QuestionDialog {
    /// A dialog for a question.
    pub fn new(question: Arc<Question>, waker: Waker) -> Self {
        let _ = waker;
        Self { question }
    }

    /// The question.
    pub fn question(&self) -> &Arc<Question> {
        &self.question
    }

    /// The answer; taken after `Outcome::Submit`.
    pub fn answer(&self) -> Answer {
        Answer::Cancel
    }

    /// The host did not take the answer; the question is still open.
    pub fn refused(&mut self, problem: &str) {
        let _ = problem;
    }

    /// How large the dialog wants to be on a screen of this size.
    pub fn size(&self, screen: Rect) -> (u16, u16) {
        (screen.width.min(80), screen.height.min(20))
    }
}

/// One line for the inbox: what is asked, safe to show.
pub fn headline(question: &Question) -> String {
    format!("{} asks", question.server)
}

impl Component for QuestionDialog {
    fn contexts(&self) -> Vec<Context> {
        vec![Context::Dialog]
    }

    fn input(&mut self, _input: Input<'_>) -> Outcome {
        Outcome::Ignored
    }

    fn draw(&mut self, _frame: &mut Frame<'_>, _area: Rect, _theme: &Theme) {}

    fn hints(&self) -> Vec<Action> {
        vec![Action::SendAnswer, Action::Later]
    }
}
