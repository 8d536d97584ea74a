//! What all sessions of one server share.

use std::sync::Arc;

use attache_protocol::{
    Era, ErrorObject, Implementation, Json, ListCapability, ResourcesCapability, Revision,
    ServerCapabilities, TasksCapability, meta,
};
use parking_lot::RwLock;
use serde_json::json;

use crate::caching::Caching;
use crate::catalog::{Catalog, Registry};
use crate::changes::Subscribers;
use crate::failure::{BuildError, not_found};
use crate::resource::{ListHandler, UnknownResource};
use crate::seal::Seal;
use crate::settings::{BeforeInitialized, Identify, Limits};
use crate::tasks::Tasks;
use crate::ticking::Ticking;
use crate::used_states::UsedStates;

/// A server at work.
pub(crate) struct Kernel {
    pub(crate) identity: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) offers: Offers,
    pub(crate) limits: Limits,
    pub(crate) before_initialized: BeforeInitialized,
    pub(crate) caching: Caching,
    pub(crate) seal: Seal,
    pub(crate) subscribers: Subscribers,
    pub(crate) tasks: Tasks,
    pub(crate) ticking: Ticking,
    pub(crate) used_states: UsedStates,
    /// The `_meta` of modern results.
    pub(crate) result_meta: Option<Json>,
    /// Keeps the list of resources, instead of what is registered.
    pub(crate) resource_list: Option<Arc<ListHandler>>,
    /// What is said of a resource that nothing matches, instead of the standard's error.
    pub(crate) unknown_resource: Option<Arc<UnknownResource>>,
    catalog: RwLock<Offered>,
}

/// What a server offers beyond what is registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) logging: bool,
    pub(crate) list_changes: ListChanges,
    pub(crate) subscriptions: bool,
}

/// The lists whose changes are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListChanges {
    /// None: all are static.
    #[default]
    Never,
    /// The list of resources only.
    Resources,
    /// Every list.
    All,
}

impl ListChanges {
    pub(crate) fn of_resources(self) -> bool {
        self != Self::Never
    }

    pub(crate) fn of_all(self) -> bool {
        self == Self::All
    }
}

struct Offered {
    registry: Registry,
    catalog: Arc<Catalog>,
}

impl Kernel {
    pub(crate) fn new(
        identity: Implementation,
        registry: Registry,
        identify: Identify,
        seal: Seal,
    ) -> Result<Self, BuildError> {
        let catalog = Arc::new(Catalog::prepare(&registry)?);
        let newest = identity.for_revision(Revision::V2026_07_28);
        let result_meta = match identify {
            Identify::InEveryResult => Some(Json::from(json!({ meta::SERVER_INFO: newest }))),
            Identify::Never => None,
        };
        Ok(Self {
            identity,
            instructions: None,
            revisions: Revision::NEWEST_FIRST.to_vec(),
            offers: Offers::default(),
            limits: Limits::default(),
            before_initialized: BeforeInitialized::default(),
            caching: Caching::default(),
            seal,
            subscribers: Subscribers::default(),
            tasks: Tasks::default(),
            ticking: Ticking::default(),
            used_states: UsedStates::default(),
            result_meta,
            resource_list: None,
            unknown_resource: None,
            catalog: RwLock::new(Offered { registry, catalog }),
        })
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        let offered = self.catalog.read();
        Arc::clone(&offered.catalog)
    }

