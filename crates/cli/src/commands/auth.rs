//! `attache auth`: logins at servers behind a URL.
//!
//! The library does the logging in; here it is shown to a person, and a browser opened for it.

use std::sync::Arc;
use std::time::SystemTime;

use attache::authorization::{
    AuthorizationError, LoginDetails, LoginEvent, LoginStatus, Logout, OAuth, RenewalOutlook,
    SystemBrowser,
};
use attache::host::Accounts;
use attache::host::config::ServerName;
use serde::Serialize;

use super::{Context, Known, Typed, Verb};
use crate::args::{ConfigArgs, ServerOption};
use crate::failure::{Exit, Failure, Kind};
use crate::interrupt::Interrupts;
use crate::output::{Format, Output, Style, Text, json};
use crate::overrides::Overrides;
use crate::selection::ServerSelection;
use crate::target::Target;

/// Log in to servers behind a URL, log out, or see where you are logged in
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache auth login tracker")]
pub(crate) struct Auth {
    #[command(subcommand)]
    verb: AuthVerb,
}

#[derive(Debug, clap::Subcommand)]
enum AuthVerb {
    /// Show where you are logged in
    #[command(after_help = "Example:\n  attache auth status --json")]
    Status {
        /// The server's name or URL; all servers if there is none
        #[arg(value_name = "SERVER")]
        name: Option<String>,
        #[command(flatten)]
        config: ConfigArgs,
        #[command(flatten)]
        option: ServerOption,
    },
    /// Log in with a browser, or as the configuration says
    #[command(after_help = "Example:\n  attache auth login https://example.org/mcp")]
    Login(OneServer),
    /// Log out: tokens are revoked where that is offered, and forgotten
    #[command(after_help = "Example:\n  attache auth logout tracker")]
    Logout(OneServer),
}

#[derive(Debug, clap::Args)]
struct OneServer {
    /// The server's name or URL
    #[arg(value_name = "SERVER")]
    name: String,
    #[command(flatten)]
    config: ConfigArgs,
}

impl Verb for Auth {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        match self.verb {
            AuthVerb::Status {
                name,
                config,
                option,
            } => status(&selection(option.or_name(name)?, &config)?, output).await,
            AuthVerb::Login(server) => login(server, output).await,
            AuthVerb::Logout(server) => logout(server, output).await,
        }
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

fn selection(word: Option<String>, config: &ConfigArgs) -> Result<ServerSelection, Failure> {
    let target = Target::read(word, Vec::new())?;
    ServerSelection::of(&target, &config.configuration()?, &Overrides::default())
}

/// What is known about the login at one server.
#[derive(Serialize)]
struct Account {
    server: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
    /// Seconds from now on; none if the token has no known end.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renewal: Option<&'static str>,
}

impl Account {
    fn without_login(server: &ServerName) -> Self {
        Self {
            server: server.to_string(),
            state: "no login needed here",
            issuer: None,
            scopes: Vec::new(),
            expires_in: None,
            renewal: None,
        }
    }

