//! Resources that are watched. The updates themselves come with the events of the host; this keeps
//! the subscriptions up, counts, and tells which have ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use attache::Change;
use attache::host::Watched;
use axum::http::StatusCode;
use axum::response::Response;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::AbortHandle;

use crate::answer::{json, ok};
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::known_server;
use crate::now_ms;

/// How many resources are watched at once.
const MOST: usize = 256;

/// A resource to watch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscribe {
    /// The server, by its name here.
    server_name: String,
    /// The resource.
    uri: String,
}

/// A resource that is watched.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Subscription {
    id: String,
    server: String,
    uri: String,
    since_ms: u64,
    updates: u64,
    /// Why it has ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
}

/// All resources that are watched.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    all: BTreeMap<u64, Kept>,
}

#[derive(Debug)]
struct Kept {
    shown: Subscription,
    task: Option<AbortHandle>,
}

#[derive(Serialize)]
struct All {
    subscriptions: Vec<Subscription>,
}

impl Subscriptions {
    pub(crate) fn all(&self) -> Vec<Subscription> {
        let table = self.table.lock();
        table.all.values().map(|kept| kept.shown.clone()).collect()
    }

    fn of(&self, server: &str, uri: &str) -> Option<Subscription> {
        let table = self.table.lock();
        let same = |kept: &&Kept| {
            let shown = &kept.shown;
            shown.server == server && shown.uri == uri && shown.ended.is_none()
        };
        table.all.values().find(same).map(|kept| kept.shown.clone())
    }

    fn insert(&self, server: &str, uri: &str) -> (u64, Subscription) {
        let mut table = self.table.lock();
        // One that has ended is told of until another takes its place.
        let former = |kept: &Kept| {
            let shown = &kept.shown;
            shown.server == server && shown.uri == uri && shown.ended.is_some()
        };
        table.all.retain(|_, kept| !former(kept));
        table.next += 1;
        let number = table.next;
        let shown = Subscription {
            id: format!("s{number}"),
            server: server.to_owned(),
            uri: uri.to_owned(),
            since_ms: now_ms(),
            updates: 0,
            ended: None,
        };
        let kept = Kept {
            shown: shown.clone(),
            task: None,
        };
        table.all.insert(number, kept);
        (number, shown)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Kept)) {
        if let Some(kept) = self.table.lock().all.get_mut(&number) {
            change(kept);
        }
    }

    fn remove(&self, id: &str) -> Option<Subscription> {
        let number: u64 = id.strip_prefix('s')?.parse().ok()?;
        let kept = self.table.lock().all.remove(&number)?;
        if let Some(task) = kept.task {
            task.abort();
        }
        Some(kept.shown)
    }
}

pub(crate) async fn list(console: Arc<Console>, _: Asked) -> Result<Response, ApiError> {
    Ok(ok(&All {
        subscriptions: console.subscriptions.all(),
    }))
}

pub(crate) async fn subscribe(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let Subscribe { server_name, uri } = asked.body()?;
    let server = known_server(&console, &server_name)?;
    let subscriptions = console.subscriptions.clone();
    if let Some(known) = subscriptions.of(server.as_str(), &uri) {
        return Ok(ok(&known));
    }
    if subscriptions.all().len() >= MOST {
        return Err(ApiError::busy(
            "too many resources are watched; end one first",
        ));
    }
    let mut watch = console.host.watch_of(server.as_str(), &uri).await?;
    let (number, shown) = subscriptions.insert(server.as_str(), &uri);
    let kept = subscriptions.clone();
    let task = tokio::spawn(async move {
        while let Some(watched) = watch.next().await {
            match watched {
                Watched::Changed(Change::Resource { .. }) => {
                    kept.change(number, |kept| kept.shown.updates += 1);
                }
                Watched::Ended(error) => {
                    let said = ApiError::from(error).message.into_string();
                    kept.change(number, |kept| kept.shown.ended = Some(said));
                }
                Watched::Changed(_) | Watched::Resubscribed => {}
            }
        }
    });
    subscriptions.change(number, |kept| kept.task = Some(task.abort_handle()));
    Ok(json(StatusCode::CREATED, &shown))
}

pub(crate) async fn unsubscribe(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let id = asked.part("id");
    match console.subscriptions.remove(id) {
        Some(_) => {
            let mut response = Response::default();
            *response.status_mut() = StatusCode::NO_CONTENT;
            Ok(response)
        }
        None => Err(ApiError::not_found(&format!(
            "there is no subscription \"{id}\""
        ))),
    }
}
