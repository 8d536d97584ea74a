//! What all servers offer together, under names that tell them apart.
//!
//! Owns the shape of an answer that many servers give: the entries with their names, and each
//! server's outcome, so that a server that did not answer is seen and not silently missing
//! (fault 64). How lists are fetched is known elsewhere.

mod kinds;
mod refresh;

use std::sync::Arc;

use attache_client::protocol::{Entries, Rejected};
use serde::{Deserialize, Serialize};

pub use kinds::{ListKind, Listable};
pub(crate) use refresh::RefreshPlan;

use crate::config::{ServerName, ToolFilter};
use crate::error::Error;
use crate::names::{Directory, ToolName};
use crate::snapshot::FailureSnapshot;

/// An entry that a server offers.
#[derive(Clone, Debug)]
pub struct Offered<T> {
    /// Whose it is.
    pub server: ServerName,
    /// Its name among all servers, such as `notes/search`.
    pub qualified: String,
    /// Its own name, if no other server has the same: then it suffices.
    pub plain: Option<String>,
    /// A name for model providers, stable and reversible.
    pub provider: String,
    /// The entry as its server describes it.
    pub entry: T,
}

/// What many servers answered together.
#[derive(Clone, Debug)]
pub struct Aggregate<T> {
    /// What they offer, by server and in each server's order.
    pub entries: Vec<Offered<T>>,
    /// Every server that was asked, and what became of it.
    pub servers: Vec<ServerAnswer>,
}

impl<T> Aggregate<T> {
    /// Whether every server has answered, now.
    pub fn is_complete(&self) -> bool {
        self.servers.iter().all(|it| it.outcome.is_answer())
    }
}

/// One server's part in an answer.
#[derive(Clone, Debug, Serialize)]
pub struct ServerAnswer {
    /// Which server.
    pub name: ServerName,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What stands behind an outcome that is no answer, for programs that tell errors apart.
    #[serde(skip)]
    pub error: Option<Error>,
    /// Entries of it that could not be read, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedEntry>,
}

/// An entry that could not be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RejectedEntry {
    /// The entry as it came.
    pub raw: attache_client::protocol::Json,
    /// Why it was refused.
    pub reason: String,
}

impl From<&Rejected> for RejectedEntry {
    fn from(rejected: &Rejected) -> Self {
        Self {
            raw: rejected.raw.clone(),
            reason: rejected.reason.clone(),
        }
    }
}

/// What became of a server that was asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It answered, or what it answered before is still fresh.
    Ok,
    /// It does not declare to have such a list, so it was not asked.
    NotOffered,
    /// It is starting; nothing of it is known yet.
    Starting,
    /// It has failed for good, until a person restarts it.
    Parked(FailureSnapshot),
    /// It could not be asked this time.
    Unreachable(FailureSnapshot),
    /// It did not answer; these are its entries as they were.
    Remembered {
        /// When they were fetched, in milliseconds since 1970.
        saved_ms: u64,
        /// Why there is nothing newer.
        because: String,
    },
    /// It is switched off.
    Disabled,
}

impl Outcome {
    /// Whether the server has answered, now or lately enough.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Ok | Self::NotOffered)
    }

    /// The outcome that an error means.
    pub(crate) fn of(error: &Error) -> Self {
        let failed = |failure: &crate::error::Failure| FailureSnapshot {
            cause: failure.cause.to_string(),
            stderr: failure.stderr.clone(),
        };
        match error {
            Error::Parked { failure, .. } => Self::Parked(failed(failure)),
            Error::Unreachable { failure, .. } => Self::Unreachable(failed(failure)),
            Error::StillStarting { .. } => Self::Starting,
            Error::Disabled { .. } => Self::Disabled,
            Error::Request { error, .. } => Self::Unreachable(FailureSnapshot {
                cause: error.to_string(),
                stderr: Vec::new(),
            }),
            other => Self::Unreachable(FailureSnapshot {
                cause: other.to_string(),
                stderr: Vec::new(),
            }),
        }
    }
}

/// One server's list and outcome, before names are given.
pub(crate) struct Part<T> {
    pub(crate) server: ServerName,
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<Error>,
    pub(crate) entries: Arc<Entries<T>>,
    pub(crate) filter: ToolFilter,
}

// Derived, it would ask the entries to be cloned, which are shared.
impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self {
            server: self.server.clone(),
            outcome: self.outcome.clone(),
            error: self.error.clone(),
            entries: self.entries.clone(),
            filter: self.filter.clone(),
        }
    }
}

/// Puts the parts together and gives every entry its names.
pub(crate) fn aggregate<T: Listable>(mut parts: Vec<Part<T>>) -> Aggregate<T> {
    parts.sort_by(|one, other| one.server.cmp(&other.server));
    let offered = |part: &Part<T>, entry: &T| {
        T::KIND != ListKind::Tools || part.filter.passes(entry.own_name())
    };
    let names = parts.iter().flat_map(|part| {
        let entries = part.entries.iter().filter(|entry| offered(part, entry));
        entries.map(|entry| ToolName::new(part.server.clone(), entry.own_name()))
    });
    let directory = Directory::new(names);
    let mut whole = Aggregate {
        entries: Vec::new(),
        servers: Vec::new(),
    };
    for part in parts {
        for entry in part.entries.iter().filter(|entry| offered(&part, entry)) {
            let name = ToolName::new(part.server.clone(), entry.own_name());
            let own = || entry.own_name().to_owned();
            whole.entries.push(Offered {
                server: part.server.clone(),
                qualified: name.to_string(),
                plain: directory.is_unambiguous(entry.own_name()).then(own),
                provider: name.provider(),
                entry: entry.clone(),
            });
        }
        whole.servers.push(ServerAnswer {
            name: part.server,
            outcome: part.outcome,
            error: part.error,
            rejected: part.entries.rejected.iter().map(Into::into).collect(),
        });
    }
    whole
}

#[cfg(test)]
mod tests {
    use attache_client::protocol::{Json, Tool};

    use super::*;

    fn part(server: &str, tools: &[&str], filter: ToolFilter) -> Part<Tool> {
        let tools = tools.iter().map(|name| Tool::new(*name, Json::default()));
        Part {
            server: ServerName::new(server).unwrap(),
            outcome: Outcome::Ok,
            error: None,
            entries: Arc::new(tools.collect::<Vec<_>>().into()),
            filter,
        }
    }

    #[test]
    fn plain_names_are_given_only_while_they_tell_servers_apart() {
        let hidden = ToolFilter {
            exclude: vec!["hidden".into()],
            ..ToolFilter::default()
        };
        let whole = aggregate(vec![
            part("b", &["search", "hidden", "write"], hidden),
            part("a", &["search", "hidden"], ToolFilter::default()),
        ]);
        let names: Vec<_> = whole
            .entries
            .iter()
            .map(|entry| (entry.qualified.as_str(), entry.plain.as_deref()))
            .collect();
        let expected = [
            ("a/search", None),
            // What a filter hides takes no name away from others.
            ("a/hidden", Some("hidden")),
            ("b/search", None),
            ("b/write", Some("write")),
        ];
        assert_eq!(names, expected);
        assert!(whole.is_complete());
    }

    #[test]
    fn outcomes_are_plain_words_in_json() {
        let answer = ServerAnswer {
            name: ServerName::new("a").unwrap(),
            outcome: Outcome::Parked(FailureSnapshot {
                cause: "it exited".to_owned(),
                stderr: vec!["no key".to_owned()],
            }),
            error: None,
            rejected: Vec::new(),
        };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            r#"{"name":"a","outcome":"parked","cause":"it exited","stderr":["no key"]}"#
        );
    }
}
