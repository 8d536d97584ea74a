//! Waiting for many servers under the eyes of a person.
//!
//! Owns what a terminal shows of servers that have not answered yet. Whoever answers is printed by
//! the command, above.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

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
}

impl Waiting {
    /// For all servers of a session.
    pub(super) fn for_all(session: &CommandHost, output: &Output) -> Self {
        let missing: BTreeSet<ServerName> = session.host.server_names().into_iter().collect();
        Self {
            host: session.host.clone(),
            all: missing.len(),
            missing,
            board: output.board(),
        }
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
    pub(super) async fn look(&self) {
        match &self.board {
            Some(board) => {
                tokio::time::sleep(LOOK).await;
                board.show(&self.text(board.lines()));
            }
            None => std::future::pending().await,
        }
    }

    fn text(&self, most: usize) -> Text {
        let snapshot = self.host.snapshot();
        let is_missing = |server: &&ServerSnapshot| self.missing.contains(&server.name);
        let mut missing: Vec<&ServerSnapshot> =
            snapshot.servers.iter().filter(is_missing).collect();
        // Those that have a place come first.
        missing.sort_by_key(|server| server.queued || server.state == ServerState::Configured);
        let names = missing.iter().map(|server| server.name.as_str());
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
        for server in &missing[..shown] {
            text.plain("  ")
                .column(Style::Plain, server.name.as_str(), width)
                .plain("  ")
                .hang()
                .faint(&waits_for(server))
                .end_line();
        }
        if shown < missing.len() {
            let rest = format!("  and {} more", missing.len() - shown);
            text.faint(&rest).end_line();
        }
        text
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

/// What a server does that has not answered.
fn waits_for(server: &ServerSnapshot) -> String {
    let since = SystemTime::UNIX_EPOCH + Duration::from_millis(server.since_ms);
    let seconds = since.elapsed().unwrap_or_default().as_secs();
    let doing = match server.state {
        ServerState::Configured => return "waits for its turn to start".to_owned(),
        ServerState::Starting if server.queued => return "waits for its turn to start".to_owned(),
        ServerState::Starting => "starting",
        ServerState::Ready => "asked for its lists",
        ServerState::BackingOff => "failed, tries again",
        other => return other.as_str().to_owned(),
    };
    match seconds {
        0 => doing.to_owned(),
        _ => format!("{doing}, {seconds} s"),
    }
}
