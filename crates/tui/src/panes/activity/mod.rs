//! Messages on the wire, one line for each operation.
//!
//! A request and its answer are one row. What a server begins, and notifications, are rows of their
//! own. Everything is bounded by number and by bytes; the oldest rows go first and are counted.

mod operation;

use std::collections::{HashMap, VecDeque};

use attache::host::frames::{Frame as WireFrame, FrameKind, Message as WireMessage};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

pub(crate) use self::operation::{Direction, Operation};
use self::operation::{Head, ending};
use super::catalog::Seen;
use crate::cursor::Cursor;
use crate::draw;
use crate::filter::{Filter, number_fits};
use crate::text;
use crate::theme::Role;

/// Rows that are kept.
const MOST_ROWS: usize = 20_000;
/// Bytes of messages that are kept.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The tokens of the filter.
const TOKENS: &[&str] = &["server", "method", "dir", "status", "id", "ms"];

/// The messages on the wire.
#[derive(Debug)]
pub(crate) struct Activity {
    rows: VecDeque<Operation>,
    /// How many rows are gone.
    gone: u64,
    bytes: usize,
    /// Requests without an answer: by server, connection, direction and id, the number of the row.
    open: HashMap<(String, u64, bool, String), u64>,
    pub(crate) filter: Filter,
    /// The numbers of the rows that the filter leaves.
    shown: Vec<u64>,
    pub(crate) cursor: Cursor,
    is_following: bool,
    is_paused: bool,
    /// Frames that came while paused are kept out and counted.
    held: u64,
    missed: u64,
    scope: Option<String>,
    area: Rect,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            rows: VecDeque::new(),
            gone: 0,
            bytes: 0,
            open: HashMap::new(),
            filter: Filter::default(),
            shown: Vec::new(),
            cursor: Cursor::default(),
            is_following: true,
            is_paused: false,
            held: 0,
            missed: 0,
            scope: None,
            area: Rect::default(),
        }
    }
}

impl Activity {
    /// Takes frames.
    pub(crate) fn on_frames(&mut self, frames: Vec<WireFrame>) {
        for frame in frames {
            if self.is_paused {
                self.held += 1;
                continue;
            }
            self.on_frame(&frame);
        }
    }

    fn on_frame(&mut self, frame: &WireFrame) {
        let server = frame.server.as_ref().map_or("", |server| server.as_str());
        match &frame.kind {
            FrameKind::Sent(message) => self.on_message(frame, server, Direction::Out, message),
            FrameKind::Received(message) => self.on_message(frame, server, Direction::In, message),
            FrameKind::Missed { count } => {
                self.missed += count;
                let words = format!("{count} messages came too fast and were not seen");
                self.note(frame, server, "gap", &words);
            }
            FrameKind::Opened => self.note(frame, server, "connection", "opened"),
            FrameKind::Closed { reason } => {
                let words = format!("closed: {reason}");
                self.note(frame, server, "connection", &words);
            }
            _ => {}
        }
    }

    fn note(&mut self, frame: &WireFrame, server: &str, what: &str, words: &str) {
        self.push(Operation {
            at_us: frame.at_us,
            server: server.to_owned(),
            direction: Direction::In,
            method: what.to_owned(),
            about: text::safe(words).into_owned(),
            id: String::new(),
            took_us: None,
            bytes: 0,
            status: "",
            messages: Vec::new(),
            is_redacted: false,
        });
    }

