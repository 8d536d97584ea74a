//! Finds the authorization server of a server.
//!
//! Owns the order of questions for all revisions: the resource's metadata, then the authorization
//! server's, then what revision 2025-03-26 assumed. The places and contents of the documents are
//! for `resource_metadata` and `server_metadata`.

use attache_net::quoted;
use http::{HeaderName, HeaderValue, StatusCode};
use url::Url;

use super::error::AuthorizationError;
use super::fetch::{Fetch, FetchRequest};
use super::resource_metadata::{self, ResourceMetadata};
use super::server_metadata::{self, ServerMetadata};

/// How many authorization servers of one document are tried.
pub(crate) const MAX_AUTHORIZATION_SERVERS: usize = 4;

/// What was found out about a server.
#[derive(Clone, Debug)]
pub(crate) struct Discovered {
    /// The server's name in `resource` parameters.
    pub(crate) resource: String,
    pub(crate) resource_scopes: Option<Vec<String>>,
    pub(crate) dpop_required: bool,
    pub(crate) server: ServerMetadata,
}

/// A search for one server.
pub(crate) struct Discovery<'a> {
    pub(crate) fetch: &'a dyn Fetch,
    pub(crate) server: &'a Url,
    /// The address of resource metadata, if the server named one.
    pub(crate) named: Option<&'a str>,
    /// The issuer that configured credentials belong to; it is preferred among several.
    pub(crate) preferred: Option<&'a str>,
    /// Sent along, as revision 2025-03-26 wants (C-AUTH-05).
    pub(crate) protocol_version: HeaderValue,
}

impl Discovery<'_> {
    pub(crate) async fn run(&self) -> Result<Discovered, AuthorizationError> {
        let resource = self.resource_metadata().await?.unwrap_or_default();
        if let Some(named) = &resource.resource
            && !resource_metadata::covers(named, self.server)
        {
            return Err(AuthorizationError::ResourceMismatch {
                server: self.server.to_string(),
                resource: quoted(named),
            });
        }
        let server = if resource.authorization_servers.is_empty() {
            self.own_server().await?
        } else {
            self.listed_server(&resource.authorization_servers).await?
        };
        let canonical = || resource_metadata::canonical(self.server);
        Ok(Discovered {
            resource: resource.resource.unwrap_or_else(canonical),
            resource_scopes: resource.scopes_supported,
            dpop_required: resource.dpop_required,
            server,
        })
    }

    async fn resource_metadata(&self) -> Result<Option<ResourceMetadata>, AuthorizationError> {
        for url in resource_metadata::candidates(self.server, self.named) {
            let is_named = self.named.is_some();
            match self.document(url).await {
                Ok(Some(document)) => return Ok(Some(ResourceMetadata::read(&document))),
                Ok(None) if is_named => {
                    return Err(self.failed("the metadata it names do not exist"));
                }
                Ok(None) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The first authorization server of the list that can be used.
    async fn listed_server(&self, listed: &[String]) -> Result<ServerMetadata, AuthorizationError> {
        let is_preferred = |issuer: &&String| self.preferred == Some(issuer.as_str());
        let preferred = listed.iter().find(is_preferred);
        let candidates: Vec<&String> = match preferred {
            Some(issuer) => vec![issuer],
            None => listed.iter().take(MAX_AUTHORIZATION_SERVERS).collect(),
        };
        let mut failure = self.failed("its metadata list no authorization server");
        for (number, issuer) in candidates.into_iter().enumerate() {
            match self.server_metadata(issuer).await {
                Ok(Some(metadata)) => return Ok(metadata),
                // The first one is the server's own choice, so its failure is the one to report.
                Ok(None) if number == 0 => {
                    let issuer = quoted(issuer);
                    failure = self.failed(&format!("{issuer} publishes no metadata"));
                }
                Err(error) if number == 0 => failure = error,
                Ok(None) | Err(_) => {}
            }
        }
        Err(failure)
    }

    /// A server without resource metadata is its own authorization server (C-AUTH-04).
    async fn own_server(&self) -> Result<ServerMetadata, AuthorizationError> {
        let issuer = server_metadata::issuer_of_origin(self.server);
        let published = self.server_metadata(&issuer).await?;
        Ok(published.unwrap_or_else(|| ServerMetadata::assumed(self.server)))
    }

    /// The metadata of an issuer; none if it publishes none at all.
    async fn server_metadata(
        &self,
        issuer: &str,
    ) -> Result<Option<ServerMetadata>, AuthorizationError> {
        // An issuer is shown to people and compared as text, so it may not hide anything.
        let is_plain = quoted(issuer) == issuer;
        let address = Url::parse(issuer).ok().filter(|_| is_plain);
        let address =
            address.ok_or_else(|| self.failed(&format!("{} is no address", quoted(issuer))))?;
        let mut failure = None;
        for url in server_metadata::candidates(&address) {
            let document = self.document(url).await;
            let read = document.and_then(|document| {
                let read = document.map(|document| ServerMetadata::read(&document, issuer));
                read.transpose()
            });
            match read {
                Ok(Some(metadata)) => return Ok(Some(metadata)),
                Ok(None) => {}
                // Another place may hold a document that can be used; this one is not.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    /// A JSON document; none if the server says that there is none. Servers say so with any 4xx:
    /// some guard all their paths.
    async fn document(&self, url: Url) -> Result<Option<serde_json::Value>, AuthorizationError> {
        let name = HeaderName::from_static("mcp-protocol-version");
        let request = FetchRequest::get(url).header(name, self.protocol_version.clone());
        let response = self.fetch.fetch(request).await?;
        match response.status {
            StatusCode::OK => response.json_object().map(Some),
            status if status.is_client_error() => Ok(None),
            status => Err(AuthorizationError::Fetch {
                address: super::address::shown(&response.url),
                problem: format!("status {}", status.as_u16()),
            }),
        }
    }

    fn failed(&self, problem: &str) -> AuthorizationError {
        AuthorizationError::Discovery {
            server: super::address::shown(self.server),
            problem: problem.to_owned(),
        }
    }
}
