//! Cancellation: what is unknown is ignored, what races survives, what is slow stops.

use std::time::Duration;

use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, kept, not_testable};
use crate::facts::NOTHING_TO_CALL;
use crate::peer::{Peer, Trouble};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "cancel.unknown",
        Cancel,
        Should,
        ALL,
        Any,
        ["X-CANC-04", "X-CANC-02"],
        "Are cancellations ignored that are malformed or name no open request?",
        Shared(unknown)
    ),
    check!(
        "cancel.race",
        Cancel,
        Should,
        ALL,
        Any,
        ["X-CANC-03"],
        "Does a server survive a cancel that crosses its answer, and answer at most once?",
        Shared(race)
    ),
    check!(
        "cancel.stops",
        Cancel,
        Should,
        ALL,
        Stdio,
        ["X-CANC-02", "S-STDIO-12"],
        "Does a call that was cancelled stay unanswered?",
        Shared(stops)
    ),
];

async fn unknown(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    peer.leftovers();
    for params in [
        json!({"requestId": "never-sent", "reason": "a check"}),
        json!({"requestId": {"a": 1}}),
        json!({}),
        Value::Null,
    ] {
        peer.notify("notifications/cancelled", params).await?;
    }
    peer.settled().await?;
    peer.fence().await?;
    let came = peer.leftovers();
    let answer = came.iter().find(|message| message.method().is_none());
    Ok(match answer {
        Some(answer) => broken(format!("answered with {}", answer.value)),
        None => kept("nothing came"),
    })
}

async fn race(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    peer.leftovers();
    let method = match peer.offers("tools") {
        true => "tools/list",
        false if peer.is_modern() => "server/discover",
        false => "ping",
    };
    let mut ids = Vec::new();
    for _ in 0..8 {
        let id = peer.request(method, json!({})).await?;
        peer.notify("notifications/cancelled", json!({"requestId": id}))
            .await?;
        ids.push(id);
    }
    peer.settled().await?;
    peer.fence().await?;
    let came = peer.listen(Duration::from_millis(100)).await?;
    let mut complaints = Vec::new();
    for id in &ids {
        let answers = |message: &&crate::peer::Incoming| {
            message.method().is_none() && message.value["id"] == *id
        };
        let count = came.iter().filter(answers).count();
        if count > 1 {
            complaints.push(format!("{id} was answered {count} times"));
        }
    }
    Ok(Finding::of(&complaints, "it lives on"))
}

/// A call that is not answered within this time is slow enough.
const SLOW: Duration = Duration::from_millis(250);
/// How long an answer to a cancelled call is waited for.
const AFTER: Duration = Duration::from_millis(1200);

async fn stops(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let calls = peer.callables(bench).await?;
    if calls.is_empty() {
        return Ok(not_testable(NOTHING_TO_CALL));
    }
    for call in &calls {
        let id = peer.request("tools/call", call.params()).await?;
        if peer.answer_or_silence(&id, SLOW).await?.is_some() {
            continue;
        }
        peer.notify("notifications/cancelled", json!({"requestId": id}))
            .await?;
        peer.fence().await?;
        return Ok(match peer.answer_or_silence(&id, AFTER).await? {
            Some(answer) => broken(format!(
                "{}: {} came all the same",
                call.name(),
                answer.summary()
            )),
            None => kept(format!("{} stayed unanswered", call.name())),
        });
    }
    Ok(not_testable(
        "every tool that may be called answers at once; name a slow one with --call",
    ))
}
