//! Logins at servers behind a URL: whose credentials go on the requests to which server.
//!
//! Owns where credentials are kept and who shows a login page; what a server's configuration says
//! about logging in becomes an authorizer here. Knows nothing of connections.

use std::path::PathBuf;
use std::sync::Arc;

use attache_client::Error;
use attache_client::authorization::{
    ClientIdentity, ClientProof, CredentialStore, FileStore, Grant, HttpFetch, LoginEvent,
    MemoryStore, OAuth, Preregistered, RedirectPort, UserAgent,
};
#[cfg(feature = "keyring")]
use attache_client::authorization::{SealedOrPlain, SystemKeyring};
use url::Url;

use crate::config::{self, ServerConfig, ServerName};

/// The name a person sees when asked for consent.
const CLIENT_NAME: &str = "Attaché";

/// What is told about a login.
type EventHandler = Arc<dyn Fn(&ServerName, LoginEvent) + Send + Sync>;

/// The logins of a user.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn CredentialStore>,
    user_agent: Option<Arc<dyn UserAgent>>,
    on_event: Option<EventHandler>,
}

impl Accounts {
    /// Logins that end with this process.
    pub fn in_memory() -> Self {
        Self::in_store(Arc::new(MemoryStore::new()))
    }

    /// Logins kept in a folder that only its owner can read.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self::in_store(Arc::new(FileStore::new(folder)))
    }

    /// Logins kept in a folder, encrypted with a key from the operating system's keyring. Where that
    /// cannot be used they are as private as [`Accounts::in_folder`] makes them. `service` is the
    /// name of the key, usually that of the program.
    #[cfg(feature = "keyring")]
    pub fn in_keyring_or_folder(service: &str, folder: impl Into<PathBuf>) -> Self {
        let keyring = Arc::new(SystemKeyring::new(service));
        Self::in_store(Arc::new(SealedOrPlain::new(folder, keyring)))
    }

    /// Logins kept in a store of the embedder's choice.
    pub fn in_store(store: Arc<dyn CredentialStore>) -> Self {
        Self {
            store,
            user_agent: None,
            on_event: None,
        }
    }

    /// Who shows login pages. Without anybody a server that wants a login is out of reach.
    #[must_use]
    pub fn user_agent(mut self, user_agent: Arc<dyn UserAgent>) -> Self {
        self.user_agent = Some(user_agent);
        self
    }

    /// Who is told how a login goes.
    #[must_use]
    pub fn on_event(
        mut self,
        handler: impl Fn(&ServerName, LoginEvent) + Send + Sync + 'static,
    ) -> Self {
        self.on_event = Some(Arc::new(handler));
        self
    }

    /// What authorizes the requests to a server; `None` for a server that needs no login here: a
    /// child process, or one with a ready token.
    pub fn of(&self, server: &ServerConfig) -> Result<Option<OAuth>, Error> {
        let (Some(http), auth) = (server.server.transport().http(), &server.auth) else {
            return Ok(None);
        };
        let brings_its_own = |name: &String| name.eq_ignore_ascii_case("authorization");
        if auth.token.is_some() || http.headers.keys().any(brings_its_own) {
            return Ok(None);
        }
        let bad = |what: &str, error| Error::Input(format!("{}: {what}: {error}", server.name));
        let address = Url::parse(&http.url).map_err(|error| bad("url", error))?;
        let mut identity = ClientIdentity::new(CLIENT_NAME);
        if let Some(document) = &auth.client_metadata_url {
            let document = Url::parse(document);
            let document = document.map_err(|error| bad("auth.client_metadata_url", error))?;
            identity.metadata_document = Some(document);
        }
        identity.preregistered = auth.client_id.clone().map(|client_id| Preregistered {
            issuer: auth.issuer.clone(),
            client_id,
            proof: match &auth.client_secret {
                Some(secret) => ClientProof::Secret(secret.clone()),
                None => ClientProof::None,
            },
        });
        let mut fetch = HttpFetch::new(&address).proxy(http.proxy.clone());
        if let Some(file) = &http.ca_file {
            fetch = fetch.ca_file(file);
        }
        let mut oauth = OAuth::new(address, identity, Arc::new(fetch), self.store.clone())
            .grant(match auth.grant {
                config::Grant::AuthorizationCode => Grant::Login,
                config::Grant::ClientCredentials => Grant::ClientCredentials,
            })
            .scopes(auth.scopes.iter().cloned())
            .redirect_port(
                auth.redirect_port
                    .map_or(RedirectPort::Any, RedirectPort::Fixed),
            );
        if let Some(user_agent) = &self.user_agent {
            oauth = oauth.user_agent(user_agent.clone());
        }
        if let Some(handler) = &self.on_event {
            let (handler, name) = (handler.clone(), server.name.clone());
            oauth = oauth.on_event(move |event| handler(&name, event));
        }
        Ok(Some(oauth))
    }
}
