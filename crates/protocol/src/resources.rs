//! Resources.
use crate::record::record;
use crate::{Annotations, Json};
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
