//! What a list says about itself: which servers are missing in it, and why it is empty.

use attache::host::catalog::Outcome;
use attache::host::snapshot::{ServerState, Snapshot};
use ratatui::text::{Line, Span};

use super::{Catalog, Row, Seen};
use crate::text;
use crate::theme::Role;

impl<R: Row> Catalog<R> {
    /// The servers that this list is about.
    fn asked<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = (&'a str, ServerState)> {
        let servers = snapshot.servers.iter();
        let servers = servers.map(|server| (server.name.as_str(), server.state));
        servers.filter(|(name, _)| self.scope.as_deref().is_none_or(|scope| scope == *name))
    }

    /// What is to be known about a list that is there but not whole.
    pub(super) fn status(&self, seen: &Seen<'_>) -> Option<Line<'static>> {
        let (theme, glyphs) = (seen.theme, seen.theme.glyphs());
        let mut parts: Vec<Span<'static>> = Vec::new();
        let mut add = |text: String, role| {
            if !parts.is_empty() {
                let separator = format!(" {} ", glyphs.separator);
                parts.push(Span::styled(separator, theme.style(Role::Secondary)));
            }
            parts.push(Span::styled(text, theme.style(role)));
        };
        let (mut asked, mut answered) = (0, 0);
        for (name, state) in self.asked(seen.snapshot) {
            if state == ServerState::Disabled {
                continue;
            }
            asked += 1;
            match self.answers.get(name) {
                Some(Outcome::Ok | Outcome::NotOffered) => {
                    answered += 1;
                    let is_gone = matches!(
                        state,
                        ServerState::BackingOff | ServerState::Parked | ServerState::Stopped
                    );
                    let has_rows = self.rows.iter().any(|row| row.server() == name);
                    if is_gone && has_rows {
                        add(format!("{name}: stale, {}", state.as_str()), Role::Warning);
                    }
                }
                Some(Outcome::Remembered { saved_ms, because }) => {
                    let ago = text::ago(*saved_ms, seen.now_ms);
                    let because = text::safe(because);
                    add(
                        format!("{name}: remembered {ago}, {because}"),
                        Role::Warning,
                    );
                }
                Some(Outcome::Parked(failure) | Outcome::Unreachable(failure)) => {
                    add(format!("{name}: {}", text::safe(&failure.cause)), Role::Bad);
                }
                Some(Outcome::Starting | Outcome::Disabled) | None => {}
            }
        }
        if answered < asked && !self.rows.is_empty() {
            let words = format!("{answered} of {asked} servers answered");
            add(words, Role::Secondary);
        }
        let rejected: usize = self.rejected.values().sum();
        if rejected > 0 {
            add(format!("{rejected} could not be read"), Role::Warning);
        }
        if let Some(problem) = &self.failed {
            add(text::safe(problem).into_owned(), Role::Bad);
        }
        match parts.is_empty() {
            true => None,
            false => Some(Line::from(parts)),
        }
    }

    /// Why there is nothing, and what to do.
    pub(super) fn emptiness(&self, seen: &Seen<'_>) -> (String, String) {
        let noun = R::NOUN;
        if !self.filter.is_empty() && self.in_scope() > 0 {
            let typed = text::safe(self.filter.input.text());
            let title = format!("no {noun} match \"{typed}\"");
            return (title, "Esc drops the filter".to_owned());
        }
        if let Some(problem) = &self.failed {
            let problem = text::safe(problem).into_owned();
            return (format!("the {noun} could not be listed"), problem);
        }
        let asked: Vec<(&str, ServerState)> = self.asked(seen.snapshot).collect();
        match asked.as_slice() {
            [] if !seen.is_connected => {
                let spinner = seen.spinner();
                (
                    format!("{spinner} reading the configuration"),
                    String::new(),
                )
            }
            [] => (
                "no server is written down yet".to_owned(),
                "attache config add NAME -- COMMAND adds one".to_owned(),
            ),
            [(name, state)] => self.one_server(name, *state, seen),
            several => {
                let is_waiting =
                    |name: &str| matches!(self.answers.get(name), None | Some(Outcome::Starting));
                let waiting: Vec<&str> = several
                    .iter()
                    .filter(|(name, state)| is_waiting(name) && *state != ServerState::Disabled)
                    .map(|(name, _)| *name)
                    .collect();
                match waiting.is_empty() {
                    true => (
                        format!("no {noun}"),
                        format!("none of the servers offers {noun}"),
                    ),
                    false => {
                        let title =
                            format!("{} waiting for {}", seen.spinner(), waiting.join(", "));
                        (title, String::new())
                    }
                }
            }
        }
    }

    fn one_server(&self, name: &str, state: ServerState, seen: &Seen<'_>) -> (String, String) {
        let noun = R::NOUN;
        let elapsed = || {
            let servers = &seen.snapshot.servers;
            let since = servers.iter().find(|it| it.name.as_str() == name);
            let since = since.map_or(seen.now_ms, |it| it.since_ms);
            text::duration(seen.now_ms.saturating_sub(since) / 1000 * 1000)
        };
        match self.answers.get(name) {
            Some(Outcome::Ok) => (format!("no {noun}"), format!("{name} offers no {noun}")),
            Some(Outcome::NotOffered) => (
                format!("no {noun}"),
                format!("{name} does not offer {noun}"),
            ),
            Some(Outcome::Parked(failure) | Outcome::Unreachable(failure)) => {
                let cause = text::safe(&failure.cause).into_owned();
                let remedy = "R restarts it, Enter on the server shows more";
                (
                    format!("{name} is not running"),
                    format!("{cause}\n\n{remedy}"),
                )
            }
            Some(Outcome::Disabled) => (
                format!("{name} is switched off"),
                "E on the server switches it on".to_owned(),
            ),
            _ if state == ServerState::Disabled => (
                format!("{name} is switched off"),
                "E on the server switches it on".to_owned(),
            ),
            _ if state == ServerState::Starting => (
                format!("{} {name} is starting, {}", seen.spinner(), elapsed()),
                String::new(),
            ),
            _ => (
                format!("{} waiting for {name}", seen.spinner()),
                String::new(),
            ),
        }
    }
}
