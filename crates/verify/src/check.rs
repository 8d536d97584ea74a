//! What a check is, and what comes of it.
//!
//! Owns the words: groups, levels, verdicts, findings. Refuses to know how anything is checked.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use attache_protocol::Revision;
use serde::Serialize;

use crate::bench::Bench;
use crate::peer::{Peer, Trouble};

/// One question about a server.
pub struct Check {
    /// Its name, `group.words`.
    pub id: &'static str,
    /// What it is about.
    pub group: Group,
    /// The duties of `docs/duties.md` that it looks at.
    pub duties: &'static [&'static str],
    /// How binding they are.
    pub level: Level,
    /// The oldest and the newest revision it applies to.
    pub revisions: (Revision, Revision),
    /// The transports it applies to.
    pub over: Over,
    /// What it asks.
    pub question: &'static str,
    pub(crate) how: How,
}

/// A check at work.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Finding, Trouble>> + Send + 'a>>;

/// What a check needs.
#[derive(Clone, Copy)]
pub(crate) enum How {
    /// The connection that checks share, open and in use.
    Shared(for<'a> fn(&'a mut Peer, &'a Bench) -> Running<'a>),
    /// Connections of its own.
    Alone(for<'a> fn(&'a Bench) -> Running<'a>),
    /// Nothing: every message of all connections was looked at on its way.
    Watched,
}

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Group {
    Start,
    Envelope,
    Malformed,
    Answers,
    Errors,
    Ping,
    Discover,
    Tools,
    Resources,
    Prompts,
    Completion,
    Pagination,
    ListChanged,
    Subscriptions,
    Logging,
    Progress,
    Cancel,
    Caching,
    Tasks,
    Http,
    Headers,
    Sessions,
    Resumption,
    Sse,
    Authorization,
    Ending,
    Calls,
    Client,
}

impl Group {
    /// Its name in reports and for `--only`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Envelope => "envelope",
            Self::Malformed => "malformed",
            Self::Answers => "answers",
            Self::Errors => "errors",
            Self::Ping => "ping",
            Self::Discover => "discover",
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
            Self::Completion => "completion",
            Self::Pagination => "pagination",
            Self::ListChanged => "list-changed",
            Self::Subscriptions => "subscriptions",
            Self::Logging => "logging",
            Self::Progress => "progress",
            Self::Cancel => "cancel",
            Self::Caching => "caching",
            Self::Tasks => "tasks",
            Self::Http => "http",
            Self::Headers => "headers",
            Self::Sessions => "sessions",
            Self::Resumption => "resumption",
            Self::Sse => "sse",
            Self::Authorization => "authorization",
            Self::Ending => "ending",
            Self::Calls => "calls",
            Self::Client => "client",
        }
    }
}

/// How binding a duty is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The specification says must; breaking it is a failure.
    Must,
    /// The specification says should, or says it in passing; breaking it is a warning.
    Should,
}

impl Level {
    /// The word of the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
        }
    }
}

/// The transports a check applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Every one.
    Any,
    /// Standard streams only.
    Stdio,
    /// Streamable HTTP only.
    Http,
    /// The older HTTP+SSE only.
    Sse,
}

