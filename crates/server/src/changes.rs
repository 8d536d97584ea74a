//! Telling clients that something has changed, in both eras.
//!
//! Owns who listens: legacy sessions, which are told what they subscribed to and every list change,
//! and modern `subscriptions/listen`, which are told what their filter names.

use std::sync::{Arc, Weak};

use attache_protocol::{
    Acknowledged, AcknowledgedParams, ErrorObject, ExtTask, ExtTaskChanged, Json, NoParams,
    Notification, PromptsChanged, RequestId, ResourceUpdated, ResourceUpdatedParams,
    ResourcesChanged, SubscriptionFilter, ToolsChanged, codes, frame, meta,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::catalog::Registry;
use crate::failure::BuildError;
use crate::kernel::Kernel;
use crate::service::{Outlet, Principal, Sent};
use crate::session::Session;

/// A handle to tell clients of changes, from anywhere.
#[derive(Clone)]
pub struct Changes {
    kernel: Arc<Kernel>,
}

impl Changes {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Changes what is registered, and announces the lists that are different now.
    pub fn change(&self, change: impl FnOnce(&mut Registry)) -> Result<(), BuildError> {
        let changed = self.kernel.change(change)?;
        if changed.tools {
            self.tools_changed();
        }
        if changed.prompts {
            self.prompts_changed();
        }
        if changed.resources {
            self.resources_changed();
        }
        Ok(())
    }

    /// The list of tools has changed.
    pub fn tools_changed(&self) {
        if self.kernel.offers.list_changes.of_all() {
            self.list_changed::<ToolsChanged>(|filter| filter.tools_list_changed);
        }
    }

    /// The list of prompts has changed.
    pub fn prompts_changed(&self) {
        if self.kernel.offers.list_changes.of_all() {
            self.list_changed::<PromptsChanged>(|filter| filter.prompts_list_changed);
        }
    }

    /// The list of resources or templates has changed.
    pub fn resources_changed(&self) {
        if self.kernel.offers.list_changes.of_resources() {
            self.list_changed::<ResourcesChanged>(|filter| filter.resources_list_changed);
        }
    }

    /// The resource under `uri` has changed; those who watch it are told.
    pub fn resource_updated(&self, uri: &str) {
        let params = ResourceUpdatedParams {
            uri: uri.to_owned(),
            title: None,
            meta: None,
            extra: Default::default(),
        };
        self.kernel.subscribers.tell::<ResourceUpdated>(
            &params,
            |session| session.watches(uri),
            |filter| contains(filter.resource_subscriptions.as_ref(), uri),
        );
    }

    fn list_changed<N: Notification<Params = NoParams>>(
        &self,
        wanted: impl Fn(&SubscriptionFilter) -> bool,
    ) {
        self.kernel
            .subscribers
            .tell::<N>(&NoParams::default(), |_| true, wanted);
    }
}

fn contains(list: Option<&Vec<String>>, wanted: &str) -> bool {
    list.is_some_and(|list| list.iter().any(|it| it == wanted))
}

/// Who is told.
#[derive(Default)]
pub(crate) struct Subscribers {
    listeners: Mutex<Listeners>,
}

#[derive(Default)]
struct Listeners {
    sessions: Vec<Weak<Session>>,
    listens: Vec<Arc<Listen>>,
}

/// One open `subscriptions/listen`.
pub(crate) struct Listen {
    /// The id of the request, which names the subscription (S-SUBM-04).
    id: RequestId,
    granted: SubscriptionFilter,
    outlet: Arc<dyn Outlet>,
    /// The subscription ends: its client does not keep up.
    pub(crate) ended: Notify,
}

impl Listen {
    /// The resources it watches.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &str> {
        let watched = self.granted.resource_subscriptions.iter().flatten();
        watched.map(String::as_str)
    }

    /// The `_meta` of everything about this subscription.
    fn fields(&self) -> frame::MetaFields {
        let mut fields = frame::MetaFields::default();
        // An id is a string or a number, which can always be written.
        let _ = fields.add(meta::SUBSCRIPTION_ID, &self.id);
        fields
    }

    fn send<N: Notification>(&self, params: &N::Params) {
        let Ok(line) = frame::notification(N::NAME, params, &[&self.fields()]) else {
            return;
        };
        if self.outlet.send(line, Sent::Change).is_err() {
            // A change that is lost would leave the client with old news for ever. At the end of
            // the subscription it fetches everything anew.
            self.ended.notify_one();
        }
    }
}

impl Subscribers {
    /// Tells a legacy session of changes from now on.
    pub(crate) fn add_session(&self, session: &Arc<Session>) {
        let mut listeners = self.lock();
        listeners.sessions.retain(|it| it.strong_count() > 0);
        listeners.sessions.push(Arc::downgrade(session));
    }

