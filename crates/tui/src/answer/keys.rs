//! What keys do in an answer.

use attache_view::Value;
use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};

use super::rows::Target;
use super::section::{Origin, Shown};
use super::{AnswerView, Place, search};
use crate::component::{CopyItem, Outcome, Request};
use crate::editor::{Shape, TextInput};
use crate::keys::Action;

/// Answers larger than this are copied as they are shown, not read again for exact values.
const MOST_READ_AGAIN: usize = 4 * 1024 * 1024;
/// How far a row that is not wrapped moves to the side.
const SIDEWAYS: usize = 8;

impl AnswerView {
    pub(super) fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Outcome {
        if self.search.typed.is_some() {
            return self.search_key(event, action);
        }
        let Some(action) = action else {
            return Outcome::Ignored;
        };
        let page = self.size.1.max(2) - 1;
        match action {
            Action::Down => self.cursor = self.down(self.cursor, 1),
            Action::Up => self.cursor = self.up(self.cursor, 1),
            Action::PageDown => self.page(page, true),
            Action::PageUp => self.page(page, false),
            Action::HalfDown => self.page(page / 2 + 1, true),
            Action::HalfUp => self.page(page / 2 + 1, false),
            Action::Top => self.cursor = Place::default(),
            Action::Bottom => self.go_to_end(),
            Action::NextBlock => self.go_to_block(true),
            Action::PreviousBlock => self.go_to_block(false),
            Action::Left => self.aside(false),
            Action::Right => self.aside(true),
            Action::Open => return self.open(),
            Action::Filter => {
                self.search.typed = TextInput::new("", Shape::Line).ok();
            }
            Action::NextMatch => self.find(true),
            Action::PreviousMatch => self.find(false),
            Action::ViewAs => self.next_view(),
            Action::Wrap => {
                self.anchored(|view| view.wraps = !view.wraps);
                self.left = 0;
                self.say(if self.wraps {
                    "Long lines are wrapped."
                } else {
                    "Long lines are not wrapped."
                });
            }
            Action::Sort => self.sort(),
            Action::Copy => return self.copy(),
            Action::Save => return self.save(),
            Action::OpenOutside => return self.open_outside(),
            _ => return Outcome::Ignored,
        }
        Outcome::Used
    }

    fn say(&mut self, text: &str) {
        self.note = Some(text.to_owned());
    }

    /// Both the cursor and what is in view move.
    fn page(&mut self, by: usize, is_down: bool) {
        if is_down {
            self.cursor = self.down(self.cursor, by);
            let top = self.down(self.top, by);
            // The last page stays full.
            let rest = self.down(top, self.size.1.saturating_sub(1));
            self.top = self.up(rest, self.size.1.saturating_sub(1));
        } else {
            self.cursor = self.up(self.cursor, by);
            self.top = self.up(self.top, by);
        }
    }

    fn go_to_end(&mut self) {
        let section = self.sections.len().saturating_sub(1);
        loop {
            let height = self.height(section);
            self.cursor = Place {
                section,
                row: height.saturating_sub(1),
            };
            match self.sections.get_mut(section) {
                Some(last) if !last.is_complete() => last.extend(),
                _ => return,
            }
        }
    }

    fn go_to_block(&mut self, is_next: bool) {
        let last = self.sections.len().saturating_sub(1);
        let section = match is_next {
            true => (self.cursor.section + 1).min(last),
            false if self.cursor.row > 0 => self.cursor.section,
            false => self.cursor.section.saturating_sub(1),
        };
        self.cursor = Place { section, row: 0 };
        self.top = self.cursor;
    }

    /// Moves over the columns of a table, opens and closes a tree, scrolls long lines.
    fn aside(&mut self, right: bool) {
        let row = self.body_row(self.cursor);
        let has_title = usize::from(self.has_title(self.cursor.section));
        match self
            .sections
            .get_mut(self.cursor.section)
            .map(|it| &mut it.shown)
        {
            Some(Shown::Table(table)) => table.move_column(right),
            Some(Shown::Tree(tree)) => {
                if let Some(row) = row {
                    self.cursor.row = tree.aside(row, right) + has_title;
                }
            }
            _ if !self.wraps => {
                self.left = match right {
                    true => self.left + SIDEWAYS,
                    false => self.left.saturating_sub(SIDEWAYS),
                };
            }
            _ => {}
        }
    }

    fn open(&mut self) -> Outcome {
        let row = self.body_row(self.cursor);
        let Some(section) = self.sections.get_mut(self.cursor.section) else {
            return Outcome::Used;
        };
        if section.is_folded {
            section.is_folded = false;
            return Outcome::Used;
        }
        let Some(row) = row else {
            return Outcome::Used;
        };
        match section.target(row).cloned() {
            Some(Target::Resource(uri)) => return Outcome::Request(Request::Read { uri }),
            Some(Target::Page(url)) => return Outcome::Request(Request::OpenUrl(url)),
            None => {}
        }
        if let Shown::Tree(tree) = &mut section.shown {
            tree.toggle(row);
        }
        Outcome::Used
    }

