//! Where everything is on the screen.

use std::sync::Arc;

use attache::protocol::Tool;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::detail::Detail;
use super::{App, Focus, Overlay, Tab};
use crate::component::{Component as _, Tone};
use crate::draw;
use crate::jobs::JobState;
use crate::keys::{Action, Context};
use crate::measure;
use crate::message::JobEnd;
use crate::panes::calls::CallKey;
use crate::panes::catalog::{Row as _, Seen};
use crate::panes::rows::ResourceKind;
use crate::text;
use crate::theme::{Role, Theme};

/// From this width on list and detail are side by side.
const SIDE_BY_SIDE: u16 = 100;
/// From this width on the servers are at the left.
const WITH_SERVERS: u16 = 60;
/// The smallest screen on which anything can be shown.
const SMALLEST: (u16, u16) = (40, 10);
/// How much is shown of a description or a cause.
const LONGEST_TEXT: usize = 16 * 1024;
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

    /// What is to be known about the selected entry.
    fn draw_info(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let theme = self.settings.theme;
        let width = usize::from(area.width).saturating_sub(1);
        let lines = match self.tab {
            Tab::Tools => self.tool_info(width, &theme),
            Tab::Resources => self.resource_info(width, &theme),
            Tab::Prompts => self.prompt_info(width, &theme),
            Tab::Calls => match self.calls.selected() {
                Some(CallKey::Job(_) | CallKey::Past(_)) | None => Vec::new(),
            },
            Tab::Activity | Tab::Log | Tab::Specs => Vec::new(),
        };
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            draw::line(frame.buffer_mut(), area.x, y, area.width, &line);
        }
    }

    fn tool_info(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(row) = self.tools.selected() else {
            return Vec::new();
        };
        // A schema may be large, and is the same from frame to frame.
        let is_made = |(tool, wide, _): &(Arc<Tool>, usize, _)| {
            Arc::ptr_eq(tool, &row.tool) && *wide == width
        };
        if !self.tool_fields.as_ref().is_some_and(is_made) {
            let form = attache_view::form::Form::of_tool(&row.tool);
            self.tool_fields = Some((row.tool.clone(), width, fields(&form, width, theme)));
        }
        let quiet = theme.style(Role::Secondary);
        let mut lines = vec![Line::from(vec![
            Span::styled(row.name().to_owned(), theme.style(Role::Title)),
            Span::styled(format!("  {}", row.server()), quiet),
        ])];
        let title = row.tool.display_name();
        if title != row.tool.name {
            lines.push(Line::raw(text::safe(title).into_owned()));
        }
        if !row.claims.is_empty() {
            lines.push(Line::from(vec![
                Span::styled("claims to be ", quiet),
                Span::raw(row.claims.join(", ")),
            ]));
        }
        if let Some((word, role)) = row.pin_word() {
            let key = self.key_name(Action::Pin);
            lines.push(Line::from(vec![
                Span::styled(word, theme.style(role)),
                Span::styled(format!("  {key} shows what was approved"), quiet),
            ]));
        }
        lines.push(Line::default());
        describe(row.tool.description.as_deref(), width, &mut lines);
        let made = self.tool_fields.as_ref().map(|(_, _, made)| made);
        lines.extend(made.into_iter().flatten().cloned());
        lines.push(Line::default());
        lines.push(Line::styled("Enter opens its form", quiet));
        lines
    }

    fn resource_info(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(row) = self.resources.selected() else {
            return Vec::new();
        };
        let quiet = theme.style(Role::Secondary);
        let mut lines = vec![
            Line::styled(row.title().to_owned(), theme.style(Role::Title)),
            Line::styled(row.server().to_owned(), quiet),
            Line::default(),
        ];
        lines.extend(
            measure::wrapped(row.name(), width)
                .into_iter()
                .map(Line::raw),
        );
        lines.push(Line::default());
        describe(row.description.as_deref(), width, &mut lines);
        if let Some(watch) = &row.watch {
            lines.push(Line::raw(format!(
                "watched; {} changes seen",
                watch.changes
            )));
            if watch.has_gap {
                let words = "the server was restarted meanwhile: changes may have been missed";
                lines.push(Line::styled(words, theme.style(Role::Warning)));
            }
        }
        lines.push(Line::default());
        lines.push(Line::styled(
            match row.kind {
                ResourceKind::Resource { .. } => "Enter reads it, w watches it",
                ResourceKind::Template { .. } => "Enter asks for its variables and reads it",
            },
            quiet,
        ));
        lines
    }

    fn prompt_info(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(row) = self.prompts.selected() else {
            return Vec::new();
        };
        let quiet = theme.style(Role::Secondary);
        let mut lines = vec![
            Line::from(vec![
                Span::styled(row.name().to_owned(), theme.style(Role::Title)),
                Span::styled(format!("  {}", row.server()), quiet),
            ]),
            Line::default(),
        ];
        describe(row.prompt.description.as_deref(), width, &mut lines);
        for argument in row.prompt.arguments.as_deref().unwrap_or_default() {
            let star = if argument.required { "*" } else { " " };
            let name = text::safe_name(&argument.name);
            let description = argument.description.as_deref().unwrap_or_default();
            let description = text::safe_name(description);
            lines.push(Line::from(vec![
                Span::styled(star, theme.style(Role::Warning)),
                Span::styled(format!("{name}  "), theme.style(Role::Name)),
                Span::styled(description, quiet),
            ]));
        }
        lines.push(Line::default());
        lines.push(Line::styled("Enter gets it", quiet));
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

    /// The last line: what was said, or what keys do here; and what waits.
    fn draw_status(&mut self, frame: &mut Frame<'_>, area: Rect) {
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

/// A text of any length as lines for a screen, made anew for each frame: its beginning.
fn foreign_lines(text: &str, width: usize) -> impl Iterator<Item = Line<'static>> {
    let safe = attache_view::safe_text::block(text::head(text, LONGEST_TEXT));
    let lines = measure::wrapped(&safe, width).into_iter();
    lines.take(200).map(Line::raw)
}

fn describe(description: Option<&str>, width: usize, lines: &mut Vec<Line<'static>>) {
    if let Some(description) = description {
        lines.extend(foreign_lines(description.trim(), width));
        lines.push(Line::default());
    }
}

/// The fields of a form, a line each.
fn fields(form: &attache_view::form::Form, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let members = form.field(None, &attache_view::form::Picks::default());
    let members = members.members().map(|members| &members.fields);
    let quiet = theme.style(Role::Secondary);
    let ellipsis = theme.glyphs().ellipsis;
    let fields = members.into_iter().flatten();
    fields
        .map(|field| {
            let name = text::safe_name(field.key().unwrap_or_default());
            let star = if field.required { "*" } else { " " };
            let description = field.description.as_deref().unwrap_or_default();
            let description = text::safe_name(description.lines().next().unwrap_or_default());
            let room = width.saturating_sub(text::width(&name) + 3);
            let description = text::cut(&description, room, ellipsis).into_owned();
            Line::from(vec![
                Span::styled(star, theme.style(Role::Warning)),
                Span::styled(format!("{name}  "), theme.style(Role::Name)),
                Span::styled(description, quiet),
            ])
        })
        .collect()
}
