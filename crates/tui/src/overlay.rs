//! What lies over everything else: menus, sheets, a line to be typed.

use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::cursor::Cursor;
use crate::draw;
use crate::filter::LineInput;
use crate::fuzzy::Pattern;
use crate::keys::{Action, Context};
use crate::text;
use crate::theme::{Role, Theme};

/// What became of a key in an overlay.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<T> {
    /// It was used.
    Used,
    /// It means nothing here.
    Ignored,
    /// This was chosen, and the overlay is done.
    Chosen(T),
    /// The overlay is done.
    Closed,
}

/// A list to choose from, with letters typed to narrow it down.
#[derive(Debug)]
pub(crate) struct Menu<T> {
    title: String,
    items: Vec<Item<T>>,
    input: LineInput,
    shown: Vec<usize>,
    cursor: Cursor,
    area: Rect,
}

/// One line of a menu.
#[derive(Clone, Debug)]
pub(crate) struct Item<T> {
    /// What it is, safe to show.
    pub(crate) label: String,
    /// What stands at the right.
    pub(crate) note: String,
    pub(crate) does: T,
}

impl<T> Item<T> {
    pub(crate) fn new(label: impl Into<String>, note: impl Into<String>, does: T) -> Self {
        Self {
            label: label.into(),
            note: note.into(),
            does,
        }
    }
}

impl<T: Clone> Menu<T> {
    pub(crate) fn new(title: impl Into<String>, items: Vec<Item<T>>) -> Self {
        Self {
            title: title.into(),
            shown: (0..items.len()).collect(),
            items,
            input: LineInput::default(),
            cursor: Cursor::default(),
            area: Rect::default(),
        }
    }

    pub(crate) fn contexts() -> Vec<Context> {
        vec![Context::Picker, Context::Text, Context::Global]
    }

    pub(crate) fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Taken<T> {
        match action {
            Some(Action::Back) => return Taken::Closed,
            Some(Action::Pick) => {
                let chosen = self.shown.get(self.cursor.at);
                return match chosen {
                    Some(at) => Taken::Chosen(self.items[*at].does.clone()),
                    None => Taken::Used,
                };
            }
            Some(action) => {
                return match self.cursor.act(action, self.shown.len()) {
                    true => Taken::Used,
                    false => Taken::Ignored,
                };
            }
            None => {}
        }
        match self.input.key(event) {
            true => {
                self.narrow();
                Taken::Used
            }
            false => Taken::Ignored,
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.input.insert(text);
        self.narrow();
    }

    pub(crate) fn click(&mut self, column: u16, row: u16) -> Taken<T> {
        if !self.area.contains((column, row).into()) {
            return Taken::Used;
        }
        let line = self.cursor.line_at(usize::from(row - self.area.y));
        match self.shown.get(line) {
            Some(at) => Taken::Chosen(self.items[*at].does.clone()),
            None => Taken::Used,
        }
    }

    pub(crate) fn scroll(&mut self, lines: isize) {
        self.cursor.step(lines, self.shown.len());
    }

    fn narrow(&mut self) {
        let pattern = Pattern::new(self.input.text());
        let scored = self.items.iter().enumerate().filter_map(|(at, item)| {
            let score = pattern.score(&item.label);
            // What stands at the right counts as a whole word only.
            let noted = || pattern.is_whole_in(&item.note).then_some(0);
            let score = score.or_else(noted)?;
            Some((score, at))
        });
        let mut scored: Vec<(u32, usize)> = scored.collect();
        if !pattern.is_empty() {
            scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        }
        self.shown = scored.into_iter().map(|(_, at)| at).collect();
        self.cursor = Cursor::default();
    }

    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, screen: Rect, theme: &Theme) {
        let widths = self.items.iter().take(200);
        let widths = widths.map(|item| text::width(&item.label) + text::width(&item.note) + 8);
        let width = widths.max().unwrap_or(0).clamp(40, 96);
        let height = self.items.len().clamp(1, 18) + 3;
        let size = (
            u16::try_from(width).unwrap_or(u16::MAX),
            u16::try_from(height).unwrap_or(u16::MAX),
        );
        let inside = draw::popup(frame, screen, size, &self.title, theme);
        let prompt = Line::from(vec![
            Span::styled("> ", theme.style(Role::Accent)),
            Span::raw(self.input.text().to_owned()),
        ]);
        frame
            .buffer_mut()
            .set_line(inside.x, inside.y, &prompt, inside.width);
        let column = u16::try_from(self.input.column()).unwrap_or(u16::MAX);
        let x = inside.x.saturating_add(2).saturating_add(column);
        frame.set_cursor_position(Position::new(x.min(inside.right()), inside.y));
        let area = Rect {
            y: inside.y + 1,
            height: inside.height.saturating_sub(1),
            ..inside
        };
        self.area = area;
        if self.shown.is_empty() {
            let line = Line::styled("  nothing matches", theme.style(Role::Secondary));
            return draw::line(frame.buffer_mut(), area.x, area.y, area.width, &line);
        }
        let pattern = Pattern::new(self.input.text());
        let (items, shown) = (&self.items, &self.shown);
        draw::rows(
            frame,
            area,
            &mut self.cursor,
            shown.len(),
            true,
            theme,
            |index, width| {
                let item = &items[shown[index]];
                let width = usize::from(width);
                let ellipsis = theme.glyphs().ellipsis;
                let note = text::cut(&item.note, width / 2, ellipsis).into_owned();
                let room = width.saturating_sub(text::width(&note) + 1);
                let label = text::column(&item.label, room, ellipsis);
                let places = pattern.places(&item.label);
                let mut spans = draw::marked(&label, &places, theme.style(Role::Text), theme);
                spans.push(Span::raw(" "));
                spans.push(Span::styled(note, theme.style(Role::Secondary)));
                Line::from(spans)
            },
        );
    }
}