    fn next_view(&mut self) {
        let Some(section) = self.sections.get_mut(self.cursor.section) else {
            return;
        };
        section.next_view(&self.document);
        let words = format!("As {}.", section.view_as().name());
        self.cursor.row = 0;
        self.left = 0;
        self.say(&words);
    }

    fn sort(&mut self) {
        match self
            .sections
            .get_mut(self.cursor.section)
            .map(|it| &mut it.shown)
        {
            Some(Shown::Table(table)) => table.sort(),
            _ => self.say("Only tables can be sorted."),
        }
    }

    fn search_key(&mut self, event: KeyEvent, action: Option<Action>) -> Outcome {
        match action {
            Some(Action::FilterClear | Action::Back) => {
                self.search.typed = None;
                self.search.found.clear();
            }
            Some(Action::FilterDone) => {
                let typed = self.search.typed.take();
                self.search.found = typed.map_or_else(String::new, |typed| typed.text());
                if !self.search.found.is_empty() {
                    self.find_from(self.cursor, true, true);
                }
            }
            Some(Action::FilterUp | Action::FilterDown) => {}
            Some(_) => return Outcome::Ignored,
            None => {
                if let Some(typed) = &mut self.search.typed {
                    typed.key(event);
                }
            }
        }
        Outcome::Used
    }

    fn find(&mut self, forward: bool) {
        match self.search.found.is_empty() {
            true => self.say("Nothing is searched for; / begins."),
            false => self.find_from(self.cursor, forward, false),
        }
    }

    /// Goes to the next or the previous row with the text that is searched for; behind the end it
    /// goes on at the beginning.
    fn find_from(&mut self, from: Place, forward: bool, or_here: bool) {
        let count = self.sections.len();
        for passed in 0..=count {
            let section = match forward {
                true => (from.section + passed) % count,
                false => (from.section + count - passed % count) % count,
            };
            self.layout(section);
            let start = match passed {
                0 => self
                    .body_row(from)
                    .or_else(|| (from.row > 0).then_some(usize::MAX)),
                _ => None,
            };
            let Some(row) = self.find_in(section, start, forward, or_here) else {
                continue;
            };
            let row = row + usize::from(self.has_title(section));
            let is_around = passed > 0 && (section < from.section) == forward;
            self.cursor = Place { section, row };
            if is_around && count > 1 {
                self.say("The search went around.");
            }
            return;
        }
        let found = attache_view::safe_text::one_line(&self.search.found).into_owned();
        self.say(&format!("\"{found}\" is not in the answer."));
    }

    /// The row of a section that has the text, after or before a row; any row without one.
    fn find_in(
        &mut self,
        section: usize,
        from: Option<usize>,
        forward: bool,
        or_here: bool,
    ) -> Option<usize> {
        let found = self.search.found.clone();
        let section = self.sections.get_mut(section)?;
        if section.is_folded {
            return None;
        }
        if let Shown::Text(text) = &mut section.shown {
            let position = match (from, forward) {
                (None, true) => 0,
                (None, false) => usize::MAX,
                (Some(usize::MAX), _) => usize::MAX,
                (Some(row), true) if !or_here => text.position(row + 1).max(text.position(row) + 1),
                (Some(row), _) => text.position(row),
            };
            let range = match forward {
                true => search::next(text.text(), &found, position),
                false => search::previous(text.text(), &found, position),
            };
            return Some(text.row_of(range?.start));
        }
        let count = section.count();
        let has = |row: &usize| search::next(&section.plain(*row), &found, 0).is_some();
        match (from, forward) {
            (None, true) => (0..count).find(has),
            (None, false) => (0..count).rev().find(has),
            (Some(row), true) => {
                let first = row.saturating_add(usize::from(!or_here));
                (first..count.max(first)).find(has)
            }
            (Some(row), false) => (0..row.min(count)).rev().find(has),
        }
    }

