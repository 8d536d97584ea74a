//! The log: what servers say on stderr and by notifications, and what becomes of them.

use attache::host::events::{Event, EventKind};
use memchr::memchr2_iter;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::catalog::Seen;
use super::log_store::{Level, LogLine, LogStore, Source};
use crate::cursor::Cursor;
use crate::draw;
use crate::filter::{Filter, Query};
use crate::text::{self, column};
use crate::theme::Role;

/// Lines that one step of a search looks at: a few milliseconds.
const STEP: usize = 40_000;
/// Letters that most lines have, the commonest first.
const COMMON: &[u8] = b" etaoinsrhldcumfpgwybvk0123456789-_./:";

/// The log of all servers.
#[derive(Debug)]
pub(crate) struct Log {
    store: LogStore,
    pub(crate) filter: Filter,
    query: Query,
    least: Level,
    scope: Option<String>,
    /// The numbers of the lines that are shown, where not all are.
    found: Vec<u64>,
    /// Up to which number has been looked.
    looked: u64,
    pub(crate) cursor: Cursor,
    is_following: bool,
    /// While paused, the number from which on lines are not shown yet.
    paused_at: Option<u64>,
    missed: u64,
    area: Rect,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            store: LogStore::default(),
            filter: Filter::default(),
            query: Query::default(),
            least: Level::Debug,
            scope: None,
            found: Vec::new(),
            looked: 0,
            cursor: Cursor::default(),
            is_following: true,
            paused_at: None,
            missed: 0,
            area: Rect::default(),
        }
    }
}

impl Log {
    /// Takes an event, if it is one that is logged.
    pub(crate) fn on_event(&mut self, event: &Event) {
        let server = event.server.as_ref().map_or("", |server| server.as_str());
        let mut add = |level, source, words: &str| {
            let words = text::safe(words);
            self.store.push(event.at_ms, server, level, source, &words);
        };
        match &event.kind {
            EventKind::Stderr { line } => add(Level::Info, Source::Stderr, line),
            EventKind::Log {
                level,
                logger,
                data,
            } => {
                let words: Result<String, _> = data.decode();
                let words = words.unwrap_or_else(|_| data.as_str().to_owned());
                let words = match logger {
                    Some(logger) => format!("{logger}: {words}"),
                    None => words,
                };
                add(Level::of(level), Source::Log, &words);
            }
            EventKind::State(change) => match &change.cause {
                Some(cause) => {
                    let words = format!("{}: {cause}", change.state.as_str());
                    add(Level::Error, Source::Host, &words);
                }
                None => add(Level::Notice, Source::Host, change.state.as_str()),
            },
            EventKind::Defect { problem } => {
                let words = format!("breaks the protocol: {problem}");
                add(Level::Warning, Source::Host, &words);
            }
            EventKind::NotStored { problem } => {
                add(
                    Level::Error,
                    Source::Host,
                    &format!("not written down: {problem}"),
                );
            }
            EventKind::Gap => add(
                Level::Warning,
                Source::Host,
                "the connection was cut; what it said meanwhile is lost",
            ),
            EventKind::Missed { count } if event.server.is_some() => {
                self.missed += count;
                let words = format!("{count} messages came too fast and were dropped");
                add(Level::Warning, Source::Host, &words);
            }
            _ => {}
        }
    }

    /// Notes that events were lost.
    pub(crate) fn missed(&mut self, count: u64, at_ms: u64) {
        self.missed += count;
        let words = format!("gap: {count} events came too fast and were dropped");
        self.store
            .push(at_ms, "", Level::Warning, Source::Host, &words);
    }

    pub(crate) fn filter_changed(&mut self) {
        self.query = self.filter.query(&["server", "level"]);
        self.look_again();
    }

    pub(crate) fn set_scope(&mut self, scope: Option<&str>) {
        if self.scope.as_deref() != scope {
            self.scope = scope.map(str::to_owned);
            self.look_again();
        }
    }

    /// The next level is the least that is shown; after the last all are again.
    pub(crate) fn next_level(&mut self) {
        let next = Level::ALL.iter().find(|level| **level > self.least);
        self.least = next.copied().unwrap_or(Level::Debug);
        self.look_again();
    }

    pub(crate) fn pause(&mut self) {
        self.paused_at = match self.paused_at {
            Some(_) => None,
            None => Some(self.store.next()),
        };
    }

