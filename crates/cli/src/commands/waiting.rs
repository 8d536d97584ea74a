//! Waiting for many servers under the eyes of a person.
//!
//! Owns what a terminal shows of servers that have not answered yet. A server
//! that answers is printed by the command, above.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use attache::host::Host;
use attache::host::config::ServerName;
use attache::host::snapshot::{ServerSnapshot, ServerState};

use crate::command_host::CommandHost;
use crate::failure::{Failure, cancelled};
use crate::output::text::width;
use crate::output::{Board, Output, Style, Text};

/// How long servers may take before a person is told whom they wait for, and how often that is
/// looked at again.
const LOOK: Duration = Duration::from_millis(150);
/// Names longer than this break their column.
const WIDEST_NAME: usize = 24;

/// The servers that are waited for.
pub(super) struct Waiting {
    host: Host,
    missing: BTreeSet<ServerName>,
    all: usize,
    board: Option<Board>,
    /// When each began what it does, as far as it was seen.
    since: BTreeMap<ServerName, (Doing, Instant)>,
}

/// What a server does that has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    Starts,
    Answers,
    FailedOnce,
    Other(&'static str),
    WaitsForItsTurn,
}

impl Waiting {
    /// For all servers of a session.
    pub(super) fn for_all(session: &CommandHost, output: &Output) -> Result<Self, Failure> {
        let missing: BTreeSet<ServerName> = session.server_names().iter().cloned().collect();
        Ok(Self {
            host: session.host()?.clone(),
            all: missing.len(),
            missing,
            board: output.board(),
            since: BTreeMap::new(),
        })
    }

    /// Whether servers are printed as they answer, because a person looks on.
    pub(super) fn is_watched(&self) -> bool {
        self.board.is_some() && self.all > 1
    }

    /// This server has answered, or failed.
    pub(super) fn ended(&mut self, server: &ServerName) {
        self.missing.remove(server);
    }

    pub(super) fn missing(&self) -> &BTreeSet<ServerName> {
        &self.missing
    }

    /// Lets a moment pass and shows who is waited for by then.
    pub(super) async fn look(&mut self) {
        if self.board.is_none() {
            return std::future::pending().await;
        }
        tokio::time::sleep(LOOK).await;
        if let Some(board) = &self.board {
            let most = board.lines();
            let text = self.text(most);
            if let Some(board) = &self.board {
                board.show(&text);
            }
        }
    }

    fn text(&mut self, most: usize) -> Text {
        let snapshot = self.host.snapshot();
        let mut missing = Vec::new();
        for server in &snapshot.servers {
            if self.missing.contains(&server.name) {
                missing.push((self.doing(server), &server.name));
            }
        }
        // Those that wait for their turn come last.
        missing.sort();
        let names = missing.iter().map(|(_, name)| name.as_str());
        let width = width(names, WIDEST_NAME);
        let mut text = Text::new();
        if self.all > 1 {
            text.faint(&format!(
                "{} of {} have answered; Ctrl-C stops waiting for the others:",
                self.all - self.missing.len(),
                self.all
            ))
            .end_line();
        }
        let shown = match missing.len() > most {
            true => most - 1,
            false => missing.len(),
        };
        for (doing, name) in &missing[..shown] {
            let since = self.since.get(*name).map(|(_, since)| *since);
            text.plain("  ")
                .column(Style::Plain, name.as_str(), width)
                .plain("  ")
                .hang()
                .faint(&doing.words(since))
                .end_line();
        }
        if shown < missing.len() {
            let rest = format!("  and {} more", missing.len() - shown);
            text.faint(&rest).end_line();
        }
        text
    }

    fn doing(&mut self, server: &ServerSnapshot) -> Doing {
        let doing = match server.state {
            ServerState::Configured => Doing::WaitsForItsTurn,
            ServerState::Starting if self.host.is_queued(server.name.as_str()) => {
                Doing::WaitsForItsTurn
            }
            ServerState::Starting => Doing::Starts,
            ServerState::Ready => Doing::Answers,
            ServerState::BackingOff => Doing::FailedOnce,
            other => Doing::Other(other.as_str()),
        };
        let seen = self.since.get(&server.name).map(|(doing, _)| *doing);
        if seen != Some(doing) {
            let now = (doing, Instant::now());
            self.since.insert(server.name.clone(), now);
        }
        doing
    }

    /// What becomes of a command that a person stops while servers are missing.
    pub(super) fn stopped(&self) -> Failure {
        let missing: Vec<&str> = self.missing.iter().map(ServerName::as_str).collect();
        let answered = self.all - missing.len();
        let message = format!(
            "stopped after {answered} of {} servers had answered; not {}",
            self.all,
            missing.join(", ")
        );
        Failure {
            message,
            ..cancelled()
        }
    }
}

impl Doing {
    fn words(self, since: Option<Instant>) -> String {
        let doing = match self {
            Self::Starts => "starting",
            Self::Answers => "asked for its lists",
            Self::FailedOnce => "failed, tries again",
            Self::Other(state) => state,
            Self::WaitsForItsTurn => return "waits for its turn to start".to_owned(),
        };
        match since.map_or(0, |since| since.elapsed().as_secs()) {
            0 => doing.to_owned(),
            seconds => format!("{doing}, {seconds} s"),
        }
    }
}
