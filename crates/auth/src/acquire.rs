//! Obtains tokens: by renewal, or by the configured grant.
//!
//! Owns the way from a demand to stored credentials: discovery, scopes, client id, grant, token.
//! When to do so is for `oauth`, which also sees to it that only one acquisition runs at a time.

use std::pin::pin;
use std::sync::Arc;

use http::HeaderValue;
use url::Url;

use super::address::Reach;
use super::client::OAuthClient;
use super::credentials::Credentials;
use super::demand::Demand;
use super::discovery::{Discovered, Discovery};
use super::error::{AuthorizationError, Step};
use super::events::LoginEvent;
use super::grants::{self, EnterpriseManaged, Grant};
use super::jwt::SigningKey;
use super::login::{Login, Wish};
use super::oauth::{OAuth, Origin};
use super::redirect::{RedirectListener, RedirectPort};
use super::registration::{self, Registration, Source};
use super::scopes::{self, Known, Renewal};
use super::secret::Secret;
use super::store::Entry;
use super::token::{Granted, Scheme, TokenEndpoint};
use super::user_agent::UserAgent;

/// One attempt to obtain a token, made by whoever holds the lock.
pub(super) struct Acquisition<'a> {
    oauth: &'a OAuth,
}

/// What a grant needs to know.
struct Terms {
    discovered: Discovered,
    scopes: Vec<String>,
    dpop_key: Option<Arc<SigningKey>>,
}

impl<'a> Acquisition<'a> {
    pub(super) fn of(oauth: &'a OAuth) -> Self {
        Self { oauth }
    }

