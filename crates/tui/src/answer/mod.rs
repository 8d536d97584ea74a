//! Answers: text, Markdown, trees, tables, images.
//!
//! An answer is a column of sections, one for each block. Only the rows in view are made; of a
//! large text only as much is indexed as has been scrolled to. What needs time, such as the
//! decoding of an image, happens on a thread.

mod body;
mod copied;
mod facts;
mod hex;
mod image;
mod keys;
mod markdown;
mod rows;
mod search;
mod section;
mod table;
mod text;
mod tree;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use attache::protocol::Payload;
use attache_view::document::Document;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::component::{Component, Input, Outcome, Waker};
use crate::editor::TextInput;
use crate::keys::{Action, Context};
use crate::measure::fit;
use crate::text::bytes as size;
use crate::theme::{Role, Theme};

use section::{LookedAt, Section, Shown};

/// Columns before the text: the mark of the row that the cursor is on.
const MARGIN: u16 = 2;
/// Areas lower than this have no line that tells where one is.
const LEAST_HEIGHT: u16 = 4;

/// A row of a section. Row zero is the title, where there is one; behind the last row stands an
/// empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    section: usize,
    row: usize,
}

/// An answer to be looked at.
#[derive(Debug)]
pub struct AnswerView {
    document: Arc<Document>,
    raw: Payload,
    waker: Waker,
    sections: Vec<Section>,
    cursor: Place,
    top: Place,
    /// The columns and rows that were drawn last.
    size: (usize, usize),
    wraps: bool,
    /// The first column that is drawn of rows that are not wrapped.
    left: usize,
    search: Search,
    /// What there is to say about the last key.
    note: Option<String>,
    area: Rect,
    /// There is one block only, so that it needs no title.
    is_alone: bool,
    /// The theme that rows were made with; they are made with styles.
    theme: Option<Theme>,
}

#[derive(Debug, Default)]
struct Search {
    /// The text while it is typed.
    typed: Option<TextInput>,
    /// What is looked for.
    found: String,
}

impl AnswerView {
    /// A view of a document. `raw` is the JSON it came as, for "view as JSON", hex and copying.
    pub fn new(document: Arc<Document>, raw: Payload, waker: Waker) -> Self {
        let sections = Section::all(&document);
        let blocks = sections
            .iter()
            .filter(|it| it.origin != section::Origin::Head);
        Self {
            is_alone: blocks.count() == 1,
            document,
            raw,
            waker,
            sections,
            cursor: Place::default(),
            top: Place::default(),
            size: (80, 20),
            wraps: true,
            left: 0,
            search: Search::default(),
            note: None,
            area: Rect::ZERO,
            theme: None,
        }
    }

    fn layout(&mut self, section: usize) {
        let theme = self
            .theme
            .unwrap_or_else(|| Theme::new(Default::default(), false));
        let looked_at = LookedAt {
            document: &self.document,
            raw: &self.raw,
            waker: &self.waker,
            theme: &theme,
            wraps: self.wraps,
        };
        if let Some(section) = self.sections.get_mut(section) {
            section.layout(&looked_at, self.size.0);
        }
    }

    fn has_title(&self, section: usize) -> bool {
        let section = self.sections.get(section);
        section.is_some_and(|it| it.has_title(&self.document, self.is_alone))
    }

    /// Whether an empty row follows: not behind the last section, nor between links.
    fn has_gap(&self, section: usize) -> bool {
        let is_link = |at: usize| self.sections.get(at).is_some_and(|it| it.number.is_some());
        let is_last = section + 1 >= self.sections.len();
        let is_among_links = is_link(section) && is_link(section + 1);
        !is_last && !is_among_links
    }

    /// How many rows a section has, as far as they are known: title, body and an empty row.
    fn height(&mut self, section: usize) -> usize {
        self.layout(section);
        let body = self.sections.get(section).map_or(0, Section::count);
        usize::from(self.has_title(section)) + body + usize::from(self.has_gap(section))
    }

    /// The place so many rows further down, or the last one.
    fn down(&mut self, from: Place, mut by: usize) -> Place {
        let mut place = from;
        while by > 0 {
            let height = self.height(place.section);
            let left = height.saturating_sub(place.row + 1);
            if by <= left {
                place.row += by;
                return place;
            }
            if self
                .sections
                .get(place.section)
                .is_some_and(|it| !it.is_complete())
            {
                self.sections[place.section].extend();
                continue;
            }
            if place.section + 1 >= self.sections.len() {
                place.row = height.saturating_sub(1);
                return place;
            }
            by -= left + 1;
            place = Place {
                section: place.section + 1,
                row: 0,
            };
            // A section without any row is passed.
            while self.height(place.section) == 0 && place.section + 1 < self.sections.len() {
                place.section += 1;
            }
        }
        place
    }

