//! Modern subscriptions: `subscriptions/listen` and what belongs to it.

use std::time::Duration;

use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, kept, not_offered};
use crate::peer::{Opening, Peer, SUBSCRIPTION_KEY, Trouble};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "subscriptions.acknowledged",
        Subscriptions,
        Must,
        MODERN,
        Any,
        ["S-SUBM-03", "S-SUBM-04", "S-SUBM-02"],
        "Is a listen acknowledged first, with its own id and no more than was asked for?",
        Alone(acknowledged)
    ),
    check!(
        "subscriptions.cancelled",
        Subscriptions,
        Must,
        MODERN,
        Stdio,
        ["S-SUBM-10", "S-STDIO-12"],
        "Does nothing more come for a listen that was cancelled?",
        Alone(cancelled)
    ),
];

/// The filter for everything that the server declares.
fn filter(peer: &Peer) -> Value {
    let mut filter = json!({});
    for list in ["tools", "prompts", "resources"] {
        if peer.offers(&format!("{list}.listChanged")) {
            filter[format!("{list}ListChanged")] = json!(true);
        }
    }
    filter
}

/// Opens a connection and listens on it.
async fn listening(bench: &Bench) -> Result<Result<(Peer, Value, Value), Finding>, Trouble> {
    let mut peer = Peer::open(bench, Opening::Whole).await?;
    let filter = filter(&peer);
    if filter == json!({}) {
        return Ok(Err(not_offered("no list announces its changes")));
    }
    let id = json!("listen-1");
    let params = json!({"notifications": filter});
    let message = peer.message(&id, "subscriptions/listen", params);
    peer.send(&message).await?;
    Ok(Ok((peer, id, filter)))
}

fn is_of(message: &Value, id: &Value) -> bool {
    message["params"]["_meta"][SUBSCRIPTION_KEY] == *id || message["id"] == *id
}

async fn acknowledged(bench: &Bench) -> Result<Finding, Trouble> {
    let (mut peer, id, filter) = match listening(bench).await? {
        Ok(listening) => listening,
        Err(finding) => return Ok(finding),
    };
    let first = peer
        .wait_for(bench.patience(), |message| {
            let method = message["method"].as_str().unwrap_or_default();
            method.starts_with("notifications/") || message["id"] == id
        })
        .await?;
    let Some(first) = first else {
        return Ok(broken("no acknowledgement came"));
    };
    if first["method"] != "notifications/subscriptions/acknowledged" {
        return Ok(broken(format!("the first message was {first}")));
    }
    let mut complaints = Vec::new();
    let subscription = &first["params"]["_meta"][SUBSCRIPTION_KEY];
    if *subscription != id {
        complaints.push(format!("its subscriptionId is {subscription}, not {id}"));
    }
    let granted = first["params"]["notifications"].as_object();
    match granted {
        None => complaints.push("it does not say what it honours".to_owned()),
        Some(granted) => {
            let beyond = granted.iter().filter(|(key, value)| {
                *value != &Value::Bool(false) && filter.get(key.as_str()).is_none()
            });
            complaints.extend(beyond.map(|(key, _)| format!("{key} was not asked for")));
        }
    }
    Ok(Finding::of(&complaints, "acknowledged"))
}

async fn cancelled(bench: &Bench) -> Result<Finding, Trouble> {
    let (mut peer, id, _) = match listening(bench).await? {
        Ok(listening) => listening,
        Err(finding) => return Ok(finding),
    };
    peer.wait_for(bench.patience(), |message| is_of(message, &id))
        .await?;
    peer.notify("notifications/cancelled", json!({"requestId": id}))
        .await?;
    peer.fence().await?;
    // What was under way when the cancel arrived is before the fence.
    peer.leftovers();
    let late = peer.listen(Duration::from_millis(300)).await?;
    let late = late.iter().find(|message| is_of(&message.value, &id));
    Ok(match late {
        Some(message) => broken(format!("{} came", message.value)),
        None => kept("nothing more came"),
    })
}
