//! How the tab looks.

use attache_speckit::{DOCUMENTS, Phase, Spec};
use attache_view::safe_text;
use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::menu::{Field, Menu, Popup};
use super::run::{Run, Source, State};
use super::{Focus, SpecsPane};
use crate::component::{Component as _, Input, Outcome};
use crate::theme::{Role, Theme};

/// Below this width list and document alternate.
const NARROW: u16 = 100;
/// The width of the list beside a document.
const LIST_WIDTH: u16 = 44;
/// The height of the output, with its border.
const OUTPUT_HEIGHT: u16 = 9;
/// Below this height there is no room for output beside the rest.
const LOW: u16 = 14;

/// Where things were drawn, for the mouse and for paging.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    list: Rect,
    document: Rect,
    output: Rect,
    /// The first spec that is seen.
    first: usize,
}

impl Drawn {
    /// How many specs are seen at a time.
    pub(super) fn page(&self) -> usize {
        usize::from(self.list.height).max(1)
    }
}

impl SpecsPane {
    pub(super) fn on_mouse(&mut self, event: MouseEvent) -> Outcome {
        let at = Position::new(event.column, event.row);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) if self.drawn.list.contains(at) => {
                let row = usize::from(at.y - self.drawn.list.y) + self.drawn.first;
                self.focus = Focus::List;
                match row < self.specs.len() {
                    true => self.select(row),
                    false => Outcome::Used,
                }
            }
            MouseEventKind::Down(MouseButton::Left) if self.drawn.output.contains(at) => {
                self.focus_on(Focus::Output)
            }
            MouseEventKind::ScrollUp if self.drawn.output.contains(at) => {
                self.output.scroll(-3);
                Outcome::Used
            }
            MouseEventKind::ScrollDown if self.drawn.output.contains(at) => {
                self.output.scroll(3);
                Outcome::Used
            }
            _ if self.drawn.document.contains(at) => {
                if matches!(event.kind, MouseEventKind::Down(_)) {
                    self.focus = Focus::Document;
                }
                match &mut self.opened {
                    Some(opened) => opened.view.input(Input::Mouse(event)),
                    None => Outcome::Used,
                }
            }
            _ => Outcome::Ignored,
        }
    }

    pub(super) fn draw_all(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let has_output = self.run.is_some() || !self.output.lines.is_empty();
        let height = match has_output {
            true if area.height >= LOW => OUTPUT_HEIGHT.min(area.height / 2),
            true if self.focus == Focus::Output => area.height,
            true => 1.min(area.height),
            false => 0,
        };
        let [upper, lower] =
            Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
        self.drawn = Drawn {
            first: self.drawn.first,
            ..Drawn::default()
        };
        if area.width < NARROW {
            match self.focus {
                Focus::Document => self.draw_document(frame, upper, theme),
                Focus::List | Focus::Output => self.draw_list(frame, upper, theme),
            }
        } else {
            let [left, right] =
                Layout::horizontal([Constraint::Length(LIST_WIDTH), Constraint::Min(0)])
                    .areas(upper);
            self.draw_list(frame, left, theme);
            self.draw_document(frame, right, theme);
        }
        if height > 0 {
            self.draw_output(frame, lower, theme);
        }
        if let Some(popup) = &self.popup {
            draw_popup(popup, frame, area, theme);
        }
    }

    fn draw_list(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = format!(" Specs {} ", self.specs.len());
        let inner = framed(frame, area, title, self.focus == Focus::List, theme);
        self.drawn.list = inner;
        if let Some(text) = self.instead_of_list() {
            let text = Paragraph::new(text)
                .style(theme.style(Role::Secondary))
                .wrap(Wrap { trim: true });
            frame.render_widget(text, inner);
            return;
        }
        let rows = usize::from(inner.height).max(1);
        let first = self.drawn.first.min(self.selected);
        self.drawn.first = first.max((self.selected + 1).saturating_sub(rows));
        let seen = self.specs.iter().enumerate();
        let seen = seen.skip(self.drawn.first).take(rows);
        let lines: Vec<Line<'_>> = seen
            .map(|(at, spec)| {
                let line = spec_line(spec, theme, at == self.selected);
                match (at == self.selected, self.focus) {
                    (true, Focus::List) => line.style(theme.style(Role::Selected)),
                    (true, _) => line.style(theme.style(Role::SelectedAside)),
                    (false, _) => line,
                }
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), inner);
    }

    /// What is said where there is nothing to list.
    fn instead_of_list(&self) -> Option<String> {
        let folder = safe_text::one_line(self.files.specs_directory()).into_owned();
        if let Some(problem) = &self.problem {
            return Some(safe_text::block(problem).into_owned());
        }
        if !self.is_listed {
            return Some(format!("reading {folder}/"));
        }
        if !self.specs.is_empty() {
            return None;
        }
        let next = match self.offers.is_empty() {
            true => {
                "No server offers speckit.* tools: `attache config add speckit -- attache serve \
                 speckit` adds one."
            }
            false => "n describes the first one.",
        };
        Some(format!("No specs in {folder}/ yet. {next}"))
    }

    fn draw_document(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = self.document_title();
        let inner = framed(frame, area, title, self.focus == Focus::Document, theme);
        self.drawn.document = inner;
        let [head, body] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
        frame.render_widget(Paragraph::new(self.about(theme)), head);
        match &mut self.opened {
            Some(opened) => match &mut opened.editor {
                Some(editor) => {
                    editor.area.set_cursor_style(theme.style(Role::Selected));
                    editor
                        .area
                        .set_cursor_line_style(ratatui::style::Style::new());
                    frame.render_widget(&editor.area, body);
                }
                None => opened.view.draw(frame, body, theme),
            },
            None => {
                let file = DOCUMENTS.get(self.file).copied().unwrap_or_default();
                let text = match self.spec() {
                    None => String::new(),
                    Some(_) => format!("There is no {file} yet. r shows what can be run."),
                };
                let text = Paragraph::new(text).style(theme.style(Role::Secondary));
                frame.render_widget(text, body);
            }
        }
    }

    fn document_title(&self) -> String {
        let file = match &self.opened {
            Some(opened) => opened.place.file.as_str(),
            None => DOCUMENTS.get(self.file).copied().unwrap_or_default(),
        };
        let mut title = format!(" {file} ");
        if let Some(opened) = &self.opened {
            if opened.editor.is_some() {
                title.push_str("editing ");
            }
            if opened.is_modified() {
                title.push_str("modified ");
            }
            if opened.editor.as_ref().is_some_and(|it| it.is_outdated) {
                title.push_str("changed on disk ");
            }
        }
        title
    }

    /// The line above a document: branch, open questions, what is stale.
    fn about(&self, theme: &Theme) -> Line<'static> {
        let Some(spec) = self.spec() else {
            return Line::default();
        };
        let branch = safe_text::one_line(&spec.branch).into_owned();
        let mut spans = vec![Span::styled(
            format!("branch {branch}"),
            theme.style(Role::Secondary),
        )];
        let warn = |text: String| Span::styled(text, theme.style(Role::Warning));
        let separator = || Span::raw(format!(" {} ", theme.glyphs().separator));
        if spec.questions > 0 {
            spans.push(separator());
            spans.push(warn(format!("{} open questions", spec.questions)));
        }
        for stale in spec
            .stale
            .iter()
            .map(|it| (*it).to_owned())
            .chain(spec.problem.clone())
        {
            spans.push(separator());
            spans.push(warn(safe_text::one_line(&stale).into_owned()));
        }
        Line::from(spans)
    }

    fn draw_output(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let log = self.log.as_ref().map(|it| it.display().to_string());
        let log = log.map(|it| format!("log {} ", safe_text::one_line(&it)));
        let title = format!(" Output {}", log.unwrap_or_default());
        if area.height < 3 {
            self.drawn.output = area;
            if let Some(run) = &self.run {
                frame.render_widget(Paragraph::new(run_line(run, area.width, theme)), area);
            }
            return;
        }
        let inner = framed(frame, area, title, self.focus == Focus::Output, theme);
        self.drawn.output = inner;
        let bar = u16::from(self.run.is_some());
        let [lines, status] =
            Layout::vertical([Constraint::Min(0), Constraint::Length(bar)]).areas(inner);
        if let Some(run) = &self.run {
            let line = run_line(run, status.width, theme);
            frame.render_widget(Paragraph::new(line), status);
        }
        let rows = usize::from(lines.height);
        let all = self.output.lines.len();
        let end = all - self.output.behind.min(all);
        let begin = end.saturating_sub(rows);
        let shown = self.output.lines.iter().skip(begin).take(end - begin);
        let shown: Vec<Line<'_>> = shown.map(|it| output_line(it, theme)).collect();
        frame.render_widget(Paragraph::new(shown), lines);
    }
}

