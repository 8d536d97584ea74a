//! A connection in use: the verbs of MCP, the same in both eras.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_process::ExitReason;
use attache_protocol::frame::{MetaFields, Params};
use attache_protocol::{
    CallTool, Complete, CompleteParams, Completion, CompletionReference, Entries, Era, GetPrompt,
    GetPromptParams, Implementation, ListPrompts, ListResources, ListTemplates, ListTools,
    LogLevel, LspExit, LspShutdown, Method, NoParams, PageParams, Paged, Payload, Ping, Prompt,
    ReadResource, ReadResourceParams, Resource, ResourceTemplate, Revision, Root, RootsChanged,
    ServerCapabilities, SetLevel, SetLevelParams, Tool, ToolPage, meta, shortened,
};
use serde::Serialize;

use crate::connection::{Link, Statistics};
use crate::error::{CloseReason, Error};
use crate::events::Events;
use crate::frames::Frames;
use crate::keep_alive::KeepAlive;
use crate::negotiate::Agreement;
use crate::request::{Options, Request, ResponseFuture, Rounds, unwritable};
use crate::settings::{MissingInputSchema, Settings, ShutdownForm};
use crate::stderr::Stderr;
use crate::watch::WatchCounts;

/// A connection to a server. Cheap to clone; the server is stopped when the last clone is dropped.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    link: Arc<Link>,
    keep_alive: KeepAlive,
    agreement: Agreement,
    settings: Settings,
    watches: WatchCounts,
    /// It was told that tools of this server have no input schema.
    told_of_schemas: AtomicBool,
}

/// Arguments of a tool call as they are written.
#[derive(Serialize)]
struct ToolCall<'a, A> {
    name: &'a str,
    arguments: A,
}

impl Client {
    pub(crate) fn new(
        link: Arc<Link>,
        keep_alive: KeepAlive,
        agreement: Agreement,
        settings: &Settings,
    ) -> Self {
        let client = Self {
            inner: Arc::new(Inner {
                link,
                keep_alive,
                agreement,
                settings: settings.clone(),
                watches: WatchCounts::default(),
                told_of_schemas: AtomicBool::new(false),
            }),
        };
        if let Some(level) = settings.log_level
            && client.capabilities().logging.is_some()
            && client.revision().era() == Era::Legacy
        {
            // No caller waits for it, and a server that refuses it is heard here as it is wanted.
            let params = SetLevelParams::new(level);
            let link = client.link();
            link.request_unawaited(SetLevel::NAME, &params, &MetaFields::default());
        }
        client
    }

    /// The revision both sides speak.
    pub fn revision(&self) -> Revision {
        self.inner.agreement.revision
    }

