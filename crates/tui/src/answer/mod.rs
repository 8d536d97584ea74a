//! Answers: text, Markdown, trees, tables, images.

use std::sync::Arc;

use attache_view::document::Document;
use ratatui::Frame;
use ratatui::layout::Rect;

use crate::component::{Component, Input, Outcome, Waker};
use crate::keys::{Action, Context};
use crate::theme::Theme;

/// An answer to be looked at.
#[derive(Debug)]
pub struct AnswerView {
    document: Arc<Document>,
}

impl AnswerView {
    /// A view of a document. `raw` is the JSON it came as, for "view as JSON", hex and copying.
    pub fn new(document: Arc<Document>, raw: Arc<str>, waker: Waker) -> Self {
        let _ = (raw, waker);
        Self { document }
    }
}

impl Component for AnswerView {
    fn contexts(&self) -> Vec<Context> {
        vec![Context::Answer, Context::Move]
    }

    fn input(&mut self, _input: Input<'_>) -> Outcome {
        Outcome::Ignored
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, _theme: &Theme) {
        let blocks = self.document.blocks.len();
        frame.render_widget(format!("{blocks} blocks"), area);
    }

    fn hints(&self) -> Vec<Action> {
        vec![Action::ViewAs, Action::Copy, Action::Save]
    }
}