/// A box with a title, and the room in it.
fn framed(
    frame: &mut Frame<'_>,
    area: Rect,
    title: String,
    has_focus: bool,
    theme: &Theme,
) -> Rect {
    let (border, head) = match has_focus {
        true => (Role::BorderFocused, Role::TitleFocused),
        false => (Role::Border, Role::Title),
    };
    let block = Block::bordered()
        .border_set(theme.border())
        .border_style(theme.style(border))
        .title(Span::styled(title, theme.style(head)));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn spec_line(spec: &Spec, theme: &Theme, is_selected: bool) -> Line<'static> {
    let glyphs = theme.glyphs();
    let cursor = if is_selected { glyphs.cursor } else { "  " };
    let name = safe_text::one_line(&spec.name).into_owned();
    let mut spans = vec![Span::raw(cursor), Span::raw(format!("{name:<22} "))];
    let phase = match (spec.phase, spec.tasks) {
        (Phase::Done, Some((_, all))) => (Role::Good, format!("{} done {all}", glyphs.done)),
        (Phase::Implement, Some((done, all))) => (Role::Accent, format!("implement {done}/{all}")),
        (phase, _) => (Role::Secondary, phase.words().to_owned()),
    };
    spans.push(Span::styled(phase.1, theme.style(phase.0)));
    if !spec.stale.is_empty() {
        let stale = format!(" {} stale", glyphs.warning);
        spans.push(Span::styled(stale, theme.style(Role::Warning)));
    }
    Line::from(spans)
}

