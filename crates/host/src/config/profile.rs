//! Ready settings for the two kinds of servers that the requirement documents describe.
//!
//! A profile only fills in what the file leaves open; every key that is written wins.

use std::time::Duration;

use attache_client::protocol::Revision;
use attache_client::{ErrorAlias, Quirks, Timeouts};

use super::{CacheRules, Dialect, Retry, RetryOn};

/// A named set of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The protocol as it is, patient.
    #[default]
    Standard,
    /// For a user who waits at a prompt (seed 000): short time-outs, repeats, a cache, the first
    /// revision.
    Interactive,
    /// For long-running workflows (seed 003): a minute for everything, the dialect `lsp`, the last
    /// legacy revision.
    Workflow,
}

/// How long the `interactive` profile remembers resources, and lists. The requirement names no
/// numbers; these spare most repeats within one conversation.
const INTERACTIVE_TTL: Duration = Duration::from_secs(300);
const INTERACTIVE_LIST_TTL: Duration = Duration::from_secs(60);

impl Profile {
    /// The time-outs (seeds row 35).
    pub fn timeouts(self) -> Timeouts {
        let default = Timeouts::default();
        match self {
            Self::Standard => default,
            Self::Interactive => Timeouts {
                start: Duration::from_millis(2000),
                request: Duration::from_millis(500),
                read: Duration::from_millis(500),
                call: Duration::from_millis(1000),
                // A second without a sign of life: a sync that tells of progress may go on.
                maximum: Duration::from_secs(60),
                ..default
            },
            Self::Workflow => {
                let minute = Duration::from_secs(60);
                Timeouts {
                    start: minute,
                    request: minute,
                    read: minute,
                    call: minute,
                    ..default
                }
            }
        }
    }

    /// The revision to ask for (row 9).
    pub fn protocol(self) -> Option<Revision> {
        match self {
            Self::Interactive => Some(Revision::V2024_11_05),
            Self::Workflow => Some(Revision::V2025_11_25),
            Self::Standard => None,
        }
    }

    /// What is repeated (row 37).
    pub fn retry(self) -> Retry {
        match self {
            Self::Interactive => Retry {
                on: vec![RetryOn::Lost, RetryOn::Timeout, RetryOn::Transient],
                ..Retry::default()
            },
            Self::Standard | Self::Workflow => Retry::default(),
        }
    }

    /// The dialect.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Workflow => Dialect::Lsp,
            Self::Standard | Self::Interactive => Dialect::Standard,
        }
    }

    /// The quirks of a dialect under this profile.
    pub fn quirks(self, dialect: Dialect) -> Quirks {
        let mut quirks = match dialect {
            Dialect::Lsp => Quirks::lsp(),
            Dialect::Standard | Dialect::Custom => Quirks::default(),
        };
        if self == Self::Interactive {
            // Row 25: the server of seed 000 says so when a note is not there.
            let aliases = &mut quirks.error_aliases;
            aliases
                .entry(-32000)
                .or_insert(ErrorAlias::ResourceNotFound);
        }
        quirks
    }

    /// The cache (row 38).
    pub fn cache(self) -> CacheRules {
        match self {
            Self::Interactive => CacheRules {
                ttl: Some(INTERACTIVE_TTL),
                list_ttl: Some(INTERACTIVE_LIST_TTL),
                invalidate_after: vec!["sync_repository".into()],
                ..CacheRules::default()
            },
            Self::Standard | Self::Workflow => CacheRules::default(),
        }
    }
}
