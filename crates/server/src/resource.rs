//! Resources and templates: what an author registers.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use attache_protocol::{
    self as protocol, ErrorObject, ReadResourceResult, ResourceContents, ResourcePage,
};

use crate::caching::Caching;
use crate::completion::{Completer, Completers};
use crate::context::Context;
use crate::failure::{BuildError, Failure};
use crate::tool::HandlerFuture;
use crate::uri_template::UriTemplate;

/// A resource that changes by itself is not told of more often than this.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);

/// What a handler of a resource gets: the URI that was asked for, and the values of the template's
/// variables, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The URI.
    pub uri: String,
    /// Values by the names of the template's variables.
    pub variables: BTreeMap<String, String>,
}

impl Reading {
    /// The value of a variable; empty if the template has none of that name.
    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    /// Text as the contents of what was asked for.
    pub fn text(&self, mime_type: &str, text: impl Into<String>) -> ResourceContents {
        let mut contents = ResourceContents::text(&self.uri, text);
        contents.mime_type = Some(mime_type.to_owned());
        contents
    }

    /// Bytes in base64 as the contents of what was asked for.
    pub fn blob(&self, mime_type: &str, base64: impl Into<String>) -> ResourceContents {
        let mut contents = ResourceContents::text(&self.uri, "");
        contents.text = None;
        contents.blob = Some(base64.into());
        contents.mime_type = Some(mime_type.to_owned());
        contents
    }
}

/// What a handler of a resource may answer with.
pub trait ResourceOutput: Send + 'static {
    /// The answer on the wire.
    fn into_result(self) -> ReadResourceResult;
}

impl ResourceOutput for ReadResourceResult {
    fn into_result(self) -> ReadResourceResult {
        self
    }
}

impl ResourceOutput for ResourceContents {
    fn into_result(self) -> ReadResourceResult {
        vec![self].into_result()
    }
}

impl ResourceOutput for Vec<ResourceContents> {
    fn into_result(self) -> ReadResourceResult {
        ReadResourceResult {
            contents: self.into(),
            ..ReadResourceResult::default()
        }
    }
}

pub(crate) type ReadHandler =
    dyn Fn(Context, Reading) -> HandlerFuture<ReadResourceResult> + Send + Sync;

fn boxed<O, F, R>(handler: F) -> Arc<ReadHandler>
where
    O: ResourceOutput,
    F: Fn(Context, Reading) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, Failure>> + Send + 'static,
{
    Arc::new(move |context, reading| {
        let work = handler(context, reading);
        Box::pin(async move { Ok(work.await?.into_result()) })
    })
}

/// The page that a client asks for, of a list that the author keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The cursor of an earlier page; `None` begins.
    pub cursor: Option<String>,
    /// How many entries the page may hold.
    pub size: usize,
}

pub(crate) type ListHandler =
    dyn Fn(Context, PageRequest) -> HandlerFuture<ResourcePage> + Send + Sync;

/// What a client is told of a resource that is not there.
pub(crate) type UnknownResource = dyn Fn(&str) -> ErrorObject + Send + Sync;

/// A resource under one URI.
#[derive(Clone)]
pub struct Resource {
    pub(crate) description: protocol::Resource,
    pub(crate) handler: Arc<ReadHandler>,
    pub(crate) caching: Option<Caching>,
    /// How often it changes by itself.
    pub(crate) period: Option<Duration>,
}

impl Resource {
    /// The resource at `uri`.
    pub fn new<O, F, R>(uri: impl Into<String>, name: impl Into<String>, handler: F) -> Self
    where
        O: ResourceOutput,
        F: Fn(Context, Reading) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        Self {
            description: protocol::Resource::new(uri, name),
            handler: boxed(handler),
            caching: None,
            period: None,
        }
    }

    /// Tells modern clients how long what they read stays fresh, and who may share it.
    #[must_use]
    pub fn caching(mut self, caching: Caching) -> Self {
        self.caching = Some(caching);
        self
    }

    /// Says that it changes by itself each `period`: for as long as somebody watches it, they are
    /// told so at that pace. Takes a server with [`subscriptions`].
    ///
    /// [`subscriptions`]: crate::ServerBuilder::subscriptions
    #[must_use]
    pub fn changes_every(mut self, period: Duration) -> Self {
        self.period = Some(period.max(SHORTEST_PERIOD));
        self
    }

    /// Changes anything else of the description. The URI stays.
    #[must_use]
    pub fn describe(mut self, change: impl FnOnce(&mut protocol::Resource)) -> Self {
        let uri = self.description.uri.clone();
        change(&mut self.description);
        self.description.uri = uri;
        self
    }
}

/// A family of resources under a URI template, `{name}` for a segment, `{+name}` for any text.
#[derive(Clone)]
pub struct Template {
    pub(crate) description: protocol::ResourceTemplate,
    pub(crate) handler: Arc<ReadHandler>,
    pub(crate) caching: Option<Caching>,
    pub(crate) completers: Completers,
}

impl Template {
    /// The family of `uri_template`.
    pub fn new<O, F, R>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        handler: F,
    ) -> Self
    where
        O: ResourceOutput,
        F: Fn(Context, Reading) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        Self {
            description: protocol::ResourceTemplate {
                uri_template: uri_template.into(),
                name: name.into(),
                title: None,
                description: None,
                mime_type: None,
                annotations: None,
                icons: None,
                meta: None,
                extra: Default::default(),
            },
            handler: boxed(handler),
            caching: None,
            completers: Completers::default(),
        }
    }

    /// Tells modern clients how long what they read stays fresh, and who may share it.
    #[must_use]
    pub fn caching(mut self, caching: Caching) -> Self {
        self.caching = Some(caching);
        self
    }

    /// Completes the variable `name`.
    #[must_use]
    pub fn complete(mut self, name: impl Into<String>, completer: impl Completer) -> Self {
        self.completers.add(name.into(), completer);
        self
    }

    /// Changes anything else of the description. The template stays.
    #[must_use]
    pub fn describe(mut self, change: impl FnOnce(&mut protocol::ResourceTemplate)) -> Self {
        let template = self.description.uri_template.clone();
        change(&mut self.description);
        self.description.uri_template = template;
        self
    }

    pub(crate) fn prepare(self) -> Result<PreparedTemplate, BuildError> {
        let bad = |reason: String| BuildError::BadTemplate {
            template: self.description.uri_template.clone(),
            reason,
        };
        let pattern = UriTemplate::parse(&self.description.uri_template).map_err(bad)?;
        if let Some(name) = self
            .completers
            .names()
            .find(|name| !pattern.names().any(|it| it == *name))
        {
            return Err(bad(format!("it has no variable \"{name}\" to complete")));
        }
        Ok(PreparedTemplate {
            template: self,
            pattern,
        })
    }
}

/// A template whose pattern is parsed.
pub(crate) struct PreparedTemplate {
    pub(crate) template: Template,
    pub(crate) pattern: UriTemplate,
}
