//! What came of all checks, and its forms for machines.

mod html;
mod junit;
mod sarif;

use std::collections::BTreeSet;
use std::time::Duration;

use attache_protocol::{Era, Revision};
use serde::Serialize;

use crate::check::{Outcome, Verdict, milliseconds};
use crate::checks;
use crate::peer::{Peer, Trouble};
use crate::target::Target;

pub use html::html;
pub use junit::junit;
pub use sarif::sarif;

/// What came of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of this program.
    pub attache: &'static str,
    /// What was looked at, as a person would type it.
    pub target: String,
    /// `stdio`, `http` or `http+sse`.
    pub transport: &'static str,
    /// What the server says it is.
    pub server: Option<String>,
    /// The eras that were tried.
    pub eras: Vec<EraReport>,
    /// How many outcomes of each verdict there are.
    pub counts: Counts,
    /// How many checks came to a verdict: pass, fail or warn.
    pub checks: usize,
    /// How many duties of the specification they look at.
    pub duties: usize,
    /// Whether the server wants a login, so that little could be looked at.
    pub needs_login: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Every outcome, in the order of the checks.
    pub outcomes: Vec<Outcome>,
}

/// One era that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct EraReport {
    /// `legacy` or `modern`.
    pub era: String,
    /// The revision that was spoken, if any was.
    pub revision: Option<Revision>,
    /// Why none was.
    pub why_not: Option<String>,
    #[serde(skip)]
    server: Option<String>,
    #[serde(skip)]
    needs_login: bool,
}

/// How many outcomes there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Duties that are kept.
    pub pass: usize,
    /// Musts that are broken.
    pub fail: usize,
    /// Those of them that the baseline knows.
    pub known: usize,
    /// Shoulds that are broken.
    pub warn: usize,
    /// What the server does not offer.
    pub not_offered: usize,
    /// What could not be found out.
    pub not_testable: usize,
}

impl EraReport {
    pub(crate) fn of(era: Era, opened: &Result<Peer, Trouble>) -> Self {
        let (revision, why_not, server) = match opened {
            Ok(peer) => {
                let info = match era {
                    Era::Legacy => &peer.opened["serverInfo"],
                    Era::Modern => &peer.opened["_meta"]["io.modelcontextprotocol/serverInfo"],
                };
                let server = info["name"]
                    .as_str()
                    .map(|name| format!("{name} {}", info["version"].as_str().unwrap_or_default()));
                (Some(peer.revision), None, server)
            }
            Err(trouble) => (None, Some(trouble.to_string()), None),
        };
        Self {
            era: era.to_string(),
            revision,
            why_not,
            server,
            needs_login: matches!(opened, Err(Trouble::LoginNeeded(_))),
        }
    }
}

impl Report {
    pub(crate) fn new(
        target: &Target,
        eras: Vec<EraReport>,
        outcomes: Vec<Outcome>,
        took: Duration,
    ) -> Self {
        Self::made(target.words(), target.transport(), eras, outcomes, took)
    }

    pub(crate) fn made(
        target: String,
        transport: &'static str,
        eras: Vec<EraReport>,
        outcomes: Vec<Outcome>,
        took: Duration,
    ) -> Self {
        let mut counts = Counts::default();
        let (mut checks, mut duties) = (BTreeSet::new(), BTreeSet::new());
        for outcome in &outcomes {
            match outcome.verdict {
                Verdict::Pass => counts.pass += 1,
                Verdict::Fail => counts.fail += 1,
                Verdict::Warn => counts.warn += 1,
                Verdict::NotOffered => counts.not_offered += 1,
                Verdict::NotTestable => counts.not_testable += 1,
            }
            counts.known += usize::from(outcome.known);
            if matches!(
                outcome.verdict,
                Verdict::Pass | Verdict::Fail | Verdict::Warn
            ) {
                checks.insert(outcome.check.as_str());
                duties.extend(outcome.duties.iter().copied());
            }
        }
        let is_open = eras.iter().any(|era| era.revision.is_some());
        Self {
            attache: env!("CARGO_PKG_VERSION"),
            checks: checks.len(),
            needs_login: !is_open && eras.iter().any(|era| era.needs_login),
            target,
            transport,
            server: eras.iter().rev().find_map(|era| era.server.clone()),
            eras,
            counts,
            duties: duties.len(),
            took_ms: milliseconds(took),
            outcomes,
        }
    }

    /// Failures that the baseline does not know.
    pub fn new_failures(&self) -> usize {
        self.counts.fail - self.counts.known
    }

    /// The report as one JSON document.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// How many checks of servers there are, and how many duties they look at.
pub fn coverage() -> (usize, usize) {
    let duties: BTreeSet<&str> = checks::all()
        .flat_map(|check| check.duties)
        .copied()
        .collect();
    (checks::all().count(), duties.len())
}

/// Text for XML and HTML. Characters that XML cannot hold become visible.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                safe.push_str(&format!("\\u{{{:x}}}", u32::from(other)));
            }
            // Reordering text is how a line says something else than it shows.
            other @ ('\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}') => {
                safe.push_str(&format!("\\u{{{:x}}}", u32::from(other)));
            }
            other => safe.push(other),
        }
    }
    safe
}
