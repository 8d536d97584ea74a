//! What a person may do with the credentials of a server: see them, log in, log out.
//!
//! Owns the verbs behind a command such as `auth status|login|logout`. Words and colours are for
//! the face that offers it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use http::StatusCode;
use http::header::ACCEPT;

use super::acquire::Acquisition;
use super::credentials::Credentials;
use super::demand::Demand;
use super::error::AuthorizationError;
use super::fetch::{FetchBody, FetchRequest};
use super::oauth::OAuth;

/// What is known about the credentials of one server. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginStatus {
    /// There are none.
    LoggedOut,
    /// There is a token.
    LoggedIn(LoginDetails),
}

/// The credentials that are kept for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginDetails {
    /// The authorization server that issued them.
    pub issuer: String,
    /// This client's id there.
    pub client_id: String,
    /// What the token allows, as far as it is known.
    pub scopes: Vec<String>,
    /// When the token ends, if the authorization server said so.
    pub expires_at: Option<SystemTime>,
    /// What happens then.
    pub renewal: RenewalOutlook,
}

/// Whether a token can be renewed without a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalOutlook {
    /// It renews itself.
    Automatic,
    /// It has to be obtained anew.
    None,
}

/// How a logout went. The credentials are gone from this machine in every case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Logout {
    /// There was nothing to log out from.
    WasLoggedOut,
    /// The authorization server has revoked the tokens.
    Revoked,
    /// The authorization server offers no revocation; the tokens end by themselves.
    NotOffered,
    /// The authorization server did not revoke them; they end by themselves.
    NotRevoked(AuthorizationError),
}

impl OAuth {
    /// What is kept for this server. Asks nobody.
    pub async fn status(&self) -> Result<LoginStatus, AuthorizationError> {
        let stored = self.load().await?;
        Ok(stored.map_or(LoginStatus::LoggedOut, |stored| {
            LoginStatus::LoggedIn(details(&stored))
        }))
    }

    /// Looks where a login would take place, and goes no further: the authorization server, or why
    /// there is none.
    pub async fn find_issuer(&self) -> Result<String, AuthorizationError> {
        let demand = self.probe().await;
        Acquisition::of(self).find_issuer(&demand).await
    }

    /// Obtains a new token, whether or not there is one, and tells how it goes through
    /// [`OAuth::on_event`].
    pub async fn login(&self) -> Result<LoginDetails, AuthorizationError> {
        let demand = self.probe().await;
        let kept = self
            .exclusively(async |stored| {
                Acquisition::of(self)
                    .grant(&demand, stored.as_deref())
                    .await
            })
            .await?;
        Ok(details(&kept))
    }

    /// Revokes the tokens where that is offered (RFC 7009) and forgets them in any case.
    pub async fn logout(&self) -> Result<Logout, AuthorizationError> {
        self.exclusively(async |stored| {
            let Some(stored) = stored else {
                // An entry that cannot be read goes, too.
                self.store.delete(&self.entry).await?;
                return Ok(Logout::WasLoggedOut);
            };
            let outcome = match self.revoke(&stored).await {
                Ok(outcome) => outcome,
                Err(error) => Logout::NotRevoked(error),
            };
            self.forget(&stored).await?;
            Ok(outcome)
        })
        .await
    }

    /// Asks the server without credentials what it demands. It may name its metadata only in its
    /// refusal; whoever does not refuse, or does not answer, leaves the well-known addresses.
    async fn probe(&self) -> Demand {
        let mut request = FetchRequest::get(self.server.clone());
        request.headers = vec![(ACCEPT, HeaderValue::from_static("text/event-stream"))];
        match self.fetch.fetch(request).await {
            Ok(answer) if answer.status == StatusCode::UNAUTHORIZED => {
                Demand::read(&answer.headers)
            }
            _ => Demand::default(),
        }
    }

    async fn revoke(&self, credentials: &Credentials) -> Result<Logout, AuthorizationError> {
        let Some(endpoint) = &credentials.revocation_endpoint else {
            return Ok(Logout::NotOffered);
        };
        let client = Acquisition::of(self).known_client(credentials).await?;
        // Revoking the refresh token ends its access tokens with it.
        let (token, hint) = match &credentials.refresh_token {
            Some(token) => (token, "refresh_token"),
            None => (&credentials.access_token, "access_token"),
        };
        let form = vec![
            ("token", token.expose().to_owned()),
            ("token_type_hint", hint.to_owned()),
        ];
        let mut request = FetchRequest::post(endpoint.clone(), FetchBody::Form(form));
        if let Some(client) = client {
            let methods = credentials.methods.as_deref();
            request = client.authenticate(request, &credentials.issuer, methods)?;
        }
        let answer = self.fetch.fetch(request).await?;
        if answer.status.is_success() {
            return Ok(Logout::Revoked);
        }
        Err(AuthorizationError::BadAnswer {
            step: super::error::Step::Revocation,
            problem: format!("status {}", answer.status.as_u16()),
        })
    }
}

fn details(credentials: &Credentials) -> LoginDetails {
    let at = |seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    LoginDetails {
        issuer: credentials.issuer.clone(),
        client_id: credentials.client_id.clone(),
        scopes: credentials.granted.clone(),
        expires_at: credentials.expires_at.and_then(at),
        renewal: match credentials.refresh_token {
            Some(_) => RenewalOutlook::Automatic,
            None => RenewalOutlook::None,
        },
    }
}
