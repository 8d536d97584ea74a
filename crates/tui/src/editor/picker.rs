//! A list to choose from, with a filter that is typed.
//!
//! Only the lines in view are made, so that five thousand choices cost no more than ten.

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};

use crate::keys::Action;
use crate::measure::{fit, width};
use crate::theme::{Role, Theme};

/// How many choices are measured to find how wide the list has to be.
const MOST_MEASURED: usize = 200;

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What it is called; safe to show.
    pub(crate) label: String,
    /// What is said beside it; safe to show.
    pub(crate) aside: String,
}

/// A list to choose from.
#[derive(Debug)]
pub(crate) struct Picker {
    entries: Vec<Entry>,
    /// Which are ticked, if several can be.
    ticked: Option<Vec<bool>>,
    filter: String,
    /// The numbers of the entries that the filter leaves.
    shown: Vec<usize>,
    selected: usize,
    top: usize,
    /// Where the lines were drawn.
    lines: Rect,
}

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// It goes on.
    No,
    /// This one was chosen, or ticked or unticked.
    One(usize),
    /// It is done; ticks are as they are.
    Done,
}

impl Picker {
    /// A list to choose one from.
    pub(crate) fn one(entries: Vec<Entry>, selected: usize) -> Self {
        let mut picker = Self {
            shown: (0..entries.len()).collect(),
            entries,
            ticked: None,
            filter: String::new(),
            selected: 0,
            top: 0,
            lines: Rect::ZERO,
        };
        picker.selected = selected.min(picker.shown.len().saturating_sub(1));
        picker
    }

    /// A list to tick several of.
    pub(crate) fn several(entries: Vec<Entry>, ticked: Vec<bool>) -> Self {
        let mut picker = Self::one(entries, 0);
        picker.ticked = Some(ticked);
        picker
    }

    /// Sets or removes a tick.
    pub(crate) fn tick(&mut self, entry: usize, is_ticked: bool) {
        if let Some(tick) = self
            .ticked
            .as_mut()
            .and_then(|ticked| ticked.get_mut(entry))
        {
            *tick = is_ticked;
        }
    }