    /// What the server says it can do.
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.inner.agreement.capabilities
    }

    /// Whether the server declares what `method` is about: tools, prompts or resources.
    pub fn offers(&self, method: &str) -> bool {
        let declared = self.capabilities();
        match method {
            ListTools::NAME | CallTool::NAME => declared.tools.is_some(),
            ListPrompts::NAME | GetPrompt::NAME => declared.prompts.is_some(),
            ListResources::NAME | ListTemplates::NAME | ReadResource::NAME => {
                declared.resources.is_some()
            }
            _ => true,
        }
    }

    /// How the server names itself; a hint, never authority (S19).
    pub fn server(&self) -> Option<&Implementation> {
        self.inner.agreement.server.as_ref()
    }

    /// What the server says about how to use it.
    pub fn instructions(&self) -> Option<&str> {
        self.inner.agreement.instructions.as_deref()
    }

    /// All tools, over all pages; none if the server does not declare that it has tools, and so for
    /// the other lists. [`offers`](Self::offers) tells such an empty list from another.
    pub async fn list_tools(&self) -> Result<Entries<Tool>, Error> {
        self.list_tools_noting(|_| ()).await
    }

    /// All tools, over all pages, each of which is shown to `note`.
    pub async fn list_tools_noting(
        &self,
        note: impl FnMut(&ToolPage) + Send,
    ) -> Result<Entries<Tool>, Error> {
        let mut tools = self.list_noting::<ListTools>(note).await?;
        match self.inner.settings.quirks.missing_input_schema {
            MissingInputSchema::Reject => tools.reject(|tool| match tool.input_schema {
                Some(_) => None,
                None => Some("the tool has no inputSchema".to_owned()),
            }),
            MissingInputSchema::Repair => self.tell_of_missing_schemas(&tools),
        }
        Ok(tools)
    }

    /// Says once per connection which tools are taken to accept any object.
    fn tell_of_missing_schemas(&self, tools: &[Tool]) {
        let without = tools.iter().filter(|tool| tool.input_schema.is_none());
        let names: Vec<&str> = without.map(|tool| tool.name.as_str()).collect();
        if names.is_empty() || self.inner.told_of_schemas.swap(true, Ordering::Relaxed) {
            return;
        }
        let names = shortened(names.join(", "));
        self.link().violation(format!(
            "no inputSchema, so any object is taken for arguments: {names}"
        ));
    }

    /// All resources, over all pages.
    pub async fn list_resources(&self) -> Result<Entries<Resource>, Error> {
        self.list::<ListResources>().await
    }

    /// All resource templates, over all pages.
    pub async fn list_templates(&self) -> Result<Entries<ResourceTemplate>, Error> {
        self.list::<ListTemplates>().await
    }

    /// All prompts, over all pages.
    pub async fn list_prompts(&self) -> Result<Entries<Prompt>, Error> {
        self.list::<ListPrompts>().await
    }

    /// All entries of any list. A cursor that repeats, or too many pages, is an error (fault 51).
    pub async fn list<M>(&self) -> Result<Entries<M::Item>, Error>
    where
        M: Paged + 'static,
        M::Result: 'static,
    {
        self.list_noting::<M>(|_| ()).await
    }

    /// All entries of any list, like [`list`](Self::list). Each page is shown to `note` before it
    /// is taken apart, for what it says besides its entries, such as how long it is fresh.
    pub async fn list_noting<M>(
        &self,
        mut note: impl FnMut(&M::Result) + Send,
    ) -> Result<Entries<M::Item>, Error>
    where
        M: Paged + 'static,
        M::Result: 'static,
    {
        if !self.offers(M::NAME) {
            return Ok(Entries::default());
        }
        let mirrors = self.link().mirrors_in_headers();
        let mut entries = Entries::default();
        let mut cursor = None;
        let mut seen = BTreeSet::new();
        for _ in 0..self.link().limits.pages {
            let page = self.page::<M>(cursor).await?;
            note(&page);
            let (mut page, next) = M::into_page(page);
            if mirrors {
                page.reject(M::unusable_over_http);
            }
            entries.append(page);
            match next {
                None => return Ok(entries),
                Some(next) if seen.insert(next.clone()) => cursor = Some(next),
                Some(next) => {
                    return Err(Error::Protocol {
                        method: M::NAME.to_owned(),
                        problem: format!("the cursor {next:?} came twice; the list has no end"),
                    });
                }
            }
        }
        Err(Error::Protocol {
            method: M::NAME.to_owned(),
            problem: format!("the list has more than {} pages", self.link().limits.pages),
        })
    }

    /// One page of a list.
    pub fn page<M: Paged>(&self, cursor: Option<String>) -> Request<M> {
        let params = PageParams {
            cursor,
            ..PageParams::default()
        };
        Request::new(self, &params)
    }

    /// Calls a tool.
    pub fn call(&self, tool: &str, arguments: impl Serialize) -> Request<CallTool> {
        Request::new(
            self,
            &ToolCall {
                name: tool,
                arguments,
            },
        )
    }

    /// Reads a resource.
    pub fn read(&self, uri: impl Into<String>) -> Request<ReadResource> {
        Request::new(self, &ReadResourceParams::new(uri))
    }

    /// Gets a prompt, filled in.
    pub fn prompt<K, V>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Request<GetPrompt>
    where
        K: Into<String>,
        V: Into<String>,
    {
        let arguments: BTreeMap<String, String> = arguments
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        Request::new(self, &GetPromptParams::new(name, arguments))
    }

    /// Asks how an argument could go on. `chosen` are arguments already filled in; servers before
    /// 2025-06-18 are not told of them (C-CMP-03).
    pub async fn complete(
        &self,
        reference: CompletionReference,
        argument: &str,
        value: &str,
        chosen: BTreeMap<String, String>,
    ) -> Result<Completion, Error> {
        let features = self.revision().features();
        if features.completion_capability && self.capabilities().completions.is_none() {
            return Err(Error::Unsupported {
                method: Complete::NAME.to_owned(),
                reason: "the server does not offer completion".to_owned(),
            });
        }
        let mut params = CompleteParams::new(reference, argument, value);
        if !chosen.is_empty() {
            params = params.with_chosen(chosen);
        }
        let params = params.for_revision(self.revision());
        let result = Request::<Complete>::new(self, &params).await?;
        Ok(result.completion)
    }

    /// Sets the least serious log messages to send: for the session in the legacy era, with every
    /// later request in the modern one.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), Error> {
        if self.capabilities().logging.is_none() {
            return Err(Error::Unsupported {
                method: SetLevel::NAME.to_owned(),
                reason: "the server does not offer logging".to_owned(),
            });
        }
        match self.revision().era() {
            Era::Legacy => {
                Request::<SetLevel>::new(self, &SetLevelParams::new(level)).await?;
            }
            // It is told with every request.
            Era::Modern => {}
        }
        self.link().want_log_level(level);
        Ok(())
    }

    /// Asks for a sign of life. Modern servers have no such method (X-PING-03).
    pub async fn ping(&self) -> Result<(), Error> {
        match self.revision().era() {
            Era::Legacy => Request::<Ping>::new(self, &NoParams::default())
                .await
                .map(drop),
            Era::Modern => Err(Error::Unsupported {
                method: Ping::NAME.to_owned(),
                reason: format!("revision {} has no ping", self.revision()),
            }),
        }
    }

    /// Replaces the roots and tells a legacy server about it (C-ROOT-03).
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        let handlers = &self.link().server_requests.handlers;
        if !handlers.replace_roots(roots.into_iter().collect()) {
            return Err(Error::Unsupported {
                method: "roots/list".to_owned(),
                reason: "no roots were declared when the connection began".to_owned(),
            });
        }
        if self.revision().era() == Era::Legacy {
            self.link().notify::<RootsChanged>(&NoParams::default());
        }
        Ok(())
    }

    /// Sends a typed request of any method.
    pub fn request<M: Method>(&self, params: &M::Params) -> Request<M> {
        Request::of_caller(self, params)
    }

    /// Sends a request of a method that has no type here.
    pub async fn request_raw(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<Payload, Error> {
        let mut options = Options::default();
        let params = Params::write(&params).map_err(|error| unwritable(method, error))?;
        let params = options.take_meta(method, params)?;
        let method = Cow::Owned(method.to_owned());
        ResponseFuture::raw(Rounds::new(self.clone(), method, Ok(params), options)).await
    }

    /// What the server says without being asked, from now on.
    pub fn events(&self) -> Events {
        self.link().events.subscribe()
    }

    /// What passes on this connection from now on, message by message, as it is. See
    /// [`Server::frames`](crate::Server::frames) for the first ones.
    pub fn frames(&self) -> Frames {
        self.link().frames.follow()
    }

    /// What the server writes to stderr.
    pub fn stderr(&self) -> &Stderr {
        self.inner.keep_alive.stderr()
    }

    /// The process id of the server, if this side started it.
    pub fn process_id(&self) -> Option<u32> {
        self.inner.keep_alive.process_id()
    }

    /// The first lines on stdout that were no messages, each shortened, and three at the most. The
    /// usual ones come before the handshake is done, too early for [`events`](Self::events).
    pub fn first_stray_lines(&self) -> Vec<String> {
        self.link().first_strays()
    }

    /// Counts so far.
    pub fn statistics(&self) -> Statistics {
        self.link().statistics()
    }

    /// Waits until the connection has ended, and tells why.
    pub async fn closed(&self) -> CloseReason {
        self.link().ended().await
    }

    /// Ends the connection in order and waits until the server, with everything it started, is
    /// gone. Calls still open fail. Returns how the server left, if this side started it.
    pub async fn close(&self) -> Option<ExitReason> {
        if self.inner.settings.quirks.shutdown == ShutdownForm::Lsp {
            // Any answer, or none, will do (seeds row 2).
            let _ = Request::<LspShutdown>::new(self, &NoParams::default())
                .timeout(self.link().timeouts.close_grace)
                .await;
            self.link().notify::<LspExit>(&NoParams::default());
        }
        self.inner.keep_alive.close().await
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.inner.link
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    pub(crate) fn watch_counts(&self) -> &WatchCounts {
        &self.inner.watches
    }

    /// The metadata of one request besides what every request carries.
    pub(crate) fn request_meta(&self, own: &MetaFields) -> MetaFields {
        let mut fields = own.clone();
        if let Some(level) = self.link().log_level()
            && self.revision().era() == Era::Modern
            && self.capabilities().logging.is_some()
        {
            // A level is a plain string, so writing it cannot fail.
            let _ = fields.add(meta::LOG_LEVEL, &level);
        }
        fields
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Client")
            .field("server", &self.server().map(|server| &server.name))
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}