fn output_line<'a>(line: &'a super::run::Line, theme: &Theme) -> Line<'a> {
    let role = match line.source {
        Source::Pane => Role::Title,
        Source::Progress | Source::Stdout => Role::Secondary,
        Source::Stderr => Role::Warning,
        Source::Answer => Role::Text,
        Source::Failure => Role::Bad,
    };
    let mut spans = Vec::new();
    if !line.source.label().is_empty() {
        let label = format!("{:<8} ", line.source.label());
        spans.push(Span::styled(label, theme.style(Role::Secondary)));
    }
    spans.push(Span::styled(line.text.as_str(), theme.style(role)));
    Line::from(spans)
}

/// One line about a command: state, bar, share, message, time.
fn run_line(run: &Run, width: u16, theme: &Theme) -> Line<'static> {
    let glyphs = theme.glyphs();
    let (role, glyph, word) = match &run.state {
        State::Running => (Role::Accent, glyphs.starting, "running"),
        State::Cancelling => (Role::Warning, glyphs.starting, "cancelling"),
        State::Done => (Role::Good, glyphs.done, "done"),
        State::Cancelled => (Role::Warning, glyphs.warning, "cancelled"),
        State::Failed { .. } => (Role::Bad, glyphs.failed, "failed"),
    };
    let command = run.command.word();
    let mut spans = vec![Span::styled(
        format!("{glyph} {command} {word} "),
        theme.style(role),
    )];
    if run.is_running()
        && let Some(share) = run.share()
    {
        spans.push(Span::styled(
            bar(share, width / 5, theme),
            theme.style(Role::Accent),
        ));
        spans.push(Span::raw(format!(" {:.0} % ", share * 100.0)));
    }
    let message = run.message.clone().unwrap_or_default();
    if run.is_running() && !message.is_empty() {
        spans.push(Span::raw(format!("{message} ")));
    }
    let seconds = run.elapsed().as_secs_f64();
    spans.push(Span::styled(
        format!("{seconds:.1} s"),
        theme.style(Role::Secondary),
    ));
    match run.state {
        State::Running => spans.push(hint("x cancels", theme)),
        State::Failed { can_retry: true } | State::Cancelled => {
            spans.push(hint("R tries again", theme));
        }
        _ => {}
    }
    Line::from(spans)
}

