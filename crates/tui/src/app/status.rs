//! The last line of the screen: what was said, or what keys do here; and what waits.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::detail::Detail;
use super::{App, Focus, Overlay, Tab};
use crate::component::{Component as _, Tone};
use crate::draw;
use crate::keys::{Action, Context};
use crate::text;
use crate::theme::Role;

impl App {
    /// The last line: what was said, or what keys do here; and what waits.
    pub(super) fn draw_status(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.settings.theme;
        let waiting = self.snapshot.questions.len();
        let mut right = Vec::new();
        if waiting > 0 {
            let word = if waiting == 1 {
                "question"
            } else {
                "questions"
            };
            let key = self.key_name(Action::Inbox);
            right.push(Span::styled(format!(" {key} "), theme.style(Role::Key)));
            right.push(Span::styled(
                format!("{waiting} {word} "),
                theme.style(Role::Warning),
            ));
        }
        let right = Line::from(right);
        let wide = u16::try_from(right.width()).unwrap_or(0);
        let room = area.width.saturating_sub(wide + 1);
        let left = match &self.notice {
            Some((notice, _)) => {
                let (glyph, role) = match notice.tone {
                    Tone::Done => (theme.glyphs().done, Role::Good),
                    Tone::Warning => (theme.glyphs().warning, Role::Warning),
                    Tone::Failed => (theme.glyphs().failed, Role::Bad),
                };
                let words = text::cut(
                    &notice.text,
                    usize::from(room).saturating_sub(3),
                    theme.glyphs().ellipsis,
                );
                Line::from(vec![
                    Span::styled(format!(" {glyph} "), theme.style(role)),
                    Span::raw(words.into_owned()),
                ])
            }
            None => self.hint_line(usize::from(room)),
        };
        draw::line(frame.buffer_mut(), area.x, area.y, room, &left);
        draw::line(
            frame.buffer_mut(),
            area.right() - wide,
            area.y,
            wide,
            &right,
        );
    }

    fn hint_line(&mut self, width: usize) -> Line<'static> {
        let theme = self.settings.theme;
        let mut spans = vec![Span::raw(" ")];
        let mut taken = 1;
        // While a text is typed, letters are text.
        let is_typing = self.contexts().contains(&Context::Text);
        for action in self.hints() {
            let Some(binding) = action.binding() else {
                continue;
            };
            let keys = self.settings.keys.keys(action);
            let Some(key) = keys.iter().find(|key| !(is_typing && key.is_typed())) else {
                continue;
            };
            // Up to the first comma or semicolon is enough here.
            let help = binding.help.split([',', ';']).next().unwrap_or_default();
            let key = key.to_string();
            let wide = text::width(&key) + text::width(help) + 3;
            if taken + wide > width {
                break;
            }
            taken += wide;
            spans.push(Span::styled(key, theme.style(Role::Key)));
            spans.push(Span::styled(
                format!(" {help}  "),
                theme.style(Role::Secondary),
            ));
        }
        Line::from(spans)
    }

    /// What the hint line offers.
    fn hints(&mut self) -> Vec<Action> {
        let general = [Action::Help, Action::Palette, Action::Quit];
        let mut hints = match self.overlays.last() {
            Some(Overlay::Menu(_)) => vec![Action::Pick, Action::Back],
            Some(Overlay::Sheet(_)) => vec![Action::Back, Action::Copy],
            Some(Overlay::Save(..)) => vec![Action::Pick, Action::Back],
            Some(Overlay::Question(dialog)) => dialog.hints(),
            None => match (self.focus, self.tab) {
                (Focus::Servers, _) => vec![
                    Action::Open,
                    Action::StartStop,
                    Action::Restart,
                    Action::LogLevel,
                    Action::Enable,
                ],
                (Focus::Detail, _) => {
                    let is_call = matches!(self.detail(), Some(Detail::Job(_) | Detail::Past(_)));
                    let is_running = self
                        .shown_job()
                        .is_some_and(|id| self.jobs.get(id).is_some_and(|job| job.is_running()));
                    let mut hints = self.component().map(|it| it.hints()).unwrap_or_default();
                    match (is_call, is_running) {
                        (true, true) => hints.insert(0, Action::Cancel),
                        (true, false) => hints.push(Action::Again),
                        _ => {}
                    }
                    hints.push(Action::Back);
                    hints
                }
                (Focus::List, Tab::Specs) => self.specs.hints(),
                (Focus::List, tab) => self.list_hints(tab),
            },
        };
        if self.overlays.is_empty() {
            hints.extend(general);
        }
        hints.dedup();
        hints
    }

    fn list_hints(&self, tab: Tab) -> Vec<Action> {
        let mut hints = vec![Action::Open, Action::Filter];
        hints.extend(match tab {
            Tab::Tools => vec![Action::Pin, Action::Copy, Action::Reload],
            Tab::Resources => vec![Action::Watch, Action::Copy],
            Tab::Prompts => vec![Action::Copy],
            Tab::Calls => vec![Action::Cancel, Action::Again, Action::Mark, Action::Compare],
            Tab::Activity => vec![Action::PauseActivity, Action::FollowActivity, Action::Copy],
            Tab::Log => vec![
                Action::PauseLog,
                Action::FollowLog,
                Action::LogLevelFilter,
                Action::Copy,
            ],
            Tab::Specs => Vec::new(),
        });
        hints
    }
}