    /// The place so many rows further up, or the first one.
    fn up(&mut self, from: Place, mut by: usize) -> Place {
        let mut place = from;
        loop {
            if by <= place.row {
                place.row -= by;
                return place;
            }
            let Some(section) = place.section.checked_sub(1) else {
                return Place::default();
            };
            by -= place.row + 1;
            let height = self.height(section);
            match height {
                0 => {
                    place = Place { section, row: 0 };
                    by += 1;
                    if section == 0 {
                        return place;
                    }
                }
                _ => {
                    place = Place {
                        section,
                        row: height - 1,
                    };
                }
            }
        }
    }

    /// The row of the body that a place is on; nothing for titles and empty rows.
    fn body_row(&self, place: Place) -> Option<usize> {
        let row = place
            .row
            .checked_sub(usize::from(self.has_title(place.section)))?;
        let count = self.sections.get(place.section)?.count();
        (row < count).then_some(row)
    }

    /// Keeps the cursor in view, and both on rows that exist.
    fn scroll(&mut self) {
        let height = self.size.1.max(1);
        let last = self.height(self.cursor.section).saturating_sub(1);
        self.cursor.row = self.cursor.row.min(last);
        let last = self.height(self.top.section).saturating_sub(1);
        self.top.row = self.top.row.min(last);
        if self.cursor < self.top {
            self.top = self.cursor;
        }
        let lowest = self.up(self.cursor, height - 1);
        if self.top < lowest {
            self.top = lowest;
        }
    }

    fn body_line(&self, place: Place, columns: usize, theme: &Theme) -> Line<'static> {
        let Some(section) = self.sections.get(place.section) else {
            return Line::default();
        };
        let has_title = self.has_title(place.section);
        if has_title && place.row == 0 {
            return section
                .title(&self.document, self.is_alone, theme)
                .unwrap_or_default();
        }
        let Some(row) = self.body_row(place) else {
            return Line::default();
        };
        let mut line = section.line(row, columns, theme);
        if self.left > 0 && matches!(section.shown, Shown::Text(_)) {
            let text: String = line
                .spans
                .iter()
                .map(|span| span.content.as_ref())
                .collect();
            let rest: String = text.chars().skip(self.left).collect();
            line = Line::styled(rest, theme.style(Role::Text));
        }
        match self.search.found.is_empty() {
            true => line,
            false => rows::highlighted(line, &self.search.found, theme.style(Role::Match)),
        }
    }

    /// What the last line tells: where the cursor is, in what.
    fn status(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let glyphs = theme.glyphs();
        if let Some(note) = &self.note {
            let note = fit(note, columns, glyphs.ellipsis).into_owned();
            return Line::styled(note, theme.style(Role::Warning));
        }
        let mut words = Vec::new();
        if let Some(section) = self.sections.get(self.cursor.section) {
            words.push(section.view_as().name().to_owned());
            match &section.shown {
                Shown::Text(text) => {
                    let row = self.body_row(self.cursor).unwrap_or(0) + 1;
                    let (known, total) = text.known();
                    match text.is_complete() {
                        true => words.push(format!("row {row} of {}", text.count())),
                        false => {
                            words.push(format!("row {row}"));
                            words.push(format!(
                                "{} of {}, more on scrolling",
                                size(known),
                                size(total)
                            ));
                        }
                    }
                }
                Shown::Table(table) => words.push(format!("column {}", table.column_name())),
                Shown::Tree(tree) => {
                    let path = tree
                        .path(self.body_row(self.cursor).unwrap_or(0))
                        .to_string();
                    words.push(if path.is_empty() {
                        "the whole".to_owned()
                    } else {
                        path
                    });
                }
                _ => {}
            }
        }
        if self.sections.len() > 1 {
            let at = self.cursor.section + 1;
            words.push(format!("block {at} of {}", self.sections.len()));
        }
        if !self.search.found.is_empty() {
            words.push(format!(
                "/{}",
                attache_view::safe_text::one_line(&self.search.found)
            ));
        }
        let words = words.join(&format!(" {} ", glyphs.separator));
        let words = fit(&words, columns, glyphs.ellipsis).into_owned();
        Line::styled(words, theme.style(Role::Secondary))
    }

    fn draw_rows(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let cursor = Span::styled(theme.glyphs().cursor, theme.style(Role::Accent));
        let margin = MARGIN.min(area.width);
        let columns = usize::from(area.width - margin);
        let mut place = self.top;
        let mut drawn = Vec::new();
        for y in area.y..area.bottom() {
            let line = self.body_line(place, columns, theme);
            let row = Rect {
                x: area.x + margin,
                y,
                width: area.width - margin,
                height: 1,
            };
            frame.render_widget(line, row);
            drawn.push((place, row));
            if place == self.cursor {
                let mark = Rect {
                    x: area.x,
                    y,
                    width: margin,
                    height: 1,
                };
                frame.render_widget(cursor.clone(), mark);
            }
            let next = self.down(place, 1);
            if next == place {
                break;
            }
            place = next;
        }
        // Graphics cover rows that are drawn already.
        for (place, row) in drawn {
            self.draw_picture(frame, place, row, area, theme);
        }
    }
}