fn hint(text: &str, theme: &Theme) -> Span<'static> {
    Span::styled(format!("  {text}"), theme.style(Role::Secondary))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 of a width is a width"
)]
fn bar(share: f64, width: u16, theme: &Theme) -> String {
    let glyphs = theme.glyphs();
    let full = (share * f64::from(width)).floor() as usize;
    let empty = usize::from(width).saturating_sub(full);
    format!(
        "{}{}",
        glyphs.bar_full.repeat(full),
        glyphs.bar_empty.repeat(empty)
    )
}

fn draw_popup(popup: &Popup, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    match popup {
        Popup::Run(menu) => draw_menu(menu, frame, area, theme),
        Popup::New {
            description,
            name: None,
        } => draw_field(
            " What is it about? enter goes on ",
            description,
            frame,
            area,
            theme,
        ),
        Popup::New {
            name: Some(name), ..
        } => draw_field(" Its folder; enter begins ", name, frame, area, theme),
        Popup::Describe(field) => {
            draw_field(
                " What is it about? enter specifies it again ",
                field,
                frame,
                area,
                theme,
            );
        }
        Popup::Filter(field) => {
            draw_field(
                " Which tasks, like T003-T007, US1 or words? ",
                field,
                frame,
                area,
                theme,
            );
        }
    }
}

fn draw_menu(menu: &Menu, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let title = match &menu.server {
        Some((server, 1)) => format!(" Run on {} ", safe_text::one_line(server)),
        Some((server, _)) => {
            format!(
                " Run on {} (tab: another server) ",
                safe_text::one_line(server)
            )
        }
        None => " Run ".to_owned(),
    };
    let height = u16::try_from(menu.items.len() + 2).unwrap_or(8);
    let inner = popup_box(frame, area, height, title, theme);
    let lines: Vec<Line<'_>> = menu
        .items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            let role = match item.hindrance {
                Some(_) => Role::Secondary,
                None => Role::Text,
            };
            let mut spans = vec![
                Span::styled(format!(" {} ", item.key), theme.style(Role::Key)),
                Span::styled(item.words, theme.style(role)),
            ];
            if let Some(hindrance) = &item.hindrance {
                let why = format!(" {} {hindrance}", theme.glyphs().separator);
                spans.push(Span::styled(why, theme.style(Role::Warning)));
            }
            let line = Line::from(spans);
            match at == menu.selected {
                true => line.style(theme.style(Role::Selected)),
                false => line,
            }
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

fn draw_field(title: &str, field: &Field, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let inner = popup_box(frame, area, 6, title.to_owned(), theme);
    let (before, behind) = field.parts();
    let line = Line::from(vec![
        Span::raw(safe_text::one_line(before).into_owned()),
        // The cursor is a mark in the text, which folds with it.
        Span::styled(theme.glyphs().bar, theme.style(Role::Accent)),
        Span::raw(safe_text::one_line(behind).into_owned()),
    ]);
    let text = Paragraph::new(line).wrap(Wrap { trim: false });
    frame.render_widget(text, inner);
}

/// An empty box in the middle.
fn popup_box(frame: &mut Frame<'_>, area: Rect, height: u16, title: String, theme: &Theme) -> Rect {
    let width = area.width.saturating_sub(4).min(90);
    let height = height.min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    framed(frame, place, title, true, theme)
}
