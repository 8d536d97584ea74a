//! OAuth for one server: the [`Authorizer`] of the product.
//!
//! Owns the decision what a refusal calls for — another token that is there already, a renewal, a
//! new grant, a step up, or giving up — and that many refusals at once, in this process or in
//! others, lead to one of these. How tokens are obtained is for `acquire`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_protocol::Revision;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use url::Url;

use super::acquire::Acquisition;
use super::client::{ClientIdentity, sensitive};
use super::credentials::Credentials;
use super::demand::{Demand, Refusal};
use super::dpop::{self, DPOP, Nonces, Observed};
use super::error::AuthorizationError;
use super::events::LoginEvent;
use super::fetch::Fetch;
use super::grants::Grant;
use super::redirect::RedirectPort;
use super::scopes;
use super::secret::Secret;
use super::store::{CredentialStore, Entry};
use super::user_agent::UserAgent;
use super::{Authorizer, BoxFuture, Challenge, RequestLine, Verdict};

/// How often one request is repeated after refusals. The longest honest way is a token, a nonce, a
/// step up and another nonce.
pub const MAX_REPETITIONS: u32 = 4;

/// The last repetition that may still ask a person for more scopes: two step-ups after a login are
/// enough for a server that knows what it wants (C-AUTH-32).
const LAST_STEP_UP: u32 = 2;

/// How long a person may take to log in.
pub const LOGIN_PATIENCE: Duration = Duration::from_secs(300);

/// How much longer than a login another process is waited for.
const LOCK_SLACK: Duration = Duration::from_secs(60);

/// Authorizes requests to one server with OAuth.
pub struct OAuth {
    pub(super) server: Url,
    pub(super) entry: Entry,
    pub(super) fetch: Arc<dyn Fetch>,
    pub(super) store: Arc<dyn CredentialStore>,
    pub(super) identity: ClientIdentity,
    pub(super) grant: Grant,
    pub(super) scopes: Vec<String>,
    pub(super) user_agent: Option<Arc<dyn UserAgent>>,
    pub(super) redirect_port: RedirectPort,
    pub(super) login_patience: Duration,
    pub(super) revision: Revision,
    pub(super) nonces: Nonces,
    on_event: Option<EventHandler>,
    /// Whoever replaces credentials holds the one permit.
    turn: Semaphore,
    state: Mutex<State>,
}

type EventHandler = Arc<dyn Fn(LoginEvent) + Send + Sync>;

#[derive(Default)]
struct State {
    current: Current,
    /// A token that was obtained here and that the server has not accepted yet.
    unproven: Option<Unproven>,
}

#[derive(Clone, Default)]
enum Current {
    #[default]
    NotLoaded,
    Absent,
    Present(Arc<Credentials>),
}

#[derive(Clone)]
struct Unproven {
    presented: Secret,
    origin: Origin,
}

/// How a token was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Renewal,
    Grant,
}

impl OAuth {
    /// Authorizes requests to `server` as `identity`.
    pub fn new(
        server: Url,
        identity: ClientIdentity,
        fetch: Arc<dyn Fetch>,
        store: Arc<dyn CredentialStore>,
    ) -> Self {
        Self {
            entry: Entry::of_server(&server),
            server,
            fetch,
            store,
            identity,
            grant: Grant::default(),
            scopes: Vec::new(),
            user_agent: None,
            redirect_port: RedirectPort::default(),
            login_patience: LOGIN_PATIENCE,
            revision: Revision::NEWEST_FIRST[0],
            nonces: Nonces::default(),
            on_event: None,
            turn: Semaphore::new(1),
            state: Mutex::default(),
        }
    }