    /// Renews a token where it came from: the stored endpoint of the stored issuer (S7).
    pub(super) async fn renew(
        &self,
        credentials: &Credentials,
    ) -> Result<Arc<Credentials>, AuthorizationError> {
        let missing = || AuthorizationError::LoginRequired {
            server: super::address::shown(&self.oauth.server),
        };
        let refresh_token = credentials.refresh_token.as_ref().ok_or_else(missing)?;
        let client = self.known_client(credentials).await?.ok_or_else(missing)?;
        self.oauth.tell(LoginEvent::Renewing);
        let endpoint = TokenEndpoint {
            fetch: &*self.oauth.fetch,
            url: &credentials.token_endpoint,
            issuer: &credentials.issuer,
            methods: credentials.methods.as_deref(),
            client: &client,
            dpop: credentials.dpop_key.as_ref(),
            nonces: &self.oauth.nonces,
        };
        let form = vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh_token.expose().to_owned()),
            ("resource", credentials.resource.clone()),
        ];
        let granted = endpoint.request(form, Step::Refresh).await?;
        let renewed = credentials.renewed(granted);
        self.oauth.keep(renewed, Origin::Renewal).await
    }

    /// The client that these credentials belong to, if it is still known.
    pub(super) async fn known_client(
        &self,
        credentials: &Credentials,
    ) -> Result<Option<OAuthClient>, AuthorizationError> {
        let identity = &self.oauth.identity;
        if let Some(configured) = &identity.preregistered {
            return Ok(
                (configured.client_id == credentials.client_id).then(|| OAuthClient {
                    id: configured.client_id.clone(),
                    proof: configured.proof.clone(),
                    registered_method: None,
                }),
            );
        }
        let document = identity.metadata_document.as_ref().map(Url::as_str);
        if document == Some(credentials.client_id.as_str()) {
            return Ok(Some(OAuthClient::public(&credentials.client_id)));
        }
        let registration = self.registration(&credentials.issuer).await?;
        let client = registration.map(|registration| registration.client);
        Ok(client.filter(|client| client.id == credentials.client_id))
    }

    async fn registration(&self, issuer: &str) -> Result<Option<Registration>, AuthorizationError> {
        let text = self.oauth.store.load(&Entry::registration(issuer)).await?;
        Ok(text.as_ref().and_then(Registration::from_text))
    }

    /// Obtains a token by the configured grant and puts it in place.
    pub(super) async fn grant(
        &self,
        demand: &Demand,
        former: Option<&Credentials>,
    ) -> Result<Arc<Credentials>, AuthorizationError> {
        let oauth = self.oauth;
        if matches!(oauth.grant, Grant::Login) && oauth.user_agent.is_none() {
            return Err(AuthorizationError::LoginRequired {
                server: super::address::shown(&oauth.server),
            });
        }
        let terms = self.terms(demand, former).await?;
        let (client, granted) = match &oauth.grant {
            Grant::Login => self.login(&terms).await?,
            Grant::ClientCredentials => {
                let form = grants::client_credentials(&terms.scopes, &terms.discovered.resource);
                self.speak_for_itself(&terms, form).await?
            }
            Grant::WorkloadIdentity(workload) => {
                let issuer = &terms.discovered.server.issuer;
                let assertion = grants::token_of(&*workload.assertion, issuer, Step::Token).await?;
                let resource = &terms.discovered.resource;
                let form = grants::jwt_bearer(&assertion, &terms.scopes, resource);
                self.speak_for_itself(&terms, form).await?
            }
            Grant::EnterpriseManaged(enterprise) => {
                let assertion = self.identity_assertion(enterprise, &terms).await?;
                let resource = &terms.discovered.resource;
                let form = grants::jwt_bearer(&assertion, &terms.scopes, resource);
                self.speak_for_itself(&terms, form).await?
            }
        };
        if terms.discovered.dpop_required && granted.scheme != Scheme::Dpop {
            return Err(AuthorizationError::BadAnswer {
                step: Step::Token,
                problem: "the token is not bound to a key, which the server requires".to_owned(),
            });
        }
        let credentials = terms.credentials(client.id, granted);
        let kept = oauth.keep(credentials, Origin::Grant).await?;
        oauth.tell(LoginEvent::Done {
            scopes: kept.granted.clone(),
        });
        Ok(kept)
    }

    /// Where a token would have to come from.
    pub(super) async fn find_issuer(&self, demand: &Demand) -> Result<String, AuthorizationError> {
        let terms = self.terms(demand, None).await?;
        Ok(terms.discovered.server.issuer)
    }

    async fn terms(
        &self,
        demand: &Demand,
        former: Option<&Credentials>,
    ) -> Result<Terms, AuthorizationError> {
        let oauth = self.oauth;
        oauth.tell(LoginEvent::Searching);
        let configured = oauth.identity.preregistered.as_ref();
        let discovery = Discovery {
            fetch: &*oauth.fetch,
            server: &oauth.server,
            named: demand.resource_metadata.as_deref(),
            preferred: configured.and_then(|configured| configured.issuer.as_deref()),
            protocol_version: HeaderValue::from_static(oauth.revision.as_str()),
        };
        let discovered = discovery.run().await?;
        oauth.tell(LoginEvent::Found {
            issuer: discovered.server.issuer.clone(),
        });
        // What was asked for at another authorization server means nothing at this one.
        let former = former.filter(|former| former.issuer == discovered.server.issuer);
        let renewal = match oauth.grant {
            Grant::Login => Renewal::Wanted,
            _ => Renewal::Useless,
        };
        let known = Known {
            challenged: demand.scope.as_deref(),
            configured: &oauth.scopes,
            resource: discovered.resource_scopes.as_deref(),
            server: &discovered.server.scopes_supported,
            earlier: former.map_or(&[], |former| former.requested.as_slice()),
        };
        let scopes = scopes::choose(known, renewal);
        // Either party may leave its support unsaid; a server that takes nothing else decides.
        let insists = discovered.dpop_required || (demand.takes_dpop && !demand.takes_bearer);
        let offers = demand.takes_dpop && discovered.server.takes_dpop();
        let dpop_key = if insists || offers {
            Some(Arc::new(SigningKey::generate()?))
        } else {
            None
        };
        Ok(Terms {
            discovered,
            scopes,
            dpop_key,
        })
    }

    /// A grant of the client with its agreed-upon id. A refusal is final: nothing else is tried.
    async fn speak_for_itself(
        &self,
        terms: &Terms,
        form: super::token::Form,
    ) -> Result<(OAuthClient, Granted), AuthorizationError> {
        let server = &terms.discovered.server;
        let client = registration::preregistered(&self.oauth.identity, server)?;
        let client = client.ok_or_else(|| AuthorizationError::NoClientId {
            issuer: server.issuer.clone(),
        })?;
        let granted = self.token(terms, &client, form).await?;
        Ok((client, granted))
    }

    async fn token(
        &self,
        terms: &Terms,
        client: &OAuthClient,
        form: super::token::Form,
    ) -> Result<Granted, AuthorizationError> {
        self.oauth.tell(LoginEvent::Fetching);
        let server = &terms.discovered.server;
        let endpoint = TokenEndpoint {
            fetch: &*self.oauth.fetch,
            url: &server.token_endpoint,
            issuer: &server.issuer,
            methods: server.authentication_methods.as_deref(),
            client,
            dpop: terms.dpop_key.as_ref(),
            nonces: &self.oauth.nonces,
        };
        endpoint.request(form, Step::Token).await
    }

    async fn identity_assertion(
        &self,
        enterprise: &EnterpriseManaged,
        terms: &Terms,
    ) -> Result<Secret, AuthorizationError> {
        let issuer = &terms.discovered.server.issuer;
        let source = &*enterprise.identity_token;
        let identity_token = grants::token_of(source, issuer, Step::TokenExchange).await?;
        let client = OAuthClient {
            id: enterprise.client_id.clone(),
            proof: enterprise.proof.clone(),
            registered_method: None,
        };
        let provider = TokenEndpoint {
            fetch: &*self.oauth.fetch,
            url: &enterprise.token_endpoint,
            issuer: enterprise.token_endpoint.as_str(),
            methods: None,
            client: &client,
            dpop: None,
            nonces: &self.oauth.nonces,
        };
        let resource = &terms.discovered.resource;
        grants::identity_assertion(provider, &identity_token, issuer, &terms.scopes, resource).await
    }

    /// The login of a person.
    async fn login(&self, terms: &Terms) -> Result<(OAuthClient, Granted), AuthorizationError> {
        let oauth = self.oauth;
        let server = &terms.discovered.server;
        // Before anything is registered or shown: servers that are not safe are left alone.
        server.require_pkce()?;
        let (client, listener) = match registration::source(&oauth.identity, server)? {
            Source::Known(client) => (client, RedirectListener::bind(oauth.redirect_port).await?),
            Source::Register(endpoint) => self.registered_client(terms, &endpoint).await?,
        };
        let wish = Wish {
            client_id: &client.id,
            redirect_uri: listener.uri(),
            scopes: &terms.scopes,
            resource: &terms.discovered.resource,
        };
        let reach = Reach::of_server(&oauth.server);
        let login = Arc::new(Login::prepare(server, reach, &wish)?);
        let code = self.visit(Arc::clone(&login), listener).await?;
        let granted = self.token(terms, &client, login.exchange(&code)).await;
        if let Err(AuthorizationError::Refused { error, .. }) = &granted
            && error == "invalid_client"
        {
            // The registration is not known any more; the next login registers anew.
            oauth
                .store
                .delete(&Entry::registration(&server.issuer))
                .await?;
        }
        Ok((client, granted?))
    }

    /// Takes up an earlier registration if its address is free, because servers compare it as text;
    /// otherwise registers.
    async fn registered_client(
        &self,
        terms: &Terms,
        endpoint: &Url,
    ) -> Result<(OAuthClient, RedirectListener), AuthorizationError> {
        let oauth = self.oauth;
        let server = &terms.discovered.server;
        if let Some(registration) = self.registration(&server.issuer).await? {
            let port = match oauth.redirect_port {
                RedirectPort::Any => port_of(&registration.redirect_uri),
                fixed @ RedirectPort::Fixed(_) => fixed,
            };
            if let Ok(listener) = RedirectListener::bind(port).await
                && registration.serves(listener.uri())
            {
                return Ok((registration.client, listener));
            }
        }
        oauth.tell(LoginEvent::Registering {
            issuer: server.issuer.clone(),
        });
        let listener = RedirectListener::bind(oauth.redirect_port).await?;
        let uri = listener.uri();
        let fetch = &*oauth.fetch;
        let registration =
            registration::register(fetch, &oauth.identity, server, endpoint, uri).await?;
        let entry = Entry::registration(&server.issuer);
        oauth.store.save(&entry, registration.to_text()).await?;
        Ok((registration.client, listener))
    }

    /// Shows the login page and waits for the answer.
    async fn visit(
        &self,
        login: Arc<Login>,
        listener: RedirectListener,
    ) -> Result<Secret, AuthorizationError> {
        let oauth = self.oauth;
        let Some(user_agent) = &oauth.user_agent else {
            return Err(AuthorizationError::LoginRequired {
                server: super::address::shown(&oauth.server),
            });
        };
        let url = login.url().clone();
        oauth.tell(LoginEvent::Visit { url: url.clone() });
        let mut answer = pin!(listener.answer(login, oauth.login_patience));
        // The answer may come while the page is still being opened.
        tokio::select! {
            answer = &mut answer => return answer,
            opened = open(&**user_agent, &url) => {
                if let Err(problem) = opened {
                    oauth.tell(LoginEvent::NotOpened { url: url.clone(), problem });
                }
            }
        }
        answer.await
    }
}

async fn open(user_agent: &dyn UserAgent, url: &Url) -> Result<(), String> {
    user_agent.open(url).await
}

/// The port of an address on this machine.
fn port_of(uri: &str) -> RedirectPort {
    let port = Url::parse(uri).ok().and_then(|url| url.port());
    port.map_or(RedirectPort::Any, RedirectPort::Fixed)
}

impl Terms {
    fn credentials(self, client_id: String, granted: Granted) -> Credentials {
        let server = self.discovered.server;
        Credentials {
            issuer: server.issuer,
            token_endpoint: server.token_endpoint,
            revocation_endpoint: server.revocation_endpoint,
            methods: server.authentication_methods,
            resource: self.discovered.resource,
            client_id,
            access_token: granted.access_token,
            scheme: granted.scheme,
            refresh_token: granted.refresh_token,
            expires_at: granted.expires_at,
            granted: granted.scopes.unwrap_or_else(|| self.scopes.clone()),
            requested: self.scopes,
            dpop_key: self.dpop_key,
        }
    }
}
