//! Notes over MCP: every note a resource, and the tools to search, sync and save.
//!
//! Owns names, descriptions and texts; what they are about is the vault's and the sync's business.

mod searching;
mod syncing;
mod writing;

use std::sync::Arc;

use attache_server::protocol::{
    Annotations, CallToolResult, Content, ErrorObject, Json, Resource, ResourcePage, codes,
};
use attache_server::{
    BuildError, Context, Failure, PageRequest, Reading, Server, ServerBuilder, Template, Typed,
};
use serde_json::json;

use crate::calendar;
use crate::folder::{ReadError, Stamp};
use crate::identity::{one_line, uri};
use crate::sync::{Syncing, Upstream};
use crate::vault::Vault;

/// The media type of notes.
const MARKDOWN: &str = "text/markdown";
/// The code of seed 000 for a note that is not there.
const SEED_NOT_FOUND: i64 = -32000;

/// What the server calls itself and its notes.
#[derive(Clone, Debug)]
pub struct NotesSettings {
    /// The server's name.
    pub name: String,
    /// The scheme of the notes' URIs.
    pub scheme: String,
    /// What a note is described as.
    pub description: String,
    /// Where notes are synced from.
    pub upstream: Upstream,
    /// What differs from the standard.
    pub dialect: NotesDialect,
    /// Whether notes can be saved.
    pub writing: Writing,
}

/// A way of answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotesDialect {
    /// As the protocol says.
    #[default]
    Standard,
    /// Byte for byte as seed 000 describes its server.
    Seed000,
}

/// Whether there are tools that save notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writing {
    /// There are none.
    #[default]
    Never,
    /// There are.
    Offered,
}

impl Default for NotesSettings {
    fn default() -> Self {
        Self {
            name: "attache-notes".to_owned(),
            scheme: "meditation".to_owned(),
            description: "Meditation note".to_owned(),
            upstream: Upstream::default(),
            dialect: NotesDialect::Standard,
            writing: Writing::Never,
        }
    }
}

/// What handlers share.
struct Notes {
    vault: Vault,
    settings: NotesSettings,
    syncing: Syncing,
}

/// A server of notes that is not built yet.
pub struct NotesServer {
    notes: Arc<Notes>,
    builder: ServerBuilder,
}

impl NotesServer {
    /// The server of a vault.
    pub fn new(vault: Vault, settings: NotesSettings) -> Self {
        let notes = Arc::new(Notes {
            syncing: Syncing::new(vault.clone(), settings.upstream.clone()),
            vault,
            settings,
        });
        let builder = notes.builder();
        Self { notes, builder }
    }

    /// Changes the server before it is built, such as the revisions it speaks.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Self {
        self.builder = change(self.builder);
        self
    }

    /// Builds it; from here on its clients are told of changes.
    ///
    /// # Errors
    /// [`BuildError`] if the scheme makes no URI.
    pub fn build(self) -> Result<Server, BuildError> {
        let server = self.builder.build()?;
        let changes = server.changes();
        let scheme = self.notes.settings.scheme.clone();
        self.notes.vault.on_change(move |news| {
            for slug in &news.slugs {
                changes.resource_updated(&uri(&scheme, slug));
            }
            if news.is_other_list {
                changes.resources_changed();
            }
        });
        Ok(server)
    }
}

impl Notes {
    fn is_seed(&self) -> bool {
        self.settings.dialect == NotesDialect::Seed000
    }

    fn builder(self: &Arc<Self>) -> ServerBuilder {
        let settings = &self.settings;
        let version = match settings.dialect {
            NotesDialect::Standard => env!("CARGO_PKG_VERSION"),
            NotesDialect::Seed000 => "1.0",
        };
        let listing = Arc::clone(self);
        let builder = Server::builder(&settings.name, version)
            .resource_list(move |_, page| Arc::clone(&listing).list(page))
            .template(self.template())
            .tool(searching::tool(self))
            .tool(syncing::tool(self));
        let builder = match settings.writing {
            Writing::Never => builder,
            Writing::Offered => builder
                .tool(writing::save_note(self))
                .tool(writing::save_conversation(self)),
        };
        match settings.dialect {
            NotesDialect::Standard => builder
                .instructions(
                    "Notes in Markdown. search_notes finds them, resources are the notes \
                     themselves, sync_repository fetches new ones.",
                )
                .resource_list_changes()
                .subscriptions(),
            NotesDialect::Seed000 => builder.unknown_resource(seed_not_found),
        }
    }

