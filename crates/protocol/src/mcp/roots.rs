//! Roots: the folders a client lets a server work in.

use crate::mcp::method::{methods, notifications};
use crate::wire::record::record;
use crate::{Entries, Json, NoParams};

methods! {
    /// Asks the client for its roots.
    ListRoots = "roots/list" (NoParams) -> ListRootsResult;
}

notifications! {
    /// The roots have changed (up to 2025-11-25).
    RootsChanged = "notifications/roots/list_changed" (NoParams);
}

record! {
    /// One folder or file.
    pub struct Root {
        /// Its `file://` URI (C-ROOT-02).
        uri: String = required "uri",
        /// Its name.
        name: Option<String> = optional "name",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl Root {
    /// The root at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: None,
            extra: Default::default(),
        }
    }

    /// Gives it a name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

record! {
    /// The roots of a client.
    #[derive(Default)]
    pub struct ListRootsResult {
        /// The roots.
        roots: Entries<Root> = required "roots",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl ListRootsResult {
    /// These roots.
    pub fn new(roots: Vec<Root>) -> Self {
        Self {
            roots: roots.into(),
            ..Self::default()
        }
    }
}