    fn on_message(
        &mut self,
        frame: &WireFrame,
        server: &str,
        direction: Direction,
        message: &WireMessage,
    ) {
        let payload = message.payload.text();
        let status = message.http.as_ref().and_then(|http| http.status);
        if payload.is_empty() {
            if let Some(status) = status
                && status >= 400
            {
                self.note(frame, server, "http", &format!("status {status}"));
            }
            return;
        }
        let head: Option<Head> = serde_json::from_str(&payload).ok();
        let id = head.as_ref().and_then(|head| head.id.as_ref());
        let id = id.map(ToString::to_string).unwrap_or_default();
        let method = head.as_ref().and_then(|head| head.method.clone());
        let is_out = direction == Direction::Out;
        match method {
            None => {
                // An answer goes to the row of its request, which went the other way.
                let key = (server.to_owned(), frame.connection, !is_out, id.clone());
                if let Some(number) = self.open.remove(&key)
                    && let Some(row) = number.checked_sub(self.gone)
                    && let Some(row) = self
                        .rows
                        .get_mut(usize::try_from(row).unwrap_or(usize::MAX))
                {
                    row.took_us = Some(frame.at_us.saturating_sub(row.at_us));
                    row.bytes += message.bytes;
                    row.status = ending(head.as_ref());
                    row.is_redacted |= frame.redacted;
                    self.bytes += payload.len();
                    row.messages.push(message.payload.clone());
                    return;
                }
                self.add(frame, server, direction, "answer", id, message);
            }
            Some(method) => {
                if !id.is_empty() {
                    let key = (server.to_owned(), frame.connection, is_out, id.clone());
                    self.open.insert(key, self.gone + self.rows.len() as u64);
                }
                let method = text::safe(&method).into_owned();
                self.add(frame, server, direction, &method, id, message);
                let params = head.and_then(|head| head.params);
                let about = params.and_then(|params| params.name.or(params.uri));
                if let (Some(row), Some(about)) = (self.rows.back_mut(), about) {
                    row.about = text::safe(&about).into_owned();
                }
            }
        }
    }

    fn add(
        &mut self,
        frame: &WireFrame,
        server: &str,
        direction: Direction,
        method: &str,
        id: String,
        message: &WireMessage,
    ) {
        let status = match (id.is_empty(), method) {
            (true, _) => "",
            (false, "answer") => "stray",
            (false, _) => "open",
        };
        self.push(Operation {
            at_us: frame.at_us,
            server: server.to_owned(),
            direction,
            method: method.to_owned(),
            about: String::new(),
            id: text::safe(&id).into_owned(),
            took_us: None,
            bytes: message.bytes,
            status,
            messages: vec![message.payload.clone()],
            is_redacted: frame.redacted,
        });
    }

    fn push(&mut self, row: Operation) {
        self.bytes += row.kept_bytes();
        let number = self.gone + self.rows.len() as u64;
        if self.fits(&row) {
            self.shown.push(number);
        }
        self.rows.push_back(row);
        while (self.rows.len() > MOST_ROWS || self.bytes > MOST_BYTES) && self.rows.len() > 1 {
            if let Some(oldest) = self.rows.pop_front() {
                self.bytes -= oldest.kept_bytes();
                self.gone += 1;
            }
        }
        // In large steps, because each moves all that are shown.
        let gone = self.gone;
        if self.shown.first().is_some_and(|first| first + 1024 < gone) {
            let lost = self.shown.partition_point(|number| *number < gone);
            self.shown.drain(..lost);
            self.cursor.at = self.cursor.at.saturating_sub(lost);
        }
        if self.open.len() > 2 * MOST_ROWS {
            self.open.retain(|_, number| *number >= gone);
        }
    }

    fn fits(&self, row: &Operation) -> bool {
        if self
            .scope
            .as_ref()
            .is_some_and(|scope| *scope != row.server)
        {
            return false;
        }
        if self.filter.is_empty() {
            return true;
        }
        let query = self.filter.query(TOKENS);
        let words = query.words.to_lowercase();
        let is_named = words.is_empty()
            || row.method.to_lowercase().contains(&words)
            || row.about.to_lowercase().contains(&words);
        is_named
            && query.tokens_fit(|key, value| match key {
                "server" => row.server.contains(value),
                "method" => row.method.contains(value),
                "dir" => match row.direction {
                    Direction::Out => "out".starts_with(value),
                    Direction::In => "in".starts_with(value),
                },
                "status" => row.status.replace(' ', "-").contains(value),
                "id" => row.id.trim_matches('"') == value,
                "ms" => row
                    .took_us
                    .is_some_and(|took| number_fits(value, took / 1000)),
                _ => false,
            })
    }