    pub(crate) fn follow(&mut self) {
        self.is_following = true;
        self.paused_at = None;
    }

    /// A person moved: following goes on only at the end.
    pub(crate) fn moved(&mut self) {
        self.is_following = self.cursor.at + 1 >= self.count();
    }

    fn look_again(&mut self) {
        self.found.clear();
        self.looked = self.store.first();
        self.is_following = true;
    }

    fn shows_all(&self) -> bool {
        self.least == Level::Debug && self.scope.is_none() && self.filter.is_empty()
    }

    fn end(&self) -> u64 {
        self.paused_at.unwrap_or_else(|| self.store.next())
    }

    /// Whether lines are left that a search has not looked at.
    pub(crate) fn is_looking(&self) -> bool {
        !self.shows_all() && self.looked < self.end()
    }

    /// Looks at some more lines.
    pub(crate) fn look(&mut self) {
        if self.shows_all() {
            return;
        }
        let end = self.end();
        let scope = self
            .scope
            .as_deref()
            .map(|scope| self.store.number_of(scope));
        let words = Needle::new(&self.query.words);
        let mut looked = self.looked.max(self.store.first());
        for (number, line) in self.store.from(looked).take(STEP) {
            if number >= end {
                break;
            }
            looked = number + 1;
            let is_in_scope = scope.is_none_or(|scope| scope == Some(line.server));
            let fits = self.query.tokens_fit(|key, value| match key {
                "server" => self.store.server(line.server).contains(value),
                _ => line.level.as_str().starts_with(value),
            });
            if line.level >= self.least && is_in_scope && fits && words.is_in(line.text) {
                self.found.push(number);
            }
        }
        self.looked = looked;
        let first = self.store.first();
        if self.found.first().is_some_and(|number| *number < first) {
            self.found.retain(|number| *number >= first);
        }
    }

    pub(crate) fn count(&self) -> usize {
        match self.shows_all() {
            true => usize::try_from(self.end() - self.store.first()).unwrap_or(usize::MAX),
            false => self.found.len(),
        }
    }

    fn line(&self, index: usize) -> Option<LogLine<'_>> {
        match self.shows_all() {
            true => self.store.get(self.store.first() + index as u64),
            false => self.store.get(*self.found.get(index)?),
        }
    }

    /// The selected line.
    pub(crate) fn selected(&self) -> Option<LogLine<'_>> {
        self.line(self.cursor.at)
    }

    /// All that is shown, as text.
    pub(crate) fn as_text(&self) -> String {
        let lines = (0..self.count()).filter_map(|index| self.line(index));
        let lines = lines.map(|line| {
            let server = self.store.server(line.server);
            let at = text::clock(line.at_ms);
            format!("{at} {server} {}: {}\n", word(&line), line.text)
        });
        lines.collect()
    }

    pub(crate) fn click(&mut self, column: u16, row: u16) -> bool {
        let is_inside = self.cursor.click(self.area, column, row, self.count());
        if is_inside {
            self.moved();
        }
        is_inside
    }

    pub(crate) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        mut area: Rect,
        seen: &Seen<'_>,
        path: Option<&str>,
        is_focused: bool,
    ) {
        self.look();
        let theme = seen.theme;
        let count = self.count();
        if self.is_following {
            self.cursor.at = count.saturating_sub(1);
        }
        let found = match self.filter.is_empty() {
            true => String::new(),
            false => format!("{count} lines"),
        };
        if area.height > 3 && draw::filter_line(frame, area, &self.filter, &found, theme) {
            area.y += 1;
            area.height -= 1;
        }
        if area.height > 3 {
            let status = self.status(path, theme);
            let y = area.bottom() - 1;
            draw::line(
                frame.buffer_mut(),
                area.x + 2,
                y,
                area.width.saturating_sub(2),
                &status,
            );
            area.height -= 1;
        }
        self.area = area;
        if count == 0 {
            let (title, detail) = match self.shows_all() {
                true => (
                    "nothing was said yet",
                    "stderr, log messages and states come here",
                ),
                false if self.is_looking() => ("searching", ""),
                false => (
                    "no line matches",
                    "Esc drops the filter, + changes the level",
                ),
            };
            return draw::message(frame, area, title, detail, theme);
        }
        let mut cursor = self.cursor;
        let column_of_servers = match self.scope {
            Some(_) => 0,
            None => 10,
        };
        draw::rows(
            frame,
            area,
            &mut cursor,
            count,
            is_focused,
            theme,
            |index, _| match self.line(index) {
                Some(line) => self.shown(&line, column_of_servers, seen),
                None => Line::default(),
            },
        );
        self.cursor = cursor;
    }

    fn status(&self, path: Option<&str>, theme: &crate::theme::Theme) -> Line<'static> {
        let mut words = Vec::new();
        words.push(match (self.paused_at, self.is_following) {
            (Some(_), _) => "paused",
            (None, true) => "following",
            (None, false) => "f follows",
        });
        let level;
        if self.least > Level::Debug {
            level = format!("{} and worse", self.least.as_str());
            words.push(&level);
        }
        let missed;
        if self.missed > 0 {
            missed = format!("{} events missed", self.missed);
            words.push(&missed);
        }
        if let Some(path) = path {
            words.push(path);
        }
        let separator = format!(" {} ", theme.glyphs().separator);
        Line::styled(words.join(&separator), theme.style(Role::Secondary))
    }

    fn shown(&self, line: &LogLine<'_>, servers: usize, seen: &Seen<'_>) -> Line<'static> {
        let theme = seen.theme;
        let role = match line.level {
            Level::Error => Role::Bad,
            Level::Warning => Role::Warning,
            _ => Role::Secondary,
        };
        let mut spans = vec![Span::styled(
            format!("{} ", text::clock(line.at_ms)),
            theme.style(Role::Secondary),
        )];
        if servers > 0 {
            let server = column(
                self.store.server(line.server),
                servers,
                theme.glyphs().ellipsis,
            );
            spans.push(Span::styled(
                format!("{server} "),
                theme.style(Role::Accent),
            ));
        }
        spans.push(Span::styled(column(word(line), 8, ""), theme.style(role)));
        spans.push(Span::raw(line.text.to_owned()));
        Line::from(spans)
    }
}

