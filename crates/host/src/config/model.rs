//! The configuration as plain values.
//!
//! Owns what can be said about a server and the defaults. It knows no file format: `read` makes
//! these values from `attache.toml`, and a program may as well make them by hand.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use attache_client::Server;
use attache_client::protocol::Implementation;

use super::{ChatConfig, Pattern, Secret, SpeckitConfig, UiConfig};

/// All servers and what holds for them together.
#[derive(Clone, Debug)]
pub struct Config {
    /// The servers that could be read, disabled ones included.
    pub servers: BTreeMap<ServerName, ServerConfig>,
    /// Rules for the tools of all servers; patterns match `server/tool`.
    pub policy: PolicyRules,
    /// How this client names itself to servers that do not say otherwise.
    pub client: Option<Implementation>,
    /// The most bytes the cache may hold, all servers together.
    pub cache_bytes: u64,
    /// How many programs may be starting at a time when many servers are wanted; without it, as
    /// many as suits the machine. Read when a host starts.
    pub concurrent_starts: Option<usize>,
    /// What is written down of calls and servers, and where.
    pub log: LogRules,
    /// The model to talk to; nothing of it if the file does not say, or may not.
    pub chat: ChatConfig,
    /// The spec workflow: who writes, and where the specs are.
    pub speckit: SpeckitConfig,
    /// How the terminal UI looks and which keys it has; nothing of it if the file may not say.
    pub ui: UiConfig,
    /// What was wrong with the file. A bad server is missing from `servers` and named here; its
    /// neighbours are not touched (invariant 9).
    pub problems: Vec<Problem>,
}

/// What the cache holds unless configured: 64 MiB.
const DEFAULT_CACHE_BYTES: u64 = 64 * 1024 * 1024;

impl Default for Config {
    fn default() -> Self {
        Self {
            servers: BTreeMap::new(),
            policy: PolicyRules::default(),
            client: None,
            cache_bytes: DEFAULT_CACHE_BYTES,
            concurrent_starts: None,
            log: LogRules::default(),
            chat: ChatConfig::default(),
            speckit: SpeckitConfig::default(),
            ui: UiConfig::default(),
            problems: Vec::new(),
        }
    }
}

/// What is written down, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRules {
    /// The folder of log files; without it one in the state folder.
    pub directory: Option<PathBuf>,
    /// Whether calls are written down.
    pub calls: CallLogging,
}

/// Whether calls are written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallLogging {
    /// They are, with their arguments and results, secrets masked.
    #[default]
    On,
    /// They are not.
    Off,
}

/// One server: how to reach it and how to treat it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    /// Its name here.
    pub name: ServerName,
    /// How to reach it and how to speak to it.
    pub server: Server,
    /// How to log in to it, if it is behind a URL.
    pub auth: AuthConfig,
    /// Where the defaults of its quirks come from.
    pub dialect: Dialect,
    /// Which calls may be repeated after a failure.
    pub call_retry: CallRetry,
    /// How often and when what may be repeated is.
    pub retry: Retry,
    /// How this client names itself to it; as to all others if there is nothing.
    pub client: Option<Implementation>,
    /// What happens after a crash.
    pub restart: Restart,
    /// What is remembered of its answers.
    pub cache: CacheRules,
    /// Which of its tools may be called; patterns match the tool's own name.
    pub policy: PolicyRules,
    /// When it is started.
    pub start: Start,
    /// A disabled server is listed and never started.
    pub enabled: bool,
    /// Which of its tools exist at all for the user.
    pub tool_filter: ToolFilter,
    /// The projects of a conversation that it belongs to.
    pub projects: Vec<String>,
    /// Where this was written.
    pub source: Source,
}

impl ServerConfig {
    /// A server with standard behaviour.
    pub fn new(name: ServerName, server: Server, source: Source) -> Self {
        Self {
            name,
            server,
            auth: AuthConfig::default(),
            dialect: Dialect::default(),
            call_retry: CallRetry::default(),
            retry: Retry::default(),
            client: None,
            restart: Restart::default(),
            cache: CacheRules::default(),
            policy: PolicyRules::default(),
            start: Start::default(),
            enabled: true,
            tool_filter: ToolFilter::default(),
            projects: Vec::new(),
            source,
        }
    }
}

/// How to log in to a server behind a URL. Everything is optional: discovery and registration find
/// out the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthConfig {
    /// Which kind of grant to use.
    pub grant: Grant,
    /// A client that was registered beforehand.
    pub client_id: Option<String>,
    /// That client's secret.
    pub client_secret: Option<Secret>,
    /// The URL of a client metadata document to identify with.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for instead of those the server names.
    pub scopes: Vec<String>,
    /// The loopback port the browser comes back to; any free one if there is none.
    pub redirect_port: Option<u16>,
    /// The authorization server to use if the server names several.
    pub issuer: Option<String>,
    /// A ready bearer token; then no grant is used.
    pub token: Option<Secret>,
}