    pub(crate) fn filter_changed(&mut self) {
        let numbers = (self.gone..).zip(&self.rows);
        let numbers = numbers.filter(|(_, row)| self.fits(row));
        self.shown = numbers.map(|(number, _)| number).collect();
        self.follow();
    }

    pub(crate) fn set_scope(&mut self, scope: Option<&str>) {
        if self.scope.as_deref() != scope {
            self.scope = scope.map(str::to_owned);
            self.filter_changed();
        }
    }

    pub(crate) fn pause(&mut self) {
        self.is_paused = !self.is_paused;
        if !self.is_paused && self.held > 0 {
            self.missed += std::mem::take(&mut self.held);
        }
    }

    pub(crate) fn follow(&mut self) {
        self.is_following = true;
        if self.is_paused {
            self.pause();
        }
    }

    pub(crate) fn moved(&mut self) {
        self.is_following = self.cursor.at + 1 >= self.count();
    }

    pub(crate) fn count(&self) -> usize {
        self.shown.len()
    }

    /// The selected operation.
    pub(crate) fn selected(&self) -> Option<&Operation> {
        self.row(self.cursor.at)
    }

    fn row(&self, index: usize) -> Option<&Operation> {
        let place = self.shown.get(index)?.checked_sub(self.gone)?;
        self.rows.get(usize::try_from(place).ok()?)
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
        is_focused: bool,
    ) {
        let theme = seen.theme;
        let count = self.count();
        if self.is_following {
            self.cursor.at = count.saturating_sub(1);
        }
        let of = format!("{count} of {}", self.rows.len());
        if area.height > 3 && draw::filter_line(frame, area, &self.filter, &of, theme) {
            area.y += 1;
            area.height -= 1;
        }
        let mut words = Vec::new();
        if self.is_paused {
            words.push(format!("paused, {} held back", self.held));
        }
        if self.missed > 0 {
            words.push(format!("gap: {} messages not seen", self.missed));
        }
        if self.gone > 0 {
            words.push(format!("{} older ones dropped", self.gone));
        }
        if area.height > 3 && !words.is_empty() {
            let separator = format!(" {} ", theme.glyphs().separator);
            let status = Line::styled(words.join(&separator), theme.style(Role::Warning));
            draw::line(frame.buffer_mut(), area.x + 2, area.y, area.width, &status);
            area.y += 1;
            area.height -= 1;
        }
        self.area = area;
        if count == 0 {
            let (title, detail) = match self.rows.is_empty() {
                true => (
                    "no message has passed yet",
                    "secrets in messages are masked",
                ),
                false => (
                    "no message matches",
                    "Esc drops the filter; tokens: server: method: dir: status: id: ms:>500",
                ),
            };
            return draw::message(frame, area, title, detail, theme);
        }
        let mut cursor = self.cursor;
        draw::rows(
            frame,
            area,
            &mut cursor,
            count,
            is_focused,
            theme,
            |index, width| match self.row(index) {
                Some(row) => row.line(usize::from(width), self.scope.is_none(), seen),
                None => Line::styled("dropped", theme.style(Role::Secondary)),
            },
        );
        self.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_without_an_answer_are_forgotten_also_where_no_row_is_shown() {
        let mut activity = Activity::default();
        activity.filter.input.insert("no such method");
        for id in 0..=2 * MOST_ROWS {
            let payload = json!({"id": id, "method": "tools/call"}).to_string();
            let kind = json!({"sent": {"bytes": payload.len(), "payload": payload}});
            let frame = json!({"seq": id, "at_us": 0, "connection": 1, "kind": kind});
            activity.on_frames(vec![serde_json::from_value(frame).unwrap()]);
        }
        assert!(activity.shown.is_empty());
        assert_eq!(activity.open.len(), activity.rows.len());
    }
}