    /// Changes what is registered and says which lists are different now.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&mut Registry),
    ) -> Result<ChangedLists, BuildError> {
        let mut offered = self.catalog.write();
        let mut registry = offered.registry.clone();
        change(&mut registry);
        let catalog = Arc::new(Catalog::prepare(&registry)?);
        let before = std::mem::replace(&mut offered.registry, registry);
        offered.catalog = catalog;
        let now = &offered.registry;
        let tools = |it: &Registry| {
            it.tools
                .iter()
                .map(|it| it.description.clone())
                .collect::<Vec<_>>()
        };
        let prompts = |it: &Registry| {
            it.prompts
                .iter()
                .map(|it| it.description.clone())
                .collect::<Vec<_>>()
        };
        let resources = |it: &Registry| {
            it.resources
                .iter()
                .map(|it| it.description.clone())
                .collect::<Vec<_>>()
        };
        let templates = |it: &Registry| {
            it.templates
                .iter()
                .map(|it| it.description.clone())
                .collect::<Vec<_>>()
        };
        Ok(ChangedLists {
            tools: tools(&before) != tools(now),
            prompts: prompts(&before) != prompts(now),
            resources: resources(&before) != resources(now) || templates(&before) != templates(now),
        })
    }

    /// The error for a resource that nothing matches, in its legacy form.
    pub(crate) fn unknown_resource(&self, uri: &str) -> ErrorObject {
        match &self.unknown_resource {
            Some(error) => error(uri),
            None => not_found(uri),
        }
    }

    pub(crate) fn offers_logging(&self) -> bool {
        self.offers.logging
    }

    /// The legacy revisions this server speaks, newest first.
    pub(crate) fn supported(&self) -> Vec<String> {
        self.revisions.iter().map(Revision::to_string).collect()
    }

    /// Whether some revision of that era is spoken.
    pub(crate) fn speaks(&self, era: Era) -> bool {
        self.revisions.iter().any(|it| it.era() == era)
    }

    /// What there is to ask for at present.
    pub(crate) fn areas(&self) -> Areas {
        let catalog = self.catalog();
        let changes = self.offers.list_changes;
        let may_grow = changes.of_all();
        let has_resources = !catalog.resources.is_empty()
            || !catalog.templates.is_empty()
            || self.resource_list.is_some();
        Areas {
            tools: !catalog.tools.is_empty() || may_grow,
            prompts: !catalog.prompts.is_empty() || may_grow,
            resources: has_resources || changes.of_resources(),
            completions: catalog.completes,
            tasks: catalog.has_task_tools,
            subscriptions: changes.of_resources()
                || self.offers.subscriptions
                || catalog.has_task_tools,
        }
    }

    /// What the server can do, in the shape of `revision`.
    pub(crate) fn capabilities(&self, revision: Revision) -> ServerCapabilities {
        let features = revision.features();
        let areas = self.areas();
        let empty = || Json::from(json!({}));
        let changes = self.offers.list_changes;
        let list_changed = changes.of_all().then_some(true);
        let list = || ListCapability {
            list_changed,
            ..ListCapability::default()
        };
        let mut capabilities = ServerCapabilities {
            tools: areas.tools.then(list),
            prompts: areas.prompts.then(list),
            resources: areas.resources.then(|| ResourcesCapability {
                subscribe: self.offers.subscriptions.then_some(true),
                list_changed: changes.of_resources().then_some(true),
                ..ResourcesCapability::default()
            }),
            logging: self.offers.logging.then(empty),
            completions: (features.completion_capability && areas.completions).then(empty),
            ..ServerCapabilities::default()
        };
        if areas.tasks && features.experimental_tasks {
            // Tasks are not listed: without an authorization context that would show one client
            // the tasks of another (X-TSKX-13).
            capabilities.tasks = Some(TasksCapability {
                cancel: Some(empty()),
                requests: Some(Json::from(json!({"tools": {"call": {}}}))),
                ..TasksCapability::default()
            });
        }
        if areas.tasks && features.era == Era::Modern {
            capabilities.extensions = Some(Json::from(json!({ meta::TASKS_EXTENSION: {} })));
        }
        capabilities
    }
}

/// What there is to ask for: a method behind anything else does not exist (S-MOD-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) completions: bool,
    pub(crate) tasks: bool,
    /// There is something to listen to.
    pub(crate) subscriptions: bool,
}

/// Which lists a change made different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangedLists {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}
