//! A list of what servers offer: tools, resources, prompts.
//!
//! Owns the entries of all servers, which of them a filter leaves, and what to say where there are
//! none. The list is drawn by window, so its length costs nothing but the filter.

mod status;

use std::collections::{BTreeMap, HashMap, HashSet};

use attache::host::catalog::{Outcome, ServerAnswer};
use attache::host::snapshot::Snapshot;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::cursor::Cursor;
use crate::draw;
use crate::filter::Filter;
use crate::fuzzy::Pattern;
use crate::text;
use crate::theme::Theme;

/// One entry of a list.
pub(crate) trait Row {
    /// The tokens that a filter of such entries knows.
    const TOKENS: &'static [&'static str];
    /// What the entries are called.
    const NOUN: &'static str;

    fn server(&self) -> &str;
    /// Its name, safe to show.
    fn name(&self) -> &str;
    /// Whether a token of a filter fits, other than `server`.
    fn fits(&self, key: &str, value: &str) -> bool;
    /// Its line, name first; `places` are the letters that the filter found.
    fn line(&self, look: &Look<'_>, places: &[usize]) -> Line<'static>;
}

/// How a row is to be drawn.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    pub(crate) width: usize,
    /// The width of the column of servers; 0 for none.
    pub(crate) server_column: usize,
    /// The width of the column of names.
    pub(crate) name_column: usize,
    pub(crate) theme: &'a Theme,
    pub(crate) now_ms: u64,
}

/// A list of entries.
#[derive(Debug)]
pub(crate) struct Catalog<R> {
    rows: Vec<R>,
    /// What became of each server that was asked.
    answers: BTreeMap<String, Outcome>,
    /// Places of `rows` that the filter leaves, the best first.
    shown: Vec<u32>,
    pub(crate) filter: Filter,
    /// What `shown` was made of, so that typing on only looks at what is left.
    made_for: Option<(String, Option<String>)>,
    pub(crate) cursor: Cursor,
    /// The server whose entries are wanted; none for all.
    scope: Option<String>,
    name_column: usize,
    failed: Option<String>,
    /// Entries that could not be read.
    rejected: BTreeMap<String, usize>,
    area: Rect,
}

impl<R> Default for Catalog<R> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            answers: BTreeMap::new(),
            shown: Vec::new(),
            filter: Filter::default(),
            made_for: None,
            cursor: Cursor::default(),
            scope: None,
            name_column: 0,
            failed: None,
            rejected: BTreeMap::new(),
            area: Rect::default(),
        }
    }
}

impl<R: Row> Catalog<R> {
    /// Takes what servers answered: their former entries of this kind go.
    pub(crate) fn answered(
        &mut self,
        rows: Vec<R>,
        servers: Vec<ServerAnswer>,
        is_of_kind: fn(&R) -> bool,
    ) {
        let selected = self.selected().map(identity);
        self.failed = None;
        let names: HashSet<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        self.rows
            .retain(|row| !(is_of_kind(row) && names.contains(row.server())));
        for server in &servers {
            let name = server.name.as_str();
            self.rejected.insert(name.to_owned(), server.rejected.len());
            let is_known = matches!(self.answers.get(name), Some(Outcome::Ok));
            if !(is_known && matches!(server.outcome, Outcome::NotOffered)) {
                self.answers.insert(name.to_owned(), server.outcome.clone());
            }
        }
        self.rows.extend(rows);
        self.rows
            .sort_by(|one, other| one.server().cmp(other.server()));
        let widths = self.rows.iter().map(|row| text::width(row.name()));
        self.name_column = widths.max().unwrap_or(0);
        self.made_for = None;
        self.refresh();
        // The same entry stays selected, wherever it is now.
        if let Some(selected) = selected {
            let place = self
                .shown
                .iter()
                .position(|at| identity_is(&self.rows[*at as usize], &selected));
            self.cursor.at = place.unwrap_or(self.cursor.at);
        }
    }

    /// The list could not be had.
    pub(crate) fn could_not_be_had(&mut self, problem: String) {
        self.failed = Some(problem);
    }

    /// Forgets the entries of servers that are gone.
    pub(crate) fn keep_servers(&mut self, is_there: impl Fn(&str) -> bool) {
        self.answers.retain(|name, _| is_there(name));
        let count = self.rows.len();
        self.rows.retain(|row| is_there(row.server()));
        if self.rows.len() != count {
            self.made_for = None;
            self.refresh();
        }
    }

    /// Shows the entries of one server, or of all.
    pub(crate) fn set_scope(&mut self, scope: Option<&str>) {
        if self.scope.as_deref() != scope {
            self.scope = scope.map(str::to_owned);
            self.cursor = Cursor::default();
            self.refresh();
        }
    }

    /// How many entries each server has.
    pub(crate) fn counts(&self) -> HashMap<&str, usize> {
        let mut counts = HashMap::new();
        for server in self.answers.keys() {
            // Entries stand by server.
            let start = self
                .rows
                .partition_point(|row| row.server() < server.as_str());
            let end = self
                .rows
                .partition_point(|row| row.server() <= server.as_str());
            counts.insert(server.as_str(), end - start);
        }
        counts
    }

    pub(crate) fn rows(&self) -> &[R] {
        &self.rows
    }

    pub(crate) fn rows_mut(&mut self) -> &mut [R] {
        &mut self.rows
    }

    pub(crate) fn count(&self) -> usize {
        self.shown.len()
    }

    /// The selected entry.
    pub(crate) fn selected(&self) -> Option<&R> {
        let at = self.shown.get(self.cursor.at)?;
        self.rows.get(*at as usize)
    }