/// Lines to be read, with a title; some have something to do at the end.
#[derive(Debug)]
pub(crate) struct Sheet<T> {
    title: String,
    lines: Vec<Line<'static>>,
    /// What Enter does, and how that is called.
    does: Option<(String, T)>,
    offset: usize,
    height: usize,
}

impl<T: Clone> Sheet<T> {
    pub(crate) fn new(title: impl Into<String>, lines: Vec<Line<'static>>) -> Self {
        Self {
            title: title.into(),
            lines,
            does: None,
            offset: 0,
            height: 0,
        }
    }

    /// The same with something that Enter does.
    pub(crate) fn with(mut self, name: impl Into<String>, does: T) -> Self {
        self.does = Some((name.into(), does));
        self
    }

    pub(crate) fn contexts() -> Vec<Context> {
        vec![Context::Move, Context::Global]
    }

    pub(crate) fn key(&mut self, action: Option<Action>) -> Taken<T> {
        let page = self.height.max(2) - 1;
        let last = self.lines.len().saturating_sub(self.height);
        self.offset = match action {
            Some(Action::Back | Action::Help) => return Taken::Closed,
            Some(Action::Open) => {
                return match &self.does {
                    Some((_, does)) => Taken::Chosen(does.clone()),
                    None => Taken::Closed,
                };
            }
            Some(Action::Up) => self.offset.saturating_sub(1),
            Some(Action::Down) => self.offset + 1,
            Some(Action::PageUp) => self.offset.saturating_sub(page),
            Some(Action::PageDown) => self.offset + page,
            Some(Action::HalfUp) => self.offset.saturating_sub(page / 2),
            Some(Action::HalfDown) => self.offset + page / 2,
            Some(Action::Top) => 0,
            Some(Action::Bottom) => last,
            _ => return Taken::Ignored,
        }
        .min(last);
        Taken::Used
    }

    pub(crate) fn scroll(&mut self, lines: isize) {
        let last = self.lines.len().saturating_sub(self.height);
        self.offset = self.offset.saturating_add_signed(lines).min(last);
    }

    /// The text, for copying.
    pub(crate) fn text(&self) -> String {
        let lines = self.lines.iter().map(ToString::to_string);
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, screen: Rect, theme: &Theme) {
        let widest = self.lines.iter().map(Line::width).max().unwrap_or(0);
        let size = (
            u16::try_from(widest.clamp(36, 110) + 5).unwrap_or(u16::MAX),
            u16::try_from(self.lines.len() + 2)
                .unwrap_or(u16::MAX)
                .saturating_add(if self.does.is_some() { 2 } else { 0 }),
        );
        let inside = draw::popup(frame, screen, size, &self.title, theme);
        let mut area = inside;
        if let Some((name, _)) = &self.does {
            area.height = area.height.saturating_sub(2);
            let line = Line::from(vec![
                Span::styled("Enter ", theme.style(Role::Key)),
                Span::styled(name.clone(), theme.style(Role::Accent)),
                Span::styled("   Esc ", theme.style(Role::Key)),
                Span::styled("back", theme.style(Role::Secondary)),
            ]);
            let y = inside.bottom().saturating_sub(1);
            draw::line(frame.buffer_mut(), inside.x, y, inside.width, &line);
        }
        self.height = usize::from(area.height);
        self.offset = self
            .offset
            .min(self.lines.len().saturating_sub(self.height));
        let shown = self.lines.iter().skip(self.offset).take(self.height);
        for (y, content) in (area.y..).zip(shown) {
            draw::line(frame.buffer_mut(), area.x, y, area.width, content);
        }
        draw::scroll_bar(
            frame.buffer_mut(),
            area,
            self.offset,
            self.lines.len(),
            theme,
        );
    }
}

/// A line to be typed, such as a file name.
#[derive(Debug)]
pub(crate) struct Ask {
    title: String,
    input: LineInput,
}

impl Ask {
    pub(crate) fn new(title: impl Into<String>, text: &str) -> Self {
        Self {
            title: title.into(),
            input: LineInput::with(text),
        }
    }

    pub(crate) fn contexts() -> Vec<Context> {
        vec![Context::Picker, Context::Text, Context::Global]
    }

    pub(crate) fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Taken<String> {
        match action {
            Some(Action::Back) => Taken::Closed,
            Some(Action::Pick) => Taken::Chosen(self.input.text().to_owned()),
            Some(_) => Taken::Ignored,
            None => match self.input.key(event) {
                true => Taken::Used,
                false => Taken::Ignored,
            },
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.input.insert(text);
    }

    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, screen: Rect, theme: &Theme) {
        let inside = draw::popup(frame, screen, (72, 3), &self.title, theme);
        let line = Line::raw(self.input.text().to_owned());
        draw::line(frame.buffer_mut(), inside.x, inside.y, inside.width, &line);
        let column = u16::try_from(self.input.column()).unwrap_or(u16::MAX);
        let x = inside.x.saturating_add(column).min(inside.right());
        frame.set_cursor_position(Position::new(x, inside.y));
    }
}
