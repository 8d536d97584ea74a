//! Resources: listing, reading and watching them.

use crate::mcp::method::{methods, notifications, paged};
use crate::wire::record::record;
use crate::{Annotations, EmptyResult, Entries, Json, NoParams, PageParams};

methods! {
    /// Lists the resources of a server.
    ListResources = "resources/list" (PageParams) -> ResourcePage;
    /// Lists the templates of a server.
    ListTemplates = "resources/templates/list" (PageParams) -> TemplatePage;
    /// Reads a resource.
    ReadResource = "resources/read" (ReadResourceParams) -> ReadResourceResult;
    /// Asks to be told when a resource changes (up to 2025-11-25).
    Subscribe = "resources/subscribe" (SubscribeParams) -> EmptyResult;
    /// Asks not to be told any more (up to 2025-11-25).
    Unsubscribe = "resources/unsubscribe" (SubscribeParams) -> EmptyResult;
}

paged! {
    ListResources.resources: Resource;
    ListTemplates.resource_templates: ResourceTemplate;
}

notifications! {
    /// The list of resources has changed.
    ResourcesChanged = "notifications/resources/list_changed" (NoParams);
    /// A resource has changed.
    ResourceUpdated = "notifications/resources/updated" (ResourceUpdatedParams);
}

record! {
    /// One page of `resources/list`.
    #[derive(Default)]
    pub struct ResourcePage {
        /// The resources of this page.
        resources: Entries<Resource> = required "resources",
        /// Where the next page begins; an empty string is a cursor too (C-PAG-03).
        next_cursor: Option<String> = strict "nextCursor",
        /// How long the page is fresh (2026-07-28).
        ttl_ms: Option<i64> = optional "ttlMs",
        /// Who may share it: `public` or `private` (2026-07-28).
        cache_scope: Option<String> = optional "cacheScope",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// A resource as its server describes it; also the body of a resource link.
    pub struct Resource {
        /// The URI to read it by.
        uri: String = required "uri",
        /// Its name.
        name: String = required "name",
        /// A name for people (from 2025-06-18).
        title: Option<String> = optional "title",
        /// What it is.
        description: Option<String> = optional "description",
        /// Its media type.
        mime_type: Option<String> = optional "mimeType",
        /// Its size in bytes.
        size: Option<u64> = optional "size",
        /// Hints about it.
        annotations: Option<Annotations> = optional "annotations",
        /// Pictures for it (from 2025-11-25).
        icons: Option<Json> = optional "icons",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl Resource {
    /// A resource with a URI and a name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: None,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// One page of `resources/templates/list`.
    #[derive(Default)]
    pub struct TemplatePage {
        /// The templates of this page.
        resource_templates: Entries<ResourceTemplate> = required "resourceTemplates",
        /// Where the next page begins; an empty string is a cursor too (C-PAG-03).
        next_cursor: Option<String> = strict "nextCursor",
        /// How long the page is fresh (2026-07-28).
        ttl_ms: Option<i64> = optional "ttlMs",
        /// Who may share it: `public` or `private` (2026-07-28).
        cache_scope: Option<String> = optional "cacheScope",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// A family of resources, named by an RFC 6570 template (S-TPL-01).
    pub struct ResourceTemplate {
        /// The template of their URIs.
        uri_template: String = required "uriTemplate",
        /// Its name.
        name: String = required "name",
        /// A name for people (from 2025-06-18).
        title: Option<String> = optional "title",
        /// What the resources are.
        description: Option<String> = optional "description",
        /// Their media type, if all have the same.
        mime_type: Option<String> = optional "mimeType",
        /// Hints about them.
        annotations: Option<Annotations> = optional "annotations",
        /// Pictures for them (from 2025-11-25).
        icons: Option<Json> = optional "icons",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// The params of `resources/read`.
    pub struct ReadResourceParams {
        /// Which resource.
        uri: String = required "uri",
    }
}

impl ReadResourceParams {
    /// Reads the resource under `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            extra: Default::default(),
        }
    }
}

record! {
    /// What a read answered.
    #[derive(Default)]
    pub struct ReadResourceResult {
        /// The contents; one read may bring several (C-RES-07).
        contents: Entries<ResourceContents> = required "contents",
        /// How long they are fresh (2026-07-28).
        ttl_ms: Option<i64> = optional "ttlMs",
        /// Who may share them: `public` or `private` (2026-07-28).
        cache_scope: Option<String> = optional "cacheScope",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// The contents of a resource: text or base64 bytes.
    pub struct ResourceContents {
        /// The URI they belong to.
        uri: String = required "uri",
        /// The media type.
        mime_type: Option<String> = optional "mimeType",
        /// The text, if it is text.
        text: Option<String> = optional "text",
        /// The bytes in base64, if it is not.
        blob: Option<String> = optional "blob",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl ResourceContents {
    /// Contents that are text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            text: Some(text.into()),
            blob: None,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// The params of `resources/subscribe` and `resources/unsubscribe`.
    pub struct SubscribeParams {
        /// Which resource.
        uri: String = required "uri",
    }
}

impl SubscribeParams {
    /// Watches the resource under `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            extra: Default::default(),
        }
    }
}

record! {
    /// Which resource has changed.
    pub struct ResourceUpdatedParams {
        /// Its URI; it may lie below the one that is watched.
        uri: String = required "uri",
        /// A name for people that some servers add.
        title: Option<String> = optional "title",
        /// Metadata, with the subscription it belongs to (from 2026-07-28).
        meta: Option<Json> = optional "_meta",
    }
}
