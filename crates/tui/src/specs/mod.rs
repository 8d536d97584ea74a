//! The workflow from idea to implementation: tab 7.

use std::path::PathBuf;

use attache::host::events::Event;
use attache::protocol::Tool;
use ratatui::Frame;
use ratatui::layout::Rect;

use crate::component::{CallNews, Component, Input, Outcome, Waker};
use crate::keys::{Action, Context};
use crate::theme::Theme;

/// The whole content of tab 7. It asks for calls with `Request::Call` and hears of them by
/// `on_call`. Files are read and written on threads of its own, never while drawing.
#[derive(Debug)]
pub struct SpecsPane {}

impl SpecsPane {
    /// A pane for a project folder. Nothing is read until the tab is shown for the first time.
    pub fn new(project: PathBuf, waker: Waker) -> Self {
        let _ = (project, waker);
        Self {}
    }

    /// The tab is shown: read, if that was not done yet.
    pub fn shown(&mut self) {}

    /// All `speckit.*` tools that servers offer now, with their server's name.
    pub fn offered(&mut self, tools: Vec<(String, Tool)>) {
        let _ = tools;
    }

    /// News of a call that it asked for.
    pub fn on_call(&mut self, tag: u64, news: CallNews) {
        let _ = (tag, news);
    }

    /// Any event of the host, for streamed output: log messages and stderr of a server that runs
    /// one of its calls.
    pub fn on_event(&mut self, event: &Event) {
        let _ = event;
    }
}

impl Component for SpecsPane {
    fn contexts(&self) -> Vec<Context> {
        vec![Context::Specs, Context::Move]
    }

    fn input(&mut self, _input: Input<'_>) -> Outcome {
        Outcome::Ignored
    }

    fn draw(&mut self, _frame: &mut Frame<'_>, _area: Rect, _theme: &Theme) {}

    fn hints(&self) -> Vec<Action> {
        vec![Action::SpecNew, Action::SpecRun, Action::SpecEdit]
    }
}
