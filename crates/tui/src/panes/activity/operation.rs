//! One operation of the activity list: a request and its answer, or a message alone.

use attache::host::frames::Payload;
use ratatui::text::{Line, Span};
use serde::Deserialize;

use crate::panes::catalog::Seen;
use crate::text::{self, column};
use crate::theme::Role;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Out,
    In,
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(super) at_us: u64,
    pub(super) server: String,
    pub(crate) direction: Direction,
    pub(super) method: String,
    pub(super) about: String,
    pub(super) id: String,
    pub(super) took_us: Option<u64>,
    pub(super) bytes: usize,
    pub(super) status: &'static str,
    /// The messages as they were, in the memory that they were read into.
    pub(crate) messages: Vec<Payload>,
    pub(super) is_redacted: bool,
}

/// The beginning of any message.
#[derive(Deserialize)]
pub(super) struct Head {
    #[serde(default)]
    pub(super) id: Option<serde_json::Value>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Option<Params>,
    #[serde(default)]
    pub(super) error: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    result: Option<ResultHead>,
}

#[derive(Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) uri: Option<String>,
}

#[derive(Deserialize)]
struct ResultHead {
    #[serde(default, rename = "isError")]
    pub(super) is_error: bool,
}

impl Operation {
    /// How much its messages take.
    pub(super) fn kept_bytes(&self) -> usize {
        let lengths = self.messages.iter().map(|it| it.as_bytes().len());
        lengths.sum()
    }

    /// What it was, in a few words.
    pub(crate) fn title(&self) -> String {
        let hidden = if self.is_redacted {
            ", secrets masked"
        } else {
            ""
        };
        format!("{} {} {}{hidden}", self.server, self.method, self.about)
    }

    pub(super) fn line(&self, width: usize, with_server: bool, seen: &Seen<'_>) -> Line<'static> {
        let (theme, glyphs) = (seen.theme, seen.theme.glyphs());
        let quiet = theme.style(Role::Secondary);
        let (arrow, role) = match self.direction {
            Direction::Out => (glyphs.sent, Role::Accent),
            Direction::In => (glyphs.received, Role::Good),
        };
        let mut spans = vec![
            Span::styled(format!("{} ", text::clock(self.at_us / 1000)), quiet),
            Span::styled(format!("{arrow} "), theme.style(role)),
        ];
        // Where there is little room, the size goes first, then the server, then the time.
        let (has_size, has_server, has_time) = (width >= 76, width >= 60, width >= 44);
        let server_column = if with_server && has_server { 11 } else { 0 };
        if server_column > 0 {
            let server = column(&self.server, 10, glyphs.ellipsis);
            spans.push(Span::styled(format!("{server} "), quiet));
        }
        let ends = if has_time { 9 } else { 0 } + if has_size { 8 } else { 0 } + 12;
        let room = width.saturating_sub(11 + server_column + ends);
        let method = column(&self.method, (room * 3 / 5).clamp(8, 26), glyphs.ellipsis);
        spans.push(Span::raw(format!("{method} ")));
        let room = room.saturating_sub(text::width(&method) + 1);
        spans.push(Span::styled(
            column(&self.about, room, glyphs.ellipsis),
            quiet,
        ));
        if has_time {
            let took = self.took_us.map(|took| text::duration(took / 1000));
            let took = text::right(&took.unwrap_or_default(), 9, glyphs.ellipsis);
            spans.push(Span::styled(took, quiet));
        }
        if has_size {
            let size = match self.bytes {
                0 => String::new(),
                bytes => text::bytes(bytes),
            };
            spans.push(Span::styled(text::right(&size, 8, glyphs.ellipsis), quiet));
        }
        let role = match self.status {
            "error" | "tool failed" | "stray" => Role::Bad,
            "open" => Role::Warning,
            _ => Role::Secondary,
        };
        spans.push(Span::styled(format!(" {}", self.status), theme.style(role)));
        Line::from(spans)
    }
}

pub(super) fn ending(head: Option<&Head>) -> &'static str {
    match head {
        Some(head) if head.error.is_some() => "error",
        Some(head) if head.result.as_ref().is_some_and(|result| result.is_error) => "tool failed",
        Some(_) => "ok",
        None => "not JSON",
    }
}