    /// Selects an entry, dropping the filter if it hides it.
    pub(crate) fn select(&mut self, server: &str, name: &str) {
        let wanted = (server.to_owned(), name.to_owned());
        let place = |list: &Self| {
            let mut shown = list.shown.iter();
            shown.position(|at| identity_is(&list.rows[*at as usize], &wanted))
        };
        if place(self).is_none() {
            self.filter.input.clear();
            self.refresh();
        }
        self.cursor.at = place(self).unwrap_or(0);
    }

    /// Brings `shown` up to date with filter and scope.
    pub(crate) fn refresh(&mut self) {
        let typed = self.filter.input.text().to_owned();
        let query = self.filter.query(R::TOKENS);
        let is_in_scope = |row: &R| {
            self.scope
                .as_deref()
                .is_none_or(|scope| row.server() == scope)
        };
        let fits = |row: &R| {
            query.tokens_fit(|key, value| match key {
                "server" => row.server().contains(value),
                _ => row.fits(key, value),
            })
        };
        // Letters that are added can only take entries away.
        let is_narrower = self.made_for.as_ref().is_some_and(|(former, scope)| {
            *scope == self.scope && typed.starts_with(former.as_str()) && !former.contains(':')
        });
        let every = 0..u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let candidates: Vec<u32> = match is_narrower && !typed.contains(':') {
            true => std::mem::take(&mut self.shown),
            false => every.collect(),
        };
        let mut found: Vec<(u32, u32)> = Vec::with_capacity(candidates.len());
        for at in candidates {
            let row = &self.rows[at as usize];
            if is_in_scope(row)
                && fits(row)
                && let Some(score) = query.pattern.score(row.name())
            {
                found.push((score, at));
            }
        }
        if !query.pattern.is_empty() {
            found.sort_unstable_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        } else {
            found.sort_unstable_by_key(|(_, at)| *at);
        }
        self.shown = found.into_iter().map(|(_, at)| at).collect();
        self.made_for = Some((typed, self.scope.clone()));
        self.cursor.at = self.cursor.at.min(self.shown.len().saturating_sub(1));
    }

    /// The filter was changed.
    pub(crate) fn filter_changed(&mut self) {
        self.cursor = Cursor::default();
        self.refresh();
    }

    /// The row at a place of the screen.
    pub(crate) fn click(&mut self, column: u16, row: u16) -> bool {
        if !self.area.contains((column, row).into()) {
            return false;
        }
        let line = self.cursor.line_at(usize::from(row - self.area.y));
        if line < self.count() {
            self.cursor.at = line;
        }
        true
    }

    /// Draws the list.
    pub(crate) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        mut area: Rect,
        seen: &Seen<'_>,
        is_focused: bool,
    ) {
        let theme = seen.theme;
        let count = match self.filter.is_empty() {
            true => String::new(),
            false => format!("{} of {}", self.count(), self.in_scope()),
        };
        if area.height > 2 && draw::filter_line(frame, area, &self.filter, &count, theme) {
            area.y += 1;
            area.height -= 1;
        }
        if area.height > 2
            && let Some(status) = self.status(seen)
        {
            let width = area.width.saturating_sub(2);
            draw::line(frame.buffer_mut(), area.x + 2, area.y, width, &status);
            area.y += 1;
            area.height -= 1;
        }
        self.area = area;
        if self.shown.is_empty() {
            let (title, detail) = self.emptiness(seen);
            return draw::message(frame, area, &title, &detail, theme);
        }
        // One server needs no column.
        let counts = self.counts();
        let servers = counts.iter().filter(|(_, count)| **count > 0);
        let widths: Vec<usize> = servers.map(|(server, _)| text::width(server)).collect();
        let server_column = match (&self.scope, widths.as_slice()) {
            (Some(_), _) | (None, [] | [_]) => 0,
            (None, several) => several.iter().max().map_or(0, |widest| (*widest).min(16)),
        };
        let pattern = match self.filter.is_empty() {
            true => Pattern::default(),
            false => self.filter.query(R::TOKENS).pattern,
        };
        let look = Look {
            width: usize::from(area.width),
            server_column,
            name_column: self.name_column.min(36),
            theme,
            now_ms: seen.now_ms,
        };
        let (rows, shown) = (&self.rows, &self.shown);
        draw::rows(
            frame,
            area,
            &mut self.cursor,
            shown.len(),
            is_focused,
            theme,
            |index, width| {
                let row = &rows[shown[index] as usize];
                let look = Look {
                    width: usize::from(width),
                    ..look
                };
                row.line(&look, &pattern.places(row.name()))
            },
        );
    }

    fn in_scope(&self) -> usize {
        match &self.scope {
            None => self.rows.len(),
            Some(scope) => self.rows.iter().filter(|row| row.server() == scope).count(),
        }
    }
}

fn identity<R: Row>(row: &R) -> (String, String) {
    (row.server().to_owned(), row.name().to_owned())
}

fn identity_is<R: Row>(row: &R, wanted: &(String, String)) -> bool {
    row.server() == wanted.0 && row.name() == wanted.1
}

/// What every pane sees of the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) is_connected: bool,
    pub(crate) now_ms: u64,
}

impl Seen<'_> {
    /// What turns while something is awaited.
    pub(crate) fn spinner(&self) -> &'static str {
        spinner(self.theme, self.now_ms)
    }
}

pub(crate) fn spinner(theme: &Theme, now_ms: u64) -> &'static str {
    let frames = theme.glyphs().spinner;
    let turn = usize::try_from(now_ms / 100).unwrap_or(0);
    frames[turn % frames.len()]
}
