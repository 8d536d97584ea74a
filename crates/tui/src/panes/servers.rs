//! The servers at the left: state, what they offer, and why one does not run.

use std::collections::HashMap;

use attache::host::snapshot::{ServerSnapshot, ServerState, Snapshot};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::catalog::{Seen, spinner};
use crate::cursor::Cursor;
use crate::draw;
use crate::message::About;
use crate::text::{self, column};
use crate::theme::{Role, Theme};

/// The list of servers. Its first line stands for all of them.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    pub(crate) cursor: Cursor,
    area: Rect,
    /// The server of each row of the window, for clicks; a failure takes a second row.
    drawn: Vec<usize>,
}

impl Servers {
    /// How many lines there are to move over.
    pub(crate) fn count(snapshot: &Snapshot, about: &About) -> usize {
        1 + snapshot.servers.len() + about.misconfigured.len()
    }

    /// The selected server; none if all are.
    pub(crate) fn selected<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a ServerSnapshot> {
        snapshot.servers.get(self.cursor.at.checked_sub(1)?)
    }

    /// The selected server that is written down wrongly, and how.
    pub(crate) fn misconfigured<'a>(
        &self,
        snapshot: &Snapshot,
        about: &'a About,
    ) -> Option<&'a (String, String)> {
        let at = self.cursor.at.checked_sub(1 + snapshot.servers.len())?;
        about.misconfigured.get(at)
    }

    /// Selects a server by its name, or all.
    pub(crate) fn select(&mut self, snapshot: &Snapshot, name: Option<&str>) {
        let mut servers = snapshot.servers.iter();
        let place = servers.position(|server| Some(server.name.as_str()) == name);
        self.cursor.at = place.map_or(0, |place| place + 1);
    }

    pub(crate) fn click(&mut self, column: u16, row: u16) -> bool {
        if !self.area.contains((column, row).into()) {
            return false;
        }
        if let Some(line) = self.drawn.get(usize::from(row - self.area.y)) {
            self.cursor.at = *line;
        }
        true
    }

    pub(crate) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        area: Rect,
        seen: &Seen<'_>,
        about: &About,
        tools: &HashMap<&str, usize>,
        is_focused: bool,
    ) {
        let theme = seen.theme;
        let width = usize::from(area.width).saturating_sub(2);
        let mut lines: Vec<(usize, Line<'static>)> = Vec::new();
        let ready = |it: &&ServerSnapshot| it.state == ServerState::Ready;
        let summary = match seen.snapshot.servers.len() {
            0 => String::new(),
            all => format!(
                "{} of {all} ready",
                seen.snapshot.servers.iter().filter(ready).count()
            ),
        };
        lines.push((0, two_ends("all", &summary, width, theme)));
        for (index, server) in seen.snapshot.servers.iter().enumerate() {
            lines.push((index + 1, server_line(server, tools, width, seen)));
            if let Some(cause) = cause(server) {
                let cut = text::cut(&cause, width.saturating_sub(2), theme.glyphs().ellipsis);
                let style = theme.style(Role::Secondary);
                lines.push((index + 1, Line::styled(format!("  {cut}"), style)));
            }
        }
        for (index, (name, problem)) in about.misconfigured.iter().enumerate() {
            let at = 1 + seen.snapshot.servers.len() + index;
            let glyph = Span::styled(theme.glyphs().failed, theme.style(Role::Bad));
            let name = column(
                &text::safe(name),
                width.saturating_sub(14),
                theme.glyphs().ellipsis,
            );
            let word = Span::styled(" misconfigured", theme.style(Role::Bad));
            lines.push((
                at,
                Line::from(vec![glyph, Span::raw(format!(" {name}")), word]),
            ));
            let problem = text::safe(problem);
            let cut = text::cut(&problem, width.saturating_sub(2), theme.glyphs().ellipsis);
            lines.push((
                at,
                Line::styled(format!("  {cut}"), theme.style(Role::Secondary)),
            ));
        }
        self.area = area;
        // The window is by lines of the screen, the cursor by servers.
        let at = self
            .cursor
            .at
            .min(Self::count(seen.snapshot, about).saturating_sub(1));
        self.cursor.at = at;
        let first = lines.iter().position(|(line, _)| *line == at).unwrap_or(0);
        let mut window = Cursor::default();
        window.at = first;
        let shown = window.window(lines.len(), area.height.into());
        self.drawn = lines[shown.clone()].iter().map(|(line, _)| *line).collect();
        let buffer = frame.buffer_mut();
        for (y, index) in (area.y..).zip(shown.clone()) {
            let (line, content) = &lines[index];
            buffer.set_line(area.x + 2, y, content, area.width.saturating_sub(2));
            if *line == at {
                let role = if is_focused {
                    Role::Accent
                } else {
                    Role::Secondary
                };
                buffer.set_string(area.x, y, theme.glyphs().cursor, theme.style(role));
                if is_focused && index == first {
                    let place = Rect::new(area.x + 2, y, area.width.saturating_sub(2), 1);
                    buffer.set_style(place, theme.style(Role::Selected));
                }
            }
        }
        draw::scroll_bar(buffer, area, shown.start, lines.len(), theme);
    }
}