impl Over {
    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// All revisions.
pub(crate) const ALL: (Revision, Revision) = (Revision::V2024_11_05, Revision::V2026_07_28);
/// Those with a handshake.
pub(crate) const LEGACY: (Revision, Revision) = (Revision::V2024_11_05, Revision::V2025_11_25);
/// The one without.
pub(crate) const MODERN: (Revision, Revision) = (Revision::V2026_07_28, Revision::V2026_07_28);
/// 2025-06-18 and later.
pub(crate) const STRUCTURED: (Revision, Revision) = (Revision::V2025_06_18, Revision::V2026_07_28);
/// 2025-11-25 alone.
pub(crate) const NEWEST_LEGACY: (Revision, Revision) =
    (Revision::V2025_11_25, Revision::V2025_11_25);
/// 2025-11-25 and later.
pub(crate) const SCOPED: (Revision, Revision) = (Revision::V2025_11_25, Revision::V2026_07_28);
/// Those with authorization.
pub(crate) const AUTHORIZED: (Revision, Revision) = (Revision::V2025_03_26, Revision::V2026_07_28);
/// Those with legacy Streamable HTTP.
pub(crate) const STREAMABLE: (Revision, Revision) = (Revision::V2025_03_26, Revision::V2025_11_25);

impl Check {
    /// Whether it applies to a revision.
    pub fn applies_to(&self, revision: Revision) -> bool {
        (self.revisions.0..=self.revisions.1).contains(&revision)
    }
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A must is broken.
    Fail,
    /// A should is broken.
    Warn,
    /// The duty is kept.
    Pass,
    /// The server does not offer what the duty is about.
    NotOffered,
    /// It could not be found out.
    NotTestable,
}

impl Verdict {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Pass => "pass",
            Self::NotOffered => "not offered",
            Self::NotTestable => "not testable",
        }
    }
}

/// What a check has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Kept(String),
    /// A failure or a warning, as the check's level says.
    Broken(String),
    /// A warning, whatever the check's level is.
    Doubtful(String),
    NotOffered(String),
    NotTestable(String),
}

pub(crate) fn kept(text: impl Into<String>) -> Finding {
    Finding::Kept(text.into())
}

pub(crate) fn broken(text: impl Into<String>) -> Finding {
    Finding::Broken(text.into())
}

pub(crate) fn doubtful(text: impl Into<String>) -> Finding {
    Finding::Doubtful(text.into())
}

pub(crate) fn not_offered(text: impl Into<String>) -> Finding {
    Finding::NotOffered(text.into())
}

pub(crate) fn not_testable(text: impl Into<String>) -> Finding {
    Finding::NotTestable(text.into())
}

impl Finding {
    /// What it means at a level.
    pub(crate) fn verdict(&self, level: Level) -> Verdict {
        match (self, level) {
            (Self::Kept(_), _) => Verdict::Pass,
            (Self::Broken(_), Level::Must) => Verdict::Fail,
            (Self::Broken(_), Level::Should) | (Self::Doubtful(_), _) => Verdict::Warn,
            (Self::NotOffered(_), _) => Verdict::NotOffered,
            (Self::NotTestable(_), _) => Verdict::NotTestable,
        }
    }

    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Kept(text)
            | Self::Broken(text)
            | Self::Doubtful(text)
            | Self::NotOffered(text)
            | Self::NotTestable(text) => text,
        }
    }

    /// `Kept` if nothing is wrong, else all that is.
    pub(crate) fn of(complaints: &[String], otherwise: impl Into<String>) -> Self {
        match complaints {
            [] => kept(otherwise),
            some => broken(list(some)),
        }
    }
}

/// The first few of many complaints.
pub(crate) fn list(complaints: &[String]) -> String {
    const MOST: usize = 3;
    let mut text = complaints[..complaints.len().min(MOST)].join("; ");
    if complaints.len() > MOST {
        text.push_str(&format!("; and {} more", complaints.len() - MOST));
    }
    text
}

/// What came of one check in one revision.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The check's name.
    pub check: String,
    /// What it is about.
    pub group: Group,
    /// The duties it looks at.
    pub duties: Vec<&'static str>,
    /// How binding they are.
    pub level: Level,
    /// The revision it was asked in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// What it asks.
    pub question: String,
    /// What it came to.
    pub verdict: Verdict,
    /// Whether the baseline has this failure already.
    pub known: bool,
    /// What was found, as a sentence.
    pub found: String,
    /// What was sent, as it was sent.
    pub sent: Vec<String>,
    /// What came back.
    pub came: Vec<String>,
    /// A shell command that shows the same.
    pub reproduce: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl Outcome {
    /// What tells it from others of the same report.
    pub fn key(&self) -> String {
        match self.revision {
            Some(revision) => format!("{}@{revision}", self.check),
            None => self.check.clone(),
        }
    }
}

/// A duration in whole milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
