//! What can be set for one connection: versions, time-outs, limits, quirks.
//!
//! Plain values with defaults. Standard behaviour is the default everywhere; a deviation that a
//! server needs is named here and reaches only that server.

use std::collections::BTreeMap;
use std::time::Duration;

use attache_protocol::frame::EmptyParams;
use attache_protocol::{DEFAULT_MAX_FRAME, Implementation, LogLevel, Revision};

/// Everything that can be set for one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How the client names itself to the server.
    pub identity: Implementation,
    /// Which eras may be tried.
    pub era: EraChoice,
    /// The revision to ask a legacy server for, instead of the newest. Implies that the server is
    /// not probed for the modern era if the revision is a legacy one.
    pub protocol: Option<Revision>,
    /// Time-outs.
    pub timeouts: Timeouts,
    /// Limits on what a server can make this process hold or do.
    pub limits: Limits,
    /// Deviations from standard behaviour.
    pub quirks: Quirks,
    /// Whether to declare the tasks extension to modern servers (X-MOD-22: off until switched on).
    pub tasks_extension: TasksExtension,
    /// The least serious log messages that are wanted. Servers with logging are told with every
    /// connection; what comes all the same is dropped here.
    pub log_level: Option<LogLevel>,
    /// What becomes of requests for what the server does not declare.
    pub capabilities: UndeclaredRequests,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            identity: Implementation::new("attache", env!("CARGO_PKG_VERSION")),
            era: EraChoice::default(),
            protocol: None,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            quirks: Quirks::default(),
            tasks_extension: TasksExtension::default(),
            log_level: None,
            capabilities: UndeclaredRequests::default(),
        }
    }
}

/// What becomes of calls, reads and prompts of a server that does not declare to have any. Its lists
/// are never asked for: they are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndeclaredRequests {
    /// They are sent and the server decides: some forget to declare what they have.
    #[default]
    Send,
    /// They are refused here.
    Refuse,
}

/// Which eras may be tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EraChoice {
    /// Probe for the modern era and fall back to the legacy one.
    #[default]
    Auto,
    /// Modern only: a legacy server is an error.
    Modern,
    /// Legacy only: begin with `initialize` at once.
    Legacy,
}

/// Whether modern servers are told that they may answer a tool call with a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TasksExtension {
    /// Not declared.
    #[default]
    Off,
    /// Declared; tasks are polled to their end by the call that created them.
    On,
}

/// How long to wait for what. No hint of a server can lift these (P6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the answer to `server/discover` over HTTP before `initialize` is sent beside it
    /// (fault 31). Over a pipe a fraction of it is enough (fault 67). A server that may only be
    /// modern has all of `start` instead.
    pub probe: Duration,
    /// Added to `probe` for a server that has not shown any sign of life yet.
    pub start_grace: Duration,
    /// For the whole of connecting, the process start included (fault 33).
    pub start: Duration,
    /// For lists, completion and other small requests.
    pub request: Duration,
    /// For `resources/read`.
    pub read: Duration,
    /// For `tools/call` and `prompts/get`.
    pub call: Duration,
    /// The hard maximum of one request, however often progress extends it (fault 47).
    pub maximum: Duration,
    /// For a server to take bytes from its stdin before it counts as stuck (fault 27).
    pub write_stall: Duration,
    /// For a server to leave by itself after its stdin was closed.
    pub close_grace: Duration,
    /// For a server to leave after it was told to terminate, before it is killed.
    pub close_terminate: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(3),
            start_grace: Duration::from_secs(2),
            start: Duration::from_secs(60),
            request: Duration::from_secs(60),
            read: Duration::from_secs(60),
            call: Duration::from_secs(60),
            maximum: Duration::from_secs(600),
            write_stall: Duration::from_secs(30),
            close_grace: Duration::from_secs(2),
            close_terminate: Duration::from_secs(2),
        }
    }
}