/// The sign, the word and the meaning of a state.
pub(crate) fn state_look(
    state: ServerState,
    theme: &Theme,
    now_ms: u64,
) -> (&'static str, &'static str, Role) {
    let glyphs = theme.glyphs();
    match state {
        ServerState::Ready => (glyphs.ready, state.as_str(), Role::Good),
        ServerState::Starting | ServerState::Stopping => {
            (spinner(theme, now_ms), state.as_str(), Role::Warning)
        }
        ServerState::BackingOff => (glyphs.warning, state.as_str(), Role::Warning),
        ServerState::Parked => (glyphs.failed, state.as_str(), Role::Bad),
        ServerState::Configured => (glyphs.idle, "not started", Role::Secondary),
        ServerState::Disabled => (glyphs.idle, "off", Role::Secondary),
        ServerState::Stopped => (glyphs.idle, state.as_str(), Role::Secondary),
    }
}

/// Whether something about the state moves on the screen.
pub(crate) fn is_moving(state: ServerState) -> bool {
    matches!(state, ServerState::Starting | ServerState::Stopping)
}

fn server_line(
    server: &ServerSnapshot,
    tools: &HashMap<&str, usize>,
    width: usize,
    seen: &Seen<'_>,
) -> Line<'static> {
    let theme = seen.theme;
    let (glyph, word, role) = state_look(server.state, theme, seen.now_ms);
    let word = match server.state {
        ServerState::Ready => {
            let name = text::width(server.name.as_str());
            let room = width.saturating_sub(name + 3);
            offers(tools.get(server.name.as_str()), room)
        }
        _ => word.to_owned(),
    };
    let name = column(
        server.name.as_str(),
        width.saturating_sub(text::width(&word) + 3),
        theme.glyphs().ellipsis,
    );
    let word_role = match server.state {
        ServerState::Ready => Role::Secondary,
        _ => role,
    };
    Line::from(vec![
        Span::styled(glyph, theme.style(role)),
        Span::raw(format!(" {name} ")),
        Span::styled(word, theme.style(word_role)),
    ])
}

/// "ready", with the number of tools where it is known, in words that leave the name its room.
fn offers(tools: Option<&usize>, room: usize) -> String {
    let ready = "ready".to_owned();
    let tools = match tools {
        None | Some(0) => return ready,
        Some(1) => "1 tool".to_owned(),
        Some(count) => format!("{count} tools"),
    };
    let words = [format!("{ready}, {tools}"), tools];
    let mut words = words.into_iter();
    words.find(|it| text::width(it) <= room).unwrap_or(ready)
}

/// Why a server does not run, in one line.
fn cause(server: &ServerSnapshot) -> Option<String> {
    let is_bad = matches!(server.state, ServerState::Parked | ServerState::BackingOff);
    let failure = server.last_failure.as_ref().filter(|_| is_bad)?;
    Some(text::safe(&failure.cause).into_owned())
}

/// A text at the left and one at the right.
fn two_ends(left: &str, right: &str, width: usize, theme: &Theme) -> Line<'static> {
    let room = width.saturating_sub(text::width(right) + 1);
    Line::from(vec![
        Span::raw(column(left, room, theme.glyphs().ellipsis)),
        Span::raw(" "),
        Span::styled(right.to_owned(), theme.style(Role::Secondary)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_server_keeps_its_room() {
        for (room, expected) in [
            (18, "ready, 10000 tools"),
            (17, "10000 tools"),
            (10, "ready"),
            (0, "ready"),
        ] {
            assert_eq!(offers(Some(&10_000), room), expected);
        }
        assert_eq!(offers(Some(&1), 99), "ready, 1 tool");
    }
}