    fn of(server: &ServerName, status: LoginStatus) -> Self {
        let LoginStatus::LoggedIn(details) = status else {
            return Self {
                state: "logged out",
                ..Self::without_login(server)
            };
        };
        let left = |end: SystemTime| end.duration_since(SystemTime::now()).unwrap_or_default();
        Self {
            server: server.to_string(),
            state: "logged in",
            expires_in: details.expires_at.map(|end| left(end).as_secs()),
            issuer: Some(details.issuer),
            scopes: details.scopes,
            renewal: Some(match details.renewal {
                RenewalOutlook::Automatic => "automatic",
                RenewalOutlook::None => "none",
            }),
        }
    }
}

/// Shows where the user is logged in. Asks no server.
async fn status(selection: &ServerSelection, output: &Output) -> Result<(), Failure> {
    let accounts = selection.accounts();
    let mut known = Vec::new();
    for server in selection.servers() {
        known.push(match accounts.of(server)? {
            Some(oauth) => {
                let status = oauth.status().await;
                Account::of(
                    &server.name,
                    status.map_err(|error| failure(&server.name, error))?,
                )
            }
            None => Account::without_login(&server.name),
        });
    }
    if output.format == Format::Json {
        return output.document(&json::write(&serde_json::json!({ "servers": known })));
    }
    let mut text = Text::new();
    for account in known {
        text.add(Style::Name, &account.server)
            .plain("  ")
            .plain(account.state);
        if let Some(issuer) = &account.issuer {
            text.faint(&format!("  at {issuer}"));
        }
        if let Some(seconds) = account.expires_in {
            text.faint(&format!("  for another {} min", seconds / 60));
        }
        text.end_line();
    }
    output.text(&text)
}

/// Logs in, with the browser of this machine where a person has to.
async fn login(server: OneServer, output: &Output) -> Result<(), Failure> {
    let shown = output.clone();
    let selection = selection(Some(server.name), &server.config)?;
    let (name, oauth) = account(&selection, |accounts| {
        accounts
            .user_agent(Arc::new(SystemBrowser))
            .on_event(move |_, event| show(&event, &shown))
    })?;
    let interrupts = Interrupts::listen()?;
    let details = tokio::select! {
        biased;
        details = logged_in(&oauth, &name, selection) => details?,
        () = interrupts.raised() => return Err(crate::failure::cancelled().of(name.as_str())),
    };
    match details {
        Some(details) => tell_of_login(&name, details, output),
        None => output.done(
            &format!("{name} needs no login: it answers without one"),
            &Account::without_login(&name),
        ),
    }
}

/// Logs in; none if that fails, and the server answers without a login.
async fn logged_in(
    oauth: &OAuth,
    name: &ServerName,
    selection: ServerSelection,
) -> Result<Option<LoginDetails>, Failure> {
    let error = match oauth.login().await {
        Ok(details) => return Ok(Some(details)),
        Err(error) => error,
    };
    let host = selection.tried_once().host()?.start();
    let ready = host.ready(name.as_str()).await;
    host.close().await;
    match ready {
        Ok(()) => Ok(None),
        Err(_) => Err(failure(name, error)),
    }
}

fn tell_of_login(name: &ServerName, details: LoginDetails, output: &Output) -> Result<(), Failure> {
    let text = format!("logged in to {name} at {}", details.issuer);
    match output.format {
        Format::Json => {
            let account = Account::of(name, LoginStatus::LoggedIn(details));
            output.document(&json::write(&account))
        }
        Format::Human => output.text(&Text::line(&text)),
    }
}

/// Logs out, whatever the authorization server says to it.
async fn logout(server: OneServer, output: &Output) -> Result<(), Failure> {
    let selection = selection(Some(server.name), &server.config)?;
    let (name, oauth) = account(&selection, |accounts| accounts)?;
    let outcome = oauth
        .logout()
        .await
        .map_err(|error| failure(&name, error))?;
    let (word, text) = match outcome {
        Logout::WasLoggedOut => ("was_logged_out", "there was no login".to_owned()),
        Logout::Revoked => ("revoked", "logged out; the tokens were revoked".to_owned()),
        Logout::NotOffered => (
            "not_offered",
            "logged out; the authorization server revokes no tokens, they end by themselves"
                .to_owned(),
        ),
        Logout::NotRevoked(error) => (
            "not_revoked",
            format!("logged out here; the tokens were not revoked: {error}"),
        ),
    };
    match output.format {
        Format::Json => {
            let document = serde_json::json!({ "server": name.as_str(), "outcome": word });
            output.document(&json::write(&document))
        }
        Format::Human => output.text(&Text::line(&format!("{name}: {text}"))),
    }
}

/// The login at the one server that is meant.
fn account(
    selection: &ServerSelection,
    prepare: impl FnOnce(Accounts) -> Accounts,
) -> Result<(ServerName, OAuth), Failure> {
    let accounts = prepare(selection.accounts());
    let Some(server) = selection.servers().next() else {
        return Err(Failure::usage("which server is meant?"));
    };
    match accounts.of(server)? {
        Some(oauth) => Ok((server.name.clone(), oauth)),
        None => Err(
            Failure::usage(format!("{} needs no login here", server.name))
                .hint("logins are for servers behind a URL without a token of their own"),
        ),
    }
}

/// Tells a person how a login goes.
fn show(event: &LoginEvent, output: &Output) {
    match event {
        LoginEvent::Visit { .. } => output.note("log in with the browser that opens now"),
        LoginEvent::NotOpened { url, problem } => {
            output.note(&format!("no browser was opened ({problem}); visit {url}"));
        }
        _ => {}
    }
}

fn failure(server: &ServerName, error: AuthorizationError) -> Failure {
    Failure::new(Kind::Auth, Exit::Authorization, error.to_string()).of(server.as_str())
}