    fn template(self: &Arc<Self>) -> Template {
        let reading = Arc::clone(self);
        let completing = self.vault.clone();
        let settings = &self.settings;
        let (template, name) = (format!("{}://note/{{slug}}", settings.scheme), "note");
        let template = Template::new(template, name, move |_: Context, it: Reading| {
            let notes = Arc::clone(&reading);
            async move { notes.read(&it).await }
        })
        .describe(|it| {
            it.description = Some(settings.description.clone());
            it.mime_type = Some(MARKDOWN.to_owned());
        });
        if self.is_seed() {
            return template;
        }
        template.complete("slug", move |typed: Typed| {
            let vault = completing.clone();
            async move {
                vault.scanned().await;
                Ok(vault.completions(&typed.value))
            }
        })
    }

    async fn list(self: Arc<Self>, page: PageRequest) -> Result<ResourcePage, Failure> {
        self.vault.scanned().await;
        // Titles are read from many files; other requests do not wait for that.
        let listing = Arc::clone(&self);
        let work = move || listing.vault.page(page.cursor.as_deref(), page.size);
        let page = tokio::task::spawn_blocking(work).await?;
        let resources: Vec<Resource> = page
            .notes
            .into_iter()
            .map(|it| self.resource(&it.slug, it.title, it.stamp))
            .collect();
        Ok(ResourcePage {
            resources: resources.into(),
            next_cursor: page.next,
            ..ResourcePage::default()
        })
    }

    fn resource(&self, slug: &str, title: String, stamp: Stamp) -> Resource {
        let mut resource = Resource::new(uri(&self.settings.scheme, slug), title);
        resource.description = Some(self.settings.description.clone());
        resource.mime_type = Some(MARKDOWN.to_owned());
        if !self.is_seed() {
            resource.size = Some(stamp.size);
            resource.annotations = Some(Annotations {
                last_modified: Some(calendar::moment(stamp.modified)),
                ..Annotations::default()
            });
        }
        resource
    }

    async fn read(
        &self,
        asked: &Reading,
    ) -> Result<attache_server::protocol::ResourceContents, Failure> {
        match self.vault.read(asked.variable("slug")).await {
            Ok(text) => Ok(asked.text(MARKDOWN, text)),
            Err(ReadError::NotFound) if self.is_seed() => {
                Err(Failure::error(seed_not_found(&asked.uri)))
            }
            Err(ReadError::NotFound) => Err(Failure::resource_not_found(&asked.uri)),
            Err(error) => Err(Failure::error(ErrorObject {
                code: codes::INTERNAL_ERROR,
                message: error.to_string(),
                data: Some(Json::from(json!({ "uri": asked.uri }))),
            })),
        }
    }

    /// A tool's answer: text as everybody reads it, and the same as data where it can be sent.
    fn answer(&self, text: String, links: Vec<Resource>, data: Json) -> CallToolResult {
        let mut content = vec![Content::text(text)];
        if self.is_seed() {
            return CallToolResult {
                content,
                ..CallToolResult::default()
            };
        }
        content.extend(links.into_iter().map(Content::ResourceLink));
        CallToolResult {
            content,
            structured_content: Some(data),
            ..CallToolResult::default()
        }
    }
}

fn seed_not_found(uri: &str) -> ErrorObject {
    ErrorObject {
        code: SEED_NOT_FOUND,
        message: "Resource not found".to_owned(),
        data: Some(Json::from(json!({ "uri": one_line(uri) }))),
    }
}
