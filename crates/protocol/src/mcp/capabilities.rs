//! What each side declares it can do.
//!
//! A capability is there when its key is there; what is inside it does not matter for that
//! (seeds row 45).

use serde_json::Value;

use crate::wire::record::record;
use crate::{Era, Json, Revision};

record! {
    /// What a client can do.
    #[derive(Default)]
    pub struct ClientCapabilities {
        /// It can name the folders a server may work in.
        roots: Option<RootsCapability> = optional "roots",
        /// It can ask a model.
        sampling: Option<SamplingCapability> = optional "sampling",
        /// It can ask its user (from 2025-06-18).
        elicitation: Option<ElicitationCapability> = optional "elicitation",
        /// It can run requests of the server as tasks (2025-11-25).
        tasks: Option<Json> = optional "tasks",
        /// Extensions by name, with their settings (from 2026-07-28).
        extensions: Option<Json> = optional "extensions",
        /// Anything outside the protocol.
        experimental: Option<Json> = optional "experimental",
    }
}

impl ClientCapabilities {
    /// The part of these capabilities that `revision` knows, in its shape.
    ///
    /// Fields under `extra` are the embedder's own and stay.
    pub fn for_revision(&self, revision: Revision) -> Self {
        let features = revision.features();
        let mut capabilities = self.clone();
        if features.era == Era::Modern
            && let Some(roots) = &mut capabilities.roots
        {
            roots.list_changed = None;
        }
        if !features.sampling_tools
            && let Some(sampling) = &mut capabilities.sampling
        {
            sampling.tools = None;
            sampling.context = None;
        }
        if !features.elicitation_modes {
            // Without modes, `{}` promises forms.
            capabilities.elicitation = capabilities
                .elicitation
                .filter(|elicitation| features.elicitation && elicitation.has_form())
                .map(|elicitation| ElicitationCapability {
                    form: None,
                    url: None,
                    ..elicitation
                });
        }
        if !features.experimental_tasks {
            capabilities.tasks = None;
        }
        if features.era == Era::Legacy {
            capabilities.extensions = None;
        }
        capabilities
    }
}

record! {
    /// The data of the error `-32021`: what the client would have to declare (S-MOD-06).
    #[derive(Default)]
    pub struct MissingCapabilityData {
        /// The capabilities that are missing.
        required_capabilities: ClientCapabilities = required "requiredCapabilities",
    }
}

record! {
    /// How a client offers roots.
    #[derive(Default)]
    pub struct RootsCapability {
        /// It tells when they change (up to 2025-11-25).
        list_changed: Option<bool> = optional "listChanged",
    }
}

record! {
    /// How a client offers a model.
    #[derive(Default)]
    pub struct SamplingCapability {
        /// The model may use tools (from 2025-11-25).
        tools: Option<Json> = optional "tools",
        /// Context of servers can be included (from 2025-11-25).
        context: Option<Json> = optional "context",
    }
}

record! {
    /// How a client asks its user.
    #[derive(Default)]
    pub struct ElicitationCapability {
        /// By a form (from 2025-11-25).
        form: Option<Json> = optional "form",
        /// By sending the user to a page (from 2025-11-25).
        url: Option<Json> = optional "url",
    }
}

impl ElicitationCapability {
    /// Whether forms can be asked: declared, or no mode declared at all (C-ELIC-01).
    pub fn has_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }
}

record! {
    /// What a server can do.
    #[derive(Default)]
    pub struct ServerCapabilities {
        /// It has tools.
        tools: Option<ListCapability> = optional "tools",
        /// It has prompts.
        prompts: Option<ListCapability> = optional "prompts",
        /// It has resources.
        resources: Option<ResourcesCapability> = optional "resources",
        /// It sends log messages.
        logging: Option<Json> = optional "logging",
        /// It completes arguments (declared from 2025-03-26).
        completions: Option<Json> = optional "completions",
        /// It runs requests as tasks (2025-11-25).
        tasks: Option<TasksCapability> = optional "tasks",
        /// Extensions by name, with their settings (from 2026-07-28).
        extensions: Option<Json> = optional "extensions",
        /// Anything outside the protocol.
        experimental: Option<Json> = optional "experimental",
    }
}

record! {
    /// A list that a server has.
    #[derive(Default)]
    pub struct ListCapability {
        /// It tells when the list changes.
        list_changed: Option<bool> = optional "listChanged",
    }
}

record! {
    /// How a server offers resources.
    #[derive(Default)]
    pub struct ResourcesCapability {
        /// It tells when a single resource changes.
        subscribe: Option<bool> = optional "subscribe",
        /// It tells when the list changes.
        list_changed: Option<bool> = optional "listChanged",
    }
}