/// Kinds of OAuth grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The program logs in by itself with a client id and secret.
    ClientCredentials,
}

/// Where the defaults of a server's quirks come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The protocol as it is.
    #[default]
    Standard,
    /// After the manner of the language server protocol (seed 003).
    Lsp,
    /// Standard, with the quirks that are spelled out.
    Custom,
}

/// Which calls may be repeated after a failure (invariant 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallRetry {
    /// None.
    Never,
    /// Those that were never sent, and read-only or idempotent tools where policy believes hints.
    #[default]
    SafeOnly,
    /// All. The user has said so.
    Always,
}

/// How often a request is made, and after which failures again. It holds for what is safe to repeat
/// only; [`CallRetry`] says which calls are.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// How often at the most, the first time included.
    pub attempts: u32,
    /// The bound of the first pause; the pause is a random part of it.
    pub first: Duration,
    /// How many times longer the bound of each next pause is.
    pub factor: f64,
    /// The longest bound.
    pub ceiling: Duration,
    /// After which failures.
    pub on: Vec<RetryOn>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 3,
            first: Duration::from_millis(50),
            factor: 2.0,
            ceiling: Duration::from_secs(1),
            on: vec![RetryOn::Lost],
        }
    }
}

/// A kind of failure after which a safe request may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryOn {
    /// The connection was lost.
    Lost,
    /// No answer came in time.
    Timeout,
    /// The server, or a gateway before it, says that it cannot answer for the moment: HTTP status
    /// 408, 425, 429 and 502 to 504.
    Transient,
}

/// When a server is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// On first use.
    #[default]
    Lazy,
    /// With the host.
    Eager,
}

/// What happens after a server crashed or could not be started. The defaults are promise P3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Whether it is started again at all.
    pub when: RestartWhen,
    /// How many starts are allowed `within` that time before the server is parked.
    pub starts: u32,
    /// The time over which starts are counted.
    pub within: Duration,
    /// The first back-off; each next one is twice as long, with full jitter.
    pub backoff_first: Duration,
    /// The longest back-off.
    pub backoff_longest: Duration,
    /// How long a server has to be ready for its failures to be forgotten.
    pub healthy_after: Duration,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            when: RestartWhen::OnFailure,
            starts: 5,
            within: Duration::from_secs(60),
            backoff_first: Duration::from_millis(100),
            backoff_longest: Duration::from_secs(30),
            healthy_after: Duration::from_secs(30),
        }
    }
}

/// Whether a server that ended is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestartWhen {
    /// When it ended without being told to.
    #[default]
    OnFailure,
    /// Never; it is parked at once.
    Never,
}

/// What is remembered of a server's lists and resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// Whether anything is.
    pub usage: CacheUse,
    /// How long, for servers that do not say so themselves (seeds row 38). Without it only
    /// what the server itself calls fresh is remembered.
    pub ttl: Option<Duration>,
    /// The same for lists, if it differs.
    pub list_ttl: Option<Duration>,
    /// Tools whose calls make everything remembered of this server stale.
    pub invalidate_after: Vec<Pattern>,
}

/// Whether a cache is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheUse {
    /// It is.
    #[default]
    On,
    /// Every request reaches the server.
    Off,
}

/// Rules about which tools may be called. The order of decisions is written in `policy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRules {
    /// Tools that are never called.
    pub deny: Vec<Pattern>,
    /// Tools for which the user is asked.
    pub ask: Vec<Pattern>,
    /// Tools that are called without a question.
    pub allow: Vec<Pattern>,
    /// For tools that no pattern names.
    pub otherwise: Option<Decision>,
    /// Whether a tool's claim to be read-only counts.
    pub read_only: Option<ReadOnlyHint>,
}

/// What may become of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// It goes ahead.
    Allow,
    /// The user decides.
    Ask,
    /// It is refused.
    Deny,
}

/// Whether a tool's claim to be read-only counts. It is a hint of the server, not a fact (S19), so
/// it counts only where the user says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOnlyHint {
    /// It does not.
    #[default]
    Ignore,
    /// A tool that claims to be read-only is called without a question, unless a pattern names it.
    Believe,
}

/// Which of a server's tools are there for the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// If there are any, only matching tools are.
    pub include: Vec<Pattern>,
    /// Matching tools are not, whatever `include` says.
    pub exclude: Vec<Pattern>,
}

impl ToolFilter {
    /// Whether a tool passes.
    pub fn passes(&self, tool: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// Where a server was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The line its table begins on, counted from one.
    pub line: Option<usize>,
    /// Whose file it is.
    pub origin: Origin,
}

impl Source {
    /// A server that a program made by itself.
    pub fn program() -> Self {
        Self {
            file: None,
            line: None,
            origin: Origin::Program,
        }
    }
}

/// Whose word a configuration is, which decides whether it may run things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The user named the file on the command line.
    Named,
    /// It came with a folder the user happens to be in; needs the user's trust (S3).
    Project,
    /// It lies in the user's own configuration folder.
    User,
    /// No file: the program itself, or what the user typed after `--`.
    Program,
}

