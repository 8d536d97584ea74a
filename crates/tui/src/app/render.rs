//! Where everything is on the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::detail::Detail;
use super::info::foreign_lines;
use super::{App, Focus, Overlay, Tab};
use crate::component::Component as _;
use crate::draw;
use crate::jobs::JobState;
use crate::keys::Action;
use crate::message::JobEnd;
use crate::panes::catalog::Seen;
use crate::text;
use crate::theme::{Role, Theme};

/// From this width on list and detail are side by side.
const SIDE_BY_SIDE: u16 = 100;
/// From this width on the servers are at the left.
const WITH_SERVERS: u16 = 60;
/// The smallest screen on which anything can be shown.
const SMALLEST: (u16, u16) = (40, 10);
/// Lines of requests that run.
const MOST_RUNNING: usize = 4;

impl App {
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>) {
        let screen = frame.area();
        self.places = super::Places {
            screen,
            ..super::Places::default()
        };
        if screen.width < SMALLEST.0 || screen.height < SMALLEST.1 {
            let words = format!("attache needs {}x{} characters", SMALLEST.0, SMALLEST.1);
            let line = Line::raw(words);
            return draw::line(frame.buffer_mut(), screen.x, screen.y, screen.width, &line);
        }
        let running = self.jobs.running().count().min(MOST_RUNNING);
        let strip = match running {
            0 => 0,
            count => u16::try_from(count).unwrap_or(0) + 2,
        };
        let [body, strip, status] = Layout::vertical([
            Constraint::Fill(1),
            Constraint::Length(strip),
            Constraint::Length(1),
        ])
        .areas(screen);
        let has_servers = screen.width >= WITH_SERVERS && !self.is_zoomed;
        let wide = match screen.width {
            0..80 => 22,
            80..140 => 26,
            _ => 32,
        };
        let [left, right] = Layout::horizontal([
            Constraint::Length(if has_servers { wide } else { 0 }),
            Constraint::Fill(1),
        ])
        .areas(body);
        if has_servers {
            self.draw_servers(frame, left);
        }
        self.draw_tab(frame, right);
        if !strip.is_empty() {
            self.draw_running(frame, strip);
        }
        self.draw_status(frame, status);
        self.draw_overlay(frame, screen);
    }

    fn draw_servers(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.settings.theme;
        let is_focused = self.focus == Focus::Servers && self.overlays.is_empty();
        let about = self.about.clone().unwrap_or_default();
        let title = match about.is_attached {
            true => " Background host ",
            false => " Servers ",
        };
        let role = title_role(is_focused);
        let title = Line::styled(title, theme.style(role));
        let inside = draw::boxed(frame, area, title, is_focused, &theme);
        self.places.servers = area;
        let seen = Seen {
            theme: &theme,
            snapshot: &self.snapshot,
            is_connected: self.about.is_some(),
            now_ms: self.now_ms,
        };
        let tools = self.tools.counts();
        self.servers
            .draw(frame, inside, &seen, &about, &tools, is_focused);
    }

    fn draw_tab(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.settings.theme;
        let is_focused = self.focus != Focus::Servers && self.overlays.is_empty();
        let title = self.tab_titles(area, &theme);
        let inside = draw::boxed(frame, area, title, is_focused, &theme);
        if self.tab == Tab::Specs {
            self.places.detail = inside;
            return self.specs.draw(frame, inside, &theme);
        }
        let is_open = self.detail().is_some();
        let has_info = matches!(self.tab, Tab::Tools | Tab::Resources | Tab::Prompts);
        let is_split = self.places.screen.width >= SIDE_BY_SIDE
            && (is_open || has_info)
            && !(self.is_zoomed && is_open);
        if !is_split {
            // List and detail alternate.
            return match is_open && (self.focus == Focus::Detail || self.is_zoomed) {
                true => self.draw_detail(frame, inside),
                false => self.draw_list(frame, inside),
            };
        }
        let share = match (is_open, self.focus) {
            (true, Focus::Detail) => 38,
            _ => 52,
        };
        let [list, divider, detail] = Layout::horizontal([
            Constraint::Percentage(share),
            Constraint::Length(2),
            Constraint::Fill(1),
        ])
        .areas(inside);
        self.draw_list(frame, list);
        let style = theme.style(Role::Border);
        for y in divider.y..divider.bottom() {
            frame
                .buffer_mut()
                .set_string(divider.x, y, theme.glyphs().bar, style);
        }
        self.draw_detail(frame, detail);
    }

    /// The titles of all tabs, as far as there is room, and where they are.
    fn tab_titles(&mut self, area: Rect, theme: &Theme) -> Line<'static> {
        let full: usize = Tab::ALL.iter().map(|tab| tab.name().len() + 5).sum();
        let is_narrow = full + 4 > usize::from(area.width);
        let mut spans = vec![Span::raw(" ")];
        let mut x = area.x + 2;
        for (number, tab) in (1..).zip(Tab::ALL) {
            let is_current = tab == self.tab;
            let name = match is_narrow && !is_current {
                true => number.to_string(),
                false => format!("{number} {}", tab.name()),
            };
            let role = match is_current {
                true => Role::TitleFocused,
                false => Role::Secondary,
            };
            let wide = u16::try_from(text::width(&name)).unwrap_or(0);
            self.places.tabs.push((Rect::new(x, area.y, wide, 1), tab));
            x += wide + 2;
            spans.push(Span::styled(name, theme.style(role)));
            spans.push(Span::raw("  "));
        }
        spans.pop();
        spans.push(Span::raw(" "));
        if self.places.servers.is_empty()
            && let Some(scope) = self.scope()
        {
            spans.push(Span::styled(
                format!(" {scope} "),
                theme.style(Role::Accent),
            ));
        }
        Line::from(spans)
    }

    fn draw_list(&mut self, frame: &mut Frame<'_>, area: Rect) {
        self.places.list = area;
        let theme = self.settings.theme;
        let is_focused = self.focus == Focus::List && self.overlays.is_empty();
        let seen = Seen {
            theme: &theme,
            snapshot: &self.snapshot,
            is_connected: self.about.is_some(),
            now_ms: self.now_ms,
        };
        match self.tab {
            Tab::Tools => self.tools.draw(frame, area, &seen, is_focused),
            Tab::Resources => self.resources.draw(frame, area, &seen, is_focused),
            Tab::Prompts => self.prompts.draw(frame, area, &seen, is_focused),
            Tab::Calls => self.calls.draw(frame, area, &seen, &self.jobs, is_focused),
            Tab::Activity => self.activity.draw(frame, area, &seen, is_focused),
            Tab::Log => {
                let logs = self.about.as_ref().and_then(|about| about.logs.as_ref());
                let path = logs.map(|logs| logs.display().to_string());
                self.log
                    .draw(frame, area, &seen, path.as_deref(), is_focused);
            }
            Tab::Specs => {}
        }
    }

    fn draw_detail(&mut self, frame: &mut Frame<'_>, area: Rect) {
        self.places.detail = area;
        let theme = self.settings.theme;
        let Some(title) = self.detail_title() else {
            return self.draw_info(frame, area);
        };
        let [head, rest] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        draw::line(frame.buffer_mut(), head.x, head.y, head.width, &title);
        let body = Rect {
            y: rest.y + 1,
            height: rest.height.saturating_sub(1),
            ..rest
        };
        if let Some(component) = self.component() {
            return component.draw(frame, body, &theme);
        }
        // A request that runs, or that has no answer to look at.
        for (y, line) in (body.y..body.bottom()).zip(self.without_answer(body.width)) {
            draw::line(frame.buffer_mut(), body.x, y, body.width, &line);
        }
    }

    fn detail_title(&self) -> Option<Line<'static>> {
        let theme = &self.settings.theme;
        let role = title_role(self.focus == Focus::Detail);
        let quiet = theme.style(Role::Secondary);
        Some(match self.detail()? {
            Detail::Form(session) => {
                let name = text::safe(session.target.name()).into_owned();
                let server = session.target.server();
                Line::from(vec![
                    Span::styled(name, theme.style(role)),
                    Span::styled(format!("  {server}"), quiet),
                ])
            }
            Detail::Job(id) => {
                let job = self.jobs.get(*id)?;
                let (word, meaning) = job.word();
                let took = text::duration(job.elapsed(self.now_ms));
                Line::from(vec![
                    Span::styled(format!("#{id} "), quiet),
                    Span::styled(job.title(), theme.style(role)),
                    Span::styled(format!("  {word}"), theme.style(meaning)),
                    Span::styled(format!("  {took}  {}", job.work.server()), quiet),
                ])
            }
            Detail::Past(number) => {
                let record = &self.calls.past(*number)?.record;
                let began = record.began.as_ref()?;
                let (word, meaning) = crate::panes::calls::ending(record);
                let server = began.server.as_deref().unwrap_or("?");
                Line::from(vec![
                    Span::styled(format!("log {number} "), quiet),
                    Span::styled(text::safe(&began.name).into_owned(), theme.style(role)),
                    Span::styled(format!("  {word}"), theme.style(meaning)),
                    Span::styled(format!("  {server}"), quiet),
                ])
            }
            Detail::View(title, _) => {
                Line::styled(text::safe(title).into_owned(), theme.style(role))
            }
        })
    }

    /// What stands in place of an answer.
    fn without_answer(&self, width: u16) -> Vec<Line<'static>> {
        let theme = &self.settings.theme;
        let width = usize::from(width).saturating_sub(1);
        let quiet = theme.style(Role::Secondary);
        let mut lines = Vec::new();
        match self.detail() {
            Some(Detail::Job(id)) => {
                let Some(job) = self.jobs.get(*id) else {
                    return lines;
                };
                match &job.state {
                    JobState::Running(_) => {
                        lines.push(job.running_line(width, theme, self.now_ms));
                        lines.push(Line::default());
                        let key = self.key_name(Action::Cancel);
                        lines.push(Line::styled(
                            format!("{key} cancels; the server is told"),
                            quiet,
                        ));
                    }
                    JobState::Ended {
                        end: JobEnd::Failed(failed),
                        ..
                    } => {
                        lines.extend(foreign_lines(&failed.cause, width));
                        if let Some(code) = failed.code {
                            lines.push(Line::styled(format!("code {code}"), quiet));
                        }
                        if failed.is_unknown {
                            let words = "It may have had its effect: look before repeating it.";
                            lines.push(Line::styled(words, theme.style(Role::Warning)));
                        }
                        lines.push(Line::default());
                        let key = self.key_name(Action::Again);
                        lines.push(Line::styled(format!("{key} runs it again"), quiet));
                    }
                    JobState::Ended { .. } => {}
                }
            }
            Some(Detail::Past(number)) => {
                let past = self.calls.past(*number);
                let ended = past.and_then(|past| past.record.ended.as_ref());
                let error = ended.and_then(|ended| ended.error.as_ref());
                let words = match (error, ended) {
                    (Some(error), _) => error.message.clone(),
                    (None, Some(ended)) => match (&ended.result_file, &ended.result_omitted) {
                        (Some(file), _) => format!("the answer is in the file {file} of the log"),
                        (None, Some(why)) => format!("the answer was not written down: {why}"),
                        (None, None) => "there is no answer".to_owned(),
                    },
                    (None, None) => "the log tells no ending".to_owned(),
                };
                lines.extend(foreign_lines(&words, width));
            }
            _ => {}
        }
        lines
    }

    fn draw_running(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.settings.theme;
        let count = self.jobs.running().count();
        let key = self.key_name(Action::Cancel);
        let title = Line::from(vec![
            Span::styled(format!(" Running {count} "), theme.style(Role::Title)),
            Span::styled(format!(" {key} "), theme.style(Role::Key)),
            Span::styled("cancels ", theme.style(Role::Secondary)),
        ]);
        let inside = draw::boxed(frame, area, title, false, &theme);
        let width = usize::from(inside.width).saturating_sub(2);
        let focused = self.focused_job();
        // The newest are seen if there are too many.
        let skipped = count.saturating_sub(usize::from(inside.height));
        for (y, job) in (inside.y..inside.bottom()).zip(self.jobs.running().skip(skipped)) {
            let line = job.running_line(width, &theme, self.now_ms);
            draw::line(frame.buffer_mut(), inside.x + 2, y, inside.width - 2, &line);
            if focused == Some(job.id) {
                let style = theme.style(Role::Accent);
                frame
                    .buffer_mut()
                    .set_string(inside.x, y, theme.glyphs().cursor, style);
            }
        }
    }

    fn draw_overlay(&mut self, frame: &mut Frame<'_>, screen: Rect) {
        let theme = self.settings.theme;
        match self.overlays.last_mut() {
            None => {}
            Some(Overlay::Menu(menu)) => menu.draw(frame, screen, &theme),
            Some(Overlay::Sheet(sheet)) => sheet.draw(frame, screen, &theme),
            Some(Overlay::Save(ask, _)) => ask.draw(frame, screen, &theme),
            Some(Overlay::Question(dialog)) => {
                let size = dialog.size(screen);
                let title = format!("{} asks", dialog.question().server);
                let inside = draw::popup(frame, screen, (size.0 + 4, size.1 + 2), &title, &theme);
                dialog.draw(frame, inside, &theme);
            }
        }
    }
}

fn title_role(is_focused: bool) -> Role {
    match is_focused {
        true => Role::TitleFocused,
        false => Role::Title,
    }
}
