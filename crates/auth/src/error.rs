//! How authorization can fail, in kinds a program can match.
//!
//! Texts name the cause and the remedy. They never hold a secret, and what a server says is cut and
//! stripped of control characters before it gets here (S13).

use std::fmt;
use std::time::Duration;

use super::address::UnsafeAddress;

/// Why a request could not be authorized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationError {
    /// The server wants credentials and none are configured.
    #[error("the server requires authorization: {problem}")]
    Required {
        /// What the server says about it.
        problem: String,
    },
    /// Credentials would travel unencrypted to another machine.
    #[error(
        "credentials were not sent to {server}, because plain http shows them to everybody on the \
         way; use https, or say `allow_plain_http = true` for this server"
    )]
    Unencrypted {
        /// The server.
        server: String,
    },
    /// A person has to log in, and this program cannot ask one.
    #[error("{server} requires a login; log in and try again")]
    LoginRequired {
        /// The server that wants it.
        server: String,
    },
    /// The user did not finish the login in time.
    #[error("nobody finished the login within {after:?}; start it again")]
    LoginTimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// An address that must not be touched.
    #[error(transparent)]
    UnsafeAddress(#[from] UnsafeAddress),
    /// An authorization request got no usable answer.
    #[error("no usable answer from {address}: {problem}")]
    Fetch {
        /// The address, without its query.
        address: String,
        /// What went wrong.
        problem: String,
    },
    /// No usable authorization server was found.
    #[error("no usable authorization server for {server}: {problem}")]
    Discovery {
        /// The server it was searched for.
        server: String,
        /// What was tried and failed.
        problem: String,
    },
    /// The server's metadata speaks for another server (RFC 9728 section 3.3).
    #[error("the metadata of {server} speaks for {resource}; no token is asked for")]
    ResourceMismatch {
        /// The server that was asked.
        server: String,
        /// The resource its metadata names.
        resource: String,
    },
    /// A metadata document belongs to another authorization server (C-AUTH-12).
    #[error(
        "the metadata of authorization server {expected} names {found} as its issuer; it is not used"
    )]
    IssuerMismatch {
        /// The issuer that was asked.
        expected: String,
        /// The issuer in the document.
        found: String,
    },
    /// The authorization server does not promise PKCE with S256 (C-AUTH-21).
    #[error(
        "authorization server {issuer} does not offer PKCE with S256, which protects the login; it \
         is not used"
    )]
    PkceMissing {
        /// The authorization server.
        issuer: String,
    },
    /// There is no way to get a client id there.
    #[error(
        "authorization server {issuer} registers no clients by itself; register one there and \
         configure its client id"
    )]
    NoClientId {
        /// The authorization server.
        issuer: String,
    },
    /// The configured client id belongs to another authorization server (C-AUTH-14).
    #[error(
        "the configured client id belongs to {configured}, but the server uses {issuer}; configure \
         a client id of that one"
    )]
    ForeignClient {
        /// The one it belongs to.
        configured: String,
        /// The one the server names.
        issuer: String,
    },
    /// The answer to the login does not come from the authorization server that was asked, so
    /// nothing of it is used (C-AUTH-27).
    #[error("the answer to the login does not come from {issuer}; it was thrown away")]
    ForeignAnswer {
        /// The authorization server that was asked.
        issuer: String,
    },
    /// The authorization server refused.
    #[error(
        "{step} was refused: {error}{explained}",
        explained = .description.as_ref().map(|it| format!(" ({it})")).unwrap_or_default()
    )]
    Refused {
        /// What was asked of it.
        step: Step,
        /// The error code, such as `invalid_grant`.
        error: String,
        /// Its explanation, if any.
        description: Option<String>,
    },
    /// The authorization server's answer makes no sense.
    #[error("{step} got an unusable answer: {problem}")]
    BadAnswer {
        /// What was asked of it.
        step: Step,
        /// What is wrong.
        problem: String,
    },
    /// The server wants scopes that were asked for and not granted, or that this client may not ask for.
    #[error("the server wants more rights than were granted: {}", .scopes.join(" "))]
    InsufficientScope {
        /// The scopes it wants.
        scopes: Vec<String>,
    },
    /// The server refuses credentials that were issued for it just now.
    #[error("the server refuses the credentials issued for it, after {repetitions} repetitions")]
    StillRefused {
        /// How often the request was repeated.
        repetitions: u32,
    },
    /// Credentials could not be read or written.
    #[error("stored credentials: {problem}")]
    Storage {
        /// What went wrong.
        problem: String,
    },
    /// Another process is renewing the credentials and does not finish.
    #[error("another process has been renewing the credentials for {after:?}; try again")]
    Busy {
        /// How long was waited.
        after: Duration,
    },
    /// A private key cannot be used.
    #[error("the private key cannot be used: {problem}")]
    Key {
        /// What is wrong with it.
        problem: String,
    },
    /// The login page could not be prepared or shown.
    #[error("the login page: {problem}")]
    Browser {
        /// What went wrong.
        problem: String,
    },
}

/// A question to an authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Dynamic client registration.
    Registration,
    /// The login of a person.
    Login,
    /// The exchange of a grant for a token.
    Token,
    /// The renewal of a token.
    Refresh,
    /// The exchange of an identity token at the identity provider.
    TokenExchange,
    /// The revocation of a token.
    Revocation,
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Registration => "registering this client",
            Self::Login => "the login",
            Self::Token => "the token request",
            Self::Refresh => "renewing the token",
            Self::TokenExchange => "exchanging the identity token",
            Self::Revocation => "revoking the token",
        })
    }
}