    /// Everything that can be copied from here.
    fn copy(&mut self) -> Outcome {
        let row = self.body_row(self.cursor);
        let Some(section) = self.sections.get(self.cursor.section) else {
            return Outcome::Used;
        };
        let mut items: Vec<CopyItem> = Vec::new();
        let mut add = |label: &str, text: String| {
            let label = label.to_owned();
            if !text.is_empty() && !items.iter().any(|item| item.text == text) {
                items.push(CopyItem { label, text });
            }
        };
        let exact = match self.raw.as_bytes().len() <= MOST_READ_AGAIN {
            true => section.exact(&self.raw),
            false => None,
        };
        if let (Some(row), Some(path)) = (row, row.and_then(|row| section.path(row))) {
            let value = match section.origin {
                Origin::Structured => exact.as_ref().and_then(|json| path.of(json)).cloned(),
                // A text that is JSON is read again.
                _ => section
                    .exact_text(&self.raw)
                    .and_then(|text| Value::parse(&text).ok())
                    .and_then(|json| path.of(&json).cloned()),
            };
            match value {
                Some(value) => {
                    add("value", value.plain());
                    add("value as JSON", value.to_string());
                }
                None => add("row", section.plain(row)),
            }
            add("path", path.to_string());
        }
        if let Shown::Table(table) = &section.shown {
            let cell = row.and_then(|row| table.cell_text(row));
            add("cell", cell.unwrap_or_default());
            add(
                &format!("column {}", table.column_name()),
                table.column_text(),
            );
        }
        if let Some(Target::Page(address) | Target::Resource(address)) =
            row.and_then(|row| section.target(row))
        {
            add("address", address.clone());
        }
        match section.origin {
            Origin::Head => {}
            Origin::Structured => {
                let json = exact.as_ref().map(Value::to_string);
                add("structured answer as JSON", json.unwrap_or_default());
            }
            Origin::Block(_) => {
                let text = exact.as_ref().and_then(|_| section.exact_text(&self.raw));
                let shown = section.body(&self.document).and_then(super::text::text_of);
                add(
                    "text",
                    text.or_else(|| shown.map(str::to_owned))
                        .unwrap_or_default(),
                );
                let json = exact.as_ref().map(Value::to_string);
                add("block as JSON", json.unwrap_or_default());
            }
        }
        if let Some(row) = row {
            add("row", section.plain(row));
        }
        add("whole answer as JSON", self.raw.text().into_owned());
        Outcome::Request(Request::CopyMenu(items))
    }

    fn save(&mut self) -> Outcome {
        let Some(section) = self.sections.get(self.cursor.section) else {
            return Outcome::Used;
        };
        let extension = section.extension(&self.document);
        Outcome::Request(Request::Save {
            name: format!("answer.{extension}"),
            bytes: section.bytes(&self.document, &self.raw),
        })
    }

    fn open_outside(&mut self) -> Outcome {
        let Some(section) = self.sections.get(self.cursor.section) else {
            return Outcome::Used;
        };
        let extension = section.extension(&self.document);
        match section.is_media(&self.document) {
            true => Outcome::Request(Request::OpenBytes {
                extension: extension.to_owned(),
                bytes: section.bytes(&self.document, &self.raw),
            }),
            false => Outcome::Request(Request::Page {
                text: section.safe_text(&self.document),
            }),
        }
    }

    /// The rows are made for another width, if it is another.
    pub(super) fn resize(&mut self, columns: usize, height: usize) {
        if self.size.0 != columns {
            self.anchored(|view| view.size.0 = columns);
        }
        self.size.1 = height;
    }

    /// Changes how rows are made; the cursor and what is in view stay at their text.
    fn anchored(&mut self, change: impl FnOnce(&mut Self)) {
        let before = [self.cursor, self.top].map(|place| {
            let row = self.body_row(place)?;
            match &self.sections.get(place.section)?.shown {
                Shown::Text(text) => Some((place.section, text.position(row))),
                _ => None,
            }
        });
        change(self);
        let [cursor, top] = before.map(|anchor| {
            let (section, position) = anchor?;
            self.layout(section);
            let title = usize::from(self.has_title(section));
            match &mut self.sections.get_mut(section)?.shown {
                Shown::Text(text) => {
                    let row = text.row_of(position) + title;
                    Some(Place { section, row })
                }
                _ => None,
            }
        });
        self.cursor = cursor.unwrap_or(self.cursor);
        self.top = top.unwrap_or(self.top);
    }

    pub(super) fn mouse(&mut self, event: MouseEvent) -> Outcome {
        let is_inside = self.area.contains((event.column, event.row).into());
        match event.kind {
            _ if !is_inside => Outcome::Ignored,
            MouseEventKind::ScrollDown => {
                self.page(3, true);
                Outcome::Used
            }
            MouseEventKind::ScrollUp => {
                self.page(3, false);
                Outcome::Used
            }
            MouseEventKind::Down(MouseButton::Left) => {
                let place = self.down(self.top, usize::from(event.row - self.area.y));
                let was_there = place == self.cursor;
                self.cursor = place;
                match was_there {
                    true => self.open(),
                    false => Outcome::Used,
                }
            }
            _ => Outcome::Ignored,
        }
    }
}
