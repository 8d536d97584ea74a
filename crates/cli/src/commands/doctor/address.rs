//! What ails a server behind a URL: from what was seen to one cause and one remedy.
//!
//! Names who failed on the way: the name, the port, the proxy, TLS, the path, the login. Refuses to
//! know of programs and their streams.

use attache::authorization::{AuthorizationError, Step};
use attache::client::{Unreachable, UnreachableKind};
use attache::host::config::{ServerConfig, ServerName};
use attache::host::{Accounts, Cause};
use attache::{CloseReason, ConnectError, Error as ClientError, HttpError};

use super::{Finding, Verdict, finding};

const CHECK_THE_ADDRESS: &str = "check `url`: it has to be the address of the MCP endpoint, with \
                                 its path, often /mcp or /sse";

/// Whether a server is refused only for want of a login, or with what its table holds.
pub(super) fn wants_login(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::Start(ClientError::Connect(ConnectError::Http(
            HttpError::Authorization(
                AuthorizationError::Required { .. } | AuthorizationError::LoginRequired { .. }
            )
        )))
    )
}

/// A server and the word by which `attache auth login` knows it.
pub(super) struct ExaminedServer<'a> {
    pub(super) name: &'a ServerName,
    pub(super) word: &'a str,
    pub(super) config: &'a ServerConfig,
}

