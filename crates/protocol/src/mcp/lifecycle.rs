//! How a connection begins, in both eras, and how it is probed.

use crate::mcp::method::{methods, notifications};
use crate::wire::record::record;
use crate::{ClientCapabilities, EmptyResult, Json, NoParams, Revision, ServerCapabilities};

methods! {
    /// Opens a legacy session.
    Initialize = "initialize" (InitializeParams) -> InitializeResult;
    /// Asks whether the peer is alive (up to 2025-11-25).
    Ping = "ping" (NoParams) -> EmptyResult;
    /// Asks a modern server what it is.
    Discover = "server/discover" (NoParams) -> DiscoverResult;
}

notifications! {
    /// The legacy session is open.
    Initialized = "notifications/initialized" (NoParams);
}

record! {
    /// A program that speaks the protocol: its name for logs and people, never for decisions
    /// (X-MOD-08).
    pub struct Implementation {
        /// Its name.
        name: String = required "name",
        /// Its version.
        version: String = always "version",
        /// A name for people (from 2025-06-18).
        title: Option<String> = optional "title",
        /// What it is (from 2025-11-25).
        description: Option<String> = optional "description",
        /// Its home page (from 2025-11-25).
        website_url: Option<String> = optional "websiteUrl",
        /// Pictures for it (from 2025-11-25).
        icons: Option<Json> = optional "icons",
    }
}

impl Implementation {
    /// A program with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            description: None,
            website_url: None,
            icons: None,
            extra: Default::default(),
        }
    }

    /// The same with the fields that `revision` knows.
    pub fn for_revision(&self, revision: Revision) -> Self {
        let features = revision.features();
        let mut implementation = self.clone();
        if !features.identity_title {
            implementation.title = None;
        }
        if !features.identity_details {
            implementation.description = None;
            implementation.website_url = None;
            implementation.icons = None;
        }
        implementation
    }
}

record! {
    /// The params of `initialize` (C-INIT-01).
    pub struct InitializeParams {
        /// The revision the client wants.
        protocol_version: String = required "protocolVersion",
        /// What the client can do.
        capabilities: ClientCapabilities = always "capabilities",
        /// Who the client is.
        client_info: Implementation = required "clientInfo",
    }
}

impl InitializeParams {
    /// Asks for `revision`, with capabilities and identity in its shape.
    pub fn new(
        revision: Revision,
        capabilities: &ClientCapabilities,
        client_info: &Implementation,
    ) -> Self {
        Self {
            protocol_version: revision.to_string(),
            capabilities: capabilities.for_revision(revision),
            client_info: client_info.for_revision(revision),
            extra: Default::default(),
        }
    }
}

record! {
    /// What a server answers to `initialize` (S-INIT-04).
    #[derive(Default)]
    pub struct InitializeResult {
        /// The revision the session has.
        protocol_version: String = required "protocolVersion",
        /// What the server can do.
        capabilities: ServerCapabilities = always "capabilities",
        /// Who the server is; required by the protocol, but no reason to leave.
        server_info: Option<Implementation> = optional "serverInfo",
        /// How a model should use the server.
        instructions: Option<String> = optional "instructions",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// What a modern server says about itself (S-MOD-12).
    #[derive(Default)]
    pub struct DiscoverResult {
        /// The revisions it speaks.
        supported_versions: Vec<String> = required "supportedVersions",
        /// What it can do.
        capabilities: ServerCapabilities = always "capabilities",
        /// How a model should use it.
        instructions: Option<String> = optional "instructions",
        /// How long the answer is fresh.
        ttl_ms: Option<i64> = optional "ttlMs",
        /// Who may share it: `public` or `private`.
        cache_scope: Option<String> = optional "cacheScope",
        /// Metadata, with the identity of the server.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// The data of an error about the revision: `-32022` (S-MOD-09), or `-32602` as an answer to
    /// `initialize` (S-INIT-19).
    pub struct UnsupportedVersionData {
        /// The revisions the server speaks.
        supported: Vec<String> = required "supported",
        /// The revision that was asked for.
        requested: Option<String> = optional "requested",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_revision_gets_only_the_identity_it_knows() {
        let client = Implementation {
            title: Some("Client".to_owned()),
            description: Some("A client".to_owned()),
            website_url: Some("https://example.org".to_owned()),
            icons: Some(json!([]).into()),
            ..Implementation::new("client", "1.0")
        };
        let keys = |revision: Revision| {
            let written = serde_json::to_string(&client.for_revision(revision)).unwrap();
            let written: Value = serde_json::from_str(&written).unwrap();
            written.as_object().unwrap().keys().cloned().collect()
        };
        let first: Vec<String> = keys(Revision::V2024_11_05);
        assert_eq!(first, ["name", "version"]);
        assert_eq!(keys(Revision::V2025_03_26), first);
        assert_eq!(keys(Revision::V2025_06_18), ["name", "title", "version"]);
        let all = [
            "description",
            "icons",
            "name",
            "title",
            "version",
            "websiteUrl",
        ];
        assert_eq!(keys(Revision::V2025_11_25), all);
        assert_eq!(keys(Revision::V2026_07_28), all);
    }

    #[test]
    fn fault_54_a_sparse_handshake_is_enough() {
        let result: InitializeResult =
            serde_json::from_str(r#"{"protocolVersion":"2024-11-05","serverInfo":{"id":1}}"#)
                .unwrap();
        assert_eq!(result.capabilities, ServerCapabilities::default());
        assert_eq!(result.server_info, None);
        assert!(serde_json::from_str::<InitializeResult>(r#"{"capabilities":{}}"#).is_err());
    }

    #[test]
    fn s_init_19_a_refused_version_names_the_others() {
        let refusal: UnsupportedVersionData =
            serde_json::from_str(r#"{"supported":["2024-11-05"],"requested":"1.0.0"}"#).unwrap();
        assert_eq!(refusal.supported, ["2024-11-05"]);
        assert!(serde_json::from_str::<UnsupportedVersionData>(r#"{"uri":"a:b"}"#).is_err());
    }
}
