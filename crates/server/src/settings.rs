//! What a server can be told about itself: limits and choices, each with its default.

use std::time::Duration;

use attache_protocol::DEFAULT_MAX_FRAME;

/// What bounds a server. Every field has a test at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest message in bytes.
    pub max_frame: usize,
    /// How many handlers run at once on one connection (stdio) or listener (HTTP).
    pub max_running: usize,
    /// How many more requests wait for their turn; the next one is refused with `-32603`.
    pub max_waiting: usize,
    /// How many bytes wait for a peer that does not read before the server stops reading too, and
    /// drops progress and log messages.
    pub max_output: usize,
    /// How many entries one page of a list holds.
    pub page_size: usize,
    /// How many resources one session or one listen may watch.
    pub max_watched: usize,
    /// How many `subscriptions/listen` are open at once.
    pub max_listens: usize,
    /// How many tasks are kept at once.
    pub max_tasks: usize,
    /// How long a finished task is kept at most.
    pub task_ttl: Duration,
    /// How many questions one request may ask its client.
    pub max_questions: usize,
    /// How long a `requestState` may be in bytes.
    pub max_state: usize,
    /// How long a `requestState` is good for.
    pub state_ttl: Duration,
    /// How many used states are remembered at once, for handlers that [redeem](crate::Context::redeem)
    /// theirs; the next handler to do so fails.
    pub max_redeemed: usize,
    /// How long accepted requests may go on after the end of input, or after the client asked the
    /// server to leave. What is not done by then is answered with `-32603`.
    pub end_grace: Duration,
    /// How long a client that has ended its input may take to read on before the server leaves with
    /// answers unread.
    pub last_read: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_frame: DEFAULT_MAX_FRAME,
            max_running: 64,
            max_waiting: 1024,
            max_output: 4 * 1024 * 1024,
            page_size: 500,
            max_watched: 1024,
            max_listens: 256,
            max_tasks: 1024,
            task_ttl: Duration::from_secs(60 * 60),
            max_questions: 32,
            max_state: 256 * 1024,
            state_ttl: Duration::from_secs(15 * 60),
            max_redeemed: 4096,
            end_grace: Duration::from_secs(60),
            last_read: Duration::from_secs(5),
        }
    }
}

/// What a legacy client may ask between the answer to `initialize` and its own
/// `notifications/initialized` (seeds row 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BeforeInitialized {
    /// Everything: the notification is a courtesy.
    #[default]
    Accept,
    /// Nothing but `ping`: `strict_initialized`. A session then also begins once: a second
    /// `initialize` on the same stream is refused.
    Refuse,
}

/// Whether results of the modern era say who the server is (S-MOD-07).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identify {
    /// They do.
    #[default]
    InEveryResult,
    /// They do not.
    Never,
}