    /// Opens a subscription and acknowledges it (S-SUBM-03).
    pub(crate) fn listen(
        &self,
        id: RequestId,
        granted: SubscriptionFilter,
        outlet: Arc<dyn Outlet>,
        limit: usize,
    ) -> Result<Arc<Listen>, ErrorObject> {
        let listen = Arc::new(Listen {
            id,
            granted,
            outlet,
            ended: Notify::new(),
        });
        let mut listeners = self.lock();
        if listeners.listens.len() >= limit {
            return Err(ErrorObject::new(
                codes::INTERNAL_ERROR,
                format!("the limit of {limit} open subscriptions is reached; end one first"),
            ));
        }
        // The acknowledgement is the first message: it goes out before others can find the entry.
        listen.send::<Acknowledged>(&AcknowledgedParams {
            notifications: listen.granted.clone(),
            ..AcknowledgedParams::default()
        });
        listeners.listens.push(Arc::clone(&listen));
        Ok(listen)
    }

    /// Whether some session or subscription watches that resource.
    pub(crate) fn is_watched(&self, uri: &str) -> bool {
        let listeners = self.lock();
        let watches = |session: Arc<Session>| !session.is_closed() && session.watches(uri);
        listeners
            .listens
            .iter()
            .any(|it| it.watched().any(|it| it == uri))
            || listeners
                .sessions
                .iter()
                .filter_map(Weak::upgrade)
                .any(watches)
    }

    pub(crate) fn end(&self, listen: &Arc<Listen>) {
        self.lock().listens.retain(|it| !Arc::ptr_eq(it, listen));
    }

    /// Tells listens that name the task how it stands (S-TSKE-16).
    pub(crate) fn task_changed(&self, task: &ExtTask) {
        let wanted =
            |filter: &SubscriptionFilter| contains(filter.task_ids.as_ref(), &task.task_id);
        self.tell::<ExtTaskChanged>(task, |_| false, wanted);
    }

    fn tell<N: Notification>(
        &self,
        params: &N::Params,
        legacy: impl Fn(&Session) -> bool,
        modern: impl Fn(&SubscriptionFilter) -> bool,
    ) {
        let (sessions, listens) = {
            let listeners = self.lock();
            let sessions: Vec<_> = listeners
                .sessions
                .iter()
                .filter_map(Weak::upgrade)
                .collect();
            let matching = listeners.listens.iter().filter(|it| modern(&it.granted));
            (sessions, matching.cloned().collect::<Vec<_>>())
        };
        for listen in listens {
            listen.send::<N>(params);
        }
        for session in sessions.iter().filter(|it| !it.is_closed() && legacy(it)) {
            if let Ok(line) = frame::notification(N::NAME, params, &[]) {
                // A legacy client that is gone or does not read has no way of being told.
                let _ = session.outlet.send(line, Sent::Change);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock()
    }
}

/// The part of a filter that this server grants to a principal, in the client's order. Tasks of
/// others are left out like tasks that do not exist (S10, S-TSKE-18).
pub(crate) fn granted(
    kernel: &Kernel,
    principal: &Principal,
    wanted: SubscriptionFilter,
    tasks: TaskSubscriptions,
) -> Result<SubscriptionFilter, ErrorObject> {
    let limit = kernel.limits.max_watched;
    let watched = wanted.resource_subscriptions.as_ref().map_or(0, Vec::len);
    if watched.max(wanted.task_ids.as_ref().map_or(0, Vec::len)) > limit {
        return Err(ErrorObject::new(
            codes::INVALID_PARAMS,
            format!("one subscription watches at most {limit} resources or tasks"),
        ));
    }
    let lists = kernel.offers.list_changes;
    let task_ids = match (wanted.task_ids, tasks) {
        (Some(ids), TaskSubscriptions::Refused) if !ids.is_empty() => {
            return Err(crate::tasks::extension_missing());
        }
        (ids, TaskSubscriptions::Granted) => ids.map(|ids| kernel.tasks.own(ids, principal)),
        (_, TaskSubscriptions::Refused) => None,
    };
    Ok(SubscriptionFilter {
        tools_list_changed: wanted.tools_list_changed && lists.of_all(),
        prompts_list_changed: wanted.prompts_list_changed && lists.of_all(),
        resources_list_changed: wanted.resources_list_changed && lists.of_resources(),
        resource_subscriptions: wanted
            .resource_subscriptions
            .filter(|_| kernel.offers.subscriptions),
        task_ids,
        extra: Default::default(),
    })
}

/// Whether a subscription may name tasks: only for clients that declared the extension
/// (S-TSKE-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskSubscriptions {
    Granted,
    Refused,
}

/// The `_meta` of the result that ends a subscription (S-SUBM-07).
pub(crate) fn closing_meta(id: &RequestId) -> Json {
    Json::from(serde_json::json!({ meta::SUBSCRIPTION_ID: id }))
}
