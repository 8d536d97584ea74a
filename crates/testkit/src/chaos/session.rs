//! What a well-behaved server remembers about its client.
//!
//! Owns the log level, subscriptions of both eras and the table of tasks.
//! Refuses to know how any of it is asked for.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::action::notification;
use super::request::SUBSCRIPTION_KEY;
use super::tasks::Tasks;

/// Log levels from least to most severe.
pub(super) const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The memory of one process.
#[derive(Default)]
pub(super) struct Session {
    /// The least severe level to be sent, as a place in [`LEVELS`].
    pub(super) log_level: usize,
    /// Resources subscribed to in the legacy way.
    pub(super) subscribed: BTreeSet<String>,
    pub(super) tasks: Tasks,
    listens: Vec<Listen>,
}

/// An open `subscriptions/listen`.
struct Listen {
    id: Value,
    filter: Value,
}

impl Session {
    pub(super) fn open_listen(&mut self, id: Value, filter: Value) {
        self.listens.push(Listen { id, filter });
    }

    pub(super) fn close_listen(&mut self, id: &Value) {
        self.listens.retain(|listen| listen.id != *id);
    }

    /// The notifications owed for a change of one resource.
    pub(super) fn resource_updated(&self, uri: &str) -> Vec<Value> {
        let method = "notifications/resources/updated";
        let mut owed = Vec::new();
        if self.subscribed.contains(uri) {
            owed.push(notification(method, json!({"uri": uri})));
        }
        let uri = json!(uri);
        for listen in &self.listens {
            let wanted = listen.filter["resourceSubscriptions"]
                .as_array()
                .is_some_and(|uris| uris.contains(&uri));
            if wanted {
                let params = json!({"uri": uri, "_meta": {SUBSCRIPTION_KEY: listen.id}});
                owed.push(notification(method, params));
            }
        }
        owed
    }

    /// The notifications owed to listens for a change of a list: `tools`,
    /// `prompts` or `resources`.
    pub(super) fn list_changed(&self, list: &str) -> Vec<Value> {
        let method = format!("notifications/{list}/list_changed");
        let wanted = format!("{list}ListChanged");
        self.listens
            .iter()
            .filter(|listen| listen.filter[&wanted] == true)
            .map(|listen| notification(&method, json!({"_meta": {SUBSCRIPTION_KEY: listen.id}})))
            .collect()
    }
}
