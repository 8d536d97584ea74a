//! The words that keys of the file may have, and what each of them means.
//!
//! The reader takes the meanings from here and the table of keys takes the words, so neither can
//! know a word that the other does not.

use attache_client::protocol::{LogLevel, Revision};
use attache_client::{
    CancelForm, EraChoice, ErrorAlias, MissingInputSchema, ProgressTokenForm, ShutdownForm,
    UndeclaredRequests,
};

use super::{
    CacheUse, CallLogging, CallRetry, ChatApi, ChatTools, Decision, Dialect, Grant, HttpFlavor,
    Profile, ReadOnlyHint, RestartWhen, RetryOn, SpeckitWriter, Start, UiTheme,
};

/// The words of some choices.
pub(super) const fn words<T, const N: usize>(
    choices: &[(&'static str, T); N],
) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = choices[at].0;
        at += 1;
    }
    words
}

/// How a file says that a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Stdio,
    Http(HttpFlavor),
}

pub(super) const TRANSPORTS: [(&str, Way); 4] = [
    ("stdio", Way::Stdio),
    ("http", Way::Http(HttpFlavor::Streamable)),
    ("streamable-http", Way::Http(HttpFlavor::Streamable)),
    ("sse", Way::Http(HttpFlavor::Sse)),
];
pub(super) const UI_THEMES: [(&str, UiTheme); 3] = [
    ("auto", UiTheme::Auto),
    ("light", UiTheme::Light),
    ("dark", UiTheme::Dark),
];
pub(super) const PROFILES: [(&str, Profile); 3] = [
    ("standard", Profile::Standard),
    ("interactive", Profile::Interactive),
    ("workflow", Profile::Workflow),
];
pub(super) const DIALECTS: [(&str, Dialect); 3] = [
    ("standard", Dialect::Standard),
    ("lsp", Dialect::Lsp),
    ("custom", Dialect::Custom),
];
pub(super) const ERAS: [(&str, EraChoice); 3] = [
    ("auto", EraChoice::Auto),
    ("modern", EraChoice::Modern),
    ("legacy", EraChoice::Legacy),
];
/// The revisions; none for whichever is the newest that both sides know.
pub(super) const PROTOCOLS: [(&str, Option<Revision>); Revision::NEWEST_FIRST.len() + 1] = {
    let mut protocols = [("newest", None); Revision::NEWEST_FIRST.len() + 1];
    let mut at = 0;
    while at < Revision::NEWEST_FIRST.len() {
        let revision = Revision::NEWEST_FIRST[at];
        at += 1;
        protocols[at] = (revision.as_str(), Some(revision));
    }
    protocols
};
pub(super) const LOG_LEVELS: [(&str, LogLevel); LogLevel::ALL.len()] = {
    let mut levels = [("", LogLevel::Debug); LogLevel::ALL.len()];
    let mut at = 0;
    while at < levels.len() {
        levels[at] = (LogLevel::ALL[at].as_str(), LogLevel::ALL[at]);
        at += 1;
    }
    levels
};
pub(super) const CAPABILITIES: [(&str, UndeclaredRequests); 2] = [
    ("lenient", UndeclaredRequests::Send),
    ("strict", UndeclaredRequests::Refuse),
];
pub(super) const STARTS: [(&str, Start); 2] = [("lazy", Start::Lazy), ("eager", Start::Eager)];
pub(super) const RESTARTS: [(&str, RestartWhen); 2] = [
    ("on-failure", RestartWhen::OnFailure),
    ("never", RestartWhen::Never),
];
pub(super) const RETRY_ON: [(&str, RetryOn); 3] = [
    ("lost", RetryOn::Lost),
    ("timeout", RetryOn::Timeout),
    ("transient", RetryOn::Transient),
];
pub(super) const CACHE_USES: [(&str, CacheUse); 2] = [("on", CacheUse::On), ("off", CacheUse::Off)];
pub(super) const CALL_LOGGING: [(&str, CallLogging); 2] =
    [("on", CallLogging::On), ("off", CallLogging::Off)];
pub(super) const DECISIONS: [(&str, Decision); 3] = [
    ("ask", Decision::Ask),
    ("allow", Decision::Allow),
    ("deny", Decision::Deny),
];
pub(super) const READ_ONLY: [(&str, ReadOnlyHint); 2] = [
    ("ask", ReadOnlyHint::Ignore),
    ("allow", ReadOnlyHint::Believe),
];
pub(super) const GRANTS: [(&str, Grant); 2] = [
    ("authorization_code", Grant::AuthorizationCode),
    ("client_credentials", Grant::ClientCredentials),
];
pub(super) const CANCEL_FORMS: [(&str, CancelForm); 3] = [
    ("standard", CancelForm::Standard),
    ("lsp", CancelForm::Lsp),
    ("both", CancelForm::Both),
];
pub(super) const SHUTDOWN_FORMS: [(&str, ShutdownForm); 2] =
    [("close", ShutdownForm::Close), ("lsp", ShutdownForm::Lsp)];
pub(super) const MISSING_INPUT_SCHEMAS: [(&str, MissingInputSchema); 2] = [
    ("repair", MissingInputSchema::Repair),
    ("reject", MissingInputSchema::Reject),
];
pub(super) const PROGRESS_TOKENS: [(&str, ProgressTokenForm); 2] = [
    ("number", ProgressTokenForm::Number),
    ("tool", ProgressTokenForm::Tool),
];
pub(super) const ERROR_ALIASES: [(&str, ErrorAlias); 4] = [
    ("resource_not_found", ErrorAlias::ResourceNotFound),
    ("tool_failed", ErrorAlias::ToolFailed),
    ("cancelled", ErrorAlias::Cancelled),
    ("timeout", ErrorAlias::TimedOut),
];
pub(super) const CALL_RETRIES: [(&str, CallRetry); 3] = [
    ("never", CallRetry::Never),
    ("safe-only", CallRetry::SafeOnly),
    ("always", CallRetry::Always),
];
pub(super) const CHAT_APIS: [(&str, ChatApi); 2] = [
    ("openai", ChatApi::OpenAi),
    ("anthropic", ChatApi::Anthropic),
];
pub(super) const SPECKIT_WRITERS: [(&str, SpeckitWriter); 4] = [
    ("auto", SpeckitWriter::Auto),
    ("agent", SpeckitWriter::Agent),
    ("model", SpeckitWriter::Model),
    ("plain", SpeckitWriter::Plain),
];
pub(super) const CHAT_TOOLS: [(&str, ChatTools); 4] = [
    ("auto", ChatTools::Auto),
    ("all", ChatTools::All),
    ("search", ChatTools::Search),
    ("none", ChatTools::None),
];