/// Something wrong in a configuration file, told so that it can be mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: PathBuf,
    /// The line, counted from one.
    pub line: usize,
    /// The column in characters, counted from one.
    pub column: usize,
    /// The server it spoils, if only one.
    pub server: Option<String>,
    /// The dotted key, such as `servers.notes.timeouts.call`; empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// What was written is used, though it is odd.
    Warning,
    /// What was written is not used.
    Error,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file, line, column, ..
        } = self;
        write!(formatter, "{}:{line}:{column}: ", file.display())?;
        if !self.key.is_empty() {
            write!(formatter, "{}: ", self.key)?;
        }
        formatter.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(formatter, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// The name of a server: letters, digits, `_`, `-`, `.`, at most 64, not a mark at the start.
///
/// Without `/` a qualified name `server/tool` splits at its first slash, and without a leading mark
/// a name never looks like an option. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

impl ServerName {
    /// The longest name.
    pub const LONGEST: usize = 64;

    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, ServerNameError> {
        let first = name.as_bytes().first().ok_or(ServerNameError::Empty)?;
        if name.len() > Self::LONGEST {
            return Err(ServerNameError::TooLong);
        }
        if let Some(found) = name.chars().find(|&found| !is_name_character(found)) {
            return Err(ServerNameError::Character(found));
        }
        if !first.is_ascii_alphanumeric() {
            return Err(ServerNameError::Beginning(char::from(*first)));
        }
        Ok(Self(name.into()))
    }

    /// The nearest name to any text, for servers that other tools named more freely.
    pub fn from_any(text: &str) -> Self {
        let mut name = String::new();
        for found in text.chars() {
            let fits =
                is_name_character(found) && (!name.is_empty() || found.is_ascii_alphanumeric());
            if fits {
                name.push(found);
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
            if name.len() == Self::LONGEST {
                break;
            }
        }
        let name = name.trim_end_matches('-');
        Self(if name.is_empty() { "server" } else { name }.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_name_character(found: char) -> bool {
    found.is_ascii_alphanumeric() || matches!(found, '_' | '-' | '.')
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

impl Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ServerName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = ServerNameError;

    fn from_str(name: &str) -> Result<Self, ServerNameError> {
        Self::new(name)
    }
}

/// Why a text is no server name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerNameError {
    /// It is empty.
    #[error("a server name is not empty")]
    Empty,
    /// It is longer than [`ServerName::LONGEST`].
    #[error("a server name has at most {} characters", ServerName::LONGEST)]
    TooLong,
    /// It has a character that names do not have.
    #[error("a server name has letters, digits, \"_\", \"-\" and \".\", not {0:?}")]
    Character(char),
    /// It begins with a mark.
    #[error("a server name begins with a letter or digit, not {0:?}")]
    Beginning(char),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_names_are_checked() {
        let longest = "x".repeat(ServerName::LONGEST);
        for good in ["a", "notes", "my.notes-2_x", "7zip", &longest] {
            assert_eq!(ServerName::new(good).unwrap().as_str(), good);
        }
        let too_long = format!("{longest}x");
        for (bad, error) in [
            ("", ServerNameError::Empty),
            (too_long.as_str(), ServerNameError::TooLong),
            ("a/b", ServerNameError::Character('/')),
            ("a b", ServerNameError::Character(' ')),
            ("é", ServerNameError::Character('é')),
            ("-x", ServerNameError::Beginning('-')),
            (".x", ServerNameError::Beginning('.')),
        ] {
            assert_eq!(ServerName::new(bad), Err(error), "{bad}");
        }
    }

    #[test]
    fn any_text_has_a_nearest_server_name() {
        for (text, expected) in [
            ("notes", "notes"),
            ("My Notes!", "My-Notes"),
            ("@scope/pkg", "scope-pkg"),
            ("", "server"),
            ("日本", "server"),
            ("--x--", "x"),
            (&"y ".repeat(80), &"y-".repeat(32)[..63]),
        ] {
            let name = ServerName::from_any(text);
            assert_eq!(name.as_str(), expected, "{text}");
            assert_eq!(ServerName::new(name.as_str()), Ok(name));
        }
    }

    #[test]
    fn filters_exclude_before_they_include() {
        let filter = ToolFilter {
            include: vec!["get_*".into(), "list".into()],
            exclude: vec!["*_secret".into()],
        };
        assert!(filter.passes("get_file"));
        assert!(filter.passes("list"));
        assert!(!filter.passes("get_secret"));
        assert!(!filter.passes("put"));
        assert!(ToolFilter::default().passes("anything"));
    }

    #[test]
    fn the_restart_defaults_are_promise_3() {
        let restart = Restart::default();
        assert_eq!((restart.starts, restart.within.as_secs()), (5, 60));
        assert_eq!(restart.backoff_first.as_millis(), 100);
        assert_eq!(restart.backoff_longest.as_secs(), 30);
        assert_eq!(restart.healthy_after.as_secs(), 30);
    }
}