    /// Whether an entry is ticked.
    pub(crate) fn is_ticked(&self, entry: usize) -> bool {
        let ticked = self.ticked.as_ref().and_then(|ticked| ticked.get(entry));
        ticked.copied().unwrap_or(false)
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Picked {
        let page = usize::from(self.lines.height).max(1);
        match action {
            Some(Action::PickUp) => self.go(self.selected.saturating_sub(1)),
            Some(Action::PickDown) => self.go(self.selected + 1),
            Some(Action::PickPageUp) => self.go(self.selected.saturating_sub(page)),
            Some(Action::PickPageDown) => self.go(self.selected + page),
            Some(Action::Pick) if self.ticked.is_some() => return Picked::Done,
            Some(Action::Pick) => return self.chosen(),
            Some(_) => {}
            None => return self.typed(event),
        }
        Picked::No
    }

    /// Takes a paste into the filter.
    pub(crate) fn paste(&mut self, text: &str) {
        self.filter
            .extend(text.chars().filter(|character| !character.is_control()));
        self.refilter();
    }

    /// A click or the wheel at a place of the screen.
    pub(crate) fn click(&mut self, column: u16, row: u16) -> Picked {
        if !self.lines.contains((column, row).into()) {
            return Picked::No;
        }
        let at = self.top + usize::from(row - self.lines.y);
        if at >= self.shown.len() {
            return Picked::No;
        }
        self.selected = at;
        self.chosen()
    }

    /// Moves the selection by some lines.
    pub(crate) fn scroll(&mut self, down: bool) {
        match down {
            true => self.go(self.selected + 1),
            false => self.go(self.selected.saturating_sub(1)),
        }
    }

    fn typed(&mut self, event: KeyEvent) -> Picked {
        let is_command = event
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match event.code {
            // In a list to tick, the space ticks; filters of such lists are single words.
            KeyCode::Char(' ') if self.ticked.is_some() => return self.chosen(),
            KeyCode::Char(character) if !is_command => self.filter.push(character),
            KeyCode::Backspace if !self.filter.is_empty() => {
                self.filter.pop();
            }
            KeyCode::Home => self.go(0),
            KeyCode::End => self.go(self.shown.len()),
            _ => return Picked::No,
        }
        if matches!(event.code, KeyCode::Char(_) | KeyCode::Backspace) {
            self.refilter();
        }
        Picked::No
    }

    fn chosen(&self) -> Picked {
        match self.shown.get(self.selected) {
            Some(entry) => Picked::One(*entry),
            None => Picked::No,
        }
    }

    fn go(&mut self, to: usize) {
        self.selected = to.min(self.shown.len().saturating_sub(1));
    }

    fn refilter(&mut self) {
        let filter = self.filter.to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let fits = |entry: &Entry| {
            let text = format!("{} {}", entry.label, entry.aside).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let numbered = self.entries.iter().enumerate();
        self.shown = numbered
            .filter_map(|(number, entry)| fits(entry).then_some(number))
            .collect();
        self.selected = 0;
        self.top = 0;
    }

    /// How large a box it needs, borders and filter included.
    pub(crate) fn size(&self) -> (usize, usize) {
        let widest = self.entries.iter().take(MOST_MEASURED);
        let widest = widest.map(|entry| width(&entry.label) + width(&entry.aside) + 3);
        let widest = widest.max().unwrap_or(0).max(18);
        (widest + 8, self.entries.len() + 3)
    }

    /// Draws it into a box.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, title: &str, theme: &Theme) {
        let glyphs = theme.glyphs();
        frame.render_widget(Clear, area);
        let count = format!(" {} of {} ", self.shown.len(), self.entries.len());
        let block = Block::bordered()
            .border_set(theme.border())
            .border_style(theme.style(Role::BorderFocused))
            .title(Span::styled(
                format!(" {title} "),
                theme.style(Role::TitleFocused),
            ))
            .title_bottom(Line::styled(count, theme.style(Role::Secondary)).right_aligned());
        let inside = block.inner(area);
        frame.render_widget(block, area);
        if inside.height == 0 {
            return;
        }
        let columns = usize::from(inside.width);
        let filter = match self.filter.is_empty() {
            true => Span::styled("type to filter", theme.style(Role::Placeholder)),
            false => Span::styled(
                attache_view::safe_text::one_line(&self.filter).into_owned(),
                theme.style(Role::Input),
            ),
        };
        let prompt = Line::from(vec![Span::styled("/ ", theme.style(Role::Key)), filter]);
        frame.render_widget(
            prompt,
            Rect {
                height: 1,
                ..inside
            },
        );
        self.lines = Rect {
            y: inside.y + 1,
            height: inside.height - 1,
            ..inside
        };
        let height = usize::from(self.lines.height);
        if height == 0 {
            return;
        }
        if self.selected < self.top {
            self.top = self.selected;
        } else if self.selected >= self.top + height {
            self.top = self.selected + 1 - height;
        }
        let window = self.shown.iter().enumerate().skip(self.top).take(height);
        for (row, (at, entry)) in (self.lines.y..).zip(window) {
            let Some(shown) = self.entries.get(*entry) else {
                continue;
            };
            let tick = match &self.ticked {
                None => String::new(),
                Some(_) if self.is_ticked(*entry) => format!("{} ", glyphs.checked),
                Some(_) => format!("{} ", glyphs.unchecked),
            };
            let cursor = if at == self.selected {
                glyphs.cursor
            } else {
                "  "
            };
            let room = columns.saturating_sub(width(cursor) + width(&tick));
            let label = fit(&shown.label, room, glyphs.ellipsis).into_owned();
            let room = room.saturating_sub(width(&label) + 2);
            let mut line = Line::from(vec![Span::raw(cursor), Span::raw(tick), Span::raw(label)]);
            if !shown.aside.is_empty() && room > 3 {
                line.push_span("  ");
                let aside = fit(&shown.aside, room, glyphs.ellipsis).into_owned();
                line.push_span(Span::styled(aside, theme.style(Role::Secondary)));
            }
            if at == self.selected {
                line = line.style(theme.style(Role::Selected));
            }
            let area = Rect {
                y: row,
                height: 1,
                ..self.lines
            };
            frame.render_widget(line, area);
        }
        if self.shown.is_empty() {
            let nothing = Span::styled("  nothing matches", theme.style(Role::Placeholder));
            frame.render_widget(
                nothing,
                Rect {
                    height: 1,
                    ..self.lines
                },
            );
        }
    }
}