record! {
    /// How a server runs tasks (2025-11-25, X-TSKX-01).
    #[derive(Default)]
    pub struct TasksCapability {
        /// Tasks can be listed.
        list: Option<Json> = optional "list",
        /// Tasks can be cancelled.
        cancel: Option<Json> = optional "cancel",
        /// Which requests can be tasks.
        requests: Option<Json> = optional "requests",
    }
}

impl TasksCapability {
    /// Whether `tools/call` can be a task (C-TSKX-02).
    pub fn tool_calls(&self) -> bool {
        let requests = self.requests.as_ref().and_then(|raw| raw.to_value().ok());
        requests
            .as_ref()
            .and_then(|requests| requests.pointer("/tools/call"))
            .is_some_and(|call| *call != Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A client that can do everything.
    fn everything() -> ClientCapabilities {
        let all = json!({
            "roots": {"listChanged": true},
            "sampling": {"tools": {}, "context": {}},
            "elicitation": {"form": {}, "url": {}},
            "tasks": {"list": {}, "cancel": {}},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
            "experimental": {"x": {}},
            "com.example/own": {},
        });
        Json::from(all).decode().unwrap()
    }

    #[track_caller]
    fn check(capabilities: &ClientCapabilities, revision: Revision, expected: Value) {
        let written = Json::from_serialize(&capabilities.for_revision(revision)).unwrap();
        assert_eq!(written.to_value().unwrap(), expected, "{revision}");
    }

    #[test]
    fn a_revision_gets_only_the_capabilities_it_knows() {
        let first = json!({
            "roots": {"listChanged": true},
            "sampling": {},
            "experimental": {"x": {}},
            "com.example/own": {},
        });
        check(&everything(), Revision::V2024_11_05, first.clone());
        check(&everything(), Revision::V2025_03_26, first);
        check(
            &everything(),
            Revision::V2025_06_18,
            json!({
                "roots": {"listChanged": true},
                "sampling": {},
                "elicitation": {},
                "experimental": {"x": {}},
                "com.example/own": {},
            }),
        );
        check(
            &everything(),
            Revision::V2025_11_25,
            json!({
                "roots": {"listChanged": true},
                "sampling": {"tools": {}, "context": {}},
                "elicitation": {"form": {}, "url": {}},
                "tasks": {"list": {}, "cancel": {}},
                "experimental": {"x": {}},
                "com.example/own": {},
            }),
        );
        check(
            &everything(),
            Revision::V2026_07_28,
            json!({
                "roots": {},
                "sampling": {"tools": {}, "context": {}},
                "elicitation": {"form": {}, "url": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
                "experimental": {"x": {}},
                "com.example/own": {},
            }),
        );
    }

    #[test]
    fn c_elic_01_a_client_without_forms_does_not_promise_them_to_a_revision_without_modes() {
        let only_urls = ClientCapabilities {
            elicitation: Some(ElicitationCapability {
                url: Some(json!({}).into()),
                ..Default::default()
            }),
            ..Default::default()
        };
        check(&only_urls, Revision::V2025_06_18, json!({}));
        check(
            &only_urls,
            Revision::V2025_11_25,
            json!({"elicitation": {"url": {}}}),
        );
    }

    #[test]
    fn presence_counts_and_not_what_is_inside() {
        let capabilities: ServerCapabilities = serde_json::from_str(
            r#"{"tools":{},"logging":{},"resources":{"subscribe":false},"prompts":null}"#,
        )
        .unwrap();
        assert!(capabilities.tools.is_some() && capabilities.logging.is_some());
        assert!(capabilities.resources.is_some() && capabilities.prompts.is_none());
        let promises_changes = |tools: &str| {
            let tools: ListCapability = serde_json::from_str(tools).unwrap();
            tools.list_changed
        };
        assert_eq!(promises_changes("{}"), None);
        assert_eq!(promises_changes(r#"{"listChanged":"yes"}"#), None);
        assert_eq!(promises_changes(r#"{"listChanged":true}"#), Some(true));
    }

    #[test]
    fn c_tskx_02_tool_calls_are_tasks_only_where_declared() {
        for (tasks, expected) in [
            ("{}", false),
            (r#"{"requests":{"tools":{}}}"#, false),
            (r#"{"requests":{"tools":{"call":null}}}"#, false),
            (r#"{"requests":"all"}"#, false),
            (r#"{"list":{},"requests":{"tools":{"call":{}}}}"#, true),
        ] {
            let tasks: TasksCapability = serde_json::from_str(tasks).unwrap();
            assert_eq!(tasks.tool_calls(), expected, "{tasks:?}");
        }
    }
}