impl ExaminedServer<'_> {
    pub(super) fn diagnose(&self, cause: &Cause) -> Finding {
        match cause {
            Cause::Start(ClientError::Connect(error)) => self.no_session(error),
            Cause::Start(ClientError::Input(problem)) => self.found(
                Verdict::BadConfiguration,
                problem.clone(),
                "mend its `url`, `headers` or `ca_file`, or the proxy in the environment",
            ),
            Cause::Lost(reason) => self.lost(reason),
            Cause::Start(other) => {
                self.found(Verdict::Unreachable, other.to_string(), CHECK_THE_ADDRESS)
            }
        }
    }

    /// It took the connection and says nothing.
    pub(super) fn silent(&self) -> Finding {
        let patience = self.config.server.settings.timeouts.start;
        self.found(
            Verdict::NeverAnswers,
            format!("it did not answer within {patience:?}"),
            "check that its address is that of an MCP endpoint and that it is not overloaded, or \
             allow more with `timeouts.initialize`",
        )
    }

    /// The user has not logged in yet. That is the whole truth only if there is a place to do so.
    pub(super) async fn without_login(&self, accounts: &Accounts) -> Finding {
        let place =
            match accounts.of(self.config) {
                Ok(Some(account)) => account.find_issuer().await,
                Ok(None) => return self.found(
                    Verdict::LoginRefused,
                    "authorization fails at using the credentials: it does not take the token or \
                 header it is given"
                        .to_owned(),
                    "check `auth.token` and `headers` in its table",
                ),
                Err(error) => {
                    return self.found(
                        Verdict::BadConfiguration,
                        error.to_string(),
                        "mend its table",
                    );
                }
            };
        match place {
            Ok(issuer) => self.found(
                Verdict::LoginRequired,
                format!("it requires a login at {issuer}, and there is none"),
                &self.login(),
            ),
            Err(error) => self.unauthorized(&error),
        }
    }

    fn no_session(&self, error: &ConnectError) -> Finding {
        match error {
            ConnectError::TimedOut { .. } => self.silent(),
            ConnectError::Lost(reason) => self.lost(reason),
            ConnectError::Http(problem) => self.refused(problem),
            ConnectError::NoServer { answers } => self.found(
                Verdict::WrongAddress,
                format!(
                    "nothing there speaks MCP; it answered: {}",
                    answers.join("; ")
                ),
                CHECK_THE_ADDRESS,
            ),
            other => self.found(Verdict::Unreachable, other.to_string(), CHECK_THE_ADDRESS),
        }
    }

    fn lost(&self, reason: &CloseReason) -> Finding {
        match reason {
            CloseReason::Unreachable(unreachable) => self.unreachable(unreachable),
            other => self.found(
                Verdict::Unreachable,
                format!("no answer came: {other}"),
                "check the port in `url`, and whether it should begin with https: or http:",
            ),
        }
    }

    fn unreachable(&self, unreachable: &Unreachable) -> Finding {
        use UnreachableKind as Kind;
        let verdict = match unreachable.kind {
            Kind::NameNotResolved => Verdict::NameNotFound,
            Kind::Refused => Verdict::NobodyListens,
            Kind::TimedOut => Verdict::NeverAnswers,
            Kind::UnknownRoot => Verdict::UntrustedRoot,
            Kind::NoTls | Kind::Tls => Verdict::NoTls,
            kind if kind.is_of_tls() => Verdict::BadCertificate,
            kind if kind.is_of_proxy() => Verdict::Proxy,
            _ => Verdict::Unreachable,
        };
        self.found(verdict, unreachable.cause(), unreachable.remedy())
    }

    /// It answered, in HTTP and not in MCP.
    fn refused(&self, problem: &HttpError) -> Finding {
        let told = problem.to_string();
        match problem {
            HttpError::Authorization(error) => self.unauthorized(error),
            HttpError::Redirected { status, location } => self.found(
                Verdict::Redirected,
                format!("it redirects elsewhere (HTTP status {status}): {location}"),
                "set `url` to that address if you trust it; headers and tokens will go there",
            ),
            HttpError::Status { status: 403, .. } => self.found(
                Verdict::LoginRefused,
                told,
                "check the token or the headers in its table, and what they allow",
            ),
            HttpError::Status { status: 429, .. } => {
                self.found(Verdict::ServerFails, told, "wait before asking it again")
            }
            HttpError::Status { status: 500.., .. } => self.found(
                Verdict::ServerFails,
                told,
                "the server fails, or a gateway or proxy before it; tell those who run it",
            ),
            _ => self.found(Verdict::WrongAddress, told, CHECK_THE_ADDRESS),
        }
    }

    /// Which step on the way to a token failed.
    fn unauthorized(&self, error: &AuthorizationError) -> Finding {
        use AuthorizationError as Failed;
        let own_client = "register a client there, and set `auth.client_id` in its table";
        let (verdict, step, remedy) = match error {
            Failed::Required { .. }
            | Failed::LoginRequired { .. }
            | Failed::LoginTimedOut { .. }
            | Failed::Browser { .. } => (Verdict::LoginRequired, "login", self.login()),
            Failed::Fetch { .. } | Failed::Discovery { .. } => (
                Verdict::LoginUnavailable,
                "finding its authorization server",
                "ask those who run it; a ready token can be given as `auth.token`".to_owned(),
            ),
            Failed::UnsafeAddress(_)
            | Failed::ResourceMismatch { .. }
            | Failed::IssuerMismatch { .. }
            | Failed::PkceMissing { .. }
            | Failed::ForeignAnswer { .. } => (
                Verdict::LoginUnavailable,
                "trusting its authorization server",
                "check `url`; if it is right, tell those who run the server".to_owned(),
            ),
            Failed::NoClientId { .. }
            | Failed::ForeignClient { .. }
            | Failed::Refused {
                step: Step::Registration,
                ..
            }
            | Failed::BadAnswer {
                step: Step::Registration,
                ..
            } => (
                Verdict::LoginUnavailable,
                "registering this client",
                own_client.to_owned(),
            ),
            Failed::InsufficientScope { .. } => (
                Verdict::LoginRefused,
                "its rights",
                format!("{}, and grant what it asks for", self.login()),
            ),
            Failed::StillRefused { .. } => {
                (Verdict::LoginRefused, "using the credentials", self.login())
            }
            Failed::Refused { .. } | Failed::BadAnswer { .. } => {
                (Verdict::LoginRefused, "getting a token", self.login())
            }
            Failed::Storage { .. } | Failed::Busy { .. } | Failed::Key { .. } => (
                Verdict::LoginUnavailable,
                "reading the credentials",
                format!("mend what is told, then {}", self.login()),
            ),
            // More ways may come.
            _ => (Verdict::LoginUnavailable, "authorization", self.login()),
        };
        self.found(
            verdict,
            format!("authorization fails at {step}: {error}"),
            &remedy,
        )
    }

    fn login(&self) -> String {
        format!("run `attache auth login {}`", self.word)
    }

    fn found(&self, verdict: Verdict, cause: String, remedy: &str) -> Finding {
        finding(self.name, verdict, cause, remedy)
    }
}
