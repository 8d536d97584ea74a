//! A server: what it is built from, and where it is served.

use std::future::Future;
use std::sync::Arc;

use attache_protocol::{ErrorObject, Implementation, ResourcePage, Revision};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::caching::Caching;
use crate::catalog::Registry;
use crate::changes::Changes;
use crate::context::Context;
use crate::failure::{BuildError, Failure};
use crate::kernel::{Kernel, ListChanges, Offers};
use crate::prompt::Prompt;
use crate::resource::{ListHandler, PageRequest, Resource, Template, UnknownResource};
use crate::seal::Seal;
use crate::service::Principal;
use crate::settings::{BeforeInitialized, Identify, Limits};
use crate::streams::{self, EndReason};
use crate::tool::Tool;

/// A server that is ready to be served, any number of times. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) kernel: Arc<Kernel>,
}

impl Server {
    /// Begins to build a server of that name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(Implementation::new(name, version))
    }

    /// A handle to change what is registered and to tell clients of changes.
    pub fn changes(&self) -> Changes {
        Changes::new(Arc::clone(&self.kernel))
    }

    /// What bounds this server.
    pub fn limits(&self) -> &Limits {
        &self.kernel.limits
    }

    /// Serves the client at stdin and stdout until it leaves.
    ///
    /// From here on whatever else this process prints goes to stderr, and nothing else reads its
    /// stdin: the protocol has both to itself (S-STDIO-02). The runtime needs its I/O driver.
    pub async fn serve_stdio(&self) -> std::io::Result<EndReason> {
        streams::serve_stdio(self.clone(), self.kernel.limits).await
    }

    /// Serves a client over a pair of byte streams until it leaves.
    pub async fn serve(
        &self,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> EndReason {
        streams::serve(
            self.clone(),
            self.kernel.limits,
            Principal::local(),
            read,
            write,
        )
        .await
    }

    /// A server in this process: what speaks MCP to the returned stream reaches it as long as the
    /// future runs.
    pub fn memory(
        &self,
    ) -> (
        tokio::io::DuplexStream,
        impl Future<Output = EndReason> + Send + use<>,
    ) {
        const BUFFER: usize = 64 * 1024;
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        let (read, write) = tokio::io::split(ours);
        let server = self.clone();
        (theirs, async move { server.serve(read, write).await })
    }
}

/// Builds a [`Server`].
#[must_use]
pub struct ServerBuilder {
    identity: Implementation,
    registry: Registry,
    instructions: Option<String>,
    revisions: Vec<Revision>,
    offers: Offers,
    limits: Limits,
    before_initialized: BeforeInitialized,
    identify: Identify,
    caching: Caching,
    state_key: Option<Vec<u8>>,
    resource_list: Option<Arc<ListHandler>>,
    unknown_resource: Option<Arc<UnknownResource>>,
}

impl ServerBuilder {
    fn new(identity: Implementation) -> Self {
        Self {
            identity,
            registry: Registry::default(),
            instructions: None,
            revisions: Revision::NEWEST_FIRST.to_vec(),
            offers: Offers::default(),
            limits: Limits::default(),
            before_initialized: BeforeInitialized::default(),
            identify: Identify::default(),
            caching: Caching::default(),
            state_key: None,
            resource_list: None,
            unknown_resource: None,
        }
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.registry.add_tool(tool);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.registry.add_resource(resource);
        self
    }

    /// Adds a family of resources.
    pub fn template(mut self, template: Template) -> Self {
        self.registry.add_template(template);
        self
    }

    /// Answers `resources/list` by a handler instead of with what is registered, for resources that
    /// are too many or change too often to be registered. They are read through a template.
    pub fn resource_list<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(Context, PageRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ResourcePage, Failure>> + Send + 'static,
    {
        self.resource_list = Some(Arc::new(move |context, page| {
            Box::pin(handler(context, page))
        }));
        self
    }

    /// Answers for URIs that nothing registered matches with another error than the standard's.
    pub fn unknown_resource(
        mut self,
        error: impl Fn(&str) -> ErrorObject + Send + Sync + 'static,
    ) -> Self {
        self.unknown_resource = Some(Arc::new(error));
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.registry.add_prompt(prompt);
        self
    }

    /// Tells a model how to use the server.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Changes anything else of the identity, such as title and icons.
    pub fn describe(mut self, change: impl FnOnce(&mut Implementation)) -> Self {
        change(&mut self.identity);
        self
    }

    /// Speaks these revisions only; all five by default.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = revisions.into_iter().collect();
        self.revisions.sort_unstable();
        self.revisions.dedup();
        self.revisions.reverse();
        self
    }

    /// Offers log messages of handlers to clients.
    pub fn logging(mut self) -> Self {
        self.offers.logging = true;
        self
    }

    /// Promises to tell when a list changes; see [`Changes`]. Without it lists are static.
    pub fn list_changes(mut self) -> Self {
        self.offers.list_changes = ListChanges::All;
        self
    }

    /// Promises to tell when the list of resources changes, and only that one.
    pub fn resource_list_changes(mut self) -> Self {
        self.offers.list_changes = ListChanges::Resources;
        self
    }

    /// Lets clients watch single resources; see [`Changes::resource_updated`].
    pub fn subscriptions(mut self) -> Self {
        self.offers.subscriptions = true;
        self
    }

    /// Changes what bounds the server.
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// What a legacy client may ask before it has said that it is ready.
    pub fn before_initialized(mut self, choice: BeforeInitialized) -> Self {
        self.before_initialized = choice;
        self
    }

    /// Whether modern results say who the server is.
    pub fn identify(mut self, choice: Identify) -> Self {
        self.identify = choice;
        self
    }

    /// How long modern clients may keep lists and resources that say nothing else; not at all by
    /// default.
    pub fn caching(mut self, caching: Caching) -> Self {
        self.caching = caching;
        self
    }

    /// Seals states with a key that several instances of this server share, and no other server. By
    /// default each run has its own.
    pub fn state_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.state_key = Some(key.into());
        self
    }

    /// Checks and compiles everything that is registered.
    pub fn build(self) -> Result<Server, BuildError> {
        let seal = match &self.state_key {
            Some(key) => Seal::with_key(key),
            None => Seal::random()?,
        };
        let mut kernel = Kernel::new(self.identity, self.registry, self.identify, seal)?;
        kernel.instructions = self.instructions;
        kernel.revisions = self.revisions;
        kernel.offers = self.offers;
        kernel.limits = self.limits;
        kernel.before_initialized = self.before_initialized;
        kernel.caching = self.caching;
        kernel.resource_list = self.resource_list;
        kernel.unknown_resource = self.unknown_resource;
        Ok(Server {
            kernel: Arc::new(kernel),
        })
    }
}
