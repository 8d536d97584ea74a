//! Authorization of HTTP requests to one server.
//!
//! This module owns everything between "the server answered 401" and "the next request carries a
//! token": challenges, discovery, client registration, grants, token storage. It knows nothing of
//! JSON-RPC, and the transport knows nothing of OAuth: both meet at [`Authorizer`].
//!
//! [`OAuth`] is the authorizer of the product. A face supplies who shows the login page and hears
//! how it goes; the library itself never prints.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use attache_client::Server;
//! use attache_auth::{
//!     ClientIdentity, FileStore, HttpFetch, LoginEvent, OAuth, SystemBrowser,
//! };
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let address = "https://mcp.example.com/mcp";
//! let url = address.parse()?;
//! let fetch = Arc::new(HttpFetch::new(&url));
//! let store = Arc::new(FileStore::new("/home/me/.local/state/my-program/credentials"));
//! let oauth = OAuth::new(url, ClientIdentity::new("My program"), fetch, store)
//!     .user_agent(Arc::new(SystemBrowser))
//!     .on_event(|event| {
//!         if let LoginEvent::NotOpened { url, .. } = event {
//!             println!("Open this page to log in: {url}");
//!         }
//!     });
//! let client = Server::http(address).authorizer(Arc::new(oauth)).connect().await?;
//! # drop(client);
//! # Ok(())
//! # }
//! ```
//!
//! Without a connection, [`OAuth::status`], [`OAuth::login`] and [`OAuth::logout`] serve commands
//! about credentials.

mod account;
mod acquire;
mod address;
mod challenge;
mod client;
mod clock;
mod credentials;
mod demand;
mod discovery;
mod dpop;
mod error;
mod events;
mod fetch;
mod grants;
mod http_fetch;
mod jwt;
mod login;
mod oauth;
mod redirect;
mod registration;
mod resource_metadata;
mod scopes;
mod secret;
mod server_metadata;
mod store;
mod token;
mod user_agent;

use std::future::Future;
use std::pin::Pin;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

pub use account::{LoginDetails, LoginStatus, Logout, RenewalOutlook};
pub use address::{AddressProblem, Reach, UnsafeAddress, Zone};
pub use client::{ClientIdentity, ClientProof, Preregistered};
pub use error::{AuthorizationError, Step};
pub use events::LoginEvent;
pub use fetch::{Fetch, FetchBody, FetchRequest, FetchResponse, MAX_BODY};
pub use grants::{EnterpriseManaged, Grant, TokenFile, TokenSource, WorkloadIdentity};
pub use http_fetch::{FETCH_TIMEOUT, HttpFetch, MAX_REDIRECTS};
pub use jwt::SigningKey;
pub use oauth::{LOGIN_PATIENCE, MAX_REPETITIONS, OAuth};
pub use redirect::RedirectPort;
pub use secret::Secret;
#[cfg(feature = "keyring")]
pub use store::SystemKeyring;
pub use store::{
    CredentialStore, Entry, EntryLock, FileStore, KEY_LENGTH, KeyVault, MAX_ENTRY_LENGTH,
    MemoryStore, SealedOrPlain, SealedStore,
};
pub use user_agent::{SystemBrowser, UserAgent};

/// A future behind a pointer, so that [`Authorizer`] can be a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Puts credentials on the requests to one server, and finds better ones when it refuses.
///
/// The transport asks for [`headers`](Self::headers) before every request, also before every
/// repetition; a 401 or 403 goes to [`challenged`](Self::challenged); the headers of any other
/// answer go to [`answered`](Self::answered). One authorizer serves all requests to a server at
/// once, and makes sure that many challenges lead to one login.
pub trait Authorizer: Send + Sync {
    /// The headers that authorize one request. They are sensitive and good for this request alone:
    /// they must not be logged, kept, or sent after a redirect to another origin (S8).
    fn headers<'a>(
        &'a self,
        request: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>>;

    /// What to do about a refusal. May take as long as a person needs to log in.
    fn challenged<'a>(
        &'a self,
        challenge: Challenge<'a>,
    ) -> BoxFuture<'a, Result<Verdict, AuthorizationError>>;

    /// Sees the headers of an answer that was no refusal, where a server may put what the next
    /// request needs (`DPoP-Nonce`, RFC 9449 section 8.2).
    fn answered(&self, _request: RequestLine<'_>, _headers: &HeaderMap) {}
}

/// The part of a request that a proof of possession covers.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// The method.
    pub method: &'a Method,
    /// The full address, as it is requested.
    pub url: &'a Url,
}

/// A refusal by the server: 401, or 403 that may be about scopes.
#[derive(Clone, Copy, Debug)]
pub struct Challenge<'a> {
    /// The request that was refused.
    pub request: RequestLine<'a>,
    /// The `Authorization` header it carried, so that the refusal of an old token does not spoil
    /// a newer one that another request has fetched meanwhile (fault 62).
    pub sent: Option<&'a HeaderValue>,
    /// How it was refused.
    pub status: StatusCode,
    /// All headers of the answer; of interest are `WWW-Authenticate` and `DPoP-Nonce`.
    pub headers: &'a HeaderMap,
    /// How often this request was repeated before; 0 for its first refusal.
    pub attempt: u32,
}

/// What the transport does after a challenge. Giving up is an error and says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send the same request once more, with fresh [`Authorizer::headers`].
    Retry,
    /// The refusal is not about credentials; report it as the HTTP status that it is.
    Unrelated,
}