impl AnswerView {
    /// Draws a row of an image by the terminal's own graphics, where it has some.
    fn draw_picture(
        &mut self,
        frame: &mut Frame<'_>,
        place: Place,
        row: Rect,
        area: Rect,
        theme: &Theme,
    ) {
        let Some(at) = self.body_row(place) else {
            return;
        };
        if let Some(Shown::Picture(picture)) =
            self.sections.get_mut(place.section).map(|it| &mut it.shown)
        {
            let below = usize::from(area.bottom().saturating_sub(row.y));
            picture.draw_row(at, below, row, frame.buffer_mut(), theme);
        }
    }
}

impl Component for AnswerView {
    fn contexts(&self) -> Vec<Context> {
        match self.search.typed {
            Some(_) => vec![Context::Text, Context::Filter],
            None => vec![Context::Answer, Context::Move],
        }
    }

    fn input(&mut self, input: Input<'_>) -> Outcome {
        match input {
            Input::Key { event, action } => {
                self.note = None;
                self.key(event, action)
            }
            Input::Paste(text) => match &mut self.search.typed {
                Some(typed) => {
                    let _ = typed.paste(text);
                    Outcome::Used
                }
                None => Outcome::Ignored,
            },
            Input::Mouse(event) => self.mouse(event),
            Input::Edited(_) => Outcome::Ignored,
        }
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let area = area.intersection(frame.area());
        if area.is_empty() {
            return;
        }
        if self.theme != Some(*theme) {
            self.theme = Some(*theme);
            for section in &mut self.sections {
                if matches!(section.shown, Shown::Made(_)) {
                    section.shown = Shown::Not;
                }
            }
        }
        let status = u16::from(area.height >= LEAST_HEIGHT || self.search.typed.is_some());
        let body = Rect {
            height: area.height - status,
            ..area
        };
        self.area = body;
        self.resize(
            usize::from(area.width.saturating_sub(MARGIN)),
            usize::from(body.height),
        );
        self.scroll();
        self.draw_rows(frame, body, theme);
        if status == 0 {
            return;
        }
        let line = Rect {
            y: body.bottom(),
            height: 1,
            ..area
        };
        match &mut self.search.typed {
            None => frame.render_widget(self.status(usize::from(area.width), theme), line),
            Some(typed) => {
                frame.render_widget(Span::styled("/", theme.style(Role::Key)), line);
                let text = Rect {
                    x: line.x + 1.min(line.width),
                    width: line.width.saturating_sub(1),
                    ..line
                };
                if !text.is_empty() {
                    frame.render_widget(typed.widget(theme.style(Role::Input)), text);
                }
            }
        }
    }

    fn hints(&self) -> Vec<Action> {
        if self.search.typed.is_some() {
            return vec![Action::FilterDone, Action::FilterClear];
        }
        let mut hints = Vec::new();
        let section = self.sections.get(self.cursor.section);
        let row = self.body_row(self.cursor);
        if let Some((section, row)) = section.zip(row) {
            let opens = section.target(row).is_some() || matches!(section.shown, Shown::Tree(_));
            hints.extend(opens.then_some(Action::Open));
            hints.extend(matches!(section.shown, Shown::Table(_)).then_some(Action::Sort));
        }
        hints.extend([Action::ViewAs, Action::Filter, Action::Copy, Action::Save]);
        hints
    }

    fn poll(&mut self) -> Outcome {
        let mut is_new = false;
        for section in &mut self.sections {
            if let Shown::Picture(picture) = &mut section.shown {
                is_new |= picture.poll();
            }
        }
        match is_new {
            true => Outcome::Used,
            false => Outcome::Ignored,
        }
    }
}