fn word(line: &LogLine<'_>) -> &'static str {
    match line.source {
        Source::Stderr => "stderr",
        Source::Host => match line.level {
            Level::Notice => "state",
            _ => "host",
        },
        Source::Log => line.level.as_str(),
    }
}

/// Words to be found whatever their case.
struct Needle {
    words: Vec<u8>,
    /// Where their rarest letter is, which is looked for first.
    rare: usize,
}

impl Needle {
    fn new(words: &str) -> Self {
        let words = words.to_lowercase().into_bytes();
        let commonness = |letter: &u8| COMMON.iter().rev().position(|common| common == letter);
        let rare = (0..words.len()).min_by_key(|at| commonness(&words[*at]));
        Self {
            words,
            rare: rare.unwrap_or(0),
        }
    }

    fn is_in(&self, text: &str) -> bool {
        let Some(&letter) = self.words.get(self.rare) else {
            return true;
        };
        let text = text.as_bytes();
        let Some(last) = text.len().checked_sub(self.words.len()) else {
            return false;
        };
        // Where the letter can be if the words begin in the text and end in it.
        let places = &text[self.rare..=last + self.rare];
        memchr2_iter(letter, letter.to_ascii_uppercase(), places)
            .any(|at| text[at..at + self.words.len()].eq_ignore_ascii_case(&self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_lines_in_steps() {
        let mut log = Log::default();
        for number in 0..(STEP as u64 * 2) {
            let words = format!("line {number}");
            log.store
                .push(number, "a", Level::Info, Source::Log, &words);
        }
        log.filter.input.insert("LINE 79999");
        log.filter_changed();
        assert!(log.is_looking());
        while log.is_looking() {
            log.look();
        }
        assert_eq!(log.found, [79_999]);
        assert_eq!(log.selected().map(|line| line.at_ms), Some(79_999));
    }

    #[test]
    fn words_are_found_whatever_their_case() {
        let contains = |text: &str, words: &str| Needle::new(words).is_in(text);
        assert!(contains("Some Text", "text") && contains("SOME TEXT", "me t"));
        assert!(contains("x", "") && !contains("x", "xy") && !contains("", "x"));
        assert!(contains("xyx", "x") && contains("aq", "aq") && !contains("qa", "aq"));
        assert!(contains("Größe", "größe") && !contains("Grüße", "größe"));
    }
}