    /// How tokens are obtained; by the login of a person unless told otherwise.
    #[must_use]
    pub fn grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// The scopes to ask for where the server does not say which it wants.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = String>) -> Self {
        self.scopes = scopes.into_iter().collect();
        self
    }

    /// Who shows the login page. Without it a needed login is an error.
    #[must_use]
    pub fn user_agent(mut self, user_agent: Arc<dyn UserAgent>) -> Self {
        self.user_agent = Some(user_agent);
        self
    }

    /// Which port the answer to a login comes back to.
    #[must_use]
    pub fn redirect_port(mut self, port: RedirectPort) -> Self {
        self.redirect_port = port;
        self
    }

    /// How long a person may take to log in, if not [`LOGIN_PATIENCE`].
    #[must_use]
    pub fn login_patience(mut self, patience: Duration) -> Self {
        self.login_patience = patience;
        self
    }

    /// The revision that requests for metadata name (C-AUTH-05).
    #[must_use]
    pub fn revision(mut self, revision: Revision) -> Self {
        self.revision = revision;
        self
    }

    /// Hears how a login goes.
    #[must_use]
    pub fn on_event(mut self, handler: impl Fn(LoginEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(handler));
        self
    }

    pub(super) fn tell(&self, event: LoginEvent) {
        if let Some(handler) = &self.on_event {
            handler(event);
        }
    }

    /// Does something with the stored credentials that nobody else may do at the same time, in any
    /// process.
    pub(super) async fn exclusively<T>(
        &self,
        work: impl AsyncFnOnce(Option<Arc<Credentials>>) -> Result<T, AuthorizationError>,
    ) -> Result<T, AuthorizationError> {
        let _turn = self.turn.acquire().await;
        let patience = self.login_patience + LOCK_SLACK;
        let _lock = self.store.lock(&self.entry, patience).await?;
        let stored = self.load().await?;
        work(stored).await
    }

    /// Reads the stored credentials. Those of another client id than the configured one are not
    /// ours (S7).
    pub(super) async fn load(&self) -> Result<Option<Arc<Credentials>>, AuthorizationError> {
        let text = self.store.load(&self.entry).await?;
        let stored = text.as_ref().and_then(Credentials::from_text);
        let configured = self.identity.preregistered.as_ref();
        let ours = stored.filter(|stored| {
            configured.is_none_or(|configured| configured.client_id == stored.client_id)
        });
        let ours = ours.map(Arc::new);
        self.state().current = ours.clone().map_or(Current::Absent, Current::Present);
        Ok(ours)
    }

    /// Puts new credentials in place.
    pub(super) async fn keep(
        &self,
        credentials: Credentials,
        origin: Origin,
    ) -> Result<Arc<Credentials>, AuthorizationError> {
        self.store.save(&self.entry, credentials.to_text()).await?;
        let credentials = Arc::new(credentials);
        let mut state = self.state();
        state.unproven = Some(Unproven {
            presented: credentials.presented(),
            origin,
        });
        state.current = Current::Present(Arc::clone(&credentials));
        Ok(credentials)
    }

    /// Removes credentials that are of no use any more, unless somebody has replaced them meanwhile
    /// (fault 62).
    pub(super) async fn forget(&self, useless: &Credentials) -> Result<(), AuthorizationError> {
        let stored = self.load().await?;
        if stored.is_some_and(|stored| stored.access_token == useless.access_token) {
            self.store.delete(&self.entry).await?;
            self.state().current = Current::Absent;
        }
        Ok(())
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    async fn current(&self) -> Result<Option<Arc<Credentials>>, AuthorizationError> {
        let current = self.state().current.clone();
        match current {
            Current::Present(credentials) => Ok(Some(credentials)),
            Current::Absent => Ok(None),
            Current::NotLoaded => self.load().await,
        }
    }

    /// The credentials for the next request, renewed if they are about to end.
    async fn usable(&self) -> Result<Option<Arc<Credentials>>, AuthorizationError> {
        let Some(current) = self.current().await? else {
            return Ok(None);
        };
        if !current.is_ending() || current.refresh_token.is_none() {
            return Ok(Some(current));
        }
        self.exclusively(async |stored| match stored {
            Some(stored) if stored.is_ending() => {
                // The old token goes out if it cannot be renewed: the server's refusal then leads
                // to whatever else can be done.
                let renewed = Acquisition::of(self).renew(&stored).await;
                Ok(Some(renewed.unwrap_or(stored)))
            }
            stored => Ok(stored),
        })
        .await
    }

    async fn authorization_headers(
        &self,
        request: RequestLine<'_>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError> {
        // A token is for this server and for nobody else (C-AUTH-23, S8).
        if request.url.origin() != self.server.origin() {
            return Ok(Vec::new());
        }
        let Some(credentials) = self.usable().await? else {
            return Ok(Vec::new());
        };
        let mut headers = vec![(AUTHORIZATION, sensitive(&credentials.presented())?)];
        if let Some(key) = &credentials.dpop_key
            && credentials.scheme == super::token::Scheme::Dpop
        {
            let token = Some(&credentials.access_token);
            let proof = dpop::proof(key, &self.nonces, request.method, request.url, token)?;
            headers.push((DPOP, proof));
        }
        Ok(headers)
    }

    async fn judge(&self, challenge: Challenge<'_>) -> Result<Verdict, AuthorizationError> {
        if challenge.request.url.origin() != self.server.origin() {
            return Ok(Verdict::Unrelated);
        }
        let demand = Demand::read(challenge.headers);
        let learnt = self.nonces.learn(challenge.request.url, challenge.headers);
        let refusal = demand.refusal(challenge.status);
        if refusal == Refusal::Unrelated {
            return Ok(Verdict::Unrelated);
        }
        let limit = match refusal {
            Refusal::ScopeMissing => LAST_STEP_UP + 1,
            _ => MAX_REPETITIONS,
        };
        if challenge.attempt >= limit {
            return Err(AuthorizationError::StillRefused {
                repetitions: challenge.attempt,
            });
        }
        let sent = challenge
            .sent
            .and_then(|sent| sent.to_str().ok())
            .map(Secret::new);
        match refusal {
            Refusal::NonceWanted if learnt == Observed::Nonce => {}
            Refusal::ScopeMissing => self.step_up(sent, &demand).await?,
            _ => self.replace(sent, &demand).await?,
        }
        Ok(Verdict::Retry)
    }

    /// Finds other credentials than the refused ones.
    async fn replace(
        &self,
        sent: Option<Secret>,
        demand: &Demand,
    ) -> Result<(), AuthorizationError> {
        self.exclusively(async |stored| {
            let Some(stored) = stored else {
                Acquisition::of(self).grant(demand, None).await?;
                return Ok(());
            };
            // Another task or process was faster: its token has not been refused yet.
            if sent.as_ref() != Some(&stored.presented()) {
                return Ok(());
            }
            let acquisition = Acquisition::of(self);
            match self.origin_if_unproven(&stored) {
                Some(Origin::Grant) => {
                    return Err(AuthorizationError::StillRefused { repetitions: 1 });
                }
                Some(Origin::Renewal) => {}
                None if stored.refresh_token.is_some() => match acquisition.renew(&stored).await {
                    Ok(_) => return Ok(()),
                    Err(error) if is_final(&error) => self.forget(&stored).await?,
                    Err(error) => return Err(error),
                },
                None => {}
            }
            acquisition.grant(demand, Some(&stored)).await?;
            Ok(())
        })
        .await
    }

    /// Asks for more scopes, once for each set of them (C-AUTH-32).
    async fn step_up(
        &self,
        sent: Option<Secret>,
        demand: &Demand,
    ) -> Result<(), AuthorizationError> {
        let challenged = demand.scope.as_deref().unwrap_or_default();
        self.exclusively(async |stored| {
            let earlier = stored.as_deref().map(|stored| stored.requested.as_slice());
            let presented = stored.as_ref().map(|stored| stored.presented());
            if presented.is_some() && presented != sent {
                return Ok(());
            }
            // Only a person can grant more, and what was asked for in vain is not asked for again.
            let is_vain = scopes::asked_before(challenged, earlier.unwrap_or_default());
            if is_vain || !matches!(self.grant, Grant::Login) {
                let scopes = challenged.split_ascii_whitespace().map(attache_net::quoted);
                return Err(AuthorizationError::InsufficientScope {
                    scopes: scopes.collect(),
                });
            }
            Acquisition::of(self)
                .grant(demand, stored.as_deref())
                .await?;
            Ok(())
        })
        .await
    }

    fn origin_if_unproven(&self, credentials: &Credentials) -> Option<Origin> {
        let state = self.state();
        let unproven = state.unproven.as_ref()?;
        (unproven.presented == credentials.presented()).then_some(unproven.origin)
    }
}

/// Whether a failed renewal will fail for ever, so that only a new grant helps.
fn is_final(error: &AuthorizationError) -> bool {
    let AuthorizationError::Refused { error, .. } = error else {
        return false;
    };
    matches!(
        error.as_str(),
        "invalid_grant" | "invalid_client" | "unauthorized_client" | "unsupported_grant_type"
    )
}

impl Authorizer for OAuth {
    fn headers<'a>(
        &'a self,
        request: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>> {
        Box::pin(self.authorization_headers(request))
    }

    fn challenged<'a>(
        &'a self,
        challenge: Challenge<'a>,
    ) -> BoxFuture<'a, Result<Verdict, AuthorizationError>> {
        Box::pin(self.judge(challenge))
    }

    fn answered(&self, request: RequestLine<'_>, headers: &HeaderMap) {
        self.nonces.learn(request.url, headers);
        self.state().unproven = None;
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuth")
            .field("server", &super::address::shown(&self.server))
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}