/// Limits on what a server can make this process hold or do (invariant 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message accepted, in bytes.
    pub frame: usize,
    /// Bytes waiting to be written before callers have to wait for room.
    pub write_queue: usize,
    /// Requests on their way at once over HTTP before callers have to wait for room.
    pub requests_at_once: usize,
    /// Notifications queued for a reader that does not read, rounded up to a power of two; more are
    /// dropped and counted.
    pub notifications: usize,
    /// Progress notes queued for one call; the oldest are dropped.
    pub progress: usize,
    /// Pages of one list.
    pub pages: usize,
    /// Rounds of one call that a server answers with questions.
    pub rounds: usize,
    /// Requests of the server being answered at once.
    pub server_requests: usize,
    /// Bytes of stderr kept.
    pub stderr_tail: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: DEFAULT_MAX_FRAME,
            write_queue: 4 * 1024 * 1024,
            requests_at_once: 256,
            notifications: 1024,
            progress: 256,
            pages: 1000,
            rounds: 10,
            server_requests: 32,
            stderr_tail: 64 * 1024,
        }
    }
}

/// Deviations from standard behaviour, each for a server that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// How a request is cancelled.
    pub cancel: CancelForm,
    /// How a session is ended.
    pub shutdown: ShutdownForm,
    /// Whether `notifications/initialized` is sent.
    pub initialized: InitializedNotice,
    /// What becomes of empty params.
    pub empty_params: EmptyParams,
    /// What becomes of a tool that is listed without an input schema.
    pub missing_input_schema: MissingInputSchema,
    /// How the progress of a request is named to the server.
    pub progress_token: ProgressTokenForm,
    /// Meanings of error codes that only this server has.
    pub error_aliases: BTreeMap<i64, ErrorAlias>,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            cancel: CancelForm::Standard,
            shutdown: ShutdownForm::Close,
            initialized: InitializedNotice::Send,
            empty_params: EmptyParams::Omit,
            missing_input_schema: MissingInputSchema::Repair,
            progress_token: ProgressTokenForm::Number,
            error_aliases: BTreeMap::new(),
        }
    }
}

impl Quirks {
    /// The dialect of servers modelled on the language server protocol (seed 003).
    pub fn lsp() -> Self {
        Self {
            cancel: CancelForm::Both,
            shutdown: ShutdownForm::Lsp,
            progress_token: ProgressTokenForm::Tool,
            error_aliases: BTreeMap::from([
                (-32000, ErrorAlias::ToolFailed),
                (-32001, ErrorAlias::TimedOut),
                (-32002, ErrorAlias::Cancelled),
            ]),
            ..Self::default()
        }
    }
}

/// How a request is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelForm {
    /// `notifications/cancelled`.
    Standard,
    /// `$/cancelRequest`.
    Lsp,
    /// The standard form, then the other.
    Both,
}

/// How a session is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownForm {
    /// Close stdin, wait, terminate, kill (C-INIT-13).
    Close,
    /// `shutdown` and `exit` first.
    Lsp,
}

/// Whether `notifications/initialized` is sent after the handshake (C-INIT-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitializedNotice {
    /// As the protocol demands.
    Send,
    /// For a server that breaks on it.
    Skip,
}

/// How the progress of a request is named (X-PROG-01: any text or number that is unique).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressTokenForm {
    /// By the number of the request.
    Number,
    /// `tool-` and that number (seed 003).
    Tool,
}

/// What becomes of a tool that is listed without an input schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingInputSchema {
    /// It takes any object.
    Repair,
    /// It counts as malformed.
    Reject,
}

/// What a code from the range without agreed meaning means to one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorAlias {
    /// The resource does not exist.
    ResourceNotFound,
    /// The tool ran and failed.
    ToolFailed,
    /// The request was cancelled.
    Cancelled,
    /// The server gave up waiting for what it needs to answer.
    TimedOut,
}
