//! The five revisions, the two eras, and the one table of what differs between them.
//!
//! Code elsewhere asks [`Revision::features`], never compares dates (invariant 8).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A dated revision of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05: the first.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// 2025-03-26: annotations, audio, batches, Streamable HTTP.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// 2025-06-18: structured results, resource links, elicitation; no batches.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// 2025-11-25: icons, url elicitation, tools in sampling, experimental tasks.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// 2026-07-28: no handshake, metadata in every request, multi-round results.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

/// How a connection works at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// A session that begins with `initialize`; both sides may ask.
    Legacy,
    /// Every request stands for itself; only the client asks.
    Modern,
}

impl fmt::Display for Era {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}

/// What a revision has, as far as it changes what is sent or accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// The era the revision belongs to.
    pub era: Era,
    /// Batches are legal (X-BATCH-01, X-BATCH-04).
    pub batches: bool,
    /// The server declares `completions`; before, one just tries (S-CMP-01).
    pub completion_capability: bool,
    /// `completion/complete` takes `context` (C-CMP-03).
    pub completion_context: bool,
    /// `elicitation/create` exists (C-ELIC-01).
    pub elicitation: bool,
    /// Elicitation has modes, `form` and `url` (C-ELIC-01).
    pub elicitation_modes: bool,
    /// Sampling has sub-capabilities `tools` and `context` (C-SAMP-03).
    pub sampling_tools: bool,
    /// `clientInfo` may carry `title`.
    pub identity_title: bool,
    /// `clientInfo` may carry `description`, `icons`, `websiteUrl`.
    pub identity_details: bool,
    /// Tasks as the experimental feature of 2025-11-25 (section 23 of the ledger).
    pub experimental_tasks: bool,
    /// Progress may say what is being done (X-PROG-03).
    pub progress_message: bool,
    /// Tools may carry annotations.
    pub tool_annotations: bool,
    /// Content may be a sound.
    pub audio: bool,
    /// Results may be structured or link to resources; named things have `title` and `_meta`.
    pub structured_results: bool,
    /// Bad argument values are a tool's result, not an error (S-TOOL-09).
    pub argument_errors_are_results: bool,
    /// A stream over HTTP begins with an event that has an id and no data (S-SHL-09).
    pub primed_streams: bool,
    /// The error about an unreadable message has no `id` at all (X-BASE-05).
    pub errors_without_id: bool,
    /// HTTP requests name the revision in a header (C-INIT-12).
    pub version_header: bool,
}

const FIRST: Features = Features {
    era: Era::Legacy,
    batches: false,
    completion_capability: false,
    completion_context: false,
    elicitation: false,
    elicitation_modes: false,
    sampling_tools: false,
    identity_title: false,
    identity_details: false,
    experimental_tasks: false,
    progress_message: false,
    tool_annotations: false,
    audio: false,
    structured_results: false,
    argument_errors_are_results: false,
    primed_streams: false,
    errors_without_id: false,
    version_header: false,
};

const V2025_03_26: Features = Features {
    batches: true,
    completion_capability: true,
    progress_message: true,
    tool_annotations: true,
    audio: true,
    ..FIRST
};

const V2025_06_18: Features = Features {
    batches: false,
    completion_context: true,
    elicitation: true,
    identity_title: true,
    structured_results: true,
    version_header: true,
    ..V2025_03_26
};

const V2025_11_25: Features = Features {
    elicitation_modes: true,
    sampling_tools: true,
    identity_details: true,
    experimental_tasks: true,
    argument_errors_are_results: true,
    primed_streams: true,
    errors_without_id: true,
    ..V2025_06_18
};

const V2026_07_28: Features = Features {
    era: Era::Modern,
    experimental_tasks: false,
    primed_streams: false,
    ..V2025_11_25
};

impl Revision {
    /// All revisions, newest first: the order in which they are preferred.
    pub const NEWEST_FIRST: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// What this revision has.
    pub fn features(self) -> &'static Features {
        match self {
            Self::V2024_11_05 => &FIRST,
            Self::V2025_03_26 => &V2025_03_26,
            Self::V2025_06_18 => &V2025_06_18,
            Self::V2025_11_25 => &V2025_11_25,
            Self::V2026_07_28 => &V2026_07_28,
        }
    }

    /// The era of this revision.
    pub fn era(self) -> Era {
        self.features().era
    }

    /// The date that names the revision on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The newest revision of `era` among dates a peer offers.
    pub fn newest_of<'a>(era: Era, offered: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        offered
            .into_iter()
            .filter_map(|date| date.parse::<Self>().ok())
            .filter(|revision| revision.era() == era)
            .max()
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A date that names no revision this library speaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no known protocol revision; known are {known}",
    known = Revision::NEWEST_FIRST.map(Revision::as_str).join(", ")
)]
pub struct UnknownRevision(pub String);

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(date: &str) -> Result<Self, UnknownRevision> {
        Self::NEWEST_FIRST
            .into_iter()
            .find(|revision| revision.as_str() == date)
            .ok_or_else(|| UnknownRevision(date.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_name_revisions_both_ways() {
        for revision in Revision::NEWEST_FIRST {
            assert_eq!(revision.as_str().parse(), Ok(revision));
            let json = serde_json::to_string(&revision).unwrap();
            assert_eq!(json, format!("\"{revision}\""));
        }
        assert!("2030-01-01".parse::<Revision>().is_err());
    }

    #[test]
    fn only_the_newest_revision_is_modern() {
        let modern = Revision::NEWEST_FIRST.map(|revision| revision.era() == Era::Modern);
        assert_eq!(modern, [true, false, false, false, false]);
    }

    #[test]
    fn the_newest_common_revision_of_an_era_is_chosen() {
        let offered = ["2025-03-26", "2099-01-01", "2025-11-25", "2026-07-28"];
        assert_eq!(
            Revision::newest_of(Era::Legacy, offered),
            Some(Revision::V2025_11_25)
        );
        assert_eq!(
            Revision::newest_of(Era::Modern, offered),
            Some(Revision::V2026_07_28)
        );
        assert_eq!(Revision::newest_of(Era::Modern, ["2099-01-01"]), None);
    }
}
